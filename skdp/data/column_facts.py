"""Public facts about columns: their bounds and categories, by name or number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skdp.data.column import Column, Values, array_of_list, is_missing
from skdp.data.columns import column_name
from skdp.support.types import Bounds, Categories, VectorLike

_LARGEST = 1e100
_NARROWEST = 1e-50
_LONG = 1024  # an inner loop of NumPy that costs much more than its call
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """*Public* bounds of each column, in its units.

    `low` and `high` have the shape (n_columns,). They are at least 1e-50 apart and at most 1e100 in
    size. `scales` has, for columns of a schema, the unit of a logarithmic scale, inf for a linear
    one, and whether values are integers.
    """

    low: np.ndarray
    high: np.ndarray
    scales: tuple[tuple[float, bool], ...] = ()

    @classmethod
    def of(
        cls,
        bounds: Bounds | ColumnBounds | None,
        n_columns: int,
        names: Sequence[Hashable] = (),
        parameter: str = "bounds",
    ) -> ColumnBounds:
        """Return the bounds given in any of the allowed forms, checked; errors name `parameter`."""
        if isinstance(bounds, ColumnBounds):
            return bounds
        if bounds is None:
            raise ValueError(
                f"{parameter} must be given: a pair (low, high), a pair for each column, or a dict "
                "from columns to pairs. They are public, known without a look at the data."
            )
        sides = bounds_of_numbers(bounds, list(range(n_columns)), n_columns, names)
        low, high = _two_sides(sides, n_columns)
        sane = (np.abs(low) <= _LARGEST) & (np.abs(high) <= _LARGEST) & (high - low >= _NARROWEST)
        for j in np.flatnonzero(~sane)[:1].tolist():
            pair, name = (float(low[j]), float(high[j])), column_name(names, j)
            if pair[0] > pair[1]:
                raise ValueError(
                    f"{parameter} of column {name!r} are reversed: low={pair[0]}, high={pair[1]}."
                )
            raise ValueError(
                f"{parameter} of column {name!r} must be finite, up to 1e100 in size and at least "
                f"1e-50 apart, got {pair}."
            )
        return cls(low, high)

    def scaled(
        self, scales: Mapping[Hashable, tuple[float, bool]], names: Sequence[Hashable]
    ) -> ColumnBounds:
        """Return the bounds with the scales that a schema states, by the names of the columns."""
        return replace(self, scales=tuple(scales[name] for name in names)) if scales else self

    @property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> np.ndarray:
        return 0.5 * (self.high - self.low)

    @property
    def largest(self) -> np.ndarray:
        """The largest absolute value within the bounds."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def clip(self, X: np.ndarray) -> np.ndarray:
        """Return new C-contiguous rows within the bounds; NaN counts as the midpoint."""
        rows = np.empty(X.shape)
        if self.low.size and np.ptp(self.low) == np.ptp(self.high) == 0.0:
            np.clip(X, self.low[0], self.high[0], out=rows)  # NaN stays
        else:
            column_wise(np.minimum, column_wise(np.maximum, X, self.low, rows), self.high, rows)
        if np.isnan(np.vdot(rows, rows)):
            np.copyto(rows, np.clip(self.middle, self.low, self.high), where=np.isnan(rows))
        return rows

    def unit(self, X: np.ndarray) -> np.ndarray:
        """Return clipped rows mapped to [−1, 1]; NaN counts as the midpoint."""
        rows = self.clip(X)
        column_wise(np.divide, column_wise(np.subtract, rows, self.middle, rows), self.half, rows)
        return np.clip(rows, -1.0, 1.0, out=rows)


def column_wise(
    operation: np.ufunc, X: np.ndarray, values: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Write ``operation(X, values)``, with a value of each column, to C-contiguous rows.

    Inner loops are long, also where columns are few.
    """
    n, d = X.shape
    k = max(_LONG // max(d, 1), 1)
    end = n // k * k
    wide = out[:end].reshape(n // k, k * d)
    operation(X[:end].reshape(wide.shape), values[None].repeat(k, axis=0).ravel(), out=wide)
    operation(X[end:], values, out=out[end:])
    return out


def sides_of_pairs(
    found: Mapping[int, Sequence[float]], columns: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lows and the highs of columns that have a pair each."""
    pairs = [found[j] for j in columns]
    try:
        rows = np.array(pairs, dtype=float).reshape(len(pairs), 2)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"each of bounds must be a pair (low, high) of numbers, got {pairs!r}. Dates and "
            "categories of a column belong in a TableSchema."
        ) from error
    return rows[:, 0], rows[:, 1]


def _two_sides(bounds: VectorLike, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lows and highs from (lows, highs), or from a pair for each column."""
    is_unclear = False
    try:
        if n_columns == 2 and len(bounds) == 2 and all(np.size(side) == 2 for side in bounds):
            pair, is_unclear = _sides_of_two(bounds)
        else:
            pair = bounds if len(bounds) == 2 else np.asarray(bounds, dtype=float).T
        low, high = (_side(side, n_columns) for side in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds must be a pair (low, high) of numbers or of {n_columns} numbers each, one "
            f"pair for each of the {n_columns} columns, or a dict by column, got {bounds!r}."
        ) from error
    if is_unclear:
        raise ValueError(
            f"bounds={bounds!r} may be two pairs, or the lows and the highs of two columns. Give a "
            "dict by column, a list of tuples (low, high), or a tuple of the list of lows and the "
            "list of highs."
        )
    return low, high


def _sides_of_two(bounds: VectorLike) -> tuple[VectorLike, bool]:
    """Return the lows and highs of two columns, and whether the bounds can be read both ways."""
    if isinstance(bounds, tuple) and not any(isinstance(one, tuple) for one in bounds):
        return bounds, False  # of two lists or arrays
    rows = np.asarray(bounds, dtype=float)
    if isinstance(bounds, list) and all(isinstance(one, tuple) for one in bounds):
        return rows.T, False
    are_sides, are_pairs = (bool((low < high).all()) for low, high in (rows, rows.T))
    return rows.T if are_pairs else rows, are_sides and are_pairs


def _side(side: VectorLike, n_columns: int) -> np.ndarray:
    """Return a number, or one for each column, as one for each; raise ValueError otherwise."""
    ends = np.asarray(side, dtype=float)
    if ends.ndim and ends.size != n_columns:
        raise ValueError("wrong number of columns")
    return np.broadcast_to(ends, (n_columns,))


def by_column(
    parameter: str, values: Mapping[Any, T], n_columns: int, names: Sequence[Hashable]
) -> dict[int, T]:
    """Return values by column number, given by column name or number."""
    names = list(names)
    columns = [names.index(key) if key in names else key for key in values]
    unknown = [
        key
        for key, j in zip(values, columns, strict=True)
        if isinstance(j, bool) or not isinstance(j, Integral) or j not in range(n_columns)
    ]
    if unknown:
        known = names or f"numbers from 0 to {n_columns - 1}"
        raise ValueError(f"Unknown columns in {parameter}: {unknown}. The columns are {known}.")
    if len({*columns}) < len(columns):
        raise ValueError(f"{parameter} names a column twice: {list(values)}.")
    return dict(zip(columns, values.values(), strict=True))


def bounds_of_numbers(
    bounds: Bounds | None,
    numbers: list[int],
    n_columns: int,
    names: Sequence[Hashable],
    *,
    advice: str = "",
) -> Bounds | tuple[np.ndarray, np.ndarray] | None:
    """Return `bounds`, or the two sides of a dict of just the columns in `numbers`.

    `advice` says what to do about columns that are not numeric.
    """
    if not isinstance(bounds, Mapping):
        return bounds
    found = by_column("bounds", bounds, n_columns, names)
    if left := [column_name(names, j) for j in numbers if j not in found]:
        raise ValueError(
            f"bounds have no pair for the columns {left}. Add the pairs, or leave these columns "
            f"out of the data.{advice}"
        )
    if twice := [column_name(names, j) for j in found if j not in numbers]:
        raise ValueError(f"bounds and categories both name the columns {twice}.")
    return sides_of_pairs(found, numbers)


def categories_by_column(
    categories: Categories | None, n_columns: int, names: Sequence[Hashable]
) -> dict[int, np.ndarray]:
    """Return the values of each categorical column, by number."""
    if categories is None:
        return {}
    if isinstance(categories, Mapping):
        given = by_column("categories", categories, n_columns, names)
        return {j: _checked_categories(column_name(names, j), known) for j, known in given.items()}
    return dict.fromkeys(range(n_columns), _checked_categories("every", categories))


def _checked_categories(column: Hashable, values: VectorLike) -> np.ndarray:
    message = (
        f"categories must be a list of values, or a dict from columns to such lists. Those of "
        f"column {column!r} must be different values, at least one and none missing, got "
        f"{values!r}."
    )
    return _different_values(values, message)


def checked_keys(keys: ArrayLike) -> np.ndarray:
    """Return the different values, at least one and none missing, by which rows are grouped."""
    return _different_values(
        keys,
        "keys must be a list of different values, each a single one, at least one and none "
        f"missing, got {keys!r}.",
    )


def _different_values(values: VectorLike, message: str) -> np.ndarray:
    """Return values as an array; raise ValueError if two are equal or one is missing."""
    if isinstance(values, (str, bytes)) or np.ndim(values) != 1:
        raise ValueError(message)
    known = list(values)
    try:
        different = len({*known}) == len(known)
    except TypeError as error:
        raise ValueError(message) from error
    if not known or not different or any(map(is_missing, known)):
        raise ValueError(message)
    return array_of_list(known)


def category_codes(column: VectorLike | Column, values: np.ndarray) -> np.ndarray:
    """Return the index in `values` of each value of a column, −1 if it is missing or not there.

    Values that are equal in Python are one category, in a column of any type. No value raises an
    error.
    """
    return codes_of(Column.of(column).read(), values)


def codes_of(read: Values, values: np.ndarray) -> np.ndarray:
    """Return the `category_codes` of a column that has been read."""
    column = read.array
    if column.dtype.kind in "biuf" and values.dtype.kind in "biuf":
        codes = _codes_of_numbers(column, values)
    elif column.dtype.kind in "mM":
        codes = _codes_of_times(column, values)
    else:
        codes = _codes_of_objects(column, values)
    return codes if read.nulls is None else np.where(read.nulls, -1, codes)


def _codes_of_objects(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    known = {value: code for code, value in enumerate(Column(values).values())}
    codes = np.full(column.shape, -1)
    times: dict[np.dtype, dict[int, np.ndarray]] = defaultdict(dict)
    for i, value in enumerate(Column(column).values()):
        if (time := _as_time(value)) is None:
            codes[i] = _place(known, value)
        else:
            times[time.dtype][i] = time
    for some in times.values():  # of one unit
        codes[[*some]] = _codes_of_times(np.array([*some.values()]), values)
    return codes


def _codes_of_numbers(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return places among the values that the type of the column holds without rounding."""
    if not (exact := _held(column.dtype, values)).any():
        return np.full(column.shape, -1)
    held = values[exact].astype(column.dtype)
    order, held = np.flatnonzero(exact)[np.argsort(held)], np.sort(held)
    places = np.minimum(np.searchsorted(held, column), order.size - 1)
    return np.where(held[places] == column, order[places], -1)


def _held(dtype: np.dtype, values: np.ndarray) -> np.ndarray:
    """Return whether a type of numbers holds each of the values without rounding."""
    with np.errstate(all="ignore"):
        pairs = zip(values.astype(dtype).tolist(), values.tolist(), strict=True)
    return np.array([a == b for a, b in pairs], bool)


def check_comparable(column: VectorLike | Column, values: np.ndarray, name: Hashable) -> None:
    """Raise ValueError if no value of a column's type can be in `values`.

    Columns of floats pass, because a column with only missing values often has this type. But in
    single precision, .1 is another number, and each of the values must be in the type. Columns of
    objects pass, because their values may have any type.
    """
    column = Column.of(column)
    kind, type_name = column.kind, column.type_name
    texts = kind in "US" or type_name.lower() in ("str", "string")
    are_texts, are_numbers = values.dtype.kind in "US", values.dtype.kind in "biuf"
    if (kind in "biumM" and are_texts) or ((texts or kind in "mM") and are_numbers):
        raise ValueError(
            f"column {name!r} contains {'strings' if texts else type_name}, which cannot equal its "
            f"categories {values.tolist()}. Pass categories of the column's own type."
        )
    if kind == "f" and are_numbers and not (held := _held(column.dtype, values)).all():
        raise ValueError(
            f"column {name!r} contains {type_name}, which rounds numbers and cannot equal its "
            f"categories {values[~held].tolist()}. Convert the column, or round them likewise, as "
            f"np.{column.dtype}(0.1) does."
        )


def _place(known: Mapping[Any, int], value: object) -> int:
    try:
        return known.get(value, -1)
    except Exception:  # a value that cannot be compared is no category; the budget is spent
        return -1


def _codes_of_times(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return places among the values that the unit of the column holds, the same moment or span."""
    codes = np.full(column.shape, -1)
    for code, value in enumerate(values):
        held = _in_unit(_as_time(value), column.dtype)
        if held is not None:
            codes[column == held] = code
    return codes


def _as_time(value: object) -> np.ndarray | None:
    """Return a date or a duration in NumPy; None for others, and those with a time zone."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return np.asarray(value)
    if not isinstance(value, (date, timedelta)) or getattr(value, "tzinfo", None) is not None:
        return None
    kind = "m8" if isinstance(value, timedelta) else "M8"
    try:
        return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value, kind)
    except OverflowError:  # of a duration of 300 000 years
        return None


def _in_unit(time: np.ndarray | None, unit: np.dtype) -> np.ndarray | None:
    """Return a time in another unit, None if no value of the unit equals it.

    An integer in another unit is that of this one times or divided by a constant. If NumPy wraps
    around or rounds, the way back gives another integer.
    """
    if time is None or not np.can_cast(time.dtype, unit, "same_kind"):
        return None  # of a date and a duration, or of days and years
    try:
        found = time.astype(unit)
        return found if found.astype(time.dtype) == time else None
    except OverflowError:  # A day has 8.64e22 attoseconds. What both units hold has milliseconds.
        middle = np.dtype(f"{unit.kind}8[ms]")
        return None if middle in (unit, time.dtype) else _in_unit(_in_unit(time, middle), unit)
