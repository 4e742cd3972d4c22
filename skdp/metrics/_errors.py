"""Errors of predicted numbers within public bounds, and their noisy sums."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.records import Records
from skdp.exceptions import FewRowsWarning
from skdp.metrics._pairs import numbers_of
from skdp.metrics._row_sums import ResultT, RowSums
from skdp.support.callers import caller_outside
from skdp.support.validation import check_real

# Targets that spread evenly within their bounds have a standard deviation of .29 of the width.
_LARGEST_SHARE = 0.1
_MOST_CLIPPED = 0.01  # of the errors, so that R² is not that of other errors
NO_R2 = "R² is nan: more than 1 % of the errors exceed error_bound, by a noisy count."


@dataclass(frozen=True)
class ErrorScale:
    """*Public* bounds of the targets, and the bound to which errors are clipped."""

    bounds: tuple[float, float]
    error_bound: float

    @classmethod
    def of(cls, bounds: tuple[float, float], error_bound: float | None) -> Self:
        """Check the bounds; the default of `error_bound` is their width."""
        low, high = _checked_bounds(bounds)
        width = high - low
        if error_bound is not None:
            width = min(width, check_real("error_bound", error_bound, low=1e-100))
        return cls((low, high), width)

    @property
    def clips(self) -> bool:
        """Whether an error may exceed `error_bound`; then rows where it does are counted."""
        return self.error_bound < self.bounds[1] - self.bounds[0]

    def errors(self, truth: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return absolute errors in units of `error_bound`, and targets mapped to [−1, 1]."""
        low, high = self.bounds
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        given = (numbers_of("y_true", truth), numbers_of("y_pred", guess))
        u, v = (np.clip((np.clip(x, low, high) - middle) / half, -1.0, 1.0) for x in given)
        return np.abs(u - v) * (half / self.error_bound), u

    def hides_r2(self, larger: np.ndarray, n: float, variance: float) -> bool:
        """Return whether so many errors were clipped that theirs is not the R² of all errors.

        `larger` begins with their number, if errors are clipped. Noise alone exceeds the limit in
        2 % of releases.
        """
        return self.clips and not larger[0] <= _MOST_CLIPPED * n + 2.0 * math.sqrt(variance)

    def r2(self, square: float, linear: float, quadratic: float, n: float) -> float:
        """Return R² from sums over n rows of e², u and u²; nan if u has no visible variance."""
        whole = 0.25 * (quadratic - linear**2 / n) if n > 0.0 else 0.0  # in squared widths
        if not whole > max(n, 0.0) * 2.0**-31:  # the precision with which rows are added up
            return math.nan
        share = self.error_bound / (self.bounds[1] - self.bounds[0])
        return float(1.0 - share * share * square / whole)


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSums(RowSums[ResultT]):
    """Sums over rows of functions of errors and targets within public bounds.

    The first sum is that of a power of the errors.
    """

    power: ClassVar[int] = 2

    target_bounds: tuple[float, float]
    error_bound: float | None

    @cached_property
    def scale(self) -> ErrorScale:
        """The bounds, checked."""
        return ErrorScale.of(self.target_bounds, self.error_bound)

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        ErrorScale.of(self.target_bounds, self.error_bound)
        pairs.check(_check_numbers)
        return pairs.with_facts(self)

    def warn(self, n_records: int, variance: float) -> None:
        """Warn if the noise hides large errors.

        The noise in a sum is within ±1.96 standard deviations in 95 % of releases.
        """
        scale = self.scale
        mean = 1.96 * math.sqrt(variance) / n_records  # of e or e², in units of `error_bound`
        hidden = scale.error_bound * mean ** (1.0 / self.power)
        width = scale.bounds[1] - scale.bounds[0]
        if hidden > _LARGEST_SHARE * width:
            hidden = min(hidden, scale.error_bound)  # no error is larger
            warnings.warn(
                f"{n_records} records are few for this epsilon: the noise hides errors below about "
                f"{hidden:.2g}, {hidden / width:.0%} of the width of target_bounds. Use a smaller "
                "error_bound, a larger epsilon, or more rows.",
                FewRowsWarning,
                stacklevel=caller_outside(),
            )


def _check_numbers(pairs: Records[None]) -> None:
    numbers_of("y_true", pairs.y)
    numbers_of("y_pred", pairs.X)


def possible_sums(linear: float, square: float, n: float, low: float) -> tuple[float, float]:
    """Return the nearest sums of x and x² that n numbers x in [`low`, 1] can have; low is 0 or −1.

    Their means lie between the parabola and its chord, which is a convex set. So the result is at
    most as far from the sums of any such numbers as the given *released* sums are, whatever the
    noise was. For Gaussian noise of equal variance it is also the most likely pair of sums.
    """
    if not n > 0.0:
        return linear, square
    x, y = linear / n, square / n
    slope = 1.0 + low
    if x * x <= y <= slope * x - low:
        return linear, square
    t = np.clip(np.append(np.roots([2.0, 0.0, 1.0 - 2.0 * y, -x]).real, low), low, 1.0)
    on_chord = np.clip((x + slope * (y + low)) / (1.0 + slope * slope), low, 1.0)
    points = np.append(np.stack([t, t * t]), [[on_chord], [slope * on_chord - low]], axis=1)
    nearest = points[:, np.argmin(np.hypot(points[0] - x, points[1] - y))]
    return float(n * nearest[0]), float(n * nearest[1])


def _checked_bounds(bounds: object) -> tuple[float, float]:
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise ValueError(f"target_bounds must be a pair (low, high) of numbers, got {bounds!r}.")
    low, high = (check_real("target_bounds", x, low=-1e100, high=1e100) for x in bounds)
    if not low < high:
        raise ValueError(f"target_bounds must have low < high, got low={low:g}, high={high:g}.")
    return low, high
