"""Naive Bayes for numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skdp._columns import column_bounds
from skdp._validation import check_size
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import NumericFeature, numeric

__all__ = ["DPGaussianNB"]


class DPGaussianNB(PrivateNaiveBayes):
    """Gaussian naive Bayes with (ε, δ)-differentially private class sizes, means and variances.

    For each class the number of records, and for each feature two sums are released, all in one
    joint release: Σ u and Σ (2u² − 1), where u ∈ [−1, 1] is the value between its public bounds.
    Means and variances are computed from these.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then like scikit-learn's `GaussianNB`, and nothing is clipped.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    bounds : pair (low, high), or one pair per feature, default (-1, 1)
        *Public.* As in `skdp.preprocessing.BoundsScaler`: from knowledge about the features, never
        from the data. Values outside are clipped, in `fit` and in prediction.
    priors : array-like of shape (n_classes,) or None
        *Public.* Probabilities of the classes; ``None`` takes them from the released sizes.
    least_variance : float
        *Public.* Floor of each variance, as a fraction of the squared half distance of the bounds.
    noise : str
        *Public.* A name of `skdp.workloads.NOISES`, or ``"auto"``, the least; see
        `skdp.workloads.plan_queries`.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` takes the labels found in `y` as public,
        which a rare label is not: pass them where that matters.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    budget : PrivacyBudget or None
        What pays for the fit, before the fit reads the data.
    random_state : int, Generator, RandomState or None
        *Secret.* For tests only: whoever knows the seed can subtract the noise.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        *Released*, and at least 1.
    class_prior_ : ndarray of shape (n_classes,)
        Computed from `class_count_`, or `priors`.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances, computed from what was *released*.
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** All attributes are computed from one composition of additive mechanisms, which
    is (`epsilon`, `delta`)-DP under `neighboring`; *Naive Bayes* in the documentation has the
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
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        bounds: Any = (-1.0, 1.0),
        priors: Any = None,
        least_variance: float = 1e-3,
        noise: str = "auto",
        classes: Any = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.priors = priors
        self.least_variance = least_variance
        self.noise = noise
        self.classes = classes
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _features(self) -> Sequence[NumericFeature]:
        low, high = column_bounds(self.bounds, self.n_features_in_)
        floor = check_size("least_variance", self.least_variance)
        private = self.epsilon < math.inf
        return [numeric(*pair, floor, private) for pair in zip(low, high, strict=True)]

    def _publish_features(self, laws: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.theta_, self.var_ = (np.stack(part, axis=1) for part in zip(*laws, strict=True))

    def _laws(self) -> Sequence[Any]:
        return list(zip(self.theta_.T, self.var_.T, strict=True))
