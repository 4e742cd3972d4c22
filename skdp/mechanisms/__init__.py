"""Mechanisms for single answers: exact noise on a public grid, and private choices.

A new noise is one file: a frozen dataclass over `RealMechanism` or `IntegerMechanism` (both in
``base.py``), and one line in `MECHANISMS`, over which the conformance suite runs.
"""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.mechanisms.base import AdditiveMechanism as AdditiveMechanism
    from skdp.mechanisms.base import Mechanism as Mechanism
    from skdp.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from skdp.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from skdp.mechanisms.gaussian import Gaussian as Gaussian
    from skdp.mechanisms.geometric import Geometric as Geometric
    from skdp.mechanisms.laplace import Laplace as Laplace
    from skdp.mechanisms.optimized_noise import OptimizedNoise as OptimizedNoise
    from skdp.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from skdp.mechanisms.registry import MECHANISMS as MECHANISMS
    from skdp.mechanisms.staircase import Staircase as Staircase
    from skdp.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.mechanisms.base": ["AdditiveMechanism", "Mechanism"],
            "skdp.mechanisms.discrete_gaussian": ["DiscreteGaussian"],
            "skdp.mechanisms.exponential": ["ExponentialMechanism"],
            "skdp.mechanisms.gaussian": ["Gaussian"],
            "skdp.mechanisms.geometric": ["Geometric"],
            "skdp.mechanisms.laplace": ["Laplace"],
            "skdp.mechanisms.optimized_noise": ["OptimizedNoise"],
            "skdp.mechanisms.permute_and_flip": ["PermuteAndFlip"],
            "skdp.mechanisms.staircase": ["Staircase"],
            "skdp.mechanisms.truncated_laplace": ["TruncatedLaplace"],
            "skdp.mechanisms.registry": ["MECHANISMS"],
        },
    )
