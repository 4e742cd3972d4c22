"""Private scores and reports of predicted labels and probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column import as_compared
from skdp.data.records import Records
from skdp.data.validation import check_inside, codes_in_block
from skdp.metrics._evaluation import (
    Counts,
    Evaluation,
    Known,
    NoisyReport,
    RowMean,
    Score,
    check_order,
    numbers_of,
    ratio,
    with_codes,
)
from skdp.support.display import html_table
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, check_real

if TYPE_CHECKING:
    import pandas


def dp_accuracy_score(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return the share of correct predictions, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted labels.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    classes : array-like of labels or None, default None
        *Public.* All labels; other labels in `y_true` or `y_pred` raise ValueError. ``None``: any
        label is accepted, and a misspelled one, such as ``" yes."``, counts as wrong.
    delta, groups, noise, neighboring, budget, random_state
        As in `confusion_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A record changes the number of correct predictions by 1. If the number of rows is
    private, the number of wrong predictions is released too; a row counts in one of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_accuracy_score
    >>> y = np.arange(2000) % 2
    >>> predicted = np.where(np.arange(2000) < 400, 0, y)
    >>> found = dp_accuracy_score(y, predicted, epsilon=1.0, random_state=0)
    >>> round(found.value, 2)
    0.9
    """
    return Evaluation(_Accuracy(classes), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


def dp_log_loss(
    y_true: VectorLike,
    y_prob: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike | None = None,
    error_bound: float = 5.0,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return the mean log-loss, with each loss clipped to a public bound, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_prob : array-like of shape (n_rows,) or (n_rows, n_classes)
        *Private.* Probabilities of the second class, or of each class.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    classes : array-like of labels or None, default None
        *Public.* All labels, in increasing order. ``None`` treats the labels in `y_true` as public.
    error_bound : float, default 5.0
        *Public.* Larger losses, in nats, are clipped to this; the noise is proportional to it.
    delta, groups, noise, neighboring, budget, random_state
        As in `confusion_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With x a loss in units of `error_bound`, a record changes the sum of x by 1 at
    most. If the number of rows is private, the sum of 1 − x is released too.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_log_loss
    >>> y = np.arange(2000) % 2
    >>> round(dp_log_loss(y, np.where(y == 1, 0.8, 0.2), epsilon=1.0, random_state=0).value, 2)
    0.23
    """
    return Evaluation(_LogLoss(classes, error_bound), noise)._release(
        (y_true, y_prob), groups, epsilon, delta, neighboring, budget, random_state
    )


def dp_brier_score_loss(
    y_true: VectorLike,
    y_prob: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike | None = None,
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> Score:
    """Return the mean squared difference of probability and outcome, privately.

    For more than two classes it is summed over classes, as in scikit-learn, up to 2.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_prob : array-like of shape (n_rows,) or (n_rows, n_classes)
        *Private.* Probabilities of the second class, or of each class.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    classes : array-like of labels or None, default None
        *Public.* All labels, in increasing order. ``None`` treats the labels in `y_true` as public.
    delta, groups, noise, neighboring, budget, random_state
        As in `confusion_report`.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** With x a row's squared difference, halved for more than two classes and clipped
    to 1, a record changes the sum of x by 1 at most. If the number of rows is private, the sum of
    1 − x is released too.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_brier_score_loss
    >>> y = np.arange(2000) % 2
    >>> found = dp_brier_score_loss(y, np.where(y == 1, 0.8, 0.2), epsilon=1.0, random_state=0)
    >>> round(found.value, 2)
    0.04
    """
    return Evaluation(_Brier(classes), noise)._release(
        (y_true, y_prob), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Accuracy(RowMean):
    classes: VectorLike | None
    name = "dp_accuracy_score"
    integer = True

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        known = None if self.classes is None else np.unique(np.asarray(self.classes))
        pairs.check(partial(_check_labels, known))
        return pairs.with_facts(self)

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        return _are_equal(truth, guess)


@dataclass(frozen=True, eq=False, repr=False)
class _OfProbabilities(RowMean):
    """Losses of the probabilities of labels, which are 0..K−1."""

    classes: VectorLike | None
    guess_name = "y_prob"

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        check_order(self.classes)
        pairs, classes = with_codes(pairs, self.name, self.classes, _check_probabilities)
        n_columns = 1 if len(pairs.X.shape) == 1 else pairs.X.shape[1]
        if n_columns != classes.size and (n_columns, classes.size) != (1, 2):
            raise ValueError(
                "y_prob must have one column for each class, or, for two classes, one column for "
                f"the second class. It has {n_columns} for {classes.size} classes."
            )
        return pairs.with_facts(replace(self, classes=classes))


@dataclass(frozen=True, eq=False, repr=False)
class _LogLoss(_OfProbabilities):
    error_bound: float
    name = "dp_log_loss"

    @property
    def unit(self) -> float:
        return float(self.error_bound)

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        check_real("error_bound", self.error_bound, low=0.0, high=700.0)
        return super().checked(parameters, pairs)

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        given = _columns(guess)[np.arange(truth.size), truth]
        least = math.exp(-self.unit)
        return np.clip(-np.log(np.maximum(given, least)) / self.unit, 0.0, 1.0)


class _Brier(_OfProbabilities):
    name = "dp_brier_score_loss"

    @property
    def unit(self) -> float:
        return 1.0 if np.size(np.asarray(self.classes)) == 2 else 2.0

    def losses(self, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
        columns = _columns(guess)
        if columns.shape[1] == 2:
            return np.asarray((columns[:, 1] - truth) ** 2)
        off = columns - (truth[:, None] == np.arange(columns.shape[1]))
        return np.minimum((off * off).sum(axis=1) / self.unit, 1.0)


def _check_labels(known: np.ndarray | None, pairs: Records[None]) -> None:
    for name, labels in (("y_true", pairs.y), ("y_pred", pairs.X)):
        if np.ndim(labels) != 1:
            raise ValueError(f"{name} must be one column of labels.")
        if labels.dtype == object and any(np.ndim(label) for label in labels):
            raise ValueError(f"{name} has lists or arrays instead of labels.")
    try:
        _are_equal(pairs.y, pairs.X)
    except (TypeError, OverflowError):  # of units of time without a common one
        raise ValueError("y_true and y_pred must hold labels that can be compared.") from None
    for name, labels in (("y_true", pairs.y), ("y_pred", pairs.X)):
        if known is not None:
            check_inside(name, labels, known)


def _are_equal(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    truth, guess = as_compared(truth, guess)
    return np.asarray(truth == guess, dtype=bool)


def _check_probabilities(pairs: Records[None]) -> None:
    if pairs.X.ndim not in (1, 2):
        raise ValueError("y_prob must be one column of probabilities or one for each class.")
    shares = numbers_of("y_prob", pairs.X.ravel())
    if shares.size and (shares.min() < 0.0 or shares.max() > 1.0):
        raise ValueError("y_prob has values outside of [0, 1].")


def _columns(guess: np.ndarray) -> np.ndarray:
    """Return a column of probabilities for each class."""
    columns = guess.astype(float)
    if columns.ndim == 2 and columns.shape[1] > 1:
        return columns
    positive = columns.ravel()
    return np.stack([1.0 - positive, positive], axis=1)


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
    (0.87, [1.0, 0.81, 0.8])
    """
    return Evaluation(_LabelCounts(classes), noise)._release(
        (y_true, y_pred), groups, epsilon, delta, neighboring, budget, random_state
    )


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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import confusion_report
    >>> y = np.tile(["cat", "dog"], 1000)
    >>> guess = np.where(np.arange(2000) < 1500, y, "cat")
    >>> report = confusion_report(y, guess, epsilon=1.0, classes=["cat", "dog"], random_state=0)
    >>> report.counts
    array([[1000.,    2.],
           [ 252.,  750.]])
    >>> report.precision.round(2), report.recall.round(2)
    (array([0.8, 1. ]), array([1.  , 0.75]))
    >>> [round(end, 2) for end in report.interval("accuracy")]
    [0.86, 0.89]
    """

    _displayed = ("accuracy", "balanced_accuracy")

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
        pairs, classes = with_codes(pairs, self.name, known, partial(_check_predicted, known))
        return pairs.with_facts(replace(self, classes=classes))

    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        yield pairs.y * self.shape[1] + codes_in_block(pairs.X, self.classes)

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> ConfusionReport:
        counts, classes = answer.reshape(self.shape), np.asarray(self.classes)
        return ConfusionReport(counts=counts, classes=classes, **known)


def _check_predicted(known: np.ndarray, pairs: Records[None]) -> None:
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
