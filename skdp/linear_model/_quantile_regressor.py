"""Common base of the private quantile regressors."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.linear_model import QuantileRegressor

from skdp._private_fit import ReleaseParameters
from skdp.linear_model._base import is_auto
from skdp.linear_model._records import LinearRecords
from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.linear_model._stages.target_search import TargetSearch
from skdp.linear_model._target_scale import TargetRange
from skdp.losses import QuantileLoss
from skdp.support.types import MatrixLike

_SEARCHED = (0.1, 0.9)  # levels whose quantiles are well inside of the range; no guarantee


class PrivateQuantileRegressor(PrivateLinearRegressor):
    """A linear model of conditional quantiles at public levels."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_reference and not is_auto(self.C):
            raise ValueError(
                f"C must be 'auto' with epsilon=inf, got {self.C!r}. scikit-learn's "
                "QuantileRegressor has no ridge penalty."
            )

    def _search(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> TargetSearch | None:
        """Search only if no quantile is extreme: it may be outside of a range that is found."""
        low, high = _SEARCHED
        if not all(low <= level <= high for level in self._levels()):
            return None
        return super()._search(parameters, records)

    @abstractmethod
    def _levels(self) -> tuple[float, ...]:
        """Check and return the levels."""

    def _loss_of(self, task: TargetRange) -> QuantileLoss:
        return QuantileLoss(self._levels(), self.smoothing)

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        super()._publish_coefficients(coef, intercept + self._loss_of(task).start, task)

    def _reference(self, n_samples: int) -> _QuantileRegressors:
        return _QuantileRegressors(self._levels(), self.fit_intercept)


class _QuantileRegressors:
    """scikit-learn's regressor for each of several levels."""

    def __init__(self, levels: tuple[float, ...], fit_intercept: bool) -> None:
        self._models = [
            QuantileRegressor(quantile=level, alpha=0.0, fit_intercept=fit_intercept)
            for level in levels
        ]

    def fit(
        self, X: MatrixLike, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> _QuantileRegressors:
        models = [model.fit(X, y, sample_weight) for model in self._models]
        self.coef_ = np.array([model.coef_ for model in models])
        self.intercept_ = np.array([model.intercept_ for model in models])
        self.n_iter_ = [model.n_iter_ for model in models]
        return self
