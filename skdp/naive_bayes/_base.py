"""What the private naive Bayes classifiers share: validate, plan, spend, ask, publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._data_validation import encode_labels
from skdp._private_fit import NonPrivatePlan, PrivateFit, ReleaseTerms
from skdp._validation import check_choice
from skdp.naive_bayes.features import Feature, class_counts
from skdp.privacy import PrivacyGuarantee
from skdp.workloads import NOISES, QueryPlan, plan_queries

__all__ = ["PrivateNaiveBayes"]

_LEAST_COUNT = 1.0
_LEAST_LOG = -700.0  # e to this power is a double


@dataclass(frozen=True, eq=False)
class LabelledColumns:
    """Validated columns, classes of the rows as 0..K−1, and what is public about both."""

    columns: Any
    codes: np.ndarray
    classes: np.ndarray
    features: Sequence[Feature]


class PrivateNaiveBayes(PrivateFit, ClassifierMixin, BaseEstimator):
    """A naive Bayes classifier that pays for all its counts and sums at once.

    A subclass says what its columns are, and how what was learnt of them is published.
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Learn the classes' laws privately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Values outside of the public bounds or categories are not refused.
        y : array-like of shape (n_samples,)
            *Private.* Labels, of which the set is public.
        **fit_params
            Refused: a `sample_weight` would need a public bound.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, or a value is not finite; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget cannot pay; nothing is learnt and nothing is spent.
        """
        return self._fit_privately(X, y, **fit_params)

    def _check_data(
        self, terms: ReleaseTerms, X: Any, y: Any, **fit_params: Any
    ) -> LabelledColumns:
        _refuse_weights(fit_params)
        check_choice("noise", self.noise, ("auto", *NOISES))
        columns, y = self._validated(X, y)
        classes, codes = encode_labels(type(self).__name__, y, self.classes)
        self._checked_priors(classes.size)
        return LabelledColumns(columns, codes, classes, self._features())

    def _plan(self, terms: ReleaseTerms, records: LabelledColumns) -> QueryPlan | NonPrivatePlan:
        """Return what is asked, with its noise."""
        if not terms.is_private:
            return NonPrivatePlan()
        n_classes = records.classes.size
        queries = [class_counts(n_classes, terms.neighboring)]
        for j, feature in enumerate(records.features):
            queries.append(feature.query(_name(j), n_classes, terms.neighboring))
        pays_in = None if self.budget is None else self.budget.composition
        return plan_queries(queries, terms.epsilon, terms.delta, self.noise, composition=pays_in)

    def _read(
        self, plan: QueryPlan | NonPrivatePlan, records: LabelledColumns, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        answers = {"classes": np.bincount(records.codes, minlength=records.classes.size)}
        for j, (feature, x) in enumerate(zip(records.features, records.columns, strict=True)):
            answers[_name(j)] = feature.answer(x, records.codes, records.classes.size)
        return answers if isinstance(plan, NonPrivatePlan) else plan.release(answers, rng)

    def _publish(
        self, plan: Any, records: LabelledColumns, released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        self.classes_, self.privacy_ = records.classes, guarantee
        counts = np.maximum(released["classes"], _LEAST_COUNT)
        self.class_count_ = counts
        priors = self._checked_priors(counts.size)
        self.class_prior_ = counts / counts.sum() if priors is None else priors
        learnt = [f.learn(released[_name(j)], counts) for j, f in enumerate(records.features)]
        self._publish_features(learnt)
        return self

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return the columns of X, and y."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        return self._columns(X), y

    def _revalidated(self, X: Any) -> Any:
        """Return the columns of X for prediction."""
        return self._columns(validate_data(self, X, dtype=np.float64, reset=False))

    def _columns(self, X: Any) -> Any:
        return X.T

    def _checked_priors(self, n_classes: int) -> np.ndarray | None:
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (n_classes,) or not (priors > 0.0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {n_classes} positive numbers that sum to 1, got {self.priors!r}."
            )
        return priors

    @abstractmethod
    def _features(self) -> Sequence[Feature]:
        """Return what the columns are, from public parameters."""

    @abstractmethod
    def _publish_features(self, learnt: list[Any]) -> None:
        """Set the released attributes from what the features have learnt."""

    @abstractmethod
    def _laws(self) -> Sequence[Any]:
        """Return what `_publish_features` was given."""

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(x, class) of shape (n_samples, n_classes)."""
        check_is_fitted(self, "class_count_")
        columns = self._revalidated(X)
        joint = np.log(self.class_prior_)
        for feature, x, law in zip(self._features(), columns, self._laws(), strict=True):
            joint = joint + feature.log_likelihood(x, law)
        return joint

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(class | x) of shape (n_samples, n_classes), −700 at least."""
        joint = self.predict_joint_log_proba(X)
        return np.maximum(joint - logsumexp(joint, axis=1, keepdims=True), _LEAST_LOG)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(class | x) of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = not math.isinf(self.epsilon)  # noise, on tiny data
        tags.non_deterministic = self.random_state is None
        return tags


def _name(j: int) -> str:
    return f"column {j}"


def _refuse_weights(fit_params: dict[str, Any]) -> None:
    """Raise if `fit` was given more than data."""
    if any(value is not None for value in fit_params.values()):
        raise ValueError(
            f"fit takes X and y only, got {sorted(fit_params)}. A sample_weight would need a "
            "public bound."
        )
