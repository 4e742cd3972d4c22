"""What is fitted: convex losses with the constants that privacy and run time depend on."""

from skdp.losses.base import Loss, MarginLoss
from skdp.losses.class_weighted import ClassWeightedLoss
from skdp.losses.competitor import CompetitorLoss
from skdp.losses.hinge import HingeLoss, SmoothedHingeLoss
from skdp.losses.logistic import ClippedLogisticLoss, LogisticLoss
from skdp.losses.multinomial import MultinomialLoss
from skdp.losses.pairwise import PairwiseLoss

__all__ = [
    "LOSSES",
    "ClassWeightedLoss",
    "ClippedLogisticLoss",
    "CompetitorLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "MultinomialLoss",
    "PairwiseLoss",
    "SmoothedHingeLoss",
]

LOSSES = {
    "logistic": LogisticLoss,
    "clipped_logistic": ClippedLogisticLoss,
    "hinge": HingeLoss,
    "smoothed_hinge": SmoothedHingeLoss,
    "multinomial": MultinomialLoss,
    "pairwise": PairwiseLoss,
    "competitor": CompetitorLoss,
    "class_weighted": ClassWeightedLoss,
}
"""Every loss by name; the conformance suite runs over this list."""
