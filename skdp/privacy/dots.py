"""From any curve to a finite pair of laws above it: connect the dots."""

from __future__ import annotations

import math

import numpy as np

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.discrete import DiscretePairCurve

__all__ = ["connect_the_dots"]

_PIECES = 3000
_SPREAD = np.sinh(np.linspace(0.0, 4.0, _PIECES + 1)) / math.sinh(4.0)
_NEGLIGIBLE = 1e-20
_WIDEST = 300.0
_NARROWEST = 0.01  # closer knots would measure rounding


def connect_the_dots(curve: PrivacyCurve) -> DiscretePairCurve:
    """Return a finite pair whose curve is `curve` at 6001 values of ε and above it elsewhere.

    δ is convex in c = e^ε, so its chords lie above it; the chords' curve belongs to the pair whose
    masses under Q are the changes of slope (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    Each half is taken from the order of the pair in which it is small, where nothing cancels.
    """
    backwards = curve.reversed()
    up, q_up, right, p_top = _half(curve)
    down, p_down, left, q_bottom = _half(backwards)
    middle = max(0.0, 1.0 - curve.delta(0.0) + right + left)  # the bend at ε = 0
    p = [p_top, *(q_up * np.exp(up)), middle, *p_down, 0.0]
    q = [0.0, *q_up, middle, *(p_down * np.exp(down)), q_bottom]
    return DiscretePairCurve(tuple(p), tuple(q))


def _half(curve: PrivacyCurve) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the knots ε > 0, the bends there, the slope at 0 and the δ at the last knot.

    Slopes are made monotone against rounding, from the right and downwards: the masses still sum
    to 1, and the chords do not fall.
    """
    epsilon = _SPREAD * _range(curve)
    delta = np.minimum.accumulate(np.asarray(curve.delta(epsilon)))
    slope = np.append(np.diff(delta) / np.diff(np.exp(epsilon)), 0.0)
    slope = np.minimum.accumulate(slope[::-1])[::-1]
    return epsilon[1:], np.diff(slope), float(slope[0]), float(delta[-1])


def _range(curve: PrivacyCurve) -> float:
    """Return the ε beyond which the curve stays within 1e-20 of its limit."""
    limit = curve.delta(_WIDEST) * (1.0 + 1e-9) + _NEGLIGIBLE
    if limit >= 1.0:
        return 1.0
    return float(np.clip(curve.epsilon(limit) + 1e-9, _NARROWEST, _WIDEST))
