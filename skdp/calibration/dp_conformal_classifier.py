"""Private prediction sets by split conformal prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from skdp.budget import BudgetHandle
from skdp.calibration._conformal import ConformalFacts, PrivateConformal
from skdp.calibration._conformity import LABEL_SCORES
from skdp.data.validation import encode_labels
from skdp.metrics._pairs import check_order
from skdp.model_selection._candidates import unnamed_classes
from skdp.model_selection._row_score import steps_of
from skdp.support.types import MatrixLike, RandomState
from skdp.support.validation import check_choice

__all__ = ["DPConformalClassifier"]


class DPConformalClassifier(ClassifierMixin, PrivateConformal):
    """Private prediction sets for a classifier (split conformal prediction).

    A set contains the label of a new row with probability `confidence_level` or more, over the
    rows, the noise and the new row, whatever the model and the distribution are. `fit` learns a
    private model from one part of the rows and the threshold of sets from the others. With
    ``prefit=True``, `conformalize` finds the threshold for a fitted model. Names are those of
    MAPIE.

    Parameters
    ----------
    estimator : estimator
        *Public.* A private classifier with `predict_proba`, or a pipeline whose last step is one;
        `fit` sets its `epsilon`, `delta`, `neighboring`, `budget` and `random_state`. With
        ``prefit=True`` any fitted classifier, private or of public data.
    confidence_level : float or list of float, default 0.9
        *Public.* Probability that a set contains the label, in (0, 1). Several levels share the
        privacy loss.
    conformity_score : {"lac", "aps"}, default "lac"
        *Public.* ``"lac"`` takes all classes whose probability is large enough: the smallest sets
        on average; some may be empty. ``"aps"`` takes the most probable classes up to a sum:
        larger sets, whose coverage differs less between rows.
    class_conditional : bool, default False
        *Public.* Whether the coverage holds for the rows of each class, also of rare ones. Each
        class then needs as many records as all classes together otherwise.
    prefit : bool, default False
        *Public.* Whether `estimator` is fitted.
    conformalize_size : float in (0, 1), default 0.5
        *Public.* Share of the records that `fit` sets aside to find the thresholds.
    epsilon : float, default 1.0
        *Public.* Privacy loss of `fit` or of `conformalize`, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that is spent from before the data are read.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_levels,) or (n_levels, n_classes)
        *Released.* Largest conformity scores of labels in a set; one for each class with
        ``class_conditional=True``.
    estimator_ : estimator
        *Released.* The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        *Public.* Labels of the classifier.
    n_features_in_ : int
        *Public.* Number of columns of X, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the classifier has it.
    privacy_ : PrivacyGuarantee
        *Public.* Guarantee of fit and thresholds together; with ``prefit=True`` of the thresholds
        alone.

    Notes
    -----
    **Guarantee.** As `DPConformalRegressor`. With ``class_conditional=True`` the choices for all
    classes are one release, because a record has one label (for persons, shares of labels).

    **Coverage.** As `DPConformalRegressor`, for rows whose label is in `classes_`. A class without
    enough records is in every set.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skdp import DPLogisticRegression
    >>> from skdp.calibration import DPConformalClassifier
    >>> X, y = make_classification(6000, n_classes=3, n_informative=6, random_state=0)
    >>> model = DPConformalClassifier(DPLogisticRegression(classes=(0, 1, 2)), epsilon=1.0)
    >>> predicted, sets = model.fit(X[:5000], y[:5000]).predict_set(X[5000:])
    >>> sets.shape
    (1000, 3, 1)
    >>> bool(0.85 < sets[range(1000), y[5000:], 0].mean() < 0.96)
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        confidence_level: float | Sequence[float] = 0.9,
        conformity_score: str = "lac",
        class_conditional: bool = False,
        prefit: bool = False,
        conformalize_size: float = 0.5,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: BudgetHandle | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.class_conditional = class_conditional
        self.prefit = prefit
        self.conformalize_size = conformalize_size
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.random_state = random_state

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the class probabilities of the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. They are as private as X.
        """
        check_is_fitted(self, "quantiles_")
        return self._predictions(self.estimator_, X)

    def predict_set(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Predict the label of each row, and sets that contain it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the classifier takes.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            As `predict` returns them.
        sets : ndarray of bool, of shape (n_samples, n_classes, n_levels)
            Whether each label is in the set of a row, for each confidence level. They are as
            private as X.
        """
        check_is_fitted(self, "quantiles_")
        scores = LABEL_SCORES[self.conformity_score].of_all(self.predict_proba(X))
        most = self.quantiles_.reshape(len(self.quantiles_), -1).T
        return self.predict(X), scores[:, :, None] <= most

    def _facts(self, estimator: BaseEstimator, y: np.ndarray) -> ConformalFacts:
        score = LABEL_SCORES[check_choice("conformity_score", self.conformity_score, LABEL_SCORES)]
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, got {type(estimator).__name__}. "
                "DPCalibratedClassifier computes probabilities from scores."
            )
        last = steps_of(estimator)[-1]
        known = estimator.classes_ if self.prefit else getattr(last, "classes", None)
        check_order(known if self.prefit else None)  # of the columns of predict_proba
        classes, _ = encode_labels(type(self).__name__, y, known)
        n_groups = classes.size if self.class_conditional else 1
        model = None if self.prefit else clone(estimator)
        if model is not None:
            steps_of(model)[-1].set_params(**dict.fromkeys(unnamed_classes(model), classes))
        return ConformalFacts(score, classes, n_groups, model)

    def _predictions(self, fitted: BaseEstimator, X: MatrixLike) -> np.ndarray:
        shape = (_num_samples(X), np.size(fitted.classes_))
        return np.asarray(fitted.predict_proba(X), dtype=float).reshape(shape)

    def _publish_thresholds(self, thresholds: np.ndarray, facts: ConformalFacts) -> None:
        self.quantiles_ = thresholds if self.class_conditional else thresholds[:, 0]
