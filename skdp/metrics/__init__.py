"""How good a model is on private test rows: reports, each from one noisy release."""

from skdp.metrics.confusion_report import ConfusionReport, confusion_report
from skdp.metrics.regression_report import RegressionReport, regression_report
from skdp.metrics.score_report import ScoreReport, score_report

__all__ = [
    "ConfusionReport",
    "RegressionReport",
    "ScoreReport",
    "confusion_report",
    "regression_report",
    "score_report",
]
