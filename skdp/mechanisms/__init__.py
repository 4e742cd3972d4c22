"""Mechanisms for single answers: exact noise on a public grid, and private choices.

A new noise is one file: a frozen dataclass over `RealMechanism` or `IntegerMechanism` (both in
``base.py``), and one line in `MECHANISMS`, over which the conformance suite runs.
"""

from skdp.mechanisms.base import AdditiveMechanism, Mechanism
from skdp.mechanisms.discrete_gaussian import DiscreteGaussian
from skdp.mechanisms.exponential import ExponentialMechanism
from skdp.mechanisms.gaussian import Gaussian
from skdp.mechanisms.geometric import Geometric
from skdp.mechanisms.laplace import Laplace
from skdp.mechanisms.optimized_noise import OptimizedNoise
from skdp.mechanisms.permute_and_flip import PermuteAndFlip
from skdp.mechanisms.staircase import Staircase
from skdp.mechanisms.truncated_laplace import TruncatedLaplace

__all__ = [
    "MECHANISMS",
    "AdditiveMechanism",
    "DiscreteGaussian",
    "ExponentialMechanism",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Mechanism",
    "OptimizedNoise",
    "PermuteAndFlip",
    "Staircase",
    "TruncatedLaplace",
]

MECHANISMS: dict[str, type[AdditiveMechanism]] = {
    "laplace": Laplace,
    "gaussian": Gaussian,
    "geometric": Geometric,
    "discrete_gaussian": DiscreteGaussian,
    "staircase": Staircase,
    "truncated_laplace": TruncatedLaplace,
}
"""Every additive noise for vectors by name; the conformance suite runs over this list."""
