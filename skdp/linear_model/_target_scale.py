"""Regressors of a public function of the targets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skdp.data.lazy import lazy_on_blocks
from skdp.linear_model._regressor import PrivateLinearRegressor, TargetRange
from skdp.support.validation import check_choice, check_size

__all__ = ["TransformedTargets"]


class TransformedTargets(PrivateLinearRegressor):
    """A regressor that learns targets on another scale, and predicts them on their own.

    Among the bases of a class it stands before the regressor that it changes.
    """

    target_transform: Any

    def _target_range(self) -> TargetRange:
        bounds = super()._target_range()
        low, high = self._scaled(np.array([bounds.low, bounds.high])).tolist()
        return TargetRange(low, high)

    def _encode(self, y: np.ndarray, known: Any) -> tuple[TargetRange, np.ndarray]:
        if self.target_transform is None:
            return super()._encode(y, known)
        super()._encode(y, known)  # checks it
        return super()._encode(self._scaled(y.astype(np.float64)), known)

    def _scaled(self, y: np.ndarray) -> np.ndarray:
        """Return targets on the scale on which they are learnt."""
        unit = self._target_unit()
        if unit is None:
            return y
        size = np.sqrt(np.abs(y)) if math.isinf(unit) else np.log1p(np.abs(y) / unit)
        return np.asarray(np.copysign(size, y))

    def _target_unit(self) -> float | None:
        """Return the unit of a logarithmic scale, inf for a root, None for the targets' own."""
        kind = self.target_transform
        if kind is None:
            return None
        if isinstance(kind, str):
            check_choice("target_transform", kind, ("log", "sqrt"))
            return 1.0 if kind == "log" else math.inf
        return check_size("the unit of target_transform", kind)

    @lazy_on_blocks
    def predict(self, X: Any) -> np.ndarray:
        """Return predictions for rows that are clipped as in `fit`, clipped to `target_bounds`.

        Parameters
        ----------
        X : array-like, frame or dask collection of shape (n_samples, n_features)
            *Private.*

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, in the units of the targets. They are as private as X.
        """
        scores, unit = super().predict(X), self._target_unit()
        if unit is None:
            return scores
        size = scores**2 if math.isinf(unit) else unit * np.expm1(np.abs(scores))
        return np.copysign(size, scores)
