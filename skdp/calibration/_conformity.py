"""Conformity scores: numbers in [0, 1] that are small where a prediction fits its target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

_ROUNDED = 1.0 + 2.0**-40  # of an interval, more than the roundings of a root, a square and a sum


@dataclass(frozen=True)
class AbsoluteResidual:
    """√(|y − ŷ| / width of the *public* bounds), with y and ŷ clipped to the bounds.

    The root makes the grid of thresholds finer for small residuals than for large ones.
    """

    bounds: tuple[float, float]

    @property
    def width(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def of(self, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the scores of rows; that of a prediction that is not a number is 1."""
        low, high = self.bounds
        apart = np.clip(predicted, low, high) - np.clip(truth, low, high)
        return np.nan_to_num(np.sqrt(np.minimum(np.abs(apart) / self.width, 1.0)), nan=1.0)

    def distance(self, threshold: np.ndarray) -> np.ndarray:
        """Return the largest |y − ŷ| of scores up to a threshold."""
        return np.minimum(threshold**2 * self.width * _ROUNDED, self.width)


class LabelScore(ABC):
    """A score of each class of a row, from the probabilities of all classes."""

    @staticmethod
    @abstractmethod
    def of_classes(shares: np.ndarray) -> np.ndarray:
        """Return scores of shape (n_rows, n_classes)."""

    def of_all(self, shares: np.ndarray) -> np.ndarray:
        """Return scores of shape (n_rows, n_classes) in [0, 1]; those of no numbers are 1."""
        return np.nan_to_num(np.clip(self.of_classes(shares), 0.0, 1.0), nan=1.0)

    def of(self, shares: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the scores of rows with true labels 0..K−1."""
        return self.of_all(shares)[np.arange(len(truth)), truth]


class LeastAmbiguous(LabelScore):
    """One minus the probability of a class (Sadinle, Lei and Wasserman 2019)."""

    @staticmethod
    def of_classes(shares: np.ndarray) -> np.ndarray:
        return 1.0 - shares


class Adaptive(LabelScore):
    """The probability of a class and of all more probable ones (Romano, Sesia and Candès 2020).

    Classes of equal probability are in their order. Without the random part, sets are larger.
    """

    @staticmethod
    def of_classes(shares: np.ndarray) -> np.ndarray:
        order = np.argsort(-shares, axis=1, kind="stable")
        ranked = np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1)
        scores = np.empty(ranked.shape)
        np.put_along_axis(scores, order, ranked, axis=1)
        return scores


LABEL_SCORES: dict[str, LabelScore] = {"lac": LeastAmbiguous(), "aps": Adaptive()}
