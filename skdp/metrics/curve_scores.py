"""Areas under curves of private test rows, each from the release of a score report."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from skdp.budget import PrivacyBudget
from skdp.metrics._evaluation import Known, Terms, evaluate
from skdp.metrics._score import Score
from skdp.metrics.score_report import BinnedScores
from skdp.support.types import RandomState, VectorLike

__all__ = ["dp_average_precision_score", "dp_roc_auc_score"]


def dp_roc_auc_score(
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
) -> Score:
    """Return the area under the ROC curve, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_score : array-like of shape (n_rows,)
        *Private.* Scores, such as probabilities of the second class.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    delta, classes, edges, groups, noise, neighboring, budget, random_state
        As in `score_report`.

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
    **Guarantee.** That of `score_report`: the result is `roc_auc` of the same release.

    **Cost.** The budget charges each call. For several scores of the same rows, call `score_report`
    once.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_roc_auc_score
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=5000)
    >>> found = dp_roc_auc_score(rng.uniform(size=5000) < score, score, epsilon=1.0, random_state=0)
    >>> round(found.value, 2)
    0.83
    """
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_AUC(classes, edges), y_true, y_score, terms)


def dp_average_precision_score(
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
) -> Score:
    """Return the average precision, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_score : array-like of shape (n_rows,)
        *Private.* Scores, such as probabilities of the second class.
    epsilon : float
        *Public.* Privacy loss, in nats; finite.
    delta, classes, edges, groups, noise, neighboring, budget, random_state
        As in `score_report`.

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
    **Guarantee.** That of `score_report`: the result is `average_precision` of the same release.

    **Cost.** The budget charges each call. For several scores of the same rows, call `score_report`
    once.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import dp_average_precision_score
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=5000)
    >>> y = rng.uniform(size=5000) < score
    >>> round(dp_average_precision_score(y, score, epsilon=1.0, random_state=0).value, 2)
    0.81
    """
    terms = Terms(epsilon, delta, groups, noise, neighboring, budget, random_state)
    return evaluate(_AveragePrecision(classes, edges), y_true, y_score, terms)


class _Area(BinnedScores[Score]):
    """One number of a score report."""

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> Score:
        report = self.report(answer, **known)
        metric = self.name.removeprefix("dp_").removesuffix("_score")
        return Score(
            value=float(getattr(report, metric)),
            n_samples=known["n_samples"],
            privacy=known["privacy"],
            _between=partial(report.interval, metric),
        )


class _AUC(_Area):
    name = "dp_roc_auc_score"


class _AveragePrecision(_Area):
    name = "dp_average_precision_score"
