"""Mixtures, envelopes and hulls of curves."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

import numpy as np

from skdp.privacy.curve import PrivacyCurve, SymmetricCurve
from skdp.support.root_search import minimize_from_grid
from skdp.support.validation import set_checked

__all__ = ["HullCurve", "MaximumCurve", "MixtureCurve", "StitchedCurve", "SymmetrizedCurve"]


@dataclass(frozen=True)
class MixtureCurve(PrivacyCurve):
    """The curve of a mixture whose branch is chosen independently of the data: Σ wᵢ·δᵢ(ε).

    Exact if the branch is released, an upper bound if it is not: H_c is jointly convex
    (Balle, Barthe and Gaboardi 2018, section 3).

    Parameters
    ----------
    weights : tuple of float
        *Public.* At least 0, with sum 1.
    curves : tuple of PrivacyCurve
        *Public.* As many as weights.
    """

    weights: tuple[float, ...]
    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        set_checked(self, weights=tuple(map(float, self.weights)), curves=tuple(self.curves))
        sums_to_one = self.weights and abs(math.fsum(self.weights) - 1.0) <= 1e-12
        if len(self.weights) != len(self.curves) or not sums_to_one or min(self.weights) < 0.0:
            raise ValueError(
                f"weights must be one for each curve, at least 0, with sum 1; got {self.weights!r}."
            )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        parts = zip(self.weights, self.curves, strict=True)
        return np.minimum(sum(weight * curve._delta(epsilon) for weight, curve in parts), 1.0)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    def reversed(self) -> MixtureCurve:
        return MixtureCurve(self.weights, tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class MaximumCurve(PrivacyCurve):
    """The upper envelope of `curves`: the least curve that covers all of them.

    Parameters
    ----------
    curves : sequence of PrivacyCurve
        *Public.* At least one.
    """

    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        set_checked(self, curves=tuple(self.curves))
        if not self.curves:
            raise ValueError("MaximumCurve needs at least one curve.")

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return reduce(np.maximum, (curve._delta(epsilon) for curve in self.curves))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    def reversed(self) -> MaximumCurve:
        return MaximumCurve(tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class SymmetrizedCurve(PrivacyCurve):
    """The larger of a curve and its reverse: what holds for both orders of the neighbors.

    Composing this curve is valid but can be looser than composing each order by itself and taking
    the larger δ, because the worst order may change with ε and between steps.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.*
    """

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return np.maximum(self.curve._delta(epsilon), self.curve._mirrored(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> Self:
        return self


@dataclass(frozen=True)
class StitchedCurve(SymmetricCurve):
    """δ of `curve` for ε ≥ 0, and its mirror image for ε < 0.

    If only the half ε ≥ 0 is proved, for both orders of the neighbors, this curve may be composed:
    no single pair of distributions need attain both halves (Zhu, Dong and Wang 2022, Prop. 8).

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.*
    """

    curve: PrivacyCurve

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)


class HullCurve(SymmetricCurve):
    """The largest curve below a bound F(ε) that holds for ε ≥ 0 and both orders of a pair.

    A true curve is convex in e^ε and lies below F and its mirror image, so it lies below the convex
    hull of the two. F is convex in e^ε, and near 0 it may come close to 1. There it is replaced by
    the largest randomized-response line implied by any (ε, F(ε)), 1 − B·(1 + e^ε) with
    B = max (1 − F)/(1 + e^ε), up to the point where they touch. That line is its own mirror image,
    so the negative half follows by symmetry.
    """

    @abstractmethod
    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε) for ε ≥ 0; it may be positive."""

    @property
    @abstractmethod
    def _farthest(self) -> float:
        """An ε not below the one where the line touches F."""

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        if np.all(epsilon >= self._farthest):  # the line takes longer to find than F
            return np.exp(np.minimum(self._log_bound(epsilon), 0.0))
        start, log_slope = self._line
        return np.where(
            epsilon >= start,
            np.exp(np.minimum(self._log_bound(np.maximum(epsilon, start)), 0.0)),
            -np.expm1(log_slope + np.logaddexp(0.0, np.minimum(epsilon, start))),
        )

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        near = super()._log_delta(epsilon)
        start, _ = self._line
        far = self._log_bound(np.maximum(epsilon, start))
        return np.where(epsilon >= start, np.minimum(far, 0.0), near)

    @cached_property
    def _line(self) -> tuple[float, float]:
        """Return the ε at which the line touches F, and log B; any point gives a valid line."""
        grid = np.linspace(0.0, self._farthest, 200)

        def steepness(x: float) -> float:
            return -max(float(self._log_slope(np.asarray(x))), -1e9)

        best, _ = minimize_from_grid(steepness, grid, -self._log_slope(grid))
        points = np.array([0.0, best])
        slopes = self._log_slope(points)
        return float(points[np.argmax(slopes)]), float(slopes.max())

    def _log_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log of (1 − F(ε))/(1 + e^ε); −inf where F ≥ 1."""
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(np.minimum(self._log_bound(epsilon), 0.0)))
        return gain - np.logaddexp(0.0, epsilon)
