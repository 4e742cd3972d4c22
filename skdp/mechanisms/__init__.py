"""Mechanisms for single answers: exact noise on a public grid, and private choices.

A new noise is one file: a frozen dataclass over `RealMechanism` or `IntegerMechanism` (both in
``base.py``), and one line in ``noise.MECHANISMS``, over which the conformance suite runs.
"""

from typing import TYPE_CHECKING

from skdp.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from skdp.mechanisms.base import AdditiveMechanism as AdditiveMechanism
    from skdp.mechanisms.base import Mechanism as Mechanism
    from skdp.mechanisms.noise import DiscreteGaussian as DiscreteGaussian
    from skdp.mechanisms.noise import Gaussian as Gaussian
    from skdp.mechanisms.noise import Geometric as Geometric
    from skdp.mechanisms.noise import Laplace as Laplace
    from skdp.mechanisms.noise import Staircase as Staircase
    from skdp.mechanisms.noise import TruncatedLaplace as TruncatedLaplace
    from skdp.mechanisms.optimized_noise import OptimizedNoise as OptimizedNoise
    from skdp.mechanisms.selection import ExponentialMechanism as ExponentialMechanism
    from skdp.mechanisms.selection import PermuteAndFlip as PermuteAndFlip
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "skdp.mechanisms.base": ["AdditiveMechanism", "Mechanism"],
            "skdp.mechanisms.noise": [
                "DiscreteGaussian",
                "Gaussian",
                "Geometric",
                "Laplace",
                "Staircase",
                "TruncatedLaplace",
            ],
            "skdp.mechanisms.selection": ["ExponentialMechanism", "PermuteAndFlip"],
            "skdp.mechanisms.optimized_noise": ["OptimizedNoise"],
        },
    )
