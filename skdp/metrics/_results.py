"""Scores and reports: their text, their intervals under noise and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from skdp.privacy import PrivacyGuarantee
from skdp.support.display import html_table
from skdp.support.validation import check_real

Numbers = Iterator[tuple[str, float, tuple[float, float]]]
"""Names, numbers and intervals."""


def _possible(numbers: Numbers) -> Numbers:
    """Clip numbers to their intervals, which hold possible values only."""
    for name, x, (low, high) in numbers:
        yield name, min(max(x, low), high) if x == x else x, (low, high)


class Viewed:
    """A result that displays a few released numbers.

    Numbers are nearly unbiased. If noise has made one impossible, the nearest possible number is
    displayed.
    """

    privacy: PrivacyGuarantee
    interval: Callable[..., tuple[float, float]]

    _displayed: ClassVar[tuple[str, ...]]
    """The metrics that are displayed."""

    def _numbers(self) -> Numbers:
        for name in self._displayed:
            yield name, getattr(self, name), self.interval(name)

    def _notes(self) -> list[str]:
        """Return sentences that the numbers need."""
        return []

    def __str__(self) -> str:
        lines = [
            f"{name:24}{x:.6g}  [{low:.6g}, {high:.6g}]".strip()
            for name, x, (low, high) in _possible(self._numbers())
        ]
        return "\n".join([*lines, *self._notes(), str(self.privacy)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = (
            (name, f"{x:.4g}", f"{low:.4g} to {high:.4g}")
            for name, x, (low, high) in _possible(self._numbers())
        )
        table = html_table(("", "estimate", "95 % interval"), rows, named=True)
        notes = [*self._notes(), str(self.privacy)]
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes)


_STEP = 1e-4  # of the total, by which sums are moved to find slopes


def ratio(numerator: float, denominator: float) -> float:
    """Return a quotient, nan if the denominator is not positive."""
    return numerator / denominator if denominator > 0.0 else np.nan


def interval_of(
    metric: Callable[[np.ndarray], float],
    sums: np.ndarray,
    noise: float,
    sampling: Callable[[np.ndarray], float],
    level: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    """Return an interval, by the delta method, around a smooth function of *released* sums.

    `noise` is the variance in each sum, and `sampling` maps slopes to a further variance of the
    metric. The metric is nan where it is not defined, and lies within `bounds`.
    """
    level = check_real("level", level, low=0.0, high=1.0)
    value, variance = metric(sums), math.nan
    if math.isfinite(value):
        slopes = slopes_of(metric, sums)
        variance = noise * float(slopes @ slopes) + sampling(slopes)
    if not (math.isfinite(variance) and variance >= 0.0):
        return bounds
    half = float(ndtri(0.5 + 0.5 * level)) * math.sqrt(variance)
    low, high = np.clip([value - half, value + half], *bounds).tolist()
    return low, high


def spread(slopes: np.ndarray, sums: np.ndarray, n: float) -> float:
    """Return the largest variance of a sum over n rows of slopes @ (e, u, u²).

    The sums of e in [0, 1], of u in [−1, 1] and of u² are *released*. A number between a and b of
    mean m has a variance of (b − m)·(m − a) at most.
    """
    error, linear, square = (float(slope) for slope in slopes)
    top = np.clip(-0.5 * linear / square, -1.0, 1.0) if square else 0.0
    ends = [linear * u + square * u * u for u in (-1.0, 1.0, float(top))]
    low, high = min(error, 0.0) + min(ends), max(error, 0.0) + max(ends)
    mean = min(max(float(slopes @ sums) / n, low), high)
    return n * (high - mean) * (mean - low)


def slopes_of(metric: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    """Return the partial derivatives, by central differences."""
    step = max(_STEP * float(np.abs(sums).sum()), 1e-12)
    slopes = np.empty(sums.size)
    for j in range(sums.size):
        moved = [sums.copy(), sums.copy()]
        moved[0].flat[j] += step
        moved[1].flat[j] -= step
        slopes[j] = (metric(moved[0]) - metric(moved[1])) / (2.0 * step)
    return slopes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(Viewed):
    """One noisy score, returned by the functions of `skdp.metrics`; ``float`` takes its value.

    Parameters
    ----------
    value : float
        *Released.* A mean is the nearest one that is possible, and nan if it is below the standard
        deviation of its noise: an error of 0 would look like that of a perfect model. Areas are
        nearly unbiased. If one is above 1, the nearest possible number is displayed.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.*
    _between : callable
        *Released.* Maps `level` and `sampling` to an interval.
    _note : str
        *Released.* A sentence that the value needs.

    Examples
    --------
    >>> from skdp.metrics import dp_accuracy_score
    >>> y, guess = [0, 1, 0, 1, 1] * 1000, [0, 1, 0, 1, 0] * 1000
    >>> score = dp_accuracy_score(y, guess, epsilon=1.0, random_state=0)
    >>> round(float(score), 2)
    0.8
    >>> [round(end, 3) for end in score.interval()]
    [0.788, 0.811]
    >>> [round(end, 3) for end in score.interval(sampling=False)]
    [0.799, 0.8]
    """

    value: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _between: Callable[..., tuple[float, float]]
    _note: str = ""

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return a confidence interval for the score.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Approximate coverage, by the delta method.
        sampling : bool, default True
            *Public.* Whether the interval is for the population rather than for the rows. A spread
            of losses that was not released is taken as large as their mean allows.

        Returns
        -------
        low, high : float
        """
        return self._between(level, sampling=sampling)

    def __float__(self) -> float:
        return self.value

    def _numbers(self) -> Numbers:
        yield "", self.value, self.interval()

    def _notes(self) -> list[str]:
        return [self._note] if self._note else []


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
