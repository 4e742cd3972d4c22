"""What scalers that buy their numbers share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._columns import column_bounds
from skdp._validation import check_real

__all__ = ["PrivateScaler"]


class PrivateScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A scaler whose numbers are one private release; values are clipped to public bounds."""

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn the numbers of each column privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Finite values; those outside `bounds` are clipped.
        y : ignored
        **fit_params
            Refused: a `sample_weight` would need a public bound.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, or a value is not finite; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget cannot pay; nothing is learnt and nothing is spent.
        """
        check_real("epsilon", self.epsilon, low=0.0, high=1e9)
        X = validate_data(self, X, dtype=np.float64)
        column_bounds(self.bounds, X.shape[1])
        self._learn(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows, clipped as in `fit` and scaled, of shape (n_samples, n_features)."""
        check_is_fitted(self, "privacy_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._scaled(np.clip(X, *column_bounds(self.bounds, X.shape[1])))

    @abstractmethod
    def _learn(self, X: np.ndarray) -> None:
        """Buy, look, and set the released attributes."""

    @abstractmethod
    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows; X may be overwritten."""

    @property
    def _terms(self) -> dict[str, Any]:
        """What every statistic is told."""
        names = ("epsilon", "delta", "bounds", "neighboring", "budget", "random_state")
        return {name: getattr(self, name) for name in names} | {"label": type(self).__name__}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags
