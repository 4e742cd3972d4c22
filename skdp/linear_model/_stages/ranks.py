"""Ranks of numbers in private histograms, for unknown bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.features.additive import AdditiveMap, as_additive
from skdp.features.base import FeatureMap
from skdp.features.mixture import MixtureMap
from skdp.features.table import TableFacts
from skdp.linear_model._records import LinearRecords, TaskT
from skdp.linear_model._sample import LinearPlan
from skdp.linear_model._stages.staged import StagedPlan, rest_of
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring

PlanFit = Callable[[ReleaseParameters, LinearRecords[Any]], Any]

N_BINS = 128
_SHARE = 0.1  # of μ²; no guarantee rests on it
_CERTAIN = 2.0  # standard deviations of noise below which a bin is empty; likewise
# Of the sensitivity, for persons: counts in steps of 2⁻³¹ are rounded as floats, by n·2⁻⁵³ each.
# That is 2·√D·n·2⁻⁵³ for D counts of two neighbors, less than 2⁻²⁰ for n·√D < 2³².
_ROUNDED_COUNTS = 2.0**-20
NO_NOISE = 1e-9  # of a count, at epsilon=inf
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class RankRelease:
    """One Gaussian release of a histogram of each numeric column without bounds.

    A record has at most one count in each of p histograms. Adding or removing it changes all counts
    by at most √p in l2; replacing it by √(2p). The same holds for a person whose rows share one
    count. The ranks of the other columns are their places.
    """

    name: ClassVar[str] = "histograms"
    exact: ClassVar[bool] = True
    columns: tuple[int, ...]  # among the numbers
    mu: float  # Gaussian-DP parameter
    noise: GridGaussian  # in each count

    @classmethod
    def plan(cls, columns: tuple[int, ...], mu: float, neighboring: Neighboring) -> RankRelease:
        """Return a release with a tenth of μ²."""
        share = math.sqrt(_SHARE) * mu
        noise = histogram_noise(len(columns), N_BINS, share, neighboring)
        return cls(columns=columns, mu=share, noise=noise)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in each count."""
        return self.noise.scale

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release ranks; return the records with a map that uses them."""
        own = list(self.columns)
        counts = histograms(records, N_BINS)
        ranks = np.tile(np.linspace(0.0, 1.0, N_BINS + 1), (len(counts), 1))
        ranks[own] = self.release(counts[own], rng)
        ranked = _ranked(records.facts.feature_map, ranks)
        return records.with_facts(replace(records.facts, feature_map=ranked))

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Release ranks from *private* counts."""
        noisy = self.noise.release(counts, rng)
        return ranks_of(np.where(noisy < _CERTAIN * self.scale, 0.0, noisy))


def _ranked(feature_map: Any, ranks: np.ndarray) -> Any:
    """Return a map whose features read ranks."""
    if isinstance(feature_map, MixtureMap):
        parts = feature_map.additive, feature_map.other
        additive, other = (_ranked(part, ranks) for part in parts)
        return replace(feature_map, additive=additive, other=other)
    return replace(feature_map, facts=replace(feature_map.facts, ranks=ranks))


def map_of(records: LinearRecords[Any]) -> AdditiveMap:
    """Return the map of the records of an additive model."""
    return as_additive(records.facts.feature_map)


def histogram_noise(
    n_columns: int, n_bins: int, mu: float, neighboring: Neighboring
) -> GridGaussian:
    """Return the noise that makes histograms of columns μ-Gaussian DP; see `RankRelease`."""
    sensitivity = math.sqrt(n_columns * neighboring.n_changed) * (1.0 + _ROUNDED_COUNTS)
    return GridGaussian.at(mu, sensitivity, n_columns * n_bins)


def histograms(records: LinearRecords[TaskT], n_bins: int) -> np.ndarray:
    """Return *private* counts of records in bins of each number, (n_numbers, n_bins)."""
    unweighted = replace(records, weights=None)
    feature_map = records.facts.feature_map
    assert isinstance(feature_map, FeatureMap), "features of columns"
    return unweighted.counts(partial(_counts, feature_map.facts, n_bins))["counts"]


def counts_of(
    facts: TableFacts, X: np.ndarray, n_bins: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """Return *private* counts (n_numbers, n_bins); a row counts `shares`, integers, or 1."""
    counts = np.zeros((facts.numbers.size, n_bins), dtype=np.int64)
    for start in range(0, len(X), _ROWS):
        places = facts.place(X[start : start + _ROWS])
        of_rows = None if shares is None else shares[start : start + _ROWS]
        for k, place in enumerate(places):
            known = ~np.isnan(place)
            bins = np.minimum(place[known] * n_bins, n_bins - 1).astype(np.intp)
            weights = None if of_rows is None else of_rows[known]
            counts[k] += np.bincount(bins, weights, minlength=n_bins).astype(np.int64)
    return counts


def ranks_of(counts: np.ndarray) -> np.ndarray:
    """Return the share below each edge of a bin, for each column. Empty columns are uniform."""
    empty = counts.sum(axis=1) == 0.0
    counts = np.where(empty[:, None], 1.0, counts)
    below = np.cumsum(counts, axis=1)
    return np.column_stack([np.zeros(len(counts)), below / below[:, -1:]])


def plan_ranked(
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
    plan_fit: PlanFit,
    columns: tuple[int, ...],
) -> LinearPlan:
    """Return a plan of histograms of some numbers, and of a fit with the rest of the cost."""
    if not columns:
        return plan_fit(parameters, records)
    if not parameters.is_private:
        ranks = RankRelease(columns=columns, mu=math.inf, noise=GridGaussian.of_scale(NO_NOISE))
        return StagedPlan(ranks, plan_fit(parameters, records))
    if not (records.facts.solver.is_gaussian and parameters.delta > 0.0):
        raise IncompatibleSolverError(
            "bounds='auto' needs delta > 0 and a Gaussian DP solver, such as 'auto' or 'noisy_gd', "
            f"not {type(records.facts.solver).__name__}. Otherwise pass bounds."
        )
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    ranks = RankRelease.plan(columns, mu, parameters.neighboring)
    return StagedPlan(ranks, plan_fit(rest_of(parameters, ranks.mu), records))


def _counts(facts: TableFacts, n_bins: int, records: LinearRecords[TaskT]) -> dict[str, np.ndarray]:
    shares = replace(records, weights=None).steps  # of persons, whose rows share one count
    return {"counts": counts_of(facts, records.X, n_bins, shares)}
