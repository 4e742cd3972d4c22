"""Base of the scalers that release what they learn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters, ReleasePlan
from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import bounds_of_columns, encoding_for, validated_numbers
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import BoundedStatistic, Facts, bounded
from skdp.support.types import Bounds, MatrixLike, VectorLike


class PrivateScaler(
    OneToOneFeatureMixin, TransformerMixin, PrivateEstimator[Records[Facts], ReleasePlan, Any]
):
    """A scaler by a private statistic of each column, after clipping to public bounds."""

    takes_infinite_epsilon = False

    bounds: Bounds | None

    def fit(
        self,
        X: MatrixLike,
        y: None = None,
        sample_weight: None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn the scale of each column privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside `bounds` are clipped. Missing values count as the middle of
            the bounds.
        y : None
            Ignored.
        sample_weight : None
            Weights raise ValueError.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self : object
            The fitted scaler.

        Raises
        ------
        ValueError, BudgetExceededError, BudgetClosedError
            If an argument is wrong, or the budget does not admit the fit; then nothing is read.
        """
        fitted: Self = self._fit_privately(X, sample_weight=sample_weight, groups=groups)
        return fitted

    @lazy_on_blocks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the rows, clipped as in `fit` and scaled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Values outside `bounds` are clipped. Missing values count as the middle of the bounds.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            As private as X: each row depends on one row of X and on released numbers.
        """
        check_is_fitted(self, "privacy_")
        X = validated_numbers(self, X, reset=False)
        return self._scaled(self._bounds().clip(X))

    def get_feature_names_out(self, input_features: VectorLike = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default None
            *Public.* Names of the features. ``None``: the names in `fit`, or x0, x1, and so on.

        Returns
        -------
        ndarray of str
            The names of the features, without those that a schema leaves out.
        """
        names: np.ndarray = super().get_feature_names_out(input_features)
        encoding = encoding_for(self)
        return names if encoding is None else np.array(encoding.encoded_names, dtype=object)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        *,
        sample_weight: None,
        groups: VectorLike | None = None,
    ) -> Records[Facts]:
        if sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} does not take sample_weight: weights are private, and no "
                "public bound limits them."
            )
        records = Records.of(self, X, groups=groups)
        return bounded(records, self._bounds())

    def _plan(self, parameters: ReleaseParameters, records: Records[Facts]) -> ReleasePlan:
        plan: ReleasePlan = self._statistic()._plan(parameters, records)
        return plan

    def _read(self, plan: ReleasePlan, records: Records[Facts], rng: np.random.Generator) -> Any:
        return self._statistic()._read(plan, records, rng)

    def _publish(
        self, plan: ReleasePlan, records: Records[Facts], released: Any, guarantee: PrivacyGuarantee
    ) -> Self:
        self._keep(self._statistic()._publish(plan, records, released, guarantee))
        self.privacy_ = guarantee
        return self

    def _is_gaussian(self) -> bool:
        return self._statistic()._is_gaussian()

    def _bounds(self) -> ColumnBounds:
        return bounds_of_columns(self)

    @abstractmethod
    def _statistic(self) -> BoundedStatistic[Any, Any]: ...

    @abstractmethod
    def _keep(self, found: Any) -> None:
        """Set the released attributes from the statistic's result."""

    @abstractmethod
    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows; X may be overwritten."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        return tags
