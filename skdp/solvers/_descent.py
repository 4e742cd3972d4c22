"""Noisy gradient descent, shared by all solvers that take noisy steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import (
    Event,
    GaussianEvent,
    GDPEvent,
    Neighboring,
    PoissonSampledEvent,
    SelfComposedEvent,
)
from skdp.samplers.base import Progress
from skdp.solvers._releases import MachineSum, Metric, gradient_sum
from skdp.solvers.base import SCALE_MARGIN, Plan, Problem, Solver, composed, rounded
from skdp.support.random import likely_size, poisson_samples
from skdp.support.safe_numbers import first_to_hold

_SHARE_OF_ERRORS = 0.01  # of μ, for rounding errors; no guarantee rests on it
_PRECISION = 1e-3  # relative, of σ; the accountant checks the returned σ
SAMPLED = (
    "Poisson-sampled Gaussian steps composed numerically; Zhu, Dong and Wang 2022, Theorems 10, 11;"
    " Lebeda, Regehr, Kamath and Steinke 2024"
)


def longest_step(problem: Problem, n: int) -> float:
    """Return a step h with h·M at most 2 and h/C at most 1, M the curvature and the ridge."""
    return 1.0 / (0.5 * problem.worst_curvature(n) + problem.ridge)


def require_stable(problem: Problem, step_size: float | None, momentum: float) -> None:
    """Raise if steps along the ridge alone diverge: with momentum β, if h/C ≥ 2(1 + β)."""
    if step_size is not None and step_size * problem.ridge >= 2.0 * (1.0 + momentum):
        raise IncompatibleSolverError(
            f"step_size={step_size!r} diverges with C={problem.C!r}: step_size/C must be below "
            "2·(1 + momentum)."
        )


@dataclass(frozen=True, kw_only=True)
class DescentPlan(Plan):
    """A plan of a run that can start from any coefficients, *public or released;* None for 0."""

    start: np.ndarray | None = field(default=None, compare=False, repr=False)

    def first(self, design: Design) -> np.ndarray:
        """Return the coefficients from which the run starts."""
        zero = np.zeros(self.problem.shape(design.n_features))
        return zero if self.start is None else self.start


class DescentSolver(Solver):
    """A solver by descent."""

    takes_blocks = True
    takes_persons = True

    def resume(self, plan: DescentPlan, start: np.ndarray) -> DescentPlan:
        """Return the plan of a run that starts from given coefficients.

        Parameters
        ----------
        plan : Plan
            *Public.* From this solver's `plan`.
        start : ndarray of the shape of θ
            *Public or released.*

        Returns
        -------
        Plan
            Its event is the same.
        """
        return replace(plan, start=start)


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Public numbers of a run of θ ← θ − h·v, v ← β·v + (estimate of ∇F(θ) + noise).

    F(θ) = Σ ℓ(y_i, a_i·θ) + |θ|²/(2C), a sum over all rows.
    """

    n_steps: int  # T
    step_size: float  # h; the run flows for a time T·h/(1 − β)
    release: GridGaussian  # of each estimate
    ridge: float  # 1/C
    momentum: float = 0.0  # β in [0, 1)
    average: float = 0.0  # last share of the run, whose iterates are averaged; 0: the last iterate
    rate: float = 1.0  # of a sample, whose sums are divided by it
    radius: float = math.inf  # iterates are projected on this ball

    @property
    def noise(self) -> float:
        """Standard deviation of the noise in each coordinate of each estimate."""
        return self.release.scale / self.rate

    @property
    def last_noise(self) -> float:
        """Standard deviation of the noise of the last steps alone; it sets the public grid."""
        return self.step_size * self.noise / math.sqrt(self.n_averaged)

    @property
    def whole_noise(self) -> float:
        """Bound of the standard deviation of the result in any direction.

        For constant curvature λ and stable steps, h·λ ≤ 2(1 + β), the response to an impulse is at
        most h/(1 − β) at all later times: it is a Chebyshev polynomial, largest for λ = 0. With a
        metric P the covariance is at most this number's square times P.
        """
        return self.step_size * self.noise * math.sqrt(self.n_steps) / (1.0 - self.momentum)

    @property
    def drift(self) -> float:
        """By how much the result moves under a constant force of 1: for how long the run flows."""
        return float(self._responses.sum())

    @property
    def flat_noise(self) -> float:
        """Standard deviation of the result in each direction where the data do not contract it."""
        return self.noise * float(np.linalg.norm(self._responses))

    @property
    def _responses(self) -> np.ndarray:
        """By how much the result moves for the force of each step, where nothing contracts it."""
        ages, k = np.arange(1, self.n_steps + 1), self.n_averaged
        responses = self.step_size * (1.0 - self.momentum**ages) / (1.0 - self.momentum)
        sums = np.append(0.0, np.cumsum(responses))  # of the last iterate's, over ages
        return np.asarray((sums[ages] - sums[np.maximum(ages - k, 0)]) / k)

    @property
    def n_averaged(self) -> int:
        return max(1, round(self.average * self.n_steps))

    def run(
        self,
        start: np.ndarray,
        gradient: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
        progress: Progress,
        metric: Metric | None = None,
    ) -> np.ndarray:
        """Return the released iterate; `gradient` sums gradients of the sample, without noise.

        With a metric, forces are multiplied by its matrix P.
        """
        theta, velocity, total = self._projected(start), np.zeros_like(start), np.zeros_like(start)
        noise = self.release.stream(start.size, self.n_steps, rng)
        for step in range(1, self.n_steps + 1):
            force = self.release.add(gradient(theta), next(noise)) / self.rate
            force += self.ridge * theta
            velocity = self.momentum * velocity + (metric.apply(force) if metric else force)
            theta = self._projected(theta - self.step_size * velocity)
            if step > self.n_steps - self.n_averaged:
                total += theta
            progress(step, self.n_steps)
        return rounded(total / self.n_averaged, self.last_noise)

    def _projected(self, theta: np.ndarray) -> np.ndarray:
        length = math.sqrt(float(np.vdot(theta, theta)))
        return theta if length <= self.radius else theta * (self.radius / length)


@dataclass(frozen=True)
class SampledSteps:
    """Gaussian releases of sums of gradients over Poisson samples, with noise for rounding errors.

    The sum of the other records has a rounding error that may depend on whether the record is in
    the sample. So the noise has two parts: one for the record, and one for the errors.
    """

    rate: float  # q
    sigma: float  # standard deviation of the noise in units of the longest gradient
    n_steps: int
    mu_of_errors: float  # Gaussian-DP parameter of the noise that covers rounding errors

    @classmethod
    def plan(
        cls,
        others: tuple[Event, ...],
        rate: float,
        T: int,
        neighboring: Neighboring,
        epsilon: float,
        delta: float,
    ) -> SampledSteps:
        """Return T steps that are (ε, δ)-DP together with `others`."""
        mu = _SHARE_OF_ERRORS * gdp_mu(epsilon, delta)
        whole = (*others, GDPEvent(mu))
        sigma = noise_multiplier(whole, rate, T, neighboring, epsilon, delta)
        return cls(rate, sigma, T, mu)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of both parts of the noise."""
        return GDPEvent(self.mu_of_errors), sampled_steps(self.rate, self.sigma, self.n_steps)

    def samples(self, n: int, rng: np.random.Generator) -> Iterator[np.ndarray | None]:
        """Return an iterator of samples out of `n` records, None for all."""
        if self.rate == 1.0:
            return itertools.repeat(None)
        return poisson_samples(n, self.rate, self.n_steps, rng)

    def sums(self, problem: Problem, longest: float) -> MachineSum:
        """Return the facts of sums over samples; larger ones have a chance of e^−700 at most."""
        n = problem.covered_rows
        most = n if self.rate == 1.0 else likely_size(n, self.rate)
        return gradient_sum(problem, longest, most)

    def noise(self, sums: MachineSum, longest: float) -> GridGaussian:
        """Return the noise of a step on gradients of at most the norm `longest`."""
        sigma, share = self.sigma, self.mu_of_errors / math.sqrt(self.n_steps)
        about = GridGaussian.of_scale(sigma * (longest + sums.errors))
        errors = sums.errors + math.sqrt(sums.dimension) * about.step  # and of rounding to the grid
        scale = math.hypot(sigma * (longest + errors), errors / share)
        return GridGaussian.on(about.step, scale * (1.0 + SCALE_MARGIN))


def sampled_steps(rate: float, sigma: float, n_steps: int) -> Event:
    """Return `n_steps` Gaussian releases on Poisson samples."""
    return SelfComposedEvent(PoissonSampledEvent(rate, GaussianEvent(sigma)), n_steps)


@lru_cache(maxsize=256)
def noise_multiplier(
    others: tuple[Event, ...],
    rate: float,
    n_steps: int,
    neighboring: Neighboring,
    epsilon: float,
    delta: float,
) -> float:
    """Return σ such that the steps, together with `others`, are (ε, δ)-DP.

    It is at most 0.1 % above the least σ for which the numerical accountant shows this; the
    accountant verified the returned σ.
    """
    accountant = PLDAccountant(neighboring)

    def excess(log_sigma: float) -> float:
        """Return the relative excess over ε at δ."""
        steps = sampled_steps(rate, math.exp(log_sigma), n_steps)
        return accountant.epsilon(composed((*others, steps)), delta) / epsilon - 1.0

    # Log σ by the central limit theorem of Bu, Dong, Long and Su 2020, Corollary 4.
    per_step = gdp_mu(epsilon, delta) / (neighboring.n_changed * rate * math.sqrt(n_steps))
    low, high = _bracket(excess, -0.5 * math.log(math.log1p(per_step * per_step)))
    log_sigma = brentq(excess, low, high, xtol=0.3 * _PRECISION) + 0.3 * _PRECISION
    while excess(log_sigma) > 0.0:
        log_sigma += 0.3 * _PRECISION
    return math.exp(log_sigma)


def _bracket(excess: Callable[[float], float], guess: float) -> tuple[float, float]:
    """Return two values of log σ around `guess` between which `excess` changes its sign."""
    steps = (0.1 * 2.0**k for k in itertools.count())
    if excess(guess) > 0.0:
        high, low = first_to_hold(
            lambda x: excess(x) <= 0.0, guess, guess + next(steps), lambda x: x + next(steps)
        )
    else:
        low, high = first_to_hold(
            lambda x: excess(x) > 0.0, guess, guess - next(steps), lambda x: x - next(steps)
        )
    return low, high
