"""Calibration: the noise, the sample and the number of rows for a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from skdp.accounting.base import ACCOUNTANTS, Accountant, UnpricedEventError
from skdp.exceptions import OutOfRangeError
from skdp.privacy import Event, GaussianEvent, Neighboring, PoissonSampledEvent, PrivacyGuarantee
from skdp.privacy.combined import check_rate
from skdp.privacy.gaussian import gdp_mu
from skdp.support.display import at_least
from skdp.support.safe_numbers import (
    CURVE,
    ROOT,
    SERIES,
    bisect,
    down,
    log_ratio,
    margin,
    next_to_root,
    whole,
)
from skdp.support.validation import check_choice, check_delta, check_epsilon

_WIDE = ("rdp", "pld", "basic")  # accountants of releases that are neither Gaussian DP nor pure


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
        ``"pld"`` tight for others, such as a `RepeatAndSelectEvent`.
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


_LARGEST_MU = 20.0  # less noise is not worth a search; no guarantee rests on it
_PURE_ROUNDING = 4e-15  # absolute: sums of numbers of size 1, or of ε, whose margin is larger
_LEAST = 1e-300  # stands for a δ that underflows


@lru_cache(maxsize=256)
def sampled_gdp_mu(
    epsilon: float, delta: float, rate: float, neighboring: Neighboring | str
) -> float:
    """Return the largest μ, up to 20, of a release that is (ε, δ)-DP on a Poisson sample.

    A record is in the sample with probability `rate`, which is above δ. A release that is
    μ-Gaussian DP **when a record is added to the sample or removed from it** is then (ε, δ)-DP
    under `neighboring`: see *Sample, then fit* in the user guide.

    Examples
    --------
    >>> round(sampled_gdp_mu(1.0, 1e-8, 1e-3, "replace_one"), 3)
    1.57
    """
    epsilon, delta, rate = check_epsilon(epsilon), check_delta(delta), check_rate(rate)
    if not delta < rate:
        raise OutOfRangeError(
            f"The sampling rate must be above delta={delta:g}, got {rate:g}: at a lower rate "
            "delta would allow publishing the sample."
        )
    relation, target = Neighboring(neighboring), math.log(delta)

    def excess(log_mu: float) -> float:
        event = PoissonSampledEvent(rate, GaussianEvent(math.exp(-log_mu)))
        found = PrivacyGuarantee(event, relation, "").delta(epsilon)
        return math.log(max(found, _LEAST)) - target

    low, high = math.log(0.49 * gdp_mu(epsilon, delta)), math.log(_LARGEST_MU)
    if low >= high or excess(high) <= 0.0:
        return _LARGEST_MU
    return down(math.exp(brentq(excess, low, high, xtol=1e-13)), ROOT)


def sampled_pure_epsilon(epsilon: float, rate: float, neighboring: Neighboring | str) -> float:
    """Return the largest ε₀ of a release that is `epsilon`-DP on a Poisson sample of rate q.

    A release that is ε₀-DP **when a record is added to the sample or removed from it** is then
    `epsilon`-DP under `neighboring`. Under ``add_remove_one``, e^ε is 1 − q + q·e^ε₀. Under
    ``replace_one``, it is (1 − q + q·e^ε₀)/(1 − q + q·e^(−ε₀)).

    Examples
    --------
    >>> round(sampled_pure_epsilon(0.158565, 0.1, "add_remove_one"), 5)
    1.0
    """
    epsilon, q = check_epsilon(epsilon), check_rate(rate)
    less = down(epsilon, SERIES)
    small = math.exp(-less)
    if Neighboring(neighboring) is Neighboring.ADD_REMOVE_ONE:
        found = less + math.log(-math.expm1(-less) / q + small)
    else:  # q·t² − (1 − q)·(E − 1)·t − q·E = 0 for t = e^ε₀ and E = e^ε, divided by E
        linear = -(1.0 - q) * math.expm1(-less)
        root = linear + math.sqrt(linear * linear + 4.0 * q * q * small)
        found = less + math.log(root / (2.0 * q))
    return max(found - _PURE_ROUNDING, 0.5 * less)  # without any amplification it is the latter


LEAST_SIGNAL = 100.0
"""n·μ below which noise may outweigh what a model learns. No guarantee rests on it."""

_TYPICAL_DELTA = 1e-5


def rows_needed(*, epsilon: float, delta: float = _TYPICAL_DELTA) -> int:
    """Estimate the number of rows that a private model needs, by a rule of thumb.

    With fewer rows a fit gives `FewRowsWarning`, if their number is public.

    Parameters
    ----------
    epsilon : float in (0, inf]
        *Public.* ε of the fit. If it is a part of a larger budget, the part counts.
    delta : float in [0, 1), default 1e-5
        *Public.* δ of the fit. 0 counts as 1e-5.

    Returns
    -------
    int
        100/μ, rounded up to two digits, where μ is the parameter of Gaussian DP that is (ε, δ)-DP.
        For fits with `groups`, the number of persons. Weak signals, several classes and many
        columns need more: see *How many rows do I need?* in the user guide.

    Examples
    --------
    >>> from skdp import rows_needed
    >>> [rows_needed(epsilon=epsilon) for epsilon in (0.1, 1.0, 3.0)]
    [3100, 380, 140]
    """
    mu = gdp_mu(check_epsilon(epsilon), check_delta(delta) or _TYPICAL_DELTA)
    return max(1, round(at_least(LEAST_SIGNAL / mu, 2)))
