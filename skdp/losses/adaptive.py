"""Families of losses, of which the signal-to-noise ratio chooses one."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.losses.base import Loss, MarginLoss
from skdp.losses.competitor import CompetitorLoss
from skdp.losses.hinge import SmoothedHingeLoss
from skdp.losses.logistic import ClippedLogisticLoss, LogisticLoss
from skdp.losses.multinomial import MultinomialLoss

__all__ = ["AdaptiveCompetitorLoss", "AdaptiveHingeLoss", "AdaptiveLogisticLoss"]

# No guarantee rests on these, found by experiment (*The frontier* in the documentation).
_LEAST_CLIP = 0.35
_FULL_SIGNAL = 24_000.0  # from which on nothing is clipped
_WIDE_SIGNAL = 4000.0  # from which on a hinge of width 1 is better


@dataclass(frozen=True)
class AdaptiveLogisticLoss(ClippedLogisticLoss):
    """The clipped logistic loss whose clip rises with the signal: to 1, where nothing is clipped.

    k(x) = (x/24000)^(1/3), between 0.35 and 1, for a signal-to-noise ratio x. A low clip wastes
    less noise on the first step, a high one leaves the model that is learnt without privacy.
    """

    def adapted(self, signal: float) -> Loss:
        clip = max(_LEAST_CLIP, (signal / _FULL_SIGNAL) ** (1.0 / 3.0))
        return LogisticLoss() if clip >= 1.0 else ClippedLogisticLoss(clip).adapted(signal)


@dataclass(frozen=True)
class AdaptiveHingeLoss(SmoothedHingeLoss):
    """The smoothed hinge of width 2/3, or of width 1 where the signal-to-noise ratio is high."""

    def adapted(self, signal: float) -> Loss:
        return SmoothedHingeLoss(1.0 if signal >= _WIDE_SIGNAL else self.width)


@dataclass(frozen=True)
class AdaptiveCompetitorLoss(CompetitorLoss):
    """The competitor loss of a family of margin losses; multinomial where nothing is clipped."""

    def adapted(self, signal: float) -> Loss:
        margin_loss = self.margin_loss.adapted(signal)
        if isinstance(margin_loss, LogisticLoss):
            return MultinomialLoss(self.n_scores)
        assert isinstance(margin_loss, MarginLoss), "a margin loss adapts to another"
        return CompetitorLoss(margin_loss, self.n_scores)
