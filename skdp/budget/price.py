"""What a fit, a pipeline or a search would spend: it is tried on rows that are nobody's."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.support.validation import check_count

__all__ = ["check_that_it_may_leave", "foresee", "foreseen_from", "pricing"]


@dataclass(frozen=True, eq=False)
class _Pricing:
    """A price that is being found: releases from one ledger, none of which is made."""

    ledger: str | None
    releases: list[Any] = field(default_factory=list)  # budget, label, guarantee and part of each
    process: int = field(default_factory=os.getpid)
    threads: frozenset[Any] = field(default_factory=lambda: frozenset(threading.enumerate()))


_HERE: ContextVar[_Pricing | None] = ContextVar("price", default=None)
_UNDER_WAY: set[_Pricing] = set()  # of this process, and of what it was forked from


@contextmanager
def pricing(ledger: str | None) -> Iterator[list[Any]]:
    """Let nothing be spent inside, and yield the list of what would be spent from the ledger.

    Other threads go on spending, but for those that start meanwhile: they may belong to it.
    """
    price = _Pricing(ledger)
    token = _HERE.set(price)
    _UNDER_WAY.add(price)
    try:
        yield price.releases
    finally:
        _UNDER_WAY.discard(price)
        _HERE.reset(token)


def foreseen_from(ledger: str | None) -> list[Any] | None:
    """Return where what would be spent from the ledger is noted; None where it is spent."""
    price = _HERE.get()
    if price is None:
        if _priced_meanwhile(ledger):
            raise ValueError(
                "A price is being found, and this thread, which has started since, may belong to "
                "it: spend when it is found."
            )
        return None
    if price.process != os.getpid() or price not in _UNDER_WAY:
        raise ValueError("A price is found in one process, and nothing is left to run after it.")
    if price.ledger != ledger:
        raise ValueError("It spends from another budget: price it there.")
    return price.releases


def check_that_it_may_leave(ledger: str | None) -> None:
    """Raise ValueError while a price is found: elsewhere a copy of the budget would spend."""
    if any(price.ledger == ledger for price in _of_this_process()):
        raise ValueError("A price is found in one process: until then its budget stays there.")


def _priced_meanwhile(ledger: str | None) -> bool:
    """Return whether this thread is younger than a price of the ledger."""
    mine = threading.current_thread()
    return any(p.ledger == ledger and mine not in p.threads for p in _of_this_process())


def _of_this_process() -> list[_Pricing]:
    return [price for price in tuple(_UNDER_WAY) if price.process == os.getpid()]


def foresee(
    estimator: Any,
    budget: Any,
    data: tuple[Any, Any, dict[str, Any]],
    cost: Callable[[Sequence[Any]], float],
) -> Sequence[Any]:
    """Return what a fit would spend, found with a copy of it.

    What is private itself stops before it reads anything. What others make copies of is fitted to
    the rows that are nobody's. A search that fits its winner once more is taken to choose
    the dearest candidate.
    """
    from joblib import parallel_backend

    X, y, params = data
    _check_rows(X)
    with pricing(budget._ledger.identity) as found, parallel_backend("sequential"):
        copy = _prepared(estimator, budget, found)
        if y is None and (_is_shape(X) or _has_targets(copy)):
            y = _labels(copy, X[0] if _is_shape(X) else np.shape(X)[0])
        X = _zeros(X) if _is_shape(X) else X
        if _is_search(copy) and copy.refit:
            copy.set_params(refit=lambda results: _dearest(len(results["params"]), found, cost))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy.fit(X, y, **params)
    return found


def _prepared(estimator: Any, budget: Any, found: list[Any]) -> Any:
    """Return a copy whose private parts spend from the budget, in this process."""
    from sklearn.base import clone

    copy = clone(estimator)
    parts = dict(_private_parts("", copy))
    given: dict[str, Any] = {}
    for name, value in copy.get_params().items():
        *path, last = name.split("__")
        if last == "n_jobs":
            given[name] = None
        elif last == "error_score":
            given[name] = "raise"
        elif last == "budget" and "__".join(path) in parts:
            given[name] = budget if value is None else value
            if not (value is None or _same_ledger(value, budget)):
                raise ValueError(
                    f"{name} is another budget, from which a fit would spend: ask it for the "
                    f"price, estimator.get_params()[{name!r}].price(...), or give all parts this "
                    "one; make_private_pipeline takes it as budget=."
                )
    copy.set_params(**given)
    for part in parts.values():
        if hasattr(part, "_foreseen"):
            part._foreseen = found
    return copy


def _same_ledger(one: Any, other: Any) -> bool:
    return hasattr(one, "_ledger") and one._ledger.identity == other._ledger.identity


def _private_parts(path: str, estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path and the estimator of each part that spends; what is inside of one does not."""
    params = estimator.get_params(deep=False)
    if "budget" in params:
        yield path, estimator
        return
    before = f"{path}__" if path else ""
    deep = estimator.get_params()
    names = [n for n, value in deep.items() if hasattr(value, "get_params") and "__" not in n]
    for name in names:
        if not isinstance(deep[name], type):
            yield from _private_parts(f"{before}{name}", deep[name])


def _check_rows(X: Any) -> None:
    sizes = isinstance(X, tuple) and all(np.ndim(size) == 0 for size in X)
    if (np.ndim(X) == 0 and not hasattr(X, "shape")) or (sizes and len(X) != 2):
        raise ValueError(
            "X must be the numbers of rows and columns, such as (1000, 5), or rows that are "
            f"nobody's, got {X!r}."
        )
    if sizes:
        for name, size in zip(("n_samples", "n_features"), X, strict=True):
            check_count(name, size)


def _is_shape(X: Any) -> bool:
    return isinstance(X, tuple) and len(X) == 2 and all(np.ndim(size) == 0 for size in X)


def _zeros(shape: tuple[Any, Any]) -> np.ndarray:
    return np.zeros(shape)  # which takes no memory until it is written to


def _labels(estimator: Any, n: int) -> Any:
    """Return targets: the public classes in turn, two where none are said, or zeros."""
    from sklearn.base import is_regressor

    if is_regressor(estimator):
        return np.zeros(n)
    params = estimator.get_params().items()
    known = [value for name, value in params if name.split("__")[-1] == "classes"]
    classes = next((value for value in known if value is not None), (0, 1))
    return np.resize(np.asarray(classes), n)


def _has_targets(estimator: Any) -> bool:
    from sklearn.base import is_classifier, is_regressor

    return bool(is_classifier(estimator) or is_regressor(estimator))


def _is_search(estimator: Any) -> bool:
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

    return isinstance(estimator, GridSearchCV | RandomizedSearchCV)


def _dearest(
    n_candidates: int, found: Sequence[Any], cost: Callable[[Sequence[Any]], float]
) -> int:
    """Return the number of the candidate whose releases, which are of one each, cost most."""
    each = len(found) // n_candidates
    costs = [cost(found[k * each : (k + 1) * each]) for k in range(n_candidates)]
    return int(np.argmax(costs))
