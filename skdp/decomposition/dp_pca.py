"""Principal components of rows within public bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import exact_sums
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import present
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._bounded_rows import bounded_rows, filled_rows
from skdp.statistics._spread import (
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
from skdp.support.validation import check_count, check_size
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep, plan_steps

__all__ = ["DPPCA"]

# Shares of μ²; the guarantee is for these values, the choice is by experiment.
_CENTER, _DIRECTIONS, _VARIANCES = 0.2, 0.75, 0.03
_RADIUS = 1.0 - _CENTER - _DIRECTIONS - _VARIANCES
_QUANTILE = 0.98  # of the rows, whose lengths count in full in the variances


@dataclass(frozen=True, eq=False)
class Components:
    """*Released*: the parts of which the attributes are computed."""

    center: Center
    directions: Directions
    variances: np.ndarray


_Rows = Records[ColumnBounds]
_Plan = GaussianPlan | NonPrivatePlan


class DPPCA(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PrivateEstimator[_Rows, _Plan, Components | PCA],
):
    """Principal components: private orthogonal directions in which the rows vary most.

    A noisy mean m is released; then the eigenvectors of Σ yyᵀ plus symmetric noise, where
    y = (x − m)/|x − m| is on the unit sphere, so that no record counts more than another; then the
    variances in these directions. For rows with elliptical distributions the sphere has the same
    eigenvectors as the covariance, in the same order. ``epsilon=inf`` is scikit-learn's `PCA`.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, or dict
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    data_norm : float or None, default None
        *Public.* In the units of X: y is x − m clipped to this length, and components are those of
        the covariance of such rows. ``None`` takes the sphere, and needs no such number.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails. ``None``: the budget's δ, or 1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    n_components : int or None, default None
        *Public.* How many components are kept. ``None`` keeps all columns; without privacy at most
        as many as there are rows.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        *Released.* Orthonormal rows, the largest eigenvalue first; the largest entry of each is
        positive.
    mean_ : ndarray of shape (n_features,)
        *Released.* Within `bounds`.
    explained_variance_ : ndarray of shape (n_components,)
        *Released*, apart from the components, and made to fall.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        *Released.* Of the total variance, that of the other directions included; 0 if all is 0.
    singular_values_ : ndarray of shape (n_components,)
        *Released.* √((n − 1)·`explained_variance_`).
    noise_variance_ : float
        *Released.* Mean variance of the directions that are left out; 0 if there are none.
    n_components_ : int
        *Public.*
    n_samples_ : int or float
        *Public* under ``replace_one``, else *released*: how many rows there are, about; with
        groups how many persons.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** μ-Gaussian DP: each release has Gaussian noise for how far it may move between
    neighbors, given the earlier ones, and μ² adds up. In Frobenius norm yyᵀ is at most 1 long, and
    yyᵀ − zzᵀ at most √2 (proofs: `docs/maths/unsupervised.md`). A fifth of μ² is for the mean,
    three quarters for the components, the rest for the variances. A single column has a public
    component, and four fifths of μ² are for its mean. With groups each of a person's m
    rows counts 1/m, and all of them together move no sum farther than one row.

    Values outside of the bounds are clipped in `fit`, and a missing value counts as the middle.
    Columns with wide bounds rule the components, as columns with large values do in
    scikit-learn's: put `BoundsScaler` in front where units differ. Sparse X is refused, as
    shifting it would fill it.

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

    def __init__(
        self,
        *,
        bounds: Any = None,
        data_norm: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.data_norm = data_norm
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> DPPCA:
        """Learn the mean, the components and their variances privately.

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
            The fitted transformer.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is read.
        """
        fitted: DPPCA = self._fit_privately(X, groups=groups)
        return fitted

    @lazy_on_blocks
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows along the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing values become the middle of their bounds; nothing is clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            As private as X: each row depends on one row of X and on what was released.
        """
        check_is_fitted(self, "components_")
        X = filled_rows(self, X)
        directions = self.components_.T.astype(X.dtype, copy=False)
        projected = X @ directions
        projected -= (self.mean_ @ self.components_.T).astype(X.dtype)
        return np.asarray(projected)

    @lazy_on_blocks
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows of the original space that have these coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates along the components.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            As private as X; the mean plus a sum of components.
        """
        check_is_fitted(self, "components_")
        rows = present("X", X) @ self.components_
        rows += self.mean_
        return np.asarray(rows)

    def _is_gaussian(self) -> bool:
        return True

    def _check_data(self, parameters: ReleaseParameters, X: Any, *, groups: Any = None) -> _Rows:
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if self.data_norm is not None:
            check_size("data_norm", self.data_norm)
        rows = bounded_rows(self, X, parameters, groups)
        if (self.n_components or 1) > self.n_features_in_:
            raise ValueError(
                f"n_components must be at most the number of columns, {self.n_features_in_}, got "
                f"{self.n_components!r}."
            )
        return rows

    def _plan(self, parameters: ReleaseParameters, records: _Rows) -> _Plan:
        if not parameters.is_private:
            return NonPrivatePlan()
        d, relation = self.n_features_in_, parameters.neighboring
        on_sphere = self.data_norm is None
        share = _VARIANCES if on_sphere else _VARIANCES + _RADIUS
        n_variances = self._n_components() + 1
        steps = [
            ask_center(d, relation, _CENTER),
            *([ask_radius(relation, _RADIUS)] if on_sphere else []),
            *ask_directions(d, relation, _DIRECTIONS),
            GaussianStep("variances", n_variances, distance_of(relation), share),
        ]
        return plan_steps("DPPCA", steps, parameters.epsilon, parameters.delta)

    def _n_components(self) -> int:
        return self.n_features_in_ if self.n_components is None else int(self.n_components)

    def _read(self, plan: _Plan, records: _Rows, rng: np.random.Generator) -> Any:
        if isinstance(plan, NonPrivatePlan):
            if records.is_weighted:
                return _exact(records, self._n_components())
            seed = seed_of(self.random_state)
            return PCA(self.n_components, random_state=seed).fit(records.X)
        center = release_center(plan, records, rng)
        radius, directions = release_spread(
            plan, records, center, rng, quantile=_QUANTILE, data_norm=self.data_norm
        )
        vectors = directions.vectors[:, : self._n_components()]
        parts = partial(_parts, center, vectors, radius)
        sums = exact_sums({"parts": vectors.shape[1] + 1}, records, parts)["parts"]
        variances = plan.release("variances", sums, rng) * radius**2
        return Components(center, directions, variances)

    def _publish(
        self, plan: _Plan, records: _Rows, released: Any, guarantee: PrivacyGuarantee
    ) -> DPPCA:
        self.privacy_ = guarantee
        if isinstance(released, PCA):
            for name in _ATTRIBUTES:
                setattr(self, name, getattr(released, name))
            return self
        n = records.n_records if records.count_is_public else released.center.n_rows
        vectors = released.directions.vectors[:, : self._n_components()]
        self._keep(released.center.mean, vectors.T, released.variances, n)
        return self

    def _keep(
        self, mean: np.ndarray, components: np.ndarray, squares: np.ndarray, n: float
    ) -> None:
        """Set the released attributes; the last sum of squares is that of all other directions."""
        k, d = components.shape
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(k), largest])
        degrees = max(n - 1.0, 1.0)
        variances = isotonic_regression(squares[:-1], increasing=False) / degrees
        variances, rest = np.maximum(variances, 0.0), max(squares[-1] / degrees, 0.0)
        rest = rest if k < d else 0.0
        total = variances.sum() + rest
        self.mean_, self.components_ = mean, components * signs[:, None]
        self.n_components_, self.n_samples_ = k, n
        self.explained_variance_ = variances
        self.explained_variance_ratio_ = variances / (total if total > 0.0 else 1.0)
        self.singular_values_ = np.sqrt(degrees * variances)
        self.noise_variance_ = rest / max(d - k, 1)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = bool(np.isfinite(self.epsilon))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_ATTRIBUTES = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
)


def _exact(records: Records[Any], n_components: int) -> Components:
    """Return the components without privacy, of which scikit-learn's have no weights."""
    shares = records.shares
    assert shares is not None, "it is for persons alone"
    mean = np.average(records.X, axis=0, weights=shares)
    Z = (records.X - mean) * np.sqrt(shares)[:, None]
    values, vectors = np.linalg.eigh(Z.T @ Z)
    squares, rest = values[::-1][:n_components], values[::-1][n_components:].sum()
    center = Center(mean, records.n_records)
    return Components(
        center, Directions(vectors[:, ::-1], values[::-1], 0.0), np.append(squares, rest)
    )


def _parts(center: Center, vectors: np.ndarray, radius: float, records: _Rows) -> Any:
    """Yield what each row adds: its squares along the vectors, and the rest of its length's square.

    They are non-negative, and sum to 1 at most, in units of the radius squared.
    """
    for along, z, _ in projected(records, center, vectors, radius, vectors.shape[1]):
        squares = along**2
        inside = squares.sum(axis=1)
        rest = np.maximum((z * z).sum(axis=1) - inside, 0.0)
        parts = np.column_stack([squares, rest])
        parts /= np.maximum(inside + rest, 1.0)[:, None]
        yield {"parts": parts}
