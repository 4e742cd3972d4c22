"""What a fit, a pipeline or a search would spend: it is tried on rows that are nobody's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from skdp._validation import check_count

__all__ = ["Foreseen", "foresee"]


class Foreseen(list[Any]):
    """Releases that are not made: budget, label, guarantee and part of each, in their order."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ValueError("A price is found in one process.")


def foresee(
    estimator: Any,
    budget: Any,
    stand_in: Any,
    data: tuple[Any, Any, dict[str, Any]],
    cost: Callable[[Sequence[Any]], float],
) -> Sequence[Any]:
    """Return what a fit would spend, found with a copy of it that spends from `stand_in`.

    What is private itself stops before it reads anything. What others make copies of is fitted to
    the rows that are nobody's. A search that fits its winner once more is taken to have chosen
    the dearest candidate.
    """
    copy = _prepared(estimator, budget, stand_in)
    X, y, params = data
    X, y = (_zeros(X), _labels(copy, X[0]) if y is None else y) if _is_shape(X) else (X, y)
    refit = _is_search(copy) and copy.refit
    if refit:
        copy.set_params(refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy.fit(X, y, **params)
    found: Sequence[Any] = stand_in._foreseen
    return [*found, *_dearest(copy, found, cost)] if refit else found


def _prepared(estimator: Any, budget: Any, stand_in: Any) -> Any:
    """Return a copy whose private parts spend from the stand-in, in this process."""
    from sklearn.base import clone

    copy = clone(estimator)
    parts = dict(_private_parts("", copy))
    given: dict[str, Any] = {}
    for name in copy.get_params():
        *path, last = name.split("__")
        if last == "n_jobs":
            given[name] = None
        elif last == "error_score":
            given[name] = "raise"
        elif last == "budget" and "__".join(path) in parts:
            given[name] = stand_in
            if copy.get_params()[name] not in (None, budget):
                raise ValueError(f"{name} is another budget: price it there.")
    copy.set_params(**given)
    for part in parts.values():
        if hasattr(part, "_foreseen"):
            part._foreseen = stand_in._foreseen
    return copy


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


def _is_shape(X: Any) -> bool:
    return isinstance(X, tuple) and len(X) == 2 and all(np.ndim(size) == 0 for size in X)


def _zeros(shape: tuple[Any, Any]) -> np.ndarray:
    n, d = (check_count(name, int(k)) for name, k in zip(("n", "d"), shape, strict=True))
    return np.zeros((n, d))  # which takes no memory until it is written to


def _labels(estimator: Any, n: int) -> Any:
    """Return targets: the public classes in turn, two where none are said, or zeros."""
    from sklearn.base import is_regressor

    if is_regressor(estimator):
        return np.zeros(n)
    params = estimator.get_params().items()
    known = [value for name, value in params if name.split("__")[-1] == "classes"]
    classes = next((value for value in known if value is not None), (0, 1))
    return np.resize(np.asarray(classes), n)


def _is_search(estimator: Any) -> bool:
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

    return isinstance(estimator, GridSearchCV | RandomizedSearchCV)


def _dearest(
    search: Any, found: Sequence[Any], cost: Callable[[Sequence[Any]], float]
) -> Sequence[Any]:
    """Return the releases of the fit that costs most."""
    n_fits = search.n_splits_ * len(search.cv_results_["params"])
    each = len(found) // n_fits
    fits = [found[k * each : (k + 1) * each] for k in range(0, n_fits, search.n_splits_)]
    return max(fits, key=cost)
