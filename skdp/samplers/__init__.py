"""How a log-concave density is sampled, and what is proved about the sample.

`SAMPLERS` are what estimators offer as `sampler`; `sampler="auto"` is "proximal" there, for every
fit. `REFERENCE_SAMPLERS` are the papers' others, for `draw_samples` only.
"""

from skdp.samplers.ball import Ball
from skdp.samplers.base import (
    Certificate,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.samplers.draw_samples import draw_black_box, draw_samples
from skdp.samplers.exact import ExactSampler
from skdp.samplers.langevin import LangevinSampler
from skdp.samplers.localized import LocalizedSampler
from skdp.samplers.proximal import ProximalSampler
from skdp.samplers.proximal_bundle import ProximalBundleSampler
from skdp.samplers.proximal_tv import ProximalTVSampler
from skdp.samplers.reference.black_box import BlackBox
from skdp.samplers.reference.gibbs import HingeGibbsSampler, LogisticGibbsSampler
from skdp.samplers.reference.hit_and_run import HitAndRunSampler
from skdp.samplers.reference.mala import MALASampler
from skdp.samplers.reference.renyi_langevin import RenyiLangevinSampler
from skdp.samplers.reference.smoothed_langevin import SmoothedLangevinSampler
from skdp.samplers.reference.walks import BallWalkSampler, GridWalkSampler
from skdp.samplers.reference.zeroth_order import AlternatingSchedule, ZerothOrderSampler
from skdp.samplers.registry import REFERENCE_SAMPLERS, SAMPLERS

__all__ = [
    "REFERENCE_SAMPLERS",
    "SAMPLERS",
    "AlternatingSchedule",
    "Ball",
    "BallWalkSampler",
    "BlackBox",
    "Certificate",
    "ExactSampler",
    "GridWalkSampler",
    "HingeGibbsSampler",
    "HitAndRunSampler",
    "LangevinSampler",
    "LocalizedSampler",
    "LogisticGibbsSampler",
    "MALASampler",
    "Progress",
    "ProximalBundleSampler",
    "ProximalSampler",
    "ProximalTVSampler",
    "RenyiLangevinSampler",
    "Requirement",
    "Sample",
    "Sampler",
    "SamplerPlan",
    "Setting",
    "SmoothedLangevinSampler",
    "Target",
    "ZerothOrderSampler",
    "draw_black_box",
    "draw_samples",
]
