"""The number of records from which a private model learns more than noise."""

from __future__ import annotations

from skdp.accounting.calibration import gdp_mu
from skdp.support.digits import at_least
from skdp.support.validation import check_delta, check_epsilon

__all__ = ["LEAST_SIGNAL", "rows_needed"]

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
