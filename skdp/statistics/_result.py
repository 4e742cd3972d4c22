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

__all__ = ["Axes", "Labels", "NoisyNumbers", "Numbers", "Statistic", "framed", "risk_of", "shown"]

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

    def _index(self) -> dict[str, list[Label]]:
        """Return the labels of all numbers, a list for each axis."""
        keys = [*product(*(labels for _, labels in self._labels.axes))]
        return {name: [key[k] for key in keys] for k, (name, _) in enumerate(self._labels.axes)}

    def _columns(
        self, level: float | None = None, simultaneous: bool = False
    ) -> dict[str, list[float]]:
        numbers = (self.value, *self.interval(level, simultaneous=simultaneous))
        estimate, lower, upper = (np.ravel(one).tolist() for one in numbers)
        levels = [(level or _LEVEL) if low == low else math.nan for low in lower]
        return {"estimate": estimate, "lower": lower, "upper": upper, "level": levels}

    def _repr_html_(self) -> str:
        return view(self._index() | self._columns(), self.privacy)

    def __repr__(self) -> str:
        if np.size(self.value) > 1:
            return f"{np.array2string(np.asarray(self.value), precision=6)}\n{self.privacy}"
        low, high = (float(np.ravel(end)[0]) for end in self.interval())
        number = float(np.ravel(self.value)[0])
        return f"{number:.6g}, 95 % interval [{low:.6g}, {high:.6g}]\n{self.privacy}"


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
    _labels : object
        *Public.* The labels in `to_frame`.
    """

    _plan: QueryPlan = field(kw_only=True)
    _unit: Numbers = field(default=1.0, kw_only=True)

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        (query,) = self._plan.queries
        width = self._unit * half_width(self._plan, query.name, risk)
        return self.value - width, self.value + width


def framed(
    index: Mapping[str, Sequence[Label]], columns: Mapping[str, Sequence[float]], library: str
) -> MatrixLike:
    """Return a frame of columns, with labels as columns of polars or as the index of pandas."""
    index = {name: _told_apart(labels) for name, labels in index.items()}
    if library == "polars":
        import polars

        return polars.DataFrame({**index, **columns}, strict=False)
    import pandas

    frame = pandas.DataFrame({**index, **columns})
    return frame.set_index([*index]) if index else frame


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


def view(columns: Mapping[str, Sequence[Label]], privacy: PrivacyGuarantee) -> str:
    """Return HTML of the columns that have a number, and of the guarantee."""
    texts = {name: [*map(_text, column)] for name, column in columns.items()}
    texts = {name: column for name, column in texts.items() if any(column)}
    table = html_table([*texts], zip(*texts.values(), strict=True))
    return f"{table}<p>{escape(str(privacy))}</p>"


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
