"""The proximal sampler in a ball that holds nearly all mass, in a metric that fits it there."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg

from skdp.design import Design
from skdp.research.samplers.proximal_chain import (
    ChainStart,
    Length,
    near_mode,
    refuse_endless,
    sample_by_chain,
    tune_chain,
)
from skdp.samplers.base import (
    Certificate,
    Effort,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
    plan_at_once,
)
from skdp.samplers.proximal import excess_is_below
from skdp.support.validation import check_real, make_plain

_EIGENVALUE_MARGIN = 1e-6  # relative; Cholesky's method proves what it leaves, or no ball is found

# These decide whether a ball is found and how many steps a chain in it takes. No guarantee rests on
# them.
_WIDEST = 500  # columns; a metric is a dense matrix
_CHUNK = 2048
_NEWTON_STEPS = 3
_RINGS = 10  # up to the radius that a Gaussian distribution would need
_MOST_RINGS = 30
_POINTS = 24  # of the quadrature in a ring
_USELESS = 0.03  # curvature at the rim, of that at the center
_CLOSE_ENOUGH = 0.3
_MOST_STEPS = 20
_TRIES_PER_POINT = 50

# Margins that the certificate rests on (*The numbers* under *Samplers* in the documentation).
_UNIT = 2.0**-53  # u, the relative error of one operation
_SUM_MARGIN = (
    1e-9  # relative, of sums of up to 10⁶ numbers, (10⁶ + 9)·u, and of elementary functions
)
# Solving with R is right to a relative d·u·cond(R). As 16·(n + d + 16)·u·tr ≤ α/8 for every ball,
# cond(R)² ≤ 2·tr/α ≤ 1/(64·(d + 16)·u), and d ≤ 500: below 3e-8.
_SOLVE_MARGIN = 1e-6
_SCORE_MARGIN = 1e-12  # of R·|p|: (d + 3)·u for d ≤ 500 columns is a tenth of it


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocalBall:
    """The points with |Lᵀ(θ − p)| ≤ ρ: all but `tail` of the mass; U − |Rᵀθ|²/2 is convex there."""

    center: np.ndarray  # p, near the mode, of shape (d,)
    shape: np.ndarray  # L, lower triangular, of shape (d, d)
    metric: np.ndarray  # R, lower triangular, of shape (d, d)
    radius: float  # ρ
    tail: float  # upper bound of the mass outside
    gradient_norm: float  # upper bound of |R⁻¹∇U(p)|
    # about the eigenvalues of R⁻¹·∇²U(p)·R⁻ᵀ, in units of 1, with eigenvectors `axes`
    curvatures: np.ndarray
    axes: np.ndarray  # of shape (d, d)

    def theta(self, v: np.ndarray) -> np.ndarray:
        """Return the θ with v = Rᵀ(θ − p)."""
        return self.center + linalg.solve_triangular(self.metric, v, lower=True, trans="T")

    def distance(self, theta: np.ndarray) -> float:
        """Return |Lᵀ(θ − p)|."""
        return float(np.linalg.norm(self.shape.T @ (theta - self.center)))

    def holds(self, theta: np.ndarray) -> bool:
        return self.distance(theta) <= self.radius


@dataclass(frozen=True, eq=False, repr=False)
class _Center:
    """A point p near the mode, and the target's derivatives there."""

    target: Target
    point: np.ndarray  # p, of shape (d,)
    rows: Design  # the target's, scored at p
    gradient: np.ndarray  # ∇U(p), of shape (d,)

    @classmethod
    def at(cls, target: Target, point: np.ndarray) -> _Center:
        """Return a center: one pass over the data."""
        return cls(target, point, *target.scored_gradient(point))

    @cached_property
    def hessian(self) -> np.ndarray:
        """∇²U(p), or what is known of it from below."""
        return self.least_hessian(np.zeros(self.rows.n_samples))

    @cached_property
    def shape(self) -> np.ndarray:
        """L, the Cholesky factor of `hessian`."""
        return linalg.cholesky(self.hessian, lower=True)

    def least_hessian(self, radius: np.ndarray) -> np.ndarray:
        """Return a lower bound of ∇²U where scores are within `radius` of those at p."""
        target, least = self.target, self.target.minorant.least_curvature
        total = target.prior_precision * np.eye(target.design.n_features)
        for rows in _slices(target.design.n_samples):
            block = self.rows.take(rows)
            curvature = least(block.targets, block.scores(self.point), radius[rows])
            total += block.gram((1.0 - _SUM_MARGIN) * target.temperature * curvature)
        return total

    def reaches(self) -> np.ndarray:
        """Return |L⁻¹a_i|, by how much a score moves per unit of radius: one pass over the data."""
        design, identity = self.target.design, np.eye(len(self.shape))
        inverse = linalg.solve_triangular(self.shape, identity, lower=True).T
        chunks = [design.take(rows).scores(inverse) for rows in _slices(design.n_samples)]
        return np.concatenate([np.linalg.norm(chunk, axis=1) for chunk in chunks])


def _slices(n: int) -> list[slice]:
    return [slice(i, i + _CHUNK) for i in range(0, n, _CHUNK)]


@dataclass(frozen=True, repr=False)
class _RoundingErrors:
    """Bounds of what floating point does to the numbers of a center."""

    # of a Hessian in norm: a sum of n products and a factorization of size d, of numbers that are
    # nowhere negative and add up to the trace
    matrix: float
    # of |L⁻¹a_i|, relatively: solving with L costs d² operations times its condition number
    distortion: float
    # of |R⁻¹g|, R·Rᵀ ≥ (α/2)·I: the error of a sum of n + 1 terms, over √(α/2)
    gradient_norm: float
    scores: float  # of a_i·p

    @classmethod
    def of(cls, center: _Center) -> _RoundingErrors:
        target, d, n = center.target, len(center.shape), center.rows.n_samples
        alpha, R, loss = target.prior_precision, target.row_norm, target.loss
        # The factors 16, 32 and 4 leave room. With u = `_UNIT` the errors are, to first order:
        # matrix: 2·(n + 3)·u·trace for two sums, since the norm of Σ w|a||a|ᵀ is at most the trace,
        # and (d + 1)·u·trace for each of three factorizations (Higham 2002, Theorem 10.3);
        # distortion: d·u·|L⁻¹|²·|L|² in Frobenius norms, whose squares are at most d/α and trace;
        # gradient: n·u of the sizes, and `smoothness` times (d + 3)·u·R|p| for the scores.
        trace, size = float(np.trace(center.hessian)), float(np.linalg.norm(center.point))
        terms = target.temperature * n * R * (loss.lipschitz + loss.smoothness * R * size)
        gradient = 4.0 * (n + d) * _UNIT * (terms + alpha * size)
        errors = cls(
            matrix=16.0 * (n + d + 16) * _UNIT * trace,
            distortion=32.0 * d * d * _UNIT * trace / alpha + _SUM_MARGIN,
            gradient_norm=gradient / math.sqrt(0.5 * alpha),
            scores=_SCORE_MARGIN * R * size,
        )
        # Then R·Rᵀ ≥ α − 3·(α/8) > α/2, which `gradient_norm` and `_SOLVE_MARGIN` rest on.
        if errors.matrix > alpha / 8.0 or errors.distortion > 0.25:
            raise linalg.LinAlgError("rounding could matter")
        return errors


def find_ball(target: Target, near_mode: np.ndarray, tail: float) -> tuple[LocalBall | None, int]:
    """Return a ball around a point near the mode that holds all but `tail` of the mass.

    It is None if none was found that would help. The number is that of per-example evaluations.
    Whatever a ball promises is on the safe side of rounding. Of wide data no metric is computed.
    """
    if target.design.n_features > _WIDEST:
        return None, 0
    n, center = target.design.n_samples, _Center.at(target, near_mode)
    n_evaluations, ball = n, None
    with suppress(linalg.LinAlgError, ValueError):  # a matrix is not safely positive, or not finite
        factor = (center.shape, True)
        for _ in range(_NEWTON_STEPS):
            point = center.point - linalg.cho_solve(factor, center.gradient)
            center, n_evaluations = _Center.at(target, point), n_evaluations + n
        errors = _RoundingErrors.of(center)
        reaches = center.reaches() * (1.0 + errors.distortion)
        n_evaluations += n
        ball = _grow(center, errors, reaches, tail)
    return ball, n_evaluations


def _grow(
    center: _Center, errors: _RoundingErrors, reaches: np.ndarray, tail: float
) -> LocalBall | None:
    """Return the first of growing balls whose tail is small enough, if it would help."""
    d, gradient_norm = len(center.shape), _gradient_norm(center, errors, center.shape)
    # A Gaussian distribution has less than `tail` beyond √d + √(2·log(1/tail)), since |x| is
    # 1-Lipschitz.
    width = (math.sqrt(d) + math.sqrt(-2.0 * math.log(tail))) / _RINGS
    curvatures: list[float] = []
    for ring in range(1, _MOST_RINGS + 1):
        least = center.least_hessian(reaches * ring * width + errors.scores)
        curvatures.append(_relative_curvature(center, errors, least))
        if curvatures[-1] < _USELESS:
            return None
        outside = tail_bound(d, width, curvatures, gradient_norm)
        if outside <= tail:
            return _ball(center, errors, least, ring * width, outside)
    return None


def _relative_curvature(center: _Center, errors: _RoundingErrors, least: np.ndarray) -> float:
    """Return a proved m ≤ 1 with `least` ≥ m·LLᵀ, nearly the largest.

    A Cholesky factor in floating point proves that its matrix is not far below 0 (Higham 2002,
    Theorem 10.7).
    """
    safe = least - errors.matrix * np.eye(len(least))
    ratio = float(linalg.eigh(safe, center.hessian, eigvals_only=True)[0])
    m = min(1.0, ratio) * (1.0 - _EIGENVALUE_MARGIN)
    linalg.cholesky(safe - m * center.hessian, lower=True)
    return m


def _ball(
    center: _Center, errors: _RoundingErrors, least: np.ndarray, radius: float, tail: float
) -> LocalBall:
    safe = least - 2.0 * errors.matrix * np.eye(len(least))
    metric = linalg.cholesky(safe, lower=True)
    half = linalg.solve_triangular(metric, center.shape, lower=True)
    curvatures, axes = np.linalg.eigh(half @ half.T)
    return LocalBall(
        center=center.point,
        shape=center.shape,
        metric=metric,
        radius=radius,
        tail=tail,
        gradient_norm=_gradient_norm(center, errors, metric),
        curvatures=curvatures,
        axes=axes,
    )


def _gradient_norm(center: _Center, errors: _RoundingErrors, factor: np.ndarray) -> float:
    """Return an upper bound of |F⁻¹∇U(p)| for a factor F."""
    whitened = linalg.solve_triangular(factor, center.gradient, lower=True)
    return float(np.linalg.norm(whitened)) * (1.0 + _SOLVE_MARGIN) + errors.gradient_norm


def tail_bound(d: int, width: float, curvatures: list[float], gradient_norm: float) -> float:
    """Return a bound of the mass beyond the last of rings of one width, in d dimensions.

    Along each ray from the center the potential's derivative is at least −`gradient_norm` at first,
    and its second derivative at least `curvatures` in the rings. With the radial potential ψ that
    has just these, the mass is at most ∫_ρ^∞ r^(d−1)·e^(−ψ) over the integral from 0. The
    integrand's logarithm f is concave: e^f(ρ)/(−f'(ρ)) is above the one, chords of f are below the
    other.
    """
    step = width / _POINTS
    second = np.minimum.accumulate(np.repeat(curvatures, _POINTS))
    first = np.concatenate([[0.0], np.cumsum(second)]) * step - gradient_norm
    potential = np.cumsum(0.5 * step * (first[1:] + first[:-1]))
    r = step * np.arange(1, second.size + 1)
    f = (d - 1.0) * np.log(r) - potential
    fall = first[-1] - (d - 1.0) / r[-1]
    if fall <= 0.0:
        return 1.0
    # f(ρ) is above all chords only if f peaks in the last cell. For the widths of `_grow` `fall`
    # times `within` is below 1 then: the bound is void, with the minimum below or without.
    chords = 0.5 * (f[1:] + f[:-1])
    top = chords.max()
    within = step * float(np.exp(chords - top).sum())
    return math.exp(min(f[-1] - top, 0.0)) / (float(fall) * within) * (1.0 + _SUM_MARGIN)


@dataclass(frozen=True, eq=False, repr=False)
class _LocalPoint:
    """A point of the ball, and what is known of the target there."""

    v: np.ndarray  # v₀, of shape (d,)
    theta: np.ndarray  # θ₀, of shape (d,)
    rows: Design  # the target's, scored at θ₀
    step: np.ndarray  # σ² times the gradient beyond that of |v|²/2, of shape (d,)


class LocalStep:
    """Draws in v = Rᵀ(θ − p), in which the potential is 1-strongly convex on the ball.

    There it lies above its tangent plus |v − v₀|²/2, for every v₀ in the ball: the Gaussian that
    is proposed. A proposal is accepted with probability e^(−E), E ≥ 0 the potential's excess over
    that, and never outside of the ball. `variance` is that of the proposals, in v.
    """

    def __init__(
        self, target: Target, ball: LocalBall, variance: float, rng: np.random.Generator
    ) -> None:
        self._target, self._ball, self._variance, self._rng = target, ball, variance, rng
        self._point = self._point_at(np.zeros_like(ball.center))
        self.effort = Effort(n_evaluations=target.design.n_samples)

    def attempt(self, center: np.ndarray, most_tries: int = _TRIES_PER_POINT) -> np.ndarray | None:
        """Return one sample for a center, or None if none is found within so many tries."""
        self._follow(center)
        mean, sd = center - self._point.step, math.sqrt(self._variance)
        for _ in range(most_tries):
            v = mean + sd * self._rng.standard_normal(mean.shape)
            accepted, n_evaluations = self._accepts(v)
            self.effort += Effort(1, n_evaluations)
            if accepted:
                return v
        return None

    def _follow(self, center: np.ndarray) -> None:
        """Move v₀ toward the mode for a center, by Newton steps."""
        weights, axes = 1.0 + self._variance * (self._ball.curvatures - 1.0), self._ball.axes
        for _ in range(_MOST_STEPS):
            residual = center - self._point.step - self._point.v
            if np.vdot(residual, residual) <= _CLOSE_ENOUGH * self._variance:
                return
            self._point = self._point_at(self._point.v + axes @ ((axes.T @ residual) / weights))
            self.effort += Effort(n_evaluations=self._target.design.n_samples)

    def _accepts(self, v: np.ndarray) -> tuple[bool, int]:
        """Draw whether a proposal is taken; return also the number of evaluations."""
        theta, point = self._ball.theta(v), self._point
        if not self._ball.holds(theta):
            return False, 0
        step, moved = v - point.v, theta - point.theta
        gained = 0.5 * float(step @ step - self._target.prior_precision * (moved @ moved))
        limit = float(self._rng.standard_exponential()) + gained
        return excess_is_below(limit, self._target, point.rows, theta, point.theta)

    def _point_at(self, v: np.ndarray) -> _LocalPoint:
        """Return a point, drawn back into the ball from outside: one pass over the data."""
        distance = self._ball.distance(self._ball.theta(v))
        v = v * min(1.0, 0.999 * self._ball.radius / max(distance, 1e-300))
        theta = self._ball.theta(v)
        rows, gradient = self._target.scored_gradient(theta)
        whitened = linalg.solve_triangular(self._ball.metric, gradient, lower=True)
        return _LocalPoint(v, theta, rows, self._variance * (whitened - v))


_TAIL_SHARE = 0.5  # of the total variation that mass outside of the ball may take

# These choose between two chains that are both within the distance. No guarantee rests on them.
_SEARCH_PASSES = 200.0  # over the data, that it costs to find a ball
_LOCAL_PASS = 1.5  # passes of the plain chain: its acceptance test reads few records


def in_ball(target: Target, ball: LocalBall, rng: np.random.Generator) -> ChainStart:
    """Return the center of a ball, as a start for chains in the coordinates v = Rᵀ(θ − p)."""
    distance = math.sqrt(ball.center.size) + ball.gradient_norm
    return ChainStart(
        start=np.zeros_like(ball.center),
        precision=1.0,
        curvatures=np.maximum(ball.curvatures - 1.0, 0.0),
        distance=distance * (1.0 + _SUM_MARGIN),
        step=lambda variance: LocalStep(target, ball, variance, rng),
        theta=ball.theta,
        facts={"radius": ball.radius, "tail": ball.tail},
    )


@dataclass(frozen=True)
class LocalizedSampler(Sampler):
    """Proximal sampler in a ball around the mode, with a metric chosen by the data.

    The ball contains all but a proved, tiny part of the mass. In it the Hessian of the potential is
    at least a matrix A ≥ α·I, which replaces α·I, so steps have to resolve only the remaining
    curvature. With many records and a weak ridge little remains. Otherwise the chain of
    `ProximalTVSampler` is run; which of them is run is not released.

    Parameters
    ----------
    max_passes : float
        *Public.* Largest allowed number of passes, predicted for the worst data.

    Notes
    -----
    **Certificate: tv.** The mass outside of the ball, plus Theorem B's bound for what is inside:
    *Samplers* in the documentation.
    """

    certifies: ClassVar[Certificate] = Certificate.TV
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B in a ball"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {Requirement.ROW_COUNT, Requirement.SMOOTH_LOSS, Requirement.ONE_SCORE}
    )
    counts_rows: ClassVar[bool] = False

    max_passes: float = 1e6

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_passes", self.max_passes, low=0.0)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        refuse_endless("LocalizedSampler", setting, tv, self.max_passes)
        return plan_at_once(setting.C, tv)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        start, length, effort = _choose(target, plan.tv, rng)
        sample = sample_by_chain(start, length, rng, effort)
        progress(1, 1)
        return sample


def _choose(
    target: Target, tv: float, rng: np.random.Generator
) -> tuple[ChainStart, Length, Effort]:
    """Return a chain in a ball, or the plain one if that is about as cheap, and all effort."""
    start = near_mode(target, rng)
    length, effort = tune_chain(start, tv, rng)
    effort += start.effort
    if length.n_steps <= _SEARCH_PASSES:
        return start, length, effort
    ball, n_evaluations = find_ball(target, start.start, _TAIL_SHARE * tv)
    effort += Effort(n_evaluations=n_evaluations)
    if ball is None:
        return start, length, effort
    local = in_ball(target, ball, rng)
    local_length, tuning = tune_chain(local, tv - ball.tail, rng)
    if _LOCAL_PASS * local_length.passes >= length.n_steps:
        return start, length, effort + tuning
    return local, local_length, effort + tuning
