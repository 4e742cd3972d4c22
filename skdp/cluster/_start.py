"""Initial centers: clusters of synthetic rows made from noisy counts."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import counted, counts_from_steps
from skdp.data.records import Records
from skdp.privacy import Neighboring
from skdp.statistics._spread import Center, Directions, distance_of, farthest, projected
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep

MOST_CELLS = 2**14
# No guarantee rests on these: the release has a plan, and the rest is post-processing.
_MOST_AXES = 3
_WIDTH = 2.5  # deviations, on either side
_ROWS_PER_CELL = 2.0  # in units of the noise
_CUT = 0.8  # of √(2·log(cells)) times the noise, below which a cell counts as empty
_TYPICAL = 0.8  # length of a row, in units of the radius that 90 % of them are within
_FEWEST_ROWS, _MANY_ROWS = 3000, 5000
_PER_CLUSTER, _PER_MANY_CLUSTERS = 50, 5
_STARTS, _MANY_CLUSTERS = 3, 100  # more clusters are found once: time grows as their square


def ask_cells(neighboring: Neighboring, share: float) -> GaussianStep:
    """Return the step of a histogram along the first directions; a row is in one cell."""
    return GaussianStep("cells", MOST_CELLS, distance_of(neighboring), share)


def deviations(directions: Directions, radius: float, n_rows: float) -> np.ndarray:
    """Return the approximate standard deviation of rows along each direction.

    Noise whose own spectrum ends at e moves an eigenvalue w > e/2 to w' = w + e²/4w (spiked
    matrices). Of smaller eigenvalues only w ≤ e/2 is known.
    """
    weights, edge = directions.weights, directions.edge
    without = 0.5 * (weights + np.sqrt(np.maximum(weights**2 - edge**2, 0.0)))
    shares = np.where(weights > edge, without, 0.5 * edge) / n_rows
    return np.asarray(_TYPICAL * radius * np.sqrt(np.minimum(shares, 1.0)))


def release_start(
    plan: GaussianPlan,
    records: Records[ColumnBounds],
    center: Center,
    vectors: np.ndarray,
    spread: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return centers along `vectors`, relative to `center`, in one pass over the rows.

    The counts in a grid along the first directions are released. Synthetic rows with normal
    coordinates along the other directions are then clustered, at no cost.
    """
    axes = min(_MOST_AXES, spread.size)
    box, per_axis = _WIDTH * spread[:axes], _cells_per_axis(plan, center.n_rows, axes)
    counts = records.total(partial(_counts, center, vectors[:, :axes], box, per_axis))["cells"]
    noisy = plan.release("cells", counts, rng)
    made_up = spread * rng.standard_normal((_n_made_up(n_clusters), spread.size))
    made_up[:, :axes] = _points(_likely(noisy, plan.scale("cells")), box, per_axis, made_up, rng)
    seed, starts = int(rng.integers(2**32)), _STARTS if n_clusters <= _MANY_CLUSTERS else 1
    found = KMeans(n_clusters, n_init=starts, random_state=seed).fit(made_up)
    return np.asarray(found.cluster_centers_)


def _counts(
    center: Center,
    vectors: np.ndarray,
    box: np.ndarray,
    per_axis: int,
    records: Records[ColumnBounds],
) -> dict[str, np.ndarray]:
    """Return the number of rows in each cell of a grid along some directions."""
    reach, shape = farthest(records.facts), (per_axis,) * box.size
    counts = np.zeros(math.prod(shape), np.int64)
    for along, _, weights in projected(records, center, vectors, reach):
        cells = np.floor((along * reach / box + 1.0) * (0.5 * per_axis))
        places = np.clip(cells, 0, per_axis - 1).astype(np.intp)
        counts += counted(np.ravel_multi_index(places.T, shape), counts.size, weights)
    return {"cells": counts_from_steps(counts, records.steps)}


def _n_made_up(n_clusters: int) -> int:
    few = min(max(_FEWEST_ROWS, _PER_CLUSTER * n_clusters), _MANY_ROWS)
    return max(few, _PER_MANY_CLUSTERS * n_clusters)


def _cells_per_axis(plan: GaussianPlan, n_rows: float, axes: int) -> int:
    """Return a number such that cells have more rows than noise."""
    cells = min(n_rows / (_ROWS_PER_CELL * plan.scale("cells")), MOST_CELLS)
    return max(math.floor(cells ** (1.0 / axes)), 2)


def _likely(counts: np.ndarray, scale: float) -> np.ndarray:
    """Return probabilities of the cells, 0 for those that may contain only noise."""
    least = min(_CUT * scale * math.sqrt(2.0 * math.log(counts.size)), counts.max())
    kept = np.where(counts >= least, np.maximum(counts, 1.0), 0.0)
    return np.asarray(kept / kept.sum())


def _points(
    shares: np.ndarray, box: np.ndarray, per_axis: int, like: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return uniform points in cells drawn by their shares."""
    drawn = rng.choice(shares.size, size=len(like), p=shares)
    corners = np.stack(np.unravel_index(drawn, (per_axis,) * box.size), axis=1)
    return np.asarray(((corners + rng.random(corners.shape)) * (2.0 / per_axis) - 1.0) * box)
