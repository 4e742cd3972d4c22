"""Areas under curves of private test rows, and the report on several classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.metrics._evaluation import (
    Counts,
    Evaluation,
    Known,
    Score,
    Viewed,
    check_order,
    numbers_of,
    with_codes,
)
from skdp.metrics.score_report import (
    ScoreCounts,
    ScoreReport,
    bins_of,
    check_scores,
    checked_edges,
    edges_for,
)
from skdp.privacy import PrivacyGuarantee
from skdp.support.types import Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice


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
    return Evaluation(ScoreCounts(classes, edges, "dp_roc_auc_score"), noise)._release(
        (y_true, y_score), groups, epsilon, delta, neighboring, budget, random_state
    )


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
    0.83
    """
    return Evaluation(ScoreCounts(classes, edges, "dp_average_precision_score"), noise)._release(
        (y_true, y_score), groups, epsilon, delta, neighboring, budget, random_state
    )


def one_vs_rest_report(
    y_true: VectorLike,
    y_score: MatrixLike,
    *,
    epsilon: float,
    delta: float | None = None,
    classes: VectorLike,
    edges: str | ArrayLike = "auto",
    groups: VectorLike | None = None,
    noise: str = "auto",
    neighboring: str = "replace_one",
    budget: PrivacyBudget | None = None,
    random_state: RandomState = None,
) -> OneVsRestReport:
    """Report on scores of several classes, each class against all others, privately.

    Do not score training rows: see *Evaluating models privately* in the user guide.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        *Private.* Labels.
    y_score : array-like of shape (n_rows, n_classes)
        *Private.* Scores of each class, such as the result of `predict_proba`.
    epsilon : float
        *Public.* Privacy loss of the whole report, in nats; finite.
    classes : array-like of labels
        *Public.* All labels in increasing order, such as `classes_` of the classifier.
    delta, edges, groups, noise, neighboring, budget, random_state
        As in `score_report`.

    Returns
    -------
    OneVsRestReport
        A `ScoreReport` of each class, and means over classes.

    Raises
    ------
    ValueError
        If a parameter, a shape or a type is wrong, or a label is not among the classes.
    BudgetExceededError, BudgetClosedError
        If the budget does not admit the release; then nothing is read.

    Notes
    -----
    **Guarantee.** A row lies in one cell of each of the K histograms: K counts change by 1 under
    ``add_remove_one``, 2·K under ``replace_one``. Gaussian noise grows with √K, Laplace noise with
    K.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import one_vs_rest_report
    >>> rng = np.random.default_rng(0)
    >>> shares = rng.dirichlet(np.full(3, 0.5), size=5000)
    >>> y = (rng.uniform(size=(5000, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    >>> report = one_vs_rest_report(y, shares, epsilon=1.0, classes=range(3), random_state=0)
    >>> round(report.roc_auc, 2), round(report[2].roc_auc, 2)
    (0.88, 0.88)
    """
    return Evaluation(OneVsRestCounts(classes, edges), noise)._release(
        (y_true, y_score), groups, epsilon, delta, neighboring, budget, random_state
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OneVsRestReport(Viewed):
    """A report on several classes, returned by `one_vs_rest_report`.

    ``report[label]`` is the report of one class against all others.

    Parameters
    ----------
    reports : tuple of ScoreReport
        *Released.* In the order of the classes.
    classes : ndarray of shape (n_classes,)
        *Public.* The labels.
    privacy : PrivacyGuarantee
        *Public.* The guarantee of the whole report.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import one_vs_rest_report
    >>> shares = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=6000)
    >>> y = shares.argmax(axis=1)
    >>> report = one_vs_rest_report(y, shares, epsilon=1.0, classes=range(3), random_state=0)
    >>> [round(one.average_precision, 2) for one in report]
    [0.93, 0.98, 0.98]
    >>> [round(end, 2) for end in report.interval("average_precision")]
    [0.89, 1.0]
    """

    reports: tuple[ScoreReport, ...]
    classes: np.ndarray
    privacy: PrivacyGuarantee

    _displayed = ("roc_auc", "average_precision")

    @property
    def roc_auc(self) -> float:
        """Mean of the areas under the ROC curves of the classes."""
        return float(np.mean([report.roc_auc for report in self.reports]))

    @property
    def average_precision(self) -> float:
        """Mean of the average precisions of the classes."""
        return float(np.mean([report.average_precision for report in self.reports]))

    def interval(
        self, metric: str, level: float = 0.95, *, sampling: bool = True
    ) -> tuple[float, float]:
        """Return a confidence interval for a mean over classes, however their errors depend.

        Parameters
        ----------
        metric : {"roc_auc", "average_precision"}
            *Public.*
        level, sampling
            As in `Score.interval`.

        Returns
        -------
        low, high : float
        """
        check_choice("metric", metric, self._displayed)
        each = [report.interval(metric, level, sampling=sampling) for report in self.reports]
        low, high = np.mean(each, axis=0)
        return float(low), float(high)

    def __getitem__(self, label: Label) -> ScoreReport:
        found = np.flatnonzero(self.classes == label)
        if not found.size:
            raise KeyError(label)
        return self.reports[int(found[0])]

    def __iter__(self) -> Iterator[ScoreReport]:
        return iter(self.reports)

    def _notes(self) -> list[str]:
        return [*{note for report in self.reports for note in report._notes()}]


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestCounts(Counts[OneVsRestReport]):
    """Scores of each class in bins, for its rows and for all others."""

    classes: VectorLike
    edges: str | ArrayLike
    name = "one_vs_rest_report"
    guess_name = "y_score"

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n_histograms, 2, np.size(self.edges) - 1

    @property
    def n_histograms(self) -> int:
        return int(np.size(self.classes))

    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        if self.classes is None or np.ndim(self.classes) != 1:
            raise ValueError("Pass classes=, a public list of all labels.")
        check_order(self.classes)
        known = np.unique(np.asarray(self.classes))
        edges = checked_edges(self.edges)
        check = partial(check_scores, edges is None, known.size)
        pairs, classes = with_codes(pairs, self.name, known, check)
        edges = edges_for(parameters, pairs.n_records, classes.size) if edges is None else edges
        return pairs.with_facts(replace(self, classes=classes, edges=edges))

    def places(self, pairs: Records[Self]) -> Iterator[np.ndarray]:
        edges = np.asarray(self.edges)
        for k in range(self.n_histograms):
            bins = bins_of(edges, numbers_of("y_score", pairs.X[:, k]))
            yield (2 * k + (pairs.y == k)) * (edges.size - 1) + bins

    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> OneVsRestReport:
        labels, edges = np.array([False, True]), np.asarray(self.edges)
        reports = tuple(
            ScoreReport(counts=counts, classes=labels, edges=edges, **known)
            for counts in answer.reshape(self.shape)
        )
        classes = np.asarray(self.classes)
        return OneVsRestReport(reports=reports, classes=classes, privacy=known["privacy"])
