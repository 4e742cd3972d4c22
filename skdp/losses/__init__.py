"""What is fitted: convex losses with the constants that privacy and run time depend on."""

from skdp.losses.base import Loss, MarginLoss, ResidualLoss
from skdp.losses.class_weighted import ClassWeightedLoss
from skdp.losses.competitor import CompetitorLoss
from skdp.losses.hinge import HingeLoss, SmoothedHingeLoss
from skdp.losses.huber import HuberLoss, SquaredLoss
from skdp.losses.logistic import ClippedLogisticLoss, LogisticLoss
from skdp.losses.multinomial import MultinomialLoss
from skdp.losses.pairwise import PairwiseLoss
from skdp.losses.quantile import QuantileLoss

__all__ = [
    "LOSSES",
    "ClassWeightedLoss",
    "ClippedLogisticLoss",
    "CompetitorLoss",
    "HingeLoss",
    "HuberLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "MultinomialLoss",
    "PairwiseLoss",
    "QuantileLoss",
    "ResidualLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
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
    "huber": HuberLoss,
    "squared": SquaredLoss,
    "quantile": QuantileLoss,
}
"""Every loss by name; the conformance suite runs over this list."""
