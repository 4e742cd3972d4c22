"""Whether an unknown estimator learns from values: it is fitted to made-up data, never to yours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import shuffle

__all__ = ["what_differs"]

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
    for first, second in _pairs(X_public):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return _compared(estimator, first, second)
        except Exception:  # it may not take data of this kind
            continue
    return "it could not be fitted to any synthetic data: give X_public, a few public rows"


def _pairs(X_public: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of data sets, which differ in mean, scale, zeros, order and density."""
    if X_public is not None:
        mixed = shuffle(X_public, random_state=1)
        yield X_public, mixed
        return
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS))
    others = np.round(3.0 * rng.exponential(size=numbers.shape) ** 2)[:, ::-1] * [1, 0.1, 5, 20]
    yield numbers, others
    words = np.array(["a", "b", "c", "d e", "e"], dtype=object)
    yield rng.choice(words[:4], numbers.shape), rng.choice(words[1:], numbers.shape)
    yield list(rng.choice(words[:4], _ROWS)), list(rng.choice(words[1:], _ROWS))


def _compared(estimator: Any, first: Any, second: Any) -> str | None:
    one, other = (_fitted(estimator, X) for X in (first, second))
    if _state(one) != _state(other):
        return "what it holds after a fit depends on the values"
    if not hasattr(one, "transform"):
        return None
    whole = one.transform(first)
    if joblib.hash(whole) != joblib.hash(other.transform(first)):
        return "what it makes of a row depends on the values that it was fitted to"
    return None if _row_wise(one, first, whole) else "what it makes of a row depends on other rows"


def _state(fitted: Any) -> str:
    """Return a hash of what a fit has set."""
    given = fitted.get_params(deep=False)
    return str(joblib.hash({name: x for name, x in vars(fitted).items() if name not in given}))


def _fitted(estimator: Any, X: Any) -> Any:
    copy = clone(estimator)
    seeds = {name: 0 for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**seeds).fit(X, np.arange(len(X)) % 2)


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
