"""Calibration of a release on a Poisson sample."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.optimize import brentq

from skdp.accounting.calibration import gdp_mu
from skdp.exceptions import OutOfRangeError
from skdp.privacy import GaussianEvent, Neighboring, PoissonSampledEvent, PrivacyGuarantee
from skdp.privacy.subsampling import check_rate
from skdp.support.rounding import ROOT, SERIES, down
from skdp.support.validation import check_delta, check_epsilon

__all__ = ["sampled_gdp_mu", "sampled_pure_epsilon"]

_LARGEST_MU = 20.0  # less noise is not worth a search; no guarantee rests on it
_PURE_ROUNDING = 4e-15  # absolute: sums of numbers of size 1, or of ε, whose margin is larger
_LEAST = 1e-300  # stands for a δ that underflows


@lru_cache(maxsize=256)
def sampled_gdp_mu(
    epsilon: float, delta: float, rate: float, neighboring: Neighboring | str
) -> float:
    """Return the largest μ of a release that is (ε, δ)-DP on a Poisson sample.

    Parameters
    ----------
    epsilon : float in (0, inf)
        *Public.* ε of sampling and release together.
    delta : float in (0, 1)
        *Public.* δ of sampling and release together.
    rate : float in (0, 1]
        *Public.* Probability q with which a record is in the sample, above δ.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Returns
    -------
    float
        At most 20. A release that is μ-Gaussian DP **when a record is added to the sample or
        removed from it** is then (ε, δ)-DP under `neighboring`: see *Sample, then fit* in the user
        guide.

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
    """Return the largest ε₀ of a release that is `epsilon`-DP on a Poisson sample.

    Parameters
    ----------
    epsilon : float in (0, inf)
        *Public.* ε of sampling and release together.
    rate : float in (0, 1]
        *Public.* Probability q with which a record is in the sample.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Returns
    -------
    float
        The value ε₀. A release that is ε₀-DP **when a record is added to the sample or removed
        from it** is then `epsilon`-DP under `neighboring`. Under ``add_remove_one``, e^ε is
        1 − q + q·e^ε₀. Under ``replace_one``, it is (1 − q + q·e^ε₀)/(1 − q + q·e^(−ε₀)).

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
