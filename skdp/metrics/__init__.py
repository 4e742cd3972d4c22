"""Private scores and reports on test rows, each from one noisy release.

Names are scikit-learn's with the prefix ``dp_``, so that a program can import both. See *Evaluating
models privately* in the user guide.
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
