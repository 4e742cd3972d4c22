"""Gaussian releases at a fit, which correct it: a shift, a choice of the link, recalibration."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.design.base import MemoryDesign
from skdp.linear_model._plans import Learned
from skdp.linear_model._probabilities import (
    FARTHEST,
    Probabilities,
    Recalibration,
    TowardShares,
    against_others,
)
from skdp.linear_model._records import ExposureLoss, LinearRecords, TargetRange, retargeted
from skdp.losses import Loss, SquaredLoss
from skdp.losses.regression import PoissonLoss, shares_of_counts
from skdp.solvers import Problem
from skdp.solvers._releases import MachineSum, mean_sum, targets_and_shares
from skdp.solvers.base import SCALE_MARGIN

# No guarantee rests on these.
_SHIFT_SHARE = 0.02  # of μ²
_FEWEST_FOR_SHIFT = 400.0  # n·μ
# n·μ, below which the noise of a shift would cost symmetric targets .002 of R², so that a shift has
# to be certain.
_MANY_FOR_SHIFT = 1500.0
_CERTAIN = 3.0  # standard deviations of the noise
_WITHOUT_NOISE = 1e9  # μ at epsilon=inf, where sums are off by 1e-8
_LEAST_WIDENING = 3.0  # a range is found only if the bounds are three times as wide
_SHIFT_COUNT = 0.25  # of a record in the entry that counts


class RowNumbers(NamedTuple):
    """Numbers of each row, and bounds: of their change by a record, their norm and its slope."""

    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of targets and scores, (size, n_rows)
    between: float
    longest: float
    slope: float
    size: int = 2
    by_share: bool = True  # whether numbers are multiplied by a row's share of a record
    units: float = 0.0  # of rounding errors in scores that do not grow with θ

    def released(
        self,
        mu: float,
        design: Design,
        problem: Problem,
        theta: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, float]:
        """Release their sums at a *released* θ; return them and the deviation of their noise."""
        length = self.slope * float(np.linalg.norm(theta)) * (1.0 + SCALE_MARGIN)
        length += self.units / problem.row_norm
        facts = problem.with_columns(len(theta))
        sums = mean_sum(facts, self.between, self.longest, length, self.size)
        noise = sums.noise(mu)
        added = partial(_sums, theta, self.of_rows, problem.loss if self.by_share else None)
        total = sums.grid.floats(design.exact_total(added, sums.grid))
        return noise.release(total, rng), noise.scale


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
    n_expected: float  # records, if the number is public or guessed

    @classmethod
    def plan(
        cls, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> Sequence[MeanShift]:
        """Return a release with 2 % of μ², none if its noise is known to be too large."""
        mu = min(gdp_mu(parameters.epsilon, parameters.delta), _WITHOUT_NOISE)
        n = records.facts.n_known
        if n is not None and n * mu < _FEWEST_FOR_SHIFT:
            return ()
        is_public = parameters.neighboring.count_is_public and records.weights is None
        release = cls(
            mu=math.sqrt(_SHIFT_SHARE) * mu,
            bounds=records.facts.task,
            widening=max(_LEAST_WIDENING, (n or 0) * mu / _MANY_FOR_SHIFT),
            n_records=n if is_public else None,
            n_expected=math.inf if n is None else n,
        )
        return (release,)

    def finished(
        self, learned: Learned, records: LinearRecords[TargetRange], rng: np.random.Generator
    ) -> Learned:
        """Release the sums at a *released* fit to these records; return it with the shift."""
        fitted, facts, plan, design = learned
        wide = self._around(facts.task)
        assert design is not None, "the fit has read the rows"
        design = retargeted(design, records.with_facts(replace(facts, task=wide)), plan.problem)
        numbers = self._numbers(wide, facts.task, plan.problem, fitted.theta)
        sums = numbers.released(self.mu, design, plan.problem, fitted.theta, rng)
        shift = self._shift(wide, *sums)
        return learned._replace(facts=replace(facts, task=replace(facts.task, shift=shift)))

    def _around(self, found: TargetRange) -> TargetRange:
        """Return the range to which targets are clipped, given the released one of the fit."""
        half = self.widening * found.half_width
        low, high = max(found.middle - half, self.bounds.low), found.middle + half
        return replace(self.bounds, low=low, high=min(high, self.bounds.high))

    def _signal(self, n: float) -> float:
        """Return n·μ, with μ of the whole fit."""
        return n * self.mu / math.sqrt(_SHIFT_SHARE)

    def _certain(self, n: float) -> float:
        """Return the least shift in standard deviations of its noise, for `n` records."""
        return 1.0 if self._signal(n) >= _MANY_FOR_SHIFT else _CERTAIN

    @abstractmethod
    def _numbers(
        self, wide: TargetRange, found: TargetRange, problem: Problem, theta: np.ndarray
    ) -> RowNumbers:
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
    ) -> RowNumbers:
        factor = found.half_width / wide.half_width
        start = (found.middle - wide.middle) / wide.half_width
        weights = theta[: theta.size - (problem.intercept_scaling > 0.0)]
        reach = float(np.linalg.norm(weights)) * problem.data_norm * (1.0 + SCALE_MARGIN)
        one = math.hypot(1.0, _SHIFT_COUNT)
        two = 1.0 + factor * min(1.0, reach)
        between = max(one, two) if problem.neighboring.count_is_public else one
        return RowNumbers(partial(_residuals, factor, start), between, one, 0.5 * factor)

    def _shift(self, wide: TargetRange, sums: np.ndarray, noise: float) -> float:
        n = sums[1] / _SHIFT_COUNT if self.n_records is None else self.n_records
        if self._signal(n) < _FEWEST_FOR_SHIFT:
            return 0.0
        width = 2.0 * wide.half_width
        return _shrunk(width * float(sums[0]) / n, width * noise / n, self._certain(n))


@dataclass(frozen=True, kw_only=True)
class LogShift(MeanShift):
    """Σ s·(y, f) in units of the largest count; the shift of the logarithm of predictions.

    Of rows with exposures they are counts, and predicted ones: s·y is at most 1 as a whole.
    0 ≤ y ≤ 1 and 0 ≤ f ≤ F, with the end F of the range that the fit has found. Rows, and a row
    and 0, are at most √(1 + F²) apart, under both relations.
    """

    def _numbers(
        self, wide: TargetRange, found: TargetRange, problem: Problem, theta: np.ndarray
    ) -> RowNumbers:
        outer, most = problem.loss, found.high / wide.high
        loss = getattr(outer, "loss", outer)
        assert isinstance(loss, PoissonLoss), "planned for this loss only"
        longest = math.hypot(1.0, most)
        if isinstance(outer, ExposureLoss):
            rates = partial(_exposed, outer.max_weight, most, loss.start)
            return RowNumbers(rates, longest, longest, most, by_share=False)
        return RowNumbers(partial(_counts, most, loss.start), longest, longest, most)

    def _shift(self, wide: TargetRange, sums: np.ndarray, noise: float) -> float:
        counted, predicted = np.maximum(sums, noise).tolist()
        error = noise * math.hypot(1.0 / counted, 1.0 / predicted)
        return _shrunk(math.log(counted / predicted), error, self._certain(self.n_expected))


def shift_kind(loss: Loss) -> type[MeanShift] | None:
    """Return the kind of shift for a loss whose minimum is the mean, None for others."""
    if isinstance(loss, SquaredLoss):
        return ScoreShift
    return LogShift if isinstance(loss, PoissonLoss) else None


def _sums(
    theta: np.ndarray,
    of_rows: Callable[[np.ndarray, np.ndarray], np.ndarray],
    loss: Loss | None,
    block: MemoryDesign,
) -> np.ndarray:
    """Return sums of numbers of rows in a block, by their shares unless there is no loss."""
    y, shares = block.targets, np.ones(block.n_samples)
    if loss is not None:
        y, shares = targets_and_shares(loss, y)
    return np.asarray(of_rows(y, block.scores(theta)) @ shares)


def _residuals(factor: float, start: float, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    predicted = np.clip(start + factor * np.clip(scores, -1.0, 1.0), -1.0, 1.0)
    return np.stack([0.5 * (y - predicted), np.full(y.size, _SHIFT_COUNT)])


def _counts(most: float, start: float, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    predicted = most * np.exp(np.minimum(scores + start, 0.0))
    return np.stack([shares_of_counts(y), predicted])


def _exposed(
    longest: float, most: float, start: float, y: np.ndarray, scores: np.ndarray
) -> np.ndarray:
    counted, predicted = _counts(most, start, y["target"], scores)
    return np.stack([counted, y["weight"] / longest * predicted])


def _shrunk(shift: float, noise: float, certain: float) -> float:
    """Return the posterior mean of a shift, if the variance of true shifts is the likeliest one.

    With the prior N(0, τ²) it is shift·τ²/(τ² + σ²), and the likeliest τ² is max(0, shift² − σ²).
    """
    return shift - noise * (noise / shift) if abs(shift) > certain * noise else 0.0


# No guarantee rests on these, nor on the numbers of the class. *Probabilities* shows the simulated
# fits that they are chosen by.
_DEVIATIONS = 1.0  # of the noise, by which the other link must be better
_FINE = 2049  # scores between which gains are interpolated
_LEAST_GAIN = 1e-9  # so that links that are equal need noise too


@dataclass(frozen=True, kw_only=True)
class LinkChoice:
    """Σ s·g(y, z) at a *released* fit: the gain in log-likelihood by a link nearer to the loss's.

    The other link changes log-odds by at most 1, so |g| ≤ 1 without a limit of probabilities. g is
    interpolated between scores. A row adds a number from the least to the largest g there. The
    shares s of a person's rows add up to at most 1, so a person adds one between these and 0.
    """

    name: ClassVar[str] = "a difference of log-losses"
    exact: ClassVar[bool] = True  # if the fit is: rounding errors of the sum at it are bounded
    share: ClassVar[float] = 0.02  # of μ²
    few: ClassVar[float] = 500.0  # n·μ/k, below which the noise outweighs gains
    many: ClassVar[float] = 2000.0  # from here on probabilities are recalibrated
    mu: float  # Gaussian-DP parameter

    @classmethod
    def plan(
        cls, parameters: ReleaseParameters, records: LinearRecords[np.ndarray]
    ) -> Sequence[LinkChoice]:
        """Return a release with 2 % of μ², none if it is known to be of no use."""
        mu, n = gdp_mu(parameters.epsilon, parameters.delta), records.facts.n_known
        x = cls.few if n is None else n * mu / parameters.neighboring.n_changed
        return (cls(mu=math.sqrt(cls.share) * mu),) if cls.few <= x < cls.many else ()

    def finished(
        self, learned: Learned, records: LinearRecords[np.ndarray], rng: np.random.Generator
    ) -> Learned:
        """Release the sum at a *released* fit to these records; return it with the better link."""
        fitted, _, plan, design = learned
        problem, theta = plan.problem, fitted.theta
        link = Probabilities.of(learned)
        if not link.follows_evidence:  # there is one link only
            return learned
        gains = gains_of(link, problem, theta)
        assert design is not None, "the fit has read the rows"
        (gain,), noise = gains.released(self.mu, design, problem, theta, rng)
        return learned._replace(fitted=replace(fitted, is_nearer=bool(gain > _DEVIATIONS * noise)))


def gains_of(link: Probabilities, problem: Problem, theta: np.ndarray) -> RowNumbers:
    """Return the gain of a row by the other link, given a *released* θ and link."""
    middle = problem.intercept_scaling * float(theta[-1])
    reach = float(np.linalg.norm(theta[:-1])) * problem.data_norm + 1.0 + 1e-6 * abs(middle)
    scores = np.linspace(middle - reach, middle + reach, _FINE)
    other = replace(link, is_nearer=True).log_probabilities(scores)
    gains = (other - link.log_probabilities(scores)).T
    low, high = min(0.0, float(gains.min())), max(0.0, float(gains.max()))
    longest = max(high, -low, _LEAST_GAIN)
    between = high - low if problem.neighboring.count_is_public else longest
    slope = float(np.abs(np.diff(gains)).max() / np.diff(scores).min())
    return RowNumbers(partial(_interpolated, scores, gains), between, longest, slope, 1)


def _interpolated(
    at: np.ndarray, gains: np.ndarray, y: np.ndarray, scores: np.ndarray
) -> np.ndarray:
    first, second = (np.interp(scores, at, gain) for gain in gains)
    return np.where(y > 0, second, first)[None]


# No guarantee rests on these. *Probabilities* shows the fits that they are chosen by, and
# benchmarks/bench_probabilities.py repeats a part.
_WEIGHTS = np.array([0.25, 1.0])  # of the link, which are compared with the middle
_MIDDLE = 0.5
_GRID = np.linspace(0.01, 1.0, 100)
_SLOPES = np.array([0.5, 1.0])  # standard deviations of the gain's slope and bend in the weight
_BEND = -1.0  # its mean
_LEAST_SHARE = 0.7  # of the noise in a count, which is added to it
_FIXED_WEIGHT = 0.7

# A guarantee rests on these: the largest gain that is counted, and its slope in the scores.
_MOST_GAINS = 2.0 * np.abs(_WEIGHTS - _MIDDLE)
_GAIN_SLOPE = 2.0 * 1.5  # √2·√2·(w + 1/2)/most, for both w the same


@dataclass(frozen=True, kw_only=True)
class ClassMixture:
    """Σ s·onehot(y), and of several classes then Σ s·g(y, z), at a *released* fit.

    With the shares q of the first, probabilities become p^w·q^(1−w). The two entries of g are the
    gains in log-likelihood for w = 1/4 and 1 over w = 1/2, clipped and divided by their bounds.
    They decide w, if there are rows enough. *Probabilities* derives the sensitivities, for rows and
    for persons.
    """

    exact: ClassVar[bool] = True  # if the fit is: rounding errors of sums at it are bounded
    share: ClassVar[float] = 0.02  # of μ², for either of both
    least: ClassVar[float] = 20.0  # n·μ/k, below which noise in the shares outweighs them
    few: ClassVar[float] = 100.0  # below which it outweighs the gains, and w is fixed
    many: ClassVar[float] = LinkChoice.many
    mu: float  # Gaussian-DP parameter
    n_known: int | None  # records, if the number is public or guessed; of a sample, as expected
    few_records: float  # n where n·μ/k is `few`
    weighs: bool  # whether the second sum is released

    @classmethod
    def plan(
        cls, parameters: ReleaseParameters, records: LinearRecords[np.ndarray]
    ) -> Sequence[ClassMixture]:
        """Return a release with 2 or 4 % of μ², none if it is known to be of no use."""
        mu, facts = gdp_mu(parameters.epsilon, parameters.delta), records.facts
        x_of_one, two = mu / parameters.neighboring.n_changed, facts.task.size == 2
        if facts.n_known is None and two:
            return ()
        x = cls.few if facts.n_known is None else facts.n_known * x_of_one
        weighs, many = x >= cls.few, cls.few if two else cls.many
        mu *= math.sqrt((1 + weighs) * cls.share)
        n, few = facts.n_known, cls.few / x_of_one
        release = cls(mu=mu, n_known=n, few_records=few, weighs=weighs)
        return (release,) if cls.least <= x < many else ()

    @property
    def name(self) -> str:
        """What is released, in words."""
        return "counts of classes" + self.weighs * " and differences of log-losses"

    def finished(
        self, learned: Learned, records: LinearRecords[np.ndarray], rng: np.random.Generator
    ) -> Learned:
        """Release the sums at a *released* fit to these records; return it with the mixture."""
        fitted, facts, plan, design = learned
        problem, each = plan.problem, self.mu / math.sqrt(1 + self.weighs)
        assert design is not None, "the fit has read the rows"
        counts, noise = counts_of_classes(facts.task.size, problem).released(
            each, design, problem, fitted.theta, rng
        )
        shares = np.maximum(counts, 0.0) + _LEAST_SHARE * noise
        log_shares, weight = np.log(shares / shares.sum()), _FIXED_WEIGHT
        n = self.n_known or float(counts.sum())
        if self.weighs and n >= self.few_records:
            gained = gains_of_weights(log_shares, problem)
            gains, noise = gained.released(each, design, problem, fitted.theta, rng)
            weight = likeliest_weight(gains / n, noise / n)
        moved = TowardShares(weight, log_shares)
        return learned._replace(fitted=replace(fitted, moved=moved))


def counts_of_classes(n_classes: int, problem: Problem) -> RowNumbers:
    """Return a 1 for the class of a row, and 0 for all others."""
    between = math.sqrt(2.0) if problem.neighboring.count_is_public else 1.0
    return RowNumbers(partial(_one_hot, n_classes), between, 1.0, 0.0, n_classes)


def gains_of_weights(log_shares: np.ndarray, problem: Problem) -> RowNumbers:
    """Return the gains of a row by two weights of scores over a half, given *released* shares."""
    return RowNumbers(
        partial(_gains_of_weights, log_shares),
        math.sqrt(8.0 if problem.neighboring.count_is_public else 2.0),
        math.sqrt(2.0),
        _GAIN_SLOPE,
        units=_UNITS + 2.0 * log_shares.size,
    )


def _one_hot(n_classes: int, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    numbers = y > 0.0 if scores.ndim == 1 else y  # two classes are −1 and 1
    return np.asarray(numbers == np.arange(n_classes)[:, None], dtype=float)


def _gains_of_weights(log_shares: np.ndarray, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return gains of rows by the weights 1/4 and 1 over 1/2, in units of their bound.

    The link of several classes is the softmax, so scores do for logarithms of probabilities.
    """
    rows, labels = np.arange(y.size), y.astype(np.intp)
    scores = scores - scores.max(axis=1, keepdims=True)  # so that no large numbers are rounded
    middle, *others = (
        TowardShares(weight, log_shares)(scores)[rows, labels] for weight in (_MIDDLE, *_WEIGHTS)
    )
    gains = (np.stack(others) - middle) / _MOST_GAINS[:, None]
    return np.clip(gains, -1.0, 1.0, out=gains)


def likeliest_weight(gains: np.ndarray, noise: float) -> float:
    """Return the weight with the largest mean gain, by released means and a normal prior.

    The gain is a quadratic function of the weight that is 0 in the middle.
    """
    powers = np.stack([_WEIGHTS - _MIDDLE, (_WEIGHTS - _MIDDLE) ** 2], axis=1)
    scaled = powers / (noise * _MOST_GAINS[:, None])
    precision = scaled.T @ scaled + np.diag(_SLOPES**-2.0)
    mean = np.linalg.solve(precision, scaled.T @ (gains / noise) + [0.0, _BEND / _SLOPES[1] ** 2])
    away = _GRID - _MIDDLE
    return float(_GRID[np.argmax(mean[0] * away + mean[1] * away**2)])


# No guarantee rests on these.
_ERRORS_SHARE = 0.05  # of μ²
_FEWEST_FOR_ERRORS = 2000.0  # n·μ/k
_PRIORS = np.array([3.0, 0.5])  # standard deviations of a shift, and of the logarithm of a slope
_LIMITS = np.array([8.0, 2.0])  # of both

# A guarantee rests on these: two knots are less than 2·artanh(√2 − 1) = .881 apart.
_KNOTS = np.linspace(-FARTHEST, FARTHEST, 21)
_STEP = float(_KNOTS[1] - _KNOTS[0])
_COUNT_SCALING = 0.5  # of a record in the entries that count, all classes together
_STEEPEST = 1.0 + math.sqrt(2.0) / _STEP * (math.sqrt(2.0) + _COUNT_SCALING)  # in the log-odds
_UNITS = 100.0  # of the error of log-odds up to 8, and twice the number of classes

_SCORES = np.sinh(np.linspace(-9.0, 9.0, 4097)) / math.sinh(9.0)  # in units of the farthest


@dataclass(frozen=True, kw_only=True)
class ClassShift:
    """A Gaussian release of `Errors` at a *released* fit, by which it is recalibrated."""

    name: ClassVar[str] = "mean errors of probabilities"
    exact: ClassVar[bool] = True  # if the fit is: rounding errors of sums at it are bounded
    mu: float  # Gaussian-DP parameter
    fewest: float  # records for which the noise is small enough

    @classmethod
    def plan(
        cls, parameters: ReleaseParameters, records: LinearRecords[np.ndarray]
    ) -> Sequence[ClassShift]:
        """Return a release with 5 % of μ², none if its noise is known to be too large."""
        mu, n = gdp_mu(parameters.epsilon, parameters.delta), records.facts.n_known
        fewest = _FEWEST_FOR_ERRORS * parameters.neighboring.n_changed / mu
        if n is not None and n < fewest:
            return ()
        return (cls(mu=math.sqrt(_ERRORS_SHARE) * mu, fewest=fewest),)

    def finished(
        self, learned: Learned, records: LinearRecords[np.ndarray], rng: np.random.Generator
    ) -> Learned:
        """Release the sums at a *released* fit to these records; return it, recalibrated."""
        fitted, _, plan, design = learned
        theta, problem = fitted.theta, plan.problem.with_columns(len(fitted.theta))
        moved = Recalibration()
        assert design is not None, "the fit has read the rows"
        log_odds, slope = _log_odds(Probabilities.of(learned), theta)
        for _ in range(theta.ndim):  # for several classes again, after they were normalized
            added = Errors(theta, log_odds, slope, moved, problem.loss)
            sums = added.facts(problem)
            noise = sums.noise(self.mu / math.sqrt(theta.ndim))
            total = sums.grid.floats(design.exact_total(added, sums.grid))
            found = noise.release(total, rng).reshape(-1, 1 + 2 * _KNOTS.size)
            scaling = _COUNT_SCALING / math.sqrt(len(found))
            n = found[:, 1 + _KNOTS.size :].sum() / scaling / len(found)
            if n < self.fewest and not problem.neighboring.count_is_public:
                return learned
            passed = [recalibrated(one, scaling, noise.scale) for one in found]
            moved = Recalibration((*moved.passes, np.transpose(passed)))
        return learned._replace(fitted=replace(fitted, moved=moved))


def _log_odds(link: Probabilities, theta: np.ndarray) -> tuple[Callable[..., Any], float]:
    """Return log-odds as a function of scores, of two classes piecewise linear, and its slope."""
    problem = link.problem
    if theta.ndim > 1 or problem is None:
        return against_others, math.sqrt(2.0)
    reach = float(np.linalg.norm(theta[:-1])) * problem.data_norm
    middle = problem.intercept_scaling * float(theta[-1])
    scores = middle + max(reach, 0.01, 1e-6 * abs(middle)) * _SCORES  # all of them differ
    log_odds = np.diff(link.before_moved(scores))[:, 0]
    log_odds = np.clip(log_odds, -FARTHEST, FARTHEST)
    slope = float(np.abs(np.diff(log_odds) / np.diff(scores)).max()) * (1.0 + SCALE_MARGIN)
    return partial(np.interp, xp=scores, fp=log_odds), slope


@dataclass(frozen=True, eq=False, repr=False)
class Errors:
    """Σ s·(r, r⊗h, w·h): errors of probabilities, also by log-odds, and counts; picklable.

    For each class but the first of two, r = y − p with y = 1 for rows of this class, otherwise 0.
    h has an entry for each knot of the log-odds. The two knots around them share 1 linearly.
    *Mean errors* proves the sensitivities, for rows and for persons.
    """

    theta: np.ndarray
    link: Callable[..., Any]  # log-odds as a function of scores
    slope: float  # its Lipschitz constant
    moved: Recalibration
    loss: Loss

    def facts(self, problem: Problem) -> MachineSum:
        """Return public and released facts of the sums."""
        n_columns = problem.loss.n_scores
        square = min(n_columns, 2.0)  # of r, at most
        one = math.sqrt(2.0 * square + _COUNT_SCALING**2)
        two = math.sqrt(6.0 * square + 2.0 * _COUNT_SCALING**2)
        moved = math.prod(2.0 * float(slopes.max()) for _, slopes in self.moved.passes)
        # twice for errors of exponents, and units of log-odds before and after they are moved
        scores = 2.0 * moved * self.slope * float(np.linalg.norm(self.theta))
        length = scores + (1.0 + moved) * (_UNITS + 2.0 * n_columns) / problem.row_norm
        between = two if problem.neighboring.count_is_public else one
        size = n_columns * (1 + 2 * _KNOTS.size)
        return mean_sum(problem, between, one, _STEEPEST * length, size)

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        y, shares = targets_and_shares(self.loss, block.targets)
        log_odds = self.link(block.scores(self.theta))
        log_odds = self.moved(log_odds if log_odds.ndim > 1 else log_odds[:, None])
        inside, n_columns = np.clip(log_odds, -FARTHEST, FARTHEST), log_odds.shape[1]
        p, places = expit(log_odds if n_columns > 1 else inside), (inside + FARTHEST) / _STEP
        found = []
        for number, place in enumerate(places.T):
            errors = shares * ((y == number if n_columns > 1 else y > 0.0) - p[:, number])
            first = np.minimum(place.astype(np.intp), _KNOTS.size - 2)
            found.append(errors.sum(keepdims=True))
            for each in (errors, shares * (_COUNT_SCALING / math.sqrt(n_columns))):
                sums = np.bincount(first, (1.0 - (place - first)) * each, _KNOTS.size)
                found.append(sums + np.bincount(first + 1, (place - first) * each, _KNOTS.size))
        return np.concatenate(found)


def recalibrated(sums: np.ndarray, scaling: float, noise: float) -> tuple[float, float]:
    """Return the likeliest shift and slope of a class by its released sums.

    Errors have noise, and labels of a count N vary by N·p·(1 − p). A count below its noise is 0.
    The total is met more closely than it varies by chance, so that the mean is right.
    """
    total, errors, counts = sums[0], *np.split(sums[1:], 2)
    counts, now = np.where(counts > noise, counts, 0.0) / scaling, _means(0.0, 0.0)
    deviations = np.hypot(noise, np.sqrt(counts * now * (1.0 - now) + np.abs(errors)))
    of_total = math.hypot(noise, 0.1 * float(np.linalg.norm(deviations)))

    def residuals(x: np.ndarray) -> np.ndarray:
        change = counts * (_means(*x) - now)
        return np.r_[(change - errors) / deviations, (change.sum() - total) / of_total, x / _PRIORS]

    shift, log_slope = least_squares(residuals, (0.0, 0.0), bounds=(-_LIMITS, _LIMITS)).x
    return float(shift), math.exp(log_slope)


def _means(shift: float, log_slope: float) -> np.ndarray:
    """Return mean probabilities of the records that each knot counts, after a move.

    Soft counts interpolate p. Between knots that exceeds p by a twelfth of its second difference.
    """
    p = expit(shift + math.exp(log_slope) * _KNOTS)
    return np.asarray(p - np.diff(np.pad(p, 1, "edge"), 2) / 12.0)
