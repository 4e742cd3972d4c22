"""Columns of tables: public bounds and categories, by name or number, and what is missing.

A value is missing if it is NaN, ``None`` or ``pandas.NA``. Types are looked at before a release is
spent, values after; no message quotes a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skdp._data_validation import check_no_missing, refuse_lazy

__all__ = [
    "ColumnBounds",
    "Columns",
    "as_floats",
    "by_column",
    "categories_by_column",
    "category_codes",
    "check_numeric",
    "column_names",
    "is_frame",
    "refuse_missing",
    "validated",
    "validated_numbers",
]

_MOST_ROWS = 2**31
_LARGEST = 1e100
_NARROWEST = 1e-50
_AT_ONCE = 2**18  # numbers that are converted at a time
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Public bounds of each column.

    Parameters
    ----------
    low, high : ndarray of shape (n_columns,)
        *Public.* In the units of the columns; apart by 1e-50 at least, and up to 1e100 in size.
    """

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, bounds: Any, n_columns: int, names: Sequence[Any] = ()) -> ColumnBounds:
        """Return the bounds that were given in one of the ways that are allowed, checked."""
        if isinstance(bounds, ColumnBounds):
            return bounds
        if bounds is None:
            raise ValueError(
                "bounds must be given: a pair (low, high), a pair for each column, or a dict from "
                "columns to pairs. They are public, known without a look at the data."
            )
        if isinstance(bounds, Mapping):
            bounds = _pairs(bounds, n_columns, names)
        low, high = _two_sides(bounds, n_columns)
        sane = (np.abs(low) <= _LARGEST) & (np.abs(high) <= _LARGEST) & (high - low >= _NARROWEST)
        if not sane.all():
            raise ValueError(
                "each low must be below its high, by at least 1e-50, and both finite, up to "
                f"1e100; got {bounds!r}."
            )
        return cls(low, high)

    @property
    def middle(self) -> np.ndarray:
        """The middle of the bounds."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> np.ndarray:
        """Half their distance."""
        return 0.5 * (self.high - self.low)

    @property
    def largest(self) -> np.ndarray:
        """The largest absolute value within."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def clip(self, X: np.ndarray, missing: Any = None) -> np.ndarray:
        """Return new rows within the bounds; NaN counts as `missing`, the middle by default."""
        filling = self.middle if missing is None else missing
        filled = np.where(np.isnan(X), filling, X)
        return np.clip(filled, self.low, self.high, out=filled)

    def unit(self, X: np.ndarray) -> np.ndarray:
        """Return clipped rows mapped to [−1, 1]; NaN counts as the middle."""
        rows = self.clip(X)
        rows -= self.middle
        rows /= self.half
        return np.clip(rows, -1.0, 1.0, out=rows)


def _pairs(bounds: Mapping[Any, Any], n_columns: int, names: Sequence[Any]) -> Any:
    """Return (lows, highs) of a dict that has to name each column."""
    found = by_column("bounds", bounds, n_columns, names)
    if left := [_name(names, j) for j in range(n_columns) if j not in found]:
        raise ValueError(f"bounds must name each column of numbers; {left} are not among them.")
    try:
        pairs = np.array([found[j] for j in range(n_columns)], dtype=float)
        return pairs.reshape(n_columns, 2).T
    except (TypeError, ValueError) as error:
        raise ValueError(f"each of bounds must be a pair (low, high), got {bounds!r}.") from error


def _two_sides(bounds: Any, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        pair = bounds if len(bounds) == 2 else np.asarray(bounds, dtype=float).T
        low, high = (np.broadcast_to(np.asarray(side, float), (n_columns,)) for side in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds must be a pair (low, high) of numbers or of {n_columns} numbers each, one "
            f"pair for each of the {n_columns} columns, or a dict by column, got {bounds!r}."
        ) from error
    return low, high


def by_column(
    parameter: str, values: Mapping[Any, Any], n_columns: int, names: Sequence[Any]
) -> dict[int, Any]:
    """Return what is given by names or numbers of columns, by number."""
    names = list(names)
    columns = [names.index(key) if key in names else key for key in values]
    known = all(_is_number(j) and 0 <= j < n_columns for j in columns)
    if not known or len({*columns}) < len(columns):
        raise ValueError(
            f"{parameter} must be a dict by names or numbers of columns, each once, of which there "
            f"are {names or n_columns}; got {list(values)}."
        )
    return dict(zip(columns, values.values(), strict=True))


def categories_by_column(
    categories: Any, n_columns: int, names: Sequence[Any]
) -> dict[int, np.ndarray]:
    """Return the values of each categorical column, by number.

    `categories` is a dict by column, or the list of the values of every column; None for none.
    """
    if categories is None:
        return {}
    if isinstance(categories, Mapping):
        given = by_column("categories", categories, n_columns, names)
        return {j: _checked_categories(_name(names, j), known) for j, known in given.items()}
    return dict.fromkeys(range(n_columns), _checked_categories("every", categories))


def _checked_categories(column: Any, values: Any) -> np.ndarray:
    """Return the different values, at least one and none missing, that a column may have."""
    message = (
        f"categories must be a list of values, or a dict from columns to such lists; those of "
        f"column {column!r} must be different values, at least one and none missing, got "
        f"{values!r}."
    )
    if isinstance(values, (str, bytes)) or np.ndim(values) != 1:
        raise ValueError(message)
    known = list(values)
    try:
        different = len({*known}) == len(known)
    except TypeError as error:
        raise ValueError(message) from error
    if not known or not different or any(map(_is_missing, known)):
        raise ValueError(message)
    texts = sum(isinstance(value, str) for value in known)
    mixed = 0 < texts < len(known)  # of which NumPy would make texts
    return np.array(known, dtype=object) if mixed else np.asarray(known)


def category_codes(column: Any, values: np.ndarray) -> np.ndarray:
    """Return a column as places in `values`, −1 for any other or missing value; none is refused."""
    column = np.asarray(column)
    if column.dtype.kind in "biuf" and values.dtype.kind in "biuf":
        order = np.argsort(values)
        places = order[np.minimum(np.searchsorted(values[order], column), values.size - 1)]
        return np.where(values[places] == column, places, -1)
    if column.dtype.kind in "mM":
        return _codes_of_times(column, values)
    known = {value: code for code, value in enumerate(values.tolist())}
    return np.fromiter((_place(known, value) for value in column.tolist()), np.intp, column.size)


def _place(known: Mapping[Any, int], value: Any) -> int:
    try:
        return known.get(value, -1)
    except TypeError:  # not hashable, so none of the values
        return -1


def _codes_of_times(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    codes = np.full(column.shape, -1)
    for code, value in enumerate(values):
        codes[column == value] = code
    return codes


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table as they came: of arrays, lists, and series and frames of two libraries.

    Parameters
    ----------
    parts : list of array-like of shape (n_rows,)
        *Private.*
    names : list
        *Public.* Names of the columns of a frame or series; empty if there are none.
    single : bool
        *Public.* Whether it was one column, without a second axis.
    """

    parts: list[Any]
    names: list[Any]
    single: bool

    @classmethod
    def of(cls, x: Any, parameter: str = "x") -> Columns:
        """Return the columns of `x`; only shapes decide whether it is refused."""
        if is_frame(x):
            refuse_lazy(parameter, x)
            columns = cls(_parts(x), list(x.columns), False)
        else:
            columns = cls._of_array(x, parameter)
        if not columns.parts:
            raise ValueError(f"{parameter} must have at least one column.")
        if columns.n_rows >= _MOST_ROWS:
            raise ValueError(f"{parameter} may have fewer than 2^31 rows.")
        return columns

    @classmethod
    def _of_array(cls, x: Any, parameter: str) -> Columns:
        name = getattr(x, "name", None)
        part = getattr(x, "array", x) if hasattr(x, "dtype") else np.asarray(x)
        if np.ndim(part) not in (1, 2):
            raise ValueError(
                f"{parameter} must be one column or a table with columns, got the shape "
                f"{np.shape(part)}."
            )
        if np.ndim(part) == 1:
            return cls([part], [] if name in (None, "") else [name], True)
        return cls([part[:, j] for j in range(part.shape[1])], [], False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.parts[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.parts)

    def name(self, j: int) -> Any:
        """Return the name of a column, its number where it has none."""
        return _name(self.names, j)

    def check_numeric(self) -> None:
        """Raise if a column can be told to hold something else than numbers."""
        for j, part in enumerate(self.parts):
            check_numeric(part, self.name(j))

    def check_boolean(self, parameter: str) -> None:
        """Raise unless each column is of truth values."""
        for part in self.parts:
            kind = _kind(part)
            types = {bool} if kind == "b" else {*map(type, np.asarray(part, object))}
            if not (kind in "bO" and all(t in (bool, np.bool_) or _missing(t) for t in types)):
                raise ValueError(
                    f"{parameter} must hold True and False, such as ages >= 65; got the dtype "
                    f"{getattr(part, 'dtype', None)}."
                )

    def count_true(self) -> np.ndarray:
        """Return how often each column is true; what is missing is not."""
        return np.array([np.count_nonzero(_truth(part)) for part in self.parts])

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows as floats, NaN for missing values, some at a time."""
        step = max(_AT_ONCE // self.n_columns, 1)
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            yield np.stack([as_floats(part[rows]) for part in self.parts], axis=1)

    def shaped(self, values: np.ndarray) -> Any:
        """Return a float where there was one column without a second axis, else the array."""
        return float(values[0]) if self.single else values


def is_frame(X: Any) -> bool:
    """Return whether X is a frame, with a type for each column."""
    return hasattr(type(X), "columns")


def _parts(frame: Any) -> list[Any]:
    """Return the columns of a frame, in types that can be sliced by rows."""
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, j].array for j in range(frame.shape[1])]
    return [frame[:, j] for j in range(frame.shape[1])]


def check_numeric(column: Any, name: Any) -> None:
    """Raise if a column can be told to hold something else than numbers and missing values.

    The type of the column decides; only where it is no type at all are those of values looked at.
    """
    kind = _kind(column)
    if kind in "biuf":
        return
    types = {*map(type, np.asarray(column, object))} if kind == "O" else {str}
    if any(issubclass(one, (str, bytes)) for one in types) and kind not in "cmM":
        raise ValueError(
            f"column {name!r} holds text. Where text is allowed, name the values that it can have "
            f"in categories, as in categories={{{name!r}: [...]}}."
        )
    if kind != "O" or not all(issubclass(one, _NUMBERS) or _missing(one) for one in types):
        raise TypeError(
            f"column {name!r} holds something else than numbers: each argument must be neither a "
            "string nor another thing, but a real number or missing."
        )


_NUMBERS = (Real, Decimal, np.bool_)


def as_floats(column: Any) -> np.ndarray:
    """Return a column that passed `check_numeric` as floats, NaN for missing values."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if not isinstance(column, np.ndarray) and kind in "biuf" and hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(float, copy=False)
    return np.fromiter(map(_as_float, values.tolist()), float, values.size)


def refuse_missing(X: np.ndarray, names: Sequence[Any] = ()) -> None:
    """Raise if a column of floats has a missing or infinite value, and name the column only."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if bad.size:
        column = f"column {_name(names, int(bad[0]))!r}"
        check_no_missing(column, X[:, bad[0]])
        raise ValueError(f"{column} must hold finite numbers, and it has an infinity.")


def _name(names: Sequence[Any], j: int) -> Any:
    return names[j] if len(names) else j


def _is_number(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _kind(column: Any) -> str:
    """Return NumPy's letter for the type of a column, "O" if it holds any objects."""
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    return str(np.asarray(column).dtype.kind) if kind in (None, "O") else str(kind)


def _missing(kind: type) -> bool:
    return kind.__name__ in _MISSING_TYPES


def _is_missing(value: Any) -> bool:
    return _missing(type(value)) or (isinstance(value, _NUMBERS) and value != value)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _truth(column: Any) -> np.ndarray:
    values = np.asarray(column)
    if values.dtype.kind == "b":
        return values
    return np.fromiter((not _is_missing(v) and bool(v) for v in values), bool, values.size)


def validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """Return what scikit-learn's `validate_data` does; its errors quote no value.

    The estimator remembers the names of columns, for `column_names`.
    """
    try:
        checked = validate_data(estimator, *data, **options)
    except ValueError as error:
        if str(error).startswith("could not convert"):
            raise ValueError("X must hold numbers, and it has text.") from None
        if str(error).startswith("Complex data"):
            raise ValueError("Complex data not supported: X must hold real numbers.") from None
        if str(error).startswith("Expected 2D array, got"):
            raise ValueError(
                f"Expected 2D array, got {np.ndim(data[0])}D array instead: X must have the shape "
                "(n_samples, n_features). Reshape your data, one row a record."
            ) from None
        raise
    if options.get("reset", True):
        _remember_names(estimator, data[0])
    return checked


def column_names(estimator: Any) -> list[Any]:
    """Return the names of the columns in `fit`, those that are no strings too; empty for none."""
    return list(getattr(estimator, "feature_names_in_", getattr(estimator, "_column_names", ())))


def _remember_names(estimator: Any, X: Any) -> None:
    """Keep names that are no strings, of which scikit-learn has no attribute."""
    vars(estimator).pop("_column_names", None)
    if is_frame(X) and not hasattr(estimator, "feature_names_in_"):
        estimator._column_names = list(X.columns)


def validated_numbers(estimator: Any, X: Any, *, reset: bool, dtype: Any = np.float64) -> Any:
    """Return X as floats, NaN for missing values, after scikit-learn's checks of its shape."""
    refuse_lazy("X", X)
    if is_frame(X):
        validated(estimator, X, reset=reset, skip_check_array=True)
        columns = Columns.of(X, "X")
        columns.check_numeric()
        floats = np.stack([as_floats(part) for part in columns.parts], axis=1)
        return check_array(floats, ensure_all_finite=False)
    return validated(estimator, _plain(X), dtype=dtype, ensure_all_finite=False, reset=reset)


def _plain(X: Any) -> Any:
    """Return an array or list of objects or texts as floats; leave all else to scikit-learn."""
    values = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if getattr(getattr(values, "dtype", None), "kind", None) not in ("O", "U", "S"):
        return X
    if values.ndim != 2 or not values.size:
        return X
    for j, column in enumerate(values.T):
        check_numeric(column, j)
    return np.stack([as_floats(column) for column in values.T], axis=1)
