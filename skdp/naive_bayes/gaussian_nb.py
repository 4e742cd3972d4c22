"""Gaussian naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skdp.budget import PrivacyBudget
from skdp.data.validation import model_columns
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import NumericFeature
from skdp.support.types import Bounds, RandomState

__all__ = ["DPGaussianNB"]


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
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        priors: ArrayLike | None = None,
        least_variance: float = 1e-3,
        noise: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.classes = classes
        self.max_weight = max_weight
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.priors = priors
        self.least_variance = least_variance
        self.noise = noise
        self.random_state = random_state

    def _features(self) -> Sequence[NumericFeature]:
        return self._numeric_features(list(range(model_columns(self)[0])))

    def _publish_features(self, learned: list[np.ndarray]) -> None:
        self.theta_, self.var_ = (np.stack(part, axis=1) for part in zip(*learned, strict=True))

    def _learned(self) -> Sequence[np.ndarray]:
        return list(np.stack([self.theta_.T, self.var_.T], axis=1))
