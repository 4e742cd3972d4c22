"""What the private naive Bayes classifiers share: validate, plan, spend, ask, publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._fit import encoded_labels, refuse_weights, unchanged_if_refused
from skdp._purchase import buy, check_budget, guarantee_of
from skdp._random import noise_generator
from skdp._validation import check_choice, check_delta, check_epsilon
from skdp.naive_bayes.features import Feature, class_counts
from skdp.privacy import Neighboring, NonPrivateEvent
from skdp.queries import NOISES, QueryPlan, plan_queries

__all__ = ["PrivateNaiveBayes"]

_LEAST_COUNT = 1.0
_RELEASED = (
    "classes_",
    "privacy_",
    "class_count_",
    "class_prior_",
    "theta_",
    "var_",
    "feature_log_prob_",
)
_LEAST_LOG = -700.0  # e to this power is a double


class PrivateNaiveBayes(ClassifierMixin, BaseEstimator):
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
        with unchanged_if_refused(self):
            refuse_weights(fit_params)
            self._check_parameters()
            rng = noise_generator(self.random_state)
            columns, y = self._validated(X, y)
            features = self._features()
            classes, codes = encoded_labels(type(self).__name__, y, self.classes)
            priors = self._checked_priors(classes.size)
            plan = self._plan(features, classes.size)
            guarantee = self._buy(plan)
        for name in _RELEASED:  # the old model is gone, come what may
            self.__dict__.pop(name, None)
        answers = _ask(features, columns, codes, classes.size)
        released = answers if plan is None else plan.release(answers, rng)
        self.classes_, self.privacy_ = classes, guarantee
        self._learn(features, released, priors)
        return self

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_choice("neighboring", self.neighboring, Neighboring)
        check_choice("noise", self.noise, ("auto", *NOISES))
        check_budget(self.budget)

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return the columns of X, and y."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        return self._columns(X), y

    def _revalidated(self, X: Any) -> Any:
        """Return the columns of X for prediction."""
        return self._columns(validate_data(self, X, dtype=np.float64, reset=False))

    def _columns(self, X: Any) -> Any:
        return X.T

    def _plan(self, features: Sequence[Feature], n_classes: int) -> QueryPlan | None:
        """Return what is asked, with its noise; None where there is no privacy."""
        if math.isinf(self.epsilon):
            return None
        neighboring = Neighboring(self.neighboring)
        queries = [class_counts(n_classes, neighboring)]
        for j, feature in enumerate(features):
            queries.append(feature.query(_name(j), n_classes, neighboring))
        pays_in = None if self.budget is None else self.budget.composition
        return plan_queries(queries, self.epsilon, self.delta, self.noise, pays_in=pays_in)

    def _buy(self, plan: QueryPlan | None) -> Any:
        event, theorem = (
            (NonPrivateEvent(), "none, epsilon=inf") if plan is None else (plan.event, plan.theorem)
        )
        guarantee = guarantee_of(event, self.neighboring, theorem)
        label = type(self).__name__
        buy(guarantee, self.budget, epsilon=self.epsilon, delta=self.delta, label=label)
        return guarantee

    def _checked_priors(self, n_classes: int) -> np.ndarray | None:
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (n_classes,) or not (priors > 0.0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {n_classes} positive numbers that sum to 1, got {self.priors!r}. "
                "Nothing was spent."
            )
        return priors

    def _learn(
        self, features: Sequence[Feature], released: dict[str, Any], priors: np.ndarray | None
    ) -> None:
        counts = np.maximum(released["classes"], _LEAST_COUNT)
        self.class_count_ = counts
        self.class_prior_ = counts / counts.sum() if priors is None else priors
        self._publish([f.learn(released[_name(j)], counts) for j, f in enumerate(features)])

    @abstractmethod
    def _features(self) -> Sequence[Feature]:
        """Return what the columns are, from public parameters."""

    @abstractmethod
    def _publish(self, laws: list[Any]) -> None:
        """Set the released attributes from what the features have learnt."""

    @abstractmethod
    def _laws(self) -> Sequence[Any]:
        """Return what `_publish` was given."""

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


def _ask(
    features: Sequence[Feature], columns: Any, codes: np.ndarray, n_classes: int
) -> dict[str, np.ndarray]:
    """Return the *private* answers, one column at a time."""
    answers = {"classes": np.bincount(codes, minlength=n_classes)}
    for j, (feature, x) in enumerate(zip(features, columns, strict=True)):
        answers[_name(j)] = feature.answer(x, codes, n_classes)
    return answers
