"""How long a proximal chain must be to come near its target, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.samplers.base import Setting

__all__ = ["Length", "cheapest", "n_steps_to", "refuse_endless"]

_PRECISION_STEPS = np.geomspace(1e-7, 1e15, 150)
_GRADIENTS, _PROPOSAL = 1.3, 0.6  # passes a step, and a try
_MOST = 600.0  # e^600 passes are as good as infinitely many
_START = 1.0  # of a start near the mode, in standard deviations of the ridge


@dataclass(frozen=True)
class Length:
    """A chain's numbers.

    Parameters
    ----------
    precision_step : float
        α·η.
    n_steps : int
        T.
    passes : float
        About how often the data are read, if the law is about Gaussian.
    """

    precision_step: float
    n_steps: int
    passes: float


def n_steps_to(tv: float, precision_step: float, distance: float) -> int:
    """Return the least T with q^(T−1)·W/√(2πη) ≤ `tv`, W = `distance`/√α: Theorem B."""
    log_ratio = math.log(distance) - 0.5 * math.log(2.0 * math.pi * precision_step) - math.log(tv)
    return 1 + max(0, math.ceil(log_ratio / math.log1p(precision_step) * (1.0 + 1e-12)))


def cheapest(curvatures: np.ndarray, distance: float, tv: float, repeated: int = 1) -> Length:
    """Return the chain within `tv` that costs least.

    `curvatures`, in units of α, are the eigenvalues of the Hessian of c·Σ ℓ, each `repeated`.
    """
    variance = _PRECISION_STEPS / (1.0 + _PRECISION_STEPS)  # times 1/α
    log_tries = 0.5 * repeated * np.log1p(np.outer(variance, curvatures)).sum(axis=1)
    steps = [n_steps_to(tv, step, distance) for step in _PRECISION_STEPS]
    passes = steps * (_GRADIENTS + _PROPOSAL * np.exp(np.minimum(log_tries, _MOST)))
    best = int(np.argmin(passes))
    return Length(float(_PRECISION_STEPS[best]), steps[best], float(passes[best]))


def refuse_endless(name: str, setting: Setting, tv: float, limit: float) -> None:
    """Raise if the cheapest chain for the worst data takes more than `limit` passes.

    Their Hessian has the largest trace, spread evenly over all the directions that it can have.
    """
    rank = setting.worst_rank
    worst = np.full(1, setting.C * setting.worst_trace / rank)
    n_coefficients = setting.loss.n_scores * (setting.n_features or rank)
    distance = math.sqrt(n_coefficients) + _START
    passes = cheapest(worst, distance, tv, repeated=rank).passes
    if passes > limit:
        raise IncompatibleSolverError(
            f"{name} may take {passes:.3g} passes over the worst data, and max_passes={limit!r} is "
            "the limit: lower C or epsilon, or take sampler='proximal', which takes any. "
            "Nothing was spent."
        )
