"""Common base of the private linear regressors."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags

from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records
from skdp.data.validation import check_no_missing
from skdp.features.additive import AdditiveMap
from skdp.features.auto import AutoMap
from skdp.linear_model._base import PrivateLinearModel, is_auto
from skdp.linear_model._records import AnyMap, LinearRecords
from skdp.linear_model._sample import LinearPlan
from skdp.linear_model._stages.center import CenterRelease
from skdp.linear_model._stages.mean_shift import MeanShift, shift_kind
from skdp.linear_model._stages.staged import StagedPlan, rest_of
from skdp.linear_model._stages.target_search import TargetSearch
from skdp.linear_model._target_scale import TargetRange, TargetScale, encoded
from skdp.solvers import Solution
from skdp.support.callers import caller_outside
from skdp.support.types import MatrixLike, VectorLike

FactsT = TypeVar("FactsT")
_LARGEST_BOUND = 1e50
_WITHOUT_NOISE = 1e9  # μ of a search at epsilon=inf: its counts are off by 1e-8
_TOO_WIDE = (
    "Most targets have one value, and noise hides how far the others are from it. If they fill "
    "less than a tenth of target_bounds, pass narrower bounds: the noise of the fit grows "
    "with their width."
)


_EVERYTHING = TargetRange(-math.inf, math.inf)


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel[TargetRange]):
    """A linear regressor, learned privately.

    Its task is the range of the targets, on the scale of `target_transform`.
    """

    target_transform: str | float | None = None
    keeps_low: ClassVar[bool] = False
    """Whether a narrower range of the targets begins at the low bound."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self._is_reference:
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
        """Return the targets on their scale, and their public range; all without privacy."""
        task = _EVERYTHING if self._is_reference else self._target_range()
        records = records.mapped(partial(_scaled, self._target_scale()))
        records.check(_run_checks)
        return records, task

    def _plan_without_privacy(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> NonPrivatePlan | LinearPlan:
        plan = super()._plan_without_privacy(parameters, records)
        search = self._search(parameters, records)
        if search is None or isinstance(plan, NonPrivatePlan):
            return plan
        return StagedPlan(search, plan)

    def _plan_fit(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> LinearPlan:
        """Return the plan of a fit, with a search for the range of the targets first if that can
        help."""
        search = self._search(parameters, records)
        if search is None:
            return super()._plan_fit(parameters, records)
        return StagedPlan(search, super()._plan_fit(rest_of(parameters, search.mu), records))

    def _plan_center(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> CenterRelease | None:
        """Curves of columns that hardly vary become too rough: R² fell by up to .09."""
        feature_map = records.facts.feature_map
        has_curves = isinstance(feature_map, AdditiveMap) and feature_map.linear_share < 1.0
        if is_auto(self.center) and has_curves:
            return None
        return super()._plan_center(parameters, records)

    def _last_release(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> MeanShift | None:
        kind, facts = shift_kind(self._loss_of(records.facts.task)), records.facts
        is_gaussian = facts.solver.is_gaussian and parameters.delta > 0.0
        if kind is None or self.standard_errors or not (self.fit_intercept and is_gaussian):
            return None
        return kind.plan(parameters, records)

    def _search(
        self, parameters: ReleaseParameters, records: LinearRecords[TargetRange]
    ) -> TargetSearch | None:
        facts, relation = records.facts, parameters.neighboring
        if not parameters.is_private and not self.standard_errors:
            return TargetSearch(_WITHOUT_NOISE, records.n_records, relation, self.keeps_low)
        if self.standard_errors:
            return None  # targets beyond a narrower range would be clipped
        if isinstance(facts.feature_map, AutoMap):
            return None  # the fit to the features that a count decides has a search of its own
        if not (facts.solver.is_gaussian and parameters.delta > 0.0):
            return None  # the costs would not add up to what was asked
        mu = gdp_mu(parameters.epsilon, parameters.delta)
        return TargetSearch.plan(mu, facts.n_known, relation, self.keeps_low)

    def _solve(
        self, plan: LinearPlan, records: LinearRecords[TargetRange], rng: np.random.Generator
    ) -> Solution:
        return super()._solve(plan, records.mapped(partial(encoded, records.facts.task)), rng)

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        intercept = task.middle + task.half_width * intercept + task.shift
        self._set_coefficients(task.half_width * coef, intercept, task)

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
        self.target_bounds_ = self._ends(task)
        if task.is_doubtful:
            with suppress(UserWarning):  # once paid, nothing raises
                warnings.warn(_TOO_WIDE, UserWarning, stacklevel=caller_outside())

    def _ends(self, task: TargetRange) -> tuple[float, float]:
        """Return the range of predictions. One that was found is shifted as they are."""
        if task.shift == 0.0 or (bounds := self._target_range()).half_width == task.half_width:
            return task.low, task.high
        return max(task.low + task.shift, bounds.low), min(task.high + task.shift, bounds.high)

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

    def _plain(self) -> list[BaseEstimator]:
        from skdp.linear_model._plain.steps import plain_regressor

        sorts = type(self).predict is not PrivateLinearRegressor.predict and np.ndim(self.coef_) > 1
        is_linear = type(self)._predicted is PrivateLinearRegressor._predicted
        if sorts or not is_linear or self._target_scale() != TargetScale(None):
            raise ValueError(
                f"{type(self).__name__} transforms its predictions, which a linear model of "
                "scikit-learn does not."
            )
        return plain_regressor(*self.target_bounds_, n_scores=np.size(self.intercept_))

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


def _scaled(scale: TargetScale, records: Records[FactsT]) -> Records[FactsT]:
    return replace(records, y=scale.scaled(_numbers(records.y)))


def _numbers(y: np.ndarray) -> np.ndarray:
    """Return checked targets as numbers."""
    check_no_missing("y", y)
    try:
        y = y.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        # NumPy's message quotes a value.
        raise ValueError("y must hold numbers. Use a classifier for labels.") from None
    if not np.isfinite(y).all():  # scikit-learn does not check strings, for example
        raise ValueError("y must hold finite numbers.")
    return y


def _run_checks(records: Records[AnyMap]) -> None:
    """Check nothing more: `_scaled` checks the targets when records are made."""
