"""Maps from scores to probabilities, computed from noisy counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from skdp.metrics import ScoreReport

__all__ = ["METHODS", "CalibrationMap"]

_RIDGE = 1e-3  # of the slope minus 1 and the intercept, relative to a mean loss in nats
_SMOOTHED = 2.0  # rows with the share of all rows added to each bin
_LEAST = 1.0  # rows of each label added to all rows, to avoid probabilities 0 and 1
_RISE = 1e-6  # weight of the score's log-odds, so that different scores stay different
_ODDS = (-750.0, 40.0)  # range of the log-odds of a double below 1


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """An increasing function from scores to probabilities.

    It is linear between knots and constant beyond them. A small multiple of the log-odds of the
    score is added, so rankings do not change: scores stay different if their log-odds differ by
    more than 1e-6.

    Parameters
    ----------
    scores : ndarray of shape (n_knots,)
        *Public.* Centers of bins.
    shares : ndarray of shape (n_knots,)
        *Released.* Probabilities at the centers.
    """

    scores: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, report: ScoreReport, method: str) -> CalibrationMap:
        """Compute the map from a report on scores in [0, 1]; spends nothing.

        Parameters
        ----------
        report : ScoreReport
            *Released.*
        method : {"isotonic", "sigmoid"}
            *Public.* As in `DPCalibratedClassifier`.

        Returns
        -------
        CalibrationMap
            The map.
        """
        centers = 0.5 * (report.edges[1:] + report.edges[:-1])
        whole = max(report.total, 1.0)
        counts = _projected(report.counts.ravel(), whole).reshape(report.counts.shape)
        least = _LEAST / (whole + 2.0 * _LEAST)
        return cls(centers, np.clip(METHODS[method](centers, counts), least, 1.0 - least))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores."""
        low, high = _ODDS
        rank = (np.clip(logit(scores), low, high) - low) / (high - low)
        return (1.0 - _RISE) * np.interp(scores, self.scores, self.shares) + _RISE * rank


def _isotonic(centers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return rising shares of positives, interpolated in bins without rows."""
    rows = counts.sum(axis=0)
    seen = rows > 0.0
    share = (counts[1].sum() + _LEAST) / (rows.sum() + 2.0 * _LEAST)
    shares = (counts[1, seen] + _SMOOTHED * share) / (rows[seen] + _SMOOTHED)
    risen = isotonic_regression(shares, sample_weight=rows[seen])
    return np.interp(centers, centers[seen], risen)


def _sigmoid(centers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a logistic function of the logits of scores (Platt 1999)."""
    logits, shares = logit(centers), counts / counts.sum()

    def loss(line: np.ndarray) -> float:
        z = line[0] * logits + line[1]
        fitted = shares[1] @ np.logaddexp(0.0, -z) + shares[0] @ np.logaddexp(0.0, z)
        moved = line - (1.0, 0.0)
        return float(fitted + 0.5 * _RIDGE * (moved @ moved))

    rising = ((0.0, None), (None, None))
    slope, intercept = minimize(loss, np.array([1.0, 0.0]), bounds=rising).x
    return expit(slope * logits + intercept)


METHODS = {"isotonic": _isotonic, "sigmoid": _sigmoid}


def _projected(numbers: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest nonnegative numbers with this sum."""
    falling = np.sort(numbers)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.maximum(numbers - excess[kept], 0.0)
