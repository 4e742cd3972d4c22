"""One noisy histogram of test rows by true label and prediction."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np

from skdp.data.exact_sums import counted
from skdp.data.records import Records
from skdp.metrics._estimate import interval_of
from skdp.metrics._evaluation import Question, ResultT
from skdp.metrics._view import Viewed
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.workloads import Query

_CELLS = "cells"


class Counts(Question[ResultT]):
    """The number of rows in each cell; the true labels of the pairs are 0..K−1."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""

    @property
    def n_histograms(self) -> int:
        """The number of histograms; a row lies in one cell of each."""
        return 1

    @abstractmethod
    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        """Yield the cell of each row, for each histogram."""

    def query(self, neighboring: Neighboring) -> Query:
        return Query(
            _CELLS,
            size=math.prod(self.shape),
            linf_sensitivity=1.0,
            l0_sensitivity=self.n_histograms * neighboring.n_changed,
            integer=True,
        )

    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        return pairs.counts(partial(_counted, size))[_CELLS]


def _counted(size: int, pairs: Records[Counts[object]]) -> dict[str, np.ndarray]:
    counts = (counted(places, size, pairs.steps) for places in pairs.facts.places(pairs))
    return {_CELLS: np.asarray(sum(counts))}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoisyReport(Viewed):
    """A report from one noisy histogram of test rows."""

    counts: np.ndarray
    classes: np.ndarray
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

    @property
    def total(self) -> float:
        """Number of rows: the public number, or the sum of the counts."""
        return self._total(self.counts)

    def _total(self, counts: np.ndarray) -> float:
        return float(counts.sum()) if self.n_samples is None else float(self.n_samples)

    def _interval(
        self,
        metric: Callable[[np.ndarray], float],
        level: float,
        sampling: bool,
        hidden: Callable[[np.ndarray], float] = lambda slopes: 0.0,
    ) -> tuple[float, float]:
        """Return an interval for a function of the counts.

        `hidden` is the variance that remains without sampling if the counts are exact.
        """
        return interval_of(
            lambda sums: metric(sums.reshape(self.counts.shape)),
            self.counts.ravel(),
            self._variance,
            self._sampling_variance if sampling else hidden,
            level,
            (0.0, 1.0),
        )

    def _sampling_variance(self, slopes: np.ndarray) -> float:
        """Return the variance of slopes times counts over samples of equal size."""
        counts = np.maximum(self.counts, 0.0).ravel()
        mean = float(slopes @ counts)
        return max(float(slopes**2 @ counts) - mean * mean / max(counts.sum(), 1.0), 0.0)
