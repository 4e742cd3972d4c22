"""A private report on the scores of a classifier, from one noisy histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.calibration import CalibrationDisplay
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.metrics._evaluation import (
    Counts,
    Evaluation,
    Known,
    NoisyReport,
    Numbers,
    Score,
    check_order,
    numbers_of,
    ratio,
    slopes_of,
    with_codes,
)
from skdp.support.types import RandomState, VectorLike
from skdp.support.validation import check_choice, check_count

_FEWEST_BINS, _MOST_BINS, _USUAL_BINS = 8, 128, 16
_MOST_HALVINGS, _USUAL_HALVINGS = 10, 5
_SIGNAL_AT_END = 16.0  # records times ε in the outermost bin, if scores are evenly spread
_CLEAR = 8.0  # deviations of the noise in the rows of a bin
_PARTS = 8  # per bin; a share 1/_PARTS² of the error of bins remains
_OFFSETS = (np.arange(_PARTS) + 0.5) / _PARTS - 0.5  # from the middle of a bin to its parts
_SINGLE = (0.0, float(np.nextafter(0.0, 1.0))), (float(np.nextafter(1.0, 0.0)), 1.0)
"""Ends of the bins for scores of exactly 0 and exactly 1, as many models give them to many rows."""
_STEEPEST = 8.0  # rows of a bin for each row of its neighbors; 4 hides more order, 16 more ties


def checked_edges(edges: str | ArrayLike) -> np.ndarray | None:
    """Return *public* edges as floats, None for "auto"."""
    if isinstance(edges, str):
        check_choice("edges", edges, ("auto",))
        return None
    ends = np.asarray(edges, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.diff(ends) if ends.ndim == 1 else np.zeros(1)
    if ends.size < 3 or not (np.isfinite(widths) & (widths > 0.0)).all():
        raise ValueError("edges must be 'auto' or at least three increasing finite numbers.")
    check_count("edges", ends.size)
    return ends


def edges_for(parameters: ReleaseParameters, n_records: int, n_histograms: int = 1) -> np.ndarray:
    """Return edges of [0, 1]: equal bins, the first and the last halved again and again.

    Most scores of a rare class lie in one bin at an end of [0, 1]. More records allow more bins and
    halvings; if their number is private, the bins are fixed.
    """
    n_bins, n_halvings = _USUAL_BINS, _USUAL_HALVINGS
    if parameters.neighboring.count_is_public:
        signal = max(n_records, 1) * parameters.epsilon / math.sqrt(n_histograms)
        wanted = 16.0 * (signal / 1000.0) ** 0.3
        n_bins = int(np.clip(2 ** round(math.log2(wanted)), _FEWEST_BINS, _MOST_BINS))
        most = math.log2(signal / (_SIGNAL_AT_END * n_bins))
        n_halvings = int(np.clip(most, 0, _MOST_HALVINGS))
    ends = 2.0 ** -np.arange(1, n_halvings + 1) / n_bins
    equal = np.linspace(0.0, 1.0, n_bins + 1)
    return np.unique(np.concatenate([equal, ends, 1.0 - ends, *_SINGLE]))


def check_scores(are_shares: bool, n_columns: int | None, pairs: Records[None]) -> None:
    """Raise unless scores are numbers, or probabilities: a fixed domain reveals nothing.

    There are `n_columns` of them, or one without a second axis if it is None.
    """
    if n_columns is not None and (pairs.X.ndim != 2 or pairs.X.shape[1] != n_columns):
        raise ValueError(f"y_score must have a column for each of the {n_columns} classes.")
    scores = numbers_of("y_score", pairs.X if n_columns is None else pairs.X.ravel())
    if are_shares and scores.size and (scores.min() < 0.0 or scores.max() > 1.0):
        raise ValueError(
            "y_score has values outside of [0, 1]. Pass public numbers as edges=. Scores outside "
            "of them count in the first or the last bin."
        )


def bins_of(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the bin of each score."""
    return np.searchsorted(edges[1:-1], scores, side="right")


@dataclass(frozen=True, eq=False)
class RowOrder:
    """What *released* counts tell of the order of the rows within their bins.

    Neighboring bins with few rows are one group. Within a group, the share of positives is linear
    in the rank of a row, as the next groups suggest. Ranks need no assumption about the density of
    scores: the last bin of an overconfident classifier may hold most of the rows. But where a bin
    holds far more rows than both of its neighbors, many scores may be equal, and the neighbors do
    not tell how the others are ordered: `tied` is the share of such rows in each group, and
    `hidden` the share of those that are not known to be equal.
    """

    starts: np.ndarray  # first bin of each group
    tied: np.ndarray
    hidden: np.ndarray
    fewest: float  # *public*: least denominator of a share, well above the noise in a bin's rows

    @classmethod
    def of(cls, counts: np.ndarray, edges: np.ndarray, noise: float) -> RowOrder:
        """Return the order for counts with `noise`, its standard deviation in a bin's rows."""
        rows, may_differ = counts.sum(axis=0), bins_that_hide(edges)
        starts = groups_of(rows, noise)
        whole = np.maximum(np.add.reduceat(rows, starts), 3.0 * noise)
        explained = _explained(rows * may_differ, np.where(may_differ, np.diff(edges), 1.0))
        usual = may_differ * (starts.size > 1)  # one group has no neighbors
        peaks = np.maximum(rows - usual * (explained + 3.0 * noise), 0.0)
        tied, unknown = np.add.reduceat([peaks, peaks * may_differ], starts, axis=1) / whole
        return cls(starts, np.minimum(tied, 1.0), np.minimum(unknown, 1.0), 3.0 * noise)

    def parts(self, counts: np.ndarray) -> np.ndarray:
        """Split each group into parts with equally many rows: an array (label, group, part).

        The parts of one group add up to its counts; some may be negative.
        """
        groups = np.add.reduceat(counts, self.starts, axis=1)
        rises = (1.0 - self.tied) * _rises(groups, self.fewest)
        shift = np.outer(rises, _OFFSETS / _PARTS)
        return groups[:, :, None] / _PARTS + np.stack([-shift, shift])

    def ordered_parts(self, counts: np.ndarray) -> np.ndarray:
        """Return parts for hidden rows in order: their positives are at the top of the group."""
        groups = np.maximum(np.add.reduceat(counts, self.starts, axis=1), 0.0)
        sizes = groups.sum(axis=0)[:, None] / _PARTS
        filled = np.minimum(sizes * np.arange(_PARTS + 1), groups[1][:, None])
        positive = np.diff(filled)[:, ::-1]
        parts = self.parts(counts)
        return parts + self.hidden[:, None] * (np.stack([sizes - positive, positive]) - parts)


def groups_of(rows: np.ndarray, noise: float) -> np.ndarray:
    """Return the first bin of each group: bins are merged until their rows are clear of noise.

    The precision at the top is a ratio of few rows to few rows: with 2 % positives, bins of half
    the mean number of rows have half the error of the average precision.
    """
    fewest = min(0.5 * rows.sum() / rows.size, _CLEAR * max(noise, 1.0))
    starts, held = [0], 0.0
    for k, found in enumerate(rows[:-1]):
        held += found
        if held >= fewest and rows[k + 1 :].sum() >= fewest:
            starts.append(k + 1)
            held = 0.0
    return np.array(starts)


def bins_that_hide(edges: np.ndarray) -> np.ndarray:
    """Return which bins may hold different scores: all but those of exactly 0 and exactly 1."""
    pairs = np.stack([edges[:-1], edges[1:]], axis=1)
    return ~(pairs[:, None, :] == _SINGLE).all(axis=2).any(axis=1)


def _explained(rows: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return the most rows of each bin that are usual beside the rows of its neighbors."""
    rows, widths = np.pad(rows, 1), np.pad(widths, 1, constant_values=1.0)
    scales = [np.clip(widths[1:-1] / one, 1.0, 1e9) for one in (widths[:-2], widths[2:])]
    return _STEEPEST * np.maximum(np.maximum(rows[:-2] * scales[0], rows[2:] * scales[1]), 0.0)


def _rises(counts: np.ndarray, fewest: float) -> np.ndarray:
    """Return the rise of the share of positives across each group, times the number of rows.

    With m rows of the rarer label, a linear share rises by 2·m at most. A steeper rise x is read as
    a share that grows from 0 as a power k of the rank. Its end x/2 + m = (k + 1)·m gives
    k = x/(2·m). A linear share with the rise 6·m·k/(k + 2) = 6·m·x/(x + 4·m) has as many pairs in
    order.
    """
    rows = np.maximum(counts.sum(axis=0), fewest)
    rise = rows * np.diff(_shares_at_edges(np.clip(counts[1] / rows, 0.0, 1.0), rows))
    rarer = np.maximum(counts.min(axis=0), 0.0)
    size = np.abs(rise)
    most = 6.0 * rarer * size / np.maximum(size + 4.0 * rarer, 1e-300)
    return np.sign(rise) * np.minimum(size, most)


def _shares_at_edges(shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Interpolate the shares at the edges of groups, linearly in the rank between their middles."""
    if shares.size == 1:
        return np.repeat(shares, 2)
    left, right = rows[:-1], rows[1:]
    inner = (shares[1:] * left + shares[:-1] * right) / (left + right)
    first, last = 2.0 * shares[0] - inner[0], 2.0 * shares[-1] - inner[-1]
    return np.concatenate([[first], inner, [last]])


# With more noise in the number of rare positives, intervals held in .75 to .85 of runs.
_MOST_HIDDEN, _RARE = 0.1, 0.1
NO_PRECISION = "The average precision is nan: a label has few rows for the noise in their number."


def score_report(
    y_true: VectorLike,
    y_score: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike | None = None,
    edges: str | ArrayLike = "auto",
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> ScoreReport:
    """Report on the scores of a classifier of two classes, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_score : array-like of shape (n_rows,)
        *Private.* Scores, such as probabilities of the second class.
    epsilon : float
        *Public.* Privacy loss of the whole report, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    classes : array-like of 2 labels or None, default None
        *Public.* In increasing order; the second is the positive class. ``None`` treats the labels
        in `y_true` as public.
    edges : "auto" or array-like, default "auto"
        *Public.* Increasing ends of bins of scores; scores beyond them count in the first and the
        last bin. "auto": 8 to 128 equal bins of [0, 1]. The first and the last of them are halved
        up to ten times, because most scores of a rare class lie there, and scores of exactly 0 or 1
        have bins of their own. There are more bins for more rows and a larger ε, and 16 with five
        halvings if the number of rows is private. Scores outside of [0, 1] then raise ValueError.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* The person of each row. All rows of a person are one record, and each of its rows
        has the same weight. ``None``: each row is a record.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None, default None
        *Public.* Budget that the release is spent from before the data are read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Returns
    -------
    ScoreReport
        Accuracy, confusion matrix, curves, areas and calibration, all from one release.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong, or a score is outside of [0, 1] and `edges` are
        "auto".
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A row lies in one cell of bins × labels: one count changes by 1 under
    ``add_remove_one``, two under ``replace_one``, for any number of bins. Everything in the report
    is computed from the noisy counts and costs nothing more.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import score_report
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=5000)
    >>> report = score_report(rng.uniform(size=5000) < score, score, epsilon=1.0, random_state=0)
    >>> round(report.roc_auc, 2), round(report.accuracy(), 2)
    (0.83, 0.75)
    """
    return Evaluation(ScoreCounts(classes, edges), noise)._release(
        (y_true, y_score), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreReport(NoisyReport):
    """A report from a noisy histogram of scores and labels, returned by `score_report`.

    Parameters
    ----------
    counts : ndarray of shape (2, n_bins)
        *Released.* Rows of each label in each bin; unbiased, so some may be negative.
    classes : ndarray of shape (2,)
        *Public.* The labels; the second is the positive one.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of the whole report.
    _variance : float
        *Public.* Variance of the noise in each count.
    edges : ndarray of shape (n_bins + 1,)
        *Public.* Ends of the bins.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import score_report
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=5000)
    >>> report = score_report(rng.uniform(size=5000) < score, score, epsilon=1.0, random_state=0)
    >>> [round(end, 2) for end in report.interval("roc_auc")]
    [0.82, 0.85]
    >>> round(report.brier_score, 2), round(report.expected_calibration_error, 2)
    (0.17, 0.03)
    """

    edges: np.ndarray

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve, with the order of rows within bins estimated."""
        return self._area(_auc, self.counts)

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve, with the order of rows within bins estimated.

        nan if less than a tenth of the rows are positives, and the noise is a tenth of these, or if
        the noise in the number of a label is more than half of it.
        """
        return self._area(_average_precision, self.counts)

    @property
    def brier_score(self) -> float:
        """Mean squared difference of outcome and center of bin; nan if `edges` exceed [0, 1]."""
        return self._brier(self.counts)

    @property
    def expected_calibration_error(self) -> float:
        """Mean gap of bin center and share of positives; nan if `edges` exceed [0, 1]."""
        gaps = self.counts[1] - self._centers * self.counts.sum(axis=0)
        return float(ratio(np.abs(gaps).sum(), self.total) + self._no_shares)

    @property
    def _no_shares(self) -> float:
        """0 if scores may be probabilities, else nan."""
        return 0.0 if self.edges[0] >= 0.0 and self.edges[-1] <= 1.0 else math.nan

    @property
    def _centers(self) -> np.ndarray:
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    def accuracy(self, threshold: float = 0.5) -> float:
        """Return the share of rows that a threshold classifies correctly.

        Parameters
        ----------
        threshold : float, default 0.5
            *Public.* One of the `edges`; scores from it on count as positive.

        Returns
        -------
        float
        """
        return self._accuracy(self._bin(threshold), self.counts)

    def confusion_matrix(self, threshold: float = 0.5) -> np.ndarray:
        """Return counts of true labels (rows) and predicted ones (columns).

        Parameters
        ----------
        threshold : float, default 0.5
            *Public.* One of the `edges`; scores from it on count as positive.

        Returns
        -------
        ndarray of shape (2, 2)
        """
        k = self._bin(threshold)
        return np.stack([self.counts[:, :k].sum(axis=1), self.counts[:, k:].sum(axis=1)], axis=1)

    def interval(
        self,
        metric: str,
        level: float = 0.95,
        *,
        sampling: bool = True,
        binning: str = "estimated",
        threshold: float = 0.5,
    ) -> tuple[float, float]:
        """Return a confidence interval for a metric.

        Parameters
        ----------
        metric : {"roc_auc", "average_precision", "accuracy", "brier_score"}
            *Public.*
        level, sampling
            As in `Score.interval`.
        binning : {"estimated", "ignored", "rigorous"}, default "estimated"
            *Public.* How intervals for areas treat the order of rows within bins. "estimated":
            the share of positives is linear within each bin, as the neighboring bins suggest. If a
            bin has far more rows than its neighbors, the interval allows for ties and for order.
            "ignored": all rows of a bin have the same score. "rigorous": the interval for the area
            under the ROC curve allows for any order; for other metrics the same as "ignored".
        threshold : float, default 0.5
            *Public.* One of the `edges`; only used for the accuracy.

        Returns
        -------
        low, high : float
            (0, 1) if the noise is too large.
        """
        metrics: dict[str, Callable[[np.ndarray], float]] = {
            **{name: partial(_of_bins, area, 1.0) for name, area in _AREAS.items()},
            "accuracy": lambda counts: self._accuracy(self._bin(threshold), counts),
            "brier_score": self._brier,
        }
        function = metrics[check_choice("metric", metric, metrics)]
        check_choice("binning", binning, ("estimated", "ignored", "rigorous"))
        if metric in _AREAS and binning == "estimated":
            return self._area_interval(_AREAS[metric], level, sampling)
        low, high = self._interval(function, level, sampling)
        rigorous = binning == "rigorous" and metric == "roc_auc"
        hidden = 0.5 * _tied(self.counts, bins_that_hide(self.edges)) if rigorous else 0.0
        hidden = 1.0 if math.isnan(hidden) else hidden
        return max(low - hidden, 0.0), min(high + hidden, 1.0)

    def _notes(self) -> list[str]:
        """Return why the average precision is nan, if noise hides the number of a label."""
        noise, labels = math.sqrt(self._variance * self.counts.shape[1]), self.counts.sum(axis=1)
        is_rare = labels[1] < _RARE * self.total
        is_hidden = noise > _MOST_HIDDEN * labels[1] if is_rare else 2.0 * noise > labels.min()
        return [NO_PRECISION] if is_hidden else []

    def _area(self, function: Area, counts: np.ndarray) -> float:
        is_hidden = function is _average_precision and self._notes()
        return math.nan if is_hidden else function(self._order.parts(counts), self._order.tied)

    @cached_property
    def _order(self) -> RowOrder:
        return RowOrder.of(self.counts, self.edges, math.sqrt(2.0 * self._variance))

    def _area_interval(self, function: Area, level: float, sampling: bool) -> tuple[float, float]:
        shape = self.counts.shape
        known = self._order.tied - self._order.hidden
        tied = function(self._order.parts(self.counts), self._order.tied)
        ordered = function(self._order.ordered_parts(self.counts), known)

        def order(slopes: np.ndarray) -> float:
            """Rows lie anywhere in a bin, and shares are sampled."""
            across = np.gradient(slopes.reshape(shape), axis=1)
            within = float((np.maximum(self.counts, 0.0) * across**2).sum()) / 12.0  # uniform
            whole = slopes_of(
                lambda sums: _of_bins(function, 0.0, sums.reshape(shape)), self.counts.ravel()
            )
            return within + self._sampling_variance(slopes - whole)

        area = partial(self._area, function)
        unknown = (0.5 * (ordered - tied)) ** 2  # two deviations are the whole difference
        return self._interval(area, level, sampling, order=order, unknown=unknown)

    def roc_curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ROC curve, made monotone.

        Returns
        -------
        false_positive_rate, true_positive_rate, thresholds : ndarrays of shape (n_bins + 1,)
            As in scikit-learn, from the highest threshold to the lowest.
        """
        negative, positive = (_cumulated(row[::-1]) for row in self.counts)
        return negative / negative[-1], positive / positive[-1], self.edges[::-1]

    def precision_recall_curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the precision-recall curve.

        Returns
        -------
        precision, recall : ndarrays of shape (n_bins + 1,)
            From the lowest threshold to the highest; they end with 1 and 0.
        thresholds : ndarray of shape (n_bins,)
            The lower ends of the bins.
        """
        negative, positive = (_cumulated(row[::-1])[:0:-1] for row in self.counts)
        found = negative + positive
        precision = np.divide(positive, found, out=np.ones_like(found), where=found > 0.0)
        return np.append(precision, 1.0), np.append(positive / positive[0], 0.0), self.edges[:-1]

    def calibration_curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of positives in the bins whose counts exceed the noise.

        Returns
        -------
        share, score : ndarrays of shape (n_shown,)
            Share of positives, and the bin's center.

        Raises
        ------
        ValueError
            If `edges` exceed [0, 1].
        """
        if math.isnan(self._no_shares):
            raise ValueError("edges exceed [0, 1], so scores have no calibration.")
        whole = self.counts.sum(axis=0)
        shown = whole > 3.0 * math.sqrt(2.0 * self._variance)
        return np.clip(self.counts[1, shown] / whole[shown], 0.0, 1.0), self._centers[shown]

    def roc_display(self) -> RocCurveDisplay:
        """Return scikit-learn's display of the ROC curve.

        Returns
        -------
        RocCurveDisplay
        """
        fpr, tpr, _ = self.roc_curve()
        return RocCurveDisplay(fpr=fpr, tpr=tpr, roc_auc=self.roc_auc)

    def precision_recall_display(self) -> PrecisionRecallDisplay:
        """Return scikit-learn's display of the precision-recall curve.

        Returns
        -------
        PrecisionRecallDisplay
        """
        precision, recall, _ = self.precision_recall_curve()
        return PrecisionRecallDisplay(
            precision=precision, recall=recall, average_precision=self.average_precision
        )

    def calibration_display(self) -> CalibrationDisplay:
        """Return scikit-learn's display of the calibration curve.

        Returns
        -------
        CalibrationDisplay
        """
        share, score = self.calibration_curve()
        return CalibrationDisplay(share, score, score)

    def _accuracy(self, k: int, counts: np.ndarray) -> float:
        right = counts[0, :k].sum() + counts[1, k:].sum()
        return float(ratio(right, self._total(counts)))

    def _brier(self, counts: np.ndarray) -> float:
        lost = self._centers**2 @ counts[0] + (1.0 - self._centers) ** 2 @ counts[1]
        return float(ratio(lost, self._total(counts)) + self._no_shares)

    def _bin(self, threshold: float) -> int:
        found = np.flatnonzero(self._is_edge(threshold))
        if not found.size:
            raise ValueError(f"threshold must be one of the edges of the bins, got {threshold!r}.")
        return int(found[0])

    def _is_edge(self, threshold: float) -> np.ndarray:
        return np.isclose(self.edges, threshold, rtol=1e-9, atol=0.0)

    def _numbers(self) -> Numbers:
        for name in ("roc_auc", "brier_score"):
            yield name, getattr(self, name), self.interval(name)
        if self._is_edge(0.5).any():
            yield "accuracy at 0.5", self.accuracy(0.5), self.interval("accuracy", threshold=0.5)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCounts(Counts[ScoreReport | Score]):
    """Scores of two classes in bins, by label: a score report, or one area of it by `name`."""

    classes: VectorLike | None
    edges: str | ArrayLike
    name: str = "score_report"
    guess_name = "y_score"

    @property
    def shape(self) -> tuple[int, int]:
        return 2, np.size(self.edges) - 1

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        check_order(self.classes)
        edges = checked_edges(self.edges)
        check = partial(check_scores, edges is None, None)
        pairs, classes = with_codes(pairs, self.name, self.classes, check)
        if classes.size != 2:
            raise ValueError(
                f"{self.name} needs two classes, got {classes.size}. Use one_vs_rest_report for "
                "scores of more classes, or confusion_report for predicted labels."
            )
        edges = edges_for(parameters, pairs.n_records) if edges is None else edges
        return pairs.with_facts(replace(self, classes=classes, edges=edges))

    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        bins = bins_of(np.asarray(self.edges), numbers_of("y_score", pairs.X))
        yield pairs.y * self.shape[1] + bins

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> ScoreReport | Score:
        counts, edges = answer.reshape(self.shape), np.asarray(self.edges)
        classes = np.asarray(self.classes)
        report = ScoreReport(counts=counts, classes=classes, edges=edges, **known)
        metric = self.name.removeprefix("dp_").removesuffix("_score")
        if metric not in _AREAS:
            return report
        return Score(
            value=float(getattr(report, metric)),
            n_samples=report.n_samples,
            privacy=report.privacy,
            _between=partial(report.interval, metric),
            _note=" ".join(report._notes() * (metric == "average_precision")),
        )


def _auc(parts: np.ndarray, tied: np.ndarray) -> float:
    negative, positive = parts.reshape(2, -1)
    below = np.cumsum(negative) - 0.5 * negative
    pairs = float(positive @ below)
    return float(ratio(ratio(pairs, float(negative.sum())), float(positive.sum())))


def _tied(counts: np.ndarray, may_differ: np.ndarray) -> float:
    """Return the share of pairs of different labels in one bin whose scores may differ."""
    negative, positive = np.maximum(counts, 0.0)
    pairs = float(negative @ (may_differ * positive))
    return float(ratio(ratio(pairs, float(negative.sum())), float(positive.sum())))


def _average_precision(parts: np.ndarray, tied: np.ndarray) -> float:
    """Return the mean precision at the positives, interpolated within parts of groups.

    With P₀ positives of N₀ rows above a part that has c rows for each positive, the precision at
    its i-th positive is (P₀ + i)/(N₀ + c·(i − ½) + ½) for rows in random order, which the positive
    itself precedes by one half. It is integrated over t = i − ½ up to the positives in the part.
    The precision at rows with equal scores is that after all of them.
    """
    negative, positive = (_cumulated(row.ravel()[::-1]) for row in parts)
    gained, lost = np.diff(positive), np.diff(negative)
    ends = slice(parts.shape[2], None, parts.shape[2])
    after = positive[ends] / np.maximum(positive[ends] + negative[ends], 1e-300)
    after, tied = (np.repeat(one, parts.shape[2]) for one in (after, tied[::-1]))
    kept = gained > 0.0
    gained, before = gained[kept], positive[:-1][kept] + 0.5
    rows, c = before + negative[:-1][kept], 1.0 + lost[kept] / gained
    areas = gained / c + (before - rows / c) / c * np.log1p(c * gained / rows)
    areas += tied[kept] * (gained * after[kept] - areas)
    return float(areas.sum() / positive[-1])


def _of_bins(area: Area, tied: float, counts: np.ndarray) -> float:
    """Return an area if the rows of each bin are a group in random order, or tied."""
    return area(counts[:, :, None], np.full(counts.shape[1], tied))


Area = Callable[[np.ndarray, np.ndarray], float]
_AREAS: dict[str, Area] = {
    "roc_auc": _auc,
    "average_precision": _average_precision,
}


def _cumulated(counts: np.ndarray) -> np.ndarray:
    """Return 0 and cumulative sums, made monotone and clipped to their total."""
    whole = max(float(counts.sum()), 1.0)
    sums = np.cumsum(counts)
    if counts.min() < 0.0:
        sums = isotonic_regression(sums)  # takes twenty times as long as the rest
    sums = np.clip(sums, 0.0, whole)
    sums[-1] = whole
    return np.concatenate([[0.0], sums])
