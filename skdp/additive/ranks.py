"""Ranks of numbers in private histograms, where no bounds are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp.features import TableFacts
from skdp.privacy import Event, GaussianCurve, GDPEvent, Neighboring
from skdp.solvers import Plan, Problem
from skdp.solvers.base import SCALE_MARGIN, composed, rounded

__all__ = ["RankRelease", "RankedPlan", "counts_of", "ranks_of"]

N_BINS = 128
_SHARE = 0.1  # of μ²; no guarantee rests on it
_CERTAIN = 2.0  # standard deviations of noise, below which a bin counts as empty; likewise
_REST_MARGIN = 1e-9  # relative; a guarantee rests on it: ε from μ and back is right to 1e-10
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class RankRelease:
    """One Gaussian release of a histogram of each column of numbers.

    A record has one count in each of p histograms at most: adding or removing it changes all counts
    together by √p in l2, another in its place by √(2p). So does a person whose rows have parts of
    one count.

    Parameters
    ----------
    mu : float
        *Public.* Gaussian-DP parameter.
    scale : float
        *Public.* Standard deviation of the noise in each count.
    """

    mu: float
    scale: float

    @classmethod
    def plan(cls, n_numbers: int, mu: float, neighboring: Neighboring) -> RankRelease:
        """Return a release with a tenth of μ²."""
        share = math.sqrt(_SHARE) * mu
        sensitivity = math.sqrt(n_numbers * neighboring.n_changed)
        return cls(mu=share, scale=sensitivity / share * (1.0 + SCALE_MARGIN))

    def rest(self, mu: float, delta: float) -> float:
        """Return the ε that is left of a μ-Gaussian DP release, for the same δ."""
        left = math.sqrt(mu * mu - self.mu * self.mu) * (1.0 - _REST_MARGIN)
        return GaussianCurve(left).epsilon(delta)

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return ranks by the *private* `counts_of` a table."""
        noisy = rounded(counts + rng.normal(scale=self.scale, size=counts.shape), self.scale)
        return ranks_of(np.where(noisy < _CERTAIN * self.scale, 0.0, noisy))


@dataclass(frozen=True)
class RankedPlan:
    """Histograms, and then a fit; all of it public."""

    ranks: RankRelease
    fit: Plan

    @property
    def event(self) -> Event:
        """What will be released."""
        return composed((GDPEvent(self.ranks.mu), self.fit.event))

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"histograms by the Gaussian mechanism, then {self.fit.theorem}"

    @property
    def problem(self) -> Problem:
        """What is public about the fit."""
        return self.fit.problem


def counts_of(facts: TableFacts, X: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
    """Return *private* counts of shape (n_numbers, 128), on the scales of the columns.

    `shares` are what each row counts, None for one each.
    """
    counts = np.zeros((facts.numbers.size, N_BINS))
    for start in range(0, len(X), _ROWS):
        places = facts.place(X[start : start + _ROWS])
        of_rows = None if shares is None else shares[start : start + _ROWS]
        for k, place in enumerate(places):
            known = ~np.isnan(place)
            bins = np.minimum(place[known] * N_BINS, N_BINS - 1).astype(np.intp)
            weights = None if of_rows is None else of_rows[known]
            counts[k] += np.bincount(bins, weights, minlength=N_BINS)
    return counts


def ranks_of(counts: np.ndarray) -> Any:
    """Return for each column the share below each edge of a bin, even if it has no count at all."""
    empty = counts.sum(axis=1) == 0.0
    counts = np.where(empty[:, None], 1.0, counts)
    below = np.cumsum(counts, axis=1)
    return np.column_stack([np.zeros(len(counts)), below / below[:, -1:]])
