"""What a sampler draws from, and what every sampler answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from skdp.design import ClippedDesign
from skdp.losses import Loss

__all__ = ["Draw", "Progress", "Sampler", "Target"]

Progress = Callable[[int, int], None]
"""Called with (step, n_steps), both public, after each step."""


@dataclass(frozen=True, eq=False)
class Target:
    """The law with density proportional to exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²).

    Parameters
    ----------
    design : ClippedDesign
        Rows a_i.
    y : ndarray of shape (n_samples,)
        Labels, coded as the loss wants them.
    loss : Loss
    row_norm : float
        R, with |a_i| ≤ R for every row.
    temperature : float
        c, the weight of each record's loss.
    prior_precision : float
        α, in 1/coefficient².
    """

    design: ClippedDesign
    y: np.ndarray
    loss: Loss
    row_norm: float
    temperature: float
    prior_precision: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of θ: (d,) for one score a record, else (d, K)."""
        d, k = self.design.n_features, self.loss.n_scores
        return (d,) if k == 1 else (d, k)

    def support_slope(self, theta: np.ndarray) -> np.ndarray:
        """Return the slope of an affine function below c·Σ ℓ that nearly touches it at θ.

        It is the gradient where the loss is smooth. One pass over the data.
        """
        total = np.zeros(self.shape)
        for rows, block in self.design.blocks():
            total += block.rmatvec(self.loss.support_slope(self.y[rows], block.matvec(theta)))
        return self.temperature * total


@dataclass(frozen=True, eq=False)
class Draw:
    """A sample, with what may be looked at but is *not private*."""

    theta: np.ndarray
    diagnostics: dict[str, Any] = field(default_factory=dict)


class Sampler(ABC):
    """A way to draw from a `Target`. It knows potentials and constants, nothing of privacy."""

    theorem: ClassVar[str]
    """The statement behind `stability`, by name."""

    @abstractmethod
    def n_steps(self, exponent: float, n_scores: int) -> int:
        """Return into how many steps a run is cut, for a loss of `n_scores` scores a record.

        ``exponent`` is half the trace of the potential's Hessian times the step size, summed over
        the run, for the worst data.
        """

    @abstractmethod
    def stability(self, precision_step: float, n_steps: int) -> float:
        """Return f such that two of the sampler's own outputs are close.

        If the potentials of two targets differ by an L-Lipschitz function, their outputs are no
        easier to tell apart than N(0, 1) and N(f·L/√α, 1). ``precision_step`` is α·η.
        """

    @abstractmethod
    def sample(
        self,
        target: Target,
        step_size: float,
        n_steps: int,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Draw:
        """Run `n_steps` steps of size η = `step_size` from θ = 0 and return the last state."""
