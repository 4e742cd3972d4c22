"""A fitted classifier with probabilities that are right on average."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import PrivateEstimator, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.calibration.calibration_map import METHODS, CalibrationMap
from skdp.data.records import Records
from skdp.data.validation import check_lengths, present, refuse_collections
from skdp.metrics._evaluation import Evaluation
from skdp.metrics._foreign import answer_of
from skdp.metrics.one_vs_rest_report import OneVsRestCounts, OneVsRestReport
from skdp.metrics.score_report import ScoreCounts
from skdp.privacy import PrivacyGuarantee
from skdp.support.validation import check_choice
from skdp.workloads import QueryPlan

__all__ = ["DPCalibratedClassifier"]

_FEWEST = 300.0  # records times ε a histogram of scores; fewer make probabilities worse by noise


class DPCalibratedClassifier(
    ClassifierMixin,
    MetaEstimatorMixin,
    PrivateEstimator[Records[Any], QueryPlan, np.ndarray],
):
    """Learn privately which probabilities the scores of a fitted classifier stand for.

    The rows must not be rows that the classifier was fitted to, nor rows of the same people:
    otherwise the two costs add up for them, and its scores look better than they are.

    Parameters
    ----------
    estimator : estimator
        *Public.* A classifier that is fitted, privately or to public data, and stays as it is; put
        it into scikit-learn's `FrozenEstimator` where it will be cloned. Calibrated is what it
        gives by `predict_proba`, or the logistic function of its `decision_function`: of several
        classes each against all others, and probabilities are scaled to a sum of 1.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats of the calibration; finite.
    delta : float or None, default None
        *Public.* Probability that the ε bound fails; 0 for pure privacy. ``None``: the budget's δ,
        or 1e-5.
    method : {"isotonic", "sigmoid"}, default "isotonic"
        *Public.* Any increasing function, linear between centers of bins; or a logistic function of
        the scores' logits, which suits models that are only too sure of themselves.
    noise : str, default "auto"
        *Public.* One of `skdp.workloads.NOISES`; "auto" minimizes the variance.
    neighboring : {"replace_one", "add_remove_one"}, default "replace_one"
        *Public.* Whether neighbors differ in the values of one record or in its presence.
    budget : PrivacyBudget or None, default None
        *Public.* What the fit spends from, before it learns.
    random_state : None, int, numpy Generator or RandomState, default None
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    maps_ : tuple of CalibrationMap
        From scores to probabilities: that of the second of two classes, or of each of several.
    report_ : ScoreReport or OneVsRestReport
        How good the scores were before, from the same release.
    classes_ : ndarray of shape (n_classes,)
        Labels of the classifier.
    n_features_in_ : int
        Columns of X, where the classifier says so.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where the classifier knows them.
    privacy_ : PrivacyGuarantee
        Of the calibration; that of the classifier is its own.

    Notes
    -----
    **Guarantee.** That of `skdp.metrics.score_report`, or of several classes of
    `skdp.metrics.one_vs_rest_report`, from whose noisy counts all is computed: they are projected
    on counts that are not negative and have the same sum.

    Where the number of rows is public, fewer than 300/ε of them are refused, or 300·√K/ε for K > 2
    classes: the noise would make probabilities worse.

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

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        method: str = "isotonic",
        noise: str = "auto",
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.noise = noise
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> DPCalibratedClassifier:
        """Learn the probabilities of scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the classifier was not fitted to.
        y : array-like of shape (n_samples,)
            *Private.* Their labels.
        groups : array-like of shape (n_samples,) or None, default None
            *Private.* The person of each row. All rows of a person are one record, and each of its
            rows has the same weight. ``None``: each row is a record.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or a shape is wrong, there are too few records, or labels are not those
            of the classifier; nothing is spent.
        NotFittedError
            If the classifier is not fitted; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the release; then nothing is learned.
        """
        self._fit_privately(X, y, groups=groups)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self, "maps_")
        columns = np.atleast_2d(_scores(self.estimator, X).T)
        shares = np.stack([of(scores) for of, scores in zip(self.maps_, columns, strict=True)])
        if len(shares) == 1:
            return np.stack([1.0 - shares[0], shares[0]], axis=1)
        return np.asarray((shares / shares.sum(axis=0)).T)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def _check_data(
        self, parameters: ReleaseParameters, X: Any, y: Any, *, groups: Any = None
    ) -> Records[Any]:
        check_choice("method", self.method, METHODS)
        check_is_fitted(self.estimator)
        refuse_collections(self, X, y)
        check_lengths(X, y)
        n_classes = np.size(self.estimator.classes_)
        none = np.empty(0 if n_classes == 2 else (0, n_classes))
        scores = answer_of(partial(_scores, self.estimator), X, none)
        records = self._evaluation()._check_data(parameters, y, scores, groups=groups)
        if records.count_is_public:
            _check_enough(records.n_records, parameters, n_classes)
        return records

    def _evaluation(self) -> Evaluation:
        """Return the transaction that counts scores, in one histogram or in one for each class."""
        classes = self.estimator.classes_
        if np.size(classes) == 1:
            raise ValueError("estimator must be a classifier of two classes or more.")
        question = ScoreCounts if np.size(classes) == 2 else OneVsRestCounts
        return Evaluation(question(classes, "auto"), self.noise)

    def _plan(self, parameters: ReleaseParameters, records: Records[Any]) -> QueryPlan:
        return self._evaluation()._plan(parameters, records)

    def _read(self, plan: QueryPlan, records: Records[Any], rng: np.random.Generator) -> np.ndarray:
        return self._evaluation()._read(plan, records, rng)

    def _publish(
        self, plan: QueryPlan, records: Records[Any], released: Any, guarantee: PrivacyGuarantee
    ) -> DPCalibratedClassifier:
        report = self._evaluation()._publish(plan, records, released, guarantee)
        reports = report if isinstance(report, OneVsRestReport) else (report,)
        self.report_ = report
        self.maps_ = tuple(CalibrationMap.of(one, self.method) for one in reports)
        self.privacy_ = guarantee
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator, name):
                setattr(self, name, getattr(self.estimator, name))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _scores(estimator: Any, X: Any) -> np.ndarray:
    """Return in [0, 1] what a classifier thinks of the second of two classes, or of each."""
    if not hasattr(estimator, "predict_proba"):
        return expit(present("scores", estimator.decision_function(X)))
    shares = present("scores", estimator.predict_proba(X))
    return shares[:, 1] if np.size(estimator.classes_) == 2 else shares


def _check_enough(n_records: int, parameters: ReleaseParameters, n_classes: int) -> None:
    epsilon = parameters.epsilon
    fewest = _FEWEST / epsilon * (1.0 if n_classes == 2 else math.sqrt(n_classes))
    if n_records < fewest:
        raise ValueError(
            f"{n_records} {parameters.unit}s at epsilon={epsilon:g} are too few to calibrate with: "
            f"there must be {fewest:.0f}."
        )
