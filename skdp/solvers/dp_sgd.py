"""Stochastic gradient descent on Poisson samples, with noise in every step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.privacy import Event, GaussianEvent, Neighboring, PoissonSampledEvent, SelfComposedEvent
from skdp.samplers import Progress
from skdp.solvers._descent import (
    Descent,
    longest_step,
    require_stable,
)
from skdp.solvers._metric import GramRelease
from skdp.solvers.base import Plan, Problem, RowCount, Solution, Solver, composed, require_delta
from skdp.support.random import poisson_sample
from skdp.support.root_search import first_to_hold
from skdp.support.validation import check_count, check_real, check_size, make_plain

__all__ = ["DPSGD", "DPSGDPlan", "noise_multiplier", "sampled_steps"]

# No guarantee rests on these three.
_RATE = 0.1  # sampling rate where n is not public
_BATCH = 1024  # expected rows of a batch where it is
_PRECISION = 1e-3  # relative, of σ; the accountant is asked about the σ that is returned
_THEOREM = (
    "Poisson-sampled Gaussian steps composed numerically; Zhu, Dong and Wang 2022, Theorems 10, 11;"
    " Lebeda, Regehr, Kamath and Steinke 2024"
)


@dataclass(frozen=True, kw_only=True)
class DPSGDPlan(Plan):
    """Steps on Poisson samples with Gaussian noise; all of it public.

    Parameters
    ----------
    count : RowCount
        The number of rows by which step sizes are chosen.
    sampling_rate : float
        q.
    gram : GramRelease or None
        The matrix from which a metric is computed.
    clip_norm : float
        C, the longest gradient of one record.
    noise_multiplier : float
        σ, the standard deviation of the noise in units of C.
    """

    count: RowCount
    gram: GramRelease | None
    sampling_rate: float
    clip_norm: float
    noise_multiplier: float


@dataclass(frozen=True)
class DPSGD(Solver):
    r"""Descend along noisy gradients of Poisson samples, which hold each record with probability q.

    Parameters
    ----------
    n_steps : int
        *Public.* T.
    sampling_rate : float in (0, 1] or None
        *Public.* q; None: a tenth of the rows, or what makes 1024 of them if n is public. Each row
        enters the sample of a step independently with probability q (Poisson sampling).
    clip_norm : float or None
        *Public.* Longer gradients of single records, of a person that of all rows together, are
        scaled down to this l2 norm. None: the largest norm that the loss allows for, so that no
        gradient is clipped.
    step_size : float or None
        *Public.* h, for the gradient of the *sum* over all rows. None: such that the noise in a
        score ends as wide as the loss's `noise_scale`.
    momentum : float in [0, 1)
        *Public.* Heavy-ball momentum β.
    average : float in [0, 1]
        *Public.* Share of the run, its end, over which iterates are averaged; 0: the last one.
    precondition : bool
        *Public.* Whether 1 % of μ² is spent on the matrix AᵀA, from which a metric for the steps is
        computed, so that few of them go far. That is one read of all rows, and pays where there are
        many: from some n·μ = 4000 on. Only with up to 1024 columns, and where neither `step_size`
        nor ``momentum=0`` is given.
    sampling : "poisson"
        *Public.* Any other way to make batches, such as ``"random_reshuffle"``, is refused.

    Notes
    -----
    **Guarantee.** Step: each record's gradient r·a has norm \|r\|·\|a\| at most C = `clip_norm`, so
    the sum over a sample with N(0, (σC)²·I) added is a Gaussian event of noise multiplier σ on a
    Poisson sample; the relation decides which pair of distributions dominates it. Run: T such
    events composed by the numerical accountant, rounded upwards. That covers the release of all
    iterates, so averaging and momentum cost nothing more. Sums are divided by q and by no count.
    A person enters a sample with all rows or none, and their gradients, each with its weight, add
    up to one no longer than C.

    References
    ----------
    Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteristic function",
    AISTATS 2022, Theorems 10 and 11.
    Lebeda, Regehr, Kamath and Steinke, "Avoiding pitfalls for privacy accounting of subsampled
    mechanisms under composition", 2024.
    """

    n_steps: int = 100
    sampling_rate: float | None = None
    clip_norm: float | None = None
    step_size: float | None = None
    momentum: float = 0.9
    average: float = 0.0
    precondition: bool = False
    sampling: str = "poisson"

    takes_blocks = True
    takes_persons = True

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_steps", self.n_steps)
        for name in ("sampling_rate", "clip_norm", "step_size"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        if self.sampling_rate is not None:
            check_real("sampling_rate", self.sampling_rate, low=0.0, high=1.0, closed="]")
        check_real("momentum", self.momentum, low=0.0, high=1.0, closed="[")
        check_real("average", self.average, low=0.0, high=1.0, closed="[]")
        if self.sampling != "poisson":
            raise IncompatibleSolverError(
                f"sampling must be 'poisson', got {self.sampling!r}: amplification by sampling is "
                "proved for batches into which each record enters independently. Nothing here "
                "accounts for shuffled batches."
            )

    def plan(self, problem: Problem, epsilon: float, delta: float) -> DPSGDPlan:
        require_delta(delta, "dp_sgd")
        require_stable(problem, self.step_size, self.momentum)
        count = RowCount.plan(problem, epsilon, delta)
        metric = self.precondition and self.step_size is None and self.momentum != 0.0
        gram = GramRelease.plan(problem, gdp_mu(epsilon, delta)) if metric else None
        others = (*count.events, *(gram.events if gram else ()))
        rate = self._rate(problem.n_samples)
        sigma = noise_multiplier(others, rate, self.n_steps, problem.neighboring, epsilon, delta)
        return DPSGDPlan(
            problem=problem,
            event=composed((*others, sampled_steps(rate, sigma, self.n_steps))),
            theorem=_THEOREM,
            count=count,
            gram=gram,
            sampling_rate=rate,
            clip_norm=self._norm(problem),
            noise_multiplier=sigma,
        )

    def solve(
        self,
        plan: DPSGDPlan,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        start = np.zeros(plan.problem.shape(design.n_features))
        return self.resume(plan, design, rng, progress, start)

    def resume(
        self,
        plan: DPSGDPlan,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray,
    ) -> Solution:
        """Go on from given coefficients.

        Parameters
        ----------
        plan : DPSGDPlan
            *Public.*
        design : Design
            *Private.* As `solve` takes it.
        rng : numpy Generator
            *Secret.* Source of the noise.
        progress : callable
            As `solve` takes it.
        start : ndarray of the shape of θ
            *Public or released.*

        Returns
        -------
        solution : Solution
            As `solve` returns it.
        """
        descent = self.descent(plan, plan.count.release(design, rng))
        metric = plan.gram.release_for_steps(design, rng) if plan.gram else None
        loss, rate = plan.problem.loss, plan.sampling_rate
        longest = math.inf if self.clip_norm is None else plan.clip_norm

        def gradient(theta: np.ndarray) -> np.ndarray:
            records = None if rate == 1.0 else poisson_sample(design.n_records, rate, rng)
            return design.slope_sum(loss.gradient, theta, longest, records) / rate

        theta = descent.run(start, gradient, rng, progress, metric)
        return Solution(
            theta,
            self.n_steps,
            noise_bound=descent.whole_noise,
            noise_root=metric.root() if metric else None,
        )

    def descent(self, plan: DPSGDPlan, n: int) -> Descent:
        """Return the numbers of a run.

        Parameters
        ----------
        plan : DPSGDPlan
            *Public.*
        n : int
            *Public or released.* About how many rows there are.

        Returns
        -------
        descent : Descent
            Steps, noise and ridge.
        """
        problem, T = plan.problem, self.n_steps
        noise = plan.noise_multiplier * plan.clip_norm / plan.sampling_rate
        h = self.step_size
        if h is None:
            gram, unit_noise = plan.gram, noise / math.sqrt(T)
            longest = gram.longest_step(problem) if gram else longest_step(problem, n)
            t = problem.flow_time(None if gram else n, unit_noise)
            h = min(t * (1.0 - self.momentum) / T, longest)
        C = problem.inverse_regularization(h * T / (1.0 - self.momentum))
        return Descent(
            n_steps=T,
            step_size=h,
            noise=noise,
            ridge=1.0 / C,
            momentum=self.momentum,
            average=self.average,
        )

    def _rate(self, n_samples: int | None) -> float:
        if self.sampling_rate is not None:
            return float(self.sampling_rate)
        return min(_RATE, _BATCH / n_samples) if n_samples else _RATE

    def _norm(self, problem: Problem) -> float:
        """Return C, with which the norm of every record's gradient is bounded."""
        bound = min(problem.loss.lipschitz * problem.row_norm, self.clip_norm or math.inf)
        if math.isinf(bound):
            raise IncompatibleSolverError(
                f"The derivative of {problem.loss!r} is not bounded, so DPSGD needs a clip_norm."
            )
        return bound


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

    It is at most 0.1 % above the least σ for which the numerical accountant shows that, and the
    accountant has been asked about the very σ that is returned.
    """
    accountant = PLDAccountant(neighboring)

    def excess(log_sigma: float) -> float:
        """Return by how much, relatively, the steps exceed ε at δ."""
        steps = sampled_steps(rate, math.exp(log_sigma), n_steps)
        return accountant.epsilon(composed((*others, steps)), delta) / epsilon - 1.0

    low, high = _bracket(excess, _first_guess(rate, n_steps, neighboring, epsilon, delta))
    log_sigma = brentq(excess, low, high, xtol=0.3 * _PRECISION) + 0.3 * _PRECISION
    while excess(log_sigma) > 0.0:
        log_sigma += 0.3 * _PRECISION
    return math.exp(log_sigma)


def _first_guess(
    rate: float, n_steps: int, neighboring: Neighboring, epsilon: float, delta: float
) -> float:
    """Return log σ by the central limit theorem of Bu, Dong, Long and Su 2020, Corollary 4."""
    per_step = gdp_mu(epsilon, delta) / (neighboring.n_changed * rate * math.sqrt(n_steps))
    return -0.5 * math.log(math.log1p(per_step * per_step))


def _bracket(excess: Callable[[float], float], guess: float) -> tuple[float, float]:
    """Return two values of log σ, a step or more around `guess`, between which `excess` is 0."""
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
