"""Thresholds of conformity scores: one private quantile each, of a rank that covers its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.exact_sums import counted
from skdp.data.records import Records
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import Event
from skdp.statistics._loss_ranges import Neighbors
from skdp.statistics._margin import Margin
from skdp.statistics._rank import Rank
from skdp.statistics.quantile import QuantilePlan, choose_all

__all__ = ["N_STEPS", "ThresholdPlan", "counts_of_scores"]

N_STEPS = 2**10  # from one grid point 0 to the last, 1; more of them cost ln 2/λ rows of rank each
_ROUNDED = 1e-6  # rows: more than utilities change if they are rounded to steps of 2^−30 rows
# A record changes a utility by at most 1: it moves #{s < t} by 1 if it is replaced, and by
# max(1 − α, α) if it is added. The rest is for roundings of 12·2^−23: see `_loss_ranges`.
_FARTHEST = 1.0 + 2.0**-18


@dataclass(frozen=True)
class ThresholdPlan:
    """Choices by the exponential mechanism from the grid 0, 1/N, …, 1 of thresholds.

    For each level 1 − α the rank of the choice among m records is (1 − α)·m + 1 + (1 + ln N)/λ, at
    least the (1 − α)·(m + 1) of split conformal prediction plus the mean of the worst noise.
    """

    choices: QuantilePlan
    levels: tuple[float, ...]

    @classmethod
    def of(
        cls, levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters, in_parts: bool
    ) -> ThresholdPlan:
        """Return choices for each level and group that together cost (ε, δ)."""
        neighbors = Neighbors(parameters.neighboring.n_changed, n_groups, in_parts)
        accountant = "gdp" if parameters.counts_gaussians else "pld"
        plain = tuple(Rank(level) for level in levels)
        cost = neighbors.cost((plain,), parameters.epsilon, parameters.delta, accountant)
        raised = Margin((1.0,), (1.0 + _mean_shortfall(cost.unit) + _ROUNDED,))
        ranks = tuple(Rank(level, raised, 1) for level in levels)
        choice = ExponentialMechanism(sensitivity=_FARTHEST, epsilon=2.0 * _FARTHEST * cost.unit)
        return cls(QuantilePlan(choice, cost.ranges, (ranks,)), levels)

    @property
    def event(self) -> Event:
        """The event of all choices together."""
        return self.choices.event

    @property
    def fewest(self) -> float:
        """The number of records from which on thresholds are mostly below the last one."""
        raised = self.choices.ranks[0][0].of(0.0)
        return raised / (1.0 - max(self.levels))

    def choose(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        """Return released thresholds in [0, 1] of shape (n_levels, n_groups).

        Of higher levels they are at least as large, so that prediction sets are nested.
        """
        chosen = choose_all(self.choices, counts[:, None], rng, in_steps)[..., 0].T
        thresholds = np.empty(chosen.shape)
        order = np.argsort(self.levels, kind="stable")
        thresholds[order] = np.maximum.accumulate(chosen[order], axis=0) / N_STEPS
        return thresholds


def _mean_shortfall(unit: float) -> float:
    """Return the mean, in rows, of the largest distribution of the ranks by which a choice is low.

    The choice is low by w with probability at most N·e^(−λw), where λ is `unit`, because one of the
    N + 1 grid points has the rank. This is 1 up to w = ln(N)/λ; the rest adds 1/λ.
    """
    return (1.0 + math.log(N_STEPS)) / unit


def counts_of_scores(
    scores: np.ndarray, groups: np.ndarray | None, n_groups: int, records: Records[object]
) -> np.ndarray:
    """Count *private* scores in [0, 1] by the first grid point that is not below them.

    The counts have shape (n_groups, N + 1), in steps if rows are weighted. They are exact: N is a
    power of two, so neither the product nor the next integer is rounded.
    """
    places = np.ceil(scores * N_STEPS).astype(np.intp)
    if groups is not None:
        places += groups * (N_STEPS + 1)
    counts = counted(places, n_groups * (N_STEPS + 1), records.steps)
    return counts.reshape(n_groups, N_STEPS + 1)
