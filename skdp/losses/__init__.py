"""Convex losses, with the constants that privacy and run time depend on."""

from skdp.losses.adaptive_competitor import AdaptiveCompetitorLoss
from skdp.losses.base import Loss, MarginLoss, ResidualLoss, adapted, oscillation
from skdp.losses.competitor import CompetitorLoss
from skdp.losses.gradient_directions import GradientDirections
from skdp.losses.hinge import AdaptiveHingeLoss, HingeLoss, SmoothedHingeLoss
from skdp.losses.huber import HuberLoss, SquaredLoss
from skdp.losses.logistic import AdaptiveLogisticLoss, ClippedLogisticLoss, LogisticLoss
from skdp.losses.minorant import Minorant
from skdp.losses.multinomial import MultinomialLoss
from skdp.losses.pairwise import PairwiseLoss
from skdp.losses.poisson import PoissonLoss
from skdp.losses.quantile import QuantileLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss, weighted_targets

__all__ = [
    "LOSSES",
    "AdaptiveCompetitorLoss",
    "AdaptiveHingeLoss",
    "AdaptiveLogisticLoss",
    "ClassWeightedLoss",
    "ClippedLogisticLoss",
    "CompetitorLoss",
    "GradientDirections",
    "HingeLoss",
    "HuberLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "Minorant",
    "MultinomialLoss",
    "PairwiseLoss",
    "PoissonLoss",
    "QuantileLoss",
    "ResidualLoss",
    "SharedLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
    "WeightedLoss",
    "adapted",
    "oscillation",
    "weighted_targets",
]

LOSSES = {
    "logistic": LogisticLoss,
    "clipped_logistic": ClippedLogisticLoss,
    "adaptive_logistic": AdaptiveLogisticLoss,
    "hinge": HingeLoss,
    "smoothed_hinge": SmoothedHingeLoss,
    "adaptive_hinge": AdaptiveHingeLoss,
    "adaptive_competitor": AdaptiveCompetitorLoss,
    "multinomial": MultinomialLoss,
    "pairwise": PairwiseLoss,
    "competitor": CompetitorLoss,
    "class_weighted": ClassWeightedLoss,
    "weighted": WeightedLoss,
    "huber": HuberLoss,
    "squared": SquaredLoss,
    "quantile": QuantileLoss,
    "poisson": PoissonLoss,
}
"""Every loss by name; the conformance suite runs over this list."""
