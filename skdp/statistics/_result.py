"""Results of the statistics."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from skdp.privacy import PrivacyGuarantee
from skdp.statistics._noise import half_width
from skdp.support.html import html_table
from skdp.support.types import Label, MatrixLike
from skdp.support.validation import check_real
from skdp.workloads import QueryPlan

_LEVEL = 0.95
_BOOLEANS = (bool, np.bool_)

Numbers: TypeAlias = float | np.ndarray
"""One number, or an array."""

Axes: TypeAlias = tuple[tuple[str, Sequence[Label]], ...]
"""Name and labels of each axis of an array."""


@dataclass(frozen=True)
class Labels:
    """*Public* labels of released numbers, and the library of the frames of `to_frame`."""

    axes: Axes
    library: str


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """A released number, or an array of them.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    value: Any
    privacy: PrivacyGuarantee
    _labels: Labels = field(kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """*Released.* Sentences about numbers that are nan or doubtful."""
        index = zip(*(labels for _, labels in self._index()), strict=True)
        names = [", ".join(map(str, key)) for key in index]
        lost = [name for name, x in zip(names or [""], np.ravel(self.value), strict=True) if x != x]
        if not lost:
            return ()
        return (
            f"The noise outweighs {'; '.join(lost) or 'the number'}: the estimate is nan. Use "
            "narrower bounds, more rows, or a larger epsilon.",
        )

    @abstractmethod
    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        """Return ends of intervals, each of which misses its number with probability `risk`."""

    def interval(
        self, level: float | None = None, *, simultaneous: bool = False
    ) -> tuple[Any, Any]:
        """Return intervals for the statistic of the same data without noise.

        Parameters
        ----------
        level : float in (0, 1) or None, default None
            *Public.* Probability, over the noise, that an interval contains its number. It is
            approximate for functions of several noisy numbers. Intervals contain their number more
            often if rows are few for the noise, and for counts with little noise. ``None``: 0.95.
            Quantiles have intervals only at the level of their release.
        simultaneous : bool, default False
            *Public.* Whether `level` holds for all intervals at once, by a union bound, instead of
            each by itself. Not available for quantiles.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.

        Raises
        ------
        ValueError
            If `level` is not in (0, 1), or quantiles have no such intervals.
        """
        risk = risk_of(_LEVEL if level is None else level)
        low, high = self._ends(risk / (np.size(self.value) if simultaneous else 1))
        return shown(low), shown(high)

    def to_frame(self, level: float | None = None, *, simultaneous: bool = False) -> MatrixLike:
        """Return the numbers and their intervals as a data frame.

        Parameters
        ----------
        level : float in (0, 1) or None, default None
            *Public.* As in `interval`.
        simultaneous : bool, default False
            *Public.* As in `interval`.

        Returns
        -------
        DataFrame
            One row per number, with the columns estimate, lower, upper and level. It is a polars
            frame with columns of labels if the data were polars, else a pandas frame indexed by
            labels. Without intervals lower, upper and level are nan.
        """
        return framed(self._index(), self._columns(level, simultaneous), self._labels.library)

    def _index(self) -> Axes:
        """Return the labels of all numbers, a list for each axis."""
        keys = [*product(*(labels for _, labels in self._labels.axes))]
        return tuple(
            (name, [key[k] for key in keys]) for k, (name, _) in enumerate(self._labels.axes)
        )

    def _columns(
        self, level: float | None = None, simultaneous: bool = False
    ) -> dict[str, list[float]]:
        numbers = (self.value, *self.interval(level, simultaneous=simultaneous))
        estimate, lower, upper = (np.ravel(one).tolist() for one in numbers)
        levels = [(level or _LEVEL) if low == low else math.nan for low in lower]
        return {"estimate": estimate, "lower": lower, "upper": upper, "level": levels}

    def _repr_html_(self) -> str:
        return view(beside(self._index(), self._columns()), self.privacy, self.notes)

    def __repr__(self) -> str:
        return "\n".join([*self._text(), *self.notes, str(self.privacy)])

    def _text(self) -> list[str]:
        """Return lines with the numbers."""
        if np.size(self.value) > 1:
            return [np.array2string(np.asarray(self.value), precision=6)]
        low, high = (float(np.ravel(end)[0]) for end in self.interval())
        return [f"{float(np.ravel(self.value)[0]):.6g}, 95 % interval [{low:.6g}, {high:.6g}]"]


@dataclass(frozen=True, eq=False, repr=False)
class NoisyNumbers(Statistic):
    """Numbers plus noise: counts, sums, the cells of a histogram.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _plan : QueryPlan
        *Public.* The noise.
    _unit : float or ndarray
        *Public.* Factor of the noise.
    _noisy : float or ndarray
        *Released.* The numbers before `value` was limited to what is possible.
    _most : float or None
        *Public.* The largest possible number of counts, None for other numbers.
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    _plan: QueryPlan = field(kw_only=True)
    _unit: Numbers = field(default=1.0, kw_only=True)
    _noisy: Numbers = field(kw_only=True)
    _most: float | None = field(default=None, kw_only=True)

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        (query,) = self._plan.queries
        width = self._unit * half_width(self._plan, query.name, risk)
        ends = self._noisy - width, self._noisy + width
        if self._most is None:
            return ends
        return np.clip(ends[0], 0.0, self._most), np.clip(ends[1], 0.0, self._most)


def framed(index: Axes, columns: Mapping[str, Sequence[float]], library: str) -> MatrixLike:
    """Return a frame of columns, with labels as columns of polars or as the index of pandas."""
    index = tuple((name, _told_apart(labels)) for name, labels in index)
    if library == "polars":
        import polars

        return polars.DataFrame(beside(index, columns), strict=False)
    import pandas

    frame = pandas.DataFrame(columns)
    if index:
        labels = pandas.DataFrame({k: list(own) for k, (_, own) in enumerate(index)})
        frame.index = labels.set_index([*labels]).index
        frame.index.names = [name for name, _ in index]
    return frame


def _told_apart(labels: Sequence[Label]) -> list[Label]:
    """Return labels with booleans as text if there are numbers beside them.

    Frames take 1 and True for the same label, because they are equal in Python.
    """
    flat = [one for label in labels for one in (label if isinstance(label, tuple) else (label,))]
    if len({isinstance(one, _BOOLEANS) for one in flat if isinstance(one, (Number, np.bool_))}) < 2:
        return [*labels]
    return [tuple(map(_shown, one)) if isinstance(one, tuple) else _shown(one) for one in labels]


def _shown(label: Label) -> Label:
    return str(label) if isinstance(label, _BOOLEANS) else label


def beside(
    index: Axes, columns: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[Label] | Sequence[float]]:
    """Return labels and numbers as columns; a label's name gets an underscore if it is taken."""
    found: dict[str, Sequence[Label] | Sequence[float]] = {}
    for name, labels in reversed(index):  # the first axis may have the user's name
        while name in columns or name in found:
            name += "_"
        found = {name: labels} | found
    return found | dict(columns)


def view(
    columns: Mapping[str, Sequence[Label]], privacy: PrivacyGuarantee, notes: Sequence[str] = ()
) -> str:
    """Return HTML of the columns that have a number, of notes, and of the guarantee."""
    texts = {name: [*map(_text, column)] for name, column in columns.items()}
    texts = {name: column for name, column in texts.items() if any(column)}
    table = html_table([*texts], zip(*texts.values(), strict=True))
    return table + "".join(f"<p>{escape(text)}</p>" for text in (*notes, str(privacy)))


def _text(value: Label) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def risk_of(level: float) -> float:
    """Return the probability with which an interval may miss."""
    return 1.0 - check_real("level", level, low=0.0, high=1.0)


def shown(values: Numbers) -> Numbers:
    """Return a single number as a float, and an array as it is."""
    return values if np.ndim(values) else float(values)
