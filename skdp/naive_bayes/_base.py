"""Base class of the private naive Bayes classifiers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters
from skdp._several_fits import together
from skdp.data.column_facts import ColumnBounds, bounds_of_numbers, categories_by_column
from skdp.data.columns import Columns, column_name
from skdp.data.exact_sums import Sums
from skdp.data.joint import JointClassifier
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records, labels_of
from skdp.data.validation import encoded, encoding_for, model_columns, validated_table
from skdp.naive_bayes._totals import NaiveBayesFacts, Totals, answers, column_key
from skdp.naive_bayes.features import CategoricalFeature, Feature, NumericFeature
from skdp.privacy import PrivacyGuarantee, Unit
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_size
from skdp.workloads import NOISES, QueryPlan
from skdp.workloads.plan import becomes_gaussian

# No guarantee rests on these: they keep released numbers useful.
_LEAST_COUNT = 1.0
_SMALLEST = 1e-9  # variance without privacy, in units of the squared half-width of the bounds
_MOST_ROWS = 2**29  # sums of this many multiples of 2^−24 in [−1, 1] are exact as floats
# Found on thirteen tables, n = 400 to 20 000 and ε = 0.3 to 3; no guarantee rests on it.
_TEMPER = 75.0


class PrivateNaiveBayes(
    JointClassifier, PrivateEstimator[Records[NaiveBayesFacts], QueryPlan | NonPrivatePlan, Sums]
):
    """A naive Bayes classifier that releases all its counts and sums at once.

    A subclass names the features of its columns and publishes what they learned.
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
    ) -> Records[NaiveBayesFacts]:
        """Check the records; `known` are the classes of `partial_fit`, None in `fit`."""
        check_choice("noise", self.noise, ("auto", *NOISES))
        earlier = None if known is None else getattr(self, "_totals_", None)
        more |= {"max_weight": self.max_weight, "is_private": parameters.is_private}
        given = Records.of(self, X, y, **more, reset=earlier is None, facts=self._features)
        known = self.classes if known is None else known
        features, check = given.facts, partial(_check_types, given.facts, self._advice)
        records, classes = labels_of(given, type(self).__name__, known, check)
        self._check_rows(records)
        self._checked_priors(classes.size)
        facts = NaiveBayesFacts(classes, features, earlier)
        if earlier is not None:
            self._check_unchanged(earlier, facts, parameters)
        return records.with_facts(facts)

    def _check_rows(self, records: Records[Sequence[Feature]]) -> None:
        if records.n_rows >= _MOST_ROWS:
            raise ValueError(f"{type(self).__name__} takes fewer than 2^29 rows.")
        if records.weights is None or self._is_private():
            return
        if not records.total(_positive_weights)["positive"]:
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

    def _plan(
        self, parameters: ReleaseParameters, records: Records[NaiveBayesFacts]
    ) -> QueryPlan | NonPrivatePlan:
        if not parameters.is_private:
            return NonPrivatePlan()
        queries = records.facts.queries(parameters.neighboring)
        if parameters.unit is Unit.PERSON:
            queries = [replace(query, l2_sensitivity=math.inf) for query in queries]
        elif records.is_weighted:
            queries = [replace(query, integer=False) for query in queries]
        return parameters.plan_queries(queries, self.noise)

    def _published_guarantee(
        self,
        parameters: ReleaseParameters,
        plan: QueryPlan | NonPrivatePlan,
        records: Records[NaiveBayesFacts],
    ) -> PrivacyGuarantee:
        now = super()._published_guarantee(parameters, plan, records)
        return now if records.facts.earlier is None else together(self.privacy_, now)

    def _read(
        self,
        plan: QueryPlan | NonPrivatePlan,
        records: Records[NaiveBayesFacts],
        rng: np.random.Generator,
    ) -> Sums:
        if isinstance(plan, NonPrivatePlan):
            return records.total(partial(answers, False))
        return plan.release(records.total(partial(answers, True)), rng)

    def _publish(
        self,
        plan: QueryPlan | NonPrivatePlan,
        records: Records[NaiveBayesFacts],
        released: Sums,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        totals = self._totals_ = _totals(plan, records, released)
        counts = totals.sums["classes"]
        if totals.n_rows is not None:
            counts = _with_sum(counts, totals.n_rows)
        counts = np.maximum(counts, _LEAST_COUNT * _unit(records))
        self.classes_, self.privacy_, self.class_count_ = records.facts.classes, guarantee, counts
        priors = self._checked_priors(counts.size)
        self.class_prior_ = counts / counts.sum() if priors is None else priors
        keyed = ((column_key(j), feature) for j, feature in enumerate(records.facts.features))
        learned = [f.learn(totals.sums[key], counts, totals.noise[key]) for key, f in keyed]
        self._publish_features(learned)
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

    def _categorical_feature(self, values: np.ndarray) -> CategoricalFeature:
        return CategoricalFeature(values, check_size("alpha", self.alpha))

    def _is_private(self) -> bool:
        return self.epsilon < math.inf

    @abstractmethod
    def _features(self) -> Sequence[Feature]:
        """Return the features of the columns, from public parameters."""

    @abstractmethod
    def _publish_features(self, learned: list[np.ndarray]) -> None:
        """Set the released attributes from what the features learned."""

    @abstractmethod
    def _learned(self) -> Sequence[np.ndarray]:
        """Return the argument of `_publish_features`, from the released attributes."""

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
        _check_columns(features, self._advice, columns)
        joint = np.log(self.class_prior_)
        for feature, x, learned in zip(features, columns.parts, self._learned(), strict=True):
            joint = joint + feature.log_likelihood(x, learned)
        return joint

    def _joint(self, X: MatrixLike) -> np.ndarray:
        return self._tempered(super()._joint(X))

    def _tempered(self, joint: np.ndarray) -> np.ndarray:
        """Return the logarithm of p(x, class)^t·p(class)^(1−t), with t in (0, 1] by what is known.

        The noise of d features adds up in a row's log-likelihood to about √d·s/n times a constant,
        s/n the relative noise of the class counts. Without privacy t = 1; t tends to 1 with n.
        """
        noise = math.sqrt(float(np.max(self._totals_.noise["classes"])))
        n, d = float(self.class_count_.sum()), model_columns(self)[0]
        share = n / (n + _TEMPER * math.sqrt(d) * noise)
        prior = np.log(self.class_prior_)
        return joint if share == 1.0 else prior + share * (joint - prior)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._is_private()  # noise, on tiny data
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = self._is_private()
        return tags


def _check_columns(features: Sequence[Feature], advice: str, columns: Columns) -> None:
    for j, (feature, part) in enumerate(zip(features, columns.parts, strict=True)):
        name = columns.name(j)
        feature.check(part, name, advice.format(name))


def _check_types(
    features: Sequence[Feature], advice: str, records: Records[Sequence[Feature]]
) -> None:
    _check_columns(features, advice, records.columns)


def _positive_weights(records: Records[Sequence[Feature]]) -> Sums:
    return {"positive": np.sum(records.weights != 0.0)}


def _unit(records: Records[NaiveBayesFacts]) -> float:
    """Return the weight of a full record; the answers count records in units of it."""
    return 1.0 if records.max_weight is None else records.max_weight


def _totals(
    plan: QueryPlan | NonPrivatePlan, records: Records[NaiveBayesFacts], released: Sums
) -> Totals:
    """Return the released sums of these records plus the earlier ones."""
    unit, facts = _unit(records), records.facts
    sums = {name: unit * numbers for name, numbers in released.items()}
    noise = {name: unit**2 * _mean_square(plan, name) for name in sums}
    n_rows = None if records.is_weighted else records.n_known
    now = Totals(facts.settings, sums, noise, n_rows)
    return now if facts.earlier is None else facts.earlier + now


def _mean_square(plan: QueryPlan | NonPrivatePlan, name: str) -> float:
    """Return the mean square of the noise in each number of an answer."""
    return 0.0 if isinstance(plan, NonPrivatePlan) else plan.mechanism(name).expected_loss("l2")


def _with_sum(counts: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest counts with a public sum.

    For independent noise of one size this is the linear unbiased estimate of least variance (Gauss
    and Markov): σ²·(1 − 1/K) instead of σ² for K classes.
    """
    return counts - (counts.sum() - total) / counts.size
