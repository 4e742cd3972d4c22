"""The estimator under audit: its copies, its claim, its fits."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.auditing.attacks import Attack, attack_on, default_rows, kind_of
from skdp.budget.dry_run import DryRun, StandIns
from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee, Unit

__all__ = ["Subject", "check_has_fit", "quoted"]


def check_has_fit(estimator: Any) -> None:
    """Raise ValueError for an object that cannot be fitted."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise ValueError(f"estimator must be an object with fit, got {estimator!r}.")


def quoted(raised: Exception) -> str:
    """Return the type of an error and the first line of its message; its rows are made up."""
    first, *more = str(raised).splitlines() or [""]
    return f"{type(raised).__name__}: {first}{' ...' * bool(more)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An estimator, what it claims, and on which rows it is tried."""

    estimator: Any
    kind: Any
    n_runs: int
    level: float
    rng: np.random.Generator
    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    X: Any = None

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self.estimator).__name__

    @cached_property
    def neighboring(self) -> Neighboring:
        """The relation of the claim."""
        return Neighboring(getattr(self.estimator, "neighboring", "replace_one"))

    @cached_property
    def attack(self) -> Attack:
        """The pair of data sets."""
        return attack_on(self.estimator, self.kind, self.X, self.neighboring)

    @cached_property
    def kind_name(self) -> str:
        """What the estimator is."""
        return kind_of(self.estimator, "auto" if isinstance(self.kind, Attack) else self.kind)

    @cached_property
    def rows(self) -> Any:
        """The rows on which it is tried."""
        return default_rows() if self.X is None else self.X

    @cached_property
    def claim(self) -> PrivacyGuarantee:
        """What is claimed: as given, or by a fit."""
        if (event := self._given()) is not None:
            return PrivacyGuarantee(event, self.neighboring, "as claimed")
        fitted = self._fitted_once()
        if not isinstance(getattr(fitted, "privacy_", None), PrivacyGuarantee):
            raise ValueError(
                f"{self.name} has no privacy_ that says what it claims: give mu=... of Gaussian "
                "DP, or epsilon=..., and delta=... unless it is 0."
            )
        return fitted.privacy_

    def _given(self) -> Event | None:
        if self.mu is not None:
            return GDPEvent(self.mu)
        return None if self.epsilon is None else ApproxDPEvent(self.epsilon, self.delta or 0.0)

    def _fitted_once(self) -> Any:
        try:
            return self.fitted(self.attack.one)
        except Exception as raised:
            raise ValueError(
                f"{self.name} makes no claim, since it cannot be fitted to the rows on which it is "
                f"tried: {quoted(raised)} Give X=, rows that are nobody's, or mu= or epsilon=."
            ) from raised

    @property
    def claim_delta(self) -> float:
        """The δ at which bounds on ε are stated."""
        if self.epsilon is not None:
            return self.delta or 0.0
        asked = self.claim.asked
        return 1e-5 if asked is None else asked[1]

    def has(self, parameter: str) -> bool:
        """Return whether the estimator has a parameter."""
        if hasattr(self.estimator, "get_params"):
            return parameter in self.estimator.get_params(deep=False)
        return hasattr(self.estimator, parameter)

    def copy(self, **parameters: Any) -> Any:
        """Return an unfitted copy with the parameters that it has of these.

        In place of its budgets it has dry runs of empty ones, beside which no seed is set.
        """
        return self._copied(parameters)[0]

    def _copied(self, parameters: dict[str, Any]) -> tuple[Any, StandIns]:
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

    def fitted(self, data: tuple[Any, ...], **parameters: Any) -> Any:
        """Return a copy fitted to some data, with noise of its own; warnings are not shown."""
        seed = int(self.rng.integers(2**31))
        fresh, own = self._copied({"random_state": seed, **parameters})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fitted = fresh.fit(*data)
        for dry_run in own.runs.values():
            dry_run.end()
        return fitted
