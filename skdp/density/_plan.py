"""What a fit releases: counts of single columns, a choice of pairs of columns, and their counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from scipy.special import log_ndtr

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.density._cliques import MOST_COLUMNS
from skdp.density._counts import TreeFacts
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import ComposedEvent, Event, NonPrivateEvent, SelfComposedEvent
from skdp.support.rounding import SERIES, down
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep, plan_steps
from skdp.workloads.plan import ROUNDED_ONCE

MOST_GROUPS = 64
"""Largest number of groups of the levels of a column, in tables of two columns."""
_MOST_CELLS = 2**24  # of all tables that are counted: 128 MB
_MOST_NODES = 1024  # columns: each pair of them has a table, of 1 kB and more

# Shares of μ², and pairs beside a tree for each of its edges, found on magic04, Adult, bank,
# California housing and wine quality. No guarantee rests on them.
_COUNT, _TARGET, _TABLES, _CHOICES = 0.01, 0.05, 0.3, 0.1
_MORE_PAIRS = 2.5
_EXACT_SCALE = 1e-6  # of a record, in place of the noise of fits without privacy


class PairReleases(Protocol):
    """The releases of a fit, in the order of the methods; each is made once."""

    @property
    def n_pairs(self) -> int:
        """The largest number of pairs of columns."""

    def scale(self, name: str) -> float:
        """Return the standard deviation of the noise of "count", "target", "tables" or "pairs"."""

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return *private* counts with noise."""

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        """Return the index of a large *private* utility."""

    def release_pairs(
        self, values: np.ndarray, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Return *private* counts of pairs with noise, and the standard deviation of the noise."""


@dataclass(frozen=True)
class TreePlan:
    """Gaussian releases, and choices between pairs."""

    gaussian: GaussianPlan
    choice: ExponentialMechanism | None
    n_pairs: int

    theorem: ClassVar[str] = "Gaussian and exponential mechanisms, adaptive composition"
    exact: ClassVar[bool] = True  # counts and utilities are integers

    @property
    def event(self) -> Event:
        """The event of all releases together."""
        if self.choice is None:
            return self.gaussian.event
        choices = SelfComposedEvent(self.choice.event, self.n_pairs)
        return ComposedEvent((self.gaussian.event, choices))

    def scale(self, name: str) -> float:
        return self.gaussian.scale(name)

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.gaussian.release(name, values, rng)

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        assert self.choice is not None, "a single node has no pairs"
        return self.choice.release(utilities, rng)

    def release_pairs(
        self, values: np.ndarray, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """See `PairReleases`. Fewer pairs than planned move less and have less noise.

        Their sensitivity is √(n_pairs/self.n_pairs) =: u of the planned one, so the values are
        released in units of u ≥ ½. The quotient adds a relative error of 2^−53: for fewer than 2^29
        records less than 2^−22 in each table of two neighbors together. u itself has a relative
        error of 2^−52, the same for both neighbors. `ROUNDED_ONCE` allows for 2^−20 in each table.
        """
        unit = math.sqrt(n_pairs / self.n_pairs)
        return self.release("pairs", values / unit, rng) * unit, self.scale("pairs") * unit


@dataclass(frozen=True)
class ExactPlan:
    """The same without privacy."""

    n_pairs: int
    event: Event = field(default_factory=NonPrivateEvent)
    theorem: str = "none, epsilon=inf"
    exact: bool = False

    def scale(self, name: str) -> float:
        return _EXACT_SCALE

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(values, dtype=float)

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        return int(np.argmax(utilities))

    def release_pairs(
        self, values: np.ndarray, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        return self.release("pairs", values, rng), self.scale("pairs")


Plan: TypeAlias = TreePlan | ExactPlan


def plan_tree(
    owner: str, parameters: ReleaseParameters, facts: TreeFacts, *, is_counted: bool
) -> Plan:
    """Return the plan for a table; raise ValueError if it would have too many cells.

    `is_counted` says whether the number of records, or their total weight, is released first.

    A record is in one cell of each of p tables, with a mass of at most 1. If it is replaced, two
    vectors without negative numbers and of a length of at most 1 differ by at most √2 in each
    table. So the l2 sensitivity of p tables together is √(k·p), for k records that differ. The
    total moves by at most 1 in both cases, because each mass is from 0 to 1.
    Counts in steps of 2^−31 that exceed 2^53 steps are rounded to floats, by a relative 2^−53. With
    fewer than 2^29 records, the two tables of neighbors move by less than 2^−23 together, and by
    √p·2^−23 for p tables. `ROUNDED_ONCE` allows for √p·2^−20.
    """
    check_size(owner, facts)
    sizes, n_changed = facts.sizes, parameters.neighboring.n_changed
    p, n_pairs = len(sizes), _n_pairs(len(sizes))
    if not parameters.is_private:
        return ExactPlan(n_pairs)
    steps, left = [], 1.0
    if is_counted:
        steps.append(_step("count", 1, 1, _COUNT))
        left -= _COUNT
    of_tables = _TABLES
    if facts.has_number:
        steps.append(_step("target", facts.n_labels, n_changed, _TARGET))
        of_tables, left = _TABLES - _TARGET, left - _TARGET
    n_cells = sum(sizes) * facts.most_labels
    if not n_pairs:
        steps.append(_step("tables", n_cells, n_changed, left))
        return TreePlan(plan_steps(owner, steps, parameters.epsilon, parameters.delta), None, 0)
    most = n_pairs * min(MOST_GROUPS, max(sizes)) ** 2 * facts.most_labels
    steps += [
        _step("tables", n_cells, n_changed * p, of_tables),
        _step("pairs", most, n_changed * n_pairs, left - of_tables - _CHOICES),
    ]
    gaussian = plan_steps(owner, steps, parameters.epsilon, parameters.delta, rest=_CHOICES)
    mu = gdp_mu(parameters.epsilon, parameters.delta) * math.sqrt(_CHOICES / n_pairs)
    choice = ExponentialMechanism(sensitivity=float(n_changed), epsilon=_epsilon_of(mu))
    return TreePlan(gaussian, choice, n_pairs)


def _n_pairs(p: int) -> int:
    """Return the largest number of pairs of p columns that are released."""
    more = int(_MORE_PAIRS * (p - 1)) if p <= MOST_COLUMNS else 0
    return min(p - 1 + more, p * (p - 1) // 2)


def _step(name: str, size: int, squared_sensitivity: int, share: float) -> GaussianStep:
    return GaussianStep(name, size, math.sqrt(squared_sensitivity) * ROUNDED_ONCE, share)


def _epsilon_of(mu: float) -> float:
    """Return an ε such that choices of ε-bounded range are μ-Gaussian DP.

    They are 2Φ⁻¹(e^(ε/2)/(1 + e^(ε/2)))-Gaussian DP, see `BoundedRangeEvent`.
    """
    return down(2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu)), SERIES)


def check_size(owner: str, facts: TreeFacts) -> None:
    """Raise ValueError if there are too many tables or cells, whatever the data are."""
    sizes = np.array(facts.sizes)
    if len(sizes) > _MOST_NODES:
        raise ValueError(f"{owner} takes at most {_MOST_NODES} columns. Leave out columns.")
    grouped = np.minimum(sizes, MOST_GROUPS)
    pairs = (int(grouped.sum()) ** 2 - int((grouped**2).sum())) // 2
    n_cells = (int(sizes.sum()) + pairs) * facts.most_labels
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"{owner} would count {n_cells} cells in the tables of {len(sizes)} columns, at most "
            f"{_MOST_CELLS} are allowed. Leave out columns, merge categories, or use fewer bins."
        )
