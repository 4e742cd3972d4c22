"""Principal components of rows within public bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.decomposition import PCA
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import Sums, exact_sums
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import present
from skdp.privacy import Neighboring
from skdp.statistics._bounded_rows import (
    BoundedRowsTransformer,
    Center,
    Directions,
    ask_center,
    ask_directions,
    ask_radius,
    distance_of,
    projected,
    release_center,
    release_spread,
)
from skdp.support.random import seed_of
from skdp.support.types import Bounds, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_count, check_size, parameters
from skdp.workloads.plan import GaussianPlan, GaussianStep

__all__ = ["DPPCA"]

Rows: TypeAlias = Records[ColumnBounds]

# Shares of μ²; the guarantee is for these values, the choice is by experiment.
_CENTER, _DIRECTIONS, _VARIANCES = 0.2, 0.75, 0.03
_RADIUS = 1.0 - _CENTER - _DIRECTIONS - _VARIANCES
_QUANTILE = 0.98  # of the rows, whose lengths count in full in the variances


@dataclass(frozen=True, eq=False)
class Components:
    """*Released* center, directions, and sums of squares along them, then along all others."""

    center: Center
    directions: Directions
    squares: np.ndarray


@parameters
class DPPCA(BoundedRowsTransformer[Components | PCA]):
    """Principal components: private orthogonal directions in which the rows vary most.

    A fit releases a mean m, the eigenvectors of Σ yyᵀ plus symmetric noise, and the variances along
    them. Here y = (x − m)/|x − m| is on the unit sphere, so that all records count alike. For
    elliptical distributions the eigenvectors are those of the covariance, in the same order.

    Columns with wide bounds dominate, as columns with large values do in scikit-learn's `PCA`. Put
    a `BoundsScaler` in front if the units differ. Sparse X raises an error, because shifting would
    fill it. ``epsilon=inf`` is scikit-learn's `PCA`.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    data_norm : float or None, default None
        *Public.* In units of X: y is x − m clipped to this length, and the components are those of
        the covariance of such rows. ``None``: the unit sphere.
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
    n_components : int or None, default None
        *Public.* Number of components. ``None``: all columns; without privacy at most the number
        of rows.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        *Released.* Orthonormal rows, the largest eigenvalue first. The largest entry of each is
        positive.
    mean_ : ndarray of shape (n_features,)
        *Released.* Within `bounds`.
    explained_variance_ : ndarray of shape (n_components,)
        *Released*, separately from the components, and made non-increasing.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        *Released.* Shares of the total variance of all directions; 0 if it is 0.
    singular_values_ : ndarray of shape (n_components,)
        *Released.* √((n − 1)·`explained_variance_`).
    noise_variance_ : float
        *Released.* Mean variance of the other directions; 0 if there are none.
    n_components_ : int
        *Public.*
    n_samples_ : int or float
        Number of rows, or of persons with `groups`: *public* under ``replace_one``, else a
        *released* estimate.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** μ-Gaussian DP: each release has Gaussian noise for its sensitivity given the
    earlier releases, and μ² adds up. In Frobenius norm yyᵀ is at most 1 long, and yyᵀ − zzᵀ at most
    √2. The mean gets a fifth of μ², the components three quarters, and the variances the rest. A
    single column has a public component, and its mean gets four fifths. Proofs, also for groups:
    *Principal components and k-means* in the documentation.

    References
    ----------
    C. Dwork, K. Talwar, A. Thakurta and L. Zhang, *Analyze Gauss: optimal bounds for
    privacy-preserving principal component analysis*, STOC 2014, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.decomposition import DPPCA
    >>> t = np.random.default_rng(0).normal(size=(2000, 1))
    >>> X = t * [2.0, 1.0, 0.0]
    >>> pca = DPPCA(n_components=1, bounds=(-10, 10), random_state=0).fit(X)
    >>> pca.components_.round(1)
    array([[0.9, 0.4, 0. ]])
    >>> pca.transform(X).shape
    (2000, 1)
    """

    is_model = True

    bounds: Bounds | None = None
    data_norm: float | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    n_components: int | None = None
    random_state: RandomState = None

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the coordinates of rows along the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values count as the middle of the bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            As private as X: each row depends on one row of X and on released numbers.
        """
        X = self._filled(X)
        directions = self.components_.T.astype(X.dtype, copy=False)
        projected = X @ directions
        projected -= (self.mean_ @ self.components_.T).astype(X.dtype)
        return np.asarray(projected)

    @lazy_on_blocks
    def inverse_transform(self, X: MatrixLike) -> np.ndarray:
        """Return the rows of the original space with these coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates along the components.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            As private as X: the mean plus a sum of components.
        """
        check_is_fitted(self, "components_")
        rows = present("X", X) @ self.components_
        rows += self.mean_
        return np.asarray(rows)

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if self.data_norm is not None:
            check_size("data_norm", self.data_norm)

    def _check_data(
        self, parameters: ReleaseParameters, X: MatrixLike, *, groups: VectorLike | None = None
    ) -> Rows:
        rows = super()._check_data(parameters, X, groups=groups)
        if (self.n_components or 1) > self._n_columns:
            raise ValueError(
                f"n_components must be at most the number of columns, {self._n_columns}, got "
                f"{self.n_components!r}."
            )
        return rows

    def _steps(self, neighboring: Neighboring) -> list[GaussianStep]:
        d, on_sphere = self._n_columns, self.data_norm is None
        share = _VARIANCES if on_sphere else _VARIANCES + _RADIUS
        distance = distance_of(neighboring)
        return [
            ask_center(d, neighboring, _CENTER),
            *([ask_radius(neighboring, _RADIUS)] if on_sphere else []),
            *ask_directions(d, neighboring, _DIRECTIONS),
            GaussianStep("variances", self._n_components() + 1, distance, share),
        ]

    def _n_components(self) -> int:
        return self._n_columns if self.n_components is None else int(self.n_components)

    def _exact(self, records: Records[Any]) -> Components | PCA:
        if records.is_weighted:
            return _weighted(records, self._n_components())
        return PCA(self.n_components, random_state=seed_of(self.random_state)).fit(records.X)

    def _noisy(self, plan: GaussianPlan, records: Rows, rng: np.random.Generator) -> Components:
        center = release_center(plan, records, rng)
        radius, directions = release_spread(
            plan, records, center, rng, quantile=_QUANTILE, data_norm=self.data_norm
        )
        vectors = directions.vectors[:, : self._n_components()]
        parts = partial(_parts, center, vectors, radius)
        sums = exact_sums({"parts": vectors.shape[1] + 1}, records, parts)["parts"]
        return Components(center, directions, plan.release("variances", sums, rng) * radius**2)

    def _keep(self, records: Rows, released: Components) -> None:
        n = records.n_records if records.count_is_public else released.center.n_rows
        components = released.directions.vectors[:, : self._n_components()].T
        squares = released.squares
        k, d = components.shape
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(k), largest])
        degrees = max(n - 1.0, 1.0)
        variances = isotonic_regression(squares[:-1], increasing=False) / degrees
        variances, rest = np.maximum(variances, 0.0), max(squares[-1] / degrees, 0.0)
        rest = rest if k < d else 0.0
        total = variances.sum() + rest
        self.mean_, self.components_ = released.center.mean, components * signs[:, None]
        self.n_components_, self.n_samples_ = k, n
        self.explained_variance_ = variances
        self.explained_variance_ratio_ = variances / (total if total > 0.0 else 1.0)
        self.singular_values_ = np.sqrt(degrees * variances)
        self.noise_variance_ = rest / max(d - k, 1)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _weighted(records: Records[Any], n_components: int) -> Components:
    """Return the components of weighted rows without privacy; scikit-learn's take no weights."""
    shares = records.shares
    assert shares is not None, "only persons have weights"
    mean = np.average(records.X, axis=0, weights=shares)
    Z = (records.X - mean) * np.sqrt(shares)[:, None]
    values, vectors = np.linalg.eigh(Z.T @ Z)
    squares, rest = values[::-1][:n_components], values[::-1][n_components:].sum()
    center, directions = Center(mean, records.n_records), vectors[:, ::-1]
    return Components(center, Directions(directions, values[::-1], 0.0), np.append(squares, rest))


def _parts(center: Center, vectors: np.ndarray, radius: float, records: Rows) -> Iterator[Sums]:
    """Yield what each row adds: its squares along the vectors, and the rest of its squared length.

    They are non-negative with sum at most 1, in units of the squared radius.
    """
    k = vectors.shape[1]
    for along, squares, _ in projected(records, center, vectors, radius, k):
        parts = np.empty((k + 1, len(along)))
        np.square(along.T, out=parts[:k])
        inside = np.einsum("ij,ij->i", along, along)
        np.maximum(squares - inside, 0.0, out=parts[k])
        parts /= np.maximum(inside + parts[k], 1.0)
        yield {"parts": parts.T}
