"""One column of user data of any library, as NumPy values and a mask of nulls.

NumPy has no null in most of its types. Its own conversion of a column with nulls changes the type
of the whole column, and with it the values of other rows: integers beyond 2^53 are rounded and
codes of a dictionary are shifted. Here each value depends on its own row and on the *type* of its
column alone:

- Objects that could run code of their own raise ValueError.
- The library that holds the column finds the nulls.
- Nulls are filled with a constant of the column's own type.
- Categories and dictionaries are decoded by code.
- The mask is returned with the values.
- A list keeps the type of each of its values.

No other module converts a column of user data (`tests/test_gate.py` enforces it). Readers take
`values`, `floats`, `seconds`, `truth`, `missing` and the `category_codes` of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, cached_property, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skdp.data.batches import ONLY_ONCE, Batches, in_batches
from skdp.data.spark import in_spark
from skdp.support.types import Label, MatrixLike, VectorLike

_NUMBERS = (Real, Decimal, np.bool_)
_DATASETS = "pyarrow._dataset"  # the module of datasets and their scanners, which may be absent
_COMPARABLE = (*_NUMBERS, np.generic)  # a missing value among these differs from itself
_TEXTS = (str, bytes, bytearray)
_NESTED = (Sequence, np.ndarray)
_OF_LISTS = frozenset([bool, int, float, complex, str, bytes])
_MICROSECONDS = {
    "Y": 31_622_400_000_000, "M": 2_678_400_000_000, "W": 604_800_000_000, "D": 86_400_000_000,
    "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000,
}  # fmt: skip
"""Most microseconds of a unit of time."""
_STRINGS = ("str", "string", "large_string", "string_view")
_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")
_TRUSTED = frozenset([
    "abc", "builtins", "collections", "datetime", "decimal", "enum", "fractions", "ipaddress",
    "numbers", "numpy", "pandas", "pathlib", "polars", "pyarrow", "typing", "uuid",
])  # fmt: skip
_RUN_BY_READERS = frozenset(f"__{name}__" for name in [
    "eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "float", "int", "index", "complex",
    "len", "iter", "getitem", "contains", "getattr", "getattribute", "class",
    "array", "array_ufunc", "array_function", "array_interface", "array_struct",
])  # fmt: skip
_FOREIGN = (
    "The data contain objects of a class with its own comparison, hash or conversion. Convert them "
    "to strings, numbers, booleans or dates first."
)
_PLAIN = (np.generic, list, tuple, str, bytes, int, float, complex, type(None))
_MASKED = (
    "masked arrays are not supported: libraries drop the mask. Pass missing values as NaN or None, "
    "for example with np.where(np.ma.getmaskarray(x), None, np.ma.getdata(x))."
)


class Values(NamedTuple):
    """A column as an array, and the mask of its nulls, which is None if there are none.

    The values at nulls are constants. NaN, NaT and ``None`` in the array are missing as well.
    """

    array: np.ndarray
    nulls: np.ndarray | None = None

    def missing(self) -> np.ndarray:
        found = where_missing(self.array)
        return found if self.nulls is None else found | self.nulls


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """One column of user data, converted when it is read.

    `source` is *private*: an array of NumPy or pandas, an Arrow array, or a polars series.
    """

    source: VectorLike

    @classmethod
    def of(cls, x: VectorLike) -> Column:
        """Return one column of any library, or a list."""
        if isinstance(x, Column):
            return x
        x = typed(x)
        if home_of(x) == "pandas":
            plain = isinstance(x.dtype, np.dtype)
            x = _received_array(x.to_numpy()) if plain else getattr(x, "array", x)
        return cls(x)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: slice | np.ndarray) -> Column:
        if isinstance(rows, np.ndarray) and home_of(self.source) == "pyarrow":
            return Column(self.source.take(rows))
        return Column(self.source[rows])

    @cached_property
    def dtype(self) -> np.dtype:
        """*Public.* NumPy's type of the values, a function of the column's type alone."""
        return self[:0].read().array.dtype

    @property
    def kind(self) -> str:
        """*Public.* NumPy's letter for the type, "O" for strings and objects of a data frame."""
        return str(self.dtype.kind)

    @property
    def type_name(self) -> str:
        """*Public.* The name of the type in the column's own library."""
        return str(getattr(self.source, "dtype", getattr(self.source, "type", "object")))

    @property
    def family(self) -> str:
        """*Public.* "numbers", "strings" or "dates" by the type; "objects" if it does not say."""
        name = self.type_name.lower().partition("[")[0]
        return "strings" if name in _STRINGS else _family_of(self.dtype.type)

    def families(self) -> set[str]:
        """Return the families of the *private* values that are not missing."""
        present = ~self.missing()
        if self.family != "objects":
            return {self.family} if present.any() else set()
        return {_family_of(type(value)) for value in self.read().array[present]}

    def read(self) -> Values:
        """Return the *private* values and nulls."""
        if isinstance(self.source, np.ndarray):
            return Values(np.asarray(self.source))
        return _READERS.get(home_of(self.source), _of_sequence)(self.source)

    def values(self) -> Iterator[object]:
        """Yield each value by itself, None for nulls: numbers and strings as Python's own types.

        Times of NumPy keep their type: in Python, those finer than microseconds are integers.
        """
        values, nulls = self.read()
        every = map(_python, values) if values.dtype.kind in "mMO" else iter(values.tolist())
        if nulls is None:
            return every
        pairs = zip(every, nulls.tolist(), strict=True)
        return (None if null else value for value, null in pairs)

    def objects(self) -> np.ndarray:
        """Return the `values` as an array."""
        return _objects([*self.values()])

    def missing(self) -> np.ndarray:
        return self.read().missing()

    def floats(self) -> np.ndarray:
        """Return a column that passed `check_numeric` as floats, NaN where values are missing."""
        values, nulls = self.read()
        if values.dtype.kind in "biuf":
            floats = values.astype(float, copy=nulls is not None)
        else:
            floats = np.fromiter(map(as_float, values.tolist()), float, values.size)
        if nulls is not None:
            floats[nulls] = np.nan
        return floats

    def seconds(self) -> np.ndarray:
        """Return the seconds from 1970 to dates of NumPy, NaN where they are missing.

        Fractions of a microsecond are dropped. Dates beyond 146 000 years count as that far.
        """
        dates, nulls = self.read()
        most = furthest(dates.dtype)
        near = np.clip(dates.astype(np.int64), -most, most).astype(dates.dtype)
        found: np.ndarray = near.astype("M8[us]").astype(np.int64) / 1e6
        found[np.isnat(dates) if nulls is None else np.isnat(dates) | nulls] = np.nan
        return found

    def truth(self) -> np.ndarray:
        """Return where a column is true; a missing value counts as false."""
        values, nulls = self.read()
        if values.dtype.kind != "b":
            some = (not is_missing(value) and bool(value) for value in values)
            values = np.fromiter(some, bool, values.size)
        return values if nulls is None else values & ~nulls

    def types(self) -> set[type]:
        """Return the Python types of the values that are not missing."""
        values, nulls = self.read()
        given = values if nulls is None else values[~nulls]
        return {type(value) for value in given if not is_missing(value)}

    def holds_text(self) -> bool:
        types = self.types() if self.kind == "O" else set()
        return self.kind in "US" or any(issubclass(one, (str, bytes)) for one in types)

    def check_numeric(self, name: Hashable, *, advice: str = "") -> None:
        """Raise an error unless the column is numeric; `advice` is added to the error for strings.

        The types of single values are read only if the column has no type of its own.
        """
        if self.kind in "biuf":
            return
        if self.holds_text():
            raise ValueError(f"column {name!r} contains strings, not numbers.{advice}")
        if self.kind in "mM":
            raise TypeError(
                f"column {name!r} is not numeric: its type is {self.type_name}. Convert it, for "
                "example to days since a public date: (dates - pd.Timestamp('2020-01-01')).dt.days."
            )
        if self.kind != "O" or not all(map(_is_of_numbers, self.types())):
            # scikit-learn's `check_estimator` searches for "argument must be … string … number".
            raise TypeError(
                f"column {name!r} is not numeric. Convert it to numbers: each argument must be "
                "neither a string nor another object, only a real number or a missing value."
            )


@cache
def furthest(dtype: np.dtype) -> int:
    """Return the most units from 1970 that are at most 2^62 microseconds, or 146 138 years.

    NumPy wraps around beyond twice as many.
    """
    unit, step = np.datetime_data(dtype)
    return 2**62 // (_MICROSECONDS.get(unit, 1) * step)


def _check_can_be_read_again(x: object, *methods: str) -> None:
    """Raise ValueError if the type has one of these methods, by which its rows are read once."""
    if any(hasattr(type(x), name) for name in methods):
        raise ValueError(ONLY_ONCE.format(f"a {type(x).__name__}"))


def received(x: MatrixLike) -> MatrixLike:
    """Return user data in a known container; convert others by an exchange protocol, or to lists.

    The protocols of Arrow, of data frames and of arrays are tried in this order. Masked arrays
    raise ValueError, because scikit-learn and NumPy drop their masks.
    """
    if isinstance(x, np.ndarray):
        return _received_array(x)
    _check_can_be_read_again(x, "__next__")
    if isinstance(x, (*_PLAIN, Batches)) or sparse.issparse(x):
        return x
    if type(x).__module__ == _DATASETS:
        return in_batches(x)
    if home_of(x) == "pyspark":
        return in_spark(x)
    if home_of(x):
        return x
    for protocol, convert in _PROTOCOLS.items():
        if hasattr(type(x), protocol):
            found = _converted(x, convert)
            return _received_array(found) if isinstance(found, np.ndarray) else found
    if callable(x) and not isinstance(x, type):
        return in_batches(x)
    _check_can_be_read_again(x, "__aiter__", "fetchone")  # cursors of databases
    return _converted(x, list) if isinstance(x, Sequence) else x


def _received_array(x: np.ndarray) -> np.ndarray:
    """Return an array in a type that all readers take.

    Strings of variable length become objects, in which nulls are found. Floats of more than 64 bits
    are rounded here, because NumPy would warn later of a value that overflows.
    """
    if isinstance(x, np.matrix):  # a column of it is a table
        x = x.view(np.ndarray)
    if hasattr(type(x), "mask"):  # masked arrays of NumPy, and those of Astropy
        raise ValueError(_MASKED)
    if x.dtype.kind == "V":
        raise ValueError("structured arrays are not supported: pass a data frame instead.")
    if x.dtype.kind == "T":
        return x.astype(object)
    if x.dtype.kind == "f" and x.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return x.astype(float)
    return x


def typed(x: MatrixLike) -> MatrixLike:
    """Return user data as `received` does, and lists as arrays."""
    x = received(x)
    return array_of_list(x) if isinstance(x, (list, tuple)) else x


def untyped(x: MatrixLike) -> MatrixLike:
    """Return user data as `received` does, and lists as arrays of objects.

    The type of the array that `typed` makes of a list may depend on a single *private* value.
    """
    x = received(x)
    return array_of_list(x).astype(object) if isinstance(x, (list, tuple)) else x


def _converted(x: MatrixLike, convert: Callable[[MatrixLike], MatrixLike]) -> MatrixLike:
    """Convert by a protocol, and replace its errors, which could quote values."""
    try:
        return convert(x)
    except Exception as error:
        why = type(error).__name__
    raise ValueError(f"the data cannot be converted to an array: {type(x).__name__} raises {why}.")


def home_of(x: object) -> str:
    """Return the known library that defines the class of a container or a base class, or ""."""
    return _home_of_class(type(x))  # type: ignore[arg-type]  # a class is hashable


@cache
def _home_of_class(kind: type) -> str:
    homes = {one.__module__.partition(".")[0] for one in kind.__mro__}
    return next((home for home in _HOMES if home in homes), "")


def is_collection(x: object) -> bool:
    """Return whether an engine reads the data in blocks; functions are `received` first."""
    return home_of(x) in _OF_ENGINES or isinstance(x, Batches) or type(x).__module__ == _DATASETS


def _from_arrow(kind: str, x: MatrixLike) -> MatrixLike:
    import pyarrow as pa

    column = getattr(pa, kind)(x)
    is_table = pa.types.is_struct(column.type)
    return pa.Table.from_struct_array(column) if is_table else column


def _from_data_frame(x: MatrixLike) -> MatrixLike:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        from pandas.api.interchange import from_dataframe
    return from_dataframe(x)


_PROTOCOLS: dict[str, Callable[[MatrixLike], MatrixLike]] = {
    "__arrow_c_stream__": partial(_from_arrow, "chunked_array"),
    "__arrow_c_array__": partial(_from_arrow, "array"),
    "__dataframe__": _from_data_frame,
    "__array__": np.asanyarray,  # `np.asarray` would drop a mask
}


def _of_sequence(source: VectorLike) -> Values:
    return Values(_objects(source))


def _of_pandas(array: VectorLike) -> Values:
    """Read an array of one of pandas' own types."""
    dtype = array.dtype
    if isinstance(dtype, np.dtype):
        return Values(array.to_numpy())
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(array.__arrow_array__())
    if hasattr(array, "codes") and hasattr(array, "categories"):
        return _decoded(np.asarray(array.codes), Column.of(array.categories).read())
    if hasattr(array, "sp_values"):
        return _of_pandas_sparse(array)
    if hasattr(dtype, "numpy_dtype"):  # integers and the like with a mask
        nulls, plain = np.asarray(array.isna()), np.dtype(dtype.numpy_dtype)
        filling = {"na_value": plain.type(0)} if nulls.any() else {}
        return _masked(array.to_numpy(dtype=plain, **filling), nulls)
    return _of_sequence(_in_python(array, partial(np.asarray, dtype=object)))


def _of_pandas_sparse(array: VectorLike) -> Values:
    """Return the dense values; gaps are null if the fill value is."""
    filling, stored = array.fill_value, _received_array(np.asarray(array.sp_values))
    gaps_are_null = is_missing(filling)
    values = np.zeros(len(array), stored.dtype)
    if not gaps_are_null:
        values[:] = filling
    places = array.sp_index.to_int_index().indices
    values[places] = stored
    gaps = np.full(len(array), gaps_are_null)
    gaps[places] = False
    return _masked(values, gaps)


def _of_arrow(column: VectorLike) -> Values:
    import pyarrow as pa

    column = _decoded_arrow(column)
    kind, types = column.type, pa.types
    if types.is_floating(kind) or (types.is_temporal(kind) and not types.is_time(kind)):
        return Values(np.asarray(column))  # nulls are NaN or NaT
    if not (types.is_integer(kind) or types.is_boolean(kind)):
        return _of_sequence(_in_python(column, lambda some: some.to_pylist()))  # nulls are None
    if not column.null_count:
        return Values(np.asarray(column))
    filled = column.fill_null(False if types.is_boolean(kind) else 0)
    return Values(np.asarray(filled), np.asarray(column.is_null()))


def _decoded_arrow(column: VectorLike) -> VectorLike:
    """Return a column without dictionaries, runs and extension types."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_primitive(kind):
        return column
    chunks = getattr(column, "chunks", [column])
    if isinstance(kind, pa.BaseExtensionType):
        chunks, kind = [chunk.storage for chunk in chunks], kind.storage_type
    elif pa.types.is_dictionary(kind):
        # Arrow cannot decode views, in which polars sends its categories.
        known = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
        held = known.get(str(kind.value_type), kind.value_type)
        if held != kind.value_type:
            pairs = [(chunk.indices, chunk.dictionary.cast(held)) for chunk in chunks]
            chunks = [pa.DictionaryArray.from_arrays(*pair) for pair in pairs]
        chunks, kind = [chunk.dictionary_decode() for chunk in chunks], held
    elif pa.types.is_run_end_encoded(kind):
        from pyarrow import compute

        chunks, kind = [compute.run_end_decode(chunk) for chunk in chunks], kind.value_type
    else:
        return column
    return _decoded_arrow(pa.chunked_array(chunks, type=kind))


def _of_polars(series: VectorLike) -> Values:
    kind, name = series.dtype, str(series.dtype)
    if kind.is_float() or name.startswith(("Date", "Duration")):
        return Values(series.to_numpy())  # nulls are NaN or NaT
    if not (name == "Boolean" or (kind.is_integer() and not name.endswith("128"))):
        return _of_sequence(_in_python(series, lambda some: some.to_list()))  # nulls are None
    if not series.null_count():
        return Values(series.to_numpy())
    filled = series.fill_null(False if name == "Boolean" else 0)
    return Values(filled.to_numpy(), series.is_null().to_numpy())


_READERS = {"pandas": _of_pandas, "pyarrow": _of_arrow, "polars": _of_polars}
_OF_ENGINES = ("dask", "dask_expr", "pyspark")
_HOMES = (*_READERS, *_OF_ENGINES)


def _decoded(codes: np.ndarray, known: Values) -> Values:
    """Return the values of codes; negative codes are null."""
    nulls = codes < 0
    if not len(known.array):
        return Values(np.zeros(len(codes), known.array.dtype), nulls)
    places = np.where(nulls, 0, codes)
    return _masked(
        known.array[places], nulls if known.nulls is None else nulls | known.nulls[places]
    )


def _masked(array: np.ndarray, nulls: np.ndarray) -> Values:
    return Values(array, nulls if nulls.any() else None)


def _objects(values: VectorLike) -> np.ndarray:
    """Return an array with one object for each value, also if a value is a list."""
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def _in_python(source: VectorLike, convert: Callable[[VectorLike], VectorLike]) -> VectorLike:
    """Return a column as Python objects, None for each value that Python cannot hold.

    Such values are dates after the year 9999 and bytes that are no text. An error for them would
    come after the spend, and its message could quote them.
    """
    try:
        return convert(source)
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # polars raises one that is no Exception
        middle = len(source) // 2
    halves = (source[:middle], source[middle:]) if middle else ()
    found = [value for half in halves for value in _in_python(half, convert)]
    return found if halves else [None] * len(source)


def array_of_list(x: Sequence[Any]) -> np.ndarray:
    """Return a list as an array of objects; of another type if all values are of one kind.

    NumPy turns numbers beside a string into strings, and integers beside a float into floats. Then
    the type of one value would change all others. True, 1, 1.0 and 1+0j are of different kinds,
    although they are equal in Python: readers of text tell them apart.
    """
    classes = {*map(type, x)}
    if any(issubclass(one, np.ma.MaskedArray) for one in classes - {type(np.ma.masked)}):
        raise ValueError(_MASKED)
    if any(issubclass(one, np.ndarray) or hasattr(one, "as_py") for one in classes):
        x = [*map(_row, x)]
    found = np.array(x, dtype=object)
    if any(hasattr(one, "as_py") for one in {*map(type, found.flat)}):
        found = _objects([*map(_row, found.flat)]).reshape(found.shape)
    if any(isinstance(value, (list, tuple)) for value in found.flat):
        raise ValueError(
            "a list must contain single values, as y does, or rows of equal length, as X does."
        )
    if len(kinds := {*map(_kind_of, {*map(type, found.flat)})}) > 1:
        return found
    narrow = _narrowed(found)
    return narrow if kinds <= {_kind_of(narrow.dtype.type)} - {""} else found


def _row(value: Any) -> Any:
    """Return a row as scalars that keep their type; NumPy turns dates in objects into integers."""
    if isinstance(value, np.ndarray):
        return [*value] if value.ndim else value[()]
    return value.as_py() if hasattr(value, "as_py") else value  # a scalar of Arrow


def equal_numbers(values: np.ndarray) -> np.ndarray:
    """Return labels or weights, of which readers only ask whether and how they differ in size.

    So numbers of several kinds may become numbers of one kind, if each of them equals itself.
    """
    if values.dtype.kind != "O":
        return values
    plain = _objects([*map(_python, values.flat)]).reshape(values.shape)
    return _narrowed(plain) if all(map(_is_of_numbers, {*map(type, plain.flat)})) else plain


def as_compared(*labels: np.ndarray) -> Sequence[np.ndarray]:
    """Return two arrays whose comparisons in NumPy are exact: as objects if it would round.

    The common type of 64-bit integers and others is that of floats. It can make two numbers equal
    only if both are 2^53 or more in size.
    """
    kinds = {one.dtype.kind for one in labels}
    are_large = (np.any(np.abs(one.astype(float)) >= 2.0**53) for one in labels)
    rounds = len(kinds) > 1 and kinds <= {*"iuf"} and all(are_large)
    return [one.astype(object) for one in labels] if rounds else labels


def _narrowed(objects: np.ndarray) -> np.ndarray:
    """Return objects as the type that NumPy finds for them, if no value changes in Python."""
    try:
        narrow = np.array(objects.tolist())
    except (TypeError, ValueError, OverflowError):  # for example of times beside numbers
        return objects
    is_same = narrow.shape == objects.shape and _is_same(objects.ravel(), narrow.ravel())
    return _received_array(narrow) if is_same else objects


def _is_same(objects: np.ndarray, narrow: np.ndarray) -> bool:
    """Return whether the values of an array of a narrower type equal the objects in Python."""
    if narrow.dtype.kind in "mM":
        return all(getattr(one, "dtype", None) == narrow.dtype for one in objects)
    if narrow.dtype.kind in "OV":
        return False
    pairs = zip(map(_python, objects), narrow.tolist(), strict=True)
    return all(is_missing(b) if is_missing(a) else a == b for a, b in pairs)


def _kind_of(kind: type) -> str:
    """Return the kind of a class in NumPy, "" for classes that a list keeps as they are.

    These are classes of objects, subclasses such as enumerations, and floats of more than 64 bits.
    """
    if kind not in _OF_LISTS and not (issubclass(kind, np.generic) and kind.__module__ == "numpy"):
        return ""
    dtype = np.dtype(kind)
    return "" if dtype.char in "gG" else dtype.kind.replace("u", "i")


def _python(value: object) -> object:
    """Return a number or string of NumPy as one of Python."""
    if not isinstance(value, np.generic) or isinstance(value, (np.datetime64, np.timedelta64)):
        return value
    return float(value) if isinstance(value, np.floating) else value.item()


def is_missing(value: object) -> bool:
    """Return whether a value is NaN, NaT, None or pandas' NA, or contains one of them."""
    if type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, Decimal):  # a comparison with a signaling NaN raises an error
        return value.is_nan()
    if isinstance(value, (tuple, frozenset)):
        return any(map(is_missing, value))
    return isinstance(value, _COMPARABLE) and bool(value != value)


def where_missing(values: np.ndarray) -> np.ndarray:
    """Return where an array of any type and shape has missing values."""
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    found = np.fromiter(map(is_missing, values.ravel()), bool, values.size)
    return found.reshape(values.shape)


def _is_of_numbers(kind: type) -> bool:
    """Return whether a type is real. NumPy's type of time differences is a subclass of integers."""
    return issubclass(kind, _NUMBERS) and not issubclass(kind, np.timedelta64)


def _family_of(kind: type) -> str:
    if issubclass(kind, (str, bytes)):
        return "strings"
    if issubclass(kind, (date, timedelta, np.datetime64, np.timedelta64)):
        return "dates"
    return "numbers" if issubclass(kind, _NUMBERS) else "objects"


def as_float(value: Label) -> float:
    """Return a float, NaN for what is no number or has no float."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def check_plain(*tables: MatrixLike) -> None:
    """Raise ValueError if Python objects in the data may run code of their own when they are read.

    Such code may raise an error after the spend, or quote the value in its message. The class of an
    object is private, so the message does not name it.
    """
    if not all(_is_plain(kind) for table in tables for kind in _kinds(table)):
        raise ValueError(_FOREIGN)


def _kinds(table: MatrixLike) -> set[type]:
    """Return the classes of the Python objects in a table, a column or a list."""
    if isinstance(table, Sequence) and not isinstance(table, _TEXTS):
        return _kinds_among(table)
    if is_collection(table):  # `Blocks.check` checks each block
        return set()
    if hasattr(table, "iloc") and np.ndim(table) == 2:
        some = (j for j, dtype in enumerate(table.dtypes) if getattr(dtype, "kind", "O") == "O")
        return set().union(*(_kinds(table.iloc[:, j]) for j in some))
    if hasattr(table, "get_columns"):  # a frame of polars
        return set().union(*map(_kinds, table.get_columns()))
    dtype: object = getattr(table, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(dtype.categories, "dtype"):
        return _kinds(dtype.categories)
    if "object" not in str(dtype).lower():
        return set()
    values = table.data if sparse.issparse(table) else table
    return _kinds_among([*(values.flat if isinstance(values, np.ndarray) else values)])


def _kinds_among(values: Collection[object]) -> set[type]:
    """Return the classes of values, and of the values inside lists, tuples and arrays."""
    kinds = {*map(type, values)}
    if any(issubclass(kind, _NESTED) for kind in kinds - {str, bytes}):
        inner = (one for one in values if isinstance(one, _NESTED) and not isinstance(one, _TEXTS))
        return kinds.union(*map(_kinds, inner))
    return kinds


@cache
def _is_plain(kind: type) -> bool:
    """Return whether Python or a known library defines all methods that readers call."""
    homes = {one: str(getattr(one, "__module__", "")).partition(".")[0] for one in kind.__mro__}
    own = [one for one, home in homes.items() if home not in _TRUSTED]
    return not any(_RUN_BY_READERS & vars(one).keys() for one in own)
