"""Private probability calibration of a fitted classifier."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.isotonic import isotonic_regression
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.budget import BudgetHandle
from skdp.data.records import Records
from skdp.data.validation import check_lengths, present, refuse_collections
from skdp.exceptions import FewRowsWarning
from skdp.metrics._evaluation import Evaluation, Question, predictions_of
from skdp.metrics.curve_scores import OneVsRestCounts, OneVsRestReport
from skdp.metrics.score_report import ScoreCounts, ScoreReport, bins_that_hide
from skdp.model_selection._held_out import take_attributes
from skdp.privacy import PrivacyGuarantee
from skdp.support.display import at_least, caller_outside
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, parameters
from skdp.workloads import QueryPlan

_RIDGE = 1e-3  # of the slope minus 1 and the intercept, relative to a mean loss in nats
_SMOOTHED = 2.0  # rows with the share of all rows added to each bin
_LEAST = 1.0  # rows of each label added to all rows, to avoid probabilities 0 and 1
_RISE = 1e-6  # weight of the score's log-odds, so that different scores stay different
_ODDS = (-750.0, 40.0)  # range of the log-odds of a double below 1


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """An increasing function from scores to probabilities.

    It is linear between knots and constant beyond them. A small multiple of the log-odds of the
    score is added, so rankings do not change: scores stay different if their log-odds differ by
    more than 1e-6.

    Parameters
    ----------
    scores : ndarray of shape (n_knots,)
        *Public.* Centers of bins.
    shares : ndarray of shape (n_knots,)
        *Released.* Probabilities at the centers.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.calibration.calibrated import CalibrationMap
    >>> from skdp.metrics import score_report
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=5000)
    >>> y = rng.uniform(size=5000) < score**2
    >>> report = score_report(y, score, epsilon=1.0, random_state=0)
    >>> CalibrationMap.of(report, "isotonic")(np.array([0.2, 0.5, 0.8])).round(1)
    array([0. , 0.2, 0.6])
    """

    scores: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, report: ScoreReport, method: str) -> CalibrationMap:
        """Compute the map from a report on scores in [0, 1]; spends nothing.

        Parameters
        ----------
        report : ScoreReport
            *Released.*
        method : {"isotonic", "sigmoid"}
            *Public.* As in `DPCalibratedClassifier`.

        Returns
        -------
        CalibrationMap
            The map.
        """
        centers = 0.5 * (report.edges[1:] + report.edges[:-1])
        whole = max(report.total, 1.0)
        counts = _projected(report.counts.ravel(), whole).reshape(report.counts.shape)
        least = _LEAST / (whole + 2.0 * _LEAST)
        inner = centers[bins_that_hide(report.edges)]  # those of 0 and 1 have infinite log-odds
        given = centers if method == "isotonic" else np.clip(centers, inner[0], inner[-1])
        return cls(centers, np.clip(METHODS[method](given, counts), least, 1.0 - least))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores."""
        low, high = _ODDS
        rank = (np.clip(logit(scores), low, high) - low) / (high - low)
        return (1.0 - _RISE) * np.interp(scores, self.scores, self.shares) + _RISE * rank


def _isotonic(centers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return rising shares of positives, interpolated in bins without rows."""
    rows = counts.sum(axis=0)
    seen = rows > 0.0
    share = (counts[1].sum() + _LEAST) / (rows.sum() + 2.0 * _LEAST)
    shares = (counts[1, seen] + _SMOOTHED * share) / (rows[seen] + _SMOOTHED)
    risen = isotonic_regression(shares, sample_weight=rows[seen])
    return np.interp(centers, centers[seen], risen)


def _sigmoid(centers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a logistic function of the logits of scores (Platt 1999)."""
    logits, shares = logit(centers), counts / counts.sum()

    def loss(line: np.ndarray) -> float:
        z = line[0] * logits + line[1]
        fitted = shares[1] @ np.logaddexp(0.0, -z) + shares[0] @ np.logaddexp(0.0, z)
        moved = line - (1.0, 0.0)
        return float(fitted + 0.5 * _RIDGE * (moved @ moved))

    rising = ((0.0, None), (None, None))
    slope, intercept = minimize(loss, np.array([1.0, 0.0]), bounds=rising).x
    return expit(slope * logits + intercept)


METHODS = {"isotonic": _isotonic, "sigmoid": _sigmoid}


def _projected(numbers: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest nonnegative numbers with this sum."""
    falling = np.sort(numbers)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.maximum(numbers - excess[kept], 0.0)


# Records of the rarer class times ε per histogram. With fewer, noise makes probabilities that are
# right worse by about 2 % of a constant's log-loss, for classes of .3 to 50 % of the records.
_FEWEST = 150.0
ScoreRecords: TypeAlias = Records[Question[ScoreReport | OneVsRestReport]]


@parameters
class DPCalibratedClassifier(
    ClassifierMixin,
    MetaEstimatorMixin,
    PrivateEstimator[ScoreRecords, QueryPlan, np.ndarray],
):
    """Private probability calibration of a fitted classifier.

    Use rows, and people, that the classifier was not fitted to. Otherwise the costs of both add up
    for them, and the scores look better than they are.

    Parameters
    ----------
    estimator : estimator
        *Public.* A classifier that is fitted, privately or to public data. It is not changed; wrap
        it in scikit-learn's `FrozenEstimator` if it is cloned. Its scores are those of
        `predict_proba`, or the logistic function of `decision_function`. With more than two
        classes, each is calibrated against the rest.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    method : {"isotonic", "sigmoid"}, default "isotonic"
        *Public.* An increasing function that is linear between centers of bins, or a logistic
        function of the scores' logits, which suits overconfident models.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`. ``"auto"`` minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    maps_ : tuple of CalibrationMap
        *Released.* From scores to probabilities: one map for two classes, else one per class.
    report_ : ScoreReport or OneVsRestReport
        *Released.* Quality of the scores before calibration, from the same release.
    classes_ : ndarray of shape (n_classes,)
        *Public.* Labels of the classifier.
    n_features_in_ : int
        *Public.* Number of columns of X, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the classifier has it.
    privacy_ : PrivacyGuarantee
        *Public.* Guarantee of the calibration, without the classifier.

    Notes
    -----
    **Guarantee.** As `skdp.metrics.score_report`, or `skdp.metrics.one_vs_rest_report` for several
    classes. Everything is computed from their noisy counts.

    `fit` gives `FewRowsWarning` for fewer than 150/ε records of the rarer class, or 150·√K/ε for
    K > 2 classes, because noise makes the probabilities worse. The warning precedes the spend if
    the number of records is public and less than twice as large. Otherwise it follows from the
    released counts.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skdp import DPHingeClassifier
    >>> from skdp.calibration import DPCalibratedClassifier
    >>> X, y = make_classification(6000, random_state=0)
    >>> model = FrozenEstimator(DPHingeClassifier(epsilon=1.0).fit(X[:4000], y[:4000]))
    >>> calibrated = DPCalibratedClassifier(model, epsilon=1.0).fit(X[4000:], y[4000:])
    >>> calibrated.predict_proba(X[:10]).shape
    (10, 2)
    """

    takes_infinite_epsilon = False

    estimator: BaseEstimator = field(kw_only=False)
    epsilon: float = 1.0
    delta: float | None = None
    method: str = "isotonic"
    noise: str = "auto"
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    random_state: RandomState = None

    def fit(self, X: MatrixLike, y: VectorLike, groups: VectorLike | None = None) -> Self:
        """Learn the probabilities of scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the classifier was not fitted to.
        y : array-like of shape (n_samples,)
            *Private.* Their labels.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record with equal row
            weights. ``None``: each row is a record.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or a shape is wrong, or labels are not those of the classifier. Nothing
            is spent.
        NotFittedError
            If the classifier is not fitted. Nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the release. Nothing is learned.
        """
        return self._fit_privately(X, y, groups=groups)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows as the classifier takes them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`. They are as private as X.
        """
        check_is_fitted(self, "maps_")
        columns = np.atleast_2d(_scores(self.estimator, X).T)
        shares = np.stack([of(scores) for of, scores in zip(self.maps_, columns, strict=True)])
        if len(shares) == 1:
            return np.stack([1.0 - shares[0], shares[0]], axis=1)
        return np.asarray((shares / shares.sum(axis=0)).T)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the most probable label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows as the classifier takes them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from `classes_`. They are as private as X.
        """
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        groups: VectorLike | None = None,
    ) -> ScoreRecords:
        check_choice("method", self.method, METHODS)
        check_is_fitted(self.estimator)
        refuse_collections(self, X, y)
        check_lengths(X, y)
        n_classes = np.size(self.estimator.classes_)
        none = np.empty(0 if n_classes == 2 else (0, n_classes))
        scores = predictions_of(partial(_scores, self.estimator), X, none)
        return self._evaluation()._check_data(parameters, y, scores, groups=groups)

    def _warn(self, parameters: ReleaseParameters, plan: QueryPlan, records: ScoreRecords) -> None:
        super()._warn(parameters, plan, records)
        if records.count_is_public:
            self._warn_of_few(0.5 * records.n_records)

    def _warn_of_few(self, rarer: float) -> None:
        """Warn of a public or released number of records of the rarer class."""
        n_classes = np.size(self.estimator.classes_)
        fewest = _FEWEST / self.epsilon * (1.0 if n_classes == 2 else math.sqrt(n_classes))
        if rarer < fewest:
            warnings.warn(
                f"Records of the rarer class are few for calibration at epsilon={self.epsilon:g}: "
                f"noise makes probabilities worse. About {at_least(fewest, 2):.0f} are needed.",
                FewRowsWarning,
                stacklevel=caller_outside(),
            )

    def _evaluation(self) -> Evaluation:
        """Return the transaction that counts scores, in one histogram or in one per class."""
        classes = self.estimator.classes_
        if np.size(classes) == 1:
            raise ValueError("estimator must be a classifier of at least two classes.")
        question = ScoreCounts if np.size(classes) == 2 else OneVsRestCounts
        return Evaluation(question(classes, "auto"), self.noise)

    def _plan(self, parameters: ReleaseParameters, records: ScoreRecords) -> QueryPlan:
        return self._evaluation()._plan(parameters, records)

    def _read(self, plan: QueryPlan, records: ScoreRecords, rng: np.random.Generator) -> np.ndarray:
        return self._evaluation()._read(plan, records, rng)

    def _publish(
        self,
        plan: QueryPlan,
        records: ScoreRecords,
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        report = self._evaluation()._publish(plan, records, released, guarantee)
        reports = report if isinstance(report, OneVsRestReport) else (report,)
        self.report_ = report
        self.maps_ = tuple(CalibrationMap.of(one, self.method) for one in reports)
        self.privacy_ = guarantee
        with suppress(UserWarning):  # once paid, nothing raises
            self._warn_of_few(min(one.counts.sum(axis=1).min() for one in reports))
        take_attributes(self, self.estimator)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _scores(estimator: BaseEstimator, X: MatrixLike) -> np.ndarray:
    """Return scores in [0, 1] of the second of two classes, or of each of several."""
    if not hasattr(estimator, "predict_proba"):
        return expit(present("scores", estimator.decision_function(X)))
    shares = present("scores", estimator.predict_proba(X))
    return shares[:, 1] if np.size(estimator.classes_) == 2 else shares
