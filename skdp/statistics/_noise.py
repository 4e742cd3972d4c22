"""How large the noise of released numbers is, and of sums of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from skdp.mechanisms import AdditiveMechanism, Gaussian
from skdp.workloads import QueryPlan

__all__ = ["half_width", "sum_half_widths"]

# No guarantee rests on these: they say how exact an interval is.
_BITS = 12  # 2^12 points stand for the joint distribution of the noise
_LEAST_RISK = 0.005  # below which too few of them lie outside
_AT_ONCE = 2**8  # sums

Terms = Sequence[tuple[str, Any]]
"""Names of queries, and by what one number of each is multiplied: a number or an array."""


def half_width(plan: QueryPlan, name: str, risk: float) -> float:
    """Return what the noise of a query exceeds in size with probability at most `risk`.

    Two steps of the grid are added where the release is a rounded one.
    """
    mechanism = plan.mechanism(name)
    on_integers = mechanism.step == 1.0
    return float(mechanism.quantile(1.0 - 0.5 * risk)) + (
        0.0 if on_integers else mechanism.step * 2
    )


def sum_half_widths(plan: QueryPlan, terms: Terms, risk: float) -> np.ndarray:
    """Return what sums of independent noise exceed in size with probability `risk`, nearly.

    One number of each term is multiplied by its factor; arrays of factors make as many sums. Exact
    for one term and for Gaussian noise, else from points that are spread evenly over the joint
    distribution, and for very small risks a union bound, which is never less.
    """
    shape = np.broadcast_shapes(*(np.shape(factor) for _, factor in terms))
    names = [name for name, _ in terms]
    factors = [np.abs(np.broadcast_to(factor, shape).ravel()) for _, factor in terms]
    widths = _union(plan, names, factors, risk)
    mechanisms = [plan.mechanism(name) for name in names]
    if all(isinstance(one, Gaussian) for one in mechanisms):
        widths = np.minimum(widths, _normal(mechanisms, factors, risk))
    elif len(terms) > 1 and risk >= _LEAST_RISK:
        widths = np.minimum(widths, _spread(tuple(mechanisms), np.array(factors), risk))
    return widths.reshape(shape)


def _union(
    plan: QueryPlan, names: Sequence[str], factors: Sequence[np.ndarray], risk: float
) -> Any:
    """Return a bound of each sum, of which every term may miss with a part of the risk."""
    each = [half_width(plan, name, risk / len(names)) for name in names]
    return np.sum([width * factor for width, factor in zip(each, factors, strict=True)], axis=0)


def _normal(mechanisms: Sequence[Any], factors: Sequence[np.ndarray], risk: float) -> np.ndarray:
    scales = [one.scale * factor for one, factor in zip(mechanisms, factors, strict=True)]
    rounding = [2.0 * one.step * f for one, f in zip(mechanisms, factors, strict=True)]
    deviations = np.sqrt(np.sum(np.square(scales), axis=0))
    return np.asarray(float(ndtri(1.0 - 0.5 * risk)) * deviations + np.sum(rounding, axis=0))


def _spread(
    mechanisms: tuple[AdditiveMechanism, ...], factors: np.ndarray, risk: float
) -> np.ndarray:
    """Return quantiles of the sizes of sums, some at a time."""
    points = _points(mechanisms)
    found = [
        np.quantile(np.abs(points @ factors[:, start : start + _AT_ONCE]), 1.0 - risk, axis=0)
        for start in range(0, factors.shape[1], _AT_ONCE)
    ]
    return np.concatenate(found)


@lru_cache(maxsize=16)
def _points(mechanisms: tuple[AdditiveMechanism, ...]) -> np.ndarray:
    """Return noise of each mechanism at points of a Sobol sequence, a row for each point."""
    levels = qmc.Sobol(len(mechanisms), scramble=False).random_base2(_BITS) + math.ldexp(
        0.5, -_BITS
    )
    columns = [one.quantile(p) for one, p in zip(mechanisms, levels.T, strict=True)]
    return np.stack(columns, axis=1)
