"""Naive Bayes for numbers and categories side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import Feature, NumericFeature

__all__ = ["DPMixedNB"]


class DPMixedNB(PrivateNaiveBayes):
    """Naive Bayes for numbers and categories, with (ε, δ)-differentially private counts and sums.

    Columns with `categories` are counted as in `DPCategoricalNB`, all others are Gaussian between
    `bounds` as in `DPGaussianNB`; everything is one joint release. ``epsilon=inf`` clips nothing.

    Parameters
    ----------
    categories : dict or list
        *Public.* The values that columns can have: a dict from names or numbers of columns to
        lists, or a list that holds for every column. A record with another value, or a missing
        one, counts in none, and prediction leaves the column out for it.
    bounds : pair (low, high), one pair per column, or dict
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
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
    least_variance : float, default 1e-3
        *Public.* Floor of each variance, as a fraction of the squared half distance of the bounds;
        half the standard deviation of its noise is another.
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
    theta_, var_ : ndarray of shape (n_classes, n_numeric)
        Means and variances of the numeric columns in their order, computed from what was
        *released*.
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories)
        One for each categorical column in their order, computed from counts that were *released*.
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
    >>> import pandas as pd
    >>> from skdp.naive_bayes import DPMixedNB
    >>> patients = pd.DataFrame({"age": [17, 70, 25, 81] * 250, "smokes": ["no", "yes"] * 500})
    >>> ill = [0, 1, 0, 1] * 250
    >>> model = DPMixedNB(categories={"smokes": ["no", "yes"]}, bounds={"age": (0, 100)})
    >>> model.fit(patients, ill).score(patients, ill)
    1.0
    """

    _advice = " Name the values that it can have, as in categories={{{!r}: [...]}}."

    def __init__(
        self,
        *,
        categories: Any = None,
        bounds: Any = None,
        classes: Any = None,
        max_weight: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        alpha: float = 1.0,
        priors: Any = None,
        least_variance: float = 1e-3,
        noise: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.categories = categories
        self.bounds = bounds
        self.classes = classes
        self.max_weight = max_weight
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.alpha = alpha
        self.priors = priors
        self.least_variance = least_variance
        self.noise = noise
        self.random_state = random_state

    def _features(self) -> Sequence[Feature]:
        values, columns = self._categories(), range(self.n_features_in_)
        numbers = iter(self._numeric_features([j for j in columns if j not in values]))
        return [
            self._categorical_feature(values[j]) if j in values else next(numbers) for j in columns
        ]

    def _publish_features(self, learned: list[Any]) -> None:
        numbers = [part for part in learned if isinstance(part, tuple)]
        self.theta_, self.var_ = (
            np.reshape([part[i] for part in numbers], (len(numbers), self.classes_.size)).T
            for i in range(2)
        )
        self.feature_log_prob_ = [part for part in learned if not isinstance(part, tuple)]

    def _learned(self) -> Sequence[Any]:
        numbers = iter(zip(self.theta_.T, self.var_.T, strict=True))
        tables = iter(self.feature_log_prob_)
        return [
            next(numbers if isinstance(feature, NumericFeature) else tables)
            for feature in self._features()
        ]
