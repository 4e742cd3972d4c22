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
_SHARPEST = 0.05  # margins: the derivatives of minorants change over at least this width


@dataclass(frozen=True)
class SmoothedHingeLoss(MarginLoss):
    """Hinge loss with its corner rounded over a width of `width` margins.

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

    lipschitz = 1.0

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("smoothing", self.width, low=1e-6, high=1e6)

    @property
    def smoothness(self) -> float:
        return 1.0 / self.width

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        s = -self.derivative(x)
        return s * (1.0 - x) - 0.5 * self.width * s * s

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - x) / self.width, 0.0, 1.0)

    def second_derivative(self, x: np.ndarray) -> np.ndarray:
        height = 0.0 if self.width < _SHARPEST else 1.0 / self.width
        return np.where((x >= 1.0 - self.width) & (x <= 1.0), height, 0.0)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m) − width·s²/2; tangents for widths from 0.05 on."""
        return Minorant(self, self) if self.width >= _SHARPEST else _lines(self, self.width)


@dataclass(frozen=True)
class AdaptiveHingeLoss(SmoothedHingeLoss, LossFamily):
    """Smoothed hinge of width 2/3, or of width 1 if the signal-to-noise ratio is high.

    Parameters
    ----------
    width : float in (1e-6, 1e6)
        *Public.* Width for a low signal.
    """

    def adapted(self, signal: float) -> Loss:
        return SmoothedHingeLoss(1.0 if signal >= _WIDE_SIGNAL else self.width)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """Hinge loss φ(m) = max(0, 1 − m), with derivative −1 at m = 1, where it is not smooth.

    Affine minorants are s·(1 − m) for s in [0, 1], chosen as for a sharp `SmoothedHingeLoss`.
    """

    lipschitz = 1.0
    smoothness = math.inf
    noise_scale = 1.0

    def value_at(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - x)

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -(x <= 1.0).astype(float)

    @property
    def minorant(self) -> Minorant:
        """Lines s·(1 − m)."""
        return _lines(self, 0.0)


@dataclass(frozen=True)
class _Lines(MarginLoss):
    """The lines s·(1 − m') − width·s²/2 at m' = m, with s = (1 − m)/0.05 clipped to [0, 1]."""

    width: float

    lipschitz = 1.0
    smoothness = 1.0 / _SHARPEST

    @property
    def noise_scale(self) -> float:
        return max(1.0, self.width)

    def value_at(self, x: np.ndarray) -> np.ndarray:
        s = -self.derivative(x)
        return s * (1.0 - x) - 0.5 * self.width * s * s

    def derivative(self, x: np.ndarray) -> np.ndarray:
        return -np.clip((1.0 - x) / _SHARPEST, 0.0, 1.0)


def _lines(loss: MarginLoss, width: float) -> Minorant:
    # The loss is a supremum of such lines over s. The tangent has another s where width < 0.05;
    # with this one the line is at most s·(1 − s)·0.05 ≤ 0.05/4 below the loss.
    return Minorant(loss, _Lines(width), gap=0.25 * _SHARPEST)
