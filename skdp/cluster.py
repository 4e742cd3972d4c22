"""k-means of rows within public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags

from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import Sums, counted, counts_from_steps
from skdp.data.lazy import lazy_on_blocks, summed_over_blocks
from skdp.data.records import Records
from skdp.privacy import Neighboring
from skdp.statistics._bounded_rows import (
    BoundedRowsTransformer,
    Center,
    Directions,
    ask_center,
    ask_directions,
    ask_radius,
    distance_of,
    farthest,
    projected,
    release_center,
    release_spread,
    shortened,
    weighed_rows,
    whole,
)
from skdp.support.random import seed_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_count, parameters
from skdp.workloads.plan import ROUNDED_ONCE, GaussianPlan, GaussianStep

__all__ = ["DPKMeans"]

Rows: TypeAlias = Records[ColumnBounds]

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


def deviations(directions: Directions, radius: float, n_rows: float) -> np.ndarray:
    """Return the approximate standard deviation of rows along each direction.

    Noise whose own spectrum ends at e moves an eigenvalue w > e/2 to w' = w + e²/4w (spiked
    matrices). Of smaller eigenvalues only w ≤ e/2 is known.
    """
    weights, edge = directions.weights, directions.edge
    without = 0.5 * (weights + np.sqrt(np.maximum(weights**2 - edge**2, 0.0)))
    shares = np.where(weights > edge, without, 0.5 * edge) / n_rows
    return np.asarray(_TYPICAL * radius * np.sqrt(np.minimum(shares, 1.0)))


@dataclass(frozen=True, eq=False)
class Frame:
    """*Released*: the center of the rows, directions, and a radius that contains most rows."""

    center: Center
    vectors: np.ndarray  # of shape (n_features, n_directions)
    radius: float


def release_start(
    plan: GaussianPlan,
    records: Rows,
    frame: Frame,
    spread: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return centers in the directions of a frame, in one pass over the rows.

    The counts in a grid along the first directions are released. Synthetic rows with normal
    coordinates along the other directions are then clustered, at no cost.
    """
    axes = min(_MOST_AXES, spread.size)
    # A number such that cells have more rows than noise.
    cells = min(frame.center.n_rows / (_ROWS_PER_CELL * plan.scale("cells")), MOST_CELLS)
    box, per_axis = _WIDTH * spread[:axes], max(math.floor(cells ** (1.0 / axes)), 2)
    counts = records.total(partial(_counts, frame, box, per_axis))["cells"]
    noisy = plan.release("cells", counts, rng)
    few = min(max(_FEWEST_ROWS, _PER_CLUSTER * n_clusters), _MANY_ROWS)
    n_made_up = max(few, _PER_MANY_CLUSTERS * n_clusters)
    made_up = spread * rng.standard_normal((n_made_up, spread.size))
    made_up[:, :axes] = _points(_likely(noisy, plan.scale("cells")), box, per_axis, made_up, rng)
    seed, starts = int(rng.integers(2**32)), _STARTS if n_clusters <= _MANY_CLUSTERS else 1
    found = KMeans(n_clusters, n_init=starts, random_state=seed).fit(made_up)
    return np.asarray(found.cluster_centers_)


def _counts(frame: Frame, box: np.ndarray, per_axis: int, records: Rows) -> Sums:
    """Return the number of rows in each cell of a grid along the first directions."""
    reach, shape = farthest(records.facts), (per_axis,) * box.size
    counts = np.zeros(math.prod(shape), np.int64)
    vectors = frame.vectors[:, : box.size]
    for along, _, weights in projected(records, frame.center, vectors, reach):
        cells = np.floor((along * reach / box + 1.0) * (0.5 * per_axis))
        places = np.clip(cells, 0, per_axis - 1).astype(np.intp)
        counts += counted(np.ravel_multi_index(places.T, shape), counts.size, weights)
    return {"cells": counts_from_steps(counts, records.steps)}


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


def _totals(frame: Frame, centers: np.ndarray, records: Rows) -> Sums:
    """Return the number of rows of each cluster, and their sum, clipped to length 1."""
    reach, k = farthest(records.facts), len(centers)
    vectors = frame.vectors
    counts, sums = np.zeros(k, np.int64), np.zeros((k, vectors.shape[1]))
    C = whole(centers.copy(), _CENTER_BITS)
    # The nearest center has the largest z·c − |c|²/2, here in units of 2^−(22 + 16). All terms are
    # integers below 2^53, so neither other rows nor the order of a sum change the cluster of a row.
    half_squares = (C * C).sum(axis=1) * 2.0 ** (_BITS - _CENTER_BITS - 1)
    width = max(k, vectors.shape[1])
    for along, _, weights in projected(records, frame.center, vectors, reach, width):
        along *= reach / frame.radius
        lengths = np.sqrt(np.einsum("ij,ij->i", along, along))
        z = whole(along, _BITS, shortened(lengths, 1.0)[:, None])
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


# Shares of μ²; the guarantee is for these values, the choice is by experiment.
_CENTER, _RADIUS, _CELLS = 0.1, 0.05, 0.2
_DIRECTIONS, _FEW_DIRECTIONS = 0.3, 0.1  # if some directions are left out, and if all are kept
_STEPS = 3
_STEPS_WITHOUT_PRIVACY = 300
_QUANTILE = 0.9  # of the rows, which count in full
_FEWEST_DIRECTIONS = 2


@parameters
class DPKMeans(ClusterMixin, BoundedRowsTransformer[np.ndarray | KMeans]):
    """k-means: centers of clusters from a few noisy steps after a private start.

    A fit releases a mean, a radius that contains most rows, the principal directions, and counts in
    a grid along the first three directions. Each of `max_iter` steps then releases the number and
    the sum of the rows of each cluster. The initial centers are computed from synthetic rows, which
    are made from the counts and the directions, at no cost.

    Columns with wide bounds dominate the distances, as columns with large values do in
    scikit-learn's `KMeans`. Put a `BoundsScaler` in front if the units differ. Sparse X raises an
    error, because shifting would fill it. ``epsilon=inf`` is scikit-learn's `KMeans`.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    n_clusters : int, default 8
        *Public.* Number of clusters.
    max_iter : int or "auto", default "auto"
        *Public.* Number of steps. A private fit makes all of them; more steps are noisier. "auto"
        is 3, and at most 300 without privacy.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        *Released.* In units of X, within `bounds`.
    n_iter_ : int
        *Public.* Number of steps.
    labels_, inertia_ : ndarray of shape (n_samples,) and float
        *Private*, so only with ``epsilon=inf``. `fit_predict` returns labels without storing them.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** μ-Gaussian DP: each release has Gaussian noise for its sensitivity given the
    earlier releases, and μ² adds up. A replaced record changes the counts and sums of a step by at
    most 2R, for rows in a ball of radius R. Proofs, also for groups: *Principal components and
    k-means* in the documentation.

    References
    ----------
    D. Su, J. Cao, N. Li, E. Bertino and H. Jin, *Differentially private k-means clustering*,
    CODASPY 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.cluster import DPKMeans
    >>> corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 0.0]])
    >>> X = np.repeat(corners, 1000, axis=0)
    >>> kmeans = DPKMeans(n_clusters=3, bounds=(-2, 2), random_state=0).fit(X)
    >>> np.unique(kmeans.predict(corners)).size
    3
    """

    is_model = True

    bounds: Bounds | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    n_clusters: int = 8
    max_iter: int | str = "auto"
    random_state: RandomState = None

    def fit_predict(
        self, X: MatrixLike, y: None = None, groups: VectorLike | None = None
    ) -> np.ndarray:
        """Learn the centers privately, and return the nearest center of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.*
        y : None
            Ignored.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            *Private*: the fit does not protect the labels.
        """
        return self.fit(X, groups=groups).predict(X)

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the index of the nearest center for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values count as the middle of the bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            As private as X: each label depends on one row of X and on released numbers.
        """
        X = self._filled(X)
        return np.asarray(pairwise_distances_argmin(X, self._centers(X)), dtype=np.int32)

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the distance of each row from each center.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values count as the middle of the bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            As private as X: each row depends on one row of X and on released numbers.
        """
        X = self._filled(X)
        return np.asarray(euclidean_distances(X, self._centers(X)))

    @summed_over_blocks
    def score(self, X: MatrixLike, y: None = None) -> float:
        """Return minus the sum of the squared distances from the nearest centers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values count as the middle of the bounds; nothing is clipped.
        y : None
            Ignored.

        Returns
        -------
        float
            As private as X.
        """
        X = self._filled(X)
        _, distances = pairwise_distances_argmin_min(X, self._centers(X))
        return -float(np.square(distances, dtype=np.float64).sum())

    def _centers(self, X: np.ndarray) -> np.ndarray:
        """Return the centers in the type of X, so that X is not converted."""
        return np.asarray(self.cluster_centers_.astype(X.dtype, copy=False))

    def _check_parameters(self) -> None:
        check_count("n_clusters", self.n_clusters)
        if self.max_iter != "auto":
            check_count("max_iter", self.max_iter)

    def _n_steps(self, otherwise: int) -> int:
        return otherwise if self.max_iter == "auto" else int(self.max_iter)

    @property
    def _names(self) -> list[str]:
        """The names of the noisy steps."""
        return [f"step {t}" for t in range(self._n_steps(_STEPS))]

    def _steps(self, neighboring: Neighboring) -> list[GaussianStep]:
        d, k, names = self._n_columns, int(self.n_clusters), self._names
        share, q = _DIRECTIONS if d > k else _FEW_DIRECTIONS, self._most_directions()
        rest = 1.0 - _CENTER - _RADIUS - share - _CELLS
        return [
            ask_center(d, neighboring, _CENTER),
            ask_radius(neighboring, _RADIUS),
            *ask_directions(d, neighboring, share),
            # a histogram along the first directions; a row is in one cell
            GaussianStep("cells", MOST_CELLS, distance_of(neighboring), _CELLS),
            *(ask_step(name, k, q, neighboring, rest / len(names)) for name in names),
        ]

    def _most_directions(self) -> int:
        return min(self._n_columns, max(int(self.n_clusters), _FEWEST_DIRECTIONS))

    def _exact(self, records: Records[Any]) -> KMeans:
        seed, n_steps = seed_of(self.random_state), self._n_steps(_STEPS_WITHOUT_PRIVACY)
        exact = KMeans(self.n_clusters, max_iter=n_steps, random_state=seed)
        return exact.fit(records.X, sample_weight=records.shares)

    def _noisy(self, plan: GaussianPlan, records: Rows, rng: np.random.Generator) -> np.ndarray:
        # the count of a row in `ask_step`, even if fewer coordinates are kept
        unit = count_unit(self._most_directions(), Neighboring(self.neighboring))
        center = release_center(plan, records, rng)
        radius, directions = release_spread(plan, records, center, rng, quantile=_QUANTILE)
        vectors = directions.vectors[:, : self._n_directions(directions)]
        spread = deviations(directions, radius, center.n_rows)[: vectors.shape[1]]
        frame, k = Frame(center, vectors, radius), int(self.n_clusters)
        found = Estimate(release_start(plan, records, frame, spread, k, rng) / radius)
        for name in self._names:
            totals = records.total(partial(_totals, frame, found.centers))["totals"]
            totals[:, 0] *= unit
            noisy = plan.release(name, totals, rng)
            found = _improved(found, noisy[:, 0] / unit, noisy[:, 1:], plan.scale(name), unit)
        centers = center.mean + radius * found.centers @ vectors.T
        return np.clip(centers, records.facts.low, records.facts.high)

    def _n_directions(self, directions: Directions) -> int:
        """Return the number of directions to keep: all if few, else those above the noise."""
        most = self._most_directions()
        if most == self._n_columns:
            return most
        seen = int(np.count_nonzero(directions.weights > directions.edge))
        return min(max(seen, _FEWEST_DIRECTIONS), most)

    def _keep(self, records: Rows, released: np.ndarray) -> None:
        self.cluster_centers_, self.n_iter_ = released, self._n_steps(_STEPS)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]  # ClusterMixin says none
        return tags
