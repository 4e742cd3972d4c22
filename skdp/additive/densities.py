"""Where the rows of columns with constraints are, for the projection to monotone curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.linear_model._records import LinearRecords, TaskT
from skdp.linear_model._sample import LinearPlan
from skdp.linear_model._stages.ranks import (
    NO_NOISE,
    PlanFit,
    histogram_noise,
    histograms,
    map_of,
)
from skdp.linear_model._stages.staged import StagedPlan, rest_of
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring

# Chosen by experiment; no guarantee rests on these numbers.
_PARTS = 16
_SHARE = 0.02  # of μ²


@dataclass(frozen=True, kw_only=True)
class DensityRelease:
    """One Gaussian release of a histogram of each column with a constraint.

    As for `RankRelease`, a record has at most one count in each histogram.
    """

    name: ClassVar[str] = "histograms of columns with constraints"
    exact: ClassVar[bool] = True
    columns: tuple[int, ...]  # in increasing order
    mu: float  # Gaussian-DP parameter
    noise: GridGaussian  # in each count

    @classmethod
    def plan(cls, columns: tuple[int, ...], mu: float, neighboring: Neighboring) -> DensityRelease:
        """Return a release with 2 % of μ²."""
        share = math.sqrt(_SHARE) * mu
        noise = histogram_noise(len(columns), _PARTS, share, neighboring)
        return cls(columns=columns, mu=share, noise=noise)

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release densities; return the records with a map that has them."""
        feature_map = map_of(records)
        own = np.isin(feature_map.facts.numbers, self.columns)
        released = self.release(histograms(records, _PARTS)[own], rng)
        densities = dict(zip(self.columns, released, strict=True))
        known = replace(feature_map, densities=densities)
        return records.with_facts(replace(records.facts, feature_map=known))

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Release shares of rows from *private* counts. Empty columns are uniform."""
        noisy = np.maximum(self.noise.release(counts, rng), 0.0)
        noisy[noisy.sum(axis=1) == 0.0] = 1.0
        return np.asarray(noisy / noisy.sum(axis=1, keepdims=True))


def plan_with_densities(
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
    columns: tuple[int, ...],
    plan_fit: PlanFit,
) -> LinearPlan:
    """Return a plan of histograms of columns, and of a fit with the rest of the cost.

    Solvers that are not Gaussian leave no such rest. Rows then count as uniform.
    """
    if not parameters.is_private:
        density = DensityRelease(
            columns=columns, mu=math.inf, noise=GridGaussian.of_scale(NO_NOISE)
        )
        return StagedPlan(density, plan_fit(parameters, records))
    if not (records.facts.solver.is_gaussian and parameters.delta > 0.0):
        return plan_fit(parameters, records)
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    density = DensityRelease.plan(columns, mu, parameters.neighboring)
    return StagedPlan(density, plan_fit(rest_of(parameters, density.mu), records))
