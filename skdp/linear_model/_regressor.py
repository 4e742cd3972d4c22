"""What the private linear regressors share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags

from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import check_no_missing
from skdp.linear_model._base import PrivateLinearModel
from skdp.linear_model._records import AnyMap
from skdp.linear_model._target_scale import TargetScale
from skdp.support.types import MatrixLike, VectorLike

__all__ = ["PrivateLinearRegressor", "TargetRange"]

FactsT = TypeVar("FactsT")
_LARGEST_BOUND = 1e50


@dataclass(frozen=True)
class TargetRange:
    """The public interval that targets are clipped to; losses see it as [−1, 1]."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The target with code 0."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half_width(self) -> float:
        """Units of the target per unit of the score."""
        return 0.5 * self.high - 0.5 * self.low

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return clipped targets as numbers in [−1, 1]."""
        return np.clip((np.clip(y, self.low, self.high) - self.middle) / self.half_width, -1.0, 1.0)


_EVERYTHING = TargetRange(-math.inf, math.inf)


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel[TargetRange]):
    """A linear regressor, learned privately.

    Its task is the range of the targets, on the scale of `target_transform`.
    """

    target_transform: str | float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not math.isinf(self.epsilon):
            self._target_range()
        self._loss_of(_EVERYTHING)

    def _target_range(self) -> TargetRange:
        try:
            low, high = (float(side) for side in self.target_bounds)
        except (TypeError, ValueError) as error:
            raise ValueError(self._wrong_bounds()) from error
        target_range = TargetRange(low, high)
        if not (max(-low, high) < _LARGEST_BOUND and target_range.half_width > 0.0):
            raise ValueError(self._wrong_bounds())
        ends = self._target_scale().scaled(np.array([low, high]))
        return TargetRange(*ends.tolist())

    def _target_scale(self) -> TargetScale:
        return TargetScale.of(self.target_transform)

    def _wrong_bounds(self) -> str:
        return (
            "target_bounds must be a pair of numbers (low, high) with low < high, both within "
            f"±{_LARGEST_BOUND:g}, got {self.target_bounds!r}. There is no default: pass the "
            "interval of the targets, from public knowledge."
        )

    def _with_targets(
        self, records: Records[AnyMap], known_task: TargetRange | None
    ) -> tuple[Records[AnyMap], TargetRange]:
        """Return the targets on the scale of their public range; without privacy unchanged."""
        task = _EVERYTHING if math.isinf(self.epsilon) else self._target_range()
        records = records.mapped(partial(_encoded, self._target_scale(), task))
        records.check(_run_checks)
        return records, task

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        coef, intercept = task.half_width * coef, task.middle + task.half_width * intercept
        self._set_coefficients(coef, intercept, task)

    def _unit(self, task: TargetRange) -> float:
        return task.half_width

    def _publish_reference(self, reference: BaseEstimator, task: TargetRange) -> None:
        self._set_coefficients(
            np.atleast_2d(reference.coef_), np.atleast_1d(reference.intercept_), task
        )

    def _set_coefficients(self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange) -> None:
        """Set arrays with one row per output, or a vector and a number for a single output."""
        one = len(coef) == 1
        self.coef_ = coef[0] if one else coef
        self.intercept_ = float(intercept[0]) if one else intercept
        self.target_bounds_ = (task.low, task.high)

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict targets, clipped to `target_bounds`, for rows clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several
            Predictions, in the units of the targets. They are as private as X.
        """
        predictions = self._predicted(self._scores(X))
        return predictions.ravel() if np.ndim(self.coef_) == 1 else predictions

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        """Convert scores to targets."""
        return self._target_scale().unscaled(np.clip(scores, *self.target_bounds_))

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Compute R² of the predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.
        y : array-like of shape (n_samples,)
            *Private.* Targets. They are not clipped.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* Weights of the rows. They are not clipped.

        Returns
        -------
        float
            The score, **not private**: it is computed from these rows without noise.
        """
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.epsilon != math.inf  # noise, on tiny data
        return tags


def _encoded(scale: TargetScale, task: TargetRange, records: Records[FactsT]) -> Records[FactsT]:
    y = scale.scaled(_numbers(records.y))
    return replace(records, y=y if math.isinf(task.high) else task.encode(y))


def _numbers(y: np.ndarray) -> np.ndarray:
    """Return checked targets as numbers."""
    check_no_missing("y", y)
    try:
        y = y.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("y must hold numbers.") from None  # NumPy's message quotes one
    if not np.isfinite(y).all():  # scikit-learn does not check strings, for example
        raise ValueError("y must hold finite numbers.")
    return y


def _run_checks(records: Records[AnyMap]) -> None:
    """Check nothing more: `_encoded` checks the targets when records are made."""
