"""A private report on predicted labels, from one noisy confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.data.validation import check_inside, codes_in_block
from skdp.metrics._counts import Counts, NoisyReport
from skdp.metrics._estimate import ratio
from skdp.metrics._evaluation import Known, Terms, evaluate
from skdp.metrics._pairs import with_codes
from skdp.metrics._view import Numbers
from skdp.support.html import html_table
from skdp.support.types import RandomState, VectorLike
from skdp.support.validation import check_choice

if TYPE_CHECKING:
    import pandas

__all__ = ["ConfusionReport", "confusion_report"]


def confusion_report(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> ConfusionReport:
    """Report on predicted labels of two or more classes, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted labels.
    epsilon : float
        *Public.* Privacy loss of the whole report, in nats; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails, well below 1/n; 0 for pure privacy. ``None``:
        the budget's δ, or 1e-5.
    classes : array-like of labels
        *Public.* All labels, such as `classes_` of the classifier.
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
    ConfusionReport
        The confusion matrix, accuracy, recall and precision.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong, or a label is not among the classes.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A row lies in one cell of the matrix: one count changes by 1 under
    ``add_remove_one``, two under ``replace_one``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import confusion_report
    >>> y = np.arange(3000) % 3
    >>> guess = np.where(np.arange(3000) < 2400, y, 0)
    >>> report = confusion_report(y, guess, epsilon=1.0, classes=range(3), random_state=0)
    >>> round(report.accuracy, 2), report.recall.round(2).tolist()
    (0.87, [1.0, 0.8, 0.8])
    """
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_LabelCounts(classes), y_true, y_pred, terms)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfusionReport(NoisyReport):
    """A report from a noisy confusion matrix, returned by `confusion_report`.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes)
        *Released.* Counts by true label (rows) and predicted label (columns); unbiased, so some may
        be negative.
    classes : ndarray of shape (n_classes,)
        *Public.* The labels.
    n_samples : int or None
        *Public.* Number of test records; None if it is private.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of the whole report.
    _variance : float
        *Public.* Variance of the noise in each count.
    """

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return self._accuracy(self.counts)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of `recall`; nan if a class has no positive noisy count."""
        return _balanced_accuracy(self.counts)

    @property
    def recall(self) -> np.ndarray:
        """Share of correct predictions among the rows of each label."""
        return _shares(self.counts, axis=1)

    @property
    def precision(self) -> np.ndarray:
        """Share of correct predictions among the predictions of each label."""
        return _shares(self.counts, axis=0)

    def interval(
        self, metric: str, level: float = 0.95, *, sampling: bool = True
    ) -> tuple[float, float]:
        """Return a confidence interval for a metric.

        Parameters
        ----------
        metric : {"accuracy", "balanced_accuracy"}
            *Public.*
        level, sampling
            As in `Score.interval`.

        Returns
        -------
        low, high : float
            (0, 1) if the noise is too large.
        """
        metrics = {"accuracy": self._accuracy, "balanced_accuracy": _balanced_accuracy}
        return self._interval(metrics[check_choice("metric", metric, metrics)], level, sampling)

    def display(self) -> ConfusionMatrixDisplay:
        """Return scikit-learn's display of the matrix.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        return ConfusionMatrixDisplay(self.counts.astype(int), display_labels=self.classes)

    def to_frame(self) -> pandas.DataFrame:
        """Return the counts as a pandas data frame.

        Returns
        -------
        DataFrame
            One row for each true label, one column for each predicted label.
        """
        import pandas

        true, predicted = (pandas.Index(self.classes, name=x) for x in ("true", "predicted"))
        return pandas.DataFrame(self.counts, index=true, columns=predicted)

    def _accuracy(self, counts: np.ndarray) -> float:
        return float(ratio(np.trace(counts), self._total(counts)))

    def _numbers(self) -> Numbers:
        for name in ("accuracy", "balanced_accuracy"):
            yield name, getattr(self, name), self.interval(name)

    def _repr_html_(self) -> str:
        labels = self.classes.tolist()
        rows = (
            (label, *(f"{count:.0f}" for count in row))
            for label, row in zip(labels, self.counts, strict=True)
        )
        table = html_table(("true, predicted", *labels), rows, named=True)
        return f"{table}{super()._repr_html_()}"


@dataclass(frozen=True, eq=False, repr=False)
class _LabelCounts(Counts[ConfusionReport]):
    classes: VectorLike
    name = "confusion_report"

    @property
    def shape(self) -> tuple[int, int]:
        return np.size(self.classes), np.size(self.classes)

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        if self.classes is None or np.ndim(self.classes) != 1:
            raise ValueError("Pass classes=, a public list of all labels.")
        known = np.unique(np.asarray(self.classes))
        pairs, classes = with_codes(pairs, self.name, known, partial(_check_labels, known))
        return pairs.with_facts(replace(self, classes=classes))

    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        yield pairs.y * self.shape[1] + codes_in_block(pairs.X, self.classes)

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> ConfusionReport:
        counts, classes = answer.reshape(self.shape), np.asarray(self.classes)
        return ConfusionReport(counts=counts, classes=classes, **known)


def _check_labels(known: np.ndarray, pairs: Records[None]) -> None:
    if np.ndim(pairs.X) != 1:
        raise ValueError("y_pred must be one column of labels.")
    check_inside("y_pred", pairs.X, known)


def _shares(counts: np.ndarray, axis: int) -> np.ndarray:
    totals = counts.sum(axis=axis)
    shares = np.full(totals.shape, np.nan)
    np.divide(np.diagonal(counts), totals, out=shares, where=totals > 0.0)
    return np.clip(shares, 0.0, 1.0)


def _balanced_accuracy(counts: np.ndarray) -> float:
    totals = counts.sum(axis=1)
    return float(np.mean(np.diagonal(counts) / totals)) if totals.min() > 0.0 else np.nan
