"""Containers of one column, generated: every type of every library in every wrapper around it.

`CONTAINERS` has some hundreds of entries. Each makes a container from a list of values out of its
own pool, some of them ``None`` if it can hold nulls. Lists and arrays of objects hold values of two
kinds, so that a change of one row changes the kinds that occur.
"""

import datetime as dt
import enum
import uuid
from collections import UserList, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, cycle
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from kinds_of_columns import BIG, arrow, as_objects, dictionary, polars, runs, series

__all__ = ["CONTAINERS", "Container"]


class Container(NamedTuple):
    """A function that makes a container of values from a pool."""

    make: Callable[[list[Any]], Any]
    pool: list[Any]
    nullable: bool = True


class Color(str, enum.Enum):  # noqa: UP042
    """Strings with another text than their value."""

    RED = "a"
    BLUE = "b"


class Level(enum.IntEnum):
    """Integers that are not of the type int."""

    LOW = 1
    HIGH = 3


DAYS = [dt.date(2020, 1, 1), dt.date(2021, 5, 5), dt.date(1999, 12, 31)]
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2021, 5, 5, 5, 30), dt.datetime(1999, 12, 31)]
SPANS = [dt.timedelta(0), dt.timedelta(days=1), dt.timedelta(seconds=3)]
TEXTS = ["a", "b", "", "1", "True", "yes", "2020-01-01", "b\0", "nan", "pain ok", "no PAIN"]
INTEGERS = [0, 1, 3, BIG, BIG + 1, -5, 2**62]
SMALL = [0, 1, 3, 127]
FLOATS = [0.0, 1.0, 3.0, 0.5, -0.0, np.inf, 1e300, float(BIG)]
DECIMALS = [Decimal("1.5"), Decimal("9.99"), Decimal(0), Decimal(1)]

# Name: values, and the types of NumPy, pandas, Arrow and polars that hold them.
TYPES = {
    "boolean": ([True, False], "bool", "boolean", pa.bool_(), pl.Boolean),
    "int8": (SMALL, "int8", "Int8", pa.int8(), pl.Int8),
    "int64": (INTEGERS, "int64", "Int64", pa.int64(), pl.Int64),
    "uint64": ([0, 1, 2**64 - 1, BIG + 1], "uint64", "UInt64", pa.uint64(), pl.UInt64),
    "int128": ([0, 1, 2**100, BIG + 1], None, None, None, getattr(pl, "Int128", None)),
    "float16": ([0.0, 1.0, 0.1, np.inf], "float16", None, pa.float16(), None),
    "float32": ([0.0, 1.0, 0.1, np.inf], "float32", "Float32", pa.float32(), pl.Float32),
    "float64": (FLOATS, "float64", "Float64", pa.float64(), pl.Float64),
    "longdouble": ([0.0, 0.1, np.longdouble("0.1")], "longdouble", None, None, None),
    "complex": ([1j, 1.0, 0.5], "complex128", None, None, None),
    "string": (TEXTS, "U12", "string", pa.string(), pl.String),
    "large string": (TEXTS, "O", "str", pa.large_string(), None),
    "string of Arrow": (TEXTS, None, "string[pyarrow]", None, None),
    "bytes": ([b"a", b"1", b"\xff", b""], "S3", None, pa.binary(), pl.Binary),
    "bytes of one length": ([b"ab", b"12"], None, None, pa.binary(2), None),
    "date": (DAYS, "M8[D]", None, pa.date32(), pl.Date),
    "date of 64 bits": (DAYS, "M8[h]", None, pa.date64(), None),
    "moment s": (MOMENTS, "M8[s]", None, pa.timestamp("s"), None),
    "moment ms": (MOMENTS, "M8[ms]", None, pa.timestamp("ms"), pl.Datetime("ms")),
    "moment us": (MOMENTS, "M8[us]", None, pa.timestamp("us"), pl.Datetime("us")),
    "moment ns": (MOMENTS, "M8[ns]", None, pa.timestamp("ns"), pl.Datetime("ns")),
    "span s": (SPANS, "m8[s]", None, pa.duration("s"), None),
    "span us": (SPANS, "m8[us]", None, pa.duration("us"), pl.Duration("us")),
    "span ns": (SPANS, "m8[ns]", None, pa.duration("ns"), pl.Duration("ns")),
    "time": ([dt.time(0), dt.time(1, 2)], None, None, pa.time64("us"), pl.Time),
    "time s": ([dt.time(0), dt.time(1, 2)], None, None, pa.time32("s"), None),
    "decimal": (DECIMALS, None, None, pa.decimal128(20, 3), pl.Decimal(20, 2)),
    "decimal of 256 bits": (DECIMALS, None, None, pa.decimal256(50, 3), None),
    "list": ([[1], [2, None], []], None, None, pa.list_(pa.int64()), pl.List(pl.Int64)),
    "struct": ([{"a": 1}, {"a": None}], None, None, pa.struct([("a", pa.int64())]),
               pl.Struct({"a": pl.Int64})),
    "map": ([[("a", 1)], []], None, None, pa.map_(pa.string(), pa.int64()), None),
    "null": ([None], None, None, pa.null(), pl.Null),
}  # fmt: skip
if hasattr(pa, "string_view"):
    TYPES["string view"] = (TEXTS, None, None, pa.string_view(), None)
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
EXTREMES = [0, 1, 18262, 2**62, -(2**62), 2**63 - 1, 10**9]
# Kinds of values that lists mix.
SCALARS = {
    "bool": [True, False],
    "int": [0, 1, 3, BIG + 1, 2**63, 2**70],
    "float": [0.0, 1.0, 0.5, float(BIG), np.nan],
    "complex": [1 + 0j, 1j, 0.5 + 0j],
    "text": ["a", "1", "True", "2020-01-01", "b\0"],
    "bytes": [b"a", b"1"],
    "missing": [None, pd.NA, pd.NaT, np.nan],
    "date": DAYS,
    "moment": MOMENTS,
    "span": SPANS,
    "decimal": DECIMALS,
    "fraction": [Fraction(1, 3), Fraction(1)],
    "enumeration": [Color.RED, Color.BLUE, Level.LOW, Level.HIGH],
    "bool of NumPy": [np.True_, np.False_],
    "int of NumPy": [np.int64(1), np.uint64(3), np.int8(1), np.int64(BIG + 1)],
    "float of NumPy": [np.float32(0.1), np.float64(1.0), np.float16(0.1), np.longdouble("0.1")],
    "text of NumPy": [np.str_("a"), np.str_("1")],
    "days of NumPy": [np.datetime64("2020-01-01"), np.datetime64("20000-01-01")],
    "moments of NumPy": [np.datetime64(1, "as"), np.datetime64("2020-01-01", "ns")],
    "spans of NumPy": [np.timedelta64(1, "D"), np.timedelta64(1, "h"), np.timedelta64(2, "Y")],
    "scalar of Arrow": [pa.scalar(1), pa.scalar("a"), pa.scalar(True)],
    "moment of pandas": [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")],
}


def _filled(values, dtype):
    """Return values for NumPy, which has NaN and NaT in place of nulls."""
    empty = {"m": np.timedelta64("NaT"), "M": np.datetime64("NaT")}.get(dtype.kind, np.nan)
    return [empty if value is None else value for value in values]


def _array(dtype):
    return lambda values: np.array(_filled(values, np.dtype(dtype)), dtype)


def _categorical(make):
    return lambda values: make(values).astype("category")


def _sparse(dtype, filling):
    def make(values):
        return pd.Series(pd.arrays.SparseArray(_array(dtype)(values), fill_value=filling))

    return make


def _halves(make):
    """Cut a column into two chunks, each made by itself."""

    def cut(values):
        chunks = [make(values[:2]), make(values[2:])]
        return pa.chunked_array(chunks, chunks[0].type)

    return cut


def _null_in_dictionary(kind):
    def make(values):
        known = [None, *(value for value in values if value is not None)]
        codes = pa.array([known.index(value) for value in values], pa.int32())
        return pa.DictionaryArray.from_arrays(codes, pa.array(known, kind))

    return make


def _sliced(kind):
    return lambda values: pa.array([values[0], *values, values[0]], kind)[1:-1]


def _arrow_series(make):
    def of(values):
        array = make(values)
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))

    return of


def _of_types():
    for name, (pool, numpy, pandas, of_arrow, of_polars) in TYPES.items():
        # Categories and dictionaries hold one of the equal numbers 0 and −0.0.
        different = [value for value in pool if repr(value) != "-0.0"]
        if numpy is not None:
            has_nulls = np.dtype(numpy).kind in "fmM"
            array = _array(numpy)
            yield f"{name}, NumPy", Container(array, pool, has_nulls)
            yield f"{name}, pandas", Container(lambda v, a=array: pd.Series(a(v)), pool, has_nulls)
            made = _categorical(lambda v, a=array: pd.Series(a(v)))
            yield f"{name}, categorical", Container(made, different, has_nulls)
            for filling in (None, np.array(pool[:1], numpy)[0]):
                kind = "nulls" if filling is None else "values"
                made = _sparse(numpy, filling)
                yield f"{name}, sparse of {kind}", Container(made, pool, has_nulls)
        if pandas is not None:
            yield f"{name}, pandas {pandas}", Container(series(pandas), pool)
            made = _categorical(series(pandas))
            yield f"{name}, categorical of {pandas}", Container(made, different)
        if of_arrow is not None:
            yield f"{name}, Arrow", Container(arrow(of_arrow), pool)
            for how in (_sliced, dictionary, _null_in_dictionary, runs):
                yield f"{name}, Arrow {how.__name__}", Container(how(of_arrow), different)
            for how in (arrow, dictionary, runs):
                made = _halves(how(of_arrow))
                yield f"{name}, chunks of Arrow {how.__name__}", Container(made, pool)
                made = _arrow_series(how(of_arrow))
                yield f"{name}, pandas of Arrow {how.__name__}", Container(made, pool)
            made = _categorical(_arrow_series(arrow(of_arrow)))
            yield f"{name}, categorical of Arrow", Container(made, different)
        if of_polars is not None:
            yield f"{name}, polars", Container(polars(of_polars), pool)
        made = _categorical(series(object))
        yield f"{name}, categorical of objects", Container(made, different)
        yield f"{name}, polars objects", Container(polars(pl.Object), pool)


def _of_units():
    """Times of NumPy in every unit, with the most extreme values."""
    for unit in UNITS:
        for kind in "mM":
            dtype = f"{kind}8[{unit}]"

            def make(values, dtype=dtype):
                least = np.iinfo(np.int64).min  # NaT
                return np.array([least if v is None else v for v in values], np.int64).view(dtype)

            yield f"NumPy {dtype}", Container(make, EXTREMES)
            yield f"NumPy {dtype} in a list", Container(lambda v, m=make: [*m(v)], EXTREMES)
            yield f"NumPy {dtype} in lists", Container(lambda v, m=make: [*m(v)[:, None]], EXTREMES)


def _rows(values):
    """Return rows with another column beside the values."""
    return [[value, 1.0] for value in values]


def _of_mixtures():
    wrappers = {
        "list": list, "objects": as_objects, "rows": _rows, "tuple": tuple, "deque": deque,
        "pandas": series(object), "tuples": lambda values: [*map(tuple, _rows(values))],
        "user list": UserList, "polars": polars(pl.Object),
        "table": lambda values: np.array(_rows(values), object),
        "column": lambda values: [[value] for value in values],
    }  # fmt: skip
    every = cycle(wrappers.items())
    for first, second in combinations(SCALARS, 2):
        nests = "Arrow" not in first + second  # strings of Arrow are sequences
        for name, wrap in (("list", list), next(every))[: 1 + nests]:
            pool = [*SCALARS[first], *SCALARS[second]]
            yield f"{first} and {second}, {name}", Container(wrap, pool)
    for name, pool in SCALARS.items():
        yield f"{name} alone, list", Container(list, pool)


def _union(values):
    kinds = pa.array([int(isinstance(value, str)) for value in values], pa.int8())
    numbers = pa.array([None if isinstance(value, str) else value for value in values], pa.int64())
    texts = pa.array([value if isinstance(value, str) else None for value in values], pa.string())
    return pa.UnionArray.from_sparse(kinds, [numbers, texts])


def _extension(kind, storage):
    return lambda values: pa.ExtensionArray.from_storage(kind(), pa.array(values, storage))


def _of_others():
    yield "period", Container(series("period[M]"), ["2020-01", "2021-02"])
    intervals = [pd.Interval(0.0, 1.0), pd.Interval(0.0, np.inf)]
    yield "interval", Container(lambda v: pd.Series(pd.arrays.IntervalArray(v)), intervals)
    yield "moment with a zone", Container(series("datetime64[ns, UTC]"), MOMENTS)
    zoned = _categorical(series("datetime64[us, Europe/Paris]"))
    yield "moment with a zone, categorical", Container(zoned, MOMENTS)
    zone = pa.timestamp("us", "Europe/Paris")
    yield "moment with a zone, Arrow", Container(arrow(zone), MOMENTS)
    yield "moment with a zone, polars", Container(polars(pl.Datetime("us", "UTC")), MOMENTS)
    names = sorted({*TEXTS})
    yield "polars Categorical", Container(polars(pl.Categorical), TEXTS)
    yield "polars Enum", Container(polars(pl.Enum(names)), names)
    fixed = pd.CategoricalDtype([True, False])
    yield "categorical of booleans", Container(series(fixed), [True, False])
    fixed = pd.CategoricalDtype(pd.array([BIG, BIG + 1, 3], "Int64"))
    yield "categorical of integers", Container(series(fixed), [BIG, BIG + 1, 3])
    fixed = pd.CategoricalDtype(["a", 1, dt.date(2020, 1, 1)])
    yield "categorical of several kinds", Container(series(fixed), ["a", 1, dt.date(2020, 1, 1)])
    span = pa.month_day_nano_interval()
    yield "Arrow interval", Container(arrow(span), [(1, 2, 3), (0, 0, 1)])
    yield "Arrow union", Container(_union, [1, "a", BIG + 1, "1"])
    if hasattr(pa, "uuid"):
        ids = [uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes]
        yield "Arrow uuid", Container(_extension(pa.uuid, pa.binary(16)), ids)
    if hasattr(pa, "bool8"):
        yield "Arrow bool8", Container(_extension(pa.bool8, pa.int8()), [0, 1])
    if hasattr(np.dtypes, "StringDType"):
        for missing in (None, np.nan):
            text = np.dtypes.StringDType(na_object=missing)
            made = lambda v, t=text, m=missing: np.array([m if x is None else x for x in v], t)  # noqa: E731
            yield f"variable length, {missing}", Container(made, TEXTS)
        yield "variable length", Container(_array(np.dtypes.StringDType()), TEXTS, False)


def _viewed(storage, kind):
    return lambda values: pa.array(values, storage).view(kind)


def _nested(outer, storage, kind):
    """Return a function that makes structs or lists of one value."""

    def make(values):
        inner = pa.array([value or 0 for value in values], storage).view(kind)
        nulls = pa.array([value is None for value in values])
        if outer == "struct":
            return pa.StructArray.from_arrays([inner], ["a"], mask=nulls)
        ends = pa.array(range(len(values) + 1), pa.int32())
        return pa.ListArray.from_arrays(ends, inner, mask=nulls)

    return make


def _nested_polars(outer, storage, kind):
    def make(values):
        if outer == "struct":
            return pl.DataFrame({"a": pl.Series(values, dtype=storage).cast(kind)}).to_struct("x")
        lists = pl.Series("x", [None if v is None else [v] for v in values], pl.List(storage))
        lists = lists.cast(pl.List(kind))
        return lists if outer == "list" else lists.list.to_array(1)

    return make


def _zoned(unit, zone):
    def make(values):
        times = series(f"datetime64[{unit}]")([np.datetime64(v or "NaT", unit) for v in values])
        return times.dt.tz_localize("UTC").dt.tz_convert(zone)

    return make


def _beyond_python():
    """Values that Python's own types cannot hold: dates after 9999, and bytes that are no text."""
    times = {
        "date": (pa.int32(), pa.date32(), pl.Int32, pl.Date, [1, 10**8, 5]),
        "moment": (pa.int64(), pa.timestamp("us"), pl.Int64, pl.Datetime("us"), [1, 2**62, 5]),
        "span": (pa.int64(), pa.duration("ms"), pl.Int64, pl.Duration("ms"), [1, 2**62, 5]),
    }
    for name, (stored, kind, stored_polars, kind_polars, pool) in times.items():
        for outer in ("struct", "list"):
            made = _nested(outer, stored, kind)
            yield f"{outer} of {name}, Arrow", Container(made, pool)
            yield f"{outer} of {name}, pandas of Arrow", Container(_arrow_series(made), pool)
        for outer in ("struct", "list", "array"):
            made = _nested_polars(outer, stored_polars, kind_polars)
            yield f"{outer} of {name}, polars", Container(made, pool, outer != "struct")
    raw = {
        "text": (pa.binary(), pa.string(), [b"a", b"\xff", b"1"]),
        "large text": (pa.large_binary(), pa.large_string(), [b"a", b"\xff", b"1"]),
        "time us": (pa.int64(), pa.time64("us"), [1, 10**18, 5]),
        "time s": (pa.int32(), pa.time32("s"), [1, 10**6, -5]),
    }
    for name, (storage, kind, pool) in raw.items():
        made = _viewed(storage, kind)
        yield f"{name}, Arrow", Container(made, pool)
        yield f"{name}, chunks", Container(_halves(made), pool)
        yield f"{name}, pandas of Arrow", Container(_arrow_series(made), pool)
        yield f"{name}, dictionary", Container(lambda v, m=made: m(v).dictionary_encode(), pool)
    for zone in ("UTC", "Europe/Paris", "America/New_York"):
        for unit in ("s", "us"):
            pool = [1, 10**13 if unit == "s" else 2**62, 5]
            yield f"moment {unit} in {zone}", Container(_zoned(unit, zone), pool)
            made = _categorical(_zoned(unit, zone))
            yield f"moment {unit} in {zone}, categorical", Container(made, pool)


def _is_made(one):
    """Return whether the installed library has this combination."""
    try:
        one.make(one.pool[:3])
        one.make([*one.pool[:3], *[None] * one.nullable])
        one.make(one.pool[:1])
    except (
        ValueError,
        TypeError,
        NotImplementedError,
        AttributeError,
        OverflowError,
        pa.ArrowException,
    ):
        return False
    return True


_BEYOND = {f"{name}, beyond Python": one for name, one in _beyond_python()}
_ALL = (*_of_types(), *_of_units(), *_of_mixtures(), *_of_others(), *_BEYOND.items())
CONTAINERS = {name: one for name, one in _ALL if _is_made(one)}
