"""Noisy gradient descent: what every solver that takes noisy steps has in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.samplers import Progress
from skdp.solvers._release import rounded

__all__ = ["Descent"]


@dataclass(frozen=True)
class Descent:
    """Public numbers of a run of θ ← θ − h·v, v ← β·v + (estimate of ∇F(θ) + noise).

    F(θ) = Σ ℓ(y_i, a_i·θ) + |θ|²/(2C), a sum over all rows.

    Parameters
    ----------
    n_steps : int
        T.
    step_size : float
        h; the run flows for a time T·h/(1 − β).
    noise : float
        Standard deviation of the noise in each coordinate of each estimate.
    ridge : float
        1/C.
    momentum : float in [0, 1)
        β.
    average : float in [0, 1]
        Share of the run, its end, over which iterates are averaged; 0: the last one alone.
    radius : float
        Iterates are projected on the ball |θ| ≤ `radius`.
    """

    n_steps: int
    step_size: float
    noise: float
    ridge: float
    momentum: float = 0.0
    average: float = 0.0
    radius: float = math.inf

    @property
    def last_noise(self) -> float:
        """Standard deviation that the last steps alone leave; it sets the public grid."""
        return self.step_size * self.noise / math.sqrt(self.n_averaged)

    @property
    def n_averaged(self) -> int:
        """Number of iterates that are averaged."""
        return max(1, round(self.average * self.n_steps))

    def run(
        self,
        start: np.ndarray,
        gradient: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
        progress: Progress,
    ) -> np.ndarray:
        """Return the released iterate; `gradient` estimates that of Σ ℓ, without noise."""
        theta, velocity, total = start.copy(), np.zeros_like(start), np.zeros_like(start)
        for step in range(1, self.n_steps + 1):
            force = gradient(theta) + rng.normal(scale=self.noise, size=theta.shape)
            velocity = self.momentum * velocity + force + self.ridge * theta
            theta = self._projected(theta - self.step_size * velocity)
            if step > self.n_steps - self.n_averaged:
                total += theta
            progress(step, self.n_steps)
        return rounded(total / self.n_averaged, self.last_noise)

    def _projected(self, theta: np.ndarray) -> np.ndarray:
        if math.isinf(self.radius):
            return theta
        return theta * min(1.0, self.radius / max(float(np.linalg.norm(theta)), 1e-300))
