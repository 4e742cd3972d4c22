"""Proposals for the columns of a frame, from their names and types."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from skdp.data.column import home_of
from skdp.data.columns import frame_names
from skdp.data.schema.column import ColumnSchema
from skdp.support.types import MatrixLike

__all__ = ["columns_of"]

# Beginnings of the names of types of NumPy, pandas, polars and Arrow, in lower case.
_KINDS = {
    "bool": "boolean",
    "int": "integer",
    "uint": "integer",
    "float": "number",
    "double": "number",
    "halffloat": "number",
    "decimal": "number",
    "datetime": "date",
    "date": "date",
    "timestamp": "date",
    "category": "category",
    "categorical": "category",
    "dictionary": "category",
}


def columns_of(frame: MatrixLike) -> dict[Hashable, ColumnSchema]:
    """Return a drafted column for each column of a frame; no value is read."""
    types = _types(frame)
    return {name: _column(one) for name, one in zip(frame_names(frame), types, strict=True)}


def _types(frame: MatrixLike) -> list[object]:
    return list(frame.schema.types if hasattr(frame, "column_names") else frame.dtypes)


def _column(dtype: object) -> ColumnSchema:
    if home_of(dtype) == "polars" and type(dtype).__name__ == "Enum":
        declared = tuple(dtype.categories.to_list())  # type: ignore[attr-defined]
        return ColumnSchema(kind="category", categories=declared or None, drafted=True)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":  # one missing value makes these floats
        return ColumnSchema(kind="number", drafted=True)
    text = str(dtype).lower()
    found = (kind for start, kind in _KINDS.items() if text.startswith(start))
    return ColumnSchema(kind=next(found, None), drafted=True)
