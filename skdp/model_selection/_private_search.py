"""Choosing hyper-parameters: candidates are fitted to most rows and judged on the others."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from skdp._blocks import is_collection
from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp._random import child_generator
from skdp._search import arithmetic, bisect
from skdp._validation import check_choice, check_real
from skdp.accounting import gdp_mu
from skdp.budget import Amount
from skdp.budget.filters.base import largest_gaussian
from skdp.exceptions import PrivacyLeakError
from skdp.mechanisms import ExponentialMechanism, Gaussian
from skdp.pipeline import check_pipeline
from skdp.pipeline._verdicts import is_private
from skdp.privacy import (
    ComposedEvent,
    Event,
    GDPEvent,
    Neighboring,
    PrivacyGuarantee,
    RepeatAndSelectEvent,
)
from skdp.privacy.repeated import RunCount

__all__ = ["PrivateSearch"]

_METHODS = ("auto", "repeat", "all")
_LAWS = ("geometric", "logarithmic")
_SQUARED_BUDGETS = ("gdp", "zcdp")
_FEW = 3  # candidates, up to which a fit of each costs no more than repetition
_SAFE = 1.0 - 1e-6  # of a choice's ε, and
_ROUNDED_UP = 1.0 + 1e-5  # of the noise in a score: both mechanisms round their cost upwards


@dataclass(frozen=True)
class SearchPlan:
    """What a search will release; all of it public."""

    event: Event
    theorem: str
    method: str
    neighboring: Neighboring
    run_mu: float
    run: Amount
    choice_mu: float


@dataclass(frozen=True, eq=False, repr=False)
class SearchRecords:
    """*Private* rows, and which of them judge; the assignment hangs on no value."""

    X: Any
    y: Any
    judges: np.ndarray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.judges.size

    def split(self, judging: bool) -> tuple[Any, Any]:
        """Return the rows that judge, or those that are learnt from."""
        rows = np.flatnonzero(self.judges == judging)
        return _safe_indexing(self.X, rows), _safe_indexing(self.y, rows)


def _has(name: str) -> Any:
    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class PrivateSearch(MetaEstimatorMixin, PrivateFit, BaseEstimator):
    """The transaction of a search; a subclass names its candidates."""

    takes_infinite_epsilon = False

    estimator: Any
    method: str
    mean_runs: float
    law: str
    holdout: float
    n_jobs: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Choose a candidate privately, and keep its fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* What the estimator takes.
        y : array-like of shape (n_samples,)
            *Private.* What the estimator takes.

        Returns
        -------
        self
            With `best_estimator_`.

        Raises
        ------
        ValueError
            If a parameter is wrong, a candidate would be refused, or the estimator is not Gaussian
            DP; nothing is spent.
        PrivacyLeakError
            If something in the estimator learns without privacy; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the search; then nothing is learnt.
        """
        return self._fit_privately(X, y)

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Return the settings to choose from, made without a look at the data."""

    def _is_gaussian(self) -> bool:
        return self.method == "all"

    def _check_data(self, parameters: ReleaseParameters, X: Any, y: Any) -> SearchRecords:
        check_choice("method", self.method, _METHODS)
        check_choice("law", self.law, _LAWS)
        check_real("mean_runs", self.mean_runs, low=1.0)
        share = check_real("holdout", self.holdout, low=0.0, high=1.0)
        if parameters.delta == 0.0:
            raise ValueError("a search needs delta > 0, for its fits are Gaussian DP.")
        if is_collection(X) or is_collection(y):
            raise ValueError(
                f"{type(self).__name__} reads rows many times and in memory: call .compute() on a "
                "sample of the dask collections that fits there."
            )
        check_consistent_length(X, y)
        self._tried = _checked_candidates(self.estimator, self._candidates())
        records = SearchRecords(X, y, _judges(_num_samples(X), share, parameters))
        if not 0 < np.count_nonzero(records.judges) < records.n_rows:
            raise ValueError("there are too few rows to learn from some and to judge on others.")
        return records

    def _plan(self, parameters: ReleaseParameters, records: SearchRecords) -> SearchPlan:
        epsilon, delta, n = parameters.epsilon, parameters.delta, len(self._tried)
        if self._method(parameters, n) == "all":
            mu = gdp_mu(epsilon, delta)
            event: Event = GDPEvent(mu)
            theorem, method, run_mu = _ALL, "all", mu / math.sqrt(n)
        else:
            parameter = _parameter(self.law, float(self.mean_runs))
            mu = _run_mu(epsilon, delta, self.law, parameter)
            event = RepeatAndSelectEvent(GDPEvent(mu), self.law, parameter)
            theorem, method, run_mu = _REPEAT, "repeat", mu
        run = largest_gaussian(run_mu, delta)
        plan = SearchPlan(event, theorem, method, parameters.neighboring, run_mu, run, mu)
        self._rehearse(plan, records)
        return plan

    def _method(self, parameters: ReleaseParameters, n: int) -> str:
        if self.method != "auto":
            return self.method
        return "all" if parameters.composition in _SQUARED_BUDGETS or n <= _FEW else "repeat"

    def _rehearse(self, plan: SearchPlan, records: SearchRecords) -> None:
        """Raise if a candidate would be refused, or cost more than it is given."""
        rows = records.split(judging=False)
        judged_too = _rehearsing(self._made(self._tried[0], plan, None), [])
        judged_too.fit(records.X, records.y)  # so that what is wrong with a judge is seen as well
        for setting in self._tried:
            planned: list[Any] = []
            copy = _rehearsing(self._made(setting, plan, None), planned)
            copy.fit(*rows)
            events = [guarantee.event for _, _, guarantee, *_ in planned]
            cost = ComposedEvent(tuple(events)).gdp_mu(plan.neighboring)
            if not cost <= plan.run_mu * (1.0 + 1e-9):
                raise ValueError(
                    f"with {setting!r} a fit is not Gaussian DP as it has to be: take a solver "
                    "such as the default one, no subsample, and one step with a parameter epsilon."
                )

    def _read(self, plan: SearchPlan, records: SearchRecords, rng: np.random.Generator) -> Any:
        """Return the number of the winner, its fit, and its noisy score if that is released."""
        n = len(self._tried)
        if plan.method == "all":
            fits = self._fitted(range(n), plan, records, rng)
            scores = [self._score(fit, records) for fit in fits]
            best = _choice(plan).release(scores, rng)
            return best, fits[best], None
        tried = rng.integers(n, size=_count(self.law, float(self.mean_runs), rng))
        fits = self._fitted(tried, plan, records, rng)
        noise = Gaussian(sensitivity=1.0, scale=_ROUNDED_UP / plan.choice_mu)
        noisy = [float(noise.release(self._score(fit, records), rng)) for fit in fits]
        best = int(np.argmax(noisy))
        return int(tried[best]), fits[best], noisy[best]

    def _fitted(
        self, tried: Iterable[int], plan: SearchPlan, records: SearchRecords, rng: Any
    ) -> list[Any]:
        X, y = records.split(judging=False)
        seeds = (None if self.random_state is None else child_generator(rng) for _ in iter(int, 1))
        made = [
            self._made(self._tried[int(i)], plan, seed)
            for i, seed in zip(tried, seeds, strict=False)
        ]
        return list(Parallel(n_jobs=self.n_jobs)(delayed(_fit)(model, X, y) for model in made))

    def _made(self, setting: Mapping[str, Any], plan: SearchPlan, seed: Any) -> Any:
        """Return a candidate whose fit costs what the plan says."""
        made = clone(self.estimator).set_params(**setting)
        _steps(made)[-1].set_params(
            epsilon=plan.run.epsilon,
            delta=plan.run.delta,
            neighboring=str(plan.neighboring),
            budget=None,
            random_state=seed,
        )
        for name in made.get_params():
            if (
                name.split("__")[-1] == "verbose"
            ):  # or the output would tell how many runs there are
                made.set_params(**{name: False})
        return made

    def _score(self, fitted: Any, records: SearchRecords) -> float:
        """Return the *private* sum of scores in [0, 1] of the rows that judge."""
        X, y = records.split(judging=True)
        found, truth = fitted.predict(X), np.asarray(y)
        if not is_regressor(self.estimator):
            return float(np.count_nonzero(found == truth))
        low, high = _steps(fitted)[-1].target_bounds
        misses = np.abs(np.clip(truth.astype(float), low, high) - np.clip(found, low, high))
        return float(np.sum(1.0 - (misses / (high - low)) ** 2))

    def _publish(
        self, plan: SearchPlan, records: SearchRecords, released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        best, fitted, score = released
        self.best_index_, self.best_estimator_ = best, fitted
        self.best_params_, self.privacy_ = dict(self._tried[best]), guarantee
        self.cv_results_ = {"params": [dict(setting) for setting in self._tried]}
        if score is not None and guarantee.neighboring.count_is_public:
            self.best_score_ = score / np.count_nonzero(records.judges)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

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
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

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
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

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
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

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
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.non_deterministic = self.random_state is None
        return tags


_ALL = "a fit of each candidate and one choice by the exponential mechanism, on disjoint rows"
_REPEAT = "best of K runs, each a fit and a noisy score on disjoint rows: Best of K, Theorem"


def _checked_candidates(estimator: Any, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the settings, after checks of what is public about each."""
    if not settings:
        raise ValueError("there must be at least one candidate.")
    fixed = {"epsilon", "delta", "budget", "neighboring", "random_state"}
    for setting in settings:
        if wrong := sorted({name.split("__")[-1] for name in setting} & fixed):
            raise ValueError(
                f"{wrong} cannot be searched over: the search spends its own epsilon and delta, a "
                "known part on each fit. To compare values of epsilon, fit on public data."
            )
        _check_candidate(clone(estimator).set_params(**setting))
    return settings


def _check_candidate(candidate: Any) -> None:
    """Raise unless its last step is an estimator of skdp, and no other one learns or spends.

    A setting may replace steps, so that this is asked of every candidate.
    """
    if leaks := check_pipeline(candidate):
        raise PrivacyLeakError(str(leaks))
    *before, last = _steps(candidate)
    if not isinstance(last, PrivateFit):
        raise ValueError(f"estimator must be, or end with, an estimator of skdp, got {last!r}.")
    if spending := [step for step in before if is_private(step)]:
        raise ValueError(
            f"{spending} would spend beside the last step; the search pays for that one alone."
        )


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


def _judges(n: int, share: float, parameters: ReleaseParameters) -> np.ndarray:
    """Return which rows judge: by position where n is public, else by a coin for each row."""
    if not parameters.neighboring.count_is_public:
        return parameters.rng.uniform(size=n) < share
    judges = np.zeros(n, dtype=bool)
    judges[parameters.rng.permutation(n)[: math.ceil(share * n)]] = True
    return judges


def _rehearsing(estimator: Any, planned: list[Any]) -> Any:
    """Return it, such that its fit stops before it learns, and notes what it would guarantee."""
    _steps(estimator)[-1]._foreseen = planned
    return estimator


def _fit(model: Any, X: Any, y: Any) -> Any:
    """Return the fit, without a word that would tell how many there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def _choice(plan: SearchPlan) -> ExponentialMechanism:
    """Return the exponential mechanism that is Gaussian DP with the plan's μ."""
    chance = float(ndtr(0.5 * plan.choice_mu))
    epsilon = 2.0 * (math.log(chance) - math.log1p(-chance)) * _SAFE
    monotonic = not plan.neighboring.count_is_public
    return ExponentialMechanism(sensitivity=1.0, epsilon=epsilon, monotonic=monotonic)


def _parameter(law: str, mean: float) -> float:
    """Return γ of a distribution of the number of runs, by its mean."""
    if law == "geometric":
        return min(1.0 / mean, 1.0 - 1e-9)

    def excess(log_gamma: float) -> float:
        return RunCount("negative_binomial", math.exp(log_gamma), 0.0).mean - mean

    return math.exp(brentq(excess, -700.0, -1e-9))


def _count(law: str, mean: float, rng: np.random.Generator) -> int:
    """Return K, at least 1."""
    gamma = _parameter(law, mean)
    return int(rng.geometric(gamma) if law == "geometric" else rng.logseries(1.0 - gamma))


@lru_cache(maxsize=64)
def _run_mu(epsilon: float, delta: float, law: str, parameter: float) -> float:
    """Return μ of each run, such that the best of them is (ε, δ)-DP."""

    def holds(mu: float) -> bool:
        event = RepeatAndSelectEvent(GDPEvent(mu), law, parameter)
        return bool(event.curve(Neighboring.REPLACE_ONE).delta(epsilon) <= delta)

    highest = gdp_mu(epsilon, delta)
    return bisect(holds, 1e-3 * highest, highest, arithmetic(1e-4))
