"""How good predictions are: accuracy, area under the curve, log-loss, calibration, R²."""

import numpy as np
from sklearn.metrics import log_loss, r2_score, roc_auc_score

LESS_IS_BETTER = ("log-loss", "calibration", "seconds")
LEAST = 1e-6
"""Below which no probability counts in the log-loss, so that one row is not everything."""


def scores(table, model, X, y):
    """Return {name: number} on test rows."""
    if table.is_regression:
        return {"R2": r2_score(y, np.clip(model.predict(X), *table.target_bounds))}
    p = np.asarray(model.predict_proba(X), dtype=float)
    p = np.clip(np.nan_to_num(p, nan=1.0 / p.shape[1]), LEAST, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    right = table.classes[p.argmax(axis=1)] == y
    ranked = p[:, 1] if p.shape[1] == 2 else p
    return {
        "accuracy": right.mean(),
        "AUC": roc_auc_score(y, ranked, multi_class="ovr"),
        "log-loss": log_loss(y, p, labels=table.classes),
        "calibration": calibration_error(p.max(axis=1), right),
    }


def calibration_error(confidence, right, n_bins=15):
    """Return the mean distance of stated confidence and share of right answers, over bins."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    inside = [bins == k for k in np.unique(bins)]
    return sum(abs(confidence[b].mean() - right[b].mean()) * b.mean() for b in inside)
