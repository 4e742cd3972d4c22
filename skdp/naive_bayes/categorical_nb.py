"""Categorical naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from skdp.budget import PrivacyBudget
from skdp.data.columns import column_name
from skdp.data.validation import model_columns
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import CategoricalFeature
from skdp.support.types import Categories, RandomState

__all__ = ["DPCategoricalNB"]


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
    >>> model.score(X, y) > 0.75
    True
    """

    def __init__(
        self,
        *,
        categories: Categories | None = None,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        alpha: float = 1.0,
        priors: ArrayLike | None = None,
        noise: str = "auto",
        random_state: RandomState = None,
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
        values, (n_columns, names) = self._categories(), model_columns(self)
        if left := [j for j in range(n_columns) if j not in values]:
            raise ValueError(
                "categories must be given for every column: one list for all columns, or a dict by "
                f"column. Columns {[column_name(names, j) for j in left]} have none."
            )
        return [self._categorical_feature(values[j]) for j in range(n_columns)]

    def _publish_features(self, learned: list[np.ndarray]) -> None:
        self.feature_log_prob_ = learned

    def _learned(self) -> Sequence[np.ndarray]:
        return self.feature_log_prob_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # its tests pass numbers that are not codes
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # NaN belongs to no category
        return tags
