"""Private hyper-parameter search: candidates are fitted to most rows and scored on the others."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.budget.unbudgeted import Unbudgeted
from skdp.data.column import typed
from skdp.data.columns import refuse_lazy
from skdp.data.records import Records
from skdp.data.validation import check_lengths, encode_labels, one_column, refuse_collections
from skdp.model_selection._candidates import (
    Setting,
    candidate_of,
    checked_settings,
    epsilon_in,
    shown,
    silence,
    unnamed_classes,
)
from skdp.model_selection._held_out import assigned, learn, learned, promise
from skdp.model_selection._plans import DISTRIBUTIONS, PLANS, SearchPlan, SearchTerms
from skdp.model_selection._row_score import Scoring, check_callable, row_score, steps_of
from skdp.privacy import ComposedEvent, Composition, PrivacyGuarantee, Unit
from skdp.support.public_words import public_words
from skdp.support.random import child_generator
from skdp.support.replaced_methods import allow_replaced_fit
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_real

_METHODS = ("auto", *PLANS)
_SQUARED_BUDGETS = (Composition.GDP, Composition.ZCDP)
_MOST_RUNS = 1e9
_FEW = 3  # candidates, up to which a fit of each costs no more than repetition

_Records = Records[np.ndarray | None]
"""Rows, and the public labels of a classifier if a candidate needs them."""


class _Outcome(NamedTuple):
    """The winner and the noisy scores that are released; None if no candidate is good enough."""

    best: int | None = None
    fitted: BaseEstimator | None = None
    scores: Sequence[float] = ()


def _has(name: str) -> Callable[[Callable[..., np.ndarray]], Callable[..., np.ndarray]]:
    def check(search: PrivateSearch) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class PrivateSearch(MetaEstimatorMixin, PrivateEstimator[_Records, SearchPlan, _Outcome]):
    """The transaction of a search; a subclass names its candidates."""

    takes_infinite_epsilon = False
    is_model = True

    estimator: BaseEstimator
    method: str
    mean_runs: float
    distribution: str
    threshold: float | None
    holdout: float
    scoring: Scoring
    score_bounds: tuple[float, float] | None
    release_scores: bool
    n_jobs: int | None

    def fit(self, X: MatrixLike, y: VectorLike, groups: VectorLike = None) -> Self:
        """Choose a candidate privately, and keep its fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the estimator takes.
        y : array-like of shape (n_samples,)
            *Private.* Targets that the estimator takes.
        groups : array-like of shape (n_samples,) or None
            *Private.* The person of each row. All rows of a person are one record: the search fits
            to all of them or scores on all of them. ``None``: each row is a record.

        Returns
        -------
        self
            The fitted search. It has no `best_estimator_` if "cheapest" found no candidate that is
            good enough.

        Raises
        ------
        ValueError
            If a parameter or a candidate is wrong, or fits are not as private as the method needs;
            nothing is spent.
        PrivacyLeakError
            If a part of the estimator learns without privacy; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the search; then nothing is learned.
        """
        self._fit_privately(X, y, groups=groups)
        return self

    @abstractmethod
    def _candidates(self) -> list[Setting]:
        """Return the settings to choose from, without reading the data."""

    def _is_gaussian(self) -> bool:
        return self.method == "all"

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        groups: VectorLike = None,
    ) -> _Records:
        check_choice("method", self.method, _METHODS)
        check_choice("distribution", self.distribution, DISTRIBUTIONS)
        check_real("mean_runs", self.mean_runs, low=1.0, high=_MOST_RUNS)
        share = check_real("holdout", self.holdout, low=0.0, high=1.0)
        if self.threshold is not None and self.method != "cheapest":
            raise ValueError("threshold needs method='cheapest'. Set it to None.")
        if self.release_scores:
            self._check_release_of_scores(parameters)
        refuse_collections(self, X, y)
        refuse_lazy(X=X)
        # Convert all rows at once: a part of a list could become an array of another type.
        X, y = indexable(typed(X))[0], one_column(y)
        check_lengths(X, y)
        self._tried = checked_settings(self.estimator, self._candidates(), self._may_vary)
        candidates = [candidate_of(self.estimator, setting) for setting in self._tried]
        self._judged_by = row_score(self.scoring, self.score_bounds, candidates)
        if self.method == "cheapest":
            low, high = self._judged_by.bounds
            check_real("threshold", self.threshold, low=low, high=high, closed="[]")
        records = Records.of_rows(X, y, groups).with_facts(self._classes(candidates, y))
        n = records.n_records
        if parameters.neighboring.count_is_public and math.ceil(share * n) in (0, n):
            raise ValueError(
                f"holdout={share:g} leaves no row to fit to, or none to score on. n_samples={n}"
            )
        return records

    def _check_release_of_scores(self, parameters: ReleaseParameters) -> None:
        if self.method not in ("auto", "all"):
            raise ValueError(
                f"release_scores=True needs method='all' or 'auto': with {self.method!r} only the "
                "winner's score may be released."
            )
        if not parameters.neighboring.count_is_public:
            raise ValueError(
                "release_scores=True needs neighboring='replace_one': a mean divides by the number "
                "of held-out records, which is private under 'add_remove_one'."
            )

    @property
    def _needed(self) -> float:
        """The threshold, as a score in [0, 1]."""
        return 0.0 if self.threshold is None else self._judged_by.share(float(self.threshold))

    def _classes(self, candidates: list[BaseEstimator], y: np.ndarray) -> np.ndarray | None:
        """Return the labels in all rows, which are public, if a candidate has no `classes`."""
        if not any(map(unnamed_classes, candidates)):
            return None
        return encode_labels(type(self).__name__, y, None)[0]

    @property
    def _may_vary(self) -> frozenset[str]:
        """Parameters of privacy that candidates may set."""
        return frozenset({"epsilon"} if self.method == "cheapest" else ())

    def _plan(self, parameters: ReleaseParameters, records: _Records) -> SearchPlan:
        effective_n_jobs(self.n_jobs)  # raises before the spend, not after
        terms = SearchTerms(
            parameters.epsilon,
            parameters.delta,
            parameters.neighboring,
            self.distribution,
            float(self.mean_runs),
            bool(self.release_scores),
        )
        epsilons = [epsilon_in(self.estimator, setting) for setting in self._tried]
        plan = PLANS[self._method(parameters, len(epsilons))](terms, epsilons)
        with public_words():  # errors of steps that are not skdp's may show values
            self._rehearse(plan, records)
        if callable(self.scoring):
            check_callable(self.scoring, self._known_targets(records))
        return plan

    def _known_targets(self, records: _Records) -> tuple[Label, Label]:
        """Return two possible targets, from public facts."""
        last = steps_of(candidate_of(self.estimator, self._tried[0]))[-1]
        if is_regressor(self.estimator):
            low, high = last.target_bounds
            return 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high
        known = records.y if getattr(last, "classes", None) is None else last.classes
        labels = np.unique(np.asarray(known))  # labels in y are public if `classes` is not given
        return labels[0], labels[-1]

    def _method(self, parameters: ReleaseParameters, n: int) -> str:
        if self.method != "auto":
            return self.method
        once = parameters.composition in _SQUARED_BUDGETS or n <= _FEW or self.release_scores
        return "all" if once else "repeat"

    def _rehearse(self, plan: SearchPlan, records: _Records) -> None:
        """Raise if a candidate would raise, or cost more than its run may cost."""
        unit = Unit.RECORD if records.persons is None else Unit.PERSON
        for i, setting in enumerate(self._tried):
            promised = self._rehearsed(i, plan, records)  # checks all rows: any may be fitted to
            if plan.terms.neighboring.count_is_public:  # the plan of a fit depends on the count
                n = records.n_records
                learned = records.chosen(np.arange(math.ceil(self.holdout * n), n))
                promised = self._rehearsed(i, plan, learned)
            if any(guarantee.unit is not unit for guarantee in promised):
                raise ValueError(
                    f"with {setting!r} a fit does not protect a {unit}, which the search requires. "
                    "With groups=, it requires a person."
                )
            cost = ComposedEvent(tuple(guarantee.event for guarantee in promised))
            if not plan.runs[i].pays_for(cost, plan.terms.neighboring):
                raise ValueError(
                    f"with {setting!r} a fit is not Gaussian DP, or not pure DP with delta=0. Use "
                    "the default solver, no subsample, and one step with a parameter epsilon."
                )

    def _rehearsed(self, i: int, plan: SearchPlan, records: _Records) -> list[PrivacyGuarantee]:
        """Return the guarantees of a dry run of a candidate; raise its errors."""
        model, budget = self._made(i, plan, records, None), Unbudgeted()
        steps_of(model)[-1].set_params(budget=budget)
        learn(records, model)
        return budget.promised

    def _read(self, plan: SearchPlan, records: _Records, rng: np.random.Generator) -> _Outcome:
        judges, rows = assigned(records, self.holdout, plan.terms.neighboring, rng)
        tried = plan.tried(rng)
        fits = self._fitted(tried, plan, records, partial(learned, rows, judges), rng)
        scores = [self._score(fit, judges) for fit in fits]
        if plan.choice is not None:
            best = plan.choice.release(scores, rng)
            return _Outcome(best, fits[best])
        noisy = [plan.runs[i].noisy(score, rng) for i, score in zip(tried, scores, strict=True)]
        won = _winner(plan, tried, noisy)
        if won is None:
            return _Outcome()
        released = noisy if plan.terms.release_scores else [noisy[won]]
        return _Outcome(tried[won], fits[won], released)

    def _fitted(
        self,
        tried: Iterable[int],
        plan: SearchPlan,
        records: _Records,
        learn: Callable[[BaseEstimator], BaseEstimator],
        rng: np.random.Generator,
    ) -> list[BaseEstimator]:
        seeds = (None if self.random_state is None else child_generator(rng) for _ in iter(int, 1))
        made = [self._made(i, plan, records, seed) for i, seed in zip(tried, seeds, strict=False)]
        fits = Parallel(
            n_jobs=self.n_jobs, verbose=0
        )  # joblib's context may print the number of runs
        return list(fits(delayed(_fit)(learn, model) for model in made))

    def _made(
        self, i: int, plan: SearchPlan, records: _Records, seed: np.random.Generator | None
    ) -> BaseEstimator:
        """Return a candidate with the cost of its run and with all labels."""
        made, amount = candidate_of(self.estimator, self._tried[i]), plan.runs[i].amount
        steps_of(made)[-1].set_params(
            epsilon=amount.epsilon,
            delta=amount.delta,
            neighboring=str(plan.terms.neighboring),
            budget=None,
            random_state=seed,
        )
        steps_of(made)[-1].set_params(**dict.fromkeys(unnamed_classes(made), records.facts))
        silence(made)
        return made

    def _score(self, fitted: BaseEstimator, judges: _Records) -> float:
        """Return the *private* sum of scores in [0, 1] minus the threshold, over held-out records.

        One record changes it by at most 1.
        """
        if not judges.n_records:  # no error: the number of records may be private
            return 0.0
        with warnings.catch_warnings(action="ignore"):
            shares = self._judged_by.shares(fitted, judges.X, judges.y)
        if judges.persons is not None:  # the score of a person is the mean over their rows
            shares = judges.persons.row_weights() * shares
        return float(np.sum(shares)) - judges.n_records * self._needed

    def _publish(
        self,
        plan: SearchPlan,
        records: _Records,
        released: _Outcome,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        best, fitted, scores = released
        self.best_index_, self.privacy_ = best, guarantee
        self.cv_results_, self.n_splits_ = shown(self._tried), 1
        if plan.epsilons is not None:
            self.epsilon_spent_ = max(plan.epsilons) if best is None else plan.epsilons[best]
        if best is None:
            warnings.warn("No candidate reached the threshold.", stacklevel=4)
            return self
        promise(fitted, guarantee)
        self.best_params_, self.best_estimator_ = clone(self._tried[best], safe=False), fitted
        if scores and guarantee.neighboring.count_is_public:
            n_judges = math.ceil(self.holdout * records.n_records)
            self._publish_scores(np.array(scores) / n_judges, plan)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _publish_scores(self, shares: np.ndarray, plan: SearchPlan) -> None:
        means = self._judged_by.value(shares + self._needed)
        self.best_score_ = float(means.max())
        if plan.terms.release_scores:
            self.cv_results_["mean_test_score"] = means
            self.cv_results_["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)

    def _found(self) -> BaseEstimator:
        check_is_fitted(self, "best_index_")
        if self.best_index_ is None:
            raise NotFittedError(
                "No candidate reached the threshold, so there is no best_estimator_. Another "
                "search spends again."
            )
        return self.best_estimator_

    @_has("predict")
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict with the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        return self._found().predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return class probabilities of the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._found().predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return decision scores of the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._found().decision_function(X)

    def score(self, X: MatrixLike, y: VectorLike) -> float:
        """Return the exact score of the best candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Use public rows, or keep the score secret.
        y : array-like of shape (n_samples,)
            Targets of the rows.

        Returns
        -------
        float
            *Not private.* Use `skdp.metrics` for private scores.
        """
        return float(self._found().score(X, y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _winner(plan: SearchPlan, tried: list[int], noisy: list[float]) -> int | None:
    """Return the run with the best score, or the cheapest with a score of at least 0, or None."""
    if plan.epsilons is None:
        return int(np.argmax(noisy))
    enough = [run for run, score in enumerate(noisy) if score >= 0.0]
    cost = plan.epsilons
    return min(enough, key=lambda run: (cost[tried[run]], -noisy[run]), default=None)


def _fit(learn: Callable[[BaseEstimator], BaseEstimator], model: BaseEstimator) -> BaseEstimator:
    # The search is paid, so no fit may raise. Worker threads do not inherit the permission.
    with allow_replaced_fit(), warnings.catch_warnings(action="ignore"):
        return learn(model)
