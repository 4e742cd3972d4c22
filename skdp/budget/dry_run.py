"""Dry runs: releases are checked, priced and remembered, but not written."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from skdp.budget.cost import epsilon_of_plan
from skdp.exceptions import BudgetExceededError
from skdp.ledger.gate import no_spends
from skdp.ledger.release import EVERY, PEAK, Release, Totals, accounts_of, scope_of
from skdp.ledger.store import Check, Ledger, SpendRequest, Steps
from skdp.privacy import ComposedEvent, Event, Neighboring, PrivacyGuarantee, Unit, event_from_dict
from skdp.privacy.neighboring import UNIT_OF_FITS
from skdp.support.display import at_least, html_table
from skdp.support.types import MatrixLike
from skdp.support.validation import check_count, check_partition

if TYPE_CHECKING:  # skdp.budget does not import scikit-learn
    from sklearn.base import BaseEstimator

_OTHER_PROCESS = "A price is found in one process, but the copy spends in another one."
Rows: TypeAlias = tuple[int, int] | MatrixLike
"""The numbers of rows and columns, or synthetic rows."""
Data: TypeAlias = tuple[Rows, Rows | None, dict[str, object]]
"""X, y and the other arguments of a fit."""
Handle = TypeVar("Handle", bound=Any)
"""A budget or a share."""


@dataclass(frozen=True)
class PlannedRelease:
    """One release of a plan.

    Parameters
    ----------
    event : Event or PrivacyGuarantee
        *Public.* The release.
    partition : str, int or None
        *Public.* Partition that it reads, as in `spend`. ``None``: that of the budget handle, or
        all partitions.

    Examples
    --------
    >>> from skdp import PrivacyBudget
    >>> from skdp.budget import PlannedRelease
    >>> from skdp.privacy import GDPEvent
    >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    >>> sites = [PlannedRelease(GDPEvent(0.2), partition=site) for site in ("north", "south")]
    >>> budget.plan(sites)
    PlanCost(epsilon=0.725522, delta=1e-05, admitted=True, n_releases=2)
    >>> budget.plan([GDPEvent(0.2)] * 2)
    PlanCost(epsilon=1.06079, delta=1e-05, admitted=False, n_releases=2)
    """

    event: Event | PrivacyGuarantee
    partition: str | int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", check_partition(self.partition))


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanCost:
    """The (`epsilon`, `delta`) of a whole plan, and whether the budget would admit it now.

    Printed numbers have six digits and are rounded up.

    Parameters
    ----------
    epsilon : float
        *Public.* A bound for the releases of the plan alone, fixed in advance.
    delta : float
        *Public.* The δ of this bound.
    admitted : bool
        *Public.* Whether the ledger, which counts release by release, would admit the plan.
    n_releases : int
        *Public.* Number of releases.

    Examples
    --------
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    >>> budget.price(DPLogisticRegression(epsilon=0.5), (1000, 5))
    PlanCost(epsilon=0.5, delta=1e-05, admitted=True, n_releases=1)
    >>> budget.price(DPLogisticRegression(epsilon=2.0), (1000, 5)).admitted
    False
    """

    epsilon: float
    delta: float
    admitted: bool
    n_releases: int

    def __repr__(self) -> str:
        return (
            f"PlanCost(epsilon={at_least(self.epsilon)!r}, delta={at_least(self.delta)!r}, "
            f"admitted={self.admitted}, n_releases={self.n_releases})"
        )

    def _repr_html_(self) -> str:
        admitted = "admitted" if self.admitted else "rejected"
        row = self.n_releases, f"{at_least(self.epsilon):g}", f"{at_least(self.delta):g}", admitted
        return html_table(("releases", "epsilon", "delta", "now"), [row])


def cost_of_plan(
    releases: Sequence[PlannedRelease], neighboring: Neighboring, delta: float
) -> float:
    """Return the largest ε, over partitions, of the releases that read a record there."""
    most = 0.0
    for partition in {one.partition for one in releases}:
        read = [one.event for one in releases if one.partition in (None, partition)]
        events = (one.event if isinstance(one, PrivacyGuarantee) else one for one in read)
        most = max(most, epsilon_of_plan(ComposedEvent(tuple(events)), neighboring, delta))
    return most


class DryRun(Ledger):
    """A ledger that checks and remembers releases, but writes nothing.

    It goes on from the sums of `like` if they have `begun`, and only reads from that ledger. If it
    `reads`, a fit goes on after its spend and reads its rows, which must be synthetic.
    """

    counts_rejected = False
    """Whether a release that the budget would reject is remembered, too."""
    admitted = True

    def __init__(self, like: Ledger, *, reads: bool = False, begun: bool = True) -> None:
        super().__init__(like.storage, like.terms, like.rules)
        self.identity, self.reads = like.identity, reads
        self.planned: list[Release] = []
        """The releases that would have been spent."""
        self._like = like if begun else None
        self._sums: dict[str, Totals] = {}
        self.is_over = False
        """Whether further spends are rejected: a kept handle would release without spending."""

    def handle(self, budget: Handle, **changed: object) -> Handle:
        """Return a copy of a budget or a share that spends from this ledger."""
        parent = None if budget._parent is None else self.handle(budget._parent, **changed)
        return budget._copied(_ledger=self, _parent=parent, **changed)

    def append(self, release: Release, check: Check, before_commit: Steps = ()) -> None:
        """Check a release and remember it; nothing is committed."""
        if self.is_over:
            raise ValueError("The dry run is over. Pass the budget itself to spend from it.")
        names, part = accounts_of(release.account), release.part
        before = {name: self.totals(name, part) for name in names}
        number = 0 if self._like is None else self._like.head().number
        try:
            check(SpendRequest(release, before, number + len(self.planned)))
        except BudgetExceededError:
            if not self.counts_rejected:
                raise
            self.admitted = False
        self.planned.append(release)
        for sums in before.values():
            sums.add(part, self.rules.costs(release))

    def releases(self) -> list[Release]:
        return [*([] if self._like is None else self._like.releases()), *self.planned]

    def totals(self, account: str = "", part: str | None = None) -> Totals:
        """Return the sums of an account; those before the dry run are read once."""
        known = self._sums.setdefault(account, Totals())
        wanted = {EVERY, PEAK, scope_of(part)}
        if self._like is not None and not wanted <= known.keys():
            earlier = self._like.totals(account, part)
            known.update(dict.fromkeys(wanted, self.rules.nothing) | earlier | known)
        return known

    def open_share(self, account: Any, limits: Any) -> None:
        """Accept every share."""


class StandIns(dict[int, object]):
    """A memo for `copy.deepcopy` that replaces each budget, however deep, by a dry run.

    Replacements differ from the budget in the attributes `changed`.
    """

    def __init__(self, dry_run: Callable[[Ledger], DryRun] = DryRun, **changed: object) -> None:
        super().__init__()
        self.runs: dict[str | None, DryRun] = {}
        self._dry_run, self._changed = dry_run, changed

    def stand_in(self, budget: Handle) -> Handle:
        """Return the replacement of a budget; all handles on one ledger share one dry run."""
        ledger = budget._ledger
        if ledger.identity not in self.runs:
            self.runs[ledger.identity] = self._dry_run(ledger)
        return self.runs[ledger.identity].handle(budget, **self._changed)


class Price(DryRun):
    """A dry run in one process that also counts releases that the budget would reject.

    If it `reads`, fits go on after their spends, because other estimators use their results.
    """

    counts_rejected = True

    def __init__(self, budget: Any, *, reads: bool = False) -> None:
        super().__init__(budget._ledger, reads=reads)
        self._budget, self._process, self._lock = budget, os.getpid(), Lock()

    def append(self, release: Release, check: Check, before_commit: Steps = ()) -> None:
        if release.process != self._process:
            raise ValueError(_OTHER_PROCESS)
        with self._lock:
            super().append(release, check)

    def __getstate__(self) -> NoReturn:
        raise ValueError(_OTHER_PROCESS)

    def of(self, estimator: BaseEstimator, data: Data) -> PlanCost:
        """Return the cost of a fit, found with a copy of the estimator.

        A search with `refit` is assumed to choose the most expensive candidate.
        """
        epsilon = self._fit(estimator, data)
        n, delta = len(self.planned), self._budget.delta
        if not n:
            raise ValueError("The estimator has spent nothing from this budget.")
        return PlanCost(epsilon=epsilon, delta=delta, admitted=self.admitted, n_releases=n)

    def _fit(self, estimator: BaseEstimator, data: Data) -> float:
        """Return the ε of all releases of a fit, 0 if there are none."""
        from joblib import parallel_backend
        from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

        X, y, params = data
        _check_rows(X)
        if UNIT_OF_FITS[self._budget.unit] is Unit.PERSON:
            params = {"groups": np.arange(X[0] if _is_shape(X) else len(X))} | params
        copy = self._prepared(estimator)
        y = _targets(copy, X, y)
        if isinstance(copy, GridSearchCV | RandomizedSearchCV) and copy.refit:
            inner, data = copy.estimator, (X, y, params)
            copy.set_params(refit=lambda found: self._most_expensive(inner, found["params"], data))
        try:
            with (
                parallel_backend("sequential"),
                no_spends(self.identity),
                warnings.catch_warnings(action="ignore"),
            ):
                # Zeros take no memory until they are written to.
                copy.fit(np.zeros(X) if _is_shape(X) else X, y, **params)
        finally:
            self.is_over = True
        planned = [PlannedRelease(event_from_dict(r.event), partition=r.part) for r in self.planned]
        return cost_of_plan(planned, self._budget.neighboring, self._budget.delta)

    def _prepared(self, estimator: BaseEstimator) -> BaseEstimator:
        """Return a copy that spends from this dry run, in this process."""
        from sklearn.base import clone

        copy = clone(estimator)
        given: dict[str, object] = {}
        for name, value in (params := copy.get_params()).items():
            last = name.split("__")[-1]
            if last in ("n_jobs", "error_score"):
                given[name] = None if last == "n_jobs" else "raise"
            elif last == "budget" and _is_outermost(name, params):
                given[name] = self._budget if value is None else self._checked(name, value)
        return deepcopy(copy.set_params(**given), StandIns(self._run_of))

    def _checked(self, name: str, budget: object) -> object:
        if getattr(getattr(budget, "_ledger", None), "identity", None) != self.identity:
            raise ValueError(
                f"{name} is another budget. Call estimator.get_params()[{name!r}].price(...), or "
                "give all parts this budget, as make_private_pipeline(..., budget=...) does."
            )
        return budget

    def _run_of(self, ledger: Ledger) -> DryRun:
        if ledger.identity != self.identity:
            raise ValueError("The estimator spends from another budget. Call price of that one.")
        return self

    def _most_expensive(self, estimator: Any, candidates: Iterable[Any], data: Data) -> int:
        """Return the index of the most expensive candidate, by a dry run of each."""
        from sklearn import get_config
        from sklearn.base import clone

        X, y, params = data
        if not get_config()["enable_metadata_routing"]:  # then only the splitter gets groups
            params = {name: value for name, value in params.items() if name != "groups"}
        costs = []
        for settings in candidates:
            one = clone(estimator).set_params(**clone(settings, safe=False))
            costs.append(Price(self._budget, reads=self.reads)._fit(one, (X, y, params)))
        return int(np.argmax(costs))


def _is_outermost(name: str, params: Mapping[str, object]) -> bool:
    """Return whether no outer estimator has a budget of its own."""
    path = name.split("__")[:-1]
    return not any("__".join([*path[:k], "budget"]) in params for k in range(len(path)))


def _check_rows(X: Rows) -> None:
    if _is_shape(X):
        for name, size in zip(("n_samples", "n_features"), X, strict=True):
            check_count(name, size)
    elif not hasattr(X, "shape") and np.ndim(X) < 1 + isinstance(X, tuple):
        raise ValueError(
            "X must be the numbers of rows and columns, such as (1000, 5), or synthetic rows, "
            f"got {X!r}."
        )


def _is_shape(X: Rows) -> bool:
    return isinstance(X, tuple) and len(X) == 2 and all(np.ndim(size) == 0 for size in X)


def _targets(estimator: BaseEstimator, X: Rows, y: Rows | None) -> MatrixLike | None:
    """Return y, zeros of its shape, the public classes in turn, two classes, or zeros.

    Return None for synthetic rows of an estimator that does not predict. Raise ValueError for
    several targets without y, because their number sets the cost.
    """
    from sklearn.base import is_classifier, is_regressor
    from sklearn.utils import get_tags

    n = X[0] if _is_shape(X) else np.shape(X)[0]
    if y is not None:
        return np.zeros(y) if _is_shape(y) and y[0] == n else y
    parts = [estimator, *estimator.get_params().values()]
    private = [one for one in parts if hasattr(one, "_fit_privately") and not isinstance(one, type)]
    if any(get_tags(one).target_tags.multi_output for one in private):
        raise ValueError(
            "y must be given for an estimator of several targets: synthetic targets, or the "
            "numbers of rows and targets, such as (1000, 2)."
        )
    if not (_is_shape(X) or is_classifier(estimator) or is_regressor(estimator)):
        return None
    if is_regressor(estimator):
        return np.zeros(n)
    params = estimator.get_params().items()
    known = [value for name, value in params if name.split("__")[-1] == "classes"]
    classes = next((value for value in known if value is not None), (0, 1))
    return np.resize(np.asarray(classes), n)
