"""Hinge losses of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.losses.base import Loss, LossFamily, MarginLoss
from skdp.losses.minorant import Minorant
from skdp.support.validation import check_real, make_plain

__all__ = ["AdaptiveHingeLoss", "HingeLoss", "SmoothedHingeLoss"]

_WIDE_SIGNAL = 4000.0  # from which on a width of 1 is better; no guarantee rests on it
_SHARPEST = 0.05  # margins: over no shorter stretch do the minorants' derivatives change


@dataclass(frozen=True)
class SmoothedHingeLoss(MarginLoss):
    """The hinge with its corner rounded over a stretch of `width` margins.

    φ(m) = 0 for m ≥ 1, (1 − m)²/(2·width) on [1 − width, 1] and 1 − m − width/2 below. It lies
    at most width/2 under the hinge and has the same Lipschitz constant. A width above 1 wastes
    sensitivity: the derivative at m = 0 is then above −1.

    The highest affine minorant of derivative −s is s·(1 − m) − width·s²/2. With s = (1 − m)/width
    it is the tangent; for widths below h = 0.05 minorants take s = (1 − m)/h, clipped to [0, 1],
    and lie at most h/4 below φ.

    Parameters
    ----------
    width : float in (1e-6, 1e6)
        *Public.*
    """

    width: float = 2 / 3

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("smoothing", self.width, low=1e-6, high=1e6)

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 1.0 / self.width

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, m: np.ndarray) -> np.ndarray:
        s = -self.derivative(m)
        return s * (1.0 - m) - 0.5 * self.width * s * s

    def derivative(self, m: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - m) / self.width, 0.0, 1.0)

    def second_derivative(self, m: np.ndarray) -> np.ndarray:
        height = 0.0 if self.width < _SHARPEST else 1.0 / self.width
        return np.where((m >= 1.0 - self.width) & (m <= 1.0), height, 0.0)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m) − width·s²/2; tangents for widths from 0.05 on."""
        return Minorant(self, self) if self.width >= _SHARPEST else _lines(self, self.width)


@dataclass(frozen=True)
class AdaptiveHingeLoss(SmoothedHingeLoss, LossFamily):
    """The smoothed hinge of width 2/3, or of width 1 where the signal-to-noise ratio is high.

    Parameters
    ----------
    width : float in (1e-6, 1e6)
        *Public.* Of the low signal.
    """

    def adapted(self, signal: float) -> Loss:
        return SmoothedHingeLoss(1.0 if signal >= _WIDE_SIGNAL else self.width)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """φ(m) = max(0, 1 − m), with derivative −1 at m = 1, where it is not smooth.

    Affine minorants are s·(1 − m) for s in [0, 1], chosen as for a sharp `SmoothedHingeLoss`.
    """

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return math.inf

    @property
    def noise_scale(self) -> float:
        return 1.0

    def value_at(self, m: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - m)

    def derivative(self, m: np.ndarray) -> np.ndarray:
        return -(m <= 1.0).astype(float)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m)."""
        return _lines(self, 0.0)


@dataclass(frozen=True)
class _Lines(MarginLoss):
    """The lines s·(1 − m') − width·s²/2 at m' = m, with s = (1 − m)/0.05 clipped to [0, 1]."""

    width: float

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 1.0 / _SHARPEST

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, m: np.ndarray) -> np.ndarray:
        s = -self.derivative(m)
        return s * (1.0 - m) - 0.5 * self.width * s * s

    def derivative(self, m: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - m) / _SHARPEST, 0.0, 1.0)


def _lines(loss: MarginLoss, width: float) -> Minorant:
    # The loss is a supremum of such lines over s. The tangent has another s where width < 0.05;
    # with this one the line is at most s·(1 − s)·0.05 ≤ 0.05/4 below the loss.
    return Minorant(loss, _Lines(width), gap=0.25 * _SHARPEST)
