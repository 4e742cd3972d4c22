"""Columns of private tables, as they came, and as numbers: of arrays, pandas, polars and Arrow.

A value is missing if it is NaN, NaT, ``None`` or ``pandas.NA``. Types are looked at before a
release is spent, values after; no message quotes a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from skdp._blocks import Block, Blocks, added, empty_rows, is_collection

__all__ = [
    "BlockColumns",
    "Columns",
    "as_floats",
    "check_frame",
    "check_numeric",
    "column_name",
    "frame_names",
    "is_apart",
    "is_frame",
    "is_label",
    "is_missing",
    "refuse_lazy",
    "values_of",
    "where_missing",
    "without_nulls",
]

_MOST_ROWS = 2**31
ROWS_AT_ONCE = 2**18
"""Numbers that are read at a time, and so at most rows: on it rests that sums are exact."""
_NUMBERS = (Real, Decimal, np.bool_)
_COMPARABLE = (*_NUMBERS, np.generic)  # with themselves: what differs from itself is missing
_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """Columns of a table as they came: of arrays, lists, series, frames and Arrow tables.

    Parameters
    ----------
    parts : list of array-like of shape (n_rows,)
        *Private.*
    names : list
        *Public.* Names of the columns of a frame or series; empty if there are none.
    single : bool
        *Public.* Whether it was one column, without a second axis.
    by : array-like of shape (n_rows,) or None, default None
        *Private.* One more column, by which rows are grouped.
    weights : ndarray of shape (n_rows,) or None, default None
        *Private.* What each row counts in steps of 2^−31, the rows of a person 2^31 steps at most.
    n_persons : int or None, default None
        *Private* as the number of rows is; None where each row is a record of its own.
    typed : bool, default True
        *Public.* Whether columns have types whatever their values are, as those of lists have not.
    """

    parts: list[Any]
    names: list[Any]
    single: bool
    by: Any = None
    weights: np.ndarray | None = None
    n_persons: int | None = None
    typed: bool = True

    @classmethod
    def of(cls, x: Any, parameter: str = "x", by: Any = None) -> Columns:
        """Return the columns of `x`; only shapes decide whether it is refused.

        `by` is the column by which rows are grouped, or the name of one of `x`, which leaves it.
        """
        if is_collection(x):
            return BlockColumns.of_collection(x, parameter, by)
        if is_frame(x):
            check_frame(parameter, x)
            columns = cls(_parts(x), frame_names(x), False)
        else:
            columns = cls._of_array(x, parameter)
        if by is not None:
            columns = columns._grouped(by, parameter)
        columns._check_size(parameter)
        return columns

    def split_off(self, name: Any, parameter: str) -> tuple[Columns, Any]:
        """Return the columns without one of them, by its name, and that one."""
        if name not in self.names or self.single:
            raise ValueError(
                f"{parameter} must be one of the columns {self.names}, or a column itself; got "
                f"{name!r}."
            )
        j = self.names.index(name)
        rest = [k for k in range(self.n_columns) if k != j]
        if not rest:
            raise ValueError(f"there is no column beside {name!r}, which {parameter} is.")
        return self.select(rest), self.parts[j]

    def _grouped(self, by: Any, parameter: str) -> Columns:
        """Return the columns with another one, or one of them, by which rows are grouped."""
        if is_label(by, self.names):
            columns, column = self.split_off(by, "by")
            return replace(columns, by=column)
        (column,) = Columns.of(by, "by").parts[:1]
        if np.ndim(column) != 1 or len(column) != self.n_rows or len(np.shape(by)) != 1:
            raise ValueError(
                f"by must be one column with as many rows as {parameter}, or its name: combine "
                "several columns into one first."
            )
        return replace(self, by=column)

    @classmethod
    def _of_array(cls, x: Any, parameter: str) -> Columns:
        name = getattr(x, "name", None)
        part = getattr(x, "array", x) if hasattr(x, "dtype") else values_of(x)
        if sparse.issparse(part):
            raise TypeError(f"{parameter} is sparse: dense data are required, as .toarray() gives.")
        if np.ndim(part) not in (1, 2):
            raise ValueError(
                f"{parameter} must be one column or a table with columns, got the shape "
                f"{np.shape(part)}."
            )
        typed = not isinstance(x, (list, tuple))
        if np.ndim(part) == 1:
            return cls([part], [] if name in (None, "") else [name], True, typed=typed)
        return cls([part[:, j] for j in range(part.shape[1])], [], False, typed=typed)

    def _check_size(self, parameter: str) -> None:
        if not self.parts:
            raise ValueError(f"{parameter} must have at least one column.")
        if self.n_rows >= _MOST_ROWS:
            raise ValueError(f"{parameter} may have fewer than 2^31 rows.")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.parts[0])

    @property
    def may_repeat(self) -> list[bool]:
        """Which columns may have equal values, by their types, which are public."""
        return [not (self.typed and _is_floating(part)) for part in self.parts]

    @property
    def n_records(self) -> int:
        """The number of persons, or of rows where each is a record of its own."""
        return self.n_rows if self.n_persons is None else self.n_persons

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.parts)

    def name(self, j: int) -> Any:
        """Return the name of a column, its number where it has none."""
        return column_name(self.names, j)

    @property
    def labels(self) -> list[Any]:
        """The names of the columns, their numbers where they have none."""
        return [self.name(j) for j in range(self.n_columns)]

    @property
    def library(self) -> str:
        """Whose frames the columns are of: "polars", or "pandas" for all else."""
        return "polars" if type(self.parts[0]).__module__.startswith("polars") else "pandas"

    def select(self, columns: Sequence[int]) -> Columns:
        """Return some of the columns, in memory, with all else that is known of the rows."""
        names = [self.names[j] for j in columns] if self.names else []
        return replace(self, parts=[self.parts[j] for j in columns], names=names, single=False)

    def check(self, function: Callable[[Columns], Any]) -> None:
        """Let a function raise an error if something is wrong with the types of columns."""
        function(self)

    def total(self, function: Callable[[Columns], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return sums over rows, by name, which a function gives for some of the rows."""
        return function(self)

    def are_numbers(self) -> bool:
        """Return whether the types of the columns are of numbers, and none of objects."""
        return all(_kind(part) in "biuf" for part in self.parts)

    def check_numeric(self) -> None:
        """Raise if a column can be told to hold something else than numbers."""
        for j, part in enumerate(self.parts):
            check_numeric(part, self.name(j))

    def check_boolean(self) -> None:
        """Raise unless each column is of truth values."""
        for part in self.parts:
            kind = _kind(part)
            types = {bool} if kind == "b" else _types(part)
            if not (kind in "bO" and types <= {bool, np.bool_}):
                raise ValueError(
                    "condition must hold True and False, such as ages >= 65; got the dtype "
                    f"{getattr(part, 'dtype', None)}. To count rows give np.ones(len(x), "
                    "dtype=bool)."
                )

    def truth(self) -> Iterator[np.ndarray]:
        """Yield where each column is true; what is missing is not."""
        return map(_truth, self.parts)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows as floats, NaN for missing values, some at a time."""
        step = max(ROWS_AT_ONCE // self.n_columns, 1)
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            yield np.stack([as_floats(part[rows]) for part in self.parts], axis=1)

    def matrix(self, dtype: Any = None) -> np.ndarray:
        """Return columns of numbers as one array, NaN for what is missing.

        It has their common type if that is among the types `dtype`, else the first of these. A few
        megabytes at a time are converted.
        """
        common = np.result_type(*map(_number_type, self.parts))
        types = dtype if isinstance(dtype, (list, tuple)) else [dtype]
        dtype = np.dtype(common if dtype is None or common in types else types[0])
        matrix = np.empty((self.n_rows, self.n_columns), dtype)
        step = max(ROWS_AT_ONCE // self.n_columns, 1)
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            for j, part in enumerate(self.parts):
                some = part[rows]
                matrix[rows, j] = as_floats(some) if dtype.kind == "f" else np.asarray(some)
        return matrix

    def shaped(self, values: np.ndarray) -> Any:
        """Return a float where there was one column without a second axis, else the array."""
        return float(values[0]) if self.single else values


@dataclass(frozen=True, eq=False, repr=False)
class BlockColumns(Columns):
    """Columns of a Dask collection, which stay where they are; `parts` are without rows.

    Parameters
    ----------
    rows : Blocks
        *Private.* `check` comes before `n_rows` and `total`.
    """

    rows: Blocks = field(kw_only=True)

    @classmethod
    def of_collection(cls, x: Any, parameter: str, by: Any = None) -> BlockColumns:
        """Return the columns of a collection; none of its tasks is computed."""
        if isinstance(by, (list, tuple)) and not is_label(by, frame_names(x)):
            by = values_of(by)
        if is_label(by, frame_names(x)):
            if by not in frame_names(x):
                raise ValueError(
                    f"by must be one of the columns {frame_names(x)}, or a column itself; got "
                    f"{by!r}."
                )
            x, by = x[[name for name in frame_names(x) if name != by]], x[by]
        empty = Columns.of(empty_rows(x), parameter)
        blocks = Blocks.of(x, by, parameters=(parameter, "by", "sample_weight"))
        return cls(empty.parts, empty.names, empty.single, by, rows=blocks)

    @property
    def n_rows(self) -> int:
        return sum(self.rows.n_rows)

    def check(self, function: Callable[[Columns], Any]) -> None:
        self.rows.check(partial(_in_block, function))
        self._check_size("x")

    def total(self, function: Callable[[Columns], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return added(self.rows.gather(partial(_in_block, function)))


def _in_block(function: Callable[[Columns], Any], block: Block) -> Any:
    return function(Columns.of(block.X, by=block.y))


def is_label(by: Any, names: Sequence[Any]) -> bool:
    """Return whether `by` is the name of a column, not a column: a tuple is if it is in `names`."""
    if type(by) is tuple:
        return any(type(name) is tuple and name == by for name in names)
    return isinstance(by, (str, Integral))


def is_frame(X: Any) -> bool:
    """Return whether X is a frame, with a type for each column."""
    return hasattr(type(X), "columns")


def frame_names(X: Any) -> list[Any]:
    """Return the names of the columns of a frame; empty for anything else."""
    if not is_frame(X):
        return []
    return list(getattr(X, "column_names", X.columns))  # the columns of an Arrow table are data


def is_apart(X: Any) -> bool:
    """Return whether X is a frame of numbers whose columns are no NumPy array."""
    if not is_frame(X) or not all(X.shape):
        return False
    if hasattr(X, "iloc") and all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return False
    return Columns(_parts(X), [], False).are_numbers()


def refuse_lazy(**inputs: Any) -> None:
    """Raise ValueError for an input, by name, that has no values yet."""
    for name, values in inputs.items():
        if type(values).__name__ == "LazyFrame":
            raise ValueError(
                f"{name} is a LazyFrame, which has no values yet: call .collect() first."
            )


def check_frame(name: str, values: Any) -> None:
    """Raise ValueError for a frame that is no table yet, or has two columns of one name."""
    refuse_lazy(**{name: values})
    if type(values).__name__ == "RecordBatch":
        raise ValueError(
            f"{name} is a RecordBatch: give it as a table, pyarrow.Table.from_batches([{name}])."
        )
    if twice := [one for one, count in Counter(frame_names(values)).items() if count > 1]:
        raise ValueError(
            f"{name} has several columns of one name, {twice}: give each a name of its own."
        )


def _parts(frame: Any) -> list[Any]:
    """Return the columns of a frame, in types that can be sliced by rows."""
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, j].array for j in range(frame.shape[1])]
    if hasattr(frame, "column_names"):
        return [frame.column(j) for j in range(frame.shape[1])]
    return [frame[:, j] for j in range(frame.shape[1])]


def _is_floating(part: Any) -> bool:
    """Return whether a column of any library has a floating type."""
    kind = str(getattr(part, "dtype", getattr(part, "type", "")))
    return kind.lower().startswith(("float", "double", "halffloat"))


def column_name(names: Sequence[Any], j: int) -> Any:
    """Return the name of a column, its number where columns have no names."""
    return names[j] if len(names) else j


def values_of(x: Any) -> np.ndarray:
    """Return an array; a list in a type of NumPy only where that changes none of its values.

    Of numbers and texts NumPy makes texts, and of integers and floats floats: then one value would
    say what all others are.
    """
    if not isinstance(x, (list, tuple)):
        return np.asarray(x)
    found = np.array(x, dtype=object)
    if any(isinstance(value, (list, tuple)) for value in found.flat):
        raise ValueError("a list must hold single values, or rows of one length.")
    if any(value is np.ma.masked for value in found.flat):
        return found
    try:
        narrow = np.asarray(x)
    except (TypeError, ValueError, OverflowError):  # as of times and other numbers
        return found
    return narrow if _is_same(found.ravel(), narrow.ravel()) else found


def _is_same(objects: np.ndarray, narrow: np.ndarray) -> bool:
    """Return whether values are equal, in Python, to those of an array of a narrower type."""
    if narrow.dtype.kind in "mM":
        return all(getattr(one, "dtype", None) == narrow.dtype for one in objects)
    if narrow.dtype.kind == "O":
        return False
    plain = [one.item() if isinstance(one, np.generic) else one for one in objects]
    pairs = zip(plain, narrow.tolist(), strict=True)
    return all(a == b or (is_missing(a) and is_missing(b)) for a, b in pairs)


def is_missing(value: Any) -> bool:
    """Return whether a value is NaN, NaT, None or pandas' NA."""
    if type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, Decimal):  # of which a signalling NaN cannot be compared
        return value.is_nan()
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


def check_numeric(column: Any, name: Any, *, advice: str = "") -> None:
    """Raise if a column can be told to hold something else than numbers and missing values.

    The type of the column decides; only where it is no type at all are those of values looked at.
    `advice` says what can be done about text.
    """
    kind = _kind(column)
    if kind in "biuf":
        return
    types = _types(column) if kind == "O" else {str}
    if any(issubclass(one, (str, bytes)) for one in types) and kind not in "cmM":
        raise ValueError(f"column {name!r} holds text, not numbers.{advice}")
    if kind != "O" or not all(issubclass(one, _NUMBERS) for one in types):
        raise TypeError(
            f"column {name!r} holds something else than numbers: each argument must be neither a "
            "string nor another thing, but a real number or missing."
        )


def as_floats(column: Any) -> np.ndarray:
    """Return a column that passed `check_numeric` as floats, NaN for missing values."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if not isinstance(column, np.ndarray) and kind in "biuf" and hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(float, copy=False)
    return np.fromiter(map(_as_float, values.tolist()), float, values.size)


def _number_type(column: Any) -> np.dtype:
    """Return the type of a column of numbers in NumPy: of floats if something is missing."""
    dtype = getattr(column, "dtype", None)
    found = np.dtype(getattr(dtype, "numpy_dtype", None) or np.asarray(column[:0]).dtype)
    return found if found.kind == "f" or not _n_missing(column) else np.dtype(float)


def _n_missing(column: Any) -> int:
    """Return how many values a column of Arrow, polars or pandas marks as missing."""
    if hasattr(column, "null_count"):
        count = column.null_count
        return int(count() if callable(count) else count)
    return int(np.count_nonzero(column.isna())) if hasattr(column, "isna") else 0


def without_nulls(column: Any) -> tuple[Any, np.ndarray | None]:
    """Return a column of whole numbers with 0 for nulls, and where these are; None if nowhere.

    In NumPy a null would make floats of all numbers beside it.
    """
    if not hasattr(column, "null_count") or not _n_missing(column):
        return column, None
    if np.asarray(column[:0]).dtype.kind not in "iu":
        return column, None
    return column.fill_null(0), np.asarray(column.is_null())


def _types(column: Any) -> set[type]:
    """Return the types of the values, but for those of which every value is missing."""
    types = {*map(type, np.asarray(column, object))}
    return {one for one in types if one.__name__ not in _MISSING_TYPES}


def _kind(column: Any) -> str:
    """Return NumPy's letter for the type of a column, "O" if it holds any objects."""
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    return str(np.asarray(column).dtype.kind) if kind in (None, "O") else str(kind)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _truth(column: Any) -> np.ndarray:
    values = np.asarray(column)
    if values.dtype.kind == "b":
        return values
    return np.fromiter((not is_missing(v) and bool(v) for v in values), bool, values.size)
