"""Dominating pairs of mechanisms known by their privacy curve alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp.accounting._loss_pairs import Lines, LossPair
from skdp.accounting._pmf import UNIT

__all__ = ["CurvePair"]


@dataclass(frozen=True)
class CurvePair(LossPair):
    """A pair known by its curve alone, such as a discrete mechanism's or a stitched one.

    Every convex nonincreasing H with H(0) = 1 and (1 − c)_+ ≤ H ≤ 1 is the curve of some pair
    (Zhu, Dong and Wang 2022, Proposition 8).

    Parameters
    ----------
    curve : callable
        δ(ε) of an increasing array of real ε.
    opposite : CurvePair, optional
        The pair of the other order; by default the same.
    rounding : float
        Bound on the relative error of δ for ε ≥ 0 and on the absolute one for ε < 0.
    infinite : float
        A lower bound of δ(∞).
    lattice : float
        Where most atoms of the loss lie at multiples of one number: that number.
    origin : float
        A kink that the grid should go through.
    """

    curve: Callable[[np.ndarray], Any]
    opposite: CurvePair | None = None
    rounding: float = 4e-12
    infinite: float = 0.0
    lattice: float = 0.0
    origin: float = 0.0

    @property
    def backward(self) -> LossPair:
        if self.opposite is None:
            return self
        return replace(self.opposite, opposite=replace(self, opposite=None))

    def above(self, losses: np.ndarray) -> np.ndarray:
        values = np.asarray(self.curve(losses - self._shift(losses)), dtype=float)
        return np.clip(values * (1.0 + self.rounding), 0.0, 1.0)

    @staticmethod
    def _shift(losses: np.ndarray) -> np.ndarray:
        """Return how far the rounding of a loss, and of what is made of it, may move it."""
        return 16.0 * UNIT * (32.0 + np.abs(losses))

    def below(self, losses: np.ndarray) -> Lines:
        """Return a line through the middle of each cell, steep enough at its right end.

        The tangent at the middle has a slope between those of the two half chords; each end
        takes the half chord that makes it lower.
        """
        half = 0.5 * (losses[1] - losses[0])
        middle = np.asarray(self.curve(losses[:-1] + half), dtype=float)
        ends = np.asarray(self.curve(losses), dtype=float)
        left = middle + (middle - ends[1:]) * math.exp(-half)
        right = middle - (ends[:-1] - middle) * math.exp(half)
        error = 4.0 * (self.rounding + 8.0 * UNIT) * ends[:-1]
        steepest = np.maximum(ends[:-1] - middle, 0.0) / -math.expm1(-half)
        error = error + 4.0 * self._shift(losses[:-1]) * steepest
        flat = middle + (middle - ends[1:]) / math.expm1(half)
        return left - error, right - error, flat - error / math.expm1(half)
