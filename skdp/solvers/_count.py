"""A row count for plans that have none: bought with a share of the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.privacy import GDPEvent
from skdp.solvers.base import Problem

__all__ = ["RowCount"]

_SHARE = 0.1  # of μ, which is 1 % of μ²
_LEAST = 10


@dataclass(frozen=True)
class RowCount:
    """The number of rows by which steps are chosen: public, or a release of its own.

    A row more or less changes the count by 1, so with N(0, 1/μ²) added it is μ-Gaussian DP.

    Parameters
    ----------
    public : int or None
        The number, where it is public.
    mu : float
        Gaussian-DP price of the noisy count; 0 for a public one.
    """

    public: int | None
    mu: float

    @classmethod
    def plan(cls, problem: Problem, epsilon: float, delta: float) -> RowCount:
        """Return a count that takes a hundredth of μ², if it has to be bought."""
        if problem.n_samples is not None:
            return cls(problem.n_samples, 0.0)
        return cls(None, _SHARE * gdp_mu(epsilon, delta))

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        """What is released for it, if anything."""
        return (GDPEvent(self.mu),) if self.mu > 0.0 else ()

    def release(self, design: ClippedDesign, rng: np.random.Generator) -> int:
        """Return the number: public, or released now."""
        if self.public is not None:
            return self.public
        return max(_LEAST, round(design.n_samples + rng.normal() / self.mu))

    def rest(self, mu: float) -> float:
        """Return what is left of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)
