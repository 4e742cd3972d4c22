"""A shift of predictions by which their mean is that of the targets, released after a fit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.design.base import MemoryDesign
from skdp.linear_model._records import LinearRecords, design_of
from skdp.linear_model._sample import Learned
from skdp.linear_model._target_scale import TargetRange, encoded
from skdp.losses import Loss, PoissonLoss, SquaredLoss
from skdp.solvers import Problem, Solution
from skdp.solvers._machine_sums import mean_sum
from skdp.solvers.base import SCALE_MARGIN

# No guarantee rests on these.
_SHARE = 0.02  # of μ²
_FEWEST = 1500.0  # n·μ, below which the noise of a shift would cost symmetric targets .002 of R²

_LEAST_WIDENING = 3.0  # a range is found only if the bounds are three times as wide

_COUNT_SCALING = 0.25  # of a record in the entry that counts


class _Numbers(NamedTuple):
    """Numbers of each row, and bounds: of their change by a record, their norm and its slope."""

    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of targets and scores, (2, n_rows)
    between: float
    longest: float
    slope: float


@dataclass(frozen=True, kw_only=True)
class MeanShift(ABC):
    """A Gaussian release of sums over all records at a *released* fit, and the shift it implies.

    Predictions are clipped as by `predict`. Targets are clipped to the bounds as given or, if the
    fit has found a narrower range, to one that is at least three times as wide: n·μ/1500 times, so
    that the noise of a shift stays small beside the range. So neither a range that cuts off large
    targets nor clipped derivatives move the mean.

    The shares s of the rows of a record add up to at most 1. So a record adds a point of the convex
    hull of 0 and of the pairs of numbers that single rows can have. Norms and distances are largest
    at its corners: the pairs and 0. *Machine numbers* bounds the errors of computed scores.
    """

    name: ClassVar[str] = "a mean error"
    exact: ClassVar[bool] = True  # if the fit is: rounding errors of sums at it are bounded
    mu: float  # Gaussian-DP parameter
    bounds: TargetRange  # as given
    widening: float  # of a range that the fit has found, within the bounds
    n_records: int | None  # if the sum of all shares is public
    fewest: float  # records for which the noise is small enough

    @classmethod
    def plan(
        cls, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> MeanShift | None:
        """Return a release with 2 % of μ², None if its noise is known to be too large."""
        mu, n = gdp_mu(parameters.epsilon, parameters.delta), records.facts.n_known
        fewest = _FEWEST / mu
        if n is not None and n < fewest:
            return None
        is_public = parameters.neighboring.count_is_public and records.weights is None
        return cls(
            mu=math.sqrt(_SHARE) * mu,
            bounds=records.facts.task,
            widening=max(_LEAST_WIDENING, (n or 0) / fewest),
            n_records=n if is_public else None,
            fewest=fewest,
        )

    def finished(
        self, learned: Learned, records: LinearRecords[TargetRange], rng: np.random.Generator
    ) -> Learned:
        """Release the sums at a *released* fit to these records; return it with the shift."""
        fitted, facts, plan = learned
        assert isinstance(fitted, Solution), "planned for private fits only"
        assert not isinstance(plan, NonPrivatePlan), "as above"
        wide = self._around(facts.task)
        design = design_of(records.with_facts(facts).mapped(partial(encoded, wide)), plan.problem)
        numbers = self._numbers(wide, facts.task, plan.problem, fitted.theta)
        shift = self._shift(wide, *self.release(numbers, design, plan.problem, fitted.theta, rng))
        return learned._replace(facts=replace(facts, task=replace(facts.task, shift=shift)))

    def _around(self, found: TargetRange) -> TargetRange:
        """Return the range to which targets are clipped, given the released one of the fit."""
        half = self.widening * found.half_width
        low, high = max(found.middle - half, self.bounds.low), found.middle + half
        return TargetRange(low, min(high, self.bounds.high))

    def release(
        self,
        numbers: _Numbers,
        design: Design,
        problem: Problem,
        theta: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, float]:
        """Release the sums; return them and the standard deviation of their noise."""
        length = numbers.slope * float(np.linalg.norm(theta)) * (1.0 + SCALE_MARGIN)
        facts = problem.with_columns(theta.size)
        sums = mean_sum(facts, numbers.between, numbers.longest, length, 2)
        noise, largest = sums.noise(self.mu), getattr(problem.loss, "largest", 1.0)
        added = _Sums(theta, numbers.of_rows, largest)
        total = sums.grid.floats(design.exact_total(added, sums.grid))
        return noise.release(total, rng), noise.scale

    @abstractmethod
    def _numbers(
        self, wide: TargetRange, found: TargetRange, problem: Problem, theta: np.ndarray
    ) -> _Numbers:
        """Return the numbers to sum, given the released range and coefficients of the fit."""

    @abstractmethod
    def _shift(self, wide: TargetRange, sums: np.ndarray, noise: float) -> float:
        """Return the shift by released sums."""


@dataclass(frozen=True, kw_only=True)
class ScoreShift(MeanShift):
    """Σ s·(r, w) for residuals r = (y − f)/W in units of the width of the targets, and w = 1/4.

    |r| ≤ 1. *Adding or removing a record* moves the sums by at most √(1 + w²). *Replacing it:* two
    rows (r, w) and (r', w) are at most 1 + F apart, where F·W bounds the range of predictions for
    the released coefficients, and (r, w) and 0 at most √(1 + w²).
    """

    def _numbers(
        self, wide: TargetRange, found: TargetRange, problem: Problem, theta: np.ndarray
    ) -> _Numbers:
        factor = found.half_width / wide.half_width
        start = (found.middle - wide.middle) / wide.half_width
        weights = theta[: theta.size - (problem.intercept_scaling > 0.0)]
        reach = float(np.linalg.norm(weights)) * problem.data_norm * (1.0 + SCALE_MARGIN)
        one = math.hypot(1.0, _COUNT_SCALING)
        two = 1.0 + factor * min(1.0, reach)
        between = max(one, two) if problem.neighboring.count_is_public else one
        return _Numbers(partial(_residuals, factor, start), between, one, 0.5 * factor)

    def _shift(self, wide: TargetRange, sums: np.ndarray, noise: float) -> float:
        n = sums[1] / _COUNT_SCALING if self.n_records is None else self.n_records
        if n < self.fewest:
            return 0.0
        width = 2.0 * wide.half_width
        return _shrunk(width * float(sums[0]) / n, width * noise / n)


@dataclass(frozen=True, kw_only=True)
class LogShift(MeanShift):
    """Σ s·(y, f) in units of the largest count; the shift of the logarithm of predictions.

    0 ≤ y ≤ 1 and 0 ≤ f ≤ F, with the end F of the range that the fit has found. Rows, and a row
    and 0, are at most √(1 + F²) apart, under both relations.
    """

    def _numbers(
        self, wide: TargetRange, found: TargetRange, problem: Problem, theta: np.ndarray
    ) -> _Numbers:
        loss, most = getattr(problem.loss, "loss", problem.loss), found.high / wide.high
        assert isinstance(loss, PoissonLoss), "planned for this loss only"
        longest = math.hypot(1.0, most)
        return _Numbers(partial(_counts, most, loss.start), longest, longest, most)

    def _shift(self, wide: TargetRange, sums: np.ndarray, noise: float) -> float:
        counted, predicted = np.maximum(sums, noise).tolist()
        error = noise * math.hypot(1.0 / counted, 1.0 / predicted)
        return _shrunk(math.log(counted / predicted), error)


def shift_kind(loss: Loss) -> type[MeanShift] | None:
    """Return the kind of shift for a loss whose minimum is the mean, None for others."""
    if isinstance(loss, SquaredLoss):
        return ScoreShift
    return LogShift if isinstance(loss, PoissonLoss) else None


@dataclass(frozen=True, eq=False, repr=False)
class _Sums:
    """Sums of numbers of rows in a block, by their shares; picklable."""

    theta: np.ndarray
    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]
    largest: float

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        y, shares = block.targets, np.ones(block.n_samples)
        if y.dtype.names is not None:
            y, shares = y["target"], y["weight"] / self.largest
        return np.asarray(self.of_rows(y, block.scores(self.theta)) @ shares)


def _residuals(factor: float, start: float, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    predicted = np.clip(start + factor * np.clip(scores, -1.0, 1.0), -1.0, 1.0)
    return np.stack([0.5 * (y - predicted), np.full(y.size, _COUNT_SCALING)])


def _counts(most: float, start: float, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    predicted = most * np.exp(np.minimum(scores + start, 0.0))
    return np.stack([np.clip(0.5 + 0.5 * y, 0.0, 1.0), predicted])


def _shrunk(shift: float, noise: float) -> float:
    """Return the posterior mean of a shift, if the variance of true shifts is the likeliest one.

    With the prior N(0, τ²) it is shift·τ²/(τ² + σ²), and the likeliest τ² is max(0, shift² − σ²).
    """
    return shift - noise * (noise / shift) if abs(shift) > noise else 0.0
