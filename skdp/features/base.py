"""The base class of public feature maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skdp.features.table import TableFacts

__all__ = ["FeatureMap"]

_BLOCK_BYTES = 1 << 19  # of features that are made at a time: they should stay in the cache


class FeatureMap(ABC):
    """A map Φ of a row to features that depends on this row and public numbers only.

    It maps neighboring tables to neighboring features, so a release that is private for the
    features is as private for the table. `facts` describe the columns of the table.
    """

    facts: TableFacts

    def coded(self, X: Any, names: Sequence[Any] = ()) -> np.ndarray:
        """Return a table as `prepare` takes it; the values of a row follow from this row alone.

        Parameters
        ----------
        X : ndarray or frame of shape (n_samples, n_columns)
            *Private.*
        names : sequence
            *Public.* Names of the columns.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            *Private.* See `TableFacts.coded`.
        """
        return self.facts.coded(X, names)

    @property
    @abstractmethod
    def n_features_out(self) -> int:
        """Number of features; public."""

    @property
    def n_entries(self) -> int:
        """Number of features of a row that may differ from 0; public."""
        return self.n_features_out

    @property
    def is_sparse(self) -> bool:
        """Whether features are CSR matrices."""
        return False

    @property
    def cost(self) -> int:
        """How much memory it is worth to keep features rather than to make them in each pass."""
        return 1

    def prepare(self, X: np.ndarray) -> Any:
        """Return the rows of a coded table in the form that a design keeps and `expand` takes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_columns)
            *Private.* As `coded` returns it.

        Returns
        -------
        ndarray of shape (n_samples, ...), or another object of a length that is indexed by rows
            *Private.* X itself, or something that is expanded faster.
        """
        return X

    @abstractmethod
    def expand(self, rows: Any) -> Any:
        """Return the features of some rows.

        Parameters
        ----------
        rows : object
            *Private.* Rows of what `prepare` returned.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            *Private.* Of double precision.
        """

    @abstractmethod
    def names(self, columns: Sequence[Any]) -> list[str]:
        """Return the names of the features.

        Parameters
        ----------
        columns : sequence
            *Public.* Names of the columns of the table.

        Returns
        -------
        list of str
            One for each feature.
        """

    def for_fits(self) -> FeatureMap:
        """Return the map for a private fit: this one, or a faster approximation of it.

        The choice depends on public numbers only, not on the number of rows.
        """
        return self

    @property
    def rows_at_once(self) -> int:
        """Number of rows whose features a cache holds."""
        return max(64, _BLOCK_BYTES // (8 * self.n_entries))

    def blocks(self, rows: Any) -> Iterator[tuple[slice, Any]]:
        """Yield the features of consecutive rows in blocks that fit into a cache.

        Parameters
        ----------
        rows : object
            *Private.* What `prepare` returned.

        Yields
        ------
        where : slice
            Which rows they are.
        features : ndarray or CSR matrix
            *Private.*
        """
        for start in range(0, len(rows), self.rows_at_once):
            where = slice(start, start + self.rows_at_once)
            yield where, self.expand(rows[where])

    def whole(self, rows: Any, dtype: Any = np.float64) -> Any:
        """Return the features of all rows as one matrix.

        Parameters
        ----------
        rows : object
            *Private.* What `prepare` returned.
        dtype : type
            Of the features.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            *Private.*
        """
        if self.is_sparse:
            return self.expand(rows).astype(dtype, copy=False)
        features = np.empty((len(rows), self.n_features_out), dtype)
        for where, block in self.blocks(rows):
            features[where] = block
        return features
