"""Dominating pairs of privacy curves, for the numerical accountant."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from skdp.accounting.pld.dominating_pairs import ApproximatePair, CurvePair, LaplacePair, LossPair
from skdp.accounting.pld.gaussian_pairs import (
    GaussianPair,
    PoissonGaussianPair,
    ReplaceOneGaussianPair,
)
from skdp.privacy import GaussianCurve, PrivacyCurve, RepeatAndSelectEvent
from skdp.privacy.combined import MixtureCurve
from skdp.privacy.events.approximated import ApproximatedCurve
from skdp.privacy.events.discrete_gaussian import DiscreteGaussianCurve
from skdp.privacy.events.discrete_laplace import DiscreteLaplaceCurve
from skdp.privacy.events.laplace import LaplaceCurve
from skdp.privacy.events.pure import ApproxDPCurve
from skdp.privacy.events.zcdp import ZCDPEvent
from skdp.privacy.subsampling import PoissonSampledCurve, SubstitutedGaussianCurve
from skdp.support.rounding import CURVE, down

__all__ = ["COVERED", "PAIRS", "loss_pair"]

_MEMORY = 256  # pairs kept
_ENDLESS = 1e35  # a loss beyond all finite ones


@dataclass(frozen=True)
class _Delta:
    """δ(ε) of a curve, equal by value, so that equal compositions are computed once."""

    curve: PrivacyCurve

    def __call__(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve.delta(epsilon)


@lru_cache(maxsize=_MEMORY)
def loss_pair(curve: PrivacyCurve) -> LossPair:
    """Return a pair with this curve; its `backward` has the reversed one."""
    return PAIRS.get(type(curve), _by_curve)(curve)


def _by_curve(curve: PrivacyCurve, lattice: float = 0.0, origin: float = 0.0) -> LossPair:
    """Return the pair of any curve; what δ keeps to the end is at loss +inf."""

    def one_way(one: PrivacyCurve, origin: float) -> CurvePair:
        infinite = down(one.delta(_ENDLESS), CURVE)
        return CurvePair(_Delta(one), None, infinite=infinite, lattice=lattice, origin=origin)

    pair, reverse = one_way(curve, origin), curve.reversed()
    return pair if reverse == curve else replace(pair, opposite=one_way(reverse, -origin))


def _poisson(curve: PoissonSampledCurve) -> LossPair:
    if type(curve.curve) is GaussianCurve:
        return PoissonGaussianPair(curve.curve.mu, curve.rate)
    return _by_curve(curve, origin=math.log1p(-curve.rate))


def _discrete_gaussian(curve: DiscreteGaussianCurve) -> LossPair:
    """The losses are (2x − D)·D/2s² for integers x."""
    lattice = (2 - curve.shift % 2) * curve.shift / (2.0 * curve.scale**2)
    return _by_curve(curve, lattice)


def _discrete_laplace(curve: DiscreteLaplaceCurve) -> LossPair:
    """The losses are (2x − D)/t for integers x."""
    return _by_curve(curve, (2 - curve.shift % 2) / curve.scale)


PAIRS: dict[type, Callable[[Any], LossPair]] = {
    GaussianCurve: lambda curve: GaussianPair(curve.mu),
    LaplaceCurve: lambda curve: LaplacePair(curve.shift),
    ApproxDPCurve: lambda curve: ApproximatePair(curve.bound, curve.failure),
    ApproximatedCurve: lambda curve: _by_curve(curve, loss_pair(curve.curve).lattice),
    DiscreteGaussianCurve: _discrete_gaussian,
    DiscreteLaplaceCurve: _discrete_laplace,
    MixtureCurve: lambda curve: _by_curve(curve, loss_pair(curve.curves[0]).lattice),
    PoissonSampledCurve: _poisson,
    SubstitutedGaussianCurve: lambda curve: ReplaceOneGaussianPair(1.0 / curve.scale, curve.rate),
}
"""Pairs by curve, if more is known than the curve."""

COVERED = (RepeatAndSelectEvent, ZCDPEvent)
"""Events with Rényi bounds that are tighter than those of their curves."""
