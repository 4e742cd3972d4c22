"""What the coefficients of many fits on two neighbors prove of μ."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def lower_bound(high, low):
    """A μ below the true one with probability 1 − FALSE_ALARM, from two samples."""
    thresholds = np.quantile(np.r_[high, low], np.linspace(0.1, 0.9, 9))
    risk = FALSE_ALARM / (2 * thresholds.size)
    return max(
        stats.norm.ppf(surely_at_least((high > t).sum(), high.size, risk))
        + stats.norm.ppf(surely_at_least((low <= t).sum(), low.size, risk))
        for t in thresholds
    )


def surely_at_least(hits, trials, risk):
    return stats.beta.ppf(risk, hits, trials - hits + 1) if hits else 0.0
