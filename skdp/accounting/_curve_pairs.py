"""Dominating pairs of mechanisms known by their privacy curve alone, and their Poisson sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.accounting._loss_pairs import Lines, LossPair
from skdp.accounting._pmf import UNIT

__all__ = ["CurvePair", "amplified", "poisson_sampled"]

_FAR = 600.0


def amplified(losses: np.ndarray, rate: float) -> np.ndarray:
    """Return log(1 + (e^ε − 1)/q), −inf where that is log of a number ≤ 0."""
    near = np.minimum(losses, _FAR)
    inside = np.maximum(np.expm1(near) / rate, -1.0)
    with np.errstate(divide="ignore"):
        return np.log1p(inside) + (losses - near)


@dataclass(frozen=True)
class CurvePair(LossPair):
    """A pair known by its curve alone, such as a discrete mechanism's or a stitched one.

    Every convex nonincreasing H with H(0) = 1 and (1 − c)_+ ≤ H ≤ 1 is the curve of some pair
    (Zhu, Dong and Wang 2022, Proposition 8).

    Parameters
    ----------
    curve : callable
        δ(ε) of an increasing array of real ε.
    backward_curve : callable, optional
        The other order's; by default the same.
    rounding : float
        Bound on the relative error of δ for ε ≥ 0 and on the absolute one for ε < 0.
    infinite : float
        A lower bound of δ(∞).
    lattice : float
        Where the loss has atoms only at multiples of one number: that number.
    """

    curve: Callable[[np.ndarray], Any]
    backward_curve: Callable[[np.ndarray], Any] | None = None
    rounding: float = 4e-12
    infinite: float = 0.0
    lattice: float = 0.0

    @property
    def backward(self) -> LossPair:
        if self.backward_curve is None:
            return self
        swapped = self.backward_curve, self.curve, self.rounding, self.infinite, self.lattice
        return CurvePair(*swapped)

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


def poisson_sampled(
    remove: Callable[[np.ndarray], Any], add: Callable[[np.ndarray], Any], rate: float
) -> CurvePair:
    r"""Return the pair of a mechanism on a Poisson sample under add/remove, from its two curves.

    With x the extra record and S the sample of the others, which has the same law under D and
    D', one run is (1 − q)·M(S) + q·M(S + x) against M(S). Given S, for c ≥ 1 − q and events E,

        (1 − q)·M(S)(E) + q·M(S + x)(E) − c·M(S)(E) = q·(M(S + x)(E) − c'·M(S)(E)),

    c' = (c − 1 + q)/q, so that the curve is at most q·H_{c'}, H the curve of `remove`; for
    c < 1 − q it is 1 − c. In the other order, with w = 1 − c·(1 − q),

        M(S)(E) − c·(1 − q)·M(S)(E) − c·q·M(S + x)(E) = w·(M(S)(E) − (c·q/w)·M(S + x)(E)),

    at most w·H_{cq/w} with the curve of `add`, and 0 where w ≤ 0. Joint convexity of H_c in its
    two laws carries both over to the mixture over S. (Balle, Barthe and Gaboardi 2018, Theorem 2;
    Zhu, Dong and Wang 2022, Theorem 11.)

    Parameters
    ----------
    remove, add : callable
        δ(ε) of (M(S + x), M(S)) and of (M(S), M(S + x)) for increasing arrays of real ε; -inf is
        not passed.
    rate : float in (0, 1)
        Sampling rate q. *Public.*
    """
    largest = -math.log1p(-rate)

    def removed(losses: np.ndarray) -> np.ndarray:
        base = amplified(losses, rate)
        start = int(np.searchsorted(base, -_FAR))
        reached = rate * np.asarray(remove(base[start:]))
        return np.concatenate([-np.expm1(losses[:start]), reached])

    def added(losses: np.ndarray) -> np.ndarray:
        end = int(np.searchsorted(losses, largest))
        w = -np.expm1(losses[:end] - largest)
        reached = w * np.asarray(add(losses[:end] + math.log(rate) - np.log(w)))
        return np.concatenate([reached, np.zeros(losses.size - end)])

    return CurvePair(removed, added)
