"""Noisy gradient descent, shared by all solvers that take noisy steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.samplers.base import Progress
from skdp.solvers._releases import Metric
from skdp.solvers.base import Plan, Problem, Solver, rounded


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
