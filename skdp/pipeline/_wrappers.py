"""Estimators inside of pipelines and ensembles, and the budgets that they spend from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from sklearn.base import BaseEstimator

from skdp.features.row_wise_conditions import ROW_WISE_WRAPPERS
from skdp.pipeline._known_estimators import WRAPPERS, is_private

__all__ = ["fitted_leaves", "inside", "is_wrapper", "leaves", "ledgers_of", "spends"]


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


def spends(step: BaseEstimator) -> bool:
    """Return whether a step of a pipeline has a cost of its own."""
    return hasattr(step, "get_params") and "epsilon" in step.get_params(deep=False)


def leaves(step: BaseEstimator, path: str = "") -> Iterator[tuple[str, BaseEstimator]]:
    """Yield the transformers in compositions of scikit-learn with their paths, or the step."""
    if not _is_composition(step):
        yield path, step
        return
    for inner, part in inside(path, step, ROW_WISE_WRAPPERS[type(step).__name__][0]):
        yield from leaves(part, inner)


def fitted_leaves(step: BaseEstimator) -> Iterator[BaseEstimator]:
    """Yield the leaves of a fitted step; a `ColumnTransformer` fits copies of its parts."""
    if not _is_composition(step):
        yield step
        return
    names = ("transformers_", "transformer_list", "steps")
    parts = next(getattr(step, name) for name in names if hasattr(step, name))
    for part in parts:
        yield from fitted_leaves(part[1])


def _is_composition(step: BaseEstimator) -> bool:
    kind = type(step)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in ROW_WISE_WRAPPERS


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
