"""A noisy mean of the rows, released before the fit to rows that are shifted by it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from scipy import sparse

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.design import Center
from skdp.design.exact_total import SumGrid
from skdp.exceptions import IncompatibleSolverError
from skdp.features.base import FeatureMap
from skdp.features.row_wise import RowWiseMap
from skdp.linear_model._records import LinearRecords, TaskT, row_sums
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.solvers import Problem
from skdp.solvers._machine_sums import MachineSum, center_sum

# No guarantee rests on these.
_SHARE = 0.1  # of μ²
_MOST_NOISE = 0.5  # expected squared length of the noise in a mean of rows of length 1
_MOST_SIGNAL = 50.0  # n·μ/k for each column, from which on a center costs time and gains nothing
_FEWEST_RECORDS = 10.0

_LEAST_SQUARE = 0.05  # of the radius of rows of length 1
MOST_STRETCH = 1.0 / math.sqrt(_LEAST_SQUARE)
"""Largest stretch of shifted rows, and of their rounding errors, on which a guarantee rests."""

_COUNT_SCALING = 0.5  # of a record in the entry that counts
_SENSITIVITY = {Neighboring.ADD_REMOVE_ONE: math.sqrt(1.25), Neighboring.REPLACE_ONE: 2.0}


@dataclass(frozen=True, kw_only=True)
class CenterRelease:
    """One Gaussian release of (Σ s·ã, Σ s/2), from which a center follows.

    ã is a row clipped to norm 1, in units of `data_norm`, and s its share of a record. The shares
    of a record are not negative and add up to s ≤ 1, so it adds (v, s/2) with |v| ≤ s. Adding or
    removing it changes the release by at most √(1 + 1/4) in l2. Replacing it by one with the share
    t changes the square by at most (s + t)² + (s − t)²/4. This is convex in (s, t), so its maximum
    is at a corner of [0, 1]²: 4 at (1, 1), 5/4 at (0, 1) and (1, 0).
    """

    name: ClassVar[str] = "a mean of the rows"
    exact: bool
    mu: float  # Gaussian-DP parameter
    sums: MachineSum
    data_norm: float
    n_records: int | None  # if the sum of all shares is public
    most_records: float  # above which rows stay as they are

    @classmethod
    def plan(
        cls, mu: float, problem: Problem, n_columns: int, n_records: int | None
    ) -> CenterRelease:
        """Return a release with a tenth of μ²."""
        relation = problem.neighboring
        return cls(
            exact=problem.rows_are_exact,
            mu=math.sqrt(_SHARE) * mu,
            sums=center_sum(problem, n_columns, _SENSITIVITY[relation]),
            data_norm=problem.data_norm,
            n_records=n_records,
            most_records=_MOST_SIGNAL * relation.n_changed * n_columns / mu,
        )

    @cached_property
    def added(self) -> GridGaussian:
        """The noise in each entry."""
        return self.sums.noise(self.mu)

    @property
    def scale(self) -> float:
        """Its standard deviation."""
        return self.added.scale

    def noise(self, n_columns: int, n: float) -> float:
        """Return the expected squared length of the noise in the mean of n rows."""
        return n_columns * (self.scale / n) ** 2

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release a center; return the records with it."""
        return records.with_facts(replace(records.facts, center=self.release(records, rng)))

    def release(self, records: LinearRecords[TaskT], rng: np.random.Generator) -> Center | None:
        """Release a center of *private* records, None if rows should stay as they are."""
        count, grid = (
            _COUNT_SCALING * self.data_norm,
            SumGrid.of(self.sums.largest * self.data_norm),
        )
        sums = records.total(partial(row_sums, self.data_norm, count, grid))["sums"]
        return self.center(self.added.release(grid.floats(sums) / self.data_norm, rng))

    def center(self, noisy: np.ndarray) -> Center | None:
        """Return the center for *released* sums, None for too many records or for noise alone.

        Noise of standard deviation σ in each of d entries of the mean m adds dσ² to |m|² in
        expectation. The center is q·m, with the q that shrinks m by its share of noise. Rows of
        length 1 have the mean squared distance 1 − (|m|² − dσ²) + q²dσ² from it.
        """
        n = self.n_records
        if n is None:
            n = max(_FEWEST_RECORDS, noisy[-1] / _COUNT_SCALING)
        mean = noisy[:-1] / n
        square, noise = float(mean @ mean), self.noise(mean.size, n)
        if n > self.most_records or square <= noise:
            return None
        signal = min(square - noise, 1.0)
        shrinking = signal / square
        radius = math.sqrt(max(1.0 - signal + shrinking**2 * noise, _LEAST_SQUARE))
        R = self.data_norm
        return Center(R * shrinking * mean, R * radius, R)


def plan_center(
    asked: bool | str,
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
    problem: Problem,
) -> CenterRelease | None:
    """Return the release of a center, None if "auto" is `asked` and the noise is too large."""
    lacking, facts = _lacking(parameters, records, problem), records.facts
    if lacking and asked != "auto":
        raise IncompatibleSolverError(f"center=True needs {lacking}. Otherwise pass center='auto'.")
    if lacking:
        return None
    is_public = parameters.neighboring.count_is_public and records.weights is None
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    n_records = facts.n_known if is_public else None
    release = CenterRelease.plan(mu, problem, facts.n_columns, n_records)
    if asked != "auto":
        return replace(release, most_records=math.inf)
    is_noise = facts.n_known and release.noise(facts.n_columns, facts.n_known) > _MOST_NOISE
    return None if is_noise else release


def _lacking(
    parameters: ReleaseParameters, records: LinearRecords[TaskT], problem: Problem
) -> str | None:
    """Return what a fit to shifted rows lacks, None if it lacks nothing. All of it is public."""
    solver = records.facts.solver
    if not (solver.is_gaussian and parameters.delta > 0.0):
        return f"delta > 0 and a Gaussian DP solver, such as 'auto', not {type(solver).__name__}"
    if problem.intercept_scaling == 0.0:
        return "fit_intercept=True"
    return "dense rows" if _are_sparse(records) else None


def _are_sparse(records: LinearRecords[TaskT]) -> bool:
    """Return whether rows have zeros that are not stored, which a center would fill."""
    feature_map = records.facts.feature_map
    if isinstance(feature_map, FeatureMap):
        return feature_map.is_sparse
    rows = feature_map.none if isinstance(feature_map, RowWiseMap) else records.X
    return bool(sparse.issparse(rows))
