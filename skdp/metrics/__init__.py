"""How good a model is on private test rows: one number, or a report, from one noisy release.

Names are scikit-learn's with a ``dp_`` before them, so that a program that needs an exact score on
public rows and a private one on others imports both, and neither is taken for the other.
"""

from skdp.metrics._score import Score
from skdp.metrics.confusion_report import ConfusionReport, confusion_report
from skdp.metrics.curve_scores import dp_average_precision_score, dp_roc_auc_score
from skdp.metrics.label_scores import dp_accuracy_score, dp_brier_score_loss, dp_log_loss
from skdp.metrics.number_scores import (
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
)
from skdp.metrics.one_vs_rest_report import OneVsRestReport, one_vs_rest_report
from skdp.metrics.regression_report import RegressionReport, regression_report
from skdp.metrics.score_report import ScoreReport, score_report
from skdp.metrics.scorer import PrivateScorer, make_private_scorer

__all__ = [
    "ConfusionReport",
    "OneVsRestReport",
    "PrivateScorer",
    "RegressionReport",
    "Score",
    "ScoreReport",
    "confusion_report",
    "dp_accuracy_score",
    "dp_average_precision_score",
    "dp_brier_score_loss",
    "dp_log_loss",
    "dp_mean_absolute_error",
    "dp_mean_squared_error",
    "dp_r2_score",
    "dp_roc_auc_score",
    "make_private_scorer",
    "one_vs_rest_report",
    "regression_report",
    "score_report",
]
