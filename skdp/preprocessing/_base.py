"""What scalers that spend on their numbers share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, PrivateFit, ReleaseParameters, ReleasePlan
from skdp.data.column_facts import ColumnBounds
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import column_names, validated_numbers
from skdp.privacy import PrivacyGuarantee
from skdp.statistics._moments import Bounded, bounded

__all__ = ["PrivateScaler"]


class PrivateScaler(
    OneToOneFeatureMixin, TransformerMixin, PrivateEstimator[Records[Bounded], Any, Any]
):
    """A scaler whose numbers are one private release; values are clipped to public bounds."""

    takes_infinite_epsilon = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn the numbers of each column privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside `bounds` are clipped; a missing value counts as the middle of
            its bounds.
        y : None
            Ignored.
        sample_weight : None
            Refused: a weight is private, and multiplies what a record changes.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self : object
            The fitted scaler.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is read.
        """
        return self._fit_privately(X, sample_weight=sample_weight, groups=groups)

    @lazy_on_blocks
    def transform(self, X: Any) -> np.ndarray:
        """Return the rows, clipped as in `fit` and scaled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Values outside `bounds` are clipped; a missing value counts as the middle of its bounds.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            As private as X: each row depends on one row of X and on what was released.
        """
        check_is_fitted(self, "privacy_")
        X = validated_numbers(self, X, reset=False)
        return self._scaled(self._bounds().clip(X))

    def _check_data(
        self, parameters: ReleaseParameters, X: Any, *, sample_weight: Any, groups: Any = None
    ) -> Records[Bounded]:
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight is refused by {type(self).__name__}: a weight is private, and "
                "multiplies what a record changes."
            )
        records = Records.of(self, X, groups=groups)
        return bounded(records, self._bounds())

    def _plan(self, parameters: ReleaseParameters, records: Records[Bounded]) -> ReleasePlan:
        plan: ReleasePlan = self._statistic(self.bounds)._plan(parameters, records)
        return plan

    def _read(self, plan: Any, records: Records[Bounded], rng: np.random.Generator) -> Any:
        return self._statistic(self.bounds)._read(plan, records, rng)

    def _publish(
        self, plan: Any, records: Records[Bounded], released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        statistic = self._statistic(self.bounds)
        self._keep(statistic._publish(plan, records, released, guarantee))
        self.privacy_ = guarantee
        return self

    def _is_gaussian(self) -> bool:
        return self._statistic(self.bounds)._is_gaussian()

    def _bounds(self) -> ColumnBounds:
        return ColumnBounds.of(self.bounds, self.n_features_in_, column_names(self))

    @abstractmethod
    def _statistic(self, bounds: Any) -> PrivateFit:
        """Return the statistic that is measured, with checked public parameters."""

    @abstractmethod
    def _keep(self, found: Any) -> None:
        """Set the released attributes from the statistic's result."""

    @abstractmethod
    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows; X may be overwritten."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        return tags
