"""From what a user asks for to the parameter of a mechanism, never above the target."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from skdp._validation import check_delta, check_epsilon
from skdp.privacy.gaussian import gaussian_log_delta

__all__ = ["CALIBRATION_MARGIN", "gdp_mu"]

CALIBRATION_MARGIN = 1e-11
"""How far below the root, relatively, a calibrated parameter is returned: more than rounding."""


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ such that μ-Gaussian DP implies (ε, δ)-DP, rounded downwards.

    Parameters
    ----------
    epsilon : float in (0, inf]
    delta : float in [0, 1)

    Returns
    -------
    float
        0 for δ = 0 and ``inf`` for ε = inf; else within 1e-10 of the root of δ_μ(ε) = δ,
        relatively, and never above it.

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-5), 6)
    0.268051
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if math.isinf(epsilon):
        return math.inf
    if delta == 0.0:
        return 0.0
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return float(gaussian_log_delta(epsilon, math.exp(log_mu))) - log_delta

    low, high = _bracket(excess)
    return math.exp(brentq(excess, low, high, xtol=1e-15)) * (1.0 - CALIBRATION_MARGIN)


def _bracket(excess):  # type: ignore[no-untyped-def]
    low = high = 0.0
    while excess(low) > 0.0:
        low -= 1.0
    while excess(high) < 0.0:
        high += 1.0
    return low, high
