"""One private number on how good a classifier is, with the least noise for it alone."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.blocks import Block
from skdp.data.validation import (
    classes_of_blocks,
    codes_in_block,
    labels_in_block,
    outside,
)
from skdp.metrics._pairs import Pairs, check_order, numbers_of
from skdp.metrics._row_sums import RowMean, SummedPairs
from skdp.metrics._score import Score
from skdp.support.validation import check_real

__all__ = [
    "dp_accuracy_score",
    "dp_brier_score_loss",
    "dp_log_loss",
]


def dp_accuracy_score(
    y_true: Any,
    y_pred: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: Any = None,
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Score:
    """Return how often labels were predicted, privately.

    Test rows must not be rows that the classifier was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_pred : array-like of shape (n_rows,)
        *Private.* Predicted labels.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    classes : array-like of labels or None, default None
        *Public.* All labels; any other is refused, in `y_true` as in `y_pred`. ``None`` refuses
        none: a label that is spelled in another way, as ``" yes."`` for ``"yes"``, is then a wrong
        one.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The number of right predictions changes by 1. Where the number of rows is private
    that of wrong ones is released beside it, and a row counts in one of the two.

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
    return _Accuracy(noise, classes)._release(
        y_true,
        y_pred,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


def dp_log_loss(
    y_true: Any,
    y_prob: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: Any = None,
    error_bound: float = 5.0,
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Score:
    """Return the mean of log-losses, each up to a public bound, privately.

    Test rows must not be rows that the classifier was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_prob : array-like of shape (n_rows,) or (n_rows, n_classes)
        *Private.* Probabilities of the second class, or of each.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    classes : array-like of labels or None, default None
        *Public.* All labels, in increasing order. ``None`` takes those in `y_true`, and they count
        as public.
    error_bound : float, default 5.0
        *Public.* In nats: larger losses count as this, those of probabilities below
        e^(−error_bound). The noise grows with it.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The sum of losses in units of `error_bound` changes by 1 at most; where the
    number of rows is private, the sum of what is left of each to 1 is released beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_log_loss
    >>> y = np.arange(2000) % 2
    >>> round(dp_log_loss(y, np.where(y == 1, 0.8, 0.2), epsilon=1.0, random_state=0).value, 2)
    0.22
    """
    return _LogLoss(noise, classes, error_bound)._release(
        y_true,
        y_prob,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


def dp_brier_score_loss(
    y_true: Any,
    y_prob: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: Any = None,
    groups: Any = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: Any = None,
) -> Score:
    """Return the mean squared difference of probability and outcome, privately.

    Of several classes it is the mean of the sum over classes, between 0 and 2, as in scikit-learn.

    Test rows must not be rows that the classifier was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and the score flatters.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_prob : array-like of shape (n_rows,) or (n_rows, n_classes)
        *Private.* Probabilities of the second class, or of each.
    epsilon : float
        *Public.* Privacy loss in nats; finite.
    delta : float or None, default None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget; 0 asks for pure privacy.
    classes : array-like of labels or None, default None
        *Public.* All labels, in increasing order. ``None`` takes those in `y_true`, and they count
        as public.
    groups : array-like of shape (n_rows,) or None, default None
        *Private.* Whose each row is, where a person may have several: all rows of a person are
        protected together, and count together as one record, each alike. ``None``: each row is a
        record of its own.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`, or "auto" for the least.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None, default None
        *Public.* What the release spends from, before a value is read.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* ``None`` takes fresh entropy from the operating system for each release. A seed
        voids the guarantee, for whoever knows it can subtract the noise, and is refused beside a
        budget: for tests only.

    Returns
    -------
    Score
        Its `value`, and an `interval`.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** The sum of squares, halved where there are several classes and cut to 1, changes
    by 1 at most; where the number of rows is private, the sum of what is left of each to 1 is
    released beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_brier_score_loss
    >>> y = np.arange(2000) % 2
    >>> found = dp_brier_score_loss(y, np.where(y == 1, 0.8, 0.2), epsilon=1.0, random_state=0)
    >>> round(found.value, 2)
    0.04
    """
    return _Brier(noise, classes)._release(
        y_true,
        y_prob,
        groups=groups,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        budget=budget,
        random_state=random_state,
    )


class _Accuracy(RowMean):
    """Right predictions."""

    released_as = "metrics.dp_accuracy_score"
    integer = True

    def __init__(self, noise: str, classes: Any) -> None:
        super().__init__(noise)
        self.classes = classes

    def _check_data(
        self, parameters: ReleaseParameters, truth: Any, guess: Any, *, groups: Any = None
    ) -> SummedPairs:
        known = None if self.classes is None else np.unique(np.asarray(self.classes))
        return SummedPairs(
            Pairs.of(parameters, truth, guess, partial(_check_labels, known), groups=groups)
        )

    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        return _are_equal(truth, guess)


class _OfProbabilities(RowMean):
    """Losses of probabilities of labels that are known; `facts` are the classes."""

    guess_name = "y_prob"

    def __init__(self, noise: str, classes: Any) -> None:
        super().__init__(noise)
        self.classes = classes

    def _check_data(
        self, parameters: ReleaseParameters, truth: Any, guess: Any, *, groups: Any = None
    ) -> SummedPairs:
        check_order(self.classes)
        check = partial(_labels_beside, self.classes)
        pairs = Pairs.of(parameters, truth, guess, check, guess_name=self.guess_name, groups=groups)
        found, columns = zip(*pairs.found, strict=True)
        classes = classes_of_blocks(str(self.released_as), found, self.classes)
        if any(k != classes.size and (k, classes.size) != (1, 2) for k in columns):
            raise ValueError(
                "y_prob must have one column for each class, or, for two classes, that of the "
                f"second; got {columns[0]} for {classes.size} classes."
            )
        return SummedPairs(pairs, classes)


class _LogLoss(_OfProbabilities):
    """Logarithms of what the true label was given."""

    released_as = "metrics.dp_log_loss"

    def __init__(self, noise: str, classes: Any, error_bound: Any) -> None:
        super().__init__(noise, classes)
        self.error_bound = error_bound

    def _check_data(
        self, parameters: ReleaseParameters, truth: Any, guess: Any, *, groups: Any = None
    ) -> SummedPairs:
        check_real("error_bound", self.error_bound, low=0.0, high=700.0)
        return super()._check_data(parameters, truth, guess, groups=groups)

    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        codes, columns = codes_in_block(truth, facts), _columns(guess)
        given = columns[np.arange(codes.size), codes]
        least = math.exp(-float(self.error_bound))
        return np.clip(-np.log(np.maximum(given, least)) / float(self.error_bound), 0.0, 1.0)

    def _unit(self, facts: Any) -> float:
        return float(self.error_bound)


class _Brier(_OfProbabilities):
    """Squared differences of probability and outcome, of several classes their sum."""

    released_as = "metrics.dp_brier_score_loss"

    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        codes, columns = codes_in_block(truth, facts), _columns(guess)
        if facts.size == 2:
            return np.asarray((columns[:, 1] - codes) ** 2)
        off = columns - (codes[:, None] == np.arange(facts.size))
        return np.minimum((off * off).sum(axis=1) / self._unit(facts), 1.0)

    def _unit(self, facts: Any) -> float:
        return 1.0 if facts.size == 2 else 2.0


def _check_labels(known: np.ndarray | None, block: Block) -> None:
    for name, labels in (("y_true", block.y), ("y_pred", block.X)):
        if np.ndim(labels) != 1:
            raise ValueError(f"{name} must be one column of labels.")
        if labels.dtype == object and any(np.ndim(label) for label in labels):
            raise ValueError(f"{name} must hold labels, and it has lists or arrays.")
    try:
        _are_equal(block.y, block.X)
    except TypeError:  # of units of time without a common one
        raise ValueError("y_true and y_pred must hold labels that can be compared.") from None
    for name, labels in (("y_true", block.y), ("y_pred", block.X)):
        if known is not None and not np.isin(labels, known).all():
            raise outside(name, labels, known)


def _are_equal(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    return np.asarray(truth == guess, dtype=bool)


def _labels_beside(known: Any, block: Block) -> tuple[np.ndarray, int]:
    """Return the labels and the number of columns of probabilities, after checks of both."""
    if np.ndim(block.y) != 1:
        raise ValueError("y_true must be one column of labels.")
    columns = block.X
    if columns.ndim not in (1, 2):
        raise ValueError("y_prob must be one column of probabilities or one for each class.")
    shares = numbers_of("y_prob", columns.ravel())
    if shares.size and (shares.min() < 0.0 or shares.max() > 1.0):
        raise ValueError("y_prob has values outside of [0, 1].")
    return labels_in_block(block.y, known), 1 if columns.ndim == 1 else columns.shape[1]


def _columns(guess: Any) -> np.ndarray:
    """Return a column of probabilities for each class."""
    columns = guess.astype(float)
    if columns.ndim == 2 and columns.shape[1] > 1:
        return columns
    positive = columns.ravel()
    return np.stack([1.0 - positive, positive], axis=1)
