"""How a log-concave law is drawn, and what is proved about the draw."""

from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target
from skdp.samplers.exact import ExactSampler
from skdp.samplers.langevin import LangevinSampler
from skdp.samplers.proximal import ProximalSampler
from skdp.samplers.proximal_tv import ProximalTVSampler

__all__ = [
    "SAMPLERS",
    "Certificate",
    "Draw",
    "ExactSampler",
    "LangevinSampler",
    "Progress",
    "ProximalSampler",
    "ProximalTVSampler",
    "Run",
    "Sampler",
    "Setting",
    "Target",
]

SAMPLERS: dict[str, type[Sampler]] = {
    "proximal": ProximalSampler,
    "exact": ExactSampler,
    "langevin": LangevinSampler,
    "proximal_tv": ProximalTVSampler,
}
"""Every sampler by name."""
