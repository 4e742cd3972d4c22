"""How a log-concave law is drawn, and what is proved about the draw."""

from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target
from skdp.samplers.proximal import ProximalSampler

__all__ = [
    "SAMPLERS",
    "Certificate",
    "Draw",
    "Progress",
    "ProximalSampler",
    "Run",
    "Sampler",
    "Setting",
    "Target",
]

SAMPLERS: dict[str, type[Sampler]] = {"proximal": ProximalSampler}
"""Every sampler by name."""
