"""Private counts, sums, means, variances, quantiles, tables, differences, effects and curves."""

from skdp.statistics._results import NoisyNumbers, Statistic
from skdp.statistics.counts import Marginals, count, histogram, marginals
from skdp.statistics.describe import Description, describe
from skdp.statistics.effects import treatment_effect
from skdp.statistics.means import Covariance, Mean, Variance, covariance, mean, sum, variance
from skdp.statistics.population import Difference, SurvivalCurve, difference, survival_curve
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
    "SurvivalCurve",
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
    "survival_curve",
    "treatment_effect",
    "variance",
]
