"""Naive Bayes for numeric and categorical columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from skdp.budget import PrivacyBudget
from skdp.data.validation import model_columns
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import Feature, NumericFeature
from skdp.support.types import Bounds, Label, RandomState

__all__ = ["DPMixedNB"]


class DPMixedNB(PrivateNaiveBayes):
    """Naive Bayes for numeric and categorical columns, with (ε, δ)-differential privacy.

    Columns with `categories` are counted as in `DPCategoricalNB`. All others are Gaussian between
    `bounds`, as in `DPGaussianNB`. Everything is one joint release. With ``epsilon=inf`` nothing is
    clipped.

    Parameters
    ----------
    categories : dict or list
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    alpha : float, default 1.0
        *Public.* Smoothing: added to every released count.
    priors : array-like of shape (n_classes,) or None
        *Public.* Class probabilities. ``None``: estimate them from the released counts.
    least_variance : float, default 1e-3
        *Public.* Floor of each variance, as a fraction of the squared half-width of the bounds. A
        variance is also at least half the standard deviation of its noise.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        *Released*, at least 1. If n is public, the counts are adjusted to sum to n.
    class_prior_ : ndarray of shape (n_classes,)
        `priors`, or computed from `class_count_`.
    theta_, var_ : ndarray of shape (n_classes, n_numeric)
        Means and variances of the numeric columns in their order, computed from *released* sums.
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories)
        One per categorical column in their order, computed from *released* counts.
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
    is (`epsilon`, `delta`)-DP under `neighboring`. *Naive Bayes* in the documentation derives the
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
        categories: Mapping[Label, Sequence[Label]] | Sequence[Label] | None = None,
        bounds: Bounds | None = None,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        alpha: float = 1.0,
        priors: ArrayLike | None = None,
        least_variance: float = 1e-3,
        noise: str = "auto",
        random_state: RandomState = None,
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
        values, columns = self._categories(), range(model_columns(self)[0])
        numbers = iter(self._numeric_features([j for j in columns if j not in values]))
        return [
            self._categorical_feature(values[j]) if j in values else next(numbers) for j in columns
        ]

    def _publish_features(self, learned: list[np.ndarray]) -> None:
        numeric: list[np.ndarray] = []
        tables: list[np.ndarray] = []
        for feature, found in zip(self._features(), learned, strict=True):
            (numeric if isinstance(feature, NumericFeature) else tables).append(found)
        shape = (len(numeric), 2, self.classes_.size)  # also without numeric columns
        self.theta_, self.var_ = np.reshape(numeric, shape).transpose(1, 2, 0)
        self.feature_log_prob_ = tables

    def _learned(self) -> Sequence[np.ndarray]:
        numeric = iter(np.stack([self.theta_.T, self.var_.T], axis=1))
        tables = iter(self.feature_log_prob_)
        return [
            next(numeric if isinstance(feature, NumericFeature) else tables)
            for feature in self._features()
        ]
