"""Lloyd's steps from noisy counts and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import counted, counts_from_steps
from skdp.data.records import Records
from skdp.privacy import Neighboring
from skdp.statistics._spread import Center, farthest, projected, shortened, weighed_rows, whole
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep
from skdp.workloads.plan import ROUNDED_ONCE

_BITS = 22  # of rows: sums of 2^31 of them stay below 2^53
_CENTER_BITS = 16  # of centers, so that all distances are exact as well
_LEAST_COUNT = 1.0  # no guarantee rests on it: a smaller cluster stays where it is


@dataclass(frozen=True, eq=False)
class Estimate:
    """*Released*: centers in units of the radius, and an estimate of each one's variance.

    The variances are per coordinate, and None before the first step.
    """

    centers: np.ndarray
    variances: np.ndarray | None = None


def count_unit(n_coordinates: int, neighboring: Neighboring) -> float:
    """Return the count b of a row, released with up to `n_coordinates` of length at most 1."""
    # A row replaced within its cluster moves the coordinates by 2, and nothing else. With b = 1 a
    # row that changes its cluster moves no more.
    # A step's noise is √(1 + b²) in each of q coordinates and that over b in the count. The sum of
    # squares, (1 + b²)·(q + 1/b²), is least at b² = q^(−1/2). No guarantee rests on b.
    return 1.0 if neighboring.count_is_public else n_coordinates**-0.25


def ask_step(
    name: str, n_clusters: int, n_coordinates: int, neighboring: Neighboring, share: float
) -> GaussianStep:
    """Return a step of (b·N, S) for all clusters: counts N, sums S of rows of length at most 1."""
    b = count_unit(n_coordinates, neighboring)
    # A row adds (b, y) to one cluster, of length at most √(1 + b²). Two rows in one cluster differ
    # by at most 2, in two clusters by at most √(2·(1 + b²)), which is 2 for b = 1. Proofs, and that
    # this is attained: *Principal components and k-means* in the documentation.
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
    """Return the estimate after one more noisy step, in one pass over the rows.

    `unit` is the count of a row in `ask_step`, even if fewer coordinates are kept.
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
    # The nearest center has the largest z·c − |c|²/2, here in units of 2^−(22 + 16). All terms are
    # integers below 2^53, so neither other rows nor the order of a sum change the cluster of a row.
    half_squares = (C * C).sum(axis=1) * 2.0 ** (_BITS - _CENTER_BITS - 1)
    for along, _, weights in projected(records, center, vectors, reach, max(k, vectors.shape[1])):
        along *= reach / radius
        along *= shortened(np.sqrt((along * along).sum(axis=1)), 1.0)[:, None]
        z = whole(along, _BITS)
        nearest = (z @ C.T - half_squares).argmax(axis=1)
        members = (nearest == np.arange(k)[:, None]).astype(float)
        counts += counted(nearest, k, weights)
        sums += members @ weighed_rows(z, weights)
    return {
        "totals": np.column_stack([counts_from_steps(counts, records.steps), sums * 2.0**-_BITS])
    }


def _improved(
    before: Estimate, counts: np.ndarray, sums: np.ndarray, noise: float, unit: float
) -> Estimate:
    """Return centers between the old centers and the noisy means, weighted by precision.

    The means have variance (noise/N)². The variance of the old centers is estimated for all
    clusters together: the mean squared distance minus both known variances. Clusters whose count is
    mostly noise stay.
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
