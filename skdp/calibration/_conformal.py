"""The transaction of split conformal prediction, its conformity scores and their thresholds."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PaidWarning, ReleaseParameters, warn_paid
from skdp.accounting import gdp_mu
from skdp.budget import BudgetHandle
from skdp.data.exact_sums import STEP_BITS, counted
from skdp.data.records import Records
from skdp.data.validation import places_of
from skdp.exceptions import FewRowsWarning
from skdp.mechanisms import ExponentialMechanism
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
from skdp.statistics._choices import Margin, Neighbors, QuantilePlan, Rank, choose_all
from skdp.support.display import at_least, caller_outside
from skdp.support.other_libraries import public_words
from skdp.support.random import child_generator
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_real, parameters
from skdp.workloads.plan import GaussianPlan, GaussianStep, plan_steps

_HALVINGS = 10  # of the grid, by a search
_N = 2**_HALVINGS  # steps from the grid point 0 to the last one, 1
_MOVED_RANK = 1e-6  # rows: more than a rank changes by roundings of utilities and of noise
# For roundings of 12·2^−23, see `statistics/_choices.py`, if a utility, or the distance of a count
# from its rank, changes by at least 1/2. Those of the counts of several classes are smaller: they
# add up to the number of records.
_ROUNDING = 1.0 + 2.0**-18


class Thresholds(ABC):
    """The plan of private thresholds from the grid 0, 1/N, …, 1, one for each level and group.

    For the level 1 − α the rank among m records is (1 − α)·m + 1 + c. It is at least the
    (1 − α)·(m + 1) of split conformal prediction, plus the mean c of the worst noise: see
    *Conformal prediction* in the documentation.
    """

    levels: tuple[float, ...]
    theorem: str

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of all thresholds together."""

    @abstractmethod
    def raised(self, level: float) -> float:
        """Return 1 + c, in records."""

    @property
    def fewest(self) -> float:
        """The number of records from which on thresholds are mostly below the last one."""
        highest = max(self.levels)
        return self.raised(highest) / (1.0 - highest)

    def choose(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        """Return released thresholds in [0, 1] of shape (n_levels, n_groups).

        Of higher levels they are at least as large, so that prediction sets are nested.
        """
        chosen = self._chosen(counts, rng, in_steps)
        thresholds = np.empty(chosen.shape)
        order = np.argsort(self.levels, kind="stable")
        thresholds[order] = np.maximum.accumulate(chosen[order], axis=0) / _N
        return thresholds

    @abstractmethod
    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        """Return grid points of shape (n_levels, n_groups)."""


def plan_thresholds(
    levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters, in_parts: bool
) -> Thresholds:
    """Return the thresholds of least noise, as the budget counts it, that cost (ε, δ)."""
    if parameters.delta and parameters.counts_gaussians:
        return _Search.of(levels, n_groups, parameters)
    return _Choices.of(levels, n_groups, parameters, in_parts)


@dataclass(frozen=True)
class _Choices(Thresholds):
    """Choices by the exponential mechanism."""

    choices: QuantilePlan
    levels: tuple[float, ...]

    theorem = "exponential mechanism"

    @classmethod
    def of(
        cls, levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters, in_parts: bool
    ) -> _Choices:
        neighbors = Neighbors(parameters.neighboring.n_changed, n_groups, in_parts)
        plain = tuple(Rank(level) for level in levels)
        cost = neighbors.cost((plain,), parameters.epsilon, parameters.delta, "pld")
        # A choice is low by w ranks with probability at most N·e^(−λw), λ = `unit`, because one of
        # N + 1 grid points has the rank: 1 up to w = ln(N)/λ; the rest of the mean adds 1/λ.
        shortfall = (1.0 + math.log(_N)) / cost.unit
        raised = Margin((1.0,), (1.0 + shortfall + _MOVED_RANK,))
        ranks = tuple(Rank(level, raised, 1) for level in levels)
        # A record changes a utility by at most 1: #{s ≤ t} by 1 if it is replaced, else less.
        choice = ExponentialMechanism(sensitivity=_ROUNDING, epsilon=2.0 * _ROUNDING * cost.unit)
        return cls(QuantilePlan(choice, cost.ranges, (ranks,)), levels)

    @property
    def event(self) -> Event:
        return self.choices.event

    def raised(self, level: float) -> float:
        return self.choices.ranks[0][0].of(0.0)

    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        return choose_all(self.choices, counts[:, None], rng, in_steps)[..., 0].T


@dataclass(frozen=True)
class _Search(Thresholds):
    """Binary searches with Gaussian noise in each count, for budgets that count Gaussian noise.

    They are more precise than choices there. One search asks 10 counts for each group.
    """

    noise: GaussianPlan
    levels: tuple[float, ...]

    theorem = GaussianPlan.theorem

    @classmethod
    def of(cls, levels: tuple[float, ...], n_groups: int, parameters: ReleaseParameters) -> _Search:
        moved = [_ROUNDING * _farthest(x, parameters.neighboring, n_groups) for x in levels]
        steps = [
            GaussianStep(f"level {i}, halving {j}", n_groups, moved[i], 1.0)
            for i in range(len(levels))
            for j in range(_HALVINGS)
        ]
        target = parameters.epsilon, parameters.delta
        return cls(plan_steps("a conformal threshold", steps, *target), levels)

    @property
    def event(self) -> Event:
        return self.noise.event

    def raised(self, level: float) -> float:
        """Return 1 + c. A search is low by w only if one of n = 10 counts has noise of at least w.

        ∫ min(1, n·P(Z ≥ w/σ)) dw = σ·n·φ(z) for n·P(Z ≥ z) = 1.
        """
        scale = self.noise.scale(f"level {self.levels.index(level)}, halving 0")
        shortfall = scale * _HALVINGS * float(norm.pdf(norm.isf(1.0 / _HALVINGS)))
        return 1.0 + shortfall + _MOVED_RANK

    def _chosen(self, counts: np.ndarray, rng: np.random.Generator, in_steps: bool) -> np.ndarray:
        at_most = np.ldexp(np.cumsum(counts, axis=1), -STEP_BITS if in_steps else 0)
        return np.stack([self._found(i, at_most, rng) for i in range(len(self.levels))])

    def _found(self, level: int, at_most: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the first grid point with enough noisy counts, the last one if none has."""
        groups = np.arange(len(at_most))
        wanted = self.levels[level] * at_most[:, -1] + self.raised(self.levels[level])
        low, high = np.ones(groups.size, dtype=int), np.full(groups.size, _N)
        for j in range(_HALVINGS):
            middle = (low + high) // 2
            above = at_most[groups, middle] - wanted
            reached = self.noise.release(f"level {level}, halving {j}", above, rng) >= 0.0
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return high


def _farthest(level: float, relation: Neighboring, n_groups: int) -> float:
    """Return the l2 sensitivity of the vector of each group's count up to t minus its rank.

    A row adds 1 − level or −level to the count of its group, at most m = max(level, 1 − level) in
    size. If it is replaced, it moves one count by at most 1, or two by at most m. Persons have
    shares of a row in several groups and move it no farther: see *Conformal prediction*.
    """
    m = max(level, 1.0 - level)
    if not relation.count_is_public:
        return m
    return max(1.0, math.sqrt(2.0) * m) if n_groups > 1 else 1.0


def counts_of_scores(
    scores: np.ndarray, groups: np.ndarray | None, n_groups: int, records: Records[object]
) -> np.ndarray:
    """Count *private* scores in [0, 1] by the first grid point that is not below them.

    The counts have shape (n_groups, N + 1), in steps if rows are weighted. They are exact: N is a
    power of two, so neither the product nor the next integer is rounded.
    """
    places = np.ceil(scores * _N).astype(np.intp)
    if groups is not None:
        places += groups * (_N + 1)
    counts = counted(places, n_groups * (_N + 1), records.steps)
    return counts.reshape(n_groups, _N + 1)


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
    said: Sequence[warnings.WarningMessage]  # by the fit


@parameters
class PrivateConformal(HeldOutFit[Records[ConformalFacts], ConformalPlan, _Released]):
    """Split conformal prediction with private thresholds; a subclass has the scores."""

    confidence_level: float | Sequence[float] = 0.9
    prefit: bool = False
    conformalize_size: float = 0.5
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    random_state: RandomState = None

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
            if parameters.are_few(n - held_out):
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
        said: Sequence[warnings.WarningMessage] = ()
        if plan.run is None:
            fitted, held_out, predicted = self.estimator, records, records.X
        else:
            held_out, rows = assigned(records, self.conformalize_size, rng)
            seed = None if self.random_state is None else child_generator(rng)
            model = priced(clone(facts.model), plan.run, plan.neighboring, seed)
            with warnings.catch_warnings(record=True, action="always") as said:
                fitted = learned(rows, held_out, model)
            some = held_out.n_rows > 0
            predicted = self._predictions(fitted, held_out.X) if some else facts.none
        truth = facts.truth(held_out.y)
        groups = truth if facts.n_groups > 1 else None
        scores = facts.score.of(predicted, truth)
        counts = counts_of_scores(scores, groups, facts.n_groups, held_out)
        return _Released(fitted, plan.thresholds.choose(counts, rng, held_out.is_weighted), said)

    def _publish(
        self,
        plan: ConformalPlan,
        records: Records[ConformalFacts],
        released: _Released,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        fitted, thresholds, said = released
        if plan.run is not None:
            promise(fitted, guarantee)
        for one in said:  # others, such as those of a step of a pipeline, may show values
            if issubclass(one.category, (PaidWarning, FewRowsWarning)):
                warn_paid(str(one.message), one.category)
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
