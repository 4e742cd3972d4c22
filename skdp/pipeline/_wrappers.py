"""Estimators inside of pipelines and ensembles, and the budgets that they spend from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from sklearn.base import BaseEstimator

from skdp.pipeline._known_estimators import WRAPPERS, is_private

__all__ = ["inside", "is_wrapper", "ledgers_of"]


def is_wrapper(estimator: BaseEstimator) -> bool:
    """Return whether this is a known meta-estimator of scikit-learn or skdp."""
    kind = type(estimator)
    return kind.__module__.split(".")[0] in ("sklearn", "skdp") and kind.__name__ in WRAPPERS


def inside(
    path: str, estimator: BaseEstimator, names: tuple[str, ...]
) -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the path and the estimator in each of these parameters, or in the lists there."""
    before = f"{path}__" if path else ""
    for name in names:
        value = getattr(estimator, name, None)
        if isinstance(value, list | tuple):
            for part in value:
                if hasattr(part[1], "get_params"):
                    yield f"{before}{part[0]}", part[1]
        elif hasattr(value, "get_params"):
            yield f"{before}{name}", value


def ledgers_of(estimator: BaseEstimator) -> set[Hashable]:
    """Return keys of the ledgers that the estimator spends from; None is a missing budget."""
    if is_wrapper(estimator):
        parts = inside("", estimator, WRAPPERS[type(estimator).__name__][0])
        return set().union(*(ledgers_of(part) for _, part in parts))
    return {_ledger(estimator)} if is_private(estimator) else set()


def _ledger(estimator: BaseEstimator) -> Hashable:
    budget = getattr(estimator, "budget", None)
    budget = getattr(estimator, "accountant", None) if budget is None else budget
    return getattr(
        getattr(budget, "_ledger", None), "identity", None if budget is None else id(budget)
    )
