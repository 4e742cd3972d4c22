"""Transformers of rows within bounds: center, radius and principal directions of the rows.

Each answer is a sum over rows of integers times a power of two. Such sums are exact in double
precision, in any order and grouping, so no row changes what another row adds. The rows of a person
have total weight at most 1 and add a point in the convex hull of 0 and of what one row may add.
So all sensitivities hold for records. Proofs: *Principal components and k-means* in the
documentation.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleasedT, ReleaseParameters
from skdp.data.column_facts import ColumnBounds, column_wise
from skdp.data.exact_sums import STEP_BITS, counted, counts_from_steps, exact_sums
from skdp.data.records import Records, check_numeric
from skdp.data.validation import bounds_of_columns, model_columns, refuse_missing, validated_numbers
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.support.types import Bounds, MatrixLike, VectorLike
from skdp.workloads.plan import ROUNDED_ONCE, GaussianPlan, GaussianStep, plan_steps

_MOST_COLUMNS = 4096  # exact noise for a matrix of that size takes half a minute
_FLOATS = [np.float64, np.float32]


class BoundedRowsTransformer(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PrivateEstimator[Records[ColumnBounds], GaussianPlan | NonPrivatePlan, ReleasedT],
):
    """A transformer that learns from rows within bounds, by several Gaussian releases."""

    bounds: Bounds | None
    n_features_in_: int
    _filling: np.ndarray | None  # of missing values; None without privacy

    def fit(self, X: MatrixLike, y: None = None, groups: VectorLike | None = None) -> Self:
        """Learn from the rows privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside `bounds` are clipped. Missing values count as the middle of
            the bounds. Without privacy nothing is clipped, and missing values raise ValueError.
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
        ValueError, BudgetExceededError, BudgetClosedError
            If an argument is wrong, or the budget does not admit the fit; then nothing is read.
        """
        fitted: Self = self._fit_privately(X, groups=groups)
        return fitted

    def _is_gaussian(self) -> bool:
        return True

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is wrong by itself."""

    def _check_data(
        self, parameters: ReleaseParameters, X: MatrixLike, *, groups: VectorLike | None = None
    ) -> Records[ColumnBounds]:
        self._check_parameters()
        self._filling = None
        if not parameters.is_private:
            floats = validated_numbers(self, X, reset=True, dtype=_FLOATS)
            refuse_missing(floats, model_columns(self)[1])
            return Records.of_rows(floats, groups=groups)
        records = Records.of(self, X, groups=groups)
        records.check(check_numeric)
        bounds = self._checked_bounds()
        self._filling = bounds.middle
        return records.with_facts(bounds)

    def _checked_bounds(self) -> ColumnBounds:
        if self._n_columns > _MOST_COLUMNS:
            raise ValueError(
                f"{type(self).__name__} takes at most {_MOST_COLUMNS} columns, got "
                f"{self._n_columns}."
            )
        return bounds_of_columns(self)

    @property
    def _n_columns(self) -> int:
        """The number of columns of the rows, as a schema encodes them."""
        return model_columns(self)[0]

    def _plan(
        self, parameters: ReleaseParameters, records: Records[ColumnBounds]
    ) -> GaussianPlan | NonPrivatePlan:
        if not parameters.is_private:
            return NonPrivatePlan()
        steps, name = self._steps(parameters.neighboring), type(self).__name__
        return plan_steps(name, steps, parameters.epsilon, parameters.delta)

    @abstractmethod
    def _steps(self, neighboring: Neighboring) -> list[GaussianStep]:
        """Return the steps of a private fit."""

    def _read(
        self,
        plan: GaussianPlan | NonPrivatePlan,
        records: Records[ColumnBounds],
        rng: np.random.Generator,
    ) -> ReleasedT:
        if isinstance(plan, NonPrivatePlan):
            return self._exact(records)
        return self._noisy(plan, records, rng)

    @abstractmethod
    def _exact(self, records: Records[Any]) -> ReleasedT:
        """Fit without privacy."""

    def _publish(
        self,
        plan: GaussianPlan | NonPrivatePlan,
        records: Records[ColumnBounds],
        released: ReleasedT,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        self.privacy_ = guarantee
        if not isinstance(released, BaseEstimator):
            self._keep(records, released)
            return self
        for name, value in vars(released).items():  # what scikit-learn's has learned
            if name.endswith("_") and not name.startswith("_") and name != "n_features_in_":
                setattr(self, name, value)
        return self

    @abstractmethod
    def _keep(self, records: Records[ColumnBounds], released: Any) -> None:
        """Set the attributes that follow from released numbers."""

    @abstractmethod
    def _noisy(
        self, plan: GaussianPlan, records: Records[ColumnBounds], rng: np.random.Generator
    ) -> ReleasedT:
        """Fit by the steps of the plan."""

    def _filled(self, X: MatrixLike) -> np.ndarray:
        """Return rows to transform as floats, with missing values replaced as in `fit`."""
        check_is_fitted(self, "privacy_")
        X = validated_numbers(self, X, reset=False, dtype=_FLOATS)
        missing = np.isnan(X)
        if self._filling is not None and missing.any():  # else X need not be copied
            X = np.where(missing, self._filling.astype(X.dtype), X)
        refuse_missing(X, model_columns(self)[1])
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = bool(np.isfinite(self.epsilon))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_BITS = 16  # of a unit vector; products of two, 2^18 of them added up, stay below 2^53
_FINE_BITS = 24  # of unit vectors, if products are not added up
_N_RADII = 32
_RATIO = 2.0**0.25  # of a radius to the next
_TINY = 1e-140  # a shorter row counts as the center: the square of its length would lose digits
_LEAST_COUNT = 1.0


@dataclass(frozen=True, eq=False)
class Center:
    """*Released*: the mean of the rows, within their bounds, and their approximate number.

    `n_rows` is exact if it is public.
    """

    mean: np.ndarray
    n_rows: float


@dataclass(frozen=True, eq=False)
class Directions:
    """*Released*: orthonormal columns by falling weight.

    `weights` are eigenvalues of the sum of yyᵀ over rows y of length at most 1. `edge` is the
    largest eigenvalue of the noise alone, for many columns.
    """

    vectors: np.ndarray
    weights: np.ndarray
    edge: float


def distance_of(neighboring: Neighboring) -> float:
    """Return the l2 sensitivity of sums to which each row adds non-negative parts of 1."""
    # A row adds a vector of l2 norm at most 1. Two such vectors have a non-negative product: √2.
    return math.sqrt(neighboring.n_changed) * ROUNDED_ONCE


def ask_center(n_columns: int, neighboring: Neighboring, share: float) -> GaussianStep:
    """Return the step of `release_center`: sums, and the number of rows if it is private."""
    if neighboring.count_is_public:
        return GaussianStep("center", n_columns, 2.0 * ROUNDED_ONCE, share)
    distance = math.hypot(1.0, _count_unit(n_columns))
    return GaussianStep("center", n_columns + 1, distance * ROUNDED_ONCE, share)


def ask_radius(neighboring: Neighboring, share: float) -> GaussianStep:
    """Return the step of the counts of rows in shells around the center."""
    return GaussianStep("radius", _N_RADII, distance_of(neighboring), share)


def ask_directions(n_columns: int, neighboring: Neighboring, share: float) -> list[GaussianStep]:
    """Return the step of Σ yyᵀ, for rows y of length at most 1.

    |yyᵀ|_F = |y|², and |yyᵀ − zzᵀ|²_F = |y|⁴ + |z|⁴ − 2(y·z)² ≤ 2. The direction of a single
    column is public, so it has no step.
    """
    if n_columns == 1:
        return []
    size = n_columns * (n_columns + 1) // 2
    return [GaussianStep("directions", size, distance_of(neighboring), share)]


def _count_unit(n_columns: int) -> float:
    """Return the count of a row, released with numbers of length at most 1."""
    return n_columns**-0.25


def release_center(
    plan: GaussianPlan, records: Records[ColumnBounds], rng: np.random.Generator
) -> Center:
    """Return the noisy mean.

    A row u in [−1, 1]^d adds u_j·√(h_j/Σh), where h are half the widths of the bounds. These
    weights minimize the noise in the mean, in units of X.
    """
    bounds, n = records.facts, records.n_records
    weights = np.sqrt(bounds.half / bounds.half.sum())
    sums = exact_sums({"u": weights.size}, records, _units)["u"] * weights
    if records.count_is_public:
        count = float(n)
        released = plan.release("center", sums, rng)
    else:
        unit = _count_unit(weights.size)
        released = plan.release("center", np.append(sums, unit * n), rng)
        count, released = max(released[-1] / unit, _LEAST_COUNT), released[:-1]
    u = np.clip(released / (count * weights), -1.0, 1.0)
    return Center(bounds.middle + bounds.half * u, count)


def _units(records: Records[ColumnBounds]) -> Iterator[dict[str, np.ndarray]]:
    bounds = records.facts
    for rows, _, _ in records.chunks():
        yield {"u": bounds.unit(rows)}


def release_spread(
    plan: GaussianPlan,
    records: Records[ColumnBounds],
    center: Center,
    rng: np.random.Generator,
    *,
    quantile: float | None = None,
    data_norm: float | None = None,
) -> tuple[float, Directions]:
    """Return a radius around the center, and directions, in one pass over the rows.

    With `data_norm` rows are clipped to this radius. Otherwise the radius contains about a
    `quantile` of the rows, and rows are scaled to length 1.
    """
    sums = records.total(partial(_spread_sums, center, data_norm))
    radius = data_norm
    if radius is None:
        assert quantile is not None
        noisy = plan.release("radius", sums["shells"], rng)
        # The outermost shell such that it and the shells beyond have more than `most` rows.
        # Counting from outside adds up the noise of few shells, and a radius that is too large
        # costs less than one that is too small. Without such a shell it is the last one.
        many = np.flatnonzero(np.cumsum(noisy[::-1]) > ((1.0 - quantile) * center.n_rows))
        shell = noisy.size - 1 - int(many[0]) if many.size else noisy.size - 1
        radius = float(_radii(records.facts)[shell])
    if center.mean.size == 1:
        return radius, Directions(np.ones((1, 1)), np.array([center.n_rows]), 0.0)
    return radius, _directions(plan, np.ldexp(sums["moments"].astype(float), -2 * _BITS), rng)


def _spread_sums(
    center: Center, data_norm: float | None, records: Records[ColumnBounds]
) -> dict[str, np.ndarray]:
    """Return the number of rows in each shell, and Σ yyᵀ in steps of 2^−2·_BITS."""
    d, radii = records.facts.half.size, _radii(records.facts)
    counts, total = np.zeros(_N_RADII, np.int64), np.zeros((d, d), np.int64)
    for rows, lengths, weights in _from_center(records, center):
        shells = np.minimum(np.searchsorted(radii, lengths), _N_RADII - 1)
        counts += counted(shells, _N_RADII, weights)
        factors = _factors(lengths, data_norm)
        if weights is not None:
            factors *= np.sqrt(np.ldexp(weights, -STEP_BITS))
        y = whole(rows, _BITS, factors[:, None])
        total += (y.T @ y).astype(np.int64)
    return {"shells": counts_from_steps(counts, records.steps), "moments": total}


def weighed_rows(z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return integer rows times their weights, without fractions."""
    if weights is None:
        return z
    return np.asarray(np.trunc(z * np.ldexp(weights, -STEP_BITS)[:, None]))


def _from_center(
    records: Records[ColumnBounds], center: Center, width: int = 1
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield x − m, its length, and its weight if that is not 1, for some rows at a time.

    The order of a row's sum does not depend on its block: rows are C-contiguous, and `einsum`
    splits only rows of more than 8192 numbers.
    """
    for chunk, _, weights in records.chunks(width):
        rows = records.facts.clip(chunk)
        column_wise(np.subtract, rows, center.mean, rows)
        yield rows, np.sqrt(np.einsum("ij,ij->i", rows, rows)), weights


def farthest(bounds: ColumnBounds) -> float:
    """Return the largest distance of two rows."""
    return 2.0 * float(np.linalg.norm(bounds.half))


def _radii(bounds: ColumnBounds) -> np.ndarray:
    """Return growing public radii, up to the largest distance from the middle: |h|."""
    return 0.5 * farthest(bounds) * _RATIO ** np.arange(1.0 - _N_RADII, 1.0)


def _factors(lengths: np.ndarray, data_norm: float | None) -> np.ndarray:
    """Return factors that scale rows to length 1, or clip them to `data_norm`, in its units."""
    if data_norm is not None:
        return shortened(lengths, data_norm) / data_norm
    return np.where(lengths > _TINY, 1.0 / np.maximum(lengths, _TINY), 0.0)


def shortened(lengths: np.ndarray, largest: float) -> np.ndarray:
    """Return factors with which no row is longer than `largest`."""
    return largest / np.maximum(lengths, largest)


def projected(
    records: Records[ColumnBounds],
    center: Center,
    vectors: np.ndarray,
    largest: float,
    width: int = 1,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield z·V, |z|², and weights if they are not 1, for some rows at a time.

    z is x − m clipped to length `largest`, in units of it.
    """
    V = whole(vectors.copy(), _FINE_BITS)
    for rows, lengths, weights in _from_center(records, center, width):
        z = whole(rows, _FINE_BITS, (shortened(lengths, largest) / largest)[:, None])
        along = z @ V
        along *= 4.0**-_FINE_BITS
        yield along, np.einsum("ij,ij->i", z, z) * 4.0**-_FINE_BITS, weights


def whole(values: np.ndarray, bits: int, factors: np.ndarray | float = 1.0) -> np.ndarray:
    """Return values times factors in units of 2^−bits, toward 0 and in place: none gets larger."""
    values *= factors * 2.0**bits
    return np.trunc(values, out=values)


def _directions(plan: GaussianPlan, moments: np.ndarray, rng: np.random.Generator) -> Directions:
    """Return eigenvectors of the noisy matrix.

    It is released in an orthonormal basis of the symmetric matrices: each number off the diagonal
    once, times √2.
    """
    d = len(moments)
    upper = np.triu_indices(d)
    lengths = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    noisy = np.zeros((d, d))
    noisy[upper] = plan.release("directions", moments[upper] * lengths, rng) / lengths
    values, vectors = np.linalg.eigh(noisy, UPLO="U")
    edge = plan.scale("directions") * math.sqrt(2.0 * d)
    return Directions(vectors[:, ::-1], values[::-1], edge)
