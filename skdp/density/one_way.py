"""A column of a density beside its released counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from skdp.data.columns import column_name
from skdp.density._levels import Levels
from skdp.support.html import html_table

__all__ = ["OneWayTable", "one_way_table"]


@dataclass(frozen=True, eq=False, repr=False)
class OneWayTable:
    """The counts of one column: those of the density, and intervals for those of the records.

    Intervals follow from the released counts of this column and the public scale of their noise.
    An interval contains the count of the records with the probability of `one_way`, over the noise.
    A density outside of it differs from the records by more than noise would explain.

    Parameters
    ----------
    name : str
        *Public.* The column.
    levels : list of str
        *Public.* Its categories or ranges, and "missing" if values may be missing.
    edges : ndarray or None
        *Public.* The ends of the ranges of a number, None for categories.
    unit : float
        *Public.* The unit of a logarithmic scale, infinite for other columns.
    expected : ndarray of shape (n_levels,)
        *Released.* Counts of the density: of synthetic rows, if there are as many as records.
    low, high : ndarray of shape (n_levels,)
        *Released.* Ends of the intervals for the counts of the records.
    """

    name: str
    levels: list[str]
    edges: np.ndarray | None
    unit: float
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def _repr_html_(self) -> str:
        numbers = zip(self.levels, self.expected, self.low, self.high, strict=True)
        rows = [(level, f"{x:.0f}", f"{low:.0f} to {high:.0f}") for level, x, low, high in numbers]
        return html_table((self.name, "density", "records"), rows)


def one_way_table(
    levels: Levels,
    j: int,
    shares: np.ndarray,
    n_records: float,
    released: tuple[np.ndarray, float],
    *,
    confidence: float,
    max_levels: int | None,
) -> OneWayTable:
    """Return the table of column j, from shares, and counts with the deviation of noise."""
    names, parts = zip(*_parts(levels, j, max_levels), strict=True)
    counts = np.array([released[0][part].sum() for part in parts])
    sizes = np.array([part.size for part in parts])
    width = float(ndtri(0.5 + 0.5 * confidence)) * released[1] * np.sqrt(sizes)
    edges = levels.edges.get(j)
    if edges is not None:
        firsts = [part[0] for part in parts if part[0] < levels.n_known(j)]
        edges = edges[[*firsts, levels.n_known(j)]]
    return OneWayTable(
        name=str(column_name(levels.facts.names, j)),
        levels=[*names],
        edges=edges,
        unit=float("inf") if edges is None else levels.facts.unit(j),
        expected=np.array([n_records * shares[part].sum() for part in parts]),
        low=np.maximum(counts - width, 0.0),  # no count is negative
        high=np.maximum(counts + width, 0.0),
    )


def _parts(levels: Levels, j: int, most: int | None) -> Iterator[tuple[str, np.ndarray]]:
    """Return names of at most so many ranges or categories, and the levels in them."""
    n = levels.n_known(j)
    most = n if most is None else min(most, n)
    if (edges := levels.edges.get(j)) is not None:
        parts = np.array_split(np.arange(n), most)
        for low, high in pairwise([*(part[0] for part in parts), n]):
            yield f"{edges[low]:.4g} to {edges[high]:.4g}", np.arange(low, high)
    else:
        n_named = n if most == n else most - 1
        for level in range(n_named):
            yield str(levels.facts.categories[j][level]), np.array([level])
        if n_named < n:
            yield f"{n - n_named} others", np.arange(n_named, n)
    if levels.has_missing:
        yield "missing", np.array([n])
