"""Naive Bayes for numbers and categories side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from skdp._columns import checked_categories, column_bounds
from skdp._validation import check_size
from skdp.naive_bayes._base import PrivateNaiveBayes
from skdp.naive_bayes.features import CategoricalFeature, Feature, NumericFeature, numeric

__all__ = ["DPMixedNB"]


class DPMixedNB(PrivateNaiveBayes):
    """Naive Bayes for numbers and categories, with (ε, δ)-differentially private counts and sums.

    Columns with `categories` are counted as in `DPCategoricalNB`, all others are Gaussian between
    `bounds` as in `DPGaussianNB`; everything is one joint release.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend; ``inf`` turns privacy off.
    delta : float, default 1e-5
        *Public.* Probability, in [0, 1), with which the ε bound may fail; 0 for pure privacy.
    categories : dict or None
        *Public.* The values of a categorical column, by the column's name or number. A record with
        another value counts in none, and prediction leaves the column out for it.
    bounds : pair (low, high), one pair per numeric column, or dict, default (-1, 1)
        *Public.* Bounds of the other columns, in the dict by name or number; from knowledge about
        the features, never from the data. Values outside are clipped.
    alpha : float
        *Public.* Smoothing, added to every count that was released.
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
    theta_, var_ : ndarray of shape (n_classes, n_numeric)
        Means and variances of the numeric columns in their order, computed from what was
        *released*.
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories)
        One for each categorical column in their order, computed from counts that were *released*.
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
    >>> import pandas as pd
    >>> from skdp.naive_bayes import DPMixedNB
    >>> people = pd.DataFrame({"age": [17, 70, 25, 81] * 250, "smokes": ["no", "yes"] * 500})
    >>> ill = [0, 1, 0, 1] * 250
    >>> model = DPMixedNB(categories={"smokes": ["no", "yes"]}, bounds={"age": (0, 100)})
    >>> model.fit(people, ill).score(people, ill)
    1.0
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        categories: Any = None,
        bounds: Any = (-1.0, 1.0),
        alpha: float = 1.0,
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
        self.categories = categories
        self.bounds = bounds
        self.alpha = alpha
        self.priors = priors
        self.least_variance = least_variance
        self.noise = noise
        self.classes = classes
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def _features(self) -> Sequence[Feature]:
        values = self._categories()
        pairs = iter(self._pairs([j for j in range(self.n_features_in_) if j not in values]))
        alpha = check_size("alpha", self.alpha)
        floor, private = check_size("least_variance", self.least_variance), self.epsilon < math.inf
        return [
            CategoricalFeature(values[j], alpha)
            if j in values
            else numeric(*next(pairs), floor, private)
            for j in range(self.n_features_in_)
        ]

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        if not hasattr(X, "columns"):
            X, y = validate_data(self, X, y, dtype=None)
            return self._columns(X), y
        validate_data(self, X, y, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return self._columns(X), y

    def _revalidated(self, X: Any) -> Any:
        frame = hasattr(X, "columns")
        X = validate_data(
            self, X, skip_check_array=frame, reset=False, **({} if frame else {"dtype": None})
        )
        return self._columns(X)

    def _columns(self, X: Any) -> Any:
        """Return the columns, all but the categorical ones as floats."""
        values = self._categories()
        return [
            _column(X, j) if j in values else _numbers(_column(X, j), j)
            for j in range(self.n_features_in_)
        ]

    def _publish_features(self, laws: list[Any]) -> None:
        numbers = [law for law in laws if isinstance(law, tuple)]
        self.theta_, self.var_ = (
            np.reshape([law[i] for law in numbers], (len(numbers), self.classes_.size)).T
            for i in range(2)
        )
        self.feature_log_prob_ = [law for law in laws if not isinstance(law, tuple)]

    def _laws(self) -> Sequence[Any]:
        numbers = iter(zip(self.theta_.T, self.var_.T, strict=True))
        tables = iter(self.feature_log_prob_)
        return [
            next(numbers if isinstance(feature, NumericFeature) else tables)
            for feature in self._features()
        ]

    def _categories(self) -> dict[int, np.ndarray]:
        """Return the values of the categorical columns, by number."""
        values = self._by_column("categories", self.categories or {})
        return {j: checked_categories(j, known) for j, known in values.items()}

    def _pairs(self, numbers: list[int]) -> list[tuple[float, float]]:
        """Return the bounds of the columns that are numbers."""
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            found = self._by_column("bounds", bounds)
            if sorted(found) != numbers:
                raise ValueError(
                    f"bounds must name just the columns without categories, numbers {numbers}; it "
                    f"names {sorted(found)}."
                )
            bounds = np.array([found[j] for j in numbers], dtype=float).reshape(-1, 2).T
        return list(zip(*column_bounds(bounds, len(numbers)), strict=True))

    def _by_column(self, parameter: str, values: Any) -> dict[int, Any]:
        """Return what is given by names or numbers of columns, by number."""
        names = list(getattr(self, "feature_names_in_", ()))
        columns = [names.index(key) if key in names else key for key in values]
        if not all(isinstance(j, int) and 0 <= j < self.n_features_in_ for j in columns):
            raise ValueError(
                f"{parameter} must be a dict by names or numbers of columns, of which there are "
                f"{names or self.n_features_in_}; got {list(values)}."
            )
        return dict(zip(columns, values.values(), strict=True))


def _column(X: Any, j: int) -> np.ndarray:
    return np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j])


def _numbers(x: np.ndarray, j: int) -> np.ndarray:
    """Return a column of finite numbers; no private text is quoted where there is some."""
    try:
        numbers = np.asarray(x, dtype=np.float64)
    except ValueError:
        raise ValueError(
            f"column {j} holds text: name the values that it can have in categories, as in "
            f"categories={{{j}: [...]}}."
        ) from None
    return np.asarray(check_array(numbers[:, None])).ravel()
