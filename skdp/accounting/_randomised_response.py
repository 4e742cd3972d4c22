"""The exact composition of k equal (ε, δ)-DP releases."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

__all__ = ["optimal_epsilon"]

_UNIT = 2.0**-53


def optimal_epsilon(epsilon: float, delta: float, count: int, total: float) -> float:
    r"""Return the least ε' with k-fold (ε, δ)-DP inside (ε', `total`)-DP, rounded upwards.

    The dominating pair is randomised response with probability 1 − δ and an atom at infinite
    loss with probability δ (Kairouz, Oh and Viswanath 2015, Theorem 3.3), so

        1 − δ' = (1 − δ)^k·(1 − D(ε')),  D(ε') = Σ_j C(k,j) p^(k−j) q^j (1 − e^(ε' − l_j))_+,

    with l_j = (k − 2j)·ε and p = 1 − q = e^ε/(1 + e^ε). Between two l_j, D is A − e^ε'·B.
    """
    lost = -math.expm1(count * math.log1p(-delta)) * (1.0 + 1e-15)
    target = (total - lost) / (1.0 - lost) * (1.0 - 1e-14) if lost < 1.0 else -1.0
    if target < 0.0 or math.isinf(epsilon):
        return math.inf
    if target == 0.0 or epsilon == 0.0:
        return count * epsilon
    losses, a, b, rounding = _lines(epsilon, count)
    values = _line(a, b, losses, rounding)
    enough = np.flatnonzero(values <= target)
    j = int(enough[-1]) if enough.size else 0
    if j + 1 == losses.size and losses[j] <= 0.0:
        return 0.0
    return _within(losses, a, b, rounding, j, target)


def _lines(epsilon: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return l_0 > l_1 > ... ≥ 0, logs of P(L ≥ l_j), Q(L ≥ l_j), and their relative error."""
    j = np.arange(count // 2 + 1, dtype=float)
    losses = (count - 2.0 * j) * epsilon
    choose = gammaln(count + 1.0) - gammaln(j + 1.0) - gammaln(count - j + 1.0)
    log_p = choose - j * epsilon - count * math.log1p(math.exp(-epsilon))
    rounding = _UNIT * (16.0 * count * (math.log(count + 1.0) + epsilon + 1.0) + 64.0)
    return losses, _log_cumulative(log_p), _log_cumulative(log_p - losses), rounding


def _log_cumulative(logs: np.ndarray) -> np.ndarray:
    peak = float(logs.max())
    with np.errstate(divide="ignore", under="ignore"):
        return peak + np.log(np.cumsum(np.exp(logs - peak)))


def _line(a: np.ndarray, b: np.ndarray, epsilon: np.ndarray, rounding: float) -> np.ndarray:
    return np.exp(a) * (1.0 + rounding) - np.exp(b + epsilon) * (1.0 - rounding)


def _within(
    losses: np.ndarray, a: np.ndarray, b: np.ndarray, rounding: float, j: int, target: float
) -> float:
    """Return ε' between l_{j+1} and l_j where the line of the atoms l_0, ..., l_j is at target."""
    excess = math.exp(a[j]) * (1.0 + rounding) - target
    below = float(losses[j + 1]) if j + 1 < losses.size else 0.0
    if excess <= 0.0:
        return below
    root = math.log(excess) - math.log1p(-rounding) - float(b[j])
    upwards = 1e-14 * (abs(root) + abs(float(b[j])) + 1.0)
    return min(max(root + upwards, below), float(losses[j]))
