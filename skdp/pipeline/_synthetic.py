"""Whether an unknown estimator learns from values: it is fitted to made-up data, never to yours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, shuffle

__all__ = ["what_differs"]

Rows = tuple[Any, np.ndarray]
"""X and y."""

_ROWS = 60
_COLUMNS = 4


def what_differs(estimator: Any, X_public: Any = None) -> str | None:
    """Fit copies to two data sets of equal shape, and compare what comes out.

    Parameters
    ----------
    estimator : estimator
        *Public.* It is cloned, and its seeds are set.
    X_public : array-like or frame or None
        *Public.* Rows to try it on, for one that needs columns of certain names or types.

    Returns
    -------
    finding : str or None
        What shows that it learns, or that it can't be tested; None where nothing does.
    """
    was_fitted = False
    for first, second in _pairs(X_public):
        if was_fitted and isinstance(first[0], list):  # of texts, for what takes no table
            break
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = _compared(estimator, first, second)
        except Exception:  # it may not take data of this kind
            continue
        if found is not None:
            return found
        was_fitted = True
    if was_fitted:
        return None
    return "it could not be fitted to any synthetic data: give X_public, a few public rows"


def _pairs(X_public: Any) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs of data sets, X and y, that differ in all that a class might learn of either."""
    one, other = _labels(2), _labels(3)
    for first, second in _tables() if X_public is None else _resampled(X_public):
        y = np.resize(one, len(first))
        yield (first, y), (second, y)
        yield (first, y), (first, np.resize(other, len(first)))


def _labels(step: int) -> np.ndarray:
    """Return labels, of which one in `step` is 0."""
    return (np.arange(_ROWS) % step > 0).astype(int)


def _tables() -> Iterator[tuple[Any, Any]]:
    """Yield tables that differ in mean, scale, zeros, order, density and in what is missing."""
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS))
    others = np.round(3.0 * rng.exponential(size=numbers.shape) ** 2)[:, ::-1] * [1, 0.1, 5, 20]
    yield numbers, others
    yield numbers, np.where(numbers > 2.0, np.nan, numbers)
    words = np.array(["a", "b", "c", "d e", "e"], dtype=object)
    yield rng.choice(words[:4], numbers.shape), rng.choice(words[1:], numbers.shape)
    yield list(rng.choice(words[:4], _ROWS)), list(rng.choice(words[1:], _ROWS))


def _resampled(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows in another order, and beside some of them again and again: halves, and single."""
    yield X, shuffle(X, random_state=1)
    n = len(X)
    for some in (range(n // 2), range(n // 2, n), [0], [n - 1]):
        if len(some):
            yield X, _safe_indexing(X, np.resize(some, n))


def _compared(estimator: Any, first: Rows, second: Rows) -> str | None:
    one, other = (_fitted(estimator, X, y) for X, y in (first, second))
    if _state(one) != _state(other):
        return "what it holds after a fit depends on the values"
    if not hasattr(one, "transform"):
        return None
    X, _ = first
    whole = one.transform(X)
    if joblib.hash(whole) != joblib.hash(other.transform(X)):
        return "what it makes of a row depends on the values that it was fitted to"
    return None if _row_wise(one, X, whole) else "what it makes of a row depends on other rows"


def _state(fitted: Any) -> str:
    """Return a hash of what a fit has set."""
    given = fitted.get_params(deep=False)
    return str(joblib.hash({name: x for name, x in vars(fitted).items() if name not in given}))


def _fitted(estimator: Any, X: Any, y: np.ndarray) -> Any:
    copy = clone(estimator)
    seeds = {name: 0 for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**seeds).fit(X, y)


def _row_wise(fitted: Any, X: Any, whole: Any) -> bool:
    """Return whether each of the first rows becomes the same alone as among the others."""
    rows = X.iloc if hasattr(X, "iloc") else X
    for i in range(3):
        alone = fitted.transform(rows[i : i + 1])
        expected = (whole.iloc if hasattr(whole, "iloc") else whole)[i : i + 1]
        if not _same(alone, expected):
            return False
    return True


def _same(one: Any, other: Any) -> bool:
    a, b = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (one, other))
    if a.dtype.kind in "fc":
        return a.shape == b.shape and bool(np.allclose(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))
