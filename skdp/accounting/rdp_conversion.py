"""Conversion between Rényi divergences and (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skdp.support.root_search import minimize_from_grid
from skdp.support.rounding import FORMULA, SERIES, margin
from skdp.support.types import Number

__all__ = [
    "CONVERSIONS",
    "Rdp",
    "delta_from_rdp",
    "epsilon_from_rdp",
    "rdp_budget",
    "rho_budget",
    "tight_epsilon",
    "tight_log_delta",
]

Rdp = Callable[[float], float]
"""Order above 1 to a bound on the Rényi divergence."""

_START, _WIDEST = 2.0, 30.0  # of log(order − 1)
_ROUNDING, _SUM_ROUNDING = margin(SERIES), margin(FORMULA)
_ENDLESS = 1e200  # in place of inf, which the minimization cannot subtract


def _lemma_7(order: float, rdp: float, log_delta: float) -> float:
    """Return ε = r + log(1/δ)/(order − 1) (Mironov 2017, Proposition 3; Tian 2024, Lemma 7)."""
    return rdp - log_delta / (order - 1.0)


def _shape(order: float) -> float:
    """Return log(1 − 1/order), accurate on both sides of 2."""
    return math.log((order - 1.0) / order) if order < 2.0 else math.log1p(-1.0 / order)


def tight_epsilon(order: float, rdp: float, log_delta: float) -> float:
    """Return ε = r + log(1 − 1/a) − (log δ + log a)/(a − 1), rounded upwards.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020.
    """
    spread = (log_delta + math.log(order)) / (order - 1.0)
    return rdp + _shape(order) - spread + _spread_error(order, rdp, log_delta)


def rdp_budget(order: float, epsilon: float, log_delta: float) -> float:
    """Return the largest divergence that implies (ε, δ) at one order; below 0 if none does."""
    spread = (log_delta + math.log(order)) / (order - 1.0)
    return epsilon - _shape(order) + spread - _spread_error(order, epsilon, log_delta)


def _spread_error(order: float, size: float, log_delta: float) -> float:
    """Return more than the rounding of the sums above."""
    terms = size - _shape(order) + (math.log(order) - log_delta) / (order - 1.0)
    return _SUM_ROUNDING * terms


def tight_log_delta(order: float, rdp: float, epsilon: Number) -> Number:
    """Return log δ = (a − 1)(r − ε) + a·log(1 − 1/a) − log(a − 1)."""
    return (order - 1.0) * (rdp - epsilon) + order * _shape(order) - math.log(order - 1.0)


def _lemma_7_delta(order: float, rdp: float, epsilon: Number) -> Number:
    return (order - 1.0) * (rdp - epsilon)


CONVERSIONS = {"tight": (tight_epsilon, tight_log_delta), "classic": (_lemma_7, _lemma_7_delta)}
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


def rho_budget(epsilon: float, delta: float, widest: float = 1e15) -> tuple[float, float]:
    """Return the largest ρ that implies (ε, δ) at some order up to `widest`, and that order."""
    log_delta = math.log(delta)

    def rho(step: float) -> float:
        return rdp_budget(1.0 + step, epsilon, log_delta) / (1.0 + step)

    n_steps = 24 * round(math.log10(widest) + 3.0) + 1
    best = max(np.geomspace(1e-3, widest, n_steps).tolist(), key=rho)
    best = max((best * np.geomspace(0.88, 1.14, 2001)).tolist(), key=rho)
    return rho(best), 1.0 + best


def _least(value: Callable[[float], float]) -> float:
    """Return the least value over order > 1; each value is valid, so none can be too small."""

    def at(x: float) -> float:
        return min(value(1.0 + math.exp(x)), _ENDLESS)

    x, found = _walk(at)
    if found == _ENDLESS:
        return math.inf
    valley = np.array([x - 1.0, x, x + 1.0]), np.array([_ENDLESS, found, _ENDLESS])
    return minimize_from_grid(at, *valley, xatol=1e-7)[1]


def _walk(at: Callable[[float], float]) -> tuple[float, float]:
    """Return the bottom of the valley on a grid of step 1; there is one, K(order) being convex."""
    x, value = _START, at(_START)
    for step in (-1.0, 1.0):
        while abs(x + step) <= _WIDEST:
            ahead = at(x + step)
            if ahead > value or (ahead == value < _ENDLESS):
                break
            x, value = x + step, ahead
        if value == _ENDLESS:
            x = _START
    return x, value
