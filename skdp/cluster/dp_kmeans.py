"""k-means of rows within public bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters
from skdp.cluster._lloyd import Estimate, ask_step, count_unit, release_step
from skdp.cluster._start import ask_cells, deviations, release_start
from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import lazy_on_blocks, summed_over_blocks
from skdp.data.records import Records
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.statistics._bounded_rows import bounded_rows, filled_rows
from skdp.statistics._spread import (
    Directions,
    ask_center,
    ask_directions,
    ask_radius,
    release_center,
    release_spread,
)
from skdp.support.random import seed_of
from skdp.support.validation import check_count
from skdp.workloads.gaussian_steps import GaussianPlan, plan_steps

__all__ = ["DPKMeans"]

# Shares of μ²; the guarantee is for these values, the choice is by experiment.
_CENTER, _RADIUS, _CELLS = 0.1, 0.05, 0.2
_DIRECTIONS, _FEW_DIRECTIONS = 0.3, 0.1  # where some are left out, and where all are kept
_STEPS = 3
_STEPS_WITHOUT_PRIVACY = 300
_QUANTILE = 0.9  # of the rows, which count in full
_FEWEST_DIRECTIONS = 2


_Rows = Records[ColumnBounds]
_Plan = GaussianPlan | NonPrivatePlan


class DPKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    PrivateEstimator[_Rows, _Plan, np.ndarray | KMeans],
):
    """k-means: centers of clusters from a few noisy steps, behind a private start.

    Released one after another are a mean, a radius that most rows are within, the principal
    directions, counts in a grid along the first three of them, and then, for each of `max_iter`
    steps, the number of rows of each cluster and their sum. The start is found in rows that are
    made up by the counts and the directions, which costs nothing more. ``epsilon=inf`` is
    scikit-learn's `KMeans`. Distances are in the units of X: where those differ between columns,
    put a `BoundsScaler` in front.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, or dict
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails. ``None``: the budget's δ, or 1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    n_clusters : int, default 8
        *Public.* How many centers there are.
    max_iter : int or "auto", default "auto"
        *Public.* Number of steps. A private fit makes all of them, and each is noisier if there
        are more. "auto" is 3, and at most 300 without privacy.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        *Released.* In the units of X, within `bounds`.
    n_iter_ : int
        *Public.* The number of steps; without privacy that of scikit-learn.
    labels_, inertia_ : ndarray of shape (n_samples,) and float
        *Private*, so only with ``epsilon=inf``: scikit-learn's. `fit_predict` returns labels
        without keeping them.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** μ-Gaussian DP: each release has Gaussian noise for how far it may move between
    neighbors, given the earlier ones, and μ² adds up (proofs: `docs/maths/unsupervised.md`). A
    step's counts and sums of rows in a ball of radius R move by 2R where a record is replaced. With
    groups each of a person's m rows counts 1/m, and all of them together move no sum farther than
    one row.

    Values outside of the bounds are clipped in `fit`, and a missing value counts as the middle.
    Columns with wide bounds rule the distances, as columns with large values do in
    scikit-learn's: put `BoundsScaler` in front where units differ. Sparse X is refused, as
    shifting it would fill it.

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

    def __init__(
        self,
        *,
        bounds: Any = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        n_clusters: int = 8,
        max_iter: int | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> DPKMeans:
        """Learn the centers privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside `bounds` are clipped; a missing value counts as the middle of
            its bounds. Without privacy values are taken as they are, and none may be missing.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is read.
        """
        fitted: DPKMeans = self._fit_privately(X, groups=groups)
        return fitted

    def fit_predict(self, X: Any, y: Any = None, groups: Any = None) -> np.ndarray:
        """Learn the centers privately, and return the nearest one of each row.

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
            *Private*: each label depends on its row, and the fit does not protect them.
        """
        return self.fit(X, groups=groups).predict(X)

    @lazy_on_blocks
    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the nearest center of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values become the middle of their bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            As private as X: each label depends on one row of X and on what was released.
        """
        X = self._checked(X)
        return np.asarray(pairwise_distances_argmin(X, self._centers(X)), dtype=np.int32)

    @lazy_on_blocks
    def transform(self, X: Any) -> np.ndarray:
        """Return the distance of each row from each center.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values become the middle of their bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            As private as X: each row depends on one row of X and on what was released.
        """
        X = self._checked(X)
        return np.asarray(euclidean_distances(X, self._centers(X)))

    @summed_over_blocks
    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of the squared distances from the nearest centers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values become the middle of their bounds; nothing is clipped.
        y : None
            Ignored.

        Returns
        -------
        float
            As private as X.
        """
        X = self._checked(X)
        _, distances = pairwise_distances_argmin_min(X, self._centers(X))
        return -float(np.square(distances, dtype=np.float64).sum())

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_centers_")
        return filled_rows(self, X)

    def _centers(self, X: np.ndarray) -> np.ndarray:
        """Return the centers in the type of X, which then is not copied into another."""
        return np.asarray(self.cluster_centers_.astype(X.dtype, copy=False))

    def _is_gaussian(self) -> bool:
        return True

    def _check_data(self, parameters: ReleaseParameters, X: Any, *, groups: Any = None) -> _Rows:
        check_count("n_clusters", self.n_clusters)
        if self.max_iter != "auto":
            check_count("max_iter", self.max_iter)
        return bounded_rows(self, X, parameters, groups)

    def _n_steps(self, otherwise: int) -> int:
        return otherwise if self.max_iter == "auto" else int(self.max_iter)

    def _plan(self, parameters: ReleaseParameters, records: _Rows) -> _Plan:
        if not parameters.is_private:
            return NonPrivatePlan()
        d, k, relation = self.n_features_in_, int(self.n_clusters), parameters.neighboring
        n_steps, share = self._n_steps(_STEPS), _DIRECTIONS if d > k else _FEW_DIRECTIONS
        rest = 1.0 - _CENTER - _RADIUS - share - _CELLS
        steps = [
            ask_center(d, relation, _CENTER),
            ask_radius(relation, _RADIUS),
            *ask_directions(d, relation, share),
            ask_cells(relation, _CELLS),
            *(
                ask_step(_name(t), k, self._most_directions(), relation, rest / n_steps)
                for t in range(n_steps)
            ),
        ]
        return plan_steps("DPKMeans", steps, parameters.epsilon, parameters.delta)

    def _most_directions(self) -> int:
        d: int = self.n_features_in_
        return min(d, max(int(self.n_clusters), _FEWEST_DIRECTIONS))

    def _read(self, plan: _Plan, records: _Rows, rng: np.random.Generator) -> Any:
        if isinstance(plan, NonPrivatePlan):
            seed, n_steps = seed_of(self.random_state), self._n_steps(_STEPS_WITHOUT_PRIVACY)
            exact = KMeans(self.n_clusters, max_iter=n_steps, random_state=seed)
            return exact.fit(records.X, sample_weight=records.shares)
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
        """Return how many are kept: all if there are few, else those that are more than noise."""
        most = self._most_directions()
        if most == self.n_features_in_:
            return most
        seen = int(np.count_nonzero(directions.weights > directions.edge))
        return min(max(seen, _FEWEST_DIRECTIONS), most)

    def _publish(
        self, plan: _Plan, records: _Rows, released: Any, guarantee: PrivacyGuarantee
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = bool(np.isfinite(self.epsilon))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _name(step: int) -> str:
    return f"step {step}"
