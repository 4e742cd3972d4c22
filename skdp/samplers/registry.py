"""Samplers by name: those that an estimator takes, and those of the papers."""

from __future__ import annotations

from skdp.samplers.base import Sampler
from skdp.samplers.exact import ExactSampler
from skdp.samplers.langevin import LangevinSampler
from skdp.samplers.localized import LocalizedSampler
from skdp.samplers.proximal import ProximalSampler
from skdp.samplers.proximal_bundle import ProximalBundleSampler
from skdp.samplers.proximal_tv import ProximalTVSampler
from skdp.samplers.reference.gibbs import HingeGibbsSampler, LogisticGibbsSampler
from skdp.samplers.reference.hit_and_run import HitAndRunSampler
from skdp.samplers.reference.mala import MALASampler
from skdp.samplers.reference.renyi_langevin import RenyiLangevinSampler
from skdp.samplers.reference.smoothed_langevin import SmoothedLangevinSampler
from skdp.samplers.reference.walks import BallWalkSampler, GridWalkSampler
from skdp.samplers.reference.zeroth_order import ZerothOrderSampler

__all__ = ["REFERENCE_SAMPLERS", "SAMPLERS"]

SAMPLERS: dict[str, type[Sampler]] = {
    "proximal": ProximalSampler,
    "exact": ExactSampler,
    "langevin": LangevinSampler,
    "proximal_tv": ProximalTVSampler,
    "localized": LocalizedSampler,
    "proximal_bundle": ProximalBundleSampler,
}
"""What an estimator's `sampler` may name: each certifies a run that is short enough for a fit."""

REFERENCE_SAMPLERS: dict[str, type[Sampler]] = {
    "zeroth_order": ZerothOrderSampler,
    "renyi_langevin": RenyiLangevinSampler,
    "smoothed_langevin": SmoothedLangevinSampler,
    "mala": MALASampler,
    "hit_and_run": HitAndRunSampler,
    "ball_walk": BallWalkSampler,
    "grid_walk": GridWalkSampler,
    "hinge_gibbs": HingeGibbsSampler,
    "logistic_gibbs": LogisticGibbsSampler,
}
"""The papers' other samplers, for `draw_samples` and `draw_black_box`.

Those that certify a total variation need too many steps to come within one that a fit could set
aside; the others certify nothing of a finite run.
"""
