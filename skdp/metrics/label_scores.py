"""Private scores of labels and probabilities, each from a release of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.column import as_compared
from skdp.data.records import Records
from skdp.data.validation import check_inside
from skdp.metrics._evaluation import Terms, evaluate
from skdp.metrics._pairs import check_order, numbers_of, with_codes
from skdp.metrics._row_sums import RowMean
from skdp.metrics._score import Score
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_real

__all__ = ["dp_accuracy_score", "dp_brier_score_loss", "dp_log_loss"]


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
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_Accuracy(classes), y_true, y_pred, terms)


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
    0.22
    """
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_LogLoss(classes, error_bound), y_true, y_prob, terms)


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
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_Brier(classes), y_true, y_prob, terms)


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
        n_columns = 1 if pairs.X.ndim == 1 else pairs.X.shape[1]
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
