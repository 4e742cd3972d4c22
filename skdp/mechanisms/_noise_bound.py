"""Lower bounds on what private noise costs, from the prices of a linear program."""

from __future__ import annotations

import math

import numpy as np

from skdp.mechanisms._noise_program import NoiseProgram, Solution, moved

__all__ = ["price_bound"]


def price_bound(program: NoiseProgram, solution: Solution) -> float:
    """Return a number below Σ costs·p for every p that meets the program; weak duality.

    Tests 0 ≤ λ ≤ μ give Σ costs·p ≥ Σ_k min_i f_k(i) − δ·Σ μ with
    f_k(i) = costs_k(i) + Σ λ_kms(i) − e^ε·Σ λ_mks(i + s), whatever the solver did. Tests and their
    mirror images have equal prices if the program is mirrored. No rounding error of these sums
    exceeds the margin that is taken off.
    """
    growth, total = math.exp(program.epsilon), math.fsum(solution.prices.values())
    value = np.zeros_like(program.costs)
    for (k, m, s), test in solution.tests.items():
        value[k] += test
        value[m] -= growth * moved(test, -s)
    if program.rows is not None:
        value += (program.rows.T @ solution.rows).reshape(value.shape)
    if program.mirrored:
        value = 0.5 * (value + value[::-1, ::-1])
    value += program.costs
    size = np.abs(program.costs).max() + (1.0 + growth) * total + np.abs(solution.rows).sum()
    margin = 1e-15 * (len(solution.tests) + 8) * len(value) * float(size)
    bounds = float(np.dot(solution.rows, program.bounds)) if program.rows is not None else 0.0
    return float(value.min(axis=1).sum()) - program.delta * total - bounds - margin
