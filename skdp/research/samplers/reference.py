"""Chains that are right in the limit only: Metropolis walks and Gibbs samplers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy import linalg

from skdp.design import in_memory
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss, Loss, Minorant
from skdp.samplers.base import Certificate, Progress, Sample, Sampler, SamplerPlan, Setting, Target
from skdp.support.validation import check_count, check_real, make_plain


@dataclass(frozen=True)
class ReferenceSampler(Sampler):
    """A chain of a public number of steps that is right in the limit only.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    """

    certifies: ClassVar[Certificate] = Certificate.ASYMPTOTIC
    counts_rows: ClassVar[bool] = False

    n_steps: int = 200

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_steps", self.n_steps)
        for name in (one.name for one in fields(self) if one.name != "n_steps"):  # lengths
            if getattr(self, name) is not None:
                check_real(name, getattr(self, name), low=0.0)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        return SamplerPlan(n_steps=self.n_steps, step=setting.C, stability=1.0, spread=setting.C)


_TAIL = 8.0


@dataclass(frozen=True, eq=False, repr=False)
class Density:
    """U(θ) = c·Σ ℓ(y_i, a_i·θ) + (α/2)·|θ|² of a target."""

    target: Target

    def potential(self, theta: np.ndarray, scores: np.ndarray | None = None) -> float:
        """Return U(θ), inf outside of the domain; `scores` are a_i·θ where they are known."""
        target = self.target
        if target.domain is not None and not target.domain.holds(theta):
            return math.inf
        design = in_memory(target.design)
        scores = design.scores(theta) if scores is None else scores
        losses = float(target.loss.value(design.targets, scores).sum())
        ridge = 0.5 * target.prior_precision * float(np.vdot(theta, theta))
        return target.temperature * losses + ridge

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return U(θ) and a subgradient there: one evaluation of each record."""
        rows, gradient = self.target.scored_gradient(theta)
        return self.potential(theta, rows.take(slice(None)).scores(theta)), gradient

    def typical_hessian(self) -> np.ndarray:
        """Return c·w·AᵀA + α·I of shape (d, d), w a curvature that is typical of the loss."""
        gram = self._typical_weight * self.target.design.cross_product()
        return gram + self.target.prior_precision * np.eye(len(gram))

    @property
    def typical_precision(self) -> float:
        """α + c·w·n·R²/k for k coefficients: a curvature of U, were the rows in all directions."""
        target = self.target
        trace = self._typical_weight * target.design.n_samples * target.row_norm**2
        return target.prior_precision + trace / math.prod(target.shape)

    @property
    def radius(self) -> float:
        """A radius r such that |θ| > r has probability below 2e-14.

        |θ| > B + (√k + 8)/√α has no more, for any B ≥ |θ*|, θ* the mode. B² = 2·U(0)/α, as
        losses are at least 0 and U(θ*) ≤ U(0). One evaluation of each record.
        """
        alpha, start = self.target.prior_precision, np.zeros(self.target.shape)
        mode = math.sqrt(2.0 * max(self.potential(start), 0.0) / alpha)
        return mode + (math.sqrt(start.size) + _TAIL) / math.sqrt(alpha)

    @property
    def _typical_weight(self) -> float:
        loss = self.target.loss
        w = min(Minorant.of(loss).smoothness, loss.lipschitz / loss.noise_scale)
        return self.target.temperature * w


@dataclass(frozen=True)
class MALASampler(ReferenceSampler):
    """Metropolis-adjusted Langevin: propose θ' = θ − h·M⁻¹∇U(θ) + √(2h)·M^(−1/2)·ξ, then test.

    M = c·w·AᵀA + α·I is fixed, w a typical curvature of the loss, and h = step_scale/k^(1/3) for k
    coefficients. The density is invariant for any loss, smooth or not. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    step_scale : float
        Length of a step; around 1 for a smooth loss.

    Notes
    -----
    **Certificate: asymptotic.** Proofs of rapid mixing exist without usable constants.

    References
    ----------
    Roberts and Tweedie, "Exponential convergence of Langevin distributions and their discrete
    approximations", Bernoulli 2, 1996.
    """

    theorem: ClassVar[str] = "Metropolis-adjusted Langevin algorithm: right in the limit only"

    step_scale: float = 1.0

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        chain = _Chain(Density(target), np.zeros(target.shape), self.step_scale, rng)
        for step in range(1, plan.n_steps + 1):
            chain.move()
            progress(step, plan.n_steps)
        found = {"n_evaluations": (1 + plan.n_steps) * target.design.n_samples}
        return Sample(chain.theta, {**found, "acceptance_rate": chain.n_accepted / plan.n_steps})


class _Chain:
    """The state θ, with what is known of U there."""

    def __init__(
        self, density: Density, start: np.ndarray, step_scale: float, rng: np.random.Generator
    ) -> None:
        self._density, self._rng = density, rng
        self._factor = linalg.cholesky(density.typical_hessian(), lower=True)
        self.theta = start
        self._h = step_scale / math.cbrt(self.theta.size)
        self._energy, self._gradient = self._value_and_scaled_gradient(self.theta)
        self.n_accepted = 0

    def move(self) -> None:
        """Propose, and accept or stay; in v = Lᵀθ, M = LLᵀ, proposals have covariance 2h·I."""
        noise = math.sqrt(2.0 * self._h) * self._rng.standard_normal(self.theta.shape)
        step = noise - self._h * self._gradient
        theta = self.theta + linalg.solve_triangular(self._factor, step, lower=True, trans="T")
        energy, gradient = self._value_and_scaled_gradient(theta)
        back = step - self._h * gradient  # −(noise of the way back)
        gain = self._energy - energy
        gain += float(np.vdot(noise, noise) - np.vdot(back, back)) / (4.0 * self._h)
        if self._rng.standard_exponential() > -gain:
            self.theta, self._energy, self._gradient = theta, energy, gradient
            self.n_accepted += 1

    def _value_and_scaled_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return U(θ) and L⁻¹∇U(θ), the gradient in v."""
        energy, gradient = self._density.value_and_gradient(theta)
        return energy, linalg.solve_triangular(self._factor, gradient, lower=True)


@dataclass(frozen=True)
class HitAndRunSampler(ReferenceSampler):
    """Hit-and-run: move along the chord of the ball |θ| ≤ r through θ in a uniform direction.

    The move draws a level below the density at θ, then points of the chord, uniform on an interval
    that shrinks toward θ, until one is above the level. It keeps the density on the chord
    invariant, hence the density on the ball. Values of U suffice. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    radius : float or None
        r. With None the ball holds all but 2e-14 of the mass (*Reference samplers* in the
        documentation).

    Notes
    -----
    **Certificate: asymptotic.** Proofs of mixing in a convex body exist without usable constants.

    References
    ----------
    Lovász and Vempala, "Hit-and-run from a corner", SIAM Journal on Computing 35, 2006.
    Neal, "Slice sampling", Annals of Statistics 31, 2003.
    """

    theorem: ClassVar[str] = "hit-and-run in a ball: right in the limit only"
    takes_domain: ClassVar[bool] = True

    radius: float | None = None

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        theta, n_points = np.zeros(target.shape), int(self.radius is None)
        radius = density.radius if self.radius is None else self.radius
        if target.domain is not None:
            radius = min(radius, target.domain.radius)
        for step in range(1, plan.n_steps + 1):
            direction = rng.standard_normal(theta.shape)
            direction /= np.linalg.norm(direction)
            theta, more = _along_chord(density, theta, direction, radius, rng)
            n_points += more
            progress(step, plan.n_steps)
        n_evaluations = n_points * target.design.n_samples
        return Sample(theta, {"n_evaluations": n_evaluations, "radius": radius})


def _along_chord(
    density: Density,
    theta: np.ndarray,
    direction: np.ndarray,
    radius: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Return the next state, and of how many points the potential was asked for."""
    design = in_memory(density.target.design)
    scores, rates = design.scores(theta), design.scores(direction)
    level = density.potential(theta, scores) + rng.standard_exponential()
    along = float(np.vdot(theta, direction))
    half = math.sqrt(max(along**2 + radius**2 - float(np.vdot(theta, theta)), 0.0))
    low, high, n_points = -along - half, -along + half, 1
    while True:
        t = rng.uniform(low, high)
        n_points += 1
        if density.potential(theta + t * direction, scores + t * rates) <= level:
            return theta + t * direction, n_points
        low, high = (t, high) if t < 0.0 else (low, t)


@dataclass(frozen=True)
class GridWalkSampler(ReferenceSampler):
    """Metropolis walk on the points s·z of a cube |θ_j| ≤ r, z integer, by steps along one axis.

    With probability 1/2 the state stays. Otherwise a uniform neighbor is proposed, rejected outside
    the cube, and accepted with the Metropolis probability. The distribution with weights exp(−U) on
    the grid is invariant; the sample is a point of the grid. A run starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    spacing_scale : float
        s·√λ, λ = α + c·w·n·R²/k a typical curvature of U, for k coefficients and w a curvature
        that is typical of the loss.
    radius : float or None
        r, rounded up to a multiple of s. With None the cube holds all but 2e-14 of the mass
        (*Reference samplers* in the documentation).

    Notes
    -----
    **Certificate: asymptotic.** The weights of the last state's distribution are between e^(−b) and
    e^b times those of the grid's, b the diagnostic ``log_ratio_bound``: a multiplicative bound, as
    pure differential privacy needs it, with explicit constants. With one coefficient and five
    records it is infinite for less than 10⁹ steps, and it is not of a kind that a solver can
    count.

    References
    ----------
    Applegate and Kannan, "Sampling and integration of near log-concave functions", STOC 1991.
    Bassily, Smith and Thakurta, "Private empirical risk minimization: efficient algorithms and
    tight error bounds", FOCS 2014, Section 3.
    """

    theorem: ClassVar[str] = "walk on a grid: right in the limit only"

    n_steps: int = 2000
    spacing_scale: float = 0.5
    radius: float | None = None

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        spacing = self.spacing_scale / math.sqrt(density.typical_precision)
        radius = density.radius if self.radius is None else self.radius
        walk = _GridWalk(density, spacing, math.ceil(radius / spacing), rng)
        for step in range(1, plan.n_steps + 1):
            walk.move()
            progress(step, plan.n_steps)
        passes = walk.n_passes + (self.radius is None)
        found = {"n_evaluations": passes * target.design.n_samples, "spacing": spacing}
        bound = log_ratio_bound(target, spacing, walk.half_width, plan.n_steps)
        return Sample(
            walk.theta, {**found, "half_width": walk.half_width, "log_ratio_bound": bound}
        )


def log_ratio_bound(target: Target, spacing: float, half_width: int, n_steps: int) -> float:
    """Return b: after `n_steps` from 0 all weights are within e^(±b) of the grid's.

    The grid has 2·`half_width` + 1 points along each axis.
    """
    k, alpha = math.prod(target.shape), target.prior_precision
    lipschitz = target.temperature * target.design.n_samples * target.loss.lipschitz
    lipschitz *= target.row_norm
    reach = spacing * half_width * math.sqrt(k)
    corner = reach + 0.5 * spacing * math.sqrt(k)
    within_cell = 0.5 * spacing * math.sqrt(k) * (lipschitz + alpha * corner)
    conductance = spacing * math.exp(-2.0 * within_cell) / (4.0 * k * corner)
    log_least = -2.0 * lipschitz * reach - 0.5 * alpha * reach**2
    log_least -= k * math.log(2 * half_width + 1)
    log_error = n_steps * math.log1p(-0.5 * conductance**2) - log_least
    return -math.log1p(-math.exp(log_error)) if log_error < 0.0 else math.inf


class _GridWalk:
    """The state θ = s·z, with U there."""

    def __init__(
        self, density: Density, spacing: float, half_width: int, rng: np.random.Generator
    ) -> None:
        self._density, self._rng, self._spacing = density, rng, spacing
        self.half_width = half_width
        self.place = np.zeros(density.target.shape, dtype=np.int64)
        self._energy = density.potential(self.theta)
        self.n_passes = 1

    @property
    def theta(self) -> np.ndarray:
        return self._spacing * self.place

    def move(self) -> None:
        """Rest, or propose a neighbor, and go or stay."""
        axis, way = divmod(int(self._rng.integers(4 * self.place.size)), 4)
        if way > 1:
            return
        before = self.place.flat[axis]
        after = before + 2 * way - 1
        if abs(after) > self.half_width:
            return
        self.place.flat[axis] = after
        energy = self._density.potential(self.theta)
        self.n_passes += 1
        if energy - self._energy <= self._rng.standard_exponential():
            self._energy = energy
        else:
            self.place.flat[axis] = before


@dataclass(frozen=True)
class BallWalkSampler(ReferenceSampler):
    """Metropolis walk with uniform proposals in a ball around θ.

    Proposals outside the ball |θ| ≤ r are rejected. The density on that ball is invariant. A run
    starts at 0.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    reach_scale : float
        The reach times √λ, λ = α + c·w·n·R²/k a typical curvature of U, for k coefficients and w a
        curvature that is typical of the loss: standard deviations, where the rows take all
        directions alike.
    radius : float or None
        r. With None the ball holds all but 2e-14 of the mass (*Reference samplers* in the
        documentation).

    Notes
    -----
    **Certificate: asymptotic.** The walk mixes in about k³ steps from a warm start in isotropic
    position; the proofs have no usable constants.

    References
    ----------
    Kannan, Lovász and Simonovits, "Random walks and an O*(n⁵) volume algorithm for convex bodies",
    Random Structures and Algorithms 11, 1997.
    Jia, Laddha, Lee and Vempala, "Reducing isotropy and volume to KLS", STOC 2021.
    """

    theorem: ClassVar[str] = "ball walk in a ball: right in the limit only"

    n_steps: int = 500
    reach_scale: float = 2.0
    radius: float | None = None

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        density = Density(target)
        radius = density.radius if self.radius is None else self.radius
        reach = self.reach_scale / math.sqrt(density.typical_precision)
        walk = _BallWalk(density, np.zeros(target.shape), reach, radius, rng)
        for step in range(1, plan.n_steps + 1):
            walk.move()
            progress(step, plan.n_steps)
        passes = walk.n_passes + (self.radius is None)
        found = {
            "n_evaluations": passes * target.design.n_samples,
            "radius": radius,
            "reach": reach,
        }
        return Sample(walk.theta, {**found, "acceptance_rate": walk.n_accepted / plan.n_steps})


class _BallWalk:
    """The state θ, with U there."""

    def __init__(
        self,
        density: Density,
        start: np.ndarray,
        reach: float,
        radius: float,
        rng: np.random.Generator,
    ) -> None:
        self._density, self._rng = density, rng
        self._reach, self._radius = reach, radius
        self.theta, self._energy = start, density.potential(start)
        self.n_passes, self.n_accepted = 1, 0

    def move(self) -> None:
        """Propose, and go or stay."""
        theta = self.theta + self._reach * self._in_unit_ball()
        if float(np.linalg.norm(theta)) > self._radius:
            return
        energy = self._density.potential(theta)
        self.n_passes += 1
        if energy - self._energy <= self._rng.standard_exponential():
            self.theta, self._energy = theta, energy
            self.n_accepted += 1

    def _in_unit_ball(self) -> np.ndarray:
        direction = self._rng.standard_normal(self.theta.shape)
        length = float(self._rng.random()) ** (1.0 / direction.size)
        return length / float(np.linalg.norm(direction)) * direction


_TERMS = 200  # of the series of a Pólya-Gamma number
_CHUNK = 1 << 20  # gamma numbers at a time
_LEAST_GAP = 1e-12  # of a margin from 1, which it meets with probability 0


@dataclass(frozen=True)
class GibbsSampler(ReferenceSampler):
    """A chain from 0 that is made for one loss; a subclass gives the loss and a step.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    """

    theorem: ClassVar[str] = "Gibbs sampler: right in the limit only"
    loss: ClassVar[Loss]

    def check(self, setting: Setting) -> None:
        super().check(setting)
        if setting.loss != self.loss:
            raise IncompatibleSolverError(
                f"{type(self).__name__} needs {self.loss!r}, got {setting.loss!r}. "
                "Use sampler='proximal'."
            )

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            theta = self._move(target, theta, rng)
            progress(step, plan.n_steps)
        return Sample(theta, {"n_evaluations": plan.n_steps * target.design.n_samples})

    @abstractmethod
    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the coefficients after a step."""


def _gaussian_given(
    target: Target, weights: np.ndarray, pull: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw θ ~ N(P⁻¹Aᵀ·pull, P⁻¹), P = Aᵀ·diag(weights)·A + α·I."""
    design = in_memory(target.design)
    precision = design.gram(weights) + target.prior_precision * np.eye(design.n_features)
    factor = linalg.cholesky(precision, lower=True)
    mean = linalg.solve_triangular(factor, design.weighted_sum(pull), lower=True)
    noise = rng.standard_normal(target.shape)
    return linalg.solve_triangular(factor, mean + noise, lower=True, trans="T")


@dataclass(frozen=True)
class LogisticGibbsSampler(GibbsSampler):
    """Gibbs sampler of the logistic loss, with a Pólya-Gamma variable per record.

    With z_i = y_i·a_i and m = z_i·θ, (1 + e^(−m))^(−c) is the integral over ω of
    e^(cm/2 − ωm²/2) against the distribution PG(c, 0). Given θ, ω_i ~ PG(c, z_i·θ); given ω,
    θ ~ N(P⁻¹Zᵀ(c/2), P⁻¹) with P = Zᵀ·diag(ω)·Z + α·I. A number from PG(c, m) is a series of gamma
    numbers. The first 200 are sampled. The others have less than 1e-9 of the variance and are
    replaced by their mean.

    Parameters
    ----------
    n_steps : int
        Steps of one run, which starts at 0.

    Notes
    -----
    **Certificate: asymptotic.**

    References
    ----------
    Polson, Scott and Windle, "Bayesian inference for logistic models using Pólya-Gamma latent
    variables", Journal of the American Statistical Association 108, 2013.
    """

    theorem: ClassVar[str] = "Gibbs sampler of the logistic loss: right in the limit only"
    loss: ClassVar[Loss] = LogisticLoss()

    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        c, design = target.temperature, in_memory(target.design)
        weights = _polya_gamma(c, np.abs(design.scores(theta)), rng)
        return _gaussian_given(target, weights, 0.5 * c * design.targets, rng)


def _polya_gamma(shape: float, tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from PG(shape, tilt): Σ_k g_k/(2π²·((k − ½)² + (tilt/2π)²)), g_k ~ Gamma(shape, 1)."""
    squares = (np.arange(1.0, _TERMS + 1.0) - 0.5) ** 2
    drawn, head = np.empty(tilt.shape), np.empty(tilt.shape)
    step = _CHUNK // _TERMS
    for start in range(0, tilt.size, step):
        rows = slice(start, start + step)
        terms = squares + (tilt[rows, None] / (2.0 * math.pi)) ** 2
        terms = 0.5 / (math.pi**2 * terms)
        drawn[rows] = (rng.standard_gamma(shape, terms.shape) * terms).sum(axis=1)
        head[rows] = shape * terms.sum(axis=1)
    small = tilt < 1e-4
    half = np.where(small, 1.0, 0.5 * tilt)
    mean = shape * np.where(small, 0.25, 0.25 * np.tanh(half) / half)
    return drawn + np.maximum(mean - head, 0.0)


@dataclass(frozen=True)
class HingeGibbsSampler(GibbsSampler):
    """Gibbs sampler of the hinge loss, with a scale variable per record.

    With z_i = y_i·a_i and b = c/2, exp(−c·max(0, u)) is the integral over λ > 0 of a multiple of
    λ^(−1/2)·exp(−(u + bλ)²/(2λ)), u = 1 − z_i·θ. Given θ, 1/λ_i is inverse Gaussian with mean
    b/|u_i| and shape b²; given λ, θ ~ N(P⁻¹Zᵀ(1/λ + b), P⁻¹) with P = Zᵀ·diag(1/λ)·Z + α·I.

    Parameters
    ----------
    n_steps : int
        Steps of one run, which starts at 0.

    Notes
    -----
    **Certificate: asymptotic.**

    References
    ----------
    Polson and Scott, "Data augmentation for support vector machines", Bayesian Analysis 6, 2011.
    """

    theorem: ClassVar[str] = "Gibbs sampler of the hinge loss: right in the limit only"
    loss: ClassVar[Loss] = HingeLoss()

    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        b, design = 0.5 * target.temperature, in_memory(target.design)
        y = design.targets
        gap = np.maximum(np.abs(1.0 - y * design.scores(theta)), _LEAST_GAP)
        weights = _inverse_gaussian(b / gap, b * b, rng)
        return _gaussian_given(target, weights, y * (weights + b), rng)


def _inverse_gaussian(mean: np.ndarray, shape: float, rng: np.random.Generator) -> np.ndarray:
    """Draw as Michael, Schucany and Haas (1976) do, without the difference of large numbers."""
    w = 0.5 * mean * rng.standard_normal(mean.shape) ** 2 / shape
    small = mean / (1.0 + w + np.sqrt(w * (w + 2.0)))
    return np.where(rng.random(mean.shape) * (mean + small) <= mean, small, mean * (mean / small))
