"""What every design offers: the linear operator of a fit, whatever its rows are stored as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Design"]


class Design(ABC):
    """The linear operator θ ↦ Aθ of n rows; everything that reads the data reads it through here.

    A solver knows a public bound R of the rows' norms.
    """

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of rows; public under ``replace_one`` only."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of A, the intercept's included."""

    @abstractmethod
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """Return the scores Aθ: one read of X.

        Parameters
        ----------
        theta : ndarray of shape (n_features,) or (n_features, k)
            Coefficients, the intercept's last.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, k)
            *Private.*
        """

    @abstractmethod
    def rmatvec(self, residual: np.ndarray) -> np.ndarray:
        """Return Aᵀr, a weighted sum of rows: one read of X.

        Parameters
        ----------
        residual : ndarray of shape (n_samples,) or (n_samples, k)
            *Private.* r.

        Returns
        -------
        total : ndarray of shape (n_features,) or (n_features, k)
            *Private.*
        """

    @abstractmethod
    def reach(self, delta: np.ndarray) -> float:
        """Return a bound of |δᵀa|/|a| over the rows a of A, for δ of the shape of θ.

        It is the spectral norm of δ or, if less, that of as many entries of δ as a sparse row has.

        Parameters
        ----------
        delta : ndarray of shape (n_features,) or (n_features, k)
            A change of coefficients.

        Returns
        -------
        reach : float
            *Private* where X is sparse.
        """

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return Aᵀdiag(w)A; copies A, so `take` rows first.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            *Private.* w.

        Returns
        -------
        gram : ndarray of shape (n_features, n_features)
            *Private.*
        """

    @abstractmethod
    def cross_product(self) -> np.ndarray:
        """Return AᵀA: one read of X, of which a few megabytes at a time are copied.

        Returns
        -------
        product : ndarray of shape (n_features, n_features)
            *Private.*
        """

    @abstractmethod
    def row_norms(self) -> np.ndarray:
        """Return upper bounds of the norms of the rows of A, rounding included.

        Returns
        -------
        norms : ndarray of shape (n_samples,)
            *Private.*
        """

    @abstractmethod
    def gram_diagonal(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of `gram`, for designs of many columns.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            *Private.* w.

        Returns
        -------
        diagonal : ndarray of shape (n_features,)
            *Private.*
        """

    @abstractmethod
    def take(self, rows: Any) -> Design:
        """Return the design of some rows.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Numbers of rows, which are copied, or a slice, which is a view where X is dense.

        Returns
        -------
        design : Design
            *Private.*
        """

    @abstractmethod
    def in_memory(self) -> Any:
        """Return the same rows as a `ClippedDesign` of a matrix, for what reads its columns.

        Returns
        -------
        design : ClippedDesign
            *Private.* As large as n × d numbers, if X is not the matrix itself.
        """

    @abstractmethod
    def blocks(self, most_rows: int | None = None) -> Iterator[tuple[slice, Design]]:
        """Yield consecutive blocks of rows that cover the data once.

        Parameters
        ----------
        most_rows : int or None
            *Public.* Rows of a block. None: as many as a cache holds, and all where X is sparse.

        Yields
        ------
        rows : slice
            Which rows they are.
        block : Design
            A view of them, or a copy where X is sparse.
        """
