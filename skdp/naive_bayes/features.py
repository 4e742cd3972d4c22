"""One column of a naive Bayes model: its query, and what the model learns from the answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from skdp.data.column import Column
from skdp.data.column_facts import category_codes
from skdp.data.validation import refuse_missing
from skdp.privacy import Neighboring
from skdp.support.rounding import SUM, up
from skdp.support.types import Label, VectorLike
from skdp.workloads import Query

__all__ = [
    "CategoricalFeature",
    "Feature",
    "NumericFeature",
    "class_counts",
    "in_units",
    "in_units_below",
]

_UNIT = 2.0**24  # values are summed in whole parts of 1/_UNIT: exactly, for up to 5e8 rows
# If u' replaces u within a class, its moments (u, 2u² − 1) move by t·(1, 2s) with t = |u − u'| and
# s = |u + u'| ≤ 2 − t. The length is at most (2 − s)·√(1 + 4s²). Its derivative is 0 where
# 8s² − 8s + 1 = 0. The larger root is the maximum, √5.1443 (documentation, *Naive Bayes*).
_APART = 0.25 * (2.0 + math.sqrt(2.0))


def in_units(numbers: np.ndarray) -> np.ndarray:
    """Return numbers rounded to multiples of 2^−24: their sums are exact."""
    return np.rint(numbers * _UNIT) / _UNIT


def in_units_below(weights: np.ndarray) -> np.ndarray:
    """Return weights rounded down to multiples of 2^−24.

    A number in [−1, 1] times such a weight, rounded to a multiple, has at most the size of the
    weight. So the numbers of a person add up to at most the weight of the person's rows.
    """
    return np.floor(weights * _UNIT) / _UNIT


def class_counts(n_classes: int, neighboring: Neighboring) -> Query:
    """Return the query for the number of records of each class."""
    return Query(
        "classes",
        size=n_classes,
        linf_sensitivity=1.0,
        l0_sensitivity=neighboring.n_changed,
        integer=True,
    )


class Feature(ABC):
    """One column, with public bounds or categories."""

    @property
    @abstractmethod
    def settings(self) -> tuple[object, ...]:
        """The public parameters of the answers; answers with equal ones can be added up."""

    @abstractmethod
    def check(self, x: Column, name: Label, advice: str) -> None:
        """Raise if this feature cannot read the column; `advice` ends the message."""

    @abstractmethod
    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        """Return the query, for some numbers per class."""

    @abstractmethod
    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the *private* answer, for a column x and class codes; weights are in [0, 1]."""

    @abstractmethod
    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return the fitted parameters of a released answer.

        `counts` are the released sizes of the classes, `noise` the mean square of the noise in each
        number.
        """

    @abstractmethod
    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        """Return log p(x | class) of shape (n_samples, n_classes)."""


@dataclass(frozen=True)
class NumericFeature(Feature):
    """A number between public bounds, Gaussian in each class; values outside are clipped.

    A missing value counts as the middle of the bounds, in `fit` and in prediction.
    `least_variance` is in units of the squared half-width of the bounds.

    The query is Σ u and Σ (2u² − 1) per class, where u ∈ [−1, 1] is the scaled value. One record
    contributes a vector of length at most √2. If its value is replaced within its class, the sums
    move by (u − u')·(1, 2(u + u')), of length at most √5.1443. If its class changes, two vectors of
    length √2 move in two classes.
    """

    low: float
    high: float
    least_variance: float
    clipped: bool = True

    @property
    def settings(self) -> tuple[object, ...]:
        return self.low, self.high, self.clipped

    def check(self, x: Column, name: Label, advice: str) -> None:
        x.check_numeric(name, advice=advice)
        if not self.clipped:
            refuse_missing(x.floats()[:, None], [name])

    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        if neighboring is Neighboring.ADD_REMOVE_ONE:
            return Query(
                name,
                size=2 * n_classes,
                linf_sensitivity=1.0,
                l0_sensitivity=2,
                l2_sensitivity=math.sqrt(2.0),
            )
        # A record that changes its class moves two vectors of length √2, together by 2: less than
        # this. In l1 it is the worse case: 1 in each of four numbers, against (2 − s)·(1 + 2s) ≤
        # 3.125. Rounding keeps [−1, 1], and so l1 and l∞.
        longest = up((2.0 - _APART) * math.sqrt(1.0 + 4.0 * _APART**2), SUM)
        # Each number of either record is rounded by 2⁻²⁵ at most: 2⁻²⁴ in each of two sums.
        longest += math.sqrt(2.0) / _UNIT
        return Query(
            name,
            size=2 * n_classes,
            linf_sensitivity=2.0,
            l0_sensitivity=4,
            l1_sensitivity=4.0,
            l2_sensitivity=longest,
        )

    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        u = (self._known(x) - self._middle) / self._half
        moments = [u, 2.0 * u * u - 1.0]
        if self.clipped:
            moments = [np.clip(m, -1.0, 1.0) for m in moments]
        if weights is not None:
            moments = [weights * m for m in moments]
        if self.clipped:
            moments = [in_units(m) for m in moments]
        return np.concatenate([np.bincount(codes, m, n_classes) for m in moments])

    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return means and variances, of shape (2, n_classes)."""
        first, second = answer.reshape(2, -1) / counts
        if self.clipped:
            first = np.clip(first, -1.0, 1.0)
        # A variance is at least half the standard deviation of its own noise, (d second)/2 −
        # 2·first·(d first) divided by the count of the class: it is not known better than that.
        lost = 0.5 * np.sqrt(noise * (0.25 + 4.0 * first**2)) / counts
        least = np.maximum(np.minimum(lost, 1.0), self.least_variance)
        variance = np.maximum(0.5 * (second + 1.0) - first**2, least)
        return np.stack([self._middle + self._half * first, self._half**2 * variance])

    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        mean, variance = learned
        x = self._known(x)
        return -0.5 * (np.log(2.0 * math.pi * variance) + (x[:, None] - mean) ** 2 / variance)

    def _known(self, x: VectorLike) -> np.ndarray:
        """Return floats without NaN, clipped to the bounds in private fits."""
        values = Column.of(x).floats()
        values = np.where(np.isnan(values), self._middle, values)
        return np.clip(values, self.low, self.high) if self.clipped else values

    @property
    def _middle(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def _half(self) -> float:
        return 0.5 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class CategoricalFeature(Feature):
    """A category out of public values; other and missing values count in no category.

    `smoothing` is added to every released count.
    """

    values: np.ndarray
    smoothing: float

    @property
    def settings(self) -> tuple[object, ...]:
        return tuple(self.values.tolist())

    def check(self, x: Column, name: Label, advice: str) -> None:
        """Accept all values: unknown ones count in no category."""

    def query(self, name: str, n_classes: int, neighboring: Neighboring) -> Query:
        return Query(
            name,
            size=self.values.size * n_classes,
            linf_sensitivity=1.0,
            l0_sensitivity=neighboring.n_changed,
            integer=True,
        )

    def answer(
        self, x: VectorLike, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        places = category_codes(x, self.values)
        known = places >= 0
        cells = (codes * self.values.size + places)[known]
        counted = None if weights is None else weights[known]
        return np.bincount(cells, counted, n_classes * self.values.size)

    def learn(self, answer: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Return log p(category | class) of shape (n_classes, n_categories)."""
        cells = np.maximum(answer.reshape(counts.size, -1), 0.0) + self.smoothing
        return np.log(cells / cells.sum(axis=1, keepdims=True))

    def log_likelihood(self, x: VectorLike, learned: np.ndarray) -> np.ndarray:
        places = category_codes(x, self.values)
        return np.where(places[:, None] >= 0, learned.T[places], 0.0)
