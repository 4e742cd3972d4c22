"""Test whether an unknown estimator learns from values, on synthetic data."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache, lru_cache, partial
from pickle import dumps
from typing import NamedTuple, TypeAlias

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, shuffle

from skdp.pipeline._known_estimators import params_of
from skdp.support.types import MatrixLike, VectorLike

Pair: TypeAlias = tuple[MatrixLike, MatrixLike]
Targets: TypeAlias = tuple[VectorLike, VectorLike]
_ROWS = 60
_COLUMNS = 4


class Evidence(NamedTuple):
    """What a test has shown, and the severity that follows."""

    severity: str
    text: str


_NONE_FOUND = Evidence(
    "unknown", "it learns nothing on synthetic data, but may on other data. Read its source"
)
_NOT_FITTED = Evidence(
    "medium", "it could not be fitted to two different tables, and may learn. Pass rows as X_public"
)
_RANDOM = Evidence("medium", "its fits to the same rows differ, so it may learn. Read its source")


def evidence_of(estimator: BaseEstimator, X_public: MatrixLike = None) -> Evidence:
    """Fit copies to pairs of data sets of equal shape, and compare the results.

    `X_public` comes first, for classes that need columns of certain names or types.
    """
    was_compared = False
    own = [] if X_public is None else [[*_resampled(X_public)]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            seeded = _seeded(estimator)
        except Exception:  # for example one that holds a lock
            return _NOT_FITTED
        for tables in own + _kinds("pandas" in sys.modules):
            if was_compared and (np.ndim(tables[0][0]) == 1 or len(tables) == 2):
                continue  # columns, and frames of numbers, are for estimators without arrays
            targets = [*_targets(len(tables[0][0]))]
            for pair in tables:
                found, targets = _first_answer(seeded, pair, targets)
                if found is None and len(targets) > 1:
                    break  # it does not accept this kind of table
                if found not in (None, _NONE_FOUND):
                    return found
                was_compared |= found is not None
    return _NONE_FOUND if was_compared else _NOT_FITTED


@lru_cache(maxsize=2)
def _kinds(has_pandas: bool) -> list[list[Pair]]:
    """Return pairs of tables, listed by kind."""
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(_ROWS, _COLUMNS)) + 0.01  # for logarithms and powers
    others = np.round(3.0 * rng.exponential(size=numbers.shape) ** 2) + 1.0
    changed = others * [20, 5, 0.1, 1]
    # A constant column, a duplicate and a correlated one, which selections drop.
    first = numbers[:, 0]
    special = np.stack([first, np.ones(_ROWS), first, 2.0 * first + 0.01 * numbers[:, 3]], axis=1)
    missing = np.where(numbers > 2.0, np.nan, numbers)
    some = np.array(["a", "b", "c", "d e", "e"], dtype=object)
    words = rng.choice(some[:4], numbers.shape), rng.choice(some[1:], numbers.shape)
    kinds = [[(numbers, other) for other in (changed, special, missing)], [words]]
    if has_pandas:
        frame = partial(sys.modules["pandas"].DataFrame, columns=list("xyst"))
        one, other = frame(numbers), frame(changed)
        kinds.append([(one, other), (one, frame(special))])
        # Columns of numbers, of strings and of objects.
        texts = ({"s": word[:, 0].astype(str), "t": word[:, 1]} for word in words)
        one, other = one.assign(**next(texts)), other.assign(**next(texts))
        kinds += [[(one, other)], [(one["s"], other["s"])]]
    return [*kinds, [(list(words[0][:, 0]), list(words[1][:, 0]))]]


def _resampled(X: MatrixLike) -> Iterator[Pair]:
    """Yield the rows, paired with another order of them and with repeated halves and rows."""
    yield X, shuffle(X, random_state=1)
    n = len(X)
    for some in (range(n // 2), range(n // 2, n), [0], [n - 1]):
        if len(some):
            yield X, _safe_indexing(X, np.resize(some, n))


def _targets(n: int) -> Iterator[Targets]:
    """Yield pairs of targets: labels, numbers and none."""
    rows = np.arange(n)
    yield rows % _ROWS % 2, (rows % _ROWS % 3 > 0).astype(int)
    yield np.sin(rows), np.cos(rows) * 3.0
    yield None, None


def _first_answer(
    estimator: BaseEstimator, pair: Pair, targets: list[Targets]
) -> tuple[Evidence | None, list[Targets]]:
    """Return what the first targets show that are accepted, and these; None if none is."""
    for y in targets:
        with suppress(Exception):  # it may not accept data of this kind
            return _compared(estimator, pair, *y) or _NONE_FOUND, [(y[0], None)]
    return None, targets


def _compared(
    estimator: BaseEstimator, pair: Pair, y: VectorLike, other_y: VectorLike
) -> Evidence | None:
    X, other = pair
    again = cache(partial(_fitted, estimator, X, y))
    one = _fitted(estimator, X, y)
    found = _difference(one, _fitted(estimator, other, y), again, X)
    if found is None and other_y is not None:
        with suppress(Exception):  # other targets may be refused
            found = _difference(one, _fitted(estimator, X, other_y), again, X)
    is_first = other_y is not None or y is None
    return _row_wise(one, X) if found is None and is_first else found


def _difference(
    one: BaseEstimator, other: BaseEstimator, again: Callable[[], BaseEstimator], X: MatrixLike
) -> Evidence | None:
    """Return in what two fits differ, unless a fit `again` to the same rows differs as well."""
    views = {"its attributes after a fit depend on the values": _state}
    if hasattr(one, "transform"):
        views["its transformation of a row depends on the values in the fit"] = partial(_of, X=X)
    differing = [said for said, view in views.items() if not _equal(view(one), view(other))]
    for said in differing:
        if _equal(views[said](one), views[said](again())):
            return Evidence("high", said)
    return _RANDOM if differing else None


def _state(fitted: BaseEstimator) -> dict[str, object]:
    """Return the attributes that a fit has set."""
    given = params_of(fitted)
    return {name: x for name, x in vars(fitted).items() if name not in given}


def _equal(one: object, other: object) -> bool:
    """Return whether two objects have the same contents; pickles of equal objects may differ."""
    if dumps(one) == dumps(other):
        return True
    try:
        return bool(joblib.hash(one) == joblib.hash(other))
    except ValueError:  # joblib 1.6 fails for masked arrays, as in results of searches
        return False


def _seeded(estimator: BaseEstimator) -> BaseEstimator:
    """Return an unfitted copy with fixed seeds."""
    try:
        copy = clone(estimator)
    except Exception:  # some classes are no estimators, or their get_params fails
        copy = deepcopy(estimator)
    seeds = {name: 0 for name in params_of(copy, deep=True) if name.endswith("random_state")}
    return copy.set_params(**seeds) if seeds else copy


def _fitted(seeded: BaseEstimator, X: MatrixLike, y: VectorLike) -> BaseEstimator:
    """Fit a copy to copies, because a fit may write to its arguments."""
    copy = deepcopy(seeded)
    copy.fit(_copied(X), *([] if y is None else [y.copy()]))
    return copy


def _copied(X: MatrixLike) -> MatrixLike:
    return X.copy() if hasattr(X, "copy") else deepcopy(X)


def _of(fitted: BaseEstimator, X: MatrixLike) -> MatrixLike:
    return fitted.transform(_copied(X))


def _row_wise(fitted: BaseEstimator, X: MatrixLike) -> Evidence | None:
    """Return evidence if the first rows are not transformed alike alone and among the others."""
    if not hasattr(fitted, "transform"):
        return None
    whole, rows = _of(fitted, X), X.iloc if hasattr(X, "iloc") else X
    for i in range(3):
        alone = _of(fitted, rows[i : i + 1])
        expected = (whole.iloc if hasattr(whole, "iloc") else whole)[i : i + 1]
        if not _same(alone, expected):
            return Evidence("high", "its transformation of a row depends on other rows")
    return None


def _same(one: ArrayLike, other: ArrayLike) -> bool:
    a, b = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (one, other))
    if a.dtype.kind == "O":
        pairs = zip(a.ravel(), b.ravel(), strict=True)
        return a.shape == b.shape and all(x == y or _both_close(x, y) for x, y in pairs)
    return a.shape == b.shape and (bool(np.array_equal(a, b)) or _both_close(a, b))


def _both_close(one: ArrayLike, other: ArrayLike) -> bool:
    numbers = np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc"
    return numbers and bool(np.allclose(one, other, equal_nan=True))
