"""What solvers that minimise refuse, and how they round."""

from __future__ import annotations

import math

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.solvers.base import Problem

__all__ = ["check_delta_and_loss", "rounded"]

_GRID_BITS = 20


def check_delta_and_loss(name: str, problem: Problem, delta: float) -> None:
    """Raise unless δ > 0 and the loss is smooth."""
    if delta == 0.0:
        raise IncompatibleSolverError(
            f"solver={name!r} adds Gaussian noise, which needs delta > 0; no solver of this "
            "version is purely epsilon-DP. Nothing was spent."
        )
    if math.isinf(problem.loss.smoothness):
        raise IncompatibleSolverError(
            f"solver={name!r} needs a loss whose gradient is continuous, got {problem.loss!r} "
            "with kinks: smooth it, with smoothing > 0 for a hinge, or use "
            "solver='regularized_exponential'. Nothing was spent."
        )


def rounded(theta: np.ndarray, noise: float) -> np.ndarray:
    """Return θ on a public grid, about 1e-6 of the noise's scale wide."""
    grid = 2.0 ** (math.floor(math.log2(noise)) - _GRID_BITS)
    return np.asarray(np.round(theta / grid) * grid)
