"""The base class of public feature maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import DTypeLike

from skdp.features.table import TableFacts
from skdp.support.types import MatrixLike

__all__ = ["FeatureMap"]

_BLOCK_BYTES = 1 << 19  # of features that are made at a time: they should stay in the cache
_SINGLE_BLOCK_BYTES = 1 << 21  # with less work for each number, calls matter more


class FeatureMap(ABC):
    """A map Φ of a row to features that depends on this row and public numbers only.

    It maps neighboring tables to neighboring features, so a release that is private for the
    features is as private for the table. This holds to the last bit: rounding errors of a row do
    not depend on the rows around it, as those of a matrix product may. `facts` describe the columns
    of the table.
    """

    facts: TableFacts

    def coded(self, X: MatrixLike, names: Sequence[Hashable] = ()) -> np.ndarray:
        """Return the table as numbers, row by row; see `TableFacts.coded`."""
        return self.facts.coded(X, names)

    @property
    @abstractmethod
    def n_features_out(self) -> int:
        """*Public.* Number of features."""

    @property
    def n_entries(self) -> int:
        """*Public.* Number of features of a row that may differ from 0."""
        return self.n_features_out

    @property
    def is_sparse(self) -> bool:
        """Whether features are CSR matrices."""
        return False

    @property
    def cost(self) -> int:
        """Memory up to which features are kept instead of being recomputed in each pass."""
        return 1

    @property
    def is_single(self) -> bool:
        """Whether all features are numbers of single precision and can be kept as such."""
        return False

    def prepare(self, X: np.ndarray) -> MatrixLike:
        """Return the rows of a coded table in the form that a design keeps and `expand` takes."""
        return X

    @abstractmethod
    def expand(self, rows: MatrixLike) -> MatrixLike:
        """Return the features of some prepared rows, in single precision if the map is."""

    @abstractmethod
    def names(self, columns: Sequence[Hashable]) -> list[str]:
        """Return the names of the features, from the names of the columns."""

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the features, in the order of the coefficients of a model."""
        columns = self.facts.names or [f"x{j}" for j in range(self.facts.n_columns)]
        return np.array(self.names(columns), dtype=object)

    def for_fits(self) -> FeatureMap:
        """Return this map or a faster approximation for private fits.

        The choice depends on public numbers only, not on the number of rows.
        """
        return self

    @property
    def rows_at_once(self) -> int:
        """Number of rows whose features a cache holds."""
        size = _SINGLE_BLOCK_BYTES if self.is_single else _BLOCK_BYTES
        return max(64, size // (8 * self.n_entries))

    def pieces(self, rows: MatrixLike) -> Iterator[tuple[slice, MatrixLike]]:
        """Yield the features of consecutive prepared rows, as many at a time as a cache holds."""
        for start in range(0, len(rows), self.rows_at_once):
            where = slice(start, start + self.rows_at_once)
            yield where, self.expand(rows[where])

    def whole(self, rows: MatrixLike, dtype: DTypeLike = np.float64) -> MatrixLike:
        """Return the features of all prepared rows as one matrix."""
        if self.is_sparse:
            return self.expand(rows).astype(dtype, copy=False)
        features = np.empty((len(rows), self.n_features_out), dtype)
        for where, block in self.pieces(rows):
            features[where] = block
        return features
