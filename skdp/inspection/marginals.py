"""Plots of the columns of a private density beside what was released about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.density import DPTreeDensity, DPTreeNB, OneWayTable
from skdp.inspection._axes import axes_for, set_scale
from skdp.support.types import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MarginalsDisplay"]

_LONG = 14  # characters of the name of a category
_BARS: dict[str, Any] = {"color": "C0", "alpha": 0.4, "label": "density"}
_INTERVALS: dict[str, Any] = {
    "fmt": "none",
    "ecolor": "black",
    "elinewidth": 1.0,
    "label": "records",
}


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalsDisplay:
    """The counts of each column of a density, with intervals for the counts of the records.

    **The display reads no data**, only a released density: show it wherever you may show its
    samples. Bars are the counts of the density, which are those of as many synthetic rows as there
    are records. Lines are intervals for the counts of the records. They follow from the released
    counts of this column and the public scale of the noise. Use `from_estimator` to create a
    display.

    Parameters
    ----------
    tables : list of OneWayTable
        The results of `one_way` of a density.

    Attributes
    ----------
    axes_, figure_
        The parts of the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPTreeDensity
    >>> from skdp.inspection import MarginalsDisplay
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> density = DPTreeDensity(bounds=(-4, 4), n_bins=16).fit(X)
    >>> [table.name for table in MarginalsDisplay.from_estimator(density).tables]
    ['0', '1']
    """

    tables: Sequence[OneWayTable]

    @classmethod
    def from_estimator(
        cls,
        estimator: DPTreeDensity | DPTreeNB,
        *,
        columns: Sequence[Label] | None = None,
        level: float = 0.95,
        max_levels: int | None = 32,
        ax: ArrayLike | None = None,
    ) -> Self:
        """Plot columns of a fitted density.

        Parameters
        ----------
        estimator : DPTreeDensity or DPTreeNB
            Fitted.
        columns : sequence of labels or None, default None
            Names or positions of columns, in this order. ``None``: all.
        level : float in (0, 1), default 0.95
            Probability of each interval, over the noise.
        max_levels : int or None, default 32
            Merge bins to so many ranges of numbers, and all later categories to one.
        ax : array of matplotlib axes or None, default None
            One for each column. ``None``: a new figure.

        Returns
        -------
        MarginalsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the density has no such column.
        """
        chosen = range(estimator.n_features_in_) if columns is None else columns
        tables = [estimator.one_way(j, level=level, max_levels=max_levels) for j in chosen]
        return cls(tables=tables).plot(ax)

    def plot(self, ax: ArrayLike | None = None) -> Self:
        """Draw a panel for each column.

        Parameters
        ----------
        ax : array of matplotlib axes or None, default None
            One for each column. ``None``: a new figure.

        Returns
        -------
        MarginalsDisplay
            The display itself.
        """
        axes = axes_for(self, ax, len(self.tables), "column")
        for one, table in zip(axes, self.tables, strict=True):
            _draw(one, table)
            one.set_title(table.name, fontsize="medium")
        axes[0].legend(fontsize="small", frameon=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _draw(ax: Axes, table: OneWayTable) -> None:
    middle, half = 0.5 * (table.low + table.high), 0.5 * (table.high - table.low)
    if table.edges is None:
        places = np.arange(len(table.levels))
        ax.barh(places, table.expected, **_BARS)
        ax.errorbar(middle, places, xerr=half, **_INTERVALS)
        ax.set_yticks(places, [_short(name) for name in table.levels], fontsize="small")
        ax.invert_yaxis()
        ax.set_xlabel("count", fontsize="small")
        return
    n = len(table.edges) - 1
    ax.stairs(table.expected[:n], table.edges, fill=True, **_BARS)
    places = 0.5 * (table.edges[1:] + table.edges[:-1])
    ax.errorbar(places, middle[:n], yerr=half[:n], **_INTERVALS)
    set_scale(ax, "x", table.unit, table.edges)
    if n < len(table.levels):
        ends = f"{table.low[-1]:.0f} to {table.high[-1]:.0f}"
        ax.set_xlabel(f"missing: {table.expected[-1]:.0f} ({ends})", fontsize="small")
    ax.set_ylabel("count", fontsize="small")


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"
