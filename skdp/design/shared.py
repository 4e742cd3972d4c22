"""Rows of which several are one person's, seen by a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._persons import Persons
from skdp.design.base import Design, MemoryDesign, Pointwise

__all__ = ["SharedDesign"]

_VALUES_AT_ONCE = 1 << 18  # of rows that are copied for a weighted matrix
_FEWEST_ROWS = 256


@dataclass(frozen=True, eq=False, repr=False)
class SharedDesign(Design):
    """The rows of another design, where a record is a person: all rows of theirs, with weights.

    The targets carry the weights, and the weights of a person add up to `largest` at most. So what
    a person adds to a sum of weighted rows is `largest` times a mean of what single rows would add:
    it lies in the convex hull of that and 0, where no norm is larger and no two points are farther
    apart. *Rows per person* in the documentation.

    Parameters
    ----------
    inner : Design
        *Private.* The rows, in memory, with targets that carry weights.
    persons : Persons
        *Private.* Whose they are.
    largest : float
        *Public.* Bound of the sum of a person's weights.
    """

    inner: Design
    persons: Persons
    largest: float = 1.0

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def n_records(self) -> int:
        return self.persons.n_persons

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    @property
    def targets(self) -> Any:
        return self.inner.targets

    def rows_of(self, records: np.ndarray) -> np.ndarray:
        return self.persons.rows_of(records)

    def parts(
        self, function: Callable[[MemoryDesign], Any], most_rows: int | None = None
    ) -> Iterator[Any]:
        yield from self.inner.parts(function, most_rows)

    def total_over(self, rows: np.ndarray, function: Callable[[MemoryDesign], Any]) -> Any:
        return self.inner.total_over(rows, function)

    def scored(self, derivative: Pointwise, theta: np.ndarray) -> tuple[Design, np.ndarray]:
        return self.inner.scored(derivative, theta)

    def cross_product(self) -> np.ndarray:
        """Return Σ (w/`largest`)·aaᵀ: a person adds what one row might, or less.

        Returns
        -------
        product : ndarray of shape (n_features, n_features)
            *Private.*
        """
        step = max(_FEWEST_ROWS, _VALUES_AT_ONCE // self.n_features)
        return np.asarray(self.total(_SharedGram(self.largest), step))

    def reach(self, delta: np.ndarray) -> float:
        return self.inner.reach(delta)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        return self.inner.scores(theta)

    def take(self, rows: Any) -> MemoryDesign:
        return self.inner.take(rows)

    def in_memory(self) -> Any:
        return self.inner.in_memory()


@dataclass(frozen=True, eq=False, repr=False)
class _SharedGram:
    """Σ (w/largest)·aaᵀ of a block."""

    largest: float

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        return block.gram(block.targets["weight"] / self.largest)
