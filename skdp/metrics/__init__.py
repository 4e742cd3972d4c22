"""Private scores and reports on test rows, each from one noisy release.

Names are scikit-learn's with the prefix ``dp_``, so that a program can import both. See *Evaluating
models privately* in the user guide.
"""

from skdp.metrics._evaluation import Score
from skdp.metrics.curve_scores import (
    OneVsRestReport,
    dp_average_precision_score,
    dp_roc_auc_score,
    one_vs_rest_report,
)
from skdp.metrics.error_scores import (
    RegressionReport,
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
    regression_report,
)
from skdp.metrics.label_scores import (
    ConfusionReport,
    confusion_report,
    dp_accuracy_score,
    dp_brier_score_loss,
    dp_log_loss,
)
from skdp.metrics.score_report import ScoreReport, score_report
from skdp.metrics.scorer import make_private_scorer

__all__ = [
    "ConfusionReport",
    "OneVsRestReport",
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
