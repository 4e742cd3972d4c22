"""Rényi divergences from the privacy curve, in log space and rounded upwards."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from skdp.support.rounding import CURVE, up
from skdp.support.types import Number
from skdp.support.validation import check_real

__all__ = ["log_excess", "randomized_response_divergence", "renyi_divergence"]

_PIECES = 5_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LARGEST = 1e6
_TINIEST = -700.0  # log δ: below it, a curve without a log form has underflowed
_NEGLIGIBLE = 60.0
_SMALL = 1e-2


class _Curve(Protocol):
    def delta(self, epsilon: Number) -> Number: ...

    def log_delta(self, epsilon: Number) -> Number: ...

    def reversed(self) -> _Curve: ...


def renyi_divergence(curve: _Curve, order: float) -> float:
    r"""Return the Rényi divergence of P from Q of an order above 1, from δ(ε) alone.

    With f(c) = c^α in the hockey-stick representation of f-divergences and δ' the reversed curve,

    .. math:: E_Q (P/Q)^α = 1 + α(α-1)·\left[\int_0^∞ e^{(α-1)ε} δ(ε) dε
              + \int_0^∞ e^{-αε} δ'(ε) dε\right].

    Between grid points δ is replaced by its chord in e^ε, which lies above it, and the chord is
    integrated exactly.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.* δ(ε) of the pair (P, Q).
    order : float
        *Public.* α, above 1.

    Returns
    -------
    float
        Never below the truth, up to rounding. ``inf`` if the integral diverges, or cannot be
        bounded because δ underflows where the weight is still large.

    Examples
    --------
    >>> from skdp.privacy import GaussianCurve
    >>> round(renyi_divergence(GaussianCurve(1.0), 4.0), 3)
    2.0
    """
    order = check_real("order", order, low=1.0)
    if curve.delta(_LARGEST) > 0.0:
        return math.inf
    parts = [0.0]
    for one, power in ((curve, order - 1.0), (curve.reversed(), -order)):
        start, end = _range(one, power)
        if math.isinf(end):
            return math.inf
        integral = _log_integral(one, power, start, end)
        parts.append(integral + math.log(order) + math.log(order - 1.0))
    return float(logsumexp(parts)) / (order - 1.0)


def _range(curve: _Curve, power: float) -> tuple[float, float]:
    """Return where e^(power·ε)·δ(ε) is not negligible; the end is ``inf`` if that is not known."""
    coarse = _alive(curve, power, np.concatenate([[0.0], np.geomspace(1e-6, _LARGEST, 2000)]))
    return coarse if math.isinf(coarse[1]) else _alive(curve, power, np.linspace(*coarse, 1000))


def _alive(curve: _Curve, power: float, epsilon: np.ndarray) -> tuple[float, float]:
    """Return the neighbors of the first and the last grid point that matter."""
    log_delta = curve.log_delta(epsilon)
    values = power * epsilon + log_delta
    if np.isneginf(values.max()):
        return 0.0, 1.0
    alive = np.flatnonzero(values >= values.max() - _NEGLIGIBLE)
    first, last = int(alive[0]), int(alive[-1])
    is_end = last + 1 >= epsilon.size
    if (is_end and epsilon[-1] == _LARGEST) or (not is_end and _has_underflowed(log_delta, last)):
        return 0.0, math.inf
    return float(epsilon[max(first - 1, 0)]), float(epsilon[min(last + 1, epsilon.size - 1)])


def _has_underflowed(log_delta: np.ndarray, last: int) -> bool:
    """Return whether δ vanishes right after a value that hardly fits into a float."""
    return bool(log_delta[last] < _TINIEST and np.isneginf(log_delta[last + 1]))


def _log_integral(curve: _Curve, power: float, start: float, end: float) -> float:
    """Return the log of an upper bound on the integral of e^(power·ε)·δ(ε) over [0, end]."""
    # Before `start` the integrand is below e^−60 of its peak: cells may lose e^25 there.
    pieces = int(min(max(500.0, start * abs(power) / 25.0), 40_000.0)) if start else 0
    rest = np.linspace(0.0, start, pieces, endpoint=False)
    epsilon = np.concatenate([rest, np.linspace(start, end, _PIECES + 1)])
    h, log_delta = np.diff(epsilon), curve.log_delta(epsilon)
    log_whole, far = power * epsilon[:-1] + _log_cell(power, h), _far_share(power, h)
    with np.errstate(divide="ignore"):
        terms = [log_whole + np.log1p(-far) + log_delta[:-1]]
        terms.append(log_whole + np.log(far) + log_delta[1:])
    return float(logsumexp(np.concatenate(terms)))


def _log_cell(power: float, h: np.ndarray) -> np.ndarray:
    """Return the log of the integral of e^(power·u) over [0, h]."""
    x = power * h
    return np.maximum(x, 0.0) + np.log(-np.expm1(-np.abs(x))) - math.log(abs(power))


def _far_share(power: float, h: np.ndarray) -> np.ndarray:
    """Return the share of a cell's weight that the chord gives to the far end.

    It is the mean of (e^u − 1)/(e^h − 1) under e^(power·u), and 0, which is safe, in coarse cells.
    """
    h, cell = np.unique(h, return_inverse=True)  # few: the grids have equal steps
    coarse = np.maximum(np.abs(power), 1.0) * h > 20.0
    width = np.where(coarse, 0.0, h)[:, None]
    u = 0.5 * width * (_NODES + 1.0)
    weights = _WEIGHTS * np.exp(power * u)
    share = np.expm1(u) / np.where(coarse[:, None], 1.0, np.expm1(width))
    return np.asarray((weights * share).sum(axis=1) / weights.sum(axis=1))[cell]


def log_excess(loss: np.ndarray, order: float) -> np.ndarray:
    """Return the log of ψ(L) = e^(αL) − 1 − α(e^L − 1), whose mean under Q is E_Q (P/Q)^α − 1.

    By its series where αL is small, and scaled by e^(αL) where L is positive: no digits are lost.
    """
    less = (order - 1.0) * loss
    with np.errstate(all="ignore"):
        up = np.exp(-less) * (order - 1.0) * np.expm1(-loss) - np.expm1(-less)
        down = np.exp(loss) * np.expm1(less) - (order - 1.0) * np.expm1(loss)
        far = np.where(loss > 0.0, order * loss + np.log(up), np.log(down))
        near = 2.0 * np.log(np.abs(loss)) + np.log(_series(order * loss, order))
        near += math.log(order) + math.log(order - 1.0)
        return np.where(np.abs(order * loss) < _SMALL, near, far)


def _series(scaled: np.ndarray, order: float) -> np.ndarray:
    """Return ψ/(α(α − 1)L²) = Σ_{k≥2} (1 + 1/α + ... + 1/α^(k−2))·(αL)^(k−2)/k! up to k = 8."""
    sums = np.cumsum(order ** -np.arange(7.0))
    coefficients = sums / [math.factorial(k) for k in range(2, 9)]
    return np.asarray(np.polynomial.polynomial.polyval(scaled, coefficients))


def randomized_response_divergence(epsilon: float, order: float) -> float:
    """Return the Rényi divergence of randomized response, the largest of any ε-DP release.

    log[cosh((α − ½)ε)/cosh(ε/2)]/(α − 1) (Mironov 2017, Proposition 5), from the excess at the two
    losses ±ε, rounded upwards. It is 0 at ε = 0 and ``inf`` at ε = inf.
    """
    order = check_real("order", order, low=1.0)
    if not 0.0 < epsilon < math.inf:
        return epsilon
    losses = np.array([epsilon, -epsilon])
    log_less = logsumexp(log_excess(losses, order) - np.logaddexp(0.0, losses))
    moment = up(float(np.logaddexp(0.0, log_less)), CURVE)
    return min(epsilon, moment / (order - 1.0))
