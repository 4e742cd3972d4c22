"""DP-SGD: stochastic gradient descent on Poisson samples, with noise in every step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import Progress
from skdp.solvers._descent import (
    SAMPLED,
    Descent,
    DescentPlan,
    DescentSolver,
    SampledSteps,
    longest_step,
    require_stable,
)
from skdp.solvers._releases import GramRelease, is_covered
from skdp.solvers.base import Problem, RowCount, Solution, composed, require_delta
from skdp.support.validation import check_count, check_real, check_size, make_plain

# No guarantee rests on these two.
_RATE = 0.1  # sampling rate if n is not public
_BATCH = 1024  # expected rows of a batch if n is public


@dataclass(frozen=True, kw_only=True)
class DPSGDPlan(DescentPlan):
    """Public numbers of steps on Poisson samples with Gaussian noise."""

    solver: DPSGD
    count: RowCount  # determines step sizes
    gram: GramRelease | None  # release of the matrix for a metric
    clip_norm: float  # C, the largest norm of one record's gradient
    steps: SampledSteps

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        problem = self.problem.with_columns(design.n_features)
        descent = replace(self, problem=problem).descent(self.count.release(design, rng))
        grid = self.steps.sums(problem, self.clip_norm).grid
        metric = self.gram.release_for_steps(design, rng) if self.gram else None
        longest = math.inf if self.solver.clip_norm is None else self.clip_norm
        samples = self.steps.samples(design.n_records, rng)

        def gradient(theta: np.ndarray) -> np.ndarray:
            return design.slope_sum(problem.loss.gradient, theta, longest, next(samples), grid)

        theta = descent.run(self.first(design), gradient, rng, progress, metric)
        return Solution(
            theta,
            descent.n_steps,
            noise_bound=descent.whole_noise,
            noise_root=metric.root() if metric else None,
            gram=metric.gram if metric else None,
        )

    def descent(self, n: int) -> Descent:
        """Return steps, noise and ridge of a run on about `n` rows."""
        problem, solver, T = self.problem, self.solver, self.solver.n_steps
        sums, rate = self.steps.sums(problem, self.clip_norm), self.steps.rate
        release = self.steps.noise(sums, self.clip_norm)
        noise = release.scale / rate
        h = solver.step_size
        if h is None:
            gram, unit_noise = self.gram, noise / math.sqrt(T)
            longest = gram.longest_step(problem) if gram else longest_step(problem, n)
            t = problem.flow_time(None if gram else n, unit_noise)
            h = min(t * (1.0 - solver.momentum) / T, longest)
        C = problem.inverse_regularization(h * T / (1.0 - solver.momentum))
        return Descent(
            n_steps=T,
            step_size=h,
            release=release,
            rate=rate,
            radius=sums.radius,
            ridge=1.0 / C,
            momentum=solver.momentum,
            average=solver.average,
        )


@dataclass(frozen=True)
class DPSGD(DescentSolver):
    r"""Noisy gradient descent on Poisson samples, which contain each record with probability q.

    Parameters
    ----------
    n_steps : int
        *Public.* T.
    sampling_rate : float in (0, 1] or None
        *Public.* q; None: 0.1 or, if n is public, 1024/n if that is less. Each row enters the
        sample of a step independently with probability q (Poisson sampling).
    clip_norm : float or None
        *Public.* Gradients of single records, summed over a person's rows, are clipped to this l2
        norm. None: the largest norm possible for the loss, so that no gradient is clipped.
    step_size : float or None
        *Public.* h, for the gradient of the *sum* over all rows. None: such that the final noise in
        a score reaches the loss's `noise_scale`.
    momentum : float in [0, 1)
        *Public.* Heavy-ball momentum β.
    average : float in [0, 1]
        *Public.* Last share of the run, whose iterates are averaged; 0: the last iterate.
    precondition : bool
        *Public.* Whether to spend 1 % of μ² on the matrix AᵀA, which gives a metric for longer
        steps. It takes one pass and helps from about n·μ = 4000 on. Only with up to 1024 columns,
        and if neither `step_size` nor ``momentum=0`` is given.
    sampling : "poisson"
        *Public.* Other ways to make batches, such as ``"random_reshuffle"``, are rejected.

    Notes
    -----
    **Guarantee.** Step: each record's gradient r·a has norm \|r\|·\|a\| at most C = `clip_norm`. So
    the sum over a sample with N(0, (σC)²·I) added is a Gaussian event of noise multiplier σ on a
    Poisson sample. The relation determines the dominating pair of distributions. Run: T such events
    composed by the numerical accountant, rounded upwards. That covers the release of all iterates,
    so averaging and momentum cost nothing more. Sums are divided by q, never by a count. A person
    enters a sample with all rows or none, and the weighted sum of their gradients is clipped to C.

    References
    ----------
    Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteristic function",
    AISTATS 2022, Theorems 10 and 11.
    Lebeda, Regehr, Kamath and Steinke, "Avoiding pitfalls for privacy accounting of subsampled
    mechanisms under composition", 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression
    >>> from skdp.solvers import DPSGD
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5000, 2))
    >>> solver = DPSGD(n_steps=50, sampling_rate=0.05)
    >>> model = DPLogisticRegression(solver=solver, random_state=0).fit(X, X[:, 0] > 0)
    >>> model.coef_.round(), model.n_iter_
    (array([[36., -1.]]), 50)
    """

    n_steps: int = 100
    sampling_rate: float | None = None
    clip_norm: float | None = None
    step_size: float | None = None
    momentum: float = 0.9
    average: float = 0.0
    precondition: bool = False
    sampling: str = "poisson"

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
                f"sampling must be 'poisson', got {self.sampling!r}. Amplification by sampling is "
                "proved only for batches that each record enters independently, not for shuffled "
                "batches."
            )

    def plan(self, problem: Problem, epsilon: float, delta: float) -> DPSGDPlan:
        require_delta(delta, "dp_sgd")
        require_stable(problem, self.step_size, self.momentum)
        count = RowCount.plan(problem, epsilon, delta)
        metric = self.precondition and self.step_size is None and self.momentum != 0.0
        gram = GramRelease.plan(problem, gdp_mu(epsilon, delta)) if metric else None
        others, n = (*count.events, *(gram.events if gram else ())), problem.n_samples
        rate = self.sampling_rate or min(_RATE, _BATCH / n if n else 1.0)
        asked = (problem.neighboring, epsilon, delta)
        steps = SampledSteps.plan(others, rate, self.n_steps, *asked)
        return DPSGDPlan(
            problem=problem,
            event=composed((*others, *steps.events)),
            theorem=SAMPLED,
            exact=is_covered(problem.loss) and problem.rows_are_exact,
            solver=self,
            count=count,
            gram=gram,
            clip_norm=self._norm(problem),
            steps=steps,
        )

    def _norm(self, problem: Problem) -> float:
        """Return C, the bound of every record's gradient."""
        bound = min(problem.loss.lipschitz * problem.row_norm, self.clip_norm or math.inf)
        if math.isinf(bound):
            raise IncompatibleSolverError(
                f"The derivative of {problem.loss!r} is unbounded. Pass clip_norm to DPSGD."
            )
        return bound
