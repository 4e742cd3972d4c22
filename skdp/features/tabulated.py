"""Features looked up in tables, for fits that pass over many rows many times."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from skdp.features.base import FeatureMap
from skdp.features.table import TableFacts
from skdp.support.types import MatrixLike

__all__ = ["TabulatedMap"]

_LEVELS = 4096  # of u: the error of a feature is below 2e-3 for eight Fourier features
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class TabulatedMap(FeatureMap):
    """A map whose features read one column each, with u rounded to 4096 levels.

    A row becomes one small integer per column, an index into a table of features. The rounding is
    part of the public map, so norms and guarantees are those of the rounded features. It must not
    depend on the number of rows, which may be private.

    Parameters
    ----------
    facts : TableFacts
        *Public.* The columns.
    feature_map : FeatureMap
        *Public.* The map without rounding.
    spans : list of (int, slice)
        *Public.* The column that each table reads, and the place of its features.
    alike : list of int
        *Public.* For each table the first one that is equal.
    """

    facts: TableFacts
    feature_map: FeatureMap
    spans: Sequence[tuple[int, slice]]
    alike: Sequence[int]

    @property
    def n_features_out(self) -> int:
        return self.feature_map.n_features_out

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return self.feature_map.names(columns)

    @cached_property
    def tables(self) -> list[MatrixLike]:
        """Features of every integer, (n_levels, size), for each span; CSR for categories."""
        found = {k: self._table(*self.spans[k]) for k in {*self.alike}}
        return [found[k] for k in self.alike]

    def _table(self, j: int, span: slice) -> MatrixLike:
        rows = np.zeros((1, self.facts.n_columns))
        if j in self.facts.categories:
            one = float(self.feature_map.expand(rows)[0, span.start])
            size = span.stop - span.start
            k, shape = np.arange(size), (size + 1, size)  # the last is unknown
            return sparse.csr_array((np.full(size, one), (k, k)), shape=shape)
        levels = self.facts.values_at(j, np.linspace(0.0, 1.0, _LEVELS))
        rows = np.zeros((_LEVELS + self.facts.has_missing, self.facts.n_columns))
        rows[:, j] = np.append(levels, [np.nan] * self.facts.has_missing)
        return np.ascontiguousarray(self.feature_map.expand(rows)[:, span])

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared lengths of the features of prepared rows."""
        found = np.zeros(len(rows))
        for k, table in enumerate(self.tables):
            cells = table.multiply(table) if sparse.issparse(table) else table * table
            found += np.asarray(cells.sum(axis=1)).ravel().take(rows[:, k])
        return found

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the place of each row in each table; the last places are for NaN and unknown."""
        sizes = [table.shape[0] for table in self.tables]
        dtype = np.uint16 if max(sizes, default=0) < 2**16 else np.int64
        places = np.empty((len(self.spans), len(X)), dtype)
        for start in range(0, len(X), _ROWS):
            rows = X[start : start + _ROWS]
            places[:, start : start + _ROWS] = self._places(rows)
        return places.T

    def _places(self, rows: np.ndarray) -> np.ndarray:
        numbers = self.facts.unit_interval(rows) * (_LEVELS - 1.0)
        found = np.empty((len(self.spans), len(rows)))
        found[: len(numbers)] = np.where(np.isnan(numbers), _LEVELS, np.rint(numbers))
        for k, j in enumerate(self.facts.categories, start=len(numbers)):
            size = self.facts.categories[j].size
            code = np.where(np.isnan(rows[:, j]), size, rows[:, j])
            found[k] = np.where(code < 0, size + self.facts.has_missing, code)
        return found

    def expand(self, rows: np.ndarray) -> np.ndarray:
        features = np.zeros((len(rows), self.n_features_out))
        for k, (j, span) in enumerate(self.spans):
            if j in self.facts.categories:
                known = np.flatnonzero(rows[:, k] < span.stop - span.start)
                features[known, span.start + rows[known, k].astype(np.intp)] = self.tables[k].data[
                    0
                ]
            else:
                features[:, span] = self.tables[k].take(rows[:, k], axis=0)
        return features
