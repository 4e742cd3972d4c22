"""From which budgets the private estimators in a pipeline or an ensemble spend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skdp.pipeline._verdicts import WRAPPERS, is_private

__all__ = ["inside", "is_wrapper", "payers"]


def is_wrapper(estimator: Any) -> bool:
    """Return whether it is one of scikit-learn or of skdp around others, of which all is known."""
    kind = type(estimator)
    return kind.__module__.split(".")[0] in ("sklearn", "skdp") and kind.__name__ in WRAPPERS


def inside(path: str, estimator: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the path and the estimator of every part: of a parameter, or of a list in it."""
    before = f"{path}__" if path else ""
    for name in names:
        value = getattr(estimator, name, None)
        if isinstance(value, list | tuple):
            for part in value:
                if hasattr(part[1], "get_params"):
                    yield f"{before}{part[0]}", part[1]
        elif hasattr(value, "get_params"):
            yield f"{before}{name}", value


def payers(estimator: Any) -> set[Any]:
    """Return what identifies the ledgers from which it spends; None where there is none."""
    if is_wrapper(estimator):
        parts = inside("", estimator, WRAPPERS[type(estimator).__name__][0])
        return set().union(*(payers(part) for _, part in parts))
    return {_ledger(estimator)} if is_private(estimator) else set()


def _ledger(estimator: Any) -> Any:
    budget = getattr(estimator, "budget", None)
    budget = getattr(estimator, "accountant", None) if budget is None else budget
    return getattr(
        getattr(budget, "_ledger", None), "identity", None if budget is None else id(budget)
    )
