"""Calibration: the parameter of a mechanism that meets a target (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from skdp.accounting.base import Accountant, UnpricedEventError
from skdp.accounting.registry import ACCOUNTANTS
from skdp.exceptions import OutOfRangeError
from skdp.privacy import Event
from skdp.privacy.gaussian import gaussian_log_delta
from skdp.support.root_search import bisect, log_ratio, next_to_root, whole
from skdp.support.rounding import CURVE, down, margin
from skdp.support.validation import check_choice, check_delta, check_epsilon

__all__ = ["calibrate", "gdp_mu"]

_WIDE = ("rdp", "pld", "basic")  # accountants of releases that are neither Gaussian DP nor pure


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ such that μ-Gaussian DP implies (ε, δ)-DP, rounded downwards.

    Parameters
    ----------
    epsilon : float in (0, inf]
        *Public.*
    delta : float in [0, 1)
        *Public.*

    Returns
    -------
    float
        0 for δ = 0 and ``inf`` for ε = inf; else within a relative 1e-10 of the root of
        δ_μ(ε) = δ.

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-5), 6)
    0.268051
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if math.isinf(epsilon):
        return math.inf
    if delta == 0.0:
        return 0.0
    return _largest_mu(epsilon, delta)


@lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float) -> float:
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return float(gaussian_log_delta(epsilon, math.exp(log_mu))) - log_delta

    low = next(log_mu for log_mu in count(0.0, -1.0) if excess(log_mu) <= 0.0)
    high = next(log_mu for log_mu in count(0.0, 1.0) if excess(log_mu) >= 0.0)
    return down(math.exp(brentq(excess, low, high, xtol=1e-15)), CURVE)


def calibrate(
    make_event: Callable[[Any], Event],
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    low: float,
    high: float,
    accountant: Accountant | str = "gdp",
    integer: bool = False,
) -> Any:
    """Return the parameter in [low, high] whose event comes closest to (ε, δ) without passing it.

    The parameter may be a noise multiplier, a number of steps (``integer=True``), a sampling
    rate, or the ε or μ of a release. The cost may rise or fall with it.

    Parameters
    ----------
    make_event : callable
        *Public.* Function from parameter to event; the cost must be monotone in the parameter.
    epsilon, delta : float in (0, inf], float in [0, 1), or arrays
        *Public.* The target; arrays are broadcast and give an array.
    low, high : float or int
        *Public.* Ends of the search, 0 < low < high.
    accountant : Accountant or str
        *Public.* ``"gdp"`` for releases that are Gaussian DP or pure; ``"rdp"`` is fast and
        ``"pld"`` tight for others, such as a `skdp.privacy.RepeatAndSelectEvent`.
    integer : bool
        *Public.* Whether the parameter is an integer.

    Returns
    -------
    float, int or array
        Its ε is at most the target, checked by the accountant, and within a relative 1e-11 of the
        boundary.

    Raises
    ------
    ValueError
        If no value in [low, high] meets the target, or the accountant has no bound for the event.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent
    >>> noise = calibrate(GaussianEvent, 1.0, 1e-5, low=1e-3, high=1e3)
    >>> round(noise * gdp_mu(1.0, 1e-5), 9)
    2.0
    """
    if isinstance(accountant, str):
        accountant = ACCOUNTANTS[check_choice("accountant", accountant, ACCOUNTANTS)]()
    if not 0.0 < low < high < math.inf:
        raise ValueError(f"low, high must satisfy 0 < low < high, got {low!r}, {high!r}.")

    @cache
    def cost(parameter: float, failure: float) -> float:
        return _epsilon(make_event(parameter), failure, accountant)

    def one(target: float, failure: float) -> float:
        return _search(cost, check_epsilon(target), check_delta(failure), low, high, integer)

    targets = np.broadcast(epsilon, delta)
    found = np.array([one(*target) for target in targets], dtype=int if integer else float)
    return found.reshape(targets.shape) if targets.ndim else found.item()


def _epsilon(event: Event, delta: float, accountant: Accountant) -> float:
    try:
        return float(accountant.epsilon(event, delta))
    except UnpricedEventError as error:
        others = [repr(name) for name in _WIDE if not isinstance(accountant, ACCOUNTANTS[name])]
        raise UnpricedEventError(
            f"{error} Pass another accountant: {' or '.join(others)} may have a bound."
        ) from None


def _search(
    cost: Callable[[float, float], float],
    epsilon: float,
    delta: float,
    low: float,
    high: float,
    integer: bool,
) -> float:
    ends = cost(low, delta), cost(high, delta)
    least, most = (low, high) if ends[0] <= ends[1] else (high, low)
    if max(ends) <= epsilon:
        return most
    if not min(ends) <= epsilon:
        raise OutOfRangeError(
            f"No parameter in [{low!r}, {high!r}] meets epsilon={epsilon!r}, delta={delta!r}: at "
            f"{least!r} the cost is epsilon={min(ends)!r}."
        )
    if integer:
        return bisect(lambda parameter: cost(parameter, delta) <= epsilon, least, most, whole)

    def excess(parameter: float) -> float:
        return log_ratio(cost(parameter, delta), epsilon)

    return next_to_root(excess, least, most, margin(CURVE))
