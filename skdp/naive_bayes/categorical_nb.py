"""Naive Bayes for categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import CategoricalFeature

__all__ = ["DPCategoricalNB"]


class DPCategoricalNB(PrivateNaiveBayes):
    """Naive Bayes for categories, with (ε, δ)-differentially private counts.

    For each class the number of records, and of each feature the number of records in each
    category, are released, all in one joint release. ``epsilon=inf`` is like scikit-learn's
    `CategoricalNB`.

    Parameters
    ----------
    categories : dict or list
        *Public.* The values that columns can have: a dict from names or numbers of columns to
        lists, or a list that holds for every column. A record with another value, or a missing
        one, counts in none, and prediction leaves the column out for it.
    classes : array-like or None, default None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
    max_weight : float or None, default None
        *Public.* Largest sample weight that counts; ``None`` refuses weights.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails. ``None``: the budget's δ, or 1e-5.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* Budget that `fit` spends from before it reads the data.
    alpha : float, default 1.0
        *Public.* Smoothing, added to every count that was released.
    priors : array-like of shape (n_classes,) or None, default None
        *Public.* Probabilities of the classes; ``None`` takes them from the released sizes.
    noise : str, default "auto"
        *Public.* A name of `skdp.workloads.NOISES`, or ``"auto"``, the least; see
        `skdp.workloads.plan_queries`.
    random_state : int, Generator, RandomState or None, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        *Released*, and at least 1. Where n is public the noise is taken out of their sum.
    class_prior_ : ndarray of shape (n_classes,)
        Computed from `class_count_`, or `priors`.
    feature_log_prob_ : list of n_features arrays of shape (n_classes, n_categories)
        Computed from counts that were *released*.
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** All attributes are computed from one composition of additive mechanisms, which
    is (`epsilon`, `delta`)-DP under `neighboring`; *Naive Bayes* in the documentation has the
    sensitivities.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.naive_bayes import DPCategoricalNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=1000)
    >>> X = np.where(rng.random((1000, 2)) < 0.8, y[:, None], 2)  # 2 is "not answered"
    >>> model = DPCategoricalNB(epsilon=1.0, categories=[0, 1, 2], random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.75
    True
    """

    def __init__(
        self,
        *,
        categories: Any = None,
        classes: Any = None,
        max_weight: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        alpha: float = 1.0,
        priors: Any = None,
        noise: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.categories = categories
        self.classes = classes
        self.max_weight = max_weight
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.alpha = alpha
        self.priors = priors
        self.noise = noise
        self.random_state = random_state

    def _features(self) -> Sequence[CategoricalFeature]:
        values = self._categories()
        if left := [j for j in range(self.n_features_in_) if j not in values]:
            names = self._names()
            raise ValueError(
                "categories must be given, the public values that each column can have: a list for "
                f"all columns, or a dict; {[names[j] if names else j for j in left]} have none."
            )
        return [self._categorical_feature(values[j]) for j in range(self.n_features_in_)]

    def _publish_features(self, learned: list[np.ndarray]) -> None:
        self.feature_log_prob_ = learned

    def _learned(self) -> Sequence[np.ndarray]:
        return self.feature_log_prob_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of numbers that are no codes
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # which is in no category
        return tags
