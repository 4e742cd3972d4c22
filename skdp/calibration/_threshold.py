"""Thresholds of conformity scores: private quantiles of ranks that cover their noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from skdp._private_fit import ReleaseParameters
from skdp.data.exact_sums import STEP_BITS, counted
from skdp.data.records import Records
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import Event, Neighboring
from skdp.statistics._choices import Margin, Neighbors, QuantilePlan, Rank, choose_all
from skdp.workloads.plan import GaussianPlan, GaussianStep, plan_steps

_HALVINGS = 10  # of the grid, by a search
_N = 2**_HALVINGS  # steps from the grid point 0 to the last one, 1
_ROUNDED = 1e-6  # rows: more than a rank changes by roundings of utilities and of noise
# For roundings of 12·2^−23, see `statistics/_choices.py`, if a utility, or the distance of a count
# from its rank, changes by at least 1/2. Those of the counts of several classes are smaller: they
# add up to the number of records.
_ROUNDING = 1.0 + 2.0**-18


class Thresholds(ABC):
    """The plan of private thresholds from the grid 0, 1/N, …, 1, one for each level and group.

    For the level 1 − α the rank among m records is (1 − α)·m + 1 + c. It is at least the
    (1 − α)·(m + 1) of split conformal prediction, plus the mean c of the worst noise: see
    *Conformal prediction* in the documentation.
    """

    levels: tuple[float, ...]
    theorem: str

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of all thresholds together."""

    @abstractmethod
    def raised(self, level: float) -> float:
        """Return 1 + c, in records."""

    @property
    def fewest(self) -> float:
        """The number of records from which on thresholds are mostly below the last one."""
        highest = max(self.levels)
        return self.raised(highest) / (1.0 - highest)

    def choose(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        """Return released thresholds in [0, 1] of shape (n_levels, n_groups).

        Of higher levels they are at least as large, so that prediction sets are nested.
        """
        chosen = self._chosen(counts, rng, in_steps)
        thresholds = np.empty(chosen.shape)
        order = np.argsort(self.levels, kind="stable")
        thresholds[order] = np.maximum.accumulate(chosen[order], axis=0) / _N
        return thresholds

    @abstractmethod
    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        """Return grid points of shape (n_levels, n_groups)."""


def plan_thresholds(
    levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters, in_parts: bool
) -> Thresholds:
    """Return the thresholds of least noise, as the budget counts it, that cost (ε, δ)."""
    if parameters.delta and parameters.counts_gaussians:
        return _Search.of(levels, n_groups, parameters)
    return _Choices.of(levels, n_groups, parameters, in_parts)


@dataclass(frozen=True)
class _Choices(Thresholds):
    """Choices by the exponential mechanism."""

    choices: QuantilePlan
    levels: tuple[float, ...]

    theorem = "exponential mechanism"

    @classmethod
    def of(
        cls, levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters, in_parts: bool
    ) -> _Choices:
        neighbors = Neighbors(parameters.neighboring.n_changed, n_groups, in_parts)
        plain = tuple(Rank(level) for level in levels)
        cost = neighbors.cost((plain,), parameters.epsilon, parameters.delta, "pld")
        raised = Margin((1.0,), (1.0 + _mean_shortfall(cost.unit) + _ROUNDED,))
        ranks = tuple(Rank(level, raised, 1) for level in levels)
        # A record changes a utility by at most 1: #{s ≤ t} by 1 if it is replaced, else less.
        choice = ExponentialMechanism(sensitivity=_ROUNDING, epsilon=2.0 * _ROUNDING * cost.unit)
        return cls(QuantilePlan(choice, cost.ranges, (ranks,)), levels)

    @property
    def event(self) -> Event:
        return self.choices.event

    def raised(self, level: float) -> float:
        return self.choices.ranks[0][0].of(0.0)

    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        return choose_all(self.choices, counts[:, None], rng, in_steps)[..., 0].T


def _mean_shortfall(unit: float) -> float:
    """Return the mean, in rows, of the largest distribution of the ranks by which a choice is low.

    The choice is low by w with probability at most N·e^(−λw), where λ is `unit`, because one of the
    N + 1 grid points has the rank. This is 1 up to w = ln(N)/λ; the rest adds 1/λ.
    """
    return (1.0 + math.log(_N)) / unit


@dataclass(frozen=True)
class _Search(Thresholds):
    """Binary searches with Gaussian noise in each count, for budgets that count Gaussian noise.

    They are more precise than choices there. One search asks 10 counts for each group.
    """

    noise: GaussianPlan
    levels: tuple[float, ...]

    theorem = GaussianPlan.theorem

    @classmethod
    def of(cls, levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters) -> _Search:
        moved = [_ROUNDING * _farthest(x, parameters.neighboring, n_groups) for x in levels]
        steps = [
            GaussianStep(f"level {i}, halving {j}", n_groups, moved[i], 1.0)
            for i in range(len(levels))
            for j in range(_HALVINGS)
        ]
        target = parameters.epsilon, parameters.delta
        return cls(plan_steps("a conformal threshold", steps, *target), levels)

    @property
    def event(self) -> Event:
        return self.noise.event

    def raised(self, level: float) -> float:
        """Return 1 + c. A search is low by w only if one of n = 10 counts has noise of at least w.

        ∫ min(1, n·P(Z ≥ w/σ)) dw = σ·n·φ(z) for n·P(Z ≥ z) = 1.
        """
        scale = self.noise.scale(f"level {self.levels.index(level)}, halving 0")
        shortfall = scale * _HALVINGS * float(norm.pdf(norm.isf(1.0 / _HALVINGS)))
        return 1.0 + shortfall + _ROUNDED

    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        at_most = np.ldexp(np.cumsum(counts, axis=1), -STEP_BITS if in_steps else 0)
        return np.stack([self._found(i, at_most, rng) for i in range(len(self.levels))])

    def _found(self, level: int, at_most: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the first grid points above 0 whose noisy counts reach the rank; else the last."""
        groups = np.arange(len(at_most))
        wanted = self.levels[level] * at_most[:, -1] + self.raised(self.levels[level])
        low, high = np.ones(groups.size, dtype=int), np.full(groups.size, _N)
        for j in range(_HALVINGS):
            middle = (low + high) // 2
            above = at_most[groups, middle] - wanted
            reached = self.noise.release(f"level {level}, halving {j}", above, rng) >= 0.0
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return high


def _farthest(level: float, relation: Neighboring, n_groups: int) -> float:
    """Return how far a record moves the vector of the groups' counts up to t, less their ranks.

    A row adds 1 − level or −level to the count of its group, at most m = max(level, 1 − level) in
    size. If it is replaced, it moves one count by at most 1, or two by at most m. Persons have
    shares of a row in several groups and move it no farther: see *Conformal prediction*.
    """
    m = max(level, 1.0 - level)
    if not relation.count_is_public:
        return m
    return max(1.0, math.sqrt(2.0) * m) if n_groups > 1 else 1.0


def counts_of_scores(
    scores: np.ndarray, groups: np.ndarray | None, n_groups: int, records: Records[object]
) -> np.ndarray:
    """Count *private* scores in [0, 1] by the first grid point that is not below them.

    The counts have shape (n_groups, N + 1), in steps if rows are weighted. They are exact: N is a
    power of two, so neither the product nor the next integer is rounded.
    """
    places = np.ceil(scores * _N).astype(np.intp)
    if groups is not None:
        places += groups * (_N + 1)
    counts = counted(places, n_groups * (_N + 1), records.steps)
    return counts.reshape(n_groups, _N + 1)
