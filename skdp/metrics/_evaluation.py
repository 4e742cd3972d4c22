"""The transaction of scores and reports: their questions, texts and intervals."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import ClassVar, Generic, Self, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.data.column import Column
from skdp.data.exact_sums import counted, sums_of_means
from skdp.data.records import Records, labels_of
from skdp.data.validation import check_no_missing, present
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.support.display import html_table
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE, counts_query

Numbers = Iterator[tuple[str, float, tuple[float, float]]]
"""Names, numbers and intervals."""


def _possible(numbers: Numbers) -> Numbers:
    """Clip numbers to their intervals, which hold possible values only."""
    for name, x, (low, high) in numbers:
        yield name, min(max(x, low), high) if x == x else x, (low, high)


class Viewed:
    """A result that displays a few released numbers.

    Numbers are nearly unbiased. If noise has made one impossible, the nearest possible number is
    displayed.
    """

    privacy: PrivacyGuarantee
    interval: Callable[..., tuple[float, float]]

    _displayed: ClassVar[tuple[str, ...]]
    """The metrics that are displayed."""

    def _numbers(self) -> Numbers:
        for name in self._displayed:
            yield name, getattr(self, name), self.interval(name)

    def _notes(self) -> list[str]:
        """Return sentences that the numbers need."""
        return []

    def __str__(self) -> str:
        lines = [
            f"{name:24}{x:.6g}  [{low:.6g}, {high:.6g}]".strip()
            for name, x, (low, high) in _possible(self._numbers())
        ]
        return "\n".join([*lines, *self._notes(), str(self.privacy)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = (
            (name, f"{x:.4g}", f"{low:.4g} to {high:.4g}")
            for name, x, (low, high) in _possible(self._numbers())
        )
        table = html_table(("", "estimate", "95 % interval"), rows, named=True)
        notes = [*self._notes(), str(self.privacy)]
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes)


_STEP = 1e-4  # of the total, by which sums are moved to find slopes


def ratio(numerator: float, denominator: float) -> float:
    """Return a quotient, nan if the denominator is not positive."""
    return numerator / denominator if denominator > 0.0 else np.nan


def interval_of(
    metric: Callable[[np.ndarray], float],
    sums: np.ndarray,
    noise: float,
    sampling: Callable[[np.ndarray], float],
    level: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    """Return an interval, by the delta method, around a smooth function of *released* sums.

    `noise` is the variance in each sum, and `sampling` maps slopes to a further variance of the
    metric. The metric is nan where it is not defined, and lies within `bounds`.
    """
    level = check_real("level", level, low=0.0, high=1.0)
    value, variance = metric(sums), math.nan
    if math.isfinite(value):
        slopes = slopes_of(metric, sums)
        variance = noise * float(slopes @ slopes) + sampling(slopes)
    if not (math.isfinite(variance) and variance >= 0.0):
        return bounds
    half = float(ndtri(0.5 + 0.5 * level)) * math.sqrt(variance)
    low, high = np.clip([value - half, value + half], *bounds).tolist()
    return low, high


def spread(slopes: np.ndarray, sums: np.ndarray, n: float) -> float:
    """Return the largest variance of a sum over n rows of slopes @ (e, u, u²).

    The sums of e in [0, 1], of u in [−1, 1] and of u² are *released*. A number between a and b of
    mean m has a variance of (b − m)·(m − a) at most.
    """
    error, linear, square = (float(slope) for slope in slopes)
    top = np.clip(-0.5 * linear / square, -1.0, 1.0) if square else 0.0
    ends = [linear * u + square * u * u for u in (-1.0, 1.0, float(top))]
    low, high = min(error, 0.0) + min(ends), max(error, 0.0) + max(ends)
    mean = min(max(float(slopes @ sums) / n, low), high)
    return n * (high - mean) * (mean - low)


def slopes_of(metric: Callable[[np.ndarray], float], sums: np.ndarray) -> np.ndarray:
    """Return the partial derivatives, by central differences."""
    step = max(_STEP * float(np.abs(sums).sum()), 1e-12)
    slopes = np.empty(sums.size)
    for j in range(sums.size):
        moved = [sums.copy(), sums.copy()]
        moved[0].flat[j] += step
        moved[1].flat[j] -= step
        slopes[j] = (metric(moved[0]) - metric(moved[1])) / (2.0 * step)
    return slopes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(Viewed):
    """One noisy score, returned by the functions of `skdp.metrics`; ``float`` takes its value.

    Parameters
    ----------
    value : float
        *Released.* A mean is the nearest one that is possible, and nan if it is below the standard
        deviation of its noise: an error of 0 would look like that of a perfect model. Areas are
        nearly unbiased. If one is above 1, the nearest possible number is displayed.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.*
    _between : callable
        *Released.* Maps `level` and `sampling` to an interval.
    _note : str
        *Released.* A sentence that the value needs.

    Examples
    --------
    >>> from skdp.metrics import dp_accuracy_score
    >>> y, guess = [0, 1, 0, 1, 1] * 1000, [0, 1, 0, 1, 0] * 1000
    >>> score = dp_accuracy_score(y, guess, epsilon=1.0, random_state=0)
    >>> round(float(score), 2)
    0.8
    >>> [round(end, 3) for end in score.interval()]
    [0.788, 0.811]
    >>> [round(end, 3) for end in score.interval(sampling=False)]
    [0.799, 0.8]
    """

    value: float
    n_samples: int | None
    privacy: PrivacyGuarantee
    _between: Callable[..., tuple[float, float]]
    _note: str = ""

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return a confidence interval for the score.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            *Public.* Approximate coverage, by the delta method.
        sampling : bool, default True
            *Public.* Whether the interval is for the population rather than for the rows. A spread
            of losses that was not released is taken as large as their mean allows.

        Returns
        -------
        low, high : float
        """
        return self._between(level, sampling=sampling)

    def __float__(self) -> float:
        return self.value

    def _numbers(self) -> Numbers:
        yield "", self.value, self.interval()

    def _notes(self) -> list[str]:
        return [self._note] if self._note else []


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoisyReport(Viewed):
    """A report from one noisy histogram of test rows."""

    counts: np.ndarray
    classes: np.ndarray
    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float = field(repr=False)

    @property
    def total(self) -> float:
        """Number of rows: the public number, or the sum of the counts."""
        return self._total(self.counts)

    def _total(self, counts: np.ndarray) -> float:
        return float(counts.sum()) if self.n_samples is None else float(self.n_samples)

    def _interval(
        self,
        metric: Callable[[np.ndarray], float],
        level: float,
        sampling: bool,
        *,
        order: Callable[[np.ndarray], float] = lambda slopes: 0.0,
        unknown: float = 0.0,
    ) -> tuple[float, float]:
        """Return an interval for a function of the counts.

        If the counts are exact, the variance is `unknown` and that of sampling, or without it
        that of the `order` of rows within bins.
        """
        variance = self._sampling_variance if sampling else order
        return interval_of(
            lambda sums: metric(sums.reshape(self.counts.shape)),
            self.counts.ravel(),
            self._variance,
            lambda slopes: variance(slopes) + unknown,
            level,
            (0.0, 1.0),
        )

    def _sampling_variance(self, slopes: np.ndarray) -> float:
        """Return the variance of slopes times counts over samples of equal size."""
        counts = np.maximum(self.counts, 0.0).ravel()
        mean = float(slopes @ counts)
        return max(float(slopes**2 @ counts) - mean * mean / max(counts.sum(), 1.0), 0.0)


def with_codes(
    pairs: Records[None],
    name: str,
    known: VectorLike | None,
    check: Callable[[Records[None]], None],
) -> tuple[Records[None], np.ndarray]:
    """Check all rows; return pairs with true labels 0..K−1, and the classes."""
    return labels_of(pairs, name, known, partial(_check_beside_labels, check))


def _check_beside_labels(check: Callable[[Records[None]], None], pairs: Records[None]) -> None:
    if np.ndim(pairs.y) != 1:
        raise ValueError("y_true must be one column of labels.")
    check(pairs)


def numbers_of(name: str, column: np.ndarray) -> np.ndarray:
    """Return finite floats of one column."""
    if column.ndim != 1:
        raise ValueError(f"{name} must be one column of numbers.")
    check_no_missing(name, column)
    try:
        floats = Column(column).floats()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold finite numbers.") from None
    if not np.isfinite(floats).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return floats


def check_order(classes: VectorLike | None) -> None:
    """Raise unless labels increase, as in `classes_` of a classifier; the last is positive."""
    if classes is None:
        return
    if np.size(classes) < 2:
        raise ValueError(f"classes must be two labels or more, got {classes!r}.")
    if np.ndim(classes) != 1 or list(classes) != np.unique(np.asarray(classes)).tolist():
        raise ValueError(f"classes must be different labels in increasing order, got {classes!r}.")


def predictions_of(
    function: Callable[[MatrixLike], ArrayLike], X: MatrixLike, of_none: np.ndarray
) -> ArrayLike:
    """Call a method of an estimator on *private* rows; errors do not quote them.

    `of_none` is the result for no rows, because most estimators raise an error for no rows.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return function(X) if _num_samples(X) else of_none
    except NotFittedError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(
        f"estimator raises {kind} on these rows. The message is withheld, because it may quote the "
        "rows. Try public rows with the same columns and types."
    )


ResultT = TypeVar("ResultT", covariant=True)


class Known(TypedDict):
    """Facts about a release: number of test records, guarantee, variance of the noise."""

    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float


class Question(ABC, Generic[ResultT]):
    """One query about pairs of a true and a predicted value: a frozen dataclass of public settings.

    `name` is the name of the public function, and `guess_name` its parameter of predicted values.
    In `Records`, X has the predicted values and y the true ones.
    """

    name: str
    guess_name: ClassVar[str] = "y_pred"

    @abstractmethod
    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        """Check the pairs, and attach this question with all settings known."""

    @abstractmethod
    def query(self, neighboring: Neighboring) -> Query:
        """Return the query to release."""

    def effect_of_noise(self, n_records: int, variance: float) -> str | None:
        """Return a sentence if a public number of records is small for this noise."""

    @abstractmethod
    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        """Return the *private* answer to the query."""

    @abstractmethod
    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> ResultT:
        """Return the score or report of the *released* answer."""


Pairs: TypeAlias = Records[Question[ResultT]]


@dataclass(eq=False)
class Evaluation(PrivateFit[Pairs[ResultT], QueryPlan, np.ndarray]):
    """A private answer to one question about test rows."""

    question: Question[ResultT]
    noise: str

    takes_infinite_epsilon = False

    @property
    def released_as(self) -> str:  # type: ignore[override]
        return f"metrics.{self.question.name}"

    def _check_data(
        self,
        parameters: ReleaseParameters,
        truth: VectorLike,
        guess: MatrixLike,
        *,
        groups: VectorLike | None = None,
    ) -> Pairs[ResultT]:
        pairs = Records.of_rows(
            guess,
            truth,
            groups,
            read=_present,
            names=(self.question.guess_name, "y_true", "sample_weight"),
            count_is_public=parameters.neighboring.count_is_public,
        )
        return self.question.checked(parameters, pairs)

    def _plan(self, parameters: ReleaseParameters, pairs: Pairs[ResultT]) -> QueryPlan:
        query = pairs.facts.query(parameters.neighboring)
        return parameters.plan_queries([query], self.noise)

    def _effect_of_noise(self, plan: QueryPlan, pairs: Pairs[ResultT]) -> str | None:
        return pairs.facts.effect_of_noise(pairs.n_records, _noise(plan))

    def _read(self, plan: QueryPlan, pairs: Pairs[ResultT], rng: np.random.Generator) -> np.ndarray:
        (query,) = plan.queries
        answer = pairs.facts.answer(pairs, query.size)
        if query.integer:
            answer = np.rint(answer).astype(np.int64)
        return plan.release({query.name: answer}, rng)[query.name].astype(float)

    def _publish(
        self,
        plan: QueryPlan,
        pairs: Pairs[ResultT],
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> ResultT:
        return pairs.facts.result(
            released, n_samples=pairs.n_known, privacy=guarantee, _variance=_noise(plan)
        )


def _noise(plan: QueryPlan) -> float:
    """Return the variance of the noise in each number."""
    return plan.mechanism(plan.queries[0].name).expected_loss("l2")


def _present(pairs: Records[None]) -> Records[None]:
    X, y = present(pairs.parameter, pairs.X), present("y_true", pairs.y)
    if np.shape(X)[:1] != np.shape(y)[:1]:
        raise ValueError(f"{pairs.parameter} must have as many rows as y_true.")
    X = X[:, 0] if X.shape[1:] == (1,) else X  # rows of an engine are tables
    return replace(pairs, X=X, y=y)


_CELLS = "cells"


class Counts(Question[ResultT]):
    """The number of rows in each cell; the true labels of the pairs are 0..K−1."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""

    @property
    def n_histograms(self) -> int:
        """The number of histograms; a row lies in one cell of each."""
        return 1

    @abstractmethod
    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        """Yield the cell of each row, for each histogram."""

    def query(self, neighboring: Neighboring) -> Query:
        n_changed = self.n_histograms * neighboring.n_changed
        return counts_query(_CELLS, math.prod(self.shape), n_changed)

    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        return pairs.counts(partial(_counted, size))[_CELLS]


def _counted(size: int, pairs: Records[Counts[object]]) -> dict[str, np.ndarray]:
    counts = (counted(places, size, pairs.steps) for places in pairs.facts.places(pairs))
    return {_CELLS: np.asarray(sum(counts))}


_AT_ONCE = 2**16  # rows
_SUMS = "sums"
_LOST = (
    "The noise outweighs the score: it is nan, and only its interval tells something. Use more "
    "rows, a larger epsilon or a smaller error_bound."
)


class RowSums(Question[ResultT]):
    """Sums of numbers over rows; a person counts by the mean of the person's rows."""

    @abstractmethod
    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        """Return the numbers of some rows; the last are used if the number of rows is private."""

    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        return sums_of_means({_SUMS: size}, pairs, partial(_numbers, size))[_SUMS]


def _numbers(size: int, pairs: Records[RowSums[object]]) -> Iterator[dict[str, np.ndarray]]:
    for start in range(0, pairs.n_rows, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        columns = pairs.facts.numbers(pairs.y[rows], pairs.X[rows])
        yield {_SUMS: np.stack(columns[:size], axis=1)}


def sums_query(size: int, *, linf: float, l1: float, l2: float) -> Query:
    """Return a query for sums. One record may change all of them."""
    return Query(
        _SUMS,
        size=size,
        linf_sensitivity=linf * ROUNDED_ONCE,
        l0_sensitivity=size,
        l1_sensitivity=l1 * ROUNDED_ONCE,
        l2_sensitivity=l2 * ROUNDED_ONCE,
    )


class RowMean(RowSums[Score]):
    """The mean over rows of a number x in [0, 1], in units of `unit`.

    If the number of rows is private, the sum of 1 − x is released beside that of x: a row adds
    (x, 1 − x), of length 1 at most in l1 and in l2, and both together are the number of rows.
    """

    integer: ClassVar[bool] = False

    @property
    def unit(self) -> float:
        """The value of x = 1."""
        return 1.0

    @abstractmethod
    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Return x of some rows."""

    def numbers(self, truth: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        x = self.losses(truth, guess).astype(float)
        return [x, 1.0 - x]

    def query(self, neighboring: Neighboring) -> Query:
        size = 1 if neighboring.count_is_public else 2
        if self.integer:  # one of the two numbers of a row is 1
            return counts_query(_SUMS, size, 1)
        return sums_query(size, linf=1.0, l1=1.0, l2=1.0)

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> Score:
        n = known["n_samples"]
        answer = np.clip(answer, 0.0, n)  # no sum of x or 1 − x is negative
        lost = not answer[0] > math.sqrt(known["_variance"])
        return Score(
            value=math.nan if lost else self.unit * _mean(n, answer),
            n_samples=n,
            privacy=known["privacy"],
            _between=partial(_interval_of_mean, answer, n, known["_variance"], self.unit),
            _note=_LOST if lost else "",
        )


def _mean(n_samples: int | None, sums: np.ndarray) -> float:
    return float(ratio(sums[0], float(sums.sum() if n_samples is None else n_samples)))


def _interval_of_mean(
    sums: np.ndarray,
    n_samples: int | None,
    noise: float,
    unit: float,
    level: float,
    *,
    sampling: bool,
) -> tuple[float, float]:
    """Return an interval; numbers in [0, 1] of mean m have a variance of m·(1 − m) at most."""
    total = float(sums.sum() if n_samples is None else n_samples)
    mean = min(max(_mean(n_samples, sums), 0.0), 1.0)
    spread = mean * (1.0 - mean) / total if sampling and total > 0.0 else 0.0
    metric = partial(_mean, n_samples)
    low, high = interval_of(metric, sums, noise, lambda slopes: spread, level, (0.0, 1.0))
    return unit * low, unit * high
