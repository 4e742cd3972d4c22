"""Curves made of curves: mixtures, envelopes and both orders at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from skdp.privacy.curve import PrivacyCurve, SymmetricCurve

__all__ = ["MaximumCurve", "MixtureCurve", "StitchedCurve", "SymmetrizedCurve"]


@dataclass(frozen=True)
class MixtureCurve(PrivacyCurve):
    """The curve of a mixture whose branch is drawn without looking at the data: Σ wᵢ·δᵢ(ε).

    Exact if the branch is released, an upper bound if it is not: H_c is jointly convex
    (Balle, Barthe and Gaboardi 2018, section 3).

    Parameters
    ----------
    weights : tuple of float
        *Public.* At least 0, with sum 1.
    curves : tuple of PrivacyCurve
    """

    weights: tuple[float, ...]
    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        object.__setattr__(self, "curves", tuple(self.curves))
        sums_to_one = self.weights and abs(math.fsum(self.weights) - 1.0) <= 1e-12
        if len(self.weights) != len(self.curves) or not sums_to_one or min(self.weights) < 0.0:
            raise ValueError(
                f"weights must be one for each curve, at least 0, with sum 1; got {self.weights!r}."
            )

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        parts = zip(self.weights, self.curves, strict=True)
        return np.minimum(sum(weight * curve._delta(epsilon) for weight, curve in parts), 1.0)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        parts = zip(self.weights, self.curves, strict=True)
        return np.minimum(sum(weight * curve._mirrored(epsilon) for weight, curve in parts), 1.0)

    def reversed(self) -> MixtureCurve:  # noqa: D102
        return MixtureCurve(self.weights, tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class MaximumCurve(PrivacyCurve):
    """The upper envelope of `curves`: the least curve that covers all of them."""

    curves: tuple[PrivacyCurve, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", tuple(self.curves))
        if not self.curves:
            raise ValueError("MaximumCurve needs at least one curve.")

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return reduce(np.maximum, (curve._delta(epsilon) for curve in self.curves))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return reduce(np.maximum, (curve._mirrored(epsilon) for curve in self.curves))

    def reversed(self) -> MaximumCurve:  # noqa: D102
        return MaximumCurve(tuple(curve.reversed() for curve in self.curves))


@dataclass(frozen=True)
class SymmetrizedCurve(PrivacyCurve):
    """The larger of a curve and its reverse: what holds for both orders of the neighbours.

    The worst order may change with ε and between the steps of a composition, so composing this
    curve is valid but can be looser than composing each order by itself and taking the larger δ.
    """

    curve: PrivacyCurve

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return np.maximum(self.curve._delta(epsilon), self.curve._mirrored(epsilon))

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self._delta(epsilon)

    def reversed(self) -> PrivacyCurve:  # noqa: D102
        return self


@dataclass(frozen=True)
class StitchedCurve(SymmetricCurve):
    """δ of `curve` for ε ≥ 0, and its mirror image for ε < 0.

    Where only the half ε ≥ 0 is proved, for both orders of the neighbours, this is what may be
    composed: no single pair of laws need attain both halves (Zhu, Dong and Wang 2022, Prop. 8).
    """

    curve: PrivacyCurve

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon)
