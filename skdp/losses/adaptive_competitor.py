"""A family of losses for several classes; the signal-to-noise ratio selects the member."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.losses.base import Loss, LossFamily, MarginLoss, adapted
from skdp.losses.competitor import CompetitorLoss
from skdp.losses.logistic import LogisticLoss
from skdp.losses.multinomial import MultinomialLoss

__all__ = ["AdaptiveCompetitorLoss"]


@dataclass(frozen=True)
class AdaptiveCompetitorLoss(CompetitorLoss, LossFamily):
    """Competitor loss of a family of margin losses, or the multinomial loss if nothing is clipped.

    Parameters
    ----------
    margin_loss : MarginLoss
        *Public.* The family.
    n_scores : int
        *Public.* Number of classes K.
    """

    def adapted(self, signal: float) -> Loss:
        margin_loss = adapted(self.margin_loss, signal)
        if isinstance(margin_loss, LogisticLoss):
            return MultinomialLoss(self.n_scores)
        assert isinstance(margin_loss, MarginLoss), "a margin loss adapts to another"
        return CompetitorLoss(margin_loss, self.n_scores)
