"""The registry of mechanisms."""

from __future__ import annotations

from skdp.mechanisms.base import AdditiveMechanism
from skdp.support.registry import Registry

__all__ = ["MECHANISMS"]

MECHANISMS: Registry[AdditiveMechanism] = Registry(
    {
        "laplace": "skdp.mechanisms.laplace:Laplace",
        "gaussian": "skdp.mechanisms.gaussian:Gaussian",
        "geometric": "skdp.mechanisms.geometric:Geometric",
        "discrete_gaussian": "skdp.mechanisms.discrete_gaussian:DiscreteGaussian",
        "staircase": "skdp.mechanisms.staircase:Staircase",
        "truncated_laplace": "skdp.mechanisms.truncated_laplace:TruncatedLaplace",
    }
)
"""Every additive noise for vectors by name; the conformance suite runs over this list."""
