"""Convex losses, with the constants that privacy and run time depend on."""

from skdp.losses.base import GradientDirections, Loss, MarginLoss, Minorant, ResidualLoss
from skdp.losses.classification import (
    AdaptiveCompetitorLoss,
    AdaptiveHingeLoss,
    AdaptiveLogisticLoss,
    ClippedLogisticLoss,
    CompetitorLoss,
    HingeLoss,
    LogisticLoss,
    MultinomialLoss,
    SmoothedHingeLoss,
)
from skdp.losses.regression import HuberLoss, PoissonLoss, QuantileLoss, SquaredLoss
from skdp.losses.weighted import ClassWeightedLoss, WeightedLoss
from skdp.support.lazy_names import Registry

__all__ = [
    "LOSSES",
    "ClippedLogisticLoss",
    "CompetitorLoss",
    "GradientDirections",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "Minorant",
    "MultinomialLoss",
    "ResidualLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
]

LOSSES: Registry[Loss] = Registry(
    {
        "logistic": LogisticLoss,
        "clipped_logistic": ClippedLogisticLoss,
        "adaptive_logistic": AdaptiveLogisticLoss,
        "hinge": HingeLoss,
        "smoothed_hinge": SmoothedHingeLoss,
        "adaptive_hinge": AdaptiveHingeLoss,
        "adaptive_competitor": AdaptiveCompetitorLoss,
        "multinomial": MultinomialLoss,
        "pairwise": "skdp.research.pairwise_loss:PairwiseLoss",
        "competitor": CompetitorLoss,
        "class_weighted": ClassWeightedLoss,
        "weighted": WeightedLoss,
        "huber": HuberLoss,
        "squared": SquaredLoss,
        "quantile": QuantileLoss,
        "poisson": PoissonLoss,
    }
)
"""Every loss by name; the conformance suite runs over this list."""
