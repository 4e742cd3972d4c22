"""Naive Bayes for categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdp._validation import check_count, check_size
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import CategoricalFeature

__all__ = ["DPCategoricalNB"]


class DPCategoricalNB(PrivateNaiveBayes):
    """Naive Bayes for categories, with (ε, δ)-differentially private counts.

    For each class the number of records, and of each feature the number of records in each
    category, are released, all in one joint release.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then like scikit-learn's `CategoricalNB`.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    n_categories : int or array-like of shape (n_features,), default 2
        *Public.* Each column holds codes 0, ..., n_categories − 1. A record with another value
        counts in no category of that column, and prediction leaves the column out for it.
    alpha : float
        *Public.* Smoothing, added to every count that was released.
    priors : array-like of shape (n_classes,) or None
        *Public.* Probabilities of the classes; ``None`` takes them from the released sizes.
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
    feature_log_prob_ : list of n_features arrays of shape (n_classes, n_categories)
        Computed from counts that were *released*.
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
    >>> import numpy as np
    >>> from skdp.naive_bayes import DPCategoricalNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=1000)
    >>> X = np.where(rng.random((1000, 2)) < 0.8, y[:, None], 2)  # 2 is "not answered"
    >>> model = DPCategoricalNB(epsilon=1.0, n_categories=3, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.75
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        n_categories: Any = 2,
        alpha: float = 1.0,
        priors: Any = None,
        noise: str = "auto",
        classes: Any = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_categories = n_categories
        self.alpha = alpha
        self.priors = priors
        self.noise = noise
        self.classes = classes
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _features(self) -> Sequence[CategoricalFeature]:
        alpha, d = check_size("alpha", self.alpha), self.n_features_in_
        sizes = np.atleast_1d(np.asarray(self.n_categories, dtype=object))
        if sizes.shape not in ((1,), (d,)):
            raise ValueError(
                f"n_categories must be a number, or one for each of the {d} features, got "
                f"{self.n_categories!r}."
            )
        counts = [check_count("n_categories", size) for size in sizes]
        return [
            CategoricalFeature(np.arange(count), alpha)
            for count in np.broadcast_to(counts, (d,)).tolist()
        ]

    def _publish_features(self, laws: list[np.ndarray]) -> None:
        self.feature_log_prob_ = laws

    def _laws(self) -> Sequence[np.ndarray]:
        return self.feature_log_prob_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of numbers that are no codes
        return tags
