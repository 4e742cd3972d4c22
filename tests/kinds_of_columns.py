"""Containers of one column of data, from every supported library and of every supported type.

Each entry of `KINDS` makes a container from a list of values, some of which may be ``None``. It
states the values that the container can hold: "integer", "string", "float" or "boolean", and
whether it can hold nulls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["BIG", "KINDS", "VALUES", "Kind", "OnlyArray", "OnlyArrow", "as_objects", "table"]

BIG = 2**53
_READS_STREAMS = int(pa.__version__.split(".")[0]) >= 16  # of columns; an older Arrow raises
VALUES = {
    "integer": [BIG + 1, BIG, 2**63 - 1, 2**63 - 2, -BIG - 1, 0],
    "string": ["b", "a", "", "a ", "ä", "nan"],
    "float": [0.5, -0.0, 1e300, 5e-324, 0.1, -1.0],
    "boolean": [True, False],
}


class Kind(NamedTuple):
    """A function that makes a container, the kind of its values, and whether it can hold nulls."""

    make: Callable[[list[Any]], Any]
    holds: str
    nullable: bool = True


class OnlyArrow:
    """A column of another library, which offers Arrow's stream and nothing else."""

    def __init__(self, column):
        self._column = column

    def __len__(self):
        return len(self._column)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._column.__arrow_c_stream__(requested_schema)


class OnlyArray:
    """A column of another library, which offers NumPy's protocol and nothing else."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


def as_objects(values):
    """Return values as an array of objects, the reference for every other container."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def table(column):
    """Return a table of the library of a column, with another column of numbers beside it."""
    plain = np.linspace(-1.0, 1.0, len(column))
    if isinstance(column, pl.Series):
        return pl.DataFrame({"x": column, "z": plain})
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return pa.table({"x": column, "z": pa.array(plain)})
    if isinstance(column, OnlyArrow):
        return OnlyArrow(pa.table({"x": pa.chunked_array(column), "z": pa.array(plain)}))
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OT":
        return pd.DataFrame({"x": column, "z": plain})
    if isinstance(column, pd.Series):
        return pd.DataFrame({"x": column, "z": plain})
    return pd.DataFrame({"x": as_objects(list(np.asarray(column).tolist())), "z": plain})


def series(dtype):
    return lambda values: pd.Series(values, dtype=dtype)


def categorical(values):
    return pd.Series(pd.Categorical(values))


def categorical_of(dtype):
    def make(values):
        known = pd.Index([v for v in dict.fromkeys(values) if v is not None], dtype=dtype)
        return pd.Series(pd.Categorical(pd.array(values, dtype=dtype), categories=known))

    return make


def arrow(kind):
    return lambda values: pa.array(values, kind)


def halves(values):
    """Cut a column into two chunks."""
    return values[: len(values) // 2], values[len(values) // 2 :]


def chunked(kind):
    return lambda values: pa.chunked_array([pa.array(h, kind) for h in halves(values)], kind)


def dictionary(kind):
    return lambda values: pa.array(values, kind).dictionary_encode()


def dictionaries(kind):
    """Chunks with dictionaries of their own: one code stands for two values."""

    def make(values):
        chunks = [pa.array(h, kind).dictionary_encode() for h in halves(values)]
        return pa.chunked_array(chunks, pa.dictionary(pa.int32(), kind))

    return make


def null_in_dictionary(kind):
    """A dictionary that holds the null itself, as a code that is valid."""

    def make(values):
        known = list(dict.fromkeys(values))
        codes = pa.array([known.index(v) for v in values], pa.int32())
        return pa.DictionaryArray.from_arrays(codes, pa.array(known, kind))

    return make


def runs(kind):
    import pyarrow.compute as pc

    return lambda values: pc.run_end_encode(pa.array(values, kind))


def arrow_series(kind):
    return lambda values: pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind))


def arrow_dictionary_series(kind):
    def make(values):
        array = pa.array(values, kind).dictionary_encode()
        return pd.Series(array, dtype=pd.ArrowDtype(array.type))

    return make


def polars(dtype):
    return lambda values: pl.Series("x", values, dtype=dtype)


def enum(values):
    return pl.Series("x", values, dtype=pl.Enum(VALUES["string"]))


def _of_type(holds, numpy, arrow_type, polars_type, nullable_type):
    yield "list", Kind(list, holds)
    yield "objects", Kind(as_objects, holds)
    yield "array", Kind(lambda v: np.array(v, numpy), holds, nullable=False)
    yield "protocol of arrays", Kind(lambda v: OnlyArray(np.array(v, numpy)), holds, nullable=False)
    yield "pandas objects", Kind(series(object), holds)
    yield f"pandas {nullable_type}", Kind(series(nullable_type), holds)
    yield "pandas categorical", Kind(categorical, holds, nullable=holds != "integer")
    yield f"pandas categorical of {nullable_type}", Kind(categorical_of(nullable_type), holds)
    yield "pandas of Arrow", Kind(arrow_series(arrow_type), holds)
    yield "Arrow", Kind(arrow(arrow_type), holds)
    yield "Arrow chunks", Kind(chunked(arrow_type), holds)
    if _READS_STREAMS:
        yield "protocol of Arrow", Kind(lambda v: OnlyArrow(chunked(arrow_type)(v)), holds)
    yield "polars", Kind(polars(polars_type), holds)
    if holds != "boolean":
        yield "pandas of an Arrow dictionary", Kind(arrow_dictionary_series(arrow_type), holds)
        yield "Arrow dictionary", Kind(dictionary(arrow_type), holds)
        yield "Arrow dictionaries", Kind(dictionaries(arrow_type), holds)
        yield "Arrow dictionary with a null", Kind(null_in_dictionary(arrow_type), holds)
        yield "Arrow runs", Kind(runs(arrow_type), holds)


def _sparse(filling, dtype):
    return lambda v: pd.Series(pd.arrays.SparseArray(v, dtype=pd.SparseDtype(dtype, filling)))


_NAMED = {
    "integer": _of_type("integer", np.int64, pa.int64(), pl.Int64, "Int64"),
    "string": _of_type("string", str, pa.string(), pl.String, "string"),
    "float": _of_type("float", float, pa.float64(), pl.Float64, "Float64"),
    "boolean": _of_type("boolean", bool, pa.bool_(), pl.Boolean, "boolean"),
}
KINDS = {f"{held}s, {name}": kind for held, kinds in _NAMED.items() for name, kind in kinds}
KINDS |= {
    "integers, pandas sparse": Kind(_sparse(0, np.int64), "integer", nullable=False),
    "floats, pandas sparse": Kind(_sparse(np.nan, float), "float"),
    "floats, array": Kind(lambda v: np.array(v, float), "float"),  # None becomes NaN
    "strings, pandas str": Kind(series("str"), "string"),
    "strings, pandas string[pyarrow]": Kind(series("string[pyarrow]"), "string"),
    "strings, Arrow large": Kind(arrow(pa.large_string()), "string"),
    "strings, polars Categorical": Kind(polars(pl.Categorical), "string"),
    "strings, polars Enum": Kind(enum, "string"),
}
if hasattr(np.dtypes, "StringDType"):  # since NumPy 2
    text = np.dtypes.StringDType(na_object=None)
    KINDS["strings, array of variable length"] = Kind(lambda v: np.array(v, text), "string")
