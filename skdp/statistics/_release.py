"""What all statistics are told, and how they are paid: check, plan, spend, then look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseTerms, guarantee_of
from skdp._validation import check_choice, check_real
from skdp.budget import PrivacyBudget
from skdp.privacy import Event, Neighboring, PrivacyGuarantee
from skdp.workloads import NOISES, Query, QueryPlan, plan_queries

__all__ = ["Terms"]


@dataclass(frozen=True, eq=False)
class Terms:
    """The public parameters that all statistics share, checked when made."""

    epsilon: float
    delta: float
    noise: str
    neighboring: Neighboring
    budget: PrivacyBudget | None
    random_state: Any

    def __post_init__(self) -> None:
        check_real("epsilon", self.epsilon, low=0.0, high=1e9)
        check_choice("noise", self.noise, ("auto", *NOISES))
        terms = ReleaseTerms.check(
            epsilon=self.epsilon,
            delta=self.delta,
            neighboring=self.neighboring,
            budget=self.budget,
            random_state=self.random_state,
            label="",
        )
        object.__setattr__(self, "delta", terms.delta)
        object.__setattr__(self, "neighboring", terms.neighboring)
        object.__setattr__(self, "random_state", terms.rng)

    @property
    def count_is_public(self) -> bool:
        """Whether the number of rows is public."""
        return self.neighboring.count_is_public

    @property
    def n_changed(self) -> int:
        """How many rows differ between neighbours, those of both counted."""
        return self.neighboring.n_changed

    @property
    def rng(self) -> np.random.Generator:
        """The source of noise."""
        return self.random_state

    @property
    def pays_in_gaussians(self) -> bool:
        """Whether other noise than Gaussian is priced above what it costs."""
        composition = None if self.budget is None else self.budget.composition
        asked = self.noise == "gaussian"
        return self.delta > 0.0 and (asked or composition in ("gdp", "zcdp", "rdp"))

    def buy(self, queries: Sequence[Query], label: str) -> tuple[QueryPlan, PrivacyGuarantee]:
        """Return noise for all queries together, paid for."""
        pays_in = None if self.budget is None else self.budget.composition
        plan = plan_queries(queries, self.epsilon, self.delta, self.noise, composition=pays_in)
        return plan, self.buy_event(plan.event, plan.theorem, label)

    def buy_event(self, event: Event, theorem: str, label: str) -> PrivacyGuarantee:
        """Return the guarantee of a release, paid for."""
        guarantee = guarantee_of(event, self.neighboring, theorem)
        if self.budget is not None:
            self.budget.spend(guarantee, delta=self.delta, label=label, epsilon=self.epsilon)
        return guarantee
