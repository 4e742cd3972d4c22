"""How solvers round what they release, and what those that minimise refuse."""

from __future__ import annotations

import math

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.solvers.base import Problem, require_delta

__all__ = ["check_problem", "grid_width", "rounded", "rounded_inwards"]

_GRID_BITS = 20
_STEEPEST = 1e6  # curvature of one record over the ridge: far beyond, minima drown in rounding


def check_problem(name: str, problem: Problem, delta: float) -> None:
    """Raise unless δ > 0, the loss is smooth and the ridge not lost beside it."""
    require_delta(delta, name)
    if math.isinf(problem.loss.smoothness):
        raise IncompatibleSolverError(
            f"solver={name!r} needs a loss whose gradient is continuous, got {problem.loss!r} "
            "with kinks: smooth it, with smoothing > 0 for a hinge, or use "
            "solver='regularized_exponential'."
        )
    bend = problem.loss.smoothness * problem.row_norm**2
    if not isinstance(problem.C, str) and problem.C * bend > _STEEPEST:
        raise IncompatibleSolverError(
            f"solver={name!r} needs C up to {_STEEPEST / bend:g} here, got {problem.C!r}: beside "
            "a weaker ridge 1/C no minimum can be certified in floating point. C='auto' chooses "
            "a smaller C."
        )


def grid_width(noise: float) -> float:
    """Return the width of the public grid, a power of two of about 1e-6 of the noise's scale."""
    return 2.0 ** (math.floor(math.log2(noise)) - _GRID_BITS)


def rounded(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid."""
    grid = grid_width(noise)
    return np.asarray(np.round(values / grid) * grid)


def rounded_inwards(values: np.ndarray, noise: float) -> np.ndarray:
    """Return values on the public grid, none farther from 0 than before."""
    grid = grid_width(noise)
    return np.asarray(np.trunc(values / grid) * grid)
