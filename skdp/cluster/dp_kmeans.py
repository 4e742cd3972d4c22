"""k-means of rows within public bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags

from skdp._private_fit import NonPrivatePlan
from skdp.budget import PrivacyBudget
from skdp.cluster._lloyd import Estimate, ask_step, count_unit, release_step
from skdp.cluster._start import ask_cells, deviations, release_start
from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import lazy_on_blocks, summed_over_blocks
from skdp.data.records import Records
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.statistics._bounded_rows import BoundedRowsTransformer
from skdp.statistics._spread import (
    Directions,
    ask_center,
    ask_directions,
    ask_radius,
    release_center,
    release_spread,
)
from skdp.support.random import seed_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_count
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep

__all__ = ["DPKMeans"]

# Shares of μ²; the guarantee is for these values, the choice is by experiment.
_CENTER, _RADIUS, _CELLS = 0.1, 0.05, 0.2
_DIRECTIONS, _FEW_DIRECTIONS = 0.3, 0.1  # if some directions are left out, and if all are kept
_STEPS = 3
_STEPS_WITHOUT_PRIVACY = 300
_QUANTILE = 0.9  # of the rows, which count in full
_FEWEST_DIRECTIONS = 2


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

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        n_clusters: int = 8,
        max_iter: int | str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

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

    def _steps(self, neighboring: Neighboring) -> list[GaussianStep]:
        d, k, n_steps = self._n_columns, int(self.n_clusters), self._n_steps(_STEPS)
        share, q = _DIRECTIONS if d > k else _FEW_DIRECTIONS, self._most_directions()
        rest = 1.0 - _CENTER - _RADIUS - share - _CELLS
        return [
            ask_center(d, neighboring, _CENTER),
            ask_radius(neighboring, _RADIUS),
            *ask_directions(d, neighboring, share),
            ask_cells(neighboring, _CELLS),
            *(ask_step(_name(t), k, q, neighboring, rest / n_steps) for t in range(n_steps)),
        ]

    def _most_directions(self) -> int:
        return min(self._n_columns, max(int(self.n_clusters), _FEWEST_DIRECTIONS))

    def _exact(self, records: Records[Any]) -> KMeans:
        seed, n_steps = seed_of(self.random_state), self._n_steps(_STEPS_WITHOUT_PRIVACY)
        exact = KMeans(self.n_clusters, max_iter=n_steps, random_state=seed)
        return exact.fit(records.X, sample_weight=records.shares)

    def _noisy(
        self, plan: GaussianPlan, records: Records[ColumnBounds], rng: np.random.Generator
    ) -> np.ndarray:
        unit = count_unit(self._most_directions(), Neighboring(self.neighboring))
        center = release_center(plan, records, rng)
        radius, directions = release_spread(plan, records, center, rng, quantile=_QUANTILE)
        vectors = directions.vectors[:, : self._n_directions(directions)]
        spread = deviations(directions, radius, center.n_rows)[: vectors.shape[1]]
        k = int(self.n_clusters)
        start = release_start(plan, records, center, vectors, spread, k, rng)
        found = Estimate(start / radius)
        for t in range(self._n_steps(_STEPS)):
            found = release_step(plan, _name(t), records, center, vectors, radius, unit, found, rng)
        centers = center.mean + radius * found.centers @ vectors.T
        return np.clip(centers, records.facts.low, records.facts.high)

    def _n_directions(self, directions: Directions) -> int:
        """Return the number of directions to keep: all if few, else those above the noise."""
        most = self._most_directions()
        if most == self._n_columns:
            return most
        seen = int(np.count_nonzero(directions.weights > directions.edge))
        return min(max(seen, _FEWEST_DIRECTIONS), most)

    def _publish(
        self,
        plan: GaussianPlan | NonPrivatePlan,
        records: Records[ColumnBounds],
        released: np.ndarray | KMeans,
        guarantee: PrivacyGuarantee,
    ) -> DPKMeans:
        self.privacy_ = guarantee
        if isinstance(released, KMeans):
            for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_"):
                setattr(self, name, getattr(released, name))
            return self
        self.cluster_centers_, self.n_iter_ = released, self._n_steps(_STEPS)
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]  # ClusterMixin says none
        return tags


def _name(step: int) -> str:
    return f"step {step}"
