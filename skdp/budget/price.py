"""Cost of a fit, a pipeline or a search, computed with a copy and synthetic rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from skdp.budget.dry_run import DryRun, Spender, StandIns
from skdp.budget.plan import PlanCost, PlannedRelease, cost_of_plan
from skdp.exceptions import BudgetExceededError
from skdp.ledger.no_spends import no_spends
from skdp.ledger.release import Release
from skdp.ledger.store import Ledger, SpendRequest
from skdp.privacy import Unit, event_from_dict
from skdp.support.types import MatrixLike
from skdp.support.validation import check_count

if TYPE_CHECKING:  # skdp.budget does not import scikit-learn
    from sklearn.base import BaseEstimator

_OTHER_PROCESS = "A price is found in one process, but the copy spends in another one."
Rows: TypeAlias = tuple[int, int] | MatrixLike
"""The numbers of rows and columns, or synthetic rows."""


class Price(DryRun):
    """A dry run in one process that also counts releases that the budget would reject.

    If it `reads`, fits go on after their spends, because other estimators use their results.
    """

    def __init__(self, budget: Spender, *, reads: bool = False) -> None:
        super().__init__(budget._ledger, reads=reads)
        self._budget, self._process, self._lock = budget, os.getpid(), Lock()
        self.admitted = True

    def append(
        self,
        release: Release,
        check: Callable[[SpendRequest], None],
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Remember a release, and whether all so far are admitted."""
        if release.process != self._process:
            raise ValueError(_OTHER_PROCESS)
        with self._lock:
            try:
                super().append(release, check)
            except BudgetExceededError:
                self.admitted = False
                self.remember(release)

    def __getstate__(self) -> NoReturn:
        raise ValueError(_OTHER_PROCESS)

    def of(self, estimator: BaseEstimator, X: Rows, y: Rows | None, **params: object) -> PlanCost:
        """Return the cost of a fit, found with a copy of the estimator.

        A search with `refit` is assumed to choose the most expensive candidate.
        """
        self._fit(estimator, X, y, params)
        if not self.planned:
            raise ValueError("The estimator has spent nothing from this budget.")
        return PlanCost(
            epsilon=self._epsilon(self.planned),
            delta=self._budget.delta,
            admitted=self.admitted,
            n_releases=len(self.planned),
        )

    def _fit(
        self, estimator: BaseEstimator, X: Rows, y: Rows | None, params: dict[str, object]
    ) -> None:
        from joblib import parallel_backend
        from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

        _check_rows(X)
        if self._budget.unit is Unit.PERSON:
            params = {"groups": np.arange(X[0] if _is_shape(X) else len(X))} | params
        copy = self._prepared(estimator)
        y = _targets(copy, X, y)
        if isinstance(copy, GridSearchCV | RandomizedSearchCV) and copy.refit:
            inner, data = copy.estimator, (X, y, params)
            copy.set_params(refit=lambda found: self._most_expensive(inner, found["params"], *data))
        try:
            with (
                parallel_backend("sequential"),
                no_spends(self.identity),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                # Zeros take no memory until they are written to.
                copy.fit(np.zeros(X) if _is_shape(X) else X, y, **params)
        finally:
            self.end()

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

    def _epsilon(self, releases: Iterable[Release]) -> float:
        planned = [PlannedRelease(event_from_dict(r.event), partition=r.part) for r in releases]
        return cost_of_plan(planned, self._budget.neighboring, self._budget.delta)

    def _most_expensive(
        self,
        estimator: BaseEstimator,
        candidates: Iterable[dict[str, object]],
        X: Rows,
        y: Rows | None,
        params: dict[str, object],
    ) -> int:
        """Return the index of the most expensive candidate, by a dry run of each."""
        from sklearn import get_config
        from sklearn.base import clone

        if not get_config()["enable_metadata_routing"]:  # then only the splitter gets groups
            params = {name: value for name, value in params.items() if name != "groups"}
        costs = []
        for settings in candidates:
            one = clone(estimator).set_params(**clone(settings, safe=False))
            price = Price(self._budget, reads=self.reads)
            price._fit(one, X, y, params)
            costs.append(price._epsilon(price.planned) if price.planned else 0.0)
        return int(np.argmax(costs))


def _is_outermost(name: str, params: Mapping[str, object]) -> bool:
    """Return whether no outer estimator has a budget of its own."""
    path = name.split("__")[:-1]
    return not any("__".join([*path[:k], "budget"]) in params for k in range(len(path)))


def _check_rows(X: Rows) -> None:
    sizes = isinstance(X, tuple) and all(np.ndim(size) == 0 for size in X)
    if (np.ndim(X) == 0 and not hasattr(X, "shape")) or (sizes and len(X) != 2):
        raise ValueError(
            "X must be the numbers of rows and columns, such as (1000, 5), or synthetic rows, "
            f"got {X!r}."
        )
    if sizes:
        for name, size in zip(("n_samples", "n_features"), X, strict=True):
            check_count(name, size)


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
