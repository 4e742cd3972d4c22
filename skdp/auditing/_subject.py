"""The estimator under audit."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from sklearn.base import BaseEstimator, clone

from skdp.auditing.attacks import (
    WITH_TARGETS,
    Attack,
    FitArguments,
    attack_on,
    default_rows,
    kind_of,
)
from skdp.budget.dry_run import DryRun, StandIns
from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee, Unit
from skdp.support.types import MatrixLike


def check_has_fit(estimator: object) -> None:
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise ValueError(f"estimator must be an object with fit, got {estimator!r}.")


def quoted(raised: Exception) -> str:
    """Return the type and the first line of an error about made-up rows."""
    first, *more = str(raised).splitlines() or [""]
    return f"{type(raised).__name__}: {first}{' ...' * bool(more)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An estimator, its claim, and the rows of its trials."""

    estimator: BaseEstimator
    kind: str | Attack
    n_runs: int
    level: float
    rng: np.random.Generator
    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    X: MatrixLike | None = None

    @property
    def name(self) -> str:
        return type(self.estimator).__name__

    @cached_property
    def neighboring(self) -> Neighboring:
        return Neighboring(getattr(self.estimator, "neighboring", "replace_one"))

    @cached_property
    def attack(self) -> Attack:
        return attack_on(self.estimator, self.kind, self.rows, self.neighboring)

    @cached_property
    def kind_name(self) -> str:
        return kind_of(self.estimator, "auto" if isinstance(self.kind, Attack) else self.kind)

    @property
    def has_targets(self) -> bool:
        return self.kind_name in WITH_TARGETS

    @cached_property
    def rows(self) -> MatrixLike:
        return default_rows() if self.X is None else self.X

    @cached_property
    def claim(self) -> PrivacyGuarantee:
        """The claim, as given or as published by a fit."""
        if (event := self._given()) is not None:
            return PrivacyGuarantee(event, self.neighboring, "as claimed")
        fitted = self._fitted_once()
        if not isinstance(getattr(fitted, "privacy_", None), PrivacyGuarantee):
            raise ValueError(
                f"{self.name} has no privacy_ with a claim. Pass mu= for Gaussian DP, or epsilon= "
                "and, unless it is 0, delta=."
            )
        return fitted.privacy_

    def _given(self) -> Event | None:
        if self.mu is not None:
            return GDPEvent(self.mu)
        return None if self.epsilon is None else ApproxDPEvent(self.epsilon, self.delta or 0.0)

    def _fitted_once(self) -> BaseEstimator:
        try:
            return self.fitted(self.attack.one)
        except Exception as raised:
            raise ValueError(
                f"{self.name} has no claim, because its fit to synthetic rows failed: "
                f"{quoted(raised)} Pass public rows as X=, or a claim as mu= or epsilon=."
            ) from raised

    @property
    def claim_delta(self) -> float:
        """The δ at which bounds on ε are stated."""
        if self.epsilon is not None:
            return self.delta or 0.0
        asked = self.claim.asked
        return 1e-5 if asked is None else asked[1]

    def has(self, parameter: str) -> bool:
        if hasattr(self.estimator, "get_params"):
            return parameter in self.estimator.get_params(deep=False)
        return hasattr(self.estimator, parameter)

    def copy(self, **parameters: object) -> BaseEstimator:
        """Return an unfitted copy; parameters that it does not have are ignored.

        Its budgets are replaced by empty dry runs. Then no seed is set.
        """
        return self._copied(parameters)[0]

    def _copied(self, parameters: dict[str, object]) -> tuple[BaseEstimator, StandIns]:
        own = StandIns(partial(DryRun, reads=True, begun=False), _unit=Unit.RECORD)
        fresh = deepcopy(clone(self.estimator, safe=False), own)
        wanted = parameters
        if own.runs and "budget" not in parameters:
            wanted = {**parameters, "random_state": None}
        known = {name: value for name, value in wanted.items() if self.has(name)}
        if hasattr(fresh, "set_params"):
            return fresh.set_params(**known), own
        for name, value in known.items():
            setattr(fresh, name, value)
        return fresh, own

    def fitted(self, data: FitArguments, **parameters: object) -> BaseEstimator:
        """Return a fitted copy with noise of its own, without warnings."""
        seed = int(self.rng.integers(2**31))
        fresh, own = self._copied({"random_state": seed, **parameters})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fitted = fresh.fit(*data)
        for dry_run in own.runs.values():
            dry_run.end()
        return fitted
