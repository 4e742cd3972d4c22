"""Samplers by name: those for estimators, and the reference samplers of papers."""

from __future__ import annotations

from skdp.samplers.base import Sampler
from skdp.support.registry import Registry

__all__ = ["REFERENCE_SAMPLERS", "SAMPLERS"]

SAMPLERS: Registry[Sampler] = Registry(
    {
        "proximal": "skdp.samplers.proximal:ProximalSampler",
        "exact": "skdp.samplers.exact:ExactSampler",
        "langevin": "skdp.samplers.langevin:LangevinSampler",
        "proximal_tv": "skdp.samplers.proximal_tv:ProximalTVSampler",
        "localized": "skdp.research.samplers.localized:LocalizedSampler",
        "proximal_bundle": "skdp.samplers.proximal_bundle:ProximalBundleSampler",
    }
)
"""Names for an estimator's `sampler`; each certifies a run that is short enough for a fit."""

REFERENCE_SAMPLERS: Registry[Sampler] = Registry(
    {
        "zeroth_order": "skdp.research.samplers.zeroth_order:ZerothOrderSampler",
        "renyi_langevin": "skdp.research.samplers.renyi_langevin:RenyiLangevinSampler",
        "smoothed_langevin": "skdp.research.samplers.smoothed_langevin:SmoothedLangevinSampler",
        "mala": "skdp.research.samplers.mala:MALASampler",
        "hit_and_run": "skdp.research.samplers.hit_and_run:HitAndRunSampler",
        "ball_walk": "skdp.research.samplers.walks:BallWalkSampler",
        "grid_walk": "skdp.research.samplers.walks:GridWalkSampler",
        "hinge_gibbs": "skdp.research.samplers.gibbs:HingeGibbsSampler",
        "logistic_gibbs": "skdp.research.samplers.gibbs:LogisticGibbsSampler",
    }
)
"""Reference samplers from papers, for samples without privacy.

Some certify a total variation but need too many steps for a fit. The others certify nothing about a
finite run.
"""
