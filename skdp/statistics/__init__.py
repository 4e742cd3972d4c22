"""Private counts, sums, means, variances, quantiles, histograms, tables and descriptions."""

from skdp.statistics._result import NoisyNumbers, Statistic
from skdp.statistics.count import count
from skdp.statistics.covariance import Covariance, covariance
from skdp.statistics.describe import Description, describe
from skdp.statistics.histogram import histogram
from skdp.statistics.marginals import Marginals, marginals
from skdp.statistics.mean import Mean, mean
from skdp.statistics.quantile import Quantile, quantile
from skdp.statistics.sum import sum
from skdp.statistics.variance import Variance, variance

__all__ = [
    "Covariance",
    "Description",
    "Marginals",
    "Mean",
    "NoisyNumbers",
    "Quantile",
    "Statistic",
    "Variance",
    "count",
    "covariance",
    "describe",
    "histogram",
    "marginals",
    "mean",
    "quantile",
    "sum",
    "variance",
]
