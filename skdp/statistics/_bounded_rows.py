"""Rows of numbers within public bounds, of estimators without targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.column_facts import ColumnBounds
from skdp.data.records import Records, check_numeric
from skdp.data.validation import column_names, refuse_missing, validated_numbers

__all__ = ["bounded_rows", "clipped", "filled_rows"]

_MOST_COLUMNS = 4096  # of which a matrix with exact noise takes half a minute


def bounded_rows(
    estimator: Any, X: Any, parameters: ReleaseParameters, groups: Any = None
) -> Records[ColumnBounds]:
    """Return the rows after checks of shape, types, bounds and groups; without privacy floats.

    The estimator keeps what a missing number counts as, for `filled_rows`.
    """
    estimator._filling = None
    if not parameters.is_private:  # which takes what is in memory
        floats = validated_numbers(estimator, X, reset=True, dtype=[np.float64, np.float32])
        refuse_missing(floats, column_names(estimator))
        return Records.arrived(floats, groups=groups)
    records = Records.of(estimator, X, groups=groups)
    records.check(check_numeric)
    bounds = _bounds_of(estimator)
    estimator._filling = bounds.middle
    return records.with_facts(bounds)


def _bounds_of(estimator: Any) -> ColumnBounds:
    n_columns = estimator.n_features_in_
    if n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"{type(estimator).__name__} releases a matrix of as many rows as columns, and takes "
            f"up to {_MOST_COLUMNS} columns, got {n_columns}."
        )
    return ColumnBounds.of(estimator.bounds, n_columns, column_names(estimator))


def clipped(
    records: Records[ColumnBounds], width: int = 1
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield clipped rows as floats, NaN as the middle of its bounds, and their steps, in chunks.

    `width` numbers a row are going to be made of them. They are stored row by row: in which order a
    row's numbers are added up must not depend on whether it is alone in its block.
    """
    for rows, steps in records.chunks(width):
        yield np.ascontiguousarray(records.facts.clip(rows)), steps


def filled_rows(estimator: Any, X: Any) -> np.ndarray:
    """Return rows to be transformed as finite floats: what is missing as in `fit`.

    They are copied only if something is missing.
    """
    X = validated_numbers(estimator, X, reset=False, dtype=[np.float64, np.float32])
    filling, missing = estimator._filling, np.isnan(X)
    if filling is not None and missing.any():
        X = np.where(missing, filling.astype(X.dtype), X)
    refuse_missing(X, column_names(estimator))
    return X
