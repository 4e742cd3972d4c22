"""How a log-concave density is sampled, and what is proved about the sample.

`SAMPLERS` are what estimators offer as `sampler`; `sampler="auto"` is "proximal" there, for every
fit. `REFERENCE_SAMPLERS` are the papers' others, for research only.
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
from skdp.samplers.exact import ExactSampler
from skdp.samplers.langevin import LangevinSampler
from skdp.samplers.proximal import ProximalSampler
from skdp.samplers.proximal_bundle import ProximalBundleSampler
from skdp.samplers.proximal_tv import ProximalTVSampler
from skdp.samplers.registry import REFERENCE_SAMPLERS, SAMPLERS

__all__ = [
    "REFERENCE_SAMPLERS",
    "SAMPLERS",
    "Ball",
    "Certificate",
    "ExactSampler",
    "LangevinSampler",
    "Progress",
    "ProximalBundleSampler",
    "ProximalSampler",
    "ProximalTVSampler",
    "Requirement",
    "Sample",
    "Sampler",
    "SamplerPlan",
    "Setting",
    "Target",
]
