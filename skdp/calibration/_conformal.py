"""The transaction of split conformal prediction, and its conformity scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.calibration._threshold import Thresholds, counts_of_scores, plan_thresholds
from skdp.data.records import Records
from skdp.data.validation import places_of
from skdp.exceptions import FewRowsWarning
from skdp.metrics._evaluation import numbers_of, predictions_of
from skdp.model_selection._held_out import (
    ApproxRun,
    GaussianRun,
    HeldOutFit,
    Run,
    assigned,
    check_learner,
    learned,
    n_held_out,
    priced,
    promise,
    rehearsed,
    steps_of,
    take_attributes,
)
from skdp.privacy import (
    ApproxDPEvent,
    Event,
    GDPEvent,
    Neighboring,
    PrivacyGuarantee,
    PureDPEvent,
)
from skdp.support.display import at_least, caller_outside
from skdp.support.other_libraries import public_words
from skdp.support.random import child_generator
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real

_ROUNDED = 1.0 + 2.0**-40  # of an interval, more than the roundings of a root, a square and a sum


@dataclass(frozen=True)
class AbsoluteResidual:
    """√(|y − ŷ| / width of the *public* bounds), with y and ŷ clipped to the bounds.

    The root makes the grid of thresholds finer for small residuals than for large ones.
    """

    bounds: tuple[float, float]

    @property
    def width(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def of(self, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the scores of rows; that of a prediction that is not a number is 1."""
        low, high = self.bounds
        apart = np.clip(predicted, low, high) - np.clip(truth, low, high)
        return np.nan_to_num(np.sqrt(np.minimum(np.abs(apart) / self.width, 1.0)), nan=1.0)

    def distance(self, threshold: np.ndarray) -> np.ndarray:
        """Return the largest |y − ŷ| of scores up to a threshold."""
        return np.minimum(threshold**2 * self.width * _ROUNDED, self.width)


@dataclass(frozen=True)
class LabelScore:
    """A score of each class of a row, of shape (n_rows, n_classes), from all probabilities."""

    of_classes: Callable[[np.ndarray], np.ndarray]

    def of_all(self, shares: np.ndarray) -> np.ndarray:
        """Return scores of shape (n_rows, n_classes) in [0, 1]; those of no numbers are 1."""
        return np.nan_to_num(np.clip(self.of_classes(shares), 0.0, 1.0), nan=1.0)

    def of(self, shares: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the scores of rows with true labels 0..K−1."""
        return self.of_all(shares)[np.arange(len(truth)), truth]


def _least_ambiguous(shares: np.ndarray) -> np.ndarray:
    """Return one minus the probability of a class (Sadinle, Lei and Wasserman 2019)."""
    return 1.0 - shares


def _adaptive(shares: np.ndarray) -> np.ndarray:
    """Return the probability of a class and of all more probable ones.

    (Romano, Sesia and Candès 2020.) Classes of equal probability are in their order. Without the
    random part, sets are larger.
    """
    order = np.argsort(-shares, axis=1, kind="stable")
    ranked = np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1)
    scores = np.empty(ranked.shape)
    np.put_along_axis(scores, order, ranked, axis=1)
    return scores


LABEL_SCORES = {"lac": LabelScore(_least_ambiguous), "aps": LabelScore(_adaptive)}
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
    """Thresholds from some records, and a fit to the others unless `run` is None.

    Each record is in one of the two parts. The parts are drawn independently of the values, and
    what is released of either has the guarantee of `event`, so both together have it, by joint
    convexity: see *Conformal prediction* in the documentation.
    """

    event: Event
    run: Run | None
    thresholds: Thresholds
    neighboring: Neighboring
    exact: bool = False  # conformity scores depend on where rows stand in the data

    @property
    def theorem(self) -> str:
        if self.run is None:
            return f"{self.thresholds.theorem}: private quantiles of conformity scores"
        return "a fit and private quantiles of conformity scores, on disjoint rows"


class _Released(NamedTuple):
    fitted: BaseEstimator
    thresholds: np.ndarray


class PrivateConformal(HeldOutFit[Records[ConformalFacts], ConformalPlan, _Released]):
    """Split conformal prediction with private thresholds; a subclass has the scores."""

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
        X, y = self._rows(X, y)
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
        if not self.prefit and n_held_out(share, records) in (0, n):
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
            return ConformalPlan(thresholds.event, None, thresholds, parameters.neighboring)
        event, run = _whole(parameters)
        with public_words():  # errors of steps that are not skdp's may show values
            self._rehearse(run, parameters.neighboring, records)
        return ConformalPlan(event, run, thresholds, parameters.neighboring)

    def _warn_of_few(
        self,
        parameters: ReleaseParameters,
        records: Records[ConformalFacts],
        thresholds: Thresholds,
    ) -> None:
        """Warn of a public number of records with which predictions say little."""
        n, held_out = records.n_records, n_held_out(self.conformalize_size, records)
        if held_out is None:
            return
        if records.facts.model is not None:
            parameters.warn_of_few(n - held_out)
            n = held_out
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

    def _rehearse(self, run: Run, relation: Neighboring, records: Records[ConformalFacts]) -> None:
        """Raise if the fit would raise, or cost more than its part of the records may."""

        def made() -> BaseEstimator:
            return priced(clone(records.facts.model), run, relation, None)

        event = rehearsed(made, records, self.conformalize_size)
        if event is None:
            unit = "record" if records.persons is None else "person"
            raise ValueError(f"The fit of estimator does not protect a {unit}.")
        if not run.pays_for(event, relation):
            raise ValueError(
                "The fit of estimator must be Gaussian DP, or pure DP with delta=0. Use the "
                "default solver without subsample."
            )

    def _read(
        self, plan: ConformalPlan, records: Records[ConformalFacts], rng: np.random.Generator
    ) -> _Released:
        facts = records.facts
        if plan.run is None:
            fitted, held_out, predicted = self.estimator, records, records.X
        else:
            held_out, rows = assigned(records, self.conformalize_size, rng)
            seed = None if self.random_state is None else child_generator(rng)
            model = priced(clone(facts.model), plan.run, plan.neighboring, seed)
            fitted = learned(rows, held_out, model)
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
        if plan.run is not None:
            promise(fitted, guarantee)
        self.estimator_, self.privacy_ = fitted, guarantee
        self._publish_thresholds(thresholds, records.facts)
        take_attributes(self, fitted)
        return self

    @abstractmethod
    def _publish_thresholds(self, thresholds: np.ndarray, facts: ConformalFacts) -> None:
        """Set the released attributes from thresholds of shape (n_levels, n_groups)."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _whole(parameters: ReleaseParameters) -> tuple[Event, Run]:
    """Return the event of a fit that costs everything, as the budget counts it."""
    epsilon, delta = parameters.epsilon, parameters.delta
    if not delta:
        return PureDPEvent(epsilon), ApproxRun(epsilon, delta)
    if parameters.counts_gaussians:
        mu = gdp_mu(epsilon, delta)
        return GDPEvent(mu), GaussianRun(mu, delta)
    return ApproxDPEvent(epsilon, delta), ApproxRun(epsilon, delta)
