"""From scores to probabilities, learned from noisy counts alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from skdp.metrics import ScoreReport

__all__ = ["METHODS", "CalibrationMap"]

_RIDGE = 1e-3  # on slope less 1 and intercept, beside a mean loss in nats
_SMOOTHED = 1.0  # rows of each label added to a bin and to all, so that none says never or always


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """A function from scores to probabilities, linear between knots and level beyond them.

    Parameters
    ----------
    scores : ndarray of shape (n_knots,)
        *Public.* Centers of bins.
    shares : ndarray of shape (n_knots,)
        *Released.* Probabilities there.
    """

    scores: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, report: ScoreReport, method: str) -> CalibrationMap:
        """Return the map that a report on scores in [0, 1] tells of, at no further cost.

        Parameters
        ----------
        report : ScoreReport
            *Released.*
        method : {"isotonic", "sigmoid"}
            *Public.* As in `DPCalibratedClassifier`.

        Returns
        -------
        CalibrationMap
        """
        centers = 0.5 * (report.edges[1:] + report.edges[:-1])
        whole = max(report.total, 1.0)
        counts = _projected(report.counts.ravel(), whole).reshape(report.counts.shape)
        least = _SMOOTHED / (whole + 2.0 * _SMOOTHED)
        return cls(centers, np.clip(METHODS[method](centers, counts), least, 1.0 - least))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores."""
        return np.interp(scores, self.scores, self.shares)


def _isotonic(centers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return shares of positives, made to rise; a bin without rows has those of its neighbors."""
    rows = counts.sum(axis=0)
    seen = rows > 0.0
    shares = (counts[1, seen] + _SMOOTHED) / (rows[seen] + 2.0 * _SMOOTHED)
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

    slope, intercept = minimize(loss, np.array([1.0, 0.0])).x
    return expit(slope * logits + intercept)


METHODS = {"isotonic": _isotonic, "sigmoid": _sigmoid}


def _projected(numbers: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest numbers, none of them negative, with this sum."""
    falling = np.sort(numbers)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.maximum(numbers - excess[kept], 0.0)
