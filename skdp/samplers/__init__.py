"""How a log-concave law is drawn, and what is proved about the draw."""

from skdp.samplers.base import Draw, Progress, Sampler, Target
from skdp.samplers.proximal import ProximalSampler

__all__ = ["SAMPLERS", "Draw", "Progress", "ProximalSampler", "Sampler", "Target"]

SAMPLERS = {"proximal": ProximalSampler}
"""Every sampler by name."""
