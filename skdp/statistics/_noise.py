"""Quantiles of the noise of released numbers, and of sums of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from skdp.mechanisms import AdditiveMechanism, Gaussian
from skdp.workloads import QueryPlan

# No guarantee rests on these: they set the precision of intervals.
_BITS = 12  # 2^12 points represent the joint distribution of the noise
_LEAST_RISK = 0.005  # for smaller risks too few points lie outside
_AT_ONCE = 2**8  # sums

Terms = Sequence[tuple[str, float | np.ndarray]]
"""Names of queries, and the factors of one number of each."""


def half_width(plan: QueryPlan, name: str, risk: float) -> float:
    """Return a bound that the noise of a query exceeds with probability at most `risk`."""
    mechanism = plan.mechanism(name)
    rounding = 0.0 if mechanism.step == 1.0 else mechanism.step * 2  # none on the integers
    return float(mechanism.quantile(1.0 - 0.5 * risk)) + rounding


def sum_half_widths(plan: QueryPlan, terms: Terms, risk: float) -> np.ndarray:
    """Return bounds that sums of independent noise exceed with probability of about `risk`.

    One number of each term is multiplied by its factor; arrays of factors make as many sums. The
    bound is exact for one term and for Gaussian noise. Otherwise it comes from points that
    represent the joint distribution, and for very small risks from a union bound, which is larger.
    """
    shape = np.broadcast_shapes(*(np.shape(factor) for _, factor in terms))
    names = [name for name, _ in terms]
    factors = [np.abs(np.broadcast_to(factor, shape).ravel()) for _, factor in terms]
    widths = _union(plan, names, factors, risk)
    mechanisms = [plan.mechanism(name) for name in names]
    gaussians = [one for one in mechanisms if isinstance(one, Gaussian)]
    if len(gaussians) == len(terms):
        widths = np.minimum(widths, _normal(gaussians, factors, risk))
    elif len(terms) > 1 and risk >= _LEAST_RISK:
        widths = np.minimum(widths, _spread(tuple(mechanisms), np.array(factors), risk))
    return widths.reshape(shape)


def _union(
    plan: QueryPlan, names: Sequence[str], factors: Sequence[np.ndarray], risk: float
) -> np.ndarray:
    """Return a union bound for each sum."""
    each = [half_width(plan, name, risk / len(names)) for name in names]
    return np.asarray(np.sum([w * factor for w, factor in zip(each, factors, strict=True)], axis=0))


def _normal(
    mechanisms: Sequence[Gaussian], factors: Sequence[np.ndarray], risk: float
) -> np.ndarray:
    scales = [one.scale * factor for one, factor in zip(mechanisms, factors, strict=True)]
    rounding = [2.0 * one.step * f for one, f in zip(mechanisms, factors, strict=True)]
    deviations = np.sqrt(np.sum(np.square(scales), axis=0))
    return np.asarray(float(ndtri(1.0 - 0.5 * risk)) * deviations + np.sum(rounding, axis=0))


def _spread(
    mechanisms: tuple[AdditiveMechanism, ...], factors: np.ndarray, risk: float
) -> np.ndarray:
    """Return quantiles of absolute sums, some at a time."""
    points = _points(mechanisms)
    found = [
        np.quantile(np.abs(points @ factors[:, start : start + _AT_ONCE]), 1.0 - risk, axis=0)
        for start in range(0, factors.shape[1], _AT_ONCE)
    ]
    return np.concatenate(found)


@lru_cache(maxsize=16)
def _points(mechanisms: tuple[AdditiveMechanism, ...]) -> np.ndarray:
    """Return the noise of each mechanism at points of a Sobol sequence, a row for each point."""
    levels = qmc.Sobol(len(mechanisms), scramble=False).random_base2(_BITS)
    levels += math.ldexp(0.5, -_BITS)
    columns = [one.quantile(p) for one, p in zip(mechanisms, levels.T, strict=True)]
    return np.stack(columns, axis=1)
