"""How long a noisy run flows downhill: the rule that all solvers with steps share."""

from __future__ import annotations

import math

from skdp.exceptions import IncompatibleSolverError
from skdp.solvers.base import Problem

__all__ = [
    "flow_time",
    "inverse_regularisation",
    "longest_step",
    "require_stable",
    "worst_curvature",
]

_LONGEST = 2048.0
_WEAK_RIDGE = 100.0


def flow_time(problem: Problem, n: int | None, noise: float) -> float:
    """Return for how long to flow down Σ ℓ over about `n` rows.

    The run ends when the noise in a score, R·t·`noise`, is as wide as the loss wants it, or when
    the work is at its limit. But for that limit, t does not depend on n.

    Parameters
    ----------
    problem : Problem
    n : int or None
        *Public or released.* None leaves out the limit.
    noise : float
        Standard deviation of the noise in a coefficient after a unit of time.
    """
    loss, R = problem.loss, problem.row_norm
    longest = _LONGEST / (n * loss.nominal_curvature * R**2) if n else math.inf
    return min(loss.noise_scale / (R * noise), longest)


def worst_curvature(problem: Problem, n: int) -> float:
    """Return the trace that the Hessian of Σ ℓ has for the worst `n` rows."""
    return n * problem.loss.curvature_trace * problem.row_norm**2


def longest_step(problem: Problem, n: int) -> float:
    """Return a step h with h·M at most 2 and h/C at most 1, M the curvature and the ridge."""
    return 1.0 / (0.5 * worst_curvature(problem, n) + _ridge(problem))


def require_stable(problem: Problem, step_size: float | None, momentum: float) -> None:
    """Raise if steps along the ridge alone diverge: with momentum β from h/C = 2(1 + β) on."""
    if step_size is not None and step_size * _ridge(problem) >= 2.0 * (1.0 + momentum):
        raise IncompatibleSolverError(
            f"step_size={step_size!r} diverges with C={problem.C!r}: step_size/C must be below "
            "2·(1 + momentum). Nothing was spent."
        )


def _ridge(problem: Problem) -> float:
    """Return 1/C, or 0 if the length of the run regularises."""
    return 0.0 if isinstance(problem.C, str) else 1.0 / float(problem.C)


def inverse_regularisation(problem: Problem, t: float) -> float:
    """Return C: the user's, or so large that a run of time `t` hardly feels it."""
    return _WEAK_RIDGE * t if isinstance(problem.C, str) else float(problem.C)
