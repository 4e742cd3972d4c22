"""Counts of test rows by true label and by what was predicted: one noisy histogram."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from skdp.data.exact_sums import counted
from skdp.data.records import Records
from skdp.metrics._estimate import interval_of
from skdp.metrics._evaluation import Question
from skdp.metrics._view import Viewed
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.workloads import Query

__all__ = ["Counts", "NoisyReport"]

_CELLS = "cells"


class Counts(Question):
    """How many rows lie in each cell; the true labels of the pairs are 0..K−1."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""

    @property
    def n_histograms(self) -> int:
        """In how many cells each row lies."""
        return 1

    @abstractmethod
    def places(self, pairs: Records[Any]) -> Iterator[np.ndarray]:
        """Yield the number of each row's cell, in each histogram."""

    def query(self, neighboring: Neighboring) -> Query:
        return Query(
            _CELLS,
            size=math.prod(self.shape),
            linf_sensitivity=1.0,
            l0_sensitivity=self.n_histograms * neighboring.n_changed,
            integer=True,
        )

    def answer(self, pairs: Records[Any], size: int) -> np.ndarray:
        return pairs.counts(partial(_counted, size))[_CELLS]


def _counted(size: int, pairs: Records[Counts]) -> dict[str, np.ndarray]:
    counts = (counted(places, size, pairs.steps) for places in pairs.facts.places(pairs))
    return {_CELLS: np.asarray(sum(counts))}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoisyReport(Viewed):
    """What one noisy histogram of test rows says.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_cells)
        *Released.* Rows of each true label in each cell; unbiased, so some may be negative.
    classes : ndarray of shape (n_classes,)
        *Public.* The labels.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.* Of everything in the report together.
    _variance : float
        *Public.* Of the noise of each number.
    """

    counts: np.ndarray
    classes: np.ndarray
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

    @property
    def total(self) -> float:
        """How many rows there are: the public number, or the sum of the counts."""
        return self._total(self.counts)

    def _total(self, counts: np.ndarray) -> float:
        return float(counts.sum()) if self.n_samples is None else float(self.n_samples)

    def _interval(
        self,
        metric: Callable[[np.ndarray], float],
        level: float,
        sampling: bool,
        bounds: tuple[float, float] = (0.0, 1.0),
        hidden: Callable[[np.ndarray], float] = lambda slopes: 0.0,
    ) -> tuple[float, float]:
        """Return an interval for a function of the counts.

        `hidden` is the variance that remains without sampling if the counts are exact.
        """

        def variance(slopes: np.ndarray) -> float:
            noise = self._variance * float(slopes @ slopes)
            return noise + (self._sampling_variance(slopes) if sampling else hidden(slopes))

        shape = self.counts.shape
        return interval_of(
            lambda sums: metric(sums.reshape(shape)), self.counts.ravel(), variance, level, bounds
        )

    def _sampling_variance(self, slopes: np.ndarray) -> float:
        """Return the variance of slopes times counts over samples of equally many rows."""
        counts = np.maximum(self.counts, 0.0).ravel()
        mean = float(slopes @ counts)
        return max(float(slopes**2 @ counts) - mean * mean / max(counts.sum(), 1.0), 0.0)
