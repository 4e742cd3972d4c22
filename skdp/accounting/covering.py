"""The least Gaussian pair that covers a privacy curve."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from skdp.privacy import GaussianCurve, PrivacyCurve
from skdp.privacy.curve import both_orders
from skdp.support.root_search import arithmetic, bisect, first_to_hold
from skdp.support.rounding import ROOT, SERIES, down, margin, up
from skdp.support.validation import check_delta

__all__ = ["covering_mu"]

_CELLS = 64
_DEPTH = 40  # with `_WIDEST` about speed: a cover that is not proved by then counts as none
_WIDEST = 50_000
_NEAR_THE_END = down(1.0, ROOT)  # no guarantee rests on it: where the search gives up
_ROUNDING = margin(SERIES)  # of a slope: log_ndtr, up to 700, is off by 4·2⁻⁵³ of itself, 3e-13
_SMALLEST_MU, _LARGEST_MU = 1e-12, 60.0
_UNDERFLOW = 1e-250  # a δ that ends has larger values just before


def covering_mu(curve: PrivacyCurve, slack: float = 0.0, *, precision: float = 1e-9) -> float:
    r"""Return the least m with δ(ε) ≤ δ_m(ε) + `slack` for all real ε, in both orders, rounded up.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.* The other order of the neighbors is `curve.reversed()`.
    slack : float in [0, 1)
        *Public.* What the cover may miss, at every ε alike.
    precision : float
        *Public.* Relative precision of m; a coarse one is faster.

    Returns
    -------
    float
        ``inf`` if δ(ε) > slack for every ε; at slack 0 also for a non-Gaussian pair whose loss is
        unbounded, which no finite number of values can certify; and if m would exceed 60.

    Notes
    -----
    **Guarantee.** Between two points H(c) lies below its chord and the Gaussian curve above its
    tangent in the middle. Both are straight in c = e^ε, so it suffices to compare the ends. Cells
    that fail are halved. It suffices to look at ε ≥ 0 in both orders: see *The least covering μ* in
    the user guide.

    Examples
    --------
    >>> from skdp.privacy import GaussianCurve
    >>> bool(GaussianCurve(1.0).mu <= covering_mu(GaussianCurve(1.0), 0.0))
    True
    """
    slack = check_delta(slack)
    if isinstance(curve, GaussianCurve) and slack == 0.0:
        return curve.mu
    return max(_one_order(order, slack, precision) for order in both_orders(curve))


def _one_order(curve: PrivacyCurve, slack: float, precision: float) -> float:
    end = curve.epsilon(slack)
    if end == 0.0:
        return 0.0
    if math.isinf(end) or (slack == 0.0 and curve.delta(end * _NEAR_THE_END) < _UNDERFLOW):
        return math.inf

    def covers(mu: float) -> bool:
        return _covers(curve, slack, end, mu)

    inside, outside = first_to_hold(covers, 0.0, _SMALLEST_MU, lambda mu: 4.0 * mu, _LARGEST_MU)
    if math.isinf(inside):
        return math.inf
    return bisect(covers, inside, outside, arithmetic(precision))


def _covers(curve: PrivacyCurve, slack: float, end: float, mu: float) -> bool:
    """Return True only if N(μ, 1) against N(0, 1) covers the curve on [0, end] up to `slack`."""
    gaussian = GaussianCurve(mu)
    grid = np.linspace(0.0, end, _CELLS + 1)
    left, right = grid[:-1], grid[1:]
    for _ in range(_DEPTH):
        excess = curve.delta(left) - slack
        if np.any(excess > up(gaussian.delta(left), SERIES)):
            return False
        open_ = _open_cells(curve, slack, gaussian, left, right)
        left, right = left[open_], right[open_]
        if not left.size:
            return True
        if left.size > _WIDEST:
            return False
        middle = 0.5 * (left + right)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return False


def _open_cells(
    curve: PrivacyCurve, slack: float, gaussian: GaussianCurve, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the cells where the chord is not seen to lie below the tangent in the middle."""
    # Chord and tangent are straight in c = e^ε: below at both ends is below everywhere between. The
    # tangent at c₀ has the slope −Φ(−ε₀/m − m/2), and c − c₀ is e^ε₀·(e^(ε − ε₀) − 1): *Gaussian DP
    # and its cover*, "The least covering μ".
    middle = 0.5 * (left + right)
    value = down(gaussian.delta(middle), SERIES)
    steep = np.exp(middle + log_ndtr(-middle / gaussian.mu - 0.5 * gaussian.mu))
    fails = np.zeros(left.shape, dtype=bool)
    for point in (left, right):
        tangent = value - np.expm1(point - middle) * steep
        safe = tangent - _ROUNDING * (np.abs(tangent) + value)
        fails |= ~(up(curve.delta(point), SERIES) - slack <= safe)
    return fails
