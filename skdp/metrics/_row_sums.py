"""Noisy sums of numbers over test rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Self, Unpack

import numpy as np

from skdp.data.exact_sums import sums_of_means
from skdp.data.records import Records
from skdp.metrics._estimate import interval_of, ratio
from skdp.metrics._evaluation import Known, Question, ResultT
from skdp.metrics._score import Score
from skdp.privacy import Neighboring
from skdp.workloads import Query
from skdp.workloads.plan import ROUNDED_ONCE

_AT_ONCE = 2**16  # rows
_SUMS = "sums"


class RowSums(Question[ResultT]):
    """Sums of numbers over rows; a person counts by the mean of the person's rows."""

    @abstractmethod
    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        """Return the numbers of some rows; the last are used if the number of rows is private."""

    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        return sums_of_means({_SUMS: size}, pairs, partial(_numbers, size))[_SUMS]


def _numbers(size: int, pairs: Records[RowSums[object]]) -> Iterator[dict[str, np.ndarray]]:
    for start in range(0, pairs.n_rows, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        columns = pairs.facts.numbers(pairs.y[rows], pairs.X[rows])
        yield {_SUMS: np.stack(columns[:size], axis=1)}


def sums_query(size: int, *, linf: float, l1: float, l2: float) -> Query:
    """Return a query for sums, all of which one record may change."""
    return Query(
        _SUMS,
        size=size,
        linf_sensitivity=linf * ROUNDED_ONCE,
        l0_sensitivity=size,
        l1_sensitivity=l1 * ROUNDED_ONCE,
        l2_sensitivity=l2 * ROUNDED_ONCE,
    )


class RowMean(RowSums[Score]):
    """The mean over rows of a number x in [0, 1], in units of `unit`.

    If the number of rows is private, the sum of 1 − x is released beside that of x: a row adds
    (x, 1 − x), of length 1 at most in l1 and in l2, and both together are the number of rows.
    """

    integer: ClassVar[bool] = False

    @property
    def unit(self) -> float:
        """The value of x = 1."""
        return 1.0

    @abstractmethod
    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Return x of some rows."""

    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        x = self.losses(truth, guess).astype(float)
        return [x, 1.0 - x]

    def query(self, neighboring: Neighboring) -> Query:
        size = 1 if neighboring.count_is_public else 2
        if self.integer:  # one of the two numbers of a row is 1
            return Query(_SUMS, size=size, linf_sensitivity=1.0, l0_sensitivity=1, integer=True)
        return sums_query(size, linf=1.0, l1=1.0, l2=1.0)

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> Score:
        n = known["n_samples"]
        return Score(
            value=self.unit * _mean(n, answer),
            n_samples=n,
            privacy=known["privacy"],
            _between=partial(_interval_of_mean, answer, n, known["_variance"], self.unit),
        )


def _mean(n_samples: int | None, sums: np.ndarray) -> float:
    return float(ratio(sums[0], float(sums.sum() if n_samples is None else n_samples)))


def _interval_of_mean(
    sums: np.ndarray,
    n_samples: int | None,
    noise: float,
    unit: float,
    level: float,
    *,
    sampling: bool,
) -> tuple[float, float]:
    """Return an interval; numbers in [0, 1] of mean m have a variance of m·(1 − m) at most."""
    total = float(sums.sum() if n_samples is None else n_samples)
    mean = min(max(_mean(n_samples, sums), 0.0), 1.0)
    spread = mean * (1.0 - mean) / total if sampling and total > 0.0 else 0.0
    metric = partial(_mean, n_samples)
    low, high = interval_of(metric, sums, noise, lambda slopes: spread, level, (0.0, 1.0))
    return unit * low, unit * high
