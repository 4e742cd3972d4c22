"""From Rényi divergences of all orders to (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import minimize_scalar

__all__ = ["CONVERSIONS", "Rdp", "delta_from_rdp", "epsilon_from_rdp"]

Rdp = Callable[[float], float]
"""Order above 1 to a bound on the Rényi divergence."""

_START, _WIDEST = 2.0, 18.0  # of log(order − 1)
_ROUNDING = 1e-12


def _lemma_7(order: float, rdp: float, log_delta: float) -> float:
    """Return ε = r + log(1/δ)/(order − 1) (Mironov 2017, Proposition 3; Tian 2024, Lemma 7)."""
    return rdp - log_delta / (order - 1.0)


def _tight(order: float, rdp: float, log_delta: float) -> float:
    """Return ε of Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020."""
    correction = math.log1p(-1.0 / order) - (log_delta + math.log(order)) / (order - 1.0)
    return rdp + correction


def _lemma_7_delta(order: float, rdp: float, epsilon: float) -> float:
    return (order - 1.0) * (rdp - epsilon)


def _tight_delta(order: float, rdp: float, epsilon: float) -> float:
    shape = order * math.log1p(-1.0 / order) - math.log(order - 1.0)
    return (order - 1.0) * (rdp - epsilon) + shape


CONVERSIONS = {"tight": (_tight, _tight_delta), "classic": (_lemma_7, _lemma_7_delta)}
"""(ε, log δ) at one order, by name."""


def epsilon_from_rdp(rdp: Rdp, delta: float, conversion: str) -> float:
    """Return the least ε over the orders, rounded upwards."""
    if delta == 0.0:
        return math.inf
    log_delta = math.log(delta)
    formula = CONVERSIONS[conversion][0]
    best = _least(lambda order: formula(order, rdp(order), log_delta))
    return best + _ROUNDING * abs(best)


def delta_from_rdp(rdp: Rdp, epsilon: float, conversion: str) -> float:
    """Return the least δ over the orders, rounded upwards."""
    if math.isinf(epsilon):
        return 0.0
    formula = CONVERSIONS[conversion][1]
    log_delta = _least(lambda order: formula(order, rdp(order), epsilon))
    return min(1.0, math.exp(min(0.0, log_delta + _ROUNDING * (1.0 + abs(log_delta)))))


def _least(value: Callable[[float], float]) -> float:
    """Return the least value over order > 1; each value is valid, so none can be too small."""

    def at(x: float) -> float:
        return value(1.0 + math.exp(x))

    x, found = _walk(at)
    if not math.isfinite(found):
        return found
    refined = minimize_scalar(at, bounds=(x - 1.0, x + 1.0), options={"xatol": 1e-7})
    return min(found, float(refined.fun))


def _walk(at: Callable[[float], float]) -> tuple[float, float]:
    """Return the bottom of the valley on a grid of step 1; there is one, K(order) being convex."""
    x, value = _START, at(_START)
    for step in (-1.0, 1.0):
        while abs(x + step) <= _WIDEST:
            ahead = at(x + step)
            if ahead > value or (ahead == value < math.inf):
                break
            x, value = x + step, ahead
        if math.isinf(value):
            x = _START
    return x, value
