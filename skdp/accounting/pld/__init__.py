"""The numerical accountant: privacy loss distributions between proved bounds.

`PLDAccountant` reads events. `compose` takes dominating pairs, which `loss_pair` makes of curves.
"""

from skdp.accounting.pld.accountant import PLDAccountant
from skdp.accounting.pld.composition import Composition, compose
from skdp.accounting.pld.dominating_pairs import CurvePair, LossPair
from skdp.accounting.pld.from_events import loss_pair
from skdp.accounting.pld.gaussian_pairs import (
    GaussianPair,
    PoissonGaussianPair,
    ReplaceOneGaussianPair,
)

__all__ = [
    "Composition",
    "CurvePair",
    "GaussianPair",
    "LossPair",
    "PLDAccountant",
    "PoissonGaussianPair",
    "ReplaceOneGaussianPair",
    "compose",
    "loss_pair",
]
