"""Naive Bayes models of categories, of numbers, and of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from skdp.budget import PrivacyBudget
from skdp.data.columns import column_name
from skdp.data.validation import model_columns
from skdp.naive_bayes._base import NumericFeature, PrivateNaiveBayes
from skdp.support.types import Bounds, Categories, Label, RandomState
from skdp.support.validation import parameters


@parameters
class DPCategoricalNB(PrivateNaiveBayes):
    """Categorical naive Bayes with (ε, δ)-differentially private counts.

    One joint release has the count of each class and, for each class and feature, the count of each
    category. Prediction ignores a value that belongs to no category. With ``epsilon=inf`` it is
    like scikit-learn's `CategoricalNB`.

    Parameters
    ----------
    categories : dict, list or TableSchema
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
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
    feature_log_prob_ : list of n_features arrays of shape (n_classes, n_categories)
        Computed from *released* counts.
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
    >>> import numpy as np
    >>> from skdp.naive_bayes import DPCategoricalNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=1000)
    >>> X = np.where(rng.random((1000, 2)) < 0.8, y[:, None], 2)  # 2 is "not answered"
    >>> model = DPCategoricalNB(epsilon=1.0, categories=[0, 1, 2], random_state=0).fit(X, y)
    >>> model.predict_proba([[0, 0], [1, 2], [0, 1]]).round(1)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    categories: Categories | None = None
    classes: ArrayLike | None = None
    max_weight: float | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    alpha: float = 1.0
    priors: ArrayLike | None = None
    noise: str = "auto"
    random_state: RandomState = None

    def _numeric_features(self, columns: list[int]) -> list[NumericFeature]:
        if columns:
            names = [column_name(model_columns(self)[1], j) for j in columns]
            raise ValueError(
                "categories must be given for every column: one list for all columns, or a dict by "
                f"column. Columns {names} have none."
            )
        return []

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # its tests pass numbers that are not codes
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # NaN belongs to no category
        return tags


@parameters
class DPGaussianNB(PrivateNaiveBayes):
    """Gaussian naive Bayes with (ε, δ)-differentially private counts, means and variances.

    One joint release has the count of each class and, for each class and feature, Σ u and
    Σ (2u² − 1), where u ∈ [−1, 1] is the value scaled from its bounds. Means and variances are
    computed from these. With ``epsilon=inf`` it is like scikit-learn's `GaussianNB`: nothing is
    clipped, and no bounds are needed.

    Parameters
    ----------
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
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances, computed from *released* sums.
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
    >>> from skdp.naive_bayes import DPGaussianNB
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], cluster_std=0.5, random_state=0)
    >>> model = DPGaussianNB(epsilon=1.0, bounds=(-3, 3), random_state=0).fit(X, y)
    >>> model.theta_.round(1), round(model.score(X, y), 1)
    (array([[-1.,  0.],
           [ 1.,  0.]]), 1.0)
    """

    bounds: Bounds | None = None
    classes: ArrayLike | None = None
    max_weight: float | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    priors: ArrayLike | None = None
    least_variance: float = 1e-3
    noise: str = "auto"
    random_state: RandomState = None

    def _categories(self) -> dict[int, np.ndarray]:
        return {}


@parameters
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

    categories: Mapping[Label, Sequence[Label]] | Sequence[Label] | None = None
    bounds: Bounds | None = None
    classes: ArrayLike | None = None
    max_weight: float | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: PrivacyBudget | None = None
    alpha: float = 1.0
    priors: ArrayLike | None = None
    least_variance: float = 1e-3
    noise: str = "auto"
    random_state: RandomState = None
