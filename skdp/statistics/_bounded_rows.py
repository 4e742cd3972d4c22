"""Transformers of rows within public bounds, such as principal components."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleasedT, ReleaseParameters
from skdp.data.column_facts import ColumnBounds
from skdp.data.records import Records, check_numeric
from skdp.data.validation import (
    bounds_of_columns,
    model_columns,
    refuse_missing,
    validated_numbers,
)
from skdp.privacy import Neighboring
from skdp.support.types import Bounds, MatrixLike, VectorLike
from skdp.workloads.gaussian_steps import GaussianPlan, GaussianStep, plan_steps

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
