"""Base class of the private naive Bayes classifiers, and what is asked of each column."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import (
    NonPrivatePlan,
    PrivateEstimator,
    ReleaseParameters,
    together,
    warn_paid,
)
from skdp.data.column import Column
from skdp.data.column_facts import (
    ColumnBounds,
    bounds_of_numbers,
    categories_by_column,
    category_codes,
    check_comparable,
)
from skdp.data.columns import Columns, column_name
from skdp.data.exact_sums import Sums
from skdp.data.lazy import JointClassifier, lazy_on_blocks
from skdp.data.records import Records, labels_of
from skdp.data.validation import (
    encoded,
    encoding_for,
    model_columns,
    refuse_missing,
    validated_table,
)
from skdp.privacy import Neighboring, PrivacyGuarantee, Unit
from skdp.statistics._moments import is_at_end
from skdp.support.safe_numbers import SUM, up
from skdp.support.types import Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_size
from skdp.workloads import NOISES, Query, QueryPlan
from skdp.workloads.plan import becomes_gaussian, counts_query

_NO_DIFFERENCE = 1e-300  # 0 stays 0 without noise
_UNIT = 2.0**24  # values are summed in whole parts of 1/_UNIT: exactly, for up to 5e8 rows
# If u' replaces u within a class, its moments (u, 2u² − 1) move by t·(1, 2s) with t = |u − u'| and
# s = |u + u'| ≤ 2 − t. The length is at most (2 − s)·√(1 + 4s²). Its derivative is 0 where
# 8s² − 8s + 1 = 0. The larger root is the maximum, √5.1447 (documentation, *Naive Bayes*).
_APART = 0.25 * (2.0 + math.sqrt(2.0))


def in_units(numbers: np.ndarray) -> np.ndarray:
    """Return numbers rounded to multiples of 2^−24: their sums are exact."""
    return np.rint(numbers * _UNIT) / _UNIT


def in_units_below(weights: np.ndarray) -> np.ndarray:
    """Return weights rounded down to multiples of 2^−24.

    A number in [−1, 1] times such a weight, rounded to a multiple, has at most the size of the
    weight. So the numbers of a person add up to at most the weight of the person's rows.
    """
    return np.floor(weights * _UNIT) / _UNIT


class Feature(ABC):
    """One column, with public bounds or categories."""

    @property
    @abstractmethod
    def settings(self) -> tuple[object, ...]:
        """The public parameters of the answers; answers with equal ones can be added up."""

    def check(self, x: Column, name: Label, advice: str) -> None:  # noqa: B027
        """Raise if this feature cannot read the column; `advice` ends the message."""

    @abstractmethod
    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        """Return the query, for some numbers per class."""

    @abstractmethod
    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the *private* answer, for a column x and class codes; weights are in [0, 1]."""

    @abstractmethod
    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return the fitted parameters of a released answer.

        `counts` are the released sizes of the classes, `noise` the mean square of the noise in each
        number.
        """

    @abstractmethod
    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        """Return log p(x | class) of shape (n_samples, n_classes)."""


@dataclass(frozen=True)
class NumericFeature(Feature):
    """A number between public bounds, Gaussian in each class; values outside are clipped.

    A missing value counts as the middle of the bounds, in `fit` and in prediction.
    `least_variance` is in units of the squared half-width of the bounds.

    The query is Σ u and Σ (2u² − 1) per class, where u ∈ [−1, 1] is the scaled value. One record
    contributes a vector of length at most √2. If its value is replaced within its class, the sums
    move by (u − u')·(1, 2(u + u')), of length at most √5.1447. If its class changes, two vectors of
    length √2 move in two classes.
    """

    low: float
    high: float
    least_variance: float
    clipped: bool = True

    @property
    def settings(self) -> tuple[object, ...]:
        return self.low, self.high, self.clipped

    def check(self, x: Column, name: Label, advice: str) -> None:
        x.check_numeric(name, advice=advice)
        if not self.clipped:
            refuse_missing(x.floats()[:, None], [name])

    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        if neighboring is Neighboring.ADD_REMOVE_ONE:
            return Query(
                name,
                size=2 * n_classes,
                linf_sensitivity=1.0,
                l0_sensitivity=2,
                l2_sensitivity=math.sqrt(2.0),
            )
        # A record that changes its class moves two vectors of length √2, together by 2: less than
        # this. In l1 it is the worse case: 1 in each of four numbers, against (2 − s)·(1 + 2s) ≤
        # 3.125. Rounding keeps [−1, 1], and so l1 and l∞.
        longest = up((2.0 - _APART) * math.sqrt(1.0 + 4.0 * _APART**2), SUM)
        # Each number of either record is rounded by 2⁻²⁵ at most: 2⁻²⁴ in each of two sums.
        longest += math.sqrt(2.0) / _UNIT
        return Query(
            name,
            size=2 * n_classes,
            linf_sensitivity=2.0,
            l0_sensitivity=4,
            l1_sensitivity=4.0,
            l2_sensitivity=longest,
        )

    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        u = (self._known(x) - self._middle) / self._half
        moments = [u, 2.0 * u * u - 1.0]
        if self.clipped:
            moments = [np.clip(m, -1.0, 1.0) for m in moments]
        if weights is not None:
            moments = [weights * m for m in moments]
        if self.clipped:
            moments = [in_units(m) for m in moments]
        return np.concatenate([np.bincount(codes, m, n_classes) for m in moments])

    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return means and variances, of shape (2, n_classes)."""
        first, second = answer.reshape(2, -1) / counts
        if self.clipped:
            first = np.clip(first, -1.0, 1.0)
        # A variance is at least half the standard deviation of its own noise, (d second)/2 −
        # 2·first·(d first) divided by the count of the class: it is not known better than that.
        error = np.sqrt(noise * (0.25 + 4.0 * first**2)) / counts
        least = np.maximum(np.minimum(0.5 * error, 1.0), self.least_variance)
        variance = np.maximum(0.5 * (second + 1.0) - first**2, least)
        first = _pooled(first, math.sqrt(noise) / counts, counts)
        variance = _pooled(variance, error, counts)
        return np.stack([self._middle + self._half * first, self._half**2 * variance])

    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        mean, variance = learned
        x = self._known(x)
        return -0.5 * (np.log(2.0 * math.pi * variance) + (x[:, None] - mean) ** 2 / variance)

    def _known(self, x: VectorLike) -> np.ndarray:
        """Return floats without NaN, clipped to the bounds in private fits."""
        values = Column.of(x).floats()
        values = np.where(np.isnan(values), self._middle, values)
        return np.clip(values, self.low, self.high) if self.clipped else values

    @property
    def _middle(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def _half(self) -> float:
        return 0.5 * (self.high - self.low)


def _pooled(numbers: np.ndarray, noise: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return numbers of classes, moved toward their mean as far as noise may be the difference.

    A difference D with noise s becomes D·D²/(D² + s²). A threshold, D·max(0, 1 − s²/D²), loses many
    small differences that say much together: of 30 columns, AUC .79 instead of .95.
    """
    mean = (numbers * counts).sum(axis=0) / counts.sum()
    apart = numbers - mean
    known = apart**2 / np.maximum(apart**2 + noise**2, _NO_DIFFERENCE)
    return mean + known * apart


@dataclass(frozen=True, eq=False)
class CategoricalFeature(Feature):
    """A category out of public values; other and missing values count in no category.

    `smoothing` is added to every released count.
    """

    values: np.ndarray
    smoothing: float

    def check(self, x: Column, name: Label, advice: str) -> None:
        check_comparable(x, self.values, name)

    @property
    def settings(self) -> tuple[object, ...]:
        return tuple(self.values.tolist())

    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        return counts_query(name, self.values.size * n_classes, neighboring.n_changed)

    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        places = category_codes(x, self.values)
        known = places >= 0
        cells = (codes * self.values.size + places)[known]
        counted = None if weights is None else weights[known]
        return np.bincount(cells, counted, n_classes * self.values.size)

    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return log p(category | class) of shape (n_classes, n_categories)."""
        sizes = counts[:, None]
        shares = np.maximum(answer.reshape(counts.size, -1), 0.0) / sizes
        cells = sizes * _pooled(shares, math.sqrt(noise) / sizes, sizes) + self.smoothing
        return np.log(cells / cells.sum(axis=1, keepdims=True))

    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        places = category_codes(x, self.values)
        return np.where(places[:, None] >= 0, learned.T[places], 0.0)


@dataclass(frozen=True, eq=False)
class NaiveBayesFacts:
    """*Public* classes of the records, features of their columns, and earlier releases."""

    classes: np.ndarray
    features: Mapping[str, Feature]  # by the name of the query
    earlier: Totals | None = None

    @property
    def settings(self) -> tuple[tuple[object, ...], ...]:
        """The parameters of all answers; answers with equal ones can be added up."""
        return tuple(feature.settings for feature in self.features.values())

    def queries(self, neighboring: Neighboring) -> list[Query]:
        """Return the queries for records of weight 1."""
        n_classes = self.classes.size
        return [
            counts_query("classes", n_classes, neighboring.n_changed),
            *(one.query(name, n_classes, neighboring) for name, one in self.features.items()),
        ]


@dataclass(frozen=True, eq=False)
class Totals:
    """Noisy sums over the rows of one or several fits."""

    settings: tuple[tuple[object, ...], ...]  # *public*; only sums with equal ones are added up
    sums: Mapping[str, np.ndarray]  # *released*, in units of a record
    noise: Mapping[str, float]  # *public* mean square of the noise in each number
    n_rows: int | None  # *public*; None if it is private or rows have weights

    def __add__(self, other: Totals) -> Totals:
        sums = {name: total + other.sums[name] for name, total in self.sums.items()}
        noise = {name: square + other.noise[name] for name, square in self.noise.items()}
        if self.n_rows is None or other.n_rows is None:
            return Totals(self.settings, sums, noise, None)
        return Totals(self.settings, sums, noise, self.n_rows + other.n_rows)


Rows: TypeAlias = Records[NaiveBayesFacts]
Plan: TypeAlias = QueryPlan | NonPrivatePlan


def answers(exact: bool, records: Rows) -> Sums:
    """Return the *private* answers; `exact` sums take weights as multiples of 2^−24."""
    facts, codes, weights = records.facts, records.y, records.shares
    if weights is not None and exact:
        weights = in_units(weights) if records.persons is None else in_units_below(weights)
    n_classes = facts.classes.size
    found = {"classes": np.bincount(codes, weights, n_classes)}
    for (name, feature), x in zip(facts.features.items(), records.columns.parts, strict=True):
        found[name] = feature.answer(x, codes, n_classes, weights)
    return found


# No guarantee rests on these: they keep released numbers useful.
_LEAST_COUNT = 1.0
_SMALLEST = 1e-9  # variance without privacy, in units of the squared half-width of the bounds
_MOST_ROWS = 2**29  # sums of this many multiples of 2^−24 in [−1, 1] are exact as floats
# Found by benchmarks/bench_naive_bayes.py --probabilities; no guarantee rests on it.
_TEMPER = 50.0


class PrivateNaiveBayes(JointClassifier, PrivateEstimator[Rows, Plan, Sums]):
    """A naive Bayes classifier that releases all its counts and sums at once.

    Columns with `categories` are counted, others are numbers with `bounds`. A subclass has one of
    these parameters or both.
    """

    is_model = True

    _advice = ""
    """End of the error for a column of strings, formatted with the name of the column."""

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Learn the distributions of the classes privately.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Numbers are clipped to their bounds; a missing number counts as their middle.
            Unknown categories are not counted.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels from a public set.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* Weight of each record, clipped to [0, `max_weight`] unless ``epsilon=inf``.
        groups : array-like of shape (n_samples,) or None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is learned.
        """
        self._fit_privately(X, y, sample_weight=sample_weight, groups=groups)
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: ArrayLike | None = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Learn from more rows: add their released counts and sums to the earlier ones.

        Each call spends (`epsilon`, `delta`) again, and `privacy_` is the composition of all calls,
        for parameters that were fixed beforehand. A budget also covers parameters chosen later. The
        noise of k calls is √k times the noise of one. If a call fails after the spend, the model
        loses what it learned before.

        To read the records once in chunks at the cost of one call, give each chunk its own
        partition: ``set_params(budget=budget.at(partition=k))``. A partition read twice costs
        twice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* As in `fit`.
        y : array-like of shape (n_samples,)
            *Private.* As in `fit`.
        classes : array-like or None
            *Public.* All labels that may occur. Required at the first call unless the parameter
            `classes` is set.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* As in `fit`.
        groups : array-like of shape (n_samples,) or None
            *Private.* As in `fit`. The rows of a person must be in one partition.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            As in `fit`, and if no classes are known, or if the classes, bounds, categories or the
            neighboring relation changed; nothing is spent.
        """
        known = self._known_classes(classes)
        self._fit_privately(X, y, sample_weight=sample_weight, groups=groups, known=known)
        return self

    def _known_classes(self, classes: ArrayLike | None) -> np.ndarray:
        every = (getattr(self, "classes_", None), self.classes, classes)
        known = [np.unique(labels) for labels in every if labels is not None]
        if not known:
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may occur."
            )
        if any(not np.array_equal(labels, known[0]) for labels in known):
            raise ValueError(f"classes={known[-1].tolist()} differ from {known[0].tolist()}.")
        return known[0]

    def _is_gaussian(self) -> bool:
        return becomes_gaussian(self.noise)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        known: np.ndarray | None = None,
        **more: VectorLike,
    ) -> Rows:
        """Check the records; `known` are the classes of `partial_fit`, None in `fit`."""
        check_choice("noise", self.noise, ("auto", *NOISES))
        earlier = None if known is None else getattr(self, "_totals_", None)
        more |= {"max_weight": self.max_weight, "is_private": parameters.is_private}
        given = Records.of(self, X, y, **more, reset=earlier is None, facts=self._features)
        known = self.classes if known is None else known
        advice, features = self._advice, given.facts
        records, classes = labels_of(
            given,
            type(self).__name__,
            known,
            lambda rows: _check_columns(advice, features, rows.columns),
        )
        self._check_rows(records)
        self._checked_priors(classes.size)
        named = {f"column {j}": feature for j, feature in enumerate(features)}
        facts = NaiveBayesFacts(classes, named, earlier)
        if earlier is not None:
            self._check_unchanged(earlier, facts, parameters)
        return records.with_facts(facts)

    def _check_rows(self, records: Records[Sequence[Feature]]) -> None:
        if records.n_rows >= _MOST_ROWS:
            raise ValueError(f"{type(self).__name__} takes fewer than 2^29 rows.")
        if records.weights is None or self._is_private():
            return
        if not records.total(lambda rows: {"positive": np.sum(rows.weights != 0.0)})["positive"]:
            raise ValueError("sample_weight is zero for all records.")

    def _check_unchanged(
        self, earlier: Totals, facts: NaiveBayesFacts, parameters: ReleaseParameters
    ) -> None:
        if earlier.settings != facts.settings:
            raise ValueError(
                "bounds and categories may not change in partial_fit: earlier calls released sums "
                "for the first ones."
            )
        if self.privacy_.neighboring != parameters.neighboring:
            raise ValueError(
                f"neighboring may not change in partial_fit: earlier calls used "
                f"{str(self.privacy_.neighboring)!r}, got {str(parameters.neighboring)!r}."
            )

    def _plan(self, parameters: ReleaseParameters, records: Rows) -> Plan:
        if not parameters.is_private:
            return NonPrivatePlan()
        queries = records.facts.queries(parameters.neighboring)
        if parameters.unit is Unit.PERSON:
            queries = [replace(query, l2_sensitivity=math.inf) for query in queries]
        elif records.is_weighted:
            queries = [replace(query, integer=False) for query in queries]
        return parameters.plan_queries(queries, self.noise)

    def _published_guarantee(self, now: PrivacyGuarantee, records: Rows) -> PrivacyGuarantee:
        return now if records.facts.earlier is None else together(self.privacy_, now)

    def _read(self, plan: Plan, records: Rows, rng: np.random.Generator) -> Sums:
        if isinstance(plan, NonPrivatePlan):
            return records.total(partial(answers, False))
        return plan.release(records.total(partial(answers, True)), rng)

    def _publish(
        self, plan: Plan, records: Rows, released: Sums, guarantee: PrivacyGuarantee
    ) -> Self:
        totals = self._totals_ = _totals(plan, records, released)
        counts = totals.sums["classes"]
        if totals.n_rows is not None:
            # The nearest counts with a public sum. For independent noise of one size this is the
            # linear unbiased estimate of least variance (Gauss and Markov): σ²·(1 − 1/K) instead of
            # σ² for K classes.
            counts = counts - (counts.sum() - totals.n_rows) / counts.size
        counts = np.maximum(counts, _LEAST_COUNT * _unit(records))
        self.classes_, self.privacy_, self.class_count_ = records.facts.classes, guarantee, counts
        priors = self._checked_priors(counts.size)
        self.class_prior_ = counts / counts.sum() if priors is None else priors
        learned = [
            (feature, feature.learn(totals.sums[name], counts, totals.noise[name]))
            for name, feature in records.facts.features.items()
        ]
        if at_end := [*_names_at_end(self, records.facts.features, totals, counts.sum())]:
            warn_paid(
                f"Columns {at_end} may be at an end of their bounds, to which values are clipped. "
                "Check the units and the bounds."
            )
        if hasattr(self, "bounds"):
            numbers = [found for one, found in learned if isinstance(one, NumericFeature)]
            shape = (len(numbers), 2, counts.size)  # also without numeric columns
            self.theta_, self.var_ = np.reshape(numbers, shape).transpose(1, 2, 0)
        if hasattr(self, "categories"):
            self.feature_log_prob_ = [
                found for one, found in learned if isinstance(one, CategoricalFeature)
            ]
        return self

    def _checked_priors(self, n_classes: int) -> np.ndarray | None:
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (n_classes,) or not (priors > 0.0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {n_classes} positive numbers that sum to 1, got {self.priors!r}."
            )
        return priors

    def _features(self) -> list[Feature]:
        """Return the features of the columns, from public parameters."""
        values, columns = self._categories(), range(model_columns(self)[0])
        numbers = iter(self._numeric_features([j for j in columns if j not in values]))
        return [
            CategoricalFeature(values[j], check_size("alpha", self.alpha))
            if j in values
            else next(numbers)
            for j in columns
        ]

    def _categories(self) -> dict[int, np.ndarray]:
        encoding = encoding_for(self)
        given = self.categories if encoding is None else encoding.categories
        return categories_by_column(given, *model_columns(self))

    def _numeric_features(self, columns: list[int]) -> list[NumericFeature]:
        floor, private = check_size("least_variance", self.least_variance), self._is_private()
        if not columns or (self.bounds is None and not private):
            return [NumericFeature(-1.0, 1.0, _SMALLEST, False)] * len(columns)
        encoding, (n_columns, names) = encoding_for(self), model_columns(self)
        given = self.bounds if encoding is None else encoding.bounds
        given = bounds_of_numbers(given, columns, n_columns, names)
        bounds = ColumnBounds.of(given, len(columns), [column_name(names, j) for j in columns])
        return [
            NumericFeature(float(low), float(high), floor if private else _SMALLEST, private)
            for low, high in zip(bounds.low, bounds.high, strict=True)
        ]

    def _is_private(self) -> bool:
        return self.epsilon < math.inf

    @lazy_on_blocks
    def predict_joint_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return log p(x, class).

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Rows, treated as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self, "class_count_")
        X = validated_table(self, X, reset=False)
        columns, features = Columns.of(encoded(self, X), "X"), self._features()
        _check_columns(self._advice, features, columns)
        joint = np.log(self.class_prior_)
        for feature, x, learned in zip(
            features, columns.parts, self._learned(features), strict=True
        ):
            joint = joint + feature.log_likelihood(x, learned)
        return joint

    def _learned(self, features: Sequence[Feature]) -> Iterator[np.ndarray]:
        """Yield what each feature learned, from the released attributes."""
        numbers = iter(
            np.stack([self.theta_.T, self.var_.T], axis=1) if hasattr(self, "theta_") else ()
        )
        tables = iter(getattr(self, "feature_log_prob_", ()))
        for feature in features:
            yield next(numbers if isinstance(feature, NumericFeature) else tables)

    def _joint(self, X: MatrixLike) -> np.ndarray:
        return self._tempered(super()._joint(X))

    def _tempered(self, joint: np.ndarray) -> np.ndarray:
        """Return log p(class) + t·log(p(x | class)/p(x)), with t in (0, 1] set by the noise.

        The noise of d features adds up in the log-likelihood of a class to about √d·s/n times a
        constant, s/n the relative noise of its count: a rare class is known less. Without privacy
        t = 1; t tends to 1 with n.
        """
        noise = math.sqrt(float(np.max(self._totals_.noise["classes"])))
        counts = self.class_count_.size * self.class_count_
        known = counts / (counts + _TEMPER * math.sqrt(model_columns(self)[0]) * noise)
        if noise == 0.0:
            return joint
        prior = np.log(self.class_prior_)
        return prior + known * (joint - prior - logsumexp(joint, axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._is_private()  # noise, on tiny data
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = self._is_private()
        return tags


def _check_columns(advice: str, features: Sequence[Feature], columns: Columns) -> None:
    for j, (feature, part) in enumerate(zip(features, columns.parts, strict=True)):
        name = columns.name(j)
        feature.check(part, name, advice.format(name))


def _unit(records: Rows) -> float:
    """Return the weight of a full record; the answers count records in units of it."""
    return 1.0 if records.max_weight is None else records.max_weight


def _names_at_end(
    model: Any, features: Mapping[str, Feature], totals: Totals, n: float
) -> Iterator[Label]:
    """Yield the names of clipped columns whose *released* mean may be at an end of the bounds."""
    for j, (name, feature) in enumerate(features.items()):
        if isinstance(feature, NumericFeature) and feature.clipped:
            first = np.split(totals.sums[name], 2)[0]
            if is_at_end(first.sum(), n, first.size * totals.noise[name]):
                yield column_name(model_columns(model)[1], j)


def _totals(plan: Plan, records: Rows, released: Sums) -> Totals:
    """Return the released sums of these records plus the earlier ones."""
    unit, facts = _unit(records), records.facts
    sums = {name: unit * numbers for name, numbers in released.items()}
    noise = dict.fromkeys(sums, 0.0)  # mean squares
    if not isinstance(plan, NonPrivatePlan):
        noise = {name: unit**2 * plan.mechanism(name).expected_loss("l2") for name in sums}
    n_rows = None if records.is_weighted else records.n_known
    now = Totals(facts.settings, sums, noise, n_rows)
    return now if facts.earlier is None else facts.earlier + now
