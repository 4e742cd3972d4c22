"""Test whether an unknown estimator learns from values, on synthetic data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TypeAlias

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, shuffle

from skdp.support.types import MatrixLike

__all__ = ["what_differs"]

Rows: TypeAlias = tuple[MatrixLike, np.ndarray]
"""X and y."""

_ROWS = 60
_COLUMNS = 4


def what_differs(estimator: BaseEstimator, X_public: MatrixLike = None) -> str | None:
    """Fit copies to pairs of data sets of equal shape, and compare the results.

    Return the evidence that the estimator learns, the reason that no test is possible, or None.
    `X_public` replaces the synthetic rows if columns need certain names or types.
    """
    was_fitted = False
    for first, second in _pairs(X_public):
        if was_fitted and isinstance(first[0], list):  # strings are for estimators without tables
            break
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = _compared(estimator, first, second)
        except Exception:  # it may not accept data of this kind
            continue
        if found is not None:
            return found
        was_fitted = True
    if was_fitted:
        return None
    return "it could not be fitted to any synthetic data. Pass a few public rows as X_public"


def _pairs(X_public: MatrixLike) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs of data sets that differ in everything that a class might learn of X or y."""
    one, other = _labels(2), _labels(3)
    for first, second in _tables() if X_public is None else _resampled(X_public):
        y = np.resize(one, len(first))
        yield (first, y), (second, y)
        yield (first, y), (first, np.resize(other, len(first)))


def _labels(step: int) -> np.ndarray:
    """Return labels 0 and 1; every `step`-th one is 0."""
    return (np.arange(_ROWS) % step > 0).astype(int)


def _tables() -> Iterator[tuple[MatrixLike, MatrixLike]]:
    """Yield tables that differ in mean, scale, zeros, order, density and missing values."""
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS))
    others = np.round(3.0 * rng.exponential(size=numbers.shape) ** 2)[:, ::-1] * [1, 0.1, 5, 20]
    yield numbers, others
    yield numbers, np.where(numbers > 2.0, np.nan, numbers)
    words = np.array(["a", "b", "c", "d e", "e"], dtype=object)
    yield rng.choice(words[:4], numbers.shape), rng.choice(words[1:], numbers.shape)
    yield list(rng.choice(words[:4], _ROWS)), list(rng.choice(words[1:], _ROWS))


def _resampled(X: MatrixLike) -> Iterator[tuple[MatrixLike, MatrixLike]]:
    """Yield the rows, paired with another order of them and with repeated halves and rows."""
    yield X, shuffle(X, random_state=1)
    n = len(X)
    for some in (range(n // 2), range(n // 2, n), [0], [n - 1]):
        if len(some):
            yield X, _safe_indexing(X, np.resize(some, n))


def _compared(estimator: BaseEstimator, first: Rows, second: Rows) -> str | None:
    one, other = (_fitted(estimator, X, y) for X, y in (first, second))
    if _state(one) != _state(other):
        return "its attributes after a fit depend on the values"
    if not hasattr(one, "transform"):
        return None
    X, _ = first
    whole = one.transform(X)
    if joblib.hash(whole) != joblib.hash(other.transform(X)):
        return "its transformation of a row depends on the values in the fit"
    return None if _row_wise(one, X, whole) else "its transformation of a row depends on other rows"


def _state(fitted: BaseEstimator) -> str:
    """Hash the attributes that a fit has set."""
    given = fitted.get_params(deep=False)
    return str(joblib.hash({name: x for name, x in vars(fitted).items() if name not in given}))


def _fitted(estimator: BaseEstimator, X: MatrixLike, y: np.ndarray) -> BaseEstimator:
    copy = clone(estimator)
    seeds = {name: 0 for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**seeds).fit(X, y)


def _row_wise(fitted: BaseEstimator, X: MatrixLike, whole: MatrixLike) -> bool:
    """Return whether the first rows are transformed alike alone and among the others."""
    rows = X.iloc if hasattr(X, "iloc") else X
    for i in range(3):
        alone = fitted.transform(rows[i : i + 1])
        expected = (whole.iloc if hasattr(whole, "iloc") else whole)[i : i + 1]
        if not _same(alone, expected):
            return False
    return True


def _same(one: ArrayLike, other: ArrayLike) -> bool:
    a, b = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (one, other))
    if a.dtype.kind in "fc":
        return a.shape == b.shape and bool(np.allclose(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))
