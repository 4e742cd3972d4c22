"""Tables of user data: columns of arrays, pandas, polars and Arrow.

Each column is a `Column`, which converts it. Types are checked before the spend, values are read
after it. No message quotes a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from skdp.data.column import Column, Values, home_of, received, typed
from skdp.support.types import MatrixLike, VectorLike

ROWS_AT_ONCE = 2**18
"""Numbers that are read at a time, and so at most rows: on it rests that sums are exact."""


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """*Private* columns of a table as they came: arrays, lists, series, frames, Arrow tables."""

    parts: list[Column]  # *private*
    names: list[Hashable]  # *public*; empty if there are none
    single: bool  # *public*; whether it was one column, without a second axis
    library: str = "pandas"  # *public*; of frames that are returned: "polars", or "pandas"

    @classmethod
    def of(cls, x: MatrixLike, parameter: str = "x") -> Columns:
        """Return the columns of `x`; only its shape and names can raise an error."""
        if isinstance(x, Columns):
            return x
        x = received(x)
        if is_frame(x):
            check_frame(parameter, x)
            columns = cls(_parts(x), frame_names(x), False)
        else:
            columns = cls._of_array(x, parameter)
        if not columns.parts:
            raise ValueError(f"{parameter} must have at least one column.")
        return replace(columns, library="polars") if home_of(x) == "polars" else columns

    def split_off(self, name: Hashable, parameter: str) -> tuple[Columns, Column]:
        """Return the columns without the column `name`, and that column."""
        if name not in self.names or self.single:
            raise ValueError(
                f"{parameter} must be one of the columns {self.names}, or a column itself; got "
                f"{name!r}."
            )
        j = self.names.index(name)
        rest = [k for k in range(self.n_columns) if k != j]
        if not rest:
            raise ValueError(f"the data have no column other than {parameter}={name!r}.")
        return self.select(rest), self.parts[j]

    @classmethod
    def _of_array(cls, x: MatrixLike, parameter: str) -> Columns:
        if sparse.issparse(x):
            raise TypeError(f"{parameter} is sparse: dense data are required, as .toarray() gives.")
        x = _array_or_column(x)
        n_axes = x.ndim if isinstance(x, np.ndarray) else 1
        if n_axes not in (1, 2):
            raise ValueError(
                f"{parameter} must be one column or a table with columns, got {n_axes} axes."
            )
        if n_axes == 1:
            name = getattr(x, "name", None)
            return cls([Column.of(x)], [] if name in (None, "") else [name], True)
        return cls([Column(x[:, j]) for j in range(x.shape[1])], [], False)

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def n_columns(self) -> int:
        return len(self.parts)

    def name(self, j: int) -> Hashable:
        return column_name(self.names, j)

    @property
    def labels(self) -> list[Hashable]:
        """The names of the columns, or their numbers."""
        return [self.name(j) for j in range(self.n_columns)]

    def select(self, columns: Sequence[int]) -> Columns:
        names = [self.names[j] for j in columns] if self.names else []
        return replace(self, parts=[self.parts[j] for j in columns], names=names, single=False)

    def take(self, rows: slice | np.ndarray) -> Columns:
        return replace(self, parts=[part[rows] for part in self.parts])

    def check_numeric(self, *, advice: str = "") -> None:
        for j, part in enumerate(self.parts):
            part.check_numeric(self.name(j), advice=advice)

    def check_boolean(self, parameter: str, advice: str) -> None:
        for part in self.parts:
            types = {bool} if part.kind == "b" else part.types()
            if not (part.kind in "bO" and types <= {bool, np.bool_}):
                raise ValueError(
                    f"{parameter} must hold True and False, such as ages >= 65; got the dtype "
                    f"{part.type_name}. {advice}"
                )

    def truth(self) -> Iterator[np.ndarray]:
        """Yield where each column is true; a missing value counts as false."""
        return (part.truth() for part in self.parts)

    def floats(self, rows: slice) -> np.ndarray:
        """Return some rows as floats, NaN for missing values; one column after another in memory.

        NumPy's loops are then as long as a column, which takes half the time.
        """
        return np.stack([part[rows].floats() for part in self.parts]).T

    def matrix(self, dtype: type | Sequence[type] | None = None) -> np.ndarray:
        """Return numeric columns as one array, with NaN for missing values.

        The array has the common type of the columns if `dtype` contains it, else the first type in
        `dtype`. It has floats if a value is null. A few megabytes are converted at a time.
        """
        own = (part.dtype if part.kind in "biuf" else np.dtype(float) for part in self.parts)
        common: np.dtype = np.result_type(*own)
        allowed = [dtype] if isinstance(dtype, type) else list(dtype or [])
        if allowed and common not in allowed:
            common = np.dtype(allowed[0])
        if common.kind != "f" and any(part.read().nulls is not None for part in self.parts):
            common = np.dtype(float)
        matrix = np.empty((len(self), self.n_columns), common)
        step = max(ROWS_AT_ONCE // self.n_columns, 1)
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            for j, part in enumerate(self.parts):
                some = part[rows]
                matrix[rows, j] = some.floats() if common.kind == "f" else some.read().array
        return matrix


def is_label(by: object, names: Sequence[Hashable]) -> bool:
    """Return whether `by` is the name of a column, not a column: a tuple is if it is in `names`."""
    if type(by) is tuple:
        return any(type(name) is tuple and name == by for name in names)
    return isinstance(by, (str, Integral))


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a frame, with a type for each column."""
    return hasattr(type(X), "columns")


def as_numbers(X: MatrixLike) -> np.ndarray | None:
    """Return a table of floats of NumPy as an array: its own memory, if it is one piece."""
    if isinstance(X, np.ndarray):
        return X if X.dtype.kind == "f" else None
    types = {*X.dtypes} if home_of(X) == "pandas" and is_frame(X) else set()
    is_of_numpy = len(types) == 1 and types <= {np.dtype(np.float64), np.dtype(np.float32)}
    return np.asarray(X.to_numpy()) if is_of_numpy else None


def frame_names(X: MatrixLike) -> list[Hashable]:
    """Return the names of the columns of a frame; empty for anything else."""
    if not is_frame(X):
        return []
    return list(getattr(X, "column_names", X.columns))  # the columns of an Arrow table are data


def is_apart(X: MatrixLike) -> bool:
    """Return whether X is a frame with rows and has other columns than NumPy numbers."""
    if not is_frame(X) or not all(X.shape):
        return False
    if not hasattr(X, "iloc"):
        return True
    return not all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8
        for dtype in X.dtypes
    )


def refuse_lazy(**inputs: object) -> None:
    """Raise ValueError for an input, by name, that has no values yet."""
    for name, values in inputs.items():
        if type(values).__name__ == "LazyFrame":
            raise ValueError(
                f"{name} is a LazyFrame, which has no values yet: call .collect() first."
            )


def check_frame(name: str, values: MatrixLike) -> None:
    """Raise ValueError for a frame without values or columns, or with two columns of one name."""
    refuse_lazy(**{name: values})
    if type(values).__name__ == "RecordBatch":
        raise ValueError(
            f"{name} is a RecordBatch: give it as a table, pyarrow.Table.from_batches([{name}])."
        )
    if is_frame(values) and not frame_names(values):
        raise ValueError(f"{name} must have at least one column.")
    if twice := [one for one, count in Counter(frame_names(values)).items() if count > 1]:
        raise ValueError(
            f"{name} has several columns of one name, {twice}: give each a name of its own."
        )


def _parts(frame: MatrixLike) -> list[Column]:
    if hasattr(frame, "iloc"):
        return [Column.of(frame.iloc[:, j]) for j in range(frame.shape[1])]
    if hasattr(frame, "column_names"):
        return [Column(frame.column(j)) for j in range(frame.shape[1])]
    return [Column(frame[:, j]) for j in range(frame.shape[1])]


def own_name(column: VectorLike) -> Hashable:
    """Return the name of a column, None if it has none; Dask names arrays by hashes of values."""
    is_array = home_of(column) == "dask" and not hasattr(type(column), "divisions")
    return None if is_array else getattr(column, "name", None)


def column_name(names: Sequence[Hashable], j: int) -> Hashable:
    """Return the name of a column, or its number."""
    return names[j] if len(names) else j


def _array_or_column(x: MatrixLike) -> MatrixLike:
    """Return a column or table of a known library unchanged, and anything else as an array."""
    x = typed(x)
    return x if home_of(x) else np.asarray(x)


def values_of(x: MatrixLike | Column, name: str = "x") -> Values:
    """Return a column or a table as one array with a mask of nulls.

    A numeric table becomes an array of the common type, any other table an array of objects.
    """
    if isinstance(x, Column):
        return x.read()
    check_frame(name, x)
    x = _array_or_column(x)
    if isinstance(x, np.ndarray):
        return Values(x)
    if not is_frame(x):
        return Column.of(x).read()
    columns = Columns.of(x, name)
    if all(part.kind in "biuf" for part in columns.parts):
        return Values(columns.matrix())
    if columns.n_columns == 1:
        read = columns.parts[0].read()
        return Values(read.array[:, None], read.missing()[:, None])
    return Values(np.stack([part.objects() for part in columns.parts], axis=1))


def table_of_public(rows: MatrixLike) -> Columns:
    """Return the columns of public rows, also of dicts."""
    if not (isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)):
        return Columns.of(rows, "rows")
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = (np.fromiter((row.get(name) for row in rows), object, len(rows)) for name in names)
    return Columns(list(map(Column, cells)), names, False)


def framed(cells: Mapping[Hashable, Sequence[str]], library: str) -> Any:
    """Return a frame of columns, or dicts if pandas is not installed."""
    if library == "polars":
        import polars

        return polars.DataFrame(cells)
    try:
        import pandas
    except ImportError:
        return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return pandas.DataFrame(cells)
