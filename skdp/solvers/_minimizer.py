"""Minimizers with a certificate: the final gradient is shorter than a public tolerance."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skdp.design import Design, MemoryDesign, SlopeSum
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss
from skdp.privacy import Event, NonPrivateEvent
from skdp.samplers.base import Progress
from skdp.solvers._releases import record_error
from skdp.solvers.base import Plan, Problem, Solution, require_delta

UNIT = 2.0**-53  # relative error of one operation
ROWS_SUMMED = 1024  # rows whose gradients are summed at a time in a certified gradient

# Additions that a number of a gradient passes through. The sums of `ROWS_SUMMED` rows are added up
# with the error of each addition, which costs 2. `rounding` leaves out 4 where it says so.
_ROUNDINGS = ROWS_SUMMED + 8
_OF_PROJECTION = 8
_STEEPEST = 1e6  # curvature of one record over the ridge; beyond, rounding hides the minimum
_LONGEST_SCORE = 64.0  # in units of the loss's noise scale, at least 1: see `longest`
_MOST_MOVED = 0.25  # of Θ: largest distance of a point from the minimum; see `minimize`

# No guarantee rests on the following constants: they affect speed, and every result is certified.
_SAMPLE = 16_384  # rows for second derivatives
_SAMPLE_VALUES = 1 << 20
_MOST_COLUMNS = 1024  # beyond, only the diagonal of the Hessian is used
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_PAIRS = 60
_PATIENCE = 300  # steps in which the gradient has to halve
_REFRESH = 0.1  # a step that leaves more of the gradient triggers a new metric
_FLAT = 0.5  # share of the derivative that a line search may leave
_TRIALS = 20
_SINGULAR = 1e-12  # of a matrix's trace: smaller eigenvalues are indistinguishable from 0

Metric = Callable[[np.ndarray], np.ndarray]
"""Applies the inverse of a positive definite matrix."""


def check_problem(name: str, problem: Problem, delta: float) -> None:
    """Raise unless δ > 0, the loss is smooth and the ridge strong enough for floating point."""
    require_delta(delta, name)
    if math.isinf(problem.loss.smoothness):
        raise IncompatibleSolverError(
            f"solver={name!r} needs a smooth loss, got {problem.loss!r}. Smooth it (smoothing > 0 "
            "for a hinge), or use solver='regularized_exponential'."
        )
    curvature = problem.loss.smoothness * problem.row_norm**2
    if not isinstance(problem.C, str) and problem.C * curvature > _STEEPEST:
        raise IncompatibleSolverError(
            f"C={problem.C!r} is too large for solver={name!r}, which takes up to "
            f"C={_STEEPEST / curvature:g} here. C='auto' chooses a smaller C."
        )


def longest(problem: Problem) -> float:
    """Return the radius Θ of the ball for minima: scores of 64 noise scales, at least 64.

    A bound of |θ| is needed to bound the rounding error of a score.
    """
    scores = _LONGEST_SCORE * max(1.0, problem.loss.noise_scale) * math.sqrt(problem.loss.n_scores)
    return scores / problem.row_norm


def of_projection(problem: Problem) -> float:
    """Return twice the rounding error of a projection on the ball: of a norm and two products."""
    size = (problem.n_features or 1) * problem.loss.n_scores
    return 2.0 * (size + _OF_PROJECTION) * UNIT * longest(problem)


def certified_tolerance(
    name: str, problem: Problem, ridge: float, wanted: float, noise: float = 0.0
) -> float:
    """Return the certified length τ of the gradient: as wanted, or as floating point allows.

    It is at most λΘ/4, on which the proof of `minimize` rests; `ridge` is λ, `wanted` is τ without
    rounding, and `noise` is the standard deviation of each entry of the tilt. All are *public.*
    """
    least, most = _least_tolerance(problem, noise), _MOST_MOVED * ridge * longest(problem)
    if least > most:
        raise IncompatibleSolverError(
            f"solver={name!r} cannot certify a minimum in floating point for "
            f"{problem.covered_rows} rows of {problem.n_features} columns and 1/C = {ridge:.3g}. "
            "Lower C or epsilon, or use solver='regularized_exponential'."
        )
    return max(min(wanted, most), least)


def _least_tolerance(problem: Problem, noise: float) -> float:
    """Return the shortest gradient that can be certified in the ball."""
    # Twice the rounding error, over the ¾ that count outside, and some space for a run to end in.
    # 3 is more than 2/¾. Near a minimum λ|θ| ≤ n·R·L + |b|, so the 2·(λ|θ| + |b|) units of
    # `Objective.rounding` are at most 2 units of n·R·L, of the 4 it leaves, and 4 units of |b|. A
    # normal vector of k entries is longer than √k + 10 with probability e^(−10²/2) at most.
    loss, R, d = problem.loss, problem.row_norm, problem.n_features or 1
    whole, of_score = record_error(loss, R, d, _ROUNDINGS, problem.clips, problem.parts)
    records = problem.covered_rows * (whole + of_score * longest(problem))
    return 3.0 * (records + 4.0 * UNIT * noise * (math.sqrt(d * loss.n_scores) + 10.0))


@dataclass(frozen=True, eq=False, repr=False)
class Objective:
    """J(θ) = `weight`·Σ ℓ(y_i, a_i·θ) + (`ridge`/2)·|θ|² + `tilt`·θ, ℓ smooth.

    If it `certifies`, gradients are summed in pieces of `ROWS_SUMMED` rows, so that `rounding`
    bounds their error; else in pieces that are fast.
    """

    design: Design
    loss: Loss
    row_norm: float  # R, with |a_i| ≤ R
    ridge: float  # λ > 0, the strong convexity
    tilt: np.ndarray
    weight: float = 1.0
    passes: list[int] = field(default_factory=lambda: [0])  # *private* count, for diagnostics
    certifies: bool = False
    clips: float = 1.0  # of a row, as in `Problem`
    parts: float = 1.0

    @classmethod
    def of(cls, problem: Problem, design: Design, ridge: float, tilt: np.ndarray) -> Objective:
        given = design, problem.loss, problem.row_norm, ridge, tilt
        return cls(*given, clips=problem.clips, parts=problem.parts)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return ∇J(θ) in one pass."""
        self.passes[0] += 1
        return self.weight * self._slope_sum(theta) + self.ridge * theta + self.tilt

    def _slope_sum(self, theta: np.ndarray) -> np.ndarray:
        if not self.certifies:
            return self.design.slope_sum(self.loss.gradient, theta)
        slopes = partial(_exactly_added, SlopeSum(self.loss.gradient, theta))
        found: _Sum = self.design.total(slopes, ROWS_SUMMED)
        return found.total + found.lost

    def rounding(self, theta: np.ndarray) -> float:
        """Return a bound of the distance of the certified gradient from the true ∇J(θ)."""
        # The sizes of all gradients add up to n·R·L at most, n the number of records.
        # λθ is rounded once, and so are the two additions, whose sums are nearly −b and 0. That is
        # less than 2 units of λ|θ| and of |b|. `_least_tolerance` needs the 4 units left out here.
        n, R, size = self.design.n_records, self.row_norm, float(np.linalg.norm(theta))
        terms = _ROUNDINGS - 4
        whole, of_score = record_error(
            *(self.loss, R, self.design.n_features, terms), clips=self.clips, parts=self.parts
        )
        records = n * self.weight * (whole + of_score * size)
        of_rest = 2.0 * UNIT * (self.ridge * size + float(np.linalg.norm(self.tilt)))
        return records + of_rest

    @property
    def is_narrow(self) -> bool:
        """Whether there are few enough columns for full second derivatives."""
        return self.design.n_features <= _MOST_COLUMNS

    @cached_property
    def sample(self) -> Objective:
        """The objective on an evenly spread sample of records, or on all if they are few."""
        d, n = self.design.n_features, self.design.n_samples
        least = 4 * d if self.is_narrow else 1024
        size = max(least, min(_SAMPLE, _SAMPLE_VALUES // d))
        if n <= 2 * size:
            return self
        rows = np.unique((n * ((_GOLDEN * np.arange(size)) % 1.0)).astype(int))
        part, weight = self.design.take(rows), self.weight * n / rows.size
        return replace(self, design=part, weight=weight, passes=[0])

    def metric(self, theta: np.ndarray) -> Metric:
        """Return the inverse of the Hessian of J at θ, from the sample, or of its diagonal."""
        part = self.sample
        curvature = partial(_curvature, part.loss, theta, part.weight)
        if part.is_narrow:
            return part._inverse_of(part.design.total(partial(curvature, False), _SAMPLE))
        diagonal = part.design.total(partial(curvature, True), _SAMPLE) + part.ridge
        return lambda g: (g.T / diagonal).T

    def majorizer(self) -> Metric:
        """Return the inverse of a matrix that bounds every Hessian of J."""
        n, most = self.design.n_samples, self.weight * self.loss.smoothness
        if not self.is_narrow:
            most_of_all = most * n * self.row_norm**2 + self.ridge
            return lambda g: g / most_of_all
        return self._inverse_of(most * self.design.cross_product())

    def _inverse_of(self, gram: np.ndarray) -> Metric:
        """Return the inverse of a matrix, to which λ·I is added in place."""
        # The last term keeps the matrix regular for all data, even if λ is lost in rounding.
        np.fill_diagonal(gram, gram.diagonal() + self.ridge + _SINGULAR * np.trace(gram))
        factor = cho_factor(gram)
        return lambda g: cho_solve(factor, g)


def _curvature(
    loss: Loss, theta: np.ndarray, weight: float, is_diagonal: bool, block: MemoryDesign
) -> np.ndarray:
    """Return Aᵀdiag(w)A of a block, or its diagonal; w is `weight` times the curvature at θ."""
    weights = weight * np.maximum(loss.curvature(block.targets, block.scores(theta)), 0.0)
    return block.gram_diagonal(weights) if is_diagonal else block.gram(weights)


@dataclass(frozen=True, eq=False, repr=False)
class _Sum:
    """A sum in floating point, and its rounding error."""

    total: np.ndarray
    lost: np.ndarray

    def __add__(self, other: _Sum) -> _Sum:
        lost = self.lost + other.lost + _error_of_sum(self.total, other.total)
        return _Sum(self.total + other.total, lost)


def _exactly_added(function: Callable[[MemoryDesign], np.ndarray], block: MemoryDesign) -> _Sum:
    """Return a function of a block as a sum whose later additions are exact except for `lost`."""
    part = function(block)
    return _Sum(part, np.zeros_like(part))


@dataclass(frozen=True, eq=False, repr=False)
class Minimum:
    """A point, and the gradient there."""

    theta: np.ndarray
    gradient: np.ndarray

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.gradient))

    def projected(self, radius: float) -> Minimum:
        """Return a copy with the point projected on the ball."""
        size = float(np.linalg.norm(self.theta))
        return self if size <= radius else replace(self, theta=self.theta * (radius / size))

    def squared(self, metric: Metric) -> float:
        """Return the squared length of the gradient in a metric."""
        return float(np.vdot(self.gradient, metric(self.gradient)))


def _error_of_sum(total: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the exact rounding error of `total` + `part`; Knuth, TAOCP 2, Theorem 4.2.2B."""
    rounded = total + part
    of_part = rounded - total
    return (total - (rounded - of_part)) + (part - of_part)


def minimize(objective: Objective, tolerance: float, radius: float = math.inf) -> Minimum:
    """Return a point within τ/λ of the minimum, both projected on the ball |θ| ≤ Θ.

    τ = `tolerance` and Θ = `radius` are *public.* If a quasi-Newton run stalls, steps of the
    majorizer M alternate with further runs, and runs that help are kept. θ − M⁻¹∇J has the gradient
    (M − H)M⁻¹∇J with a mean Hessian λI ≤ H ≤ M, shorter in the metric M⁻¹ by a factor below 1. So
    the loop ends, up to rounding.

    Inside the ball the true gradient is at most τ long, so the point is within e = τ/λ of the
    minimum. At a distance r > Θ from 0 it is at most ¾·τ·r/Θ long. After projection, two points x
    and y outside are at most Θ·|x − y|/√(|x|·|y|) apart, and other pairs are no farther apart than
    before. With e ≤ Θ/4 all of this is at most e, for ¾/√(1 − 3/16) and
    ¾/(1 − 3/16) are below 1.
    """
    target = _Target(objective, tolerance, radius)
    found = _arrive(target, _start(objective))
    certified = replace(target, objective=replace(objective, certifies=True))
    return _arrive(certified, certified.at(found.theta)).projected(radius)


@dataclass(frozen=True, eq=False, repr=False)
class _Target:
    """The end of a run: the gradient plus its rounding error is within the tolerance.

    A run also ends where the gradient is within its rounding error. This is within a
    `certified_tolerance`, which is more than twice that error.
    """

    objective: Objective
    tolerance: float
    radius: float

    def at(self, theta: np.ndarray) -> Minimum:
        return Minimum(theta, self.objective.gradient(theta))

    def is_reached(self, found: Minimum) -> bool:
        distance = float(np.linalg.norm(found.theta)) / self.radius
        allowed = self.tolerance * (1.0 if distance <= 1.0 else (1.0 - _MOST_MOVED) * distance)
        rounding = self.objective.rounding(found.theta)
        return found.length <= max(allowed - rounding, rounding)


def _arrive(target: _Target, found: Minimum) -> Minimum:
    """Return a point at which the target is reached: quasi-Newton runs, then majorizer steps."""
    found = _descend(target, found)
    if target.is_reached(found):
        return found
    majorizer = target.objective.majorizer()
    while not target.is_reached(found):
        safe = target.at(found.theta - majorizer(found.gradient))
        better = _descend(target, safe)
        if not target.is_reached(better):
            better = min(safe, better, key=lambda one: one.squared(majorizer))
        found = better
    return found


def _start(objective: Objective) -> Minimum:
    """Return the minimum for the sample, to about its statistical precision, or 0."""
    part, theta = objective.sample, np.zeros_like(objective.tilt)
    if part is not objective:
        of_one = part.weight * part.loss.lipschitz * part.row_norm
        error = 0.1 * of_one * math.sqrt(part.design.n_samples)
        rough = _Target(part, error, math.inf)
        theta = _descend(rough, rough.at(theta)).theta
    return Minimum(theta, objective.gradient(theta))


def _descend(target: _Target, found: Minimum) -> Minimum:
    """Return the end of a quasi-Newton run, or its best point if it stalls."""
    objective = target.objective
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_PAIRS)
    best, mark, patience, metric = found, found.length, _PATIENCE, None
    while patience and not target.is_reached(best):
        if metric is None:
            metric = objective.metric(found.theta)
        last, found = found, _step(objective, found, _direction(found.gradient, metric, pairs))
        pairs.append((found.theta - last.theta, found.gradient - last.gradient))
        slow = found.squared(metric) > _REFRESH**2 * last.squared(metric)
        metric = None if slow and objective.is_narrow else metric
        best, patience = min(best, found, key=lambda one: one.length), patience - 1
        if best.length <= 0.5 * mark:
            mark, patience = best.length, _PATIENCE
    return best


def _direction(
    gradient: np.ndarray, metric: Metric, pairs: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the L-BFGS direction: the metric, corrected by earlier steps."""
    kept = [(s, y, np.vdot(s, y)) for s, y in pairs if np.vdot(s, y) > 0.0]
    q, shares = gradient.copy(), []
    for s, y, sy in reversed(kept):
        shares.append(np.vdot(s, q) / sy)
        q -= shares[-1] * y
    q = metric(q)
    for (s, y, sy), share in zip(kept, reversed(shares), strict=True):
        q += (share - np.vdot(y, q) / sy) * s
    return -q


def _step(objective: Objective, found: Minimum, direction: np.ndarray) -> Minimum:
    """Return a point along the direction at which the derivative is nearly 0.

    The derivative rises along the line, since J is convex. Values of J are not used: digits cancel.
    """
    steepest = float(np.vdot(found.gradient, direction))
    low, at_low, high, at_high, t = 0.0, steepest, math.inf, 0.0, 1.0
    for _ in range(_TRIALS):
        theta = found.theta + t * direction
        trial = Minimum(theta, objective.gradient(theta))
        derivative = float(np.vdot(trial.gradient, direction))
        if abs(derivative) <= _FLAT * abs(steepest):
            break
        if derivative < 0.0:
            low, at_low = t, derivative
        else:
            high, at_high = t, derivative
        if math.isinf(high):
            t *= 4.0
        else:
            share = at_low / (at_low - at_high)
            t = low + min(max(share, 0.1), 0.9) * (high - low)
    return trial


_PRECISION = 1e-4  # of the loss's noise scale, in scores; far below any effect of the model
_MOST_C = 1e6  # in units of 1/curvature of a row; beyond, rounding hides the minimum


@dataclass(frozen=True, kw_only=True)
class MinimumPlan(Plan):
    """The minimum of Σ ℓ + |θ|²/(2C) over the rows of a private fit, at ``epsilon=inf``.

    Rows, targets and loss are the same as in a private fit, and C is the largest value of "auto".
    Private fits therefore approach this minimum as ε grows.
    """

    event: Event = field(default_factory=NonPrivateEvent)
    theorem: str = "none, epsilon=inf"

    @property
    def ridge(self) -> float:
        """λ = 1/C."""
        problem = self.problem
        most = _MOST_C / (problem.loss.smoothness * problem.row_norm**2)
        return 1.0 / min(problem.inverse_regularization(np.inf), most)

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        problem, R, C = self.problem, self.problem.row_norm, 1.0 / self.ridge
        start = np.zeros(problem.shape(design.n_features))
        objective = Objective.of(problem, design, self.ridge, start)
        found = minimize(objective, _PRECISION * problem.loss.noise_scale / (R * C))
        return Solution(found.theta, objective.passes[0], solver="minimizer", noise_bound=0.0)
