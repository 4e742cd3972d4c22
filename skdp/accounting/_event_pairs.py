"""From what a leaf says about itself to the pair of laws that the numerical accountant composes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.accounting._curve_pairs import CurvePair
from skdp.accounting._gaussian_pairs import (
    GaussianPair,
    PoissonGaussianPair,
    ReplaceOneGaussianPair,
)
from skdp.accounting._loss_pairs import ApproximatePair, LaplacePair, LossPair
from skdp.privacy import GaussianCurve, PrivacyCurve
from skdp.privacy.events.laplace import LaplaceCurve
from skdp.privacy.events.pure import ApproxDPCurve
from skdp.privacy.sampling import PoissonSampledCurve, SubstitutedGaussianCurve

__all__ = ["PAIRS", "loss_pair"]


@dataclass(frozen=True)
class _Delta:
    """δ(ε) of a curve, equal by value, so that equal compositions are worked out once."""

    curve: PrivacyCurve

    def __call__(self, epsilon: np.ndarray) -> Any:
        return self.curve.delta(epsilon)


def loss_pair(curve: PrivacyCurve) -> LossPair:
    """Return a pair with this curve; its `backward` has the reversed one."""
    return PAIRS.get(type(curve), _by_curve)(curve)


def _by_curve(curve: PrivacyCurve) -> LossPair:
    reverse = curve.reversed()
    return CurvePair(_Delta(curve), None if reverse == curve else _Delta(reverse))


def _poisson(curve: PrivacyCurve) -> LossPair:
    inner = curve.curve  # type: ignore[attr-defined]
    if type(inner) is not GaussianCurve:
        return _by_curve(curve)
    return PoissonGaussianPair(inner.mu, curve.rate)  # type: ignore[attr-defined]


PAIRS: dict[type, Callable[[Any], LossPair]] = {
    GaussianCurve: lambda curve: GaussianPair(curve.mu),
    LaplaceCurve: lambda curve: LaplacePair(curve.shift),
    ApproxDPCurve: lambda curve: ApproximatePair(curve.bound, curve.failure),
    PoissonSampledCurve: _poisson,
    SubstitutedGaussianCurve: lambda curve: ReplaceOneGaussianPair(1.0 / curve.scale, curve.rate),
}
"""Closed pairs by curve; every other curve is taken as it is."""
