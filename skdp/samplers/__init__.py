"""Samplers of log-concave densities, each with a certificate of its samples.

Estimators accept the names in `SAMPLERS` as `sampler`; `sampler="auto"` means "proximal".
`REFERENCE_SAMPLERS` are other samplers from papers, for research only.
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
