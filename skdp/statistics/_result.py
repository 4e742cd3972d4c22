"""What a statistic returns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any

import numpy as np

from skdp.privacy import PrivacyGuarantee
from skdp.statistics._noise import half_width
from skdp.support.html import html_table
from skdp.support.validation import check_real
from skdp.workloads import QueryPlan

__all__ = ["Axes", "NoisyNumbers", "Statistic", "framed", "risk_of", "shown", "view"]

Axes = tuple[tuple[str, Sequence[Any]], ...]
"""What released numbers are of, from the first axis to the last: a name, and a label for each."""


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """A released number, or an array of them.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _axes, _library : tuple and str
        *Public.* What the numbers are of, and whose frame `to_frame` returns.
    """

    value: Any
    privacy: PrivacyGuarantee
    _axes: Axes = field(default=(), kw_only=True)
    _library: str = field(default="pandas", kw_only=True)

    @abstractmethod
    def _ends(self, risk: float) -> tuple[Any, Any]:
        """Return ends of intervals, each of which misses its number with probability `risk`."""

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Return where the statistic of the same data lies, as it would be without noise.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* The probability, over the noise, that an interval holds its number: for a
            function of several noisy numbers nearly so, and more where there are few rows for the
            noise; more for counts with little noise, as they are integers.
        simultaneous : bool, default False
            *Public.* Whether all intervals hold at once with that probability, by a union bound,
            instead of each by itself.

        Returns
        -------
        low, high : float or ndarray
            Of the shape of `value`, computed from what was released and from public numbers.
        """
        low, high = self._ends(risk_of(level, np.size(self.value) if simultaneous else 1))
        return shown(low), shown(high)

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> Any:
        """Return the numbers and their intervals as a frame, with the names that were given.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* As in `interval`.
        simultaneous : bool, default False
            *Public.* As in `interval`.

        Returns
        -------
        DataFrame
            Of polars where the table was, else of pandas: the columns estimate, lower, upper and
            level, a row for each number, which columns of polars, or the index of pandas, name.
        """
        return framed(self._index(), self._columns(level, simultaneous), self._library)

    def _index(self) -> dict[str, list[Any]]:
        """Return the labels of all numbers, a list for each axis."""
        keys = [*product(*(labels for _, labels in self._axes))]
        return {name: [key[k] for key in keys] for k, (name, _) in enumerate(self._axes)}

    def _columns(self, level: float, simultaneous: bool = False) -> dict[str, list[float]]:
        """Return the columns of `to_frame`."""
        numbers = (self.value, *self.interval(level, simultaneous=simultaneous))
        estimate, lower, upper = (np.ravel(one).tolist() for one in numbers)
        levels = [level if low == low else math.nan for low in lower]
        return {"estimate": estimate, "lower": lower, "upper": upper, "level": levels}

    def _repr_html_(self) -> str:
        return view(self._index() | self._columns(0.95), self.privacy)

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
        *Public.* The noise, of which `interval` is computed.
    _unit : float or ndarray
        *Public.* What the noise is multiplied by.
    _axes, _library : tuple and str
        *Public.* What the numbers are of, and whose frame `to_frame` returns.
    """

    _plan: QueryPlan = field(kw_only=True)
    _unit: Any = field(default=1.0, kw_only=True)

    def _ends(self, risk: float) -> tuple[Any, Any]:
        (query,) = self._plan.queries
        width = self._unit * half_width(self._plan, query.name, risk)
        return self.value - width, self.value + width


def framed(index: Mapping[str, Sequence[Any]], columns: Mapping[str, Any], library: str) -> Any:
    """Return a frame of columns, with labels in more columns of polars or the index of pandas."""
    if library == "polars":
        import polars

        return polars.DataFrame({**index, **columns}, strict=False)
    import pandas

    frame = pandas.DataFrame({**index, **columns})
    return frame.set_index([*index]) if index else frame


def view(columns: Mapping[str, Sequence[Any]], privacy: PrivacyGuarantee) -> str:
    """Return columns for a notebook, those without any number left out, and the guarantee."""
    texts = {name: [*map(_text, column)] for name, column in columns.items()}
    texts = {name: column for name, column in texts.items() if any(column)}
    table = html_table([*texts], zip(*texts.values(), strict=True))
    return f"{table}<p>{escape(str(privacy))}</p>"


def _text(value: Any) -> str:
    """Return the text of a cell, empty where there is no number."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def risk_of(level: float, n_intervals: int = 1) -> float:
    """Return the probability with which one of `n_intervals` may miss."""
    return (1.0 - check_real("level", level, low=0.0, high=1.0)) / n_intervals


def shown(values: Any) -> Any:
    """Return a float for a single number, and an array as it is."""
    return values if np.ndim(values) else float(values)
