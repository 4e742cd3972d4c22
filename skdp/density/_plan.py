"""What a fit releases: tables of single columns, edges of a tree, and the tables of its edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import log_ndtr

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.density._counts import TreeFacts
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import ComposedEvent, Event, NonPrivateEvent, SelfComposedEvent
from skdp.support.rounding import SERIES, down
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep, plan_steps
from skdp.workloads.plan import ROUNDED_ONCE

__all__ = ["MOST_GROUPS", "ExactPlan", "TreePlan", "TreeReleases", "check_size", "plan_tree"]

MOST_GROUPS = 64
"""Largest number of groups of the levels of a column, in tables of two columns."""
MOST_CELLS = 2**24  # of all tables that are counted: 128 MB

# Shares of μ². The guarantee is for any shares; others were not compared.
_TABLES, _CHOICES = 0.3, 0.15
_TARGET = 0.05  # of a numeric target, taken from the share of the tables
_EXACT_SCALE = 1e-6  # of a record, in place of the noise of fits without privacy


class TreeReleases(Protocol):
    """The releases of a fit, in the order of the methods; each is made once."""

    def scale(self, name: str) -> float:
        """Return the standard deviation of the noise of "target", "tables" or "edges"."""

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return *private* counts with noise."""

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        """Return the index of a large *private* utility."""


@dataclass(frozen=True)
class TreePlan:
    """Gaussian releases, and choices between pairs."""

    gaussian: GaussianPlan
    choice: ExponentialMechanism | None
    n_choices: int

    theorem: ClassVar[str] = "Gaussian and exponential mechanisms, adaptive composition"
    exact: ClassVar[bool] = True  # counts and utilities are integers

    @property
    def event(self) -> Event:
        """The event of all releases together."""
        if self.choice is None:
            return self.gaussian.event
        choices = SelfComposedEvent(self.choice.event, self.n_choices)
        return ComposedEvent((self.gaussian.event, choices))

    def scale(self, name: str) -> float:
        return self.gaussian.scale(name)

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.gaussian.release(name, values, rng)

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        assert self.choice is not None, "a tree of one node has no edges"
        return self.choice.release(utilities, rng)


@dataclass(frozen=True)
class ExactPlan:
    """The same without privacy."""

    event: Event = field(default_factory=NonPrivateEvent)
    theorem: str = "none, epsilon=inf"
    exact: bool = False

    def scale(self, name: str) -> float:
        return _EXACT_SCALE

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(values, dtype=float)

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        return int(np.argmax(utilities))


def plan_tree(owner: str, parameters: ReleaseParameters, facts: TreeFacts) -> TreePlan | ExactPlan:
    """Return the plan for a table; raise ValueError if it would have too many cells.

    A record is in one cell of each of p tables, with a mass of at most 1. If it is replaced, two
    vectors without negative numbers and of a length of at most 1 differ by at most √2 in each
    table. So the l2 sensitivity of p tables together is √(k·p), for k records that differ.
    Counts in steps of 2^−31 that exceed 2^53 steps are rounded to floats, by a relative 2^−53. With
    fewer than 2^29 records, the two tables of neighbors move by less than 2^−23 together, and by
    √p·2^−23 for p tables. `ROUNDED_ONCE` allows for √p·2^−20.
    """
    sizes, n_changed = facts.sizes, parameters.neighboring.n_changed
    check_size(owner, facts)
    if not parameters.is_private:
        return ExactPlan()
    p, n_cells = len(sizes), sum(sizes) * facts.most_labels
    steps, share = [], _TABLES
    if facts.has_number:
        steps, share = [_step("target", facts.n_labels, n_changed, _TARGET)], _TABLES - _TARGET
    if p == 1:
        steps.append(_step("tables", n_cells, n_changed, share + 1.0 - _TABLES))
        return TreePlan(plan_steps(owner, steps, parameters.epsilon, parameters.delta), None, 0)
    most = (p - 1) * min(MOST_GROUPS, max(sizes)) ** 2 * facts.most_labels
    steps += [
        _step("tables", n_cells, n_changed * p, share),
        _step("edges", most, n_changed * (p - 1), 1.0 - _TABLES - _CHOICES),
    ]
    gaussian = plan_steps(owner, steps, parameters.epsilon, parameters.delta, rest=_CHOICES)
    mu = gdp_mu(parameters.epsilon, parameters.delta) * math.sqrt(_CHOICES / (p - 1))
    choice = ExponentialMechanism(sensitivity=float(n_changed), epsilon=_epsilon_of(mu))
    return TreePlan(gaussian, choice, p - 1)


def _step(name: str, size: int, squared_sensitivity: int, share: float) -> GaussianStep:
    return GaussianStep(name, size, math.sqrt(squared_sensitivity) * ROUNDED_ONCE, share)


def _epsilon_of(mu: float) -> float:
    """Return an ε such that choices of ε-bounded range are μ-Gaussian DP.

    They are 2Φ⁻¹(e^(ε/2)/(1 + e^(ε/2)))-Gaussian DP, see `BoundedRangeEvent`.
    """
    return down(2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu)), SERIES)


def check_size(owner: str, facts: TreeFacts) -> None:
    """Raise ValueError if the tables would have too many cells, whatever the data are."""
    sizes = np.array(facts.sizes)
    grouped = np.minimum(sizes, MOST_GROUPS)
    pairs = (int(grouped.sum()) ** 2 - int((grouped**2).sum())) // 2
    n_cells = (int(sizes.sum()) + pairs) * facts.most_labels
    if n_cells > MOST_CELLS:
        raise ValueError(
            f"{owner} would count {n_cells} cells in the tables of {len(sizes)} columns, at most "
            f"{MOST_CELLS} are allowed. Leave out columns, merge categories, or use fewer bins."
        )
