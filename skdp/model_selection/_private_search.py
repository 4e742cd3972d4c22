"""Choosing hyper-parameters: candidates are fitted to most rows and judged on the others."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, PrivateFit, ReleaseParameters
from skdp.budget.unbudgeted import Unbudgeted
from skdp.data.column import typed
from skdp.data.columns import refuse_lazy
from skdp.data.records import Records
from skdp.data.validation import check_lengths, encode_labels, one_column, refuse_collections
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection._plans import LAWS, PLANS, SearchPlan, SearchTerms
from skdp.model_selection._row_score import check_callable, row_score, steps_of
from skdp.pipeline import check_pipeline
from skdp.pipeline._verdicts import is_private
from skdp.privacy import ComposedEvent, Composition, Neighboring, PrivacyGuarantee, Unit
from skdp.support.public_words import public_words, unheard
from skdp.support.random import child_generator
from skdp.support.validation import check_choice, check_real

__all__ = ["PrivateSearch"]

_METHODS = ("auto", *PLANS)
_SQUARED_BUDGETS = (Composition.GDP, Composition.ZCDP)
_MOST_RUNS = 1e9
_FEW = 3  # candidates, up to which a fit of each costs no more than repetition


_Records = Records[np.ndarray | None]
"""Rows, and the public labels of a classifier's, None of others."""


def _has(name: str) -> Any:
    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class PrivateSearch(MetaEstimatorMixin, PrivateEstimator):
    """The transaction of a search; a subclass names its candidates."""

    takes_infinite_epsilon = False

    estimator: Any
    method: str
    mean_runs: float
    law: str
    threshold: float | None
    holdout: float
    scoring: Any
    score_bounds: tuple[float, float] | None
    release_scores: bool
    n_jobs: Any

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Choose a candidate privately, and keep its fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* What the estimator takes.
        y : array-like of shape (n_samples,)
            *Private.* What the estimator takes.
        groups : array-like of shape (n_samples,) or None
            *Private.* Whose each row is, where a person may have several: then all rows of a person
            are protected together, judge or are learned from together, and count together as one
            record. ``None``: each row is a record of its own.

        Returns
        -------
        self
            With `best_estimator_`, unless "cheapest" has found none that is good enough.

        Raises
        ------
        ValueError
            If a parameter is wrong, a candidate would be refused, or its fits are not as private as
            the method needs; nothing is spent.
        PrivacyLeakError
            If something in the estimator learns without privacy; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the search; then nothing is learned.
        """
        return self._fit_privately(X, y, groups=groups)

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Return the settings to choose from, made without a look at the data."""

    def _is_gaussian(self) -> bool:
        return self.method == "all"

    def _check_data(
        self, parameters: ReleaseParameters, X: Any, y: Any, *, groups: Any = None
    ) -> _Records:
        check_choice("method", self.method, _METHODS)
        check_choice("law", self.law, LAWS)
        check_real("mean_runs", self.mean_runs, low=1.0, high=_MOST_RUNS)
        share = check_real("holdout", self.holdout, low=0.0, high=1.0)
        if self.threshold is not None and self.method != "cheapest":
            raise ValueError("threshold belongs to method='cheapest'; leave it at None here.")
        if self.release_scores:
            self._check_release_of_scores(parameters)
        refuse_collections(self, X, y)
        refuse_lazy(X=X)
        # Once for all rows: a part of a list could become an array of another type.
        X, y = indexable(typed(X))[0], one_column(y)
        check_lengths(X, y)
        self._tried = _checked_candidates(self.estimator, self._candidates(), self._may_vary)
        candidates = [_candidate(self.estimator, setting) for setting in self._tried]
        self._judged_by = row_score(self.scoring, self.score_bounds, candidates)
        if self.method == "cheapest":
            low, high = self._judged_by.bounds
            check_real("threshold", self.threshold, low=low, high=high, closed="[]")
        records = Records.arrived(X, y, groups).with_facts(self._classes(candidates, y))
        n = records.n_records
        if parameters.neighboring.count_is_public and math.ceil(share * n) in (0, n):
            raise ValueError(
                f"there are too few rows to learn from some and judge on others. n_samples={n}"
            )
        return records

    def _check_release_of_scores(self, parameters: ReleaseParameters) -> None:
        if self.method not in ("auto", "all"):
            raise ValueError(
                f"release_scores=True needs method='all' or 'auto': with {self.method!r} no score "
                "but the winner's may be known."
            )
        if not parameters.neighboring.count_is_public:
            raise ValueError(
                "release_scores=True needs neighboring='replace_one': a mean divides by the number "
                "of records that judge, which is private under 'add_remove_one'."
            )

    @property
    def _needed(self) -> float:
        """The least mean of scores in [0, 1] that is good enough."""
        return 0.0 if self.threshold is None else self._judged_by.share(float(self.threshold))

    def _classes(self, candidates: list[Any], y: Any) -> np.ndarray | None:
        """Return the labels in all rows, which are public, if a candidate is told none."""
        if not any(map(_unnamed, candidates)):
            return None
        return encode_labels(type(self).__name__, y, None)[0]

    @property
    def _may_vary(self) -> frozenset[str]:
        """Names that are not the search's own, though a fit's."""
        return frozenset({"epsilon"} if self.method == "cheapest" else ())

    def _plan(self, parameters: ReleaseParameters, records: _Records) -> SearchPlan:
        effective_n_jobs(self.n_jobs)  # raises an error now, not after the spend
        terms = SearchTerms(
            parameters.epsilon,
            parameters.delta,
            parameters.neighboring,
            self.law,
            float(self.mean_runs),
            bool(self.release_scores),
        )
        epsilons = [_epsilon_in(self.estimator, setting) for setting in self._tried]
        plan = PLANS[self._method(parameters, len(epsilons))](terms, epsilons)
        with public_words():  # of steps that are not skdp's
            self._rehearse(plan, records)
        if callable(self.scoring):
            check_callable(self.scoring, self._known_targets(records))
        return plan

    def _known_targets(self, records: _Records) -> tuple[Any, Any]:
        """Return two targets as there may be, from public facts."""
        last = steps_of(_candidate(self.estimator, self._tried[0]))[-1]
        if is_regressor(self.estimator):
            low, high = last.target_bounds
            return 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high
        known = records.y if getattr(last, "classes", None) is None else last.classes
        labels = np.unique(np.asarray(known))  # those of y are public where no others are given
        return labels[0], labels[-1]

    def _method(self, parameters: ReleaseParameters, n: int) -> str:
        if self.method != "auto":
            return self.method
        once = parameters.composition in _SQUARED_BUDGETS or n <= _FEW or self.release_scores
        return "all" if once else "repeat"

    def _rehearse(self, plan: SearchPlan, records: _Records) -> None:
        """Raise if a candidate would be refused, or cost more than it is given."""
        unit = Unit.RECORD if records.persons is None else Unit.PERSON
        for i, setting in enumerate(self._tried):
            promised = self._rehearsed(i, plan, records)  # any row may be used to learn or to judge
            if plan.terms.neighboring.count_is_public:  # the plan of a fit depends on the count
                n = records.n_records
                learned = records.chosen(np.arange(math.ceil(self.holdout * n), n))
                promised = self._rehearsed(i, plan, learned)
            if any(guarantee.unit is not unit for guarantee in promised):
                raise ValueError(
                    f"with {setting!r} a fit does not protect a {unit}, as the search has to."
                )
            cost = ComposedEvent(tuple(guarantee.event for guarantee in promised))
            if not plan.runs[i].pays_for(cost, plan.terms.neighboring):
                raise ValueError(
                    f"with {setting!r} a fit is not Gaussian DP, or without any delta, as it has "
                    "to be: take a solver such as the default one, no subsample, and one step with "
                    "a parameter epsilon."
                )

    def _rehearsed(self, i: int, plan: SearchPlan, records: _Records) -> list[PrivacyGuarantee]:
        """Return what a fit of a candidate would promise; raise the errors of this fit."""
        model, budget = self._made(i, plan, records, None), Unbudgeted()
        steps_of(model)[-1].set_params(budget=budget)
        _learn(records, model)
        return budget.promised

    def _read(self, plan: SearchPlan, records: _Records, rng: np.random.Generator) -> Any:
        """Return the number of the winner, its fit, and the noisy scores that are released."""
        judges, rows = _assigned(records, self.holdout, plan.terms.neighboring, rng)
        tried = plan.tried(rng)
        learn = partial(_learn, rows)
        if judges.n_records and not rows.n_records:
            learn = partial(_learn_nothing, judges)
        fits = self._fitted(tried, plan, records, learn, rng)
        scores = [self._score(fit, judges) for fit in fits]
        if plan.choice is not None:
            best = plan.choice.release(scores, rng)
            return best, fits[best], []
        noisy = [plan.runs[i].noisy(score, rng) for i, score in zip(tried, scores, strict=True)]
        won = _winner(plan, tried, noisy)
        if won is None:
            return None, None, []
        return tried[won], fits[won], noisy if plan.terms.release_scores else [noisy[won]]

    def _fitted(
        self,
        tried: Iterable[int],
        plan: SearchPlan,
        records: _Records,
        learn: Callable[[Any], Any],
        rng: Any,
    ) -> list[Any]:
        seeds = (None if self.random_state is None else child_generator(rng) for _ in iter(int, 1))
        made = [self._made(i, plan, records, seed) for i, seed in zip(tried, seeds, strict=False)]
        fits = Parallel(n_jobs=self.n_jobs, verbose=0)  # or joblib's context tells how many
        return list(fits(delayed(_fit)(learn, model) for model in made))

    def _made(self, i: int, plan: SearchPlan, records: _Records, seed: Any) -> Any:
        """Return a candidate whose fit costs what the plan says, and which knows all labels."""
        made, amount = _candidate(self.estimator, self._tried[i]), plan.runs[i].amount
        steps_of(made)[-1].set_params(
            epsilon=amount.epsilon,
            delta=amount.delta,
            neighboring=str(plan.terms.neighboring),
            budget=None,
            random_state=seed,
        )
        steps_of(made)[-1].set_params(**dict.fromkeys(_unnamed(made), records.facts))
        _silence(made)
        return made

    def _score(self, fitted: Any, judges: _Records) -> float:
        """Return the *private* sum over the rows that judge, of scores in [0, 1] less `threshold`.

        One record changes it by 1 at most.
        """
        if not judges.n_records:  # which is nobody's business where their number is private
            return 0.0
        with unheard():
            shares = self._judged_by.shares(fitted, judges.X, judges.y)
        if judges.persons is not None:  # whose score is the mean of those of their rows
            shares = judges.persons.row_weights() * shares
        return float(np.sum(shares)) - judges.n_records * self._needed

    def _publish(
        self, plan: SearchPlan, records: _Records, released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        best, fitted, scores = released
        self.best_index_, self.privacy_ = best, guarantee
        self.cv_results_, self.n_splits_ = _shown(self._tried), 1
        if plan.epsilons is not None:
            self.epsilon_spent_ = max(plan.epsilons) if best is None else plan.epsilons[best]
        if best is None:
            warnings.warn("No candidate has reached the threshold.", stacklevel=4)
            return self
        _promise(fitted, guarantee)
        self.best_params_, self.best_estimator_ = clone(self._tried[best], safe=False), fitted
        if scores and guarantee.neighboring.count_is_public:
            n_judges = math.ceil(self.holdout * records.n_records)
            self._publish_scores(np.array(scores) / n_judges, plan)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _publish_scores(self, shares: np.ndarray, plan: SearchPlan) -> None:
        """Publish the noisy score of the winner, or those of all candidates."""
        means = self._judged_by.value(shares + self._needed)
        self.best_score_ = float(means.max())
        if plan.terms.release_scores:
            self.cv_results_["mean_test_score"] = means
            self.cv_results_["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)

    def _found(self) -> Any:
        """Return the fit that won, if there is one."""
        check_is_fitted(self, "best_index_")
        if self.best_index_ is None:
            raise NotFittedError(
                "No candidate has reached the threshold, so that there is no best_estimator_. "
                "Another search spends anew."
            )
        return self.best_estimator_

    @_has("predict")
    def predict(self, X: Any) -> Any:
        """Return what the chosen fit predicts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        return self._found().predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities that the chosen fit gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._found().predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the scores that the chosen fit gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._found().decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Return the exact score of the chosen fit, on rows that are public or shown to nobody.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            What is true of them.

        Returns
        -------
        float
            *Not private.* `skdp.metrics` judges privately.
        """
        return float(self._found().score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _winner(plan: SearchPlan, tried: list[int], noisy: list[float]) -> int | None:
    """Return which run is published: the best, or the cheapest of those that are good enough.

    Scores are less the threshold then, and None stands for no run, whatever they were.
    """
    if plan.epsilons is None:
        return int(np.argmax(noisy))
    enough = [run for run, score in enumerate(noisy) if score >= 0.0]
    cost = plan.epsilons
    return min(enough, key=lambda run: (cost[tried[run]], -noisy[run]), default=None)


def _checked_candidates(
    estimator: Any, settings: list[dict[str, Any]], may_vary: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the settings, after checks of what is public about each."""
    if not settings:
        raise ValueError("there must be at least one candidate.")
    fixed = {"epsilon", "delta", "budget", "neighboring", "random_state"} - may_vary
    for setting in settings:
        if wrong := sorted({name.split("__")[-1] for name in setting} & fixed):
            raise ValueError(
                f"{wrong} cannot be searched over: the search spends its own epsilon and delta, a "
                "known part on each fit. Values of epsilon are compared by method='cheapest', or "
                "on public data."
            )
        _check_candidate(estimator, _candidate(estimator, setting))
    return settings


def _shown(settings: list[dict[str, Any]]) -> dict[str, Any]:
    """Return copies of the settings as scikit-learn shows them, and each parameter as an array."""
    shown: dict[str, Any] = {"params": [clone(setting, safe=False) for setting in settings]}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        given = [(i, setting[name]) for i, setting in enumerate(shown["params"]) if name in setting]
        column = np.ma.masked_all(len(settings), dtype=_dtype([value for _, value in given]))
        for i, value in given:
            column.data[i], column.mask[i] = value, False
        shown[f"param_{name}"] = column
    return shown


def _dtype(values: list[Any]) -> Any:
    """Return the common type of numbers, or of truth values; else that of objects."""
    if not all(map(np.isscalar, values)):
        return object
    found = [np.asarray(value).dtype for value in values]
    kinds = {dtype.kind for dtype in found}
    return np.result_type(*found) if kinds <= set("iuf") or kinds == {"b"} else object


def _candidate(estimator: Any, setting: dict[str, Any]) -> Any:
    """Return a copy with a setting; estimators in it are copied too, and stay as they were."""
    return clone(estimator).set_params(**clone(setting, safe=False))


def _epsilon_in(estimator: Any, setting: dict[str, Any]) -> float | None:
    """Return the ε that a setting gives to the last step; None if it gives none."""
    before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    epsilon = setting.get(f"{before}epsilon")
    return None if epsilon is None else check_real("epsilon", epsilon, low=0.0)


def _check_candidate(estimator: Any, candidate: Any) -> None:
    """Raise unless its last step predicts and is of skdp, and no other one learns or spends.

    A setting may replace steps, so that this is asked of every candidate.
    """
    *before, last = steps_of(candidate)
    if spending := [step for step in before if is_private(step)]:
        raise ValueError(
            f"{spending} would spend beside the last step; the search pays for that one alone."
        )
    if leaks := check_pipeline(candidate):
        raise PrivacyLeakError(str(leaks))
    if not isinstance(last, PrivateFit):
        raise ValueError(f"estimator must be, or end with, an estimator of skdp, got {last!r}.")
    kind = (is_classifier(candidate), is_regressor(candidate))
    if not any(kind) or kind != (is_classifier(estimator), is_regressor(estimator)):
        raise ValueError(
            "candidates must all be classifiers or all regressors, as estimator is: a search "
            f"judges what they predict, got {last!r}."
        )


def _promise(fitted: Any, guarantee: PrivacyGuarantee) -> None:
    """Let a winner, and what is fitted within it, promise what the search does and no more.

    That it was chosen tells of the records too, beyond what its own fit has cost.
    """
    last = steps_of(fitted)[-1]
    last.privacy_ = guarantee
    if hasattr(last, "report_"):
        last.report_ = replace(last.report_, privacy=guarantee)
    if hasattr(last, "best_estimator_"):
        _promise(last.best_estimator_, guarantee)


def _learn(records: _Records, model: Any) -> Any:
    """Return the fit of a model to records."""
    if records.persons is None:
        return model.fit(records.X, records.y)
    name = "groups"
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        name = f"{model.steps[-1][0]}__groups"
    return model.fit(records.X, records.y, **{name: records.persons.codes})


def _learn_nothing(records: _Records, model: Any) -> Any:
    """Return a model fitted to no record; at least one record must be there.

    Steps before the last learn nothing, and most of them raise an error for a table without rows.
    So they transform one row, and the last step is fitted to its columns without rows.
    """
    one = records.chosen(np.arange(1))
    *before, last = steps_of(model)
    for step in before:
        if step not in (None, "passthrough"):
            one = replace(one, X=step.fit_transform(one.X, one.y))
    _learn(one.chosen(np.arange(0)), last)
    return model


def _assigned(
    records: _Records, share: float, neighboring: Neighboring, rng: np.random.Generator
) -> tuple[_Records, _Records]:
    """Return those that judge and those that are learned from, after the search is paid for.

    By position where n is public, else by a coin for each; none of them hangs on a value.
    """
    n = records.n_records
    if neighboring.count_is_public:
        judges = rng.permutation(n) < math.ceil(share * n)
    else:
        judges = rng.uniform(size=n) < share
    return records.chosen(np.flatnonzero(judges)), records.chosen(np.flatnonzero(~judges))


def _unnamed(candidate: Any) -> list[str]:
    """Return where the last step would look for labels, which only some of the rows may have."""
    params = steps_of(candidate)[-1].get_params() if is_classifier(candidate) else {}
    return [name for name in params if name.split("__")[-1] == "classes" and params[name] is None]


def _silence(made: Any) -> None:
    """Switch off whatever would tell how many runs there are: output, caches, callbacks."""
    for name, value in {"": made, **made.get_params()}.items():
        if isinstance(value, BaseEstimator):
            vars(value).pop("_skl_callbacks", None)
        if name.split("__")[-1] == "verbose":
            made.set_params(**{name: False})
        if name.split("__")[-1] == "memory":
            made.set_params(**{name: None})


def _fit(learn: Callable[[Any], Any], model: Any) -> Any:
    with unheard():
        return learn(model)
