"""Columns of a table as levels: bins of numbers, categories, and missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skdp.data.columns import column_name
from skdp.data.schema import Encoding
from skdp.features.table import TableFacts
from skdp.support.types import MatrixLike

# No guarantee rests on it. As many levels as this are never merged, as categories are not.
_FEW_NUMBERS = 32


@dataclass(frozen=True, eq=False)
class Levels:
    """*Public* levels of each column, the same for every table.

    A number is in one of equal bins between its bounds, on its scale. Bins of whole numbers begin
    at whole numbers, and each contains at least one. With ``missing="indicator"`` each column has
    one more level, for missing values and for categories that are not listed. Otherwise both raise
    ValueError.

    Parameters
    ----------
    facts : TableFacts
    edges : dict from int to ndarray
        The edges of the bins of each column of numbers, in its units.
    encoding : Encoding or None
        How a schema made these columns of those of the user's table.
    """

    facts: TableFacts
    edges: Mapping[int, np.ndarray]
    encoding: Encoding | None = None

    @classmethod
    def of(cls, facts: TableFacts, n_bins: int) -> Levels:
        """Return levels of encoded rows; as many bins for all numbers, unless fewer are enough."""
        places = np.linspace(0.0, 1.0, n_bins + 1)
        edges = {j: facts.values_at(j, places) for j in facts.numbers.tolist()}
        whole = cls(facts, edges, facts.encoding).whole
        edges |= {j: _whole(edges[j]) for j in whole}
        return cls(replace(facts, encoding=None), edges, facts.encoding)

    @cached_property
    def whole(self) -> list[int]:
        """The columns of whole numbers."""
        return [] if self.encoding is None else self.encoding.whole

    @property
    def complete(self) -> list[int]:
        """The columns whose last level is empty, because a schema says that no value is missing."""
        return self.encoding.complete if self.encoding and self.has_missing else []

    @property
    def has_missing(self) -> bool:
        return self.facts.has_missing

    @property
    def n_columns(self) -> int:
        return self.facts.n_columns

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(self.n_known(j) + self.has_missing for j in range(self.n_columns))

    def n_known(self, j: int) -> int:
        """Return the number of levels of a column without the one for missing values."""
        return self.edges[j].size - 1 if j in self.edges else self.facts.categories[j].size

    def merged(self, least: Mapping[int, float]) -> Levels:
        """Return levels in which bins are merged by two while at least so many are left."""
        return replace(self, edges={j: self._merged(j, least[j]) for j in self.edges})

    def _merged(self, j: int, least: float) -> np.ndarray:
        edges, is_whole = self.edges[j], j in self.whole
        if is_whole and edges[-1] - edges[0] <= _FEW_NUMBERS:
            return edges
        while (edges.size % 2 or is_whole) and edges.size // 2 >= least:
            edges = np.unique([*edges[::2], edges[-1]])
        return edges

    def merge(self, merged: Levels, j: int) -> np.ndarray:
        """Return the merged level of each level of a column."""
        if j not in self.edges:
            return np.arange(self.sizes[j])
        bins = np.searchsorted(merged.edges[j], self.edges[j][:-1], side="right") - 1
        return np.append(bins, [merged.n_known(j)] * self.has_missing).astype(int)

    def codes(self, X: MatrixLike) -> np.ndarray:
        """Return the level of each value, of shape (n_samples, n_columns)."""
        coded = self.facts.coded(X, self.facts.names)
        codes = np.empty(coded.shape, np.int32)
        for j, place in zip(self.edges, self.facts.place(coded), strict=True):
            n_bins = self.n_known(j)
            if j in self.whole:
                bins = np.searchsorted(self.edges[j], coded[:, j], side="right") - 1
            else:
                bins = np.floor(place * n_bins)
            codes[:, j] = np.where(np.isnan(place), n_bins, np.clip(bins, 0, n_bins - 1))
        for j in self.facts.categories:
            codes[:, j] = np.where(coded[:, j] >= 0.0, coded[:, j], self.n_known(j))
        if not self.has_missing:
            self._refuse_unknown(codes)
        return codes

    def _refuse_unknown(self, codes: np.ndarray) -> None:
        for j in self.facts.categories:
            if (codes[:, j] == self.n_known(j)).any():
                raise ValueError(
                    f"column {column_name(self.facts.names, j)!r} has values that are not in its "
                    "categories. Use missing='indicator' to count them as missing."
                )

    def log_widths(self, codes: np.ndarray) -> np.ndarray:
        """Return the logarithm of the volume of each row's bins; 0 without numbers."""
        total = np.zeros(len(codes))
        for j, edges in self.edges.items():
            widths = np.append(np.log(np.diff(edges)), [0.0] * self.has_missing)
            total += widths[codes[:, j]]
        return total

    def values(self, codes: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Return columns of a table with these levels: numbers are uniform in their bins."""
        found = [self._values(j, codes[:, j], rng) for j in range(self.n_columns)]
        return found if self.encoding is None else self.encoding.decoded(found, self.edges, rng)

    def _values(self, j: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        is_missing = codes == self.n_known(j)
        known = np.minimum(codes, self.n_known(j) - 1)
        if j in self.facts.categories:
            return _with_missing(self.facts.categories[j][known], is_missing)
        low, high = self.edges[j][known], self.edges[j][known + 1]
        numbers = low + rng.random(len(codes)) * (high - low)
        return np.where(is_missing, np.nan, np.floor(numbers) if j in self.whole else numbers)


def _whole(edges: np.ndarray) -> np.ndarray:
    """Return edges at whole numbers, of one bin for each number where bins would be narrower."""
    low, high = np.ceil(edges[0]), np.floor(edges[-1]) + 1.0
    if high - low < edges.size:
        return np.arange(low, high + 1.0)
    return np.unique(np.clip(np.append(np.ceil(edges[:-1]), high), low, high))


def _with_missing(values: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
    """Return values of which some are None."""
    if is_missing.any():
        values = values.astype(object)
        values[is_missing] = None
    return values


def as_matrix(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return columns as one array, of objects unless all hold numbers."""
    plain = len({column.dtype.kind == "b" for column in columns}) == 1
    plain &= all(column.dtype.kind in "biuf" for column in columns)
    return np.stack([column if plain else column.astype(object) for column in columns], axis=1)
