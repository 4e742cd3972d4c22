"""Kinds of noise by name, each with one guarantee for several queries together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from functools import lru_cache
from typing import ClassVar

from skdp.accounting import calibrate, gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.mechanisms import (
    AdditiveMechanism,
    Gaussian,
    Geometric,
    Laplace,
    OptimizedNoise,
    Staircase,
    TruncatedLaplace,
)
from skdp.privacy import (
    BetweenNeighborsEvent,
    ComposedEvent,
    DiscreteLaplaceEvent,
    LaplaceEvent,
    SelfComposedEvent,
)
from skdp.workloads.query import Query

__all__ = ["NOISES", "Noise"]

Queries = tuple[Query, ...]

_MARGIN = 1.0 - 1e-9  # for the grids, on which sensitivities are a little larger
_GEOMETRIC_SCALES = 2.0**-7, 1e5


class Noise(ABC):
    """A kind of noise."""

    name: ClassVar[str]
    needs_delta: ClassVar[bool] = True

    def for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        """Return a mechanism for each query, such that all answers together are (ε, δ)-DP."""
        if self.needs_delta and delta == 0.0:
            raise IncompatibleSolverError(
                f"noise={self.name!r} needs delta > 0; 'laplace' and 'staircase' do not."
            )
        return self._for_all(queries, epsilon, delta)

    @abstractmethod
    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        """Return the mechanisms for a δ that is allowed."""


class GaussianNoise(Noise):
    """One Gaussian release of all numbers, each query with an equal part of μ²."""

    name = "gaussian"

    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        mu = gdp_mu(epsilon, delta) / math.sqrt(len(queries)) * _MARGIN
        return [_gaussian(query, mu) for query in queries]


class LaplaceNoise(Noise):
    """Laplace noise, two-sided geometric for integers; each query at the same pure ε.

    With δ > 0 that ε is the largest of which the numerical accountant finds the composition
    (ε, δ)-DP.
    """

    name = "laplace"
    needs_delta = False

    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        each = _pure_share(queries, epsilon, delta) * _MARGIN
        return [_laplace(query, each) for query in queries]


class StaircaseNoise(Noise):
    """Staircase noise; each number that may change at the same pure ε."""

    name = "staircase"
    needs_delta = False

    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        each = epsilon / _n_touched(queries) * _MARGIN
        return [Staircase(q.largest, each, None, q.size, q.n_touched) for q in queries]


class TruncatedLaplaceNoise(Noise):
    """Truncated Laplace noise; ε and δ are split evenly between the queries."""

    name = "truncated_laplace"

    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        epsilon, delta = (whole / len(queries) * _MARGIN for whole in (epsilon, delta))
        return [TruncatedLaplace.calibrate(epsilon, delta, q.l1, q.size) for q in queries]


class LeastNoise(Noise):
    """Optimised noise; ε and δ are split evenly between the numbers that may change."""

    name = "optimized"

    def _for_all(self, queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
        parts = _n_touched(queries) / _MARGIN
        return [_optimized(query, epsilon / parts, delta / parts) for query in queries]


NOISES: dict[str, Noise] = {
    kind.name: kind()
    for kind in (GaussianNoise, LaplaceNoise, StaircaseNoise, TruncatedLaplaceNoise, LeastNoise)
}
"""What `noise` may name, besides "auto"."""


def _gaussian(query: Query, mu: float) -> Gaussian:
    """Return noise that is at most μ-Gaussian DP, the rounding to its grid included."""
    first = Gaussian(query.l2, query.l2 / mu, query.size)
    return Gaussian(query.l2, first.scale * max(first.event.mu / mu, 1.0), query.size)


def _laplace(query: Query, epsilon: float) -> AdditiveMechanism:
    scale, (least, largest) = query.l1 / epsilon, _GEOMETRIC_SCALES
    if query.integer and scale <= largest:
        return Geometric(int(query.l1), max(scale, least), query.size)
    return Laplace(query.l1, scale, query.size)


def _optimized(query: Query, epsilon: float, delta: float) -> OptimizedNoise:
    support = "integer" if query.integer else "real"
    return OptimizedNoise(epsilon, delta, query.largest, support=support)


def _n_touched(queries: Queries) -> int:
    return sum(query.n_touched for query in queries)


@lru_cache(maxsize=256)
def _pure_share(queries: Queries, epsilon: float, delta: float) -> float:
    """Return the pure ε of each of some Laplace releases that are (ε, δ)-DP together."""
    n = len(queries)
    if n == 1 or delta == 0.0:
        return epsilon / n
    kinds = Counter(int(query.l1) if query.integer else 0 for query in queries)

    def together(each: float) -> ComposedEvent:
        return ComposedEvent(tuple(_pure(each, l1, count) for l1, count in kinds.items()))

    return calibrate(together, epsilon, delta, low=epsilon / n, high=epsilon, accountant="pld")


def _pure(epsilon: float, l1: int, count: int) -> SelfComposedEvent:
    """Return releases of Laplace noise, on the integers if they have a distance l1 there."""
    noise = DiscreteLaplaceEvent(l1 / epsilon, l1) if l1 else LaplaceEvent(1.0 / epsilon)
    return SelfComposedEvent(BetweenNeighborsEvent(noise), count)
