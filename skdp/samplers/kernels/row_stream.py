"""Numbers of rows, taken at random one after the other."""

from __future__ import annotations

import numpy as np

from skdp.support.random import child_generator

__all__ = ["RowStream"]


class RowStream:
    """Independent uniform numbers of rows: one sequence, which is taken piece by piece.

    They come from a child of the noise's generator and depend on nothing else. So the next ones may
    be looked at ahead of time, to fetch their rows, and what is taken stays the same.

    Parameters
    ----------
    n_rows : int
        All numbers are below it.
    rng : numpy Generator
        *Secret.* Keys the child.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._n_rows, self._rng = n_rows, child_generator(rng)
        self._waiting = np.empty(0, dtype=np.int64)
        self.n_taken = 0
        """How many numbers have been taken."""

    def ahead(self, count: int) -> np.ndarray:
        """Return the numbers that are taken next, and leave them there.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        rows : ndarray of shape (count,)
            Numbers in 0..`n_rows` − 1.
        """
        missing = count - self._waiting.size
        if missing > 0:
            fresh = self._rng.integers(self._n_rows, size=missing)
            self._waiting = np.concatenate([self._waiting, fresh])
        return self._waiting[:count]

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers, each of which is taken once.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        rows : ndarray of shape (count,)
            Numbers in 0..`n_rows` − 1.
        """
        rows = self.ahead(count)
        self._waiting = self._waiting[count:]
        self.n_taken += count
        return rows
