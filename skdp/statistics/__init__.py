"""Private counts, sums, means, differences, variances, quantiles, tables and descriptions."""

from skdp.statistics._results import NoisyNumbers, Statistic
from skdp.statistics.counts import Marginals, count, histogram, marginals
from skdp.statistics.describe import Description, describe
from skdp.statistics.difference import Difference, difference
from skdp.statistics.means import Covariance, Mean, Variance, covariance, mean, sum, variance
from skdp.statistics.quantile import Quantile, quantile

__all__ = [
    "Covariance",
    "Description",
    "Difference",
    "Marginals",
    "Mean",
    "NoisyNumbers",
    "Quantile",
    "Statistic",
    "Variance",
    "count",
    "covariance",
    "describe",
    "difference",
    "histogram",
    "marginals",
    "mean",
    "quantile",
    "sum",
    "variance",
]
