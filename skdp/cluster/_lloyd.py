"""Lloyd's steps from noisy counts and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import counted, in_records
from skdp.data.records import Records
from skdp.privacy import Neighboring
from skdp.statistics._spread import Center, farthest, projected, shortened, weighed_rows, whole
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep
from skdp.workloads.plan import ROUNDED_ONCE

__all__ = ["Estimate", "ask_step", "count_unit", "release_step"]

_BITS = 22  # of rows: sums of 2^31 of them stay below 2^53
_CENTER_BITS = 16  # of centers, so that all distances are exact as well
_LEAST_COUNT = 1.0  # no guarantee rests on it: a smaller cluster stays where it is


@dataclass(frozen=True, eq=False)
class Estimate:
    """*Released*: centers in units of the radius, and the variance of each in every coordinate.

    The variances are estimates too; None before anything was measured.
    """

    centers: np.ndarray
    variances: np.ndarray | None = None


def count_unit(n_coordinates: int, neighboring: Neighboring) -> float:
    """Return what a row counts, beside up to `n_coordinates` of length 1 at most.

    Where a row is replaced within its cluster the coordinates move by 2, and nothing else does;
    counting by 1 moves no more, if the row changes its cluster.
    """
    # A step's noise is √(1 + b²) in each of q coordinates and that over b in the count. The sum of
    # squares, (1 + b²)·(q + 1/b²), is least at b² = q^(−1/2). No guarantee rests on b.
    return 1.0 if neighboring.count_is_public else n_coordinates**-0.25


def ask_step(
    name: str, n_clusters: int, n_coordinates: int, neighboring: Neighboring, share: float
) -> GaussianStep:
    """Return a step of (b·N, S) for all clusters: counts N, sums S of rows of length 1 at most.

    A row adds (b, y) to one cluster. Two in one cluster differ by 2 at most, in two clusters by
    √(2·(1 + b²)), which is 2 for b = 1.
    """
    b = count_unit(n_coordinates, neighboring)
    # A row added or removed has the length √(1 + b²). The proofs of all steps, and that this is
    # attained, are in the documentation: *Principal components and k-means*.
    distance = 2.0 if neighboring.count_is_public else math.hypot(1.0, b)
    return GaussianStep(name, n_clusters * (n_coordinates + 1), distance * ROUNDED_ONCE, share)


def release_step(
    plan: GaussianPlan,
    name: str,
    records: Records[ColumnBounds],
    center: Center,
    vectors: np.ndarray,
    radius: float,
    unit: float,
    before: Estimate,
    rng: np.random.Generator,
) -> Estimate:
    """Return what the estimate becomes by one more noisy step: one pass over the rows.

    A row counts `unit`, that of `ask_step`: the step was priced for it, and not for that of fewer
    coordinates, which would be larger.
    """
    totals = records.total(partial(_totals, center, vectors, radius, before.centers))["totals"]
    totals[:, 0] *= unit
    noisy = plan.release(name, totals, rng)
    return _improved(before, noisy[:, 0] / unit, noisy[:, 1:], plan.scale(name), unit)


def _totals(
    center: Center,
    vectors: np.ndarray,
    radius: float,
    centers: np.ndarray,
    records: Records[ColumnBounds],
) -> dict[str, np.ndarray]:
    """Return the number of rows of each cluster, and their sum, clipped to length 1."""
    reach, k = farthest(records.facts), len(centers)
    counts, sums = np.zeros(k, np.int64), np.zeros((k, vectors.shape[1]))
    C = whole(centers.copy(), _CENTER_BITS)
    # A row is nearest to the center with the largest z·c − |c|²/2, here in units of 2^−(22 + 16).
    # All terms are integers below 2^53, so neither another row nor the order of a sum changes the
    # cluster of a row.
    half_squares = (C * C).sum(axis=1) * 2.0 ** (_BITS - _CENTER_BITS - 1)
    for along, _, weights in projected(records, center, vectors, reach, max(k, vectors.shape[1])):
        along *= reach / radius
        along *= shortened(np.sqrt((along * along).sum(axis=1)), 1.0)[:, None]
        z = whole(along, _BITS)
        nearest = (z @ C.T - half_squares).argmax(axis=1)
        members = (nearest == np.arange(k)[:, None]).astype(float)
        counts += counted(nearest, k, weights)
        sums += members @ weighed_rows(z, weights)
    return {"totals": np.column_stack([in_records(counts, records.steps), sums * 2.0**-_BITS])}


def _improved(
    before: Estimate, counts: np.ndarray, sums: np.ndarray, noise: float, unit: float
) -> Estimate:
    """Return centers between those before and the noisy means, by the variances of both.

    The means have the variance (noise/N)². How wrong the centers before were is estimated by how
    far the means are off, for all clusters together: from the squares of the distances their noise
    is taken off, and what their variance before explains. Clusters whose count is mostly noise
    stay.
    """
    least = max(noise / unit, _LEAST_COUNT)
    known, counts = counts >= least, np.maximum(counts, least)
    variances = (noise / counts) ** 2
    change = sums / counts[:, None] - before.centers
    prior = np.zeros(len(counts)) if before.variances is None else before.variances
    excess = (change**2).mean(axis=1) - variances - prior
    moved = max(float(np.average(excess, weights=1.0 / (variances + prior))), 0.0)
    prior = prior + moved
    gain = np.where(known, prior / (prior + variances), 0.0)
    return Estimate(before.centers + gain[:, None] * change, (1.0 - gain) * prior)
