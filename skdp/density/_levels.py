"""Columns of a table as levels: bins of numbers, categories, and missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.data.columns import column_name
from skdp.features.table import TableFacts
from skdp.support.types import MatrixLike

__all__ = ["Levels", "as_matrix"]


@dataclass(frozen=True, eq=False)
class Levels:
    """*Public* levels of each column, the same for every table.

    A number is in one of equal bins between its bounds, on its scale. With ``missing="indicator"``
    each column has one more level, for missing values and for categories that are not listed.
    Otherwise both raise ValueError.

    Parameters
    ----------
    facts : TableFacts
    n_bins : dict from int to int
        The number of bins of each column of numbers.
    """

    facts: TableFacts
    n_bins: Mapping[int, int]

    @classmethod
    def of(cls, facts: TableFacts, n_bins: int) -> Levels:
        """Return levels with the same number of bins for all numbers."""
        return cls(facts, dict.fromkeys(facts.numbers.tolist(), n_bins))

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
        return self.facts.categories[j].size if j in self.facts.categories else self.n_bins[j]

    @cached_property
    def edges(self) -> dict[int, np.ndarray]:
        """The edges of the bins of each number, in its units."""
        return {
            j: self.facts.values_at(j, np.linspace(0.0, 1.0, n_bins + 1))
            for j, n_bins in self.n_bins.items()
        }

    def merged(self, least: Mapping[int, float]) -> Levels:
        """Return levels in which bins are merged by two while at least so many are left."""
        return Levels(self.facts, {j: _halved(n, least[j]) for j, n in self.n_bins.items()})

    def merge(self, merged: Levels, j: int) -> np.ndarray:
        """Return the merged level of each level of a column."""
        return np.arange(self.sizes[j]) // (self.n_known(j) // merged.n_known(j))

    def codes(self, X: MatrixLike) -> np.ndarray:
        """Return the level of each value, of shape (n_samples, n_columns)."""
        coded = self.facts.coded(X, self.facts.names)
        codes = np.empty(coded.shape, np.int32)
        for (j, n_bins), place in zip(self.n_bins.items(), self.facts.place(coded), strict=True):
            unit = np.floor(place * n_bins)
            codes[:, j] = np.where(np.isnan(unit), n_bins, np.minimum(unit, n_bins - 1))
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
        """Return values of each column: numbers are uniform in their bins."""
        return [self._values(j, codes[:, j], rng) for j in range(self.n_columns)]

    def _values(self, j: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        is_missing = codes == self.n_known(j)
        known = np.minimum(codes, self.n_known(j) - 1)
        if j in self.facts.categories:
            return _with_missing(self.facts.categories[j][known], is_missing)
        low, high = self.edges[j][known], self.edges[j][known + 1]
        return np.where(is_missing, np.nan, low + rng.random(len(codes)) * (high - low))


def _halved(n_bins: int, least: float) -> int:
    while n_bins % 2 == 0 and n_bins // 2 >= least:
        n_bins //= 2
    return n_bins


def _with_missing(values: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
    """Return values of which some are None."""
    if is_missing.any():
        values = values.astype(object)
        values[is_missing] = None
    return values


def as_matrix(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return columns as one array, of objects unless all hold numbers."""
    plain = all(column.dtype.kind in "biuf" for column in columns)
    return np.stack([column if plain else column.astype(object) for column in columns], axis=1)
