"""The least noise with which sampled Gaussian steps stay within (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from scipy.optimize import brentq

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.privacy import Event, GaussianEvent, Neighboring, PoissonSampledEvent, SelfComposedEvent
from skdp.solvers.base import composed

__all__ = ["noise_multiplier", "sampled_steps"]

_PRECISION = 1e-3  # relative, of σ; on the safe side


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
    step = 0.1
    low = high = guess
    if excess(guess) > 0.0:
        while excess(high := high + step) > 0.0:
            low, step = high, 2.0 * step
    else:
        while excess(low := low - step) <= 0.0:
            high, step = low, 2.0 * step
    return low, high
