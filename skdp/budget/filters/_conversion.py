"""Rényi divergences to (ε, δ), by the tight conversion, rounded to the safe side."""

from __future__ import annotations

import math

import numpy as np

from skdp.budget.curves import log_delta_of_renyi

__all__ = ["epsilon_of_renyi", "epsilon_of_rho", "renyi_budget", "rho_budget"]

_STEPS = np.geomspace(1e-3, 1e7, 241).tolist()  # α − 1


def renyi_budget(order: float, epsilon: float, delta: float) -> float:
    """Return the largest divergence at `order` that implies (ε, δ)-DP; below 0 if none does."""
    spread = (math.log(delta) + math.log(order)) / (order - 1.0)
    return epsilon - math.log1p(-1.0 / order) + spread - 1e-13 * (1.0 + epsilon + abs(spread))


def epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """Return ε = r + log(1 − 1/α) − (log δ + log α)/(α − 1), at least 0 (Balle et al. 2020)."""
    if divergence == 0.0:
        return 0.0
    spread = (math.log(delta) + math.log(order)) / (order - 1.0)
    epsilon = divergence + math.log1p(-1.0 / order) - spread
    return max(0.0, epsilon + 1e-13 * (1.0 + divergence + abs(spread)))


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the least ε over the orders α of ρ·α; every order gives a valid one."""
    if rho == 0.0:
        return 0.0
    best = min(_STEPS, key=lambda step: epsilon_of_renyi(1.0 + step, rho * (1.0 + step), delta))
    near = (best * np.geomspace(0.88, 1.14, 401)).tolist()
    return min(epsilon_of_renyi(1.0 + step, rho * (1.0 + step), delta) for step in near)


def rho_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the largest ρ that implies (ε, δ)-DP, and the order at which it does."""

    def rho(step: float) -> float:
        return renyi_budget(1.0 + step, epsilon, delta) / (1.0 + step)

    best = max(_STEPS, key=rho)
    best = max((best * np.geomspace(0.88, 1.14, 2001)).tolist(), key=rho)
    order = 1.0 + best
    assert log_delta_of_renyi(order, rho(best) * order, epsilon) <= math.log(delta)
    return rho(best), order
