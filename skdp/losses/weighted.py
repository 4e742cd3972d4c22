"""Losses with weights per record or per class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from skdp.losses.base import (
    GradientDirections,
    Loss,
    LossFamily,
    Minorant,
    ProbabilityLoss,
    adapted,
    oscillation,
)
from skdp.support.validation import check_size, make_plain


def weighted_targets(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return targets paired with their weights, the input of `WeightedLoss`."""
    pairs = np.empty(y.shape, dtype=[("target", y.dtype), ("weight", np.float64)])
    pairs["target"], pairs["weight"] = y, weights
    return pairs


@dataclass(frozen=True)
class _Weighted(Loss, LossFamily, ProbabilityLoss):
    """w·ℓ(y, z) for a weight w of each record: constants are multiplied by the largest w."""

    loss: Loss

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest weight that a record may have."""

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _weights(self, y: np.ndarray) -> np.ndarray: ...

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """Scores per record."""
        return self.loss.n_scores

    @property
    def score_units(self) -> float:
        """Units of the unweighted loss: a weight multiplies the smoothness."""
        return float(getattr(self.loss, "score_units", 0.0))

    def adapted(self, signal: float) -> Loss:
        return replace(self, loss=adapted(self.loss, signal))

    def log_probabilities(self, z: np.ndarray) -> np.ndarray:
        assert isinstance(self.loss, ProbabilityLoss), "only losses with a link have probabilities"
        return self.loss.log_probabilities(z)

    def probabilities(self, z: np.ndarray) -> np.ndarray:
        assert isinstance(self.loss, ProbabilityLoss), "only losses with a link have probabilities"
        return self.loss.probabilities(z)

    @property
    def directions(self) -> GradientDirections:
        """Directions of the unweighted loss: a weight changes lengths only."""
        return GradientDirections.of(self.loss)

    @property
    def minorant(self) -> Minorant:
        """Weighted minorants."""
        inner = Minorant.of(self.loss)
        return Minorant(self, replace(self, loss=inner.steady), self.largest * inner.gap)

    @property
    def lipschitz(self) -> float:
        return self.largest * self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        return self.largest * self.loss.smoothness

    @property
    def curvature_trace(self) -> float:
        return self.largest * self.loss.curvature_trace

    @property
    def noise_scale(self) -> float:
        return self.loss.noise_scale

    def oscillation(self, radius: float) -> float:
        """Return the bound for a record of the largest weight."""
        return self.largest * oscillation(self.loss, radius)

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.value(self._targets(y), z)

    def gradient(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (self._weights(y) * self.loss.gradient(self._targets(y), z).T).T

    def curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._weights(y) * self.loss.curvature(self._targets(y), z)

    def hessian(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the weighted second derivatives of a loss of one score that has them."""
        assert hasattr(self.loss, "hessian"), "no other loss has one"
        return self._weights(y) * self.loss.hessian(self._targets(y), z)

    def least_curvature(self, y: np.ndarray, z: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the weighted bounds."""
        inner = Minorant.of(self.loss)
        return self._weights(y) * inner.least_curvature(self._targets(y), z, radius)


@dataclass(frozen=True)
class ClassWeightedLoss(_Weighted):
    """Loss w_y·ℓ(y, z) with a weight per class; the largest weight multiplies the constants.

    Parameters
    ----------
    loss : Loss
        *Public.* The loss at weight 1.
    weights : tuple of float
        *Public.* One positive weight per class, in the order of the labels.
    """

    weights: tuple[float, ...]

    @property
    def largest(self) -> float:
        return max(self.weights)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return y

    def _weights(self, y: np.ndarray) -> np.ndarray:
        classes = y if self.n_scores > 1 else (y > 0).astype(int)
        return np.asarray(self.weights)[classes]


@dataclass(frozen=True)
class WeightedLoss(_Weighted):
    """Loss w·ℓ(y, z) with a private weight w per record.

    Let L be the Lipschitz constant of ℓ in the score and R the norm of a row. For any weight in
    [0, max_weight] the gradient in θ has norm at most max_weight·L·R. Adding or removing a record
    changes the sum by a function with that Lipschitz constant; replacing one, by a function with
    the constant 2·max_weight·L·R, whatever both weights are. Every constant of the loss is
    therefore multiplied by `max_weight`. The number of records does not depend on weights.

    Parameters
    ----------
    loss : Loss
        *Public.* The loss at weight 1.
    max_weight : float
        *Public.* Largest weight, positive. The caller clips weights to [0, max_weight].
    """

    max_weight: float

    def __post_init__(self) -> None:
        make_plain(self)
        check_size("max_weight", self.max_weight)

    @property
    def largest(self) -> float:
        return self.max_weight

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return y["target"]

    def _weights(self, y: np.ndarray) -> np.ndarray:
        return y["weight"]


@dataclass(frozen=True)
class SharedLoss(WeightedLoss):
    """Loss w·ℓ(y, z) of one row of a person with several rows; the weights are shares.

    The weights of a person's rows add up to at most `max_weight`. Adding or removing a person
    therefore changes the sum by a function with the Lipschitz constant max_weight·L·R, the same as
    one row of the largest weight, however many rows the person has. All constants hold per person.

    Parameters
    ----------
    loss : Loss
        *Public.* The loss at weight 1.
    max_weight : float
        *Public.* Upper bound of the sum of a person's weights, positive.
    """
