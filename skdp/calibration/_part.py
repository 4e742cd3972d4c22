"""What a fit to one part of the records may cost, if the rest is read once for the same cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone

from skdp._private_fit import ReleaseParameters, guarantee_of
from skdp.accounting import gdp_mu
from skdp.budget import Amount
from skdp.budget.filters.base import largest_gaussian
from skdp.model_selection._candidates import silence
from skdp.model_selection._row_score import steps_of
from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PureDPEvent
from skdp.support.rounding import ROOT, up


@dataclass(frozen=True)
class Part:
    """The `event` that covers a fit of ε and δ in `amount`, as the budget counts it."""

    event: Event
    amount: Amount
    neighboring: Neighboring

    @classmethod
    def of(cls, parameters: ReleaseParameters) -> Part:
        """Return μ-Gaussian DP if the budget counts Gaussian noise, else (ε, δ)-DP."""
        amount = Amount(parameters.epsilon, parameters.delta)
        event: Event = ApproxDPEvent(*amount)
        if not parameters.delta:
            event = PureDPEvent(parameters.epsilon)
        elif parameters.counts_gaussians:
            mu = gdp_mu(*amount)
            event, amount = GDPEvent(mu), largest_gaussian(mu, parameters.delta)
        return cls(event, amount, parameters.neighboring)

    def covers(self, event: Event) -> bool:
        """Return whether the event of a fit is at most as bad."""
        relation = self.neighboring
        if isinstance(self.event, GDPEvent):
            return bool(event.gdp_mu(relation) <= up(self.event.mu, ROOT))
        found = guarantee_of(event, relation, "").epsilon(self.amount.delta)
        return found <= self.amount.epsilon

    def model(self, estimator: BaseEstimator, seed: np.random.Generator | None) -> BaseEstimator:
        """Return a copy of the estimator whose fit costs this."""
        made = clone(estimator)
        steps_of(made)[-1].set_params(
            epsilon=self.amount.epsilon,
            delta=self.amount.delta,
            neighboring=str(self.neighboring),
            budget=None,
            random_state=seed,
        )
        silence(made)
        return made
