"""How long a noisy run flows downhill: the rule that all solvers with steps share."""

from __future__ import annotations

from skdp.solvers.base import Problem

__all__ = ["flow_time", "inverse_regularisation", "worst_curvature"]

_LONGEST = 2048.0
_WEAK_RIDGE = 100.0


def flow_time(problem: Problem, n: int, noise: float) -> float:
    """Return for how long to flow down Σ ℓ over about `n` rows.

    The run ends when the noise in a score, R·t·`noise`, is as wide as the loss wants it, or when
    the work is at its limit. But for that limit, t does not depend on n.

    Parameters
    ----------
    problem : Problem
    n : int
        *Public or released.*
    noise : float
        Standard deviation of the noise in a coefficient after a unit of time.
    """
    loss, R = problem.loss, problem.row_norm
    longest = _LONGEST / (n * loss.nominal_curvature * R**2)
    return min(loss.noise_scale / (R * noise), longest)


def worst_curvature(problem: Problem, n: int) -> float:
    """Return the trace that the Hessian of Σ ℓ has for the worst `n` rows."""
    return n * problem.loss.curvature_trace * problem.row_norm**2


def inverse_regularisation(problem: Problem, t: float) -> float:
    """Return C: the user's, or so large that a run of time `t` hardly feels it."""
    return _WEAK_RIDGE * t if isinstance(problem.C, str) else float(problem.C)
