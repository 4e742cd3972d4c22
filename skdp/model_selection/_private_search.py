"""The transaction of a private search: its plan, fits to most rows, and scores on the others."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters, warn_paid
from skdp.accounting import gdp_mu
from skdp.budget import BudgetHandle
from skdp.data.records import Records
from skdp.data.validation import classes_of
from skdp.mechanisms import ExponentialMechanism, PermuteAndFlip
from skdp.model_selection._held_out import (
    GaussianRun,
    HeldOutFit,
    PureRun,
    Scoring,
    Setting,
    assigned,
    candidate_of,
    check_callable,
    checked_settings,
    epsilon_in,
    learned,
    n_held_out,
    priced,
    promise,
    rehearsed,
    row_score,
    shown,
    steps_of,
    take_attributes,
    unnamed_classes,
)
from skdp.privacy import (
    Event,
    GDPEvent,
    Neighboring,
    PrivacyGuarantee,
    PureDPEvent,
)
from skdp.privacy.neighboring import Composition
from skdp.privacy.noise_events import RepeatAndSelectEvent, RunCount
from skdp.support.other_libraries import allow_replaced_fit, public_words
from skdp.support.random import child_generator
from skdp.support.safe_numbers import ROOT, arithmetic, bisect, down, up
from skdp.support.types import Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, check_real, parameters

_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
DISTRIBUTIONS = tuple(_SHAPES)
# Mechanisms round their cost up, and sums of scores in floats are known only to 1e-6 of a row: the
# ε of a choice is lowered by more than that.
_SAFE = 1.0 - 1e-6
_NEARLY = up(1.0, ROOT)  # an ε in a grid may exceed the limit by this factor, and is then lowered


@dataclass(frozen=True)
class SearchTerms:
    """The public settings of a search."""

    epsilon: float
    delta: float
    neighboring: Neighboring
    distribution: str
    mean_runs: float
    release_scores: bool = False

    @property
    def gamma(self) -> float:
        return _gamma(self.distribution, self.mean_runs)

    @property
    def pure_factor(self) -> float:
        """2 + η: the cost of the best of K, in units of the ε of one run."""
        return 2.0 + _SHAPES[self.distribution]

    @property
    def run_epsilon(self) -> float:
        """The largest ε of one run for which the best of K costs at most `epsilon` in floats."""
        once = self.epsilon / self.pure_factor
        while once * self.pure_factor > self.epsilon:
            once = math.nextafter(once, 0.0)
        return once

    def repeated(self, event: Event) -> RepeatAndSelectEvent:
        return RepeatAndSelectEvent(event, self.distribution, self.gamma)

    def count(self, rng: np.random.Generator) -> int:
        """Draw the number of runs, at least 1."""
        gamma = self.gamma
        return int(
            rng.geometric(gamma) if self.distribution == "geometric" else rng.logseries(1.0 - gamma)
        )


@dataclass(frozen=True)
class SearchPlan:
    """The *public* plan of a search."""

    event: Event  # the release of the whole search, proved by `theorem`
    theorem: str
    terms: SearchTerms
    runs: tuple[GaussianRun | PureRun, ...]  # the cost of a fit of each candidate
    choice: ExponentialMechanism | PermuteAndFlip | None = None  # None: the best noisy score wins
    epsilons: tuple[float, ...] | None = None  # of each candidate if it wins, for "cheapest"
    exact: bool = False  # False: scores are floats that depend on where rows stand

    def tried(self, rng: np.random.Generator) -> list[int]:
        """Return the candidate of each run: each once, or random ones K times."""
        n = len(self.runs)
        if not isinstance(self.event, RepeatAndSelectEvent):
            return list(range(n))
        return [int(i) for i in rng.integers(n, size=self.terms.count(rng))]


def _plan_all(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan one fit of each candidate, and one choice, or noisy scores, on other rows.

    A score costs the held-out rows what a fit costs the others.
    """
    k, monotonic = len(epsilons), not terms.neighboring.count_is_public
    if terms.delta == 0.0:
        once = PureRun(terms.epsilon / k * _SAFE)
        pure = PermuteAndFlip(sensitivity=1.0, epsilon=terms.epsilon * _SAFE, monotonic=monotonic)
        whole = SearchPlan(PureDPEvent(terms.epsilon), _ALL, terms, (once,) * k, pure)
    else:
        mu = gdp_mu(terms.epsilon, terms.delta)
        chance = float(ndtr(0.5 * mu))
        epsilon = 2.0 * (math.log(chance) - math.log1p(-chance)) * _SAFE  # is μ-Gaussian DP
        choice = ExponentialMechanism(sensitivity=1.0, epsilon=epsilon, monotonic=monotonic)
        runs = (GaussianRun(mu / math.sqrt(k), terms.delta),) * k
        whole = SearchPlan(GDPEvent(mu), _ALL, terms, runs, choice)
    return replace(whole, theorem=_SCORED, choice=None) if terms.release_scores else whole


def _plan_repeat(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan the best of K runs, each of a random candidate."""
    event: Event
    if terms.delta == 0.0:
        run: GaussianRun | PureRun = PureRun(terms.run_epsilon)
        event = PureDPEvent(terms.run_epsilon)
    else:
        mu = _run_mu(terms.epsilon, terms.delta, terms.distribution, terms.gamma)
        run, event = GaussianRun(mu, terms.delta), GDPEvent(mu)
    return SearchPlan(terms.repeated(event), _REPEAT, terms, (run,) * len(epsilons))


def _plan_cheapest(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan K runs of candidates of different ε; the least ε that is good enough wins."""
    most = terms.run_epsilon
    if any(epsilon is None or not 0.0 < epsilon <= most * _NEARLY for epsilon in epsilons):
        raise ValueError(
            f"with method='cheapest' each candidate needs an epsilon above 0 and up to {most:g}, "
            f"because the search costs {terms.pure_factor:g} times the largest."
        )
    runs = tuple(PureRun(min(float(epsilon or 0.0), most)) for epsilon in epsilons)
    costs = tuple(terms.pure_factor * run.epsilon for run in runs)
    event = terms.repeated(PureDPEvent(max(run.epsilon for run in runs)))
    return SearchPlan(event, _CHEAPEST, terms, runs, epsilons=costs)


PLANS: dict[str, Callable[[SearchTerms, Sequence[float | None]], SearchPlan]] = {
    "all": _plan_all,
    "repeat": _plan_repeat,
    "cheapest": _plan_cheapest,
}
_ALL = "a fit of each candidate and one private choice, on disjoint rows"
_SCORED = "a fit and a noisy score of each candidate, on disjoint rows"
_REPEAT = "best of K runs, each a fit and a noisy score on disjoint rows: Best of K, Theorem"
_CHEAPEST = "cheapest of K runs, each a fit and a noisy score on disjoint rows: Best of K, Theorem"


@lru_cache(maxsize=64)
def _gamma(distribution: str, mean: float) -> float:
    """Return γ of the distribution of the number of runs with a given mean."""
    highest = down(1.0, ROOT)
    if distribution == "geometric":
        return min(1.0 / mean, highest)

    def excess(log_gamma: float) -> float:
        return RunCount("negative_binomial", math.exp(log_gamma), 0.0).mean - mean

    if excess(math.log(highest)) >= 0.0:
        return highest
    return math.exp(brentq(excess, -700.0, math.log(highest)))


@lru_cache(maxsize=64)
def _run_mu(epsilon: float, delta: float, distribution: str, gamma: float) -> float:
    """Return the μ of each run for which the best of them is (ε, δ)-DP."""

    def holds(mu: float) -> bool:
        event = RepeatAndSelectEvent(GDPEvent(mu), distribution, gamma)
        return bool(event.curve(Neighboring.REPLACE_ONE).delta(epsilon) <= delta)

    highest = gdp_mu(epsilon, delta)
    return bisect(holds, 1e-3 * highest, highest, arithmetic(1e-4))


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


@parameters
class PrivateSearch(HeldOutFit[_Records, SearchPlan, _Outcome]):
    """The transaction of a search; a subclass names its candidates."""

    epsilon: float = 1.0
    delta: float | None = None
    method: str = "auto"
    mean_runs: float = 10
    distribution: str = "geometric"
    threshold: float | None = None
    holdout: float = 0.2
    scoring: Scoring = None
    score_bounds: tuple[float, float] | None = None
    release_scores: bool = False
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    n_jobs: int | None = None
    random_state: RandomState = None

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
        X, y = self._rows(X, y)
        may_vary = frozenset({"epsilon"} if self.method == "cheapest" else ())
        self._tried = checked_settings(self.estimator, self._candidates(), may_vary)
        candidates = [candidate_of(self.estimator, setting) for setting in self._tried]
        self._judged_by = row_score(self.scoring, self.score_bounds, candidates)
        if self.method == "cheapest":
            low, high = self._judged_by.bounds
            check_real("threshold", self.threshold, low=low, high=high, closed="[]")
        public = parameters.neighboring.count_is_public
        rows = Records.of_rows(X, y, groups, count_is_public=public)
        # The labels in all rows are public if a candidate has no `classes`.
        unnamed = any(map(unnamed_classes, candidates))
        records = rows.with_facts(classes_of(type(self).__name__, y, None) if unnamed else None)
        n = records.n_records
        if n_held_out(share, records) in (0, n):
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
        for i, setting in enumerate(self._tried):
            cost = rehearsed(partial(self._made, i, plan, records, None), records, self.holdout)
            if cost is None:
                unit = "record" if records.persons is None else "person"
                raise ValueError(
                    f"with {setting!r} a fit does not protect a {unit}, which the search requires. "
                    "With groups=, it requires a person."
                )
            if not plan.runs[i].pays_for(cost, plan.terms.neighboring):
                raise ValueError(
                    f"with {setting!r} a fit is not Gaussian DP, or not pure DP with delta=0. Use "
                    "the default solver, no subsample, and one step with a parameter epsilon."
                )

    def _read(self, plan: SearchPlan, records: _Records, rng: np.random.Generator) -> _Outcome:
        judges, rows = assigned(records, self.holdout, rng)
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
        made = candidate_of(self.estimator, self._tried[i])
        steps_of(made)[-1].set_params(**dict.fromkeys(unnamed_classes(made), records.facts))
        return priced(made, plan.runs[i], plan.terms.neighboring, seed)

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
            warn_paid("No candidate reached the threshold.")
            return self
        promise(fitted, guarantee)
        self.best_params_, self.best_estimator_ = clone(self._tried[best], safe=False), fitted
        if scores and (n_judges := n_held_out(self.holdout, records)):
            self._publish_scores(np.array(scores) / n_judges, plan)
        take_attributes(self, fitted)
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
