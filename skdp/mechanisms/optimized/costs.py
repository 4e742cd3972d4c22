"""Expected losses of noise: means over cells, and functions below a loss."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from skdp.mechanisms.base import LOSSES, Loss
from skdp.support.validation import check_choice

__all__ = [
    "DEGREES",
    "ScaledLoss",
    "cell_means",
    "cell_nodes",
    "check_convex",
    "values_below",
]

DEGREES = {"l1": 1, "l2": 2}
"""Power of the unit with which a loss grows."""

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)
_PARTS = 32


@dataclass(frozen=True)
class ScaledLoss:
    """The loss of noise in units of `scale`."""

    loss: str | Loss
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.loss):
            check_choice("loss", self.loss, LOSSES)
        elif not isinstance(self.loss, Hashable):
            raise ValueError(f"loss must be hashable, got {self.loss!r}.")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the loss of noise x·scale."""
        function = self.loss if callable(self.loss) else LOSSES[self.loss]
        values = np.asarray(function(x * self.scale), dtype=float)
        if values.shape != np.shape(x) or not np.all(np.isfinite(values)):
            raise ValueError(
                "loss must map an array of noise values to as many finite numbers; "
                f"{self.loss!r} does not."
            )
        return values

    def check_growth(self, farthest: float) -> None:
        """Reject a loss that does not grow at both ends: no noise would be best."""
        x = np.linspace(-farthest, farthest, 401)
        values = self(x)
        if not min(values[0], values[-1]) > values.min():
            raise ValueError(f"loss must grow without bound on both sides; {self.loss!r} does not.")

    def is_even(self, farthest: float) -> bool:
        """Return whether the loss is symmetric."""
        x = np.linspace(0.0, farthest, 401)
        return bool(np.allclose(self(x), self(-x), rtol=1e-12, atol=0.0))


def cell_nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points in each cell, and weights of their sum that is the mean over a cell."""
    # Gauss's rule on each half of a cell, exact for polynomials there.
    quarter = 0.25 * np.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    halves = [middle + (side + _NODES) * quarter for side in (-1.0, 1.0)]
    return np.hstack(halves), 0.25 * np.concatenate([_NODE_WEIGHTS, _NODE_WEIGHTS])


def cell_means(loss: Loss, edges: np.ndarray) -> np.ndarray:
    """Return the mean of a loss over each cell."""
    points, weights = cell_nodes(edges)
    return np.asarray(loss(points)) @ weights


def check_convex(values: np.ndarray) -> None:
    """Reject a loss, given at equally spaced points, for which no lower bound is known."""
    rises, rounding = np.diff(values), _rounding(values)
    if np.any(np.diff(rises) < -4.0 * rounding) or rises[0] > 0.0 or rises[-1] < 0.0:
        raise ValueError(
            "The lower bound needs a convex loss with its minimum within the support. Use "
            "`expected_loss`, the upper bound, for other losses."
        )


def values_below(loss: Loss, knots: np.ndarray) -> np.ndarray:
    """Return values at equally spaced knots whose straight interpolation is nowhere above a loss.

    The loss is convex and grows beyond the knots, so that the last values hold there as well.
    Between two points of a fine grid a convex function lies above the chords of its neighbors.
    """
    step = (knots[1] - knots[0]) / _PARTS
    values = np.asarray(loss(knots[0] + step * np.arange(-1, (knots.size - 1) * _PARTS + 2)))
    check_convex(values)
    rises, rounding, inner = np.diff(values), _rounding(values), values[1:-1]
    left, right = np.diff(rises)[:-1], np.diff(rises)[1:]
    sag = left * right / np.maximum(left + right, rounding)  # below the chord of one part
    chords = np.interp(np.arange(inner.size), np.arange(0, inner.size, _PARTS), inner[::_PARTS])
    gap = chords - inner
    below = np.maximum(gap[:-1], gap[1:]) + np.maximum(sag, 0.0)
    deepest = below.reshape(-1, _PARTS).max(axis=1)
    return (
        inner[::_PARTS]
        - np.maximum(np.append(deepest, 0.0), np.insert(deepest, 0, 0.0))
        - (8.0 * rounding)
    )


def _rounding(values: np.ndarray) -> float:
    """Return the error that a loss may have: 900 roundings of 2^−53, for what a user wrote."""
    return 1e-13 * (1.0 + float(np.max(np.abs(values))))
