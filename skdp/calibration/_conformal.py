"""The transaction of split conformal prediction."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import Tags, indexable
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.budget.unbudgeted import Unbudgeted
from skdp.calibration._conformity import AbsoluteResidual, LabelScore
from skdp.calibration._part import Part
from skdp.calibration._threshold import Thresholds, counts_of_scores, plan_thresholds
from skdp.data.column import typed
from skdp.data.columns import refuse_lazy
from skdp.data.records import Records
from skdp.data.validation import check_lengths, one_column, places_of, refuse_collections
from skdp.exceptions import FewRowsWarning
from skdp.metrics._pairs import numbers_of
from skdp.metrics._predictions import predictions_of
from skdp.model_selection._candidates import check_learner
from skdp.model_selection._held_out import assigned, learn, learned, promise
from skdp.model_selection._row_score import steps_of
from skdp.privacy import ComposedEvent, Event, PrivacyGuarantee, Unit
from skdp.support.callers import caller_outside
from skdp.support.digits import at_least
from skdp.support.public_words import public_words
from skdp.support.random import child_generator
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real

_REGRESSOR = ("regressor", is_regressor)


@dataclass(frozen=True, eq=False)
class ConformalFacts:
    """*Public* facts: the score, the labels, the number of groups, and the model to be fitted.

    `model` is None if the estimator is fitted; X of the records has its predictions then.
    """

    score: AbsoluteResidual | LabelScore
    classes: np.ndarray | None = None
    n_groups: int = 1
    model: BaseEstimator | None = None

    @property
    def none(self) -> np.ndarray:
        """The predictions for no rows."""
        return np.empty(0 if self.classes is None else (0, self.classes.size))

    def truth(self, y: np.ndarray) -> np.ndarray:
        """Return targets as floats, or labels as 0..K−1."""
        return numbers_of("y", y) if self.classes is None else places_of(y, self.classes)


@dataclass(frozen=True)
class ConformalPlan:
    """Thresholds from some records, and a fit to the others unless `part` is None.

    Each record is in one of the two parts. The parts are drawn independently of the values, and
    what is released of either has the guarantee of `event`, so both together have it, by joint
    convexity: see *Conformal prediction* in the documentation.
    """

    event: Event
    thresholds: Thresholds
    part: Part | None
    exact: bool = False  # conformity scores depend on where rows stand in the data

    @property
    def theorem(self) -> str:
        if self.part is None:
            return f"{self.thresholds.theorem}: private quantiles of conformity scores"
        return "a fit and private quantiles of conformity scores, on disjoint rows"


class _Released(NamedTuple):
    fitted: BaseEstimator
    thresholds: np.ndarray


class PrivateConformal(
    MetaEstimatorMixin, PrivateEstimator[Records[ConformalFacts], ConformalPlan, _Released]
):
    """Split conformal prediction with private thresholds; a subclass has the scores."""

    takes_infinite_epsilon = False
    is_model = True

    estimator: BaseEstimator
    confidence_level: float | Sequence[float]
    conformalize_size: float
    prefit: bool

    def fit(self, X: MatrixLike, y: VectorLike, groups: VectorLike | None = None) -> Self:
        """Fit the estimator to some records, and find thresholds for predictions from the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the estimator takes.
        y : array-like of shape (n_samples,)
            *Private.* Targets that the estimator takes.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record and stay
            together. ``None``: each row is a record.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or a shape is wrong, or the estimator would raise an error. Nothing is
            spent.
        PrivacyLeakError
            If a part of the estimator learns without privacy. Nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the release. Nothing is learned.
        """
        if self.prefit:
            raise ValueError(
                "With prefit=True the estimator is fitted already. Call conformalize with other "
                "rows, or pass prefit=False."
            )
        return self._fit_privately(X, y, groups=groups)

    def conformalize(self, X: MatrixLike, y: VectorLike, groups: VectorLike | None = None) -> Self:
        """Find thresholds for the predictions of an estimator that is fitted; `prefit` is True.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the estimator was not fitted to.
        y : array-like of shape (n_samples,)
            *Private.* Their targets.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record with equal row
            weights. ``None``: each row is a record.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or a shape is wrong, or the estimator fails on the rows. Nothing is
            spent.
        NotFittedError
            If the estimator is not fitted. Nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the release. Nothing is learned.
        """
        if not self.prefit:
            raise ValueError(
                "conformalize needs prefit=True and a fitted estimator. Call fit instead, which "
                "also finds the thresholds."
            )
        return self._fit_privately(X, y, groups=groups)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict with the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions of `estimator_`. They are as private as X.
        """
        check_is_fitted(self, "quantiles_")
        return np.asarray(self.estimator_.predict(X))

    @abstractmethod
    def _facts(self, estimator: BaseEstimator, y: np.ndarray) -> ConformalFacts:
        """Return the public facts, after checks of the targets and of the public parameters."""

    @abstractmethod
    def _predictions(self, fitted: BaseEstimator, X: MatrixLike) -> np.ndarray:
        """Return the predictions from which scores are computed."""

    def _levels(self) -> tuple[float, ...]:
        levels = np.atleast_1d(np.asarray(self.confidence_level, dtype=object))
        if levels.ndim != 1 or not levels.size:
            raise ValueError(
                f"confidence_level must be a number or a list, got {self.confidence_level!r}."
            )
        return tuple(check_real("confidence_level", one, low=0.0, high=1.0) for one in levels)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        groups: VectorLike | None = None,
    ) -> Records[ConformalFacts]:
        self._levels()
        share = check_real("conformalize_size", self.conformalize_size, low=0.0, high=1.0)
        refuse_collections(self, X, y)
        refuse_lazy(X=X)
        X, y = indexable(typed(X))[0], one_column(y)
        check_lengths(X, y)
        if self.prefit:
            check_is_fitted(self.estimator)
            facts = self._facts(self.estimator, y)
            X = predictions_of(partial(self._predictions, self.estimator), X, facts.none)
        else:
            self._check_learner()
            facts = self._facts(self.estimator, y)
        public = parameters.neighboring.count_is_public
        records = Records.of_rows(X, y, groups, count_is_public=public).with_facts(facts)
        n = records.n_records
        if public and n == 0:
            raise ValueError("X has no rows to conformalize with.")
        if not self.prefit and public and _n_held_out(share, n) in (0, n):
            raise ValueError(f"conformalize_size={share:g} leaves no row for one of two parts.")
        return records

    def _check_learner(self) -> None:
        name = type(self).__name__
        check_learner(self.estimator, name)
        kind, is_kind = ("classifier", is_classifier) if is_classifier(self) else _REGRESSOR
        if not is_kind(self.estimator):
            raise ValueError(f"estimator must be a {kind}, got {self.estimator!r}.")
        if getattr(steps_of(self.estimator)[-1], "budget", None) is not None:
            raise ValueError(f"estimator has its own budget. Pass budget= to {name} instead.")

    def _plan(
        self, parameters: ReleaseParameters, records: Records[ConformalFacts]
    ) -> ConformalPlan:
        facts, in_parts = records.facts, records.persons is not None
        thresholds = plan_thresholds(self._levels(), facts.n_groups, parameters, in_parts)
        if not parameters.is_rehearsal:
            self._warn_of_few(parameters, records, thresholds)
        if facts.model is None:
            return ConformalPlan(thresholds.event, thresholds, None)
        with public_words():  # errors of steps that are not skdp's may show values
            part = Part.of(parameters)
            self._rehearse(part, records)
        return ConformalPlan(part.event, thresholds, part)

    def _warn_of_few(
        self,
        parameters: ReleaseParameters,
        records: Records[ConformalFacts],
        thresholds: Thresholds,
    ) -> None:
        """Warn of a public number of records with which predictions say little."""
        if not records.count_is_public:
            return
        n = records.n_records
        if records.facts.model is not None:
            parameters.warn_of_few(n - _n_held_out(self.conformalize_size, n))
            n = _n_held_out(self.conformalize_size, n)
        fewest = records.facts.n_groups * thresholds.fewest
        if n < fewest:
            warnings.warn(
                f"{n} {parameters.unit}s are few to conformalize predictions at "
                f"epsilon={parameters.epsilon:g} and confidence_level="
                f"{max(thresholds.levels):g}: intervals or sets will often contain everything. "
                f"About {at_least(fewest, 2):.0f} are needed.",
                FewRowsWarning,
                stacklevel=caller_outside(),
            )

    def _rehearse(self, part: Part, records: Records[ConformalFacts]) -> None:
        """Raise if the fit would raise, or cost more than its part of the records may."""
        promised = self._rehearsed(part, records)  # checks all rows: any may be fitted to
        if records.count_is_public:  # the plan of a fit depends on the count
            n = records.n_records
            fitted = np.arange(_n_held_out(self.conformalize_size, n), n)
            promised = self._rehearsed(part, records.chosen(fitted))
        unit = Unit.RECORD if records.persons is None else Unit.PERSON
        if any(guarantee.unit is not unit for guarantee in promised):
            raise ValueError(f"The fit of estimator does not protect a {unit}.")
        event = ComposedEvent(tuple(guarantee.event for guarantee in promised))
        if not part.covers(event):
            raise ValueError(
                "The fit of estimator must be Gaussian DP, or pure DP with delta=0. Use the "
                "default solver without subsample."
            )

    def _rehearsed(self, part: Part, records: Records[ConformalFacts]) -> list[PrivacyGuarantee]:
        budget = Unbudgeted()
        model = part.model(records.facts.model, None)
        steps_of(model)[-1].set_params(budget=budget)
        learn(records, model)
        return budget.promised

    def _read(
        self, plan: ConformalPlan, records: Records[ConformalFacts], rng: np.random.Generator
    ) -> _Released:
        facts = records.facts
        if plan.part is None:
            fitted, held_out, predicted = self.estimator, records, records.X
        else:
            held_out, rows = assigned(records, self.conformalize_size, plan.part.neighboring, rng)
            seed = None if self.random_state is None else child_generator(rng)
            fitted = learned(rows, held_out, plan.part.model(facts.model, seed))
            some = held_out.n_rows > 0
            predicted = self._predictions(fitted, held_out.X) if some else facts.none
        truth = facts.truth(held_out.y)
        groups = truth if facts.n_groups > 1 else None
        scores = facts.score.of(predicted, truth)
        counts = counts_of_scores(scores, groups, facts.n_groups, held_out)
        return _Released(fitted, plan.thresholds.choose(counts, rng, held_out.is_weighted))

    def _publish(
        self,
        plan: ConformalPlan,
        records: Records[ConformalFacts],
        released: _Released,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        fitted, thresholds = released
        if plan.part is not None:
            promise(fitted, guarantee)
        self.estimator_, self.privacy_ = fitted, guarantee
        self._publish_thresholds(thresholds, records.facts)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    @abstractmethod
    def _publish_thresholds(self, thresholds: np.ndarray, facts: ConformalFacts) -> None:
        """Set the released attributes from thresholds of shape (n_levels, n_groups)."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _n_held_out(share: float, n_records: int) -> int:
    return math.ceil(share * n_records)
