"""Private prediction intervals and sets by split conformal prediction."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from skdp.calibration._conformal import (
    LABEL_SCORES,
    AbsoluteResidual,
    ConformalFacts,
    PrivateConformal,
)
from skdp.data.validation import classes_of
from skdp.metrics._evaluation import check_order, numbers_of
from skdp.metrics.error_scores import ErrorScale
from skdp.model_selection._held_out import steps_of, unnamed_classes
from skdp.support.types import MatrixLike
from skdp.support.validation import check_choice, parameters

_SCORES = ("absolute",)


@parameters
class DPConformalRegressor(RegressorMixin, PrivateConformal):
    """Private prediction intervals for a regressor (split conformal prediction).

    An interval contains the target of a new row with probability `confidence_level` or more, over
    the rows, the noise and the new row, whatever the model and the distribution are. `fit` learns a
    private model from one part of the rows and the width of intervals from the others. With
    ``prefit=True``, `conformalize` finds the width for a fitted model. Names are those of MAPIE.

    Parameters
    ----------
    estimator : estimator
        *Public.* A private regressor, or a pipeline whose last step is one; `fit` sets its
        `epsilon`, `delta`, `neighboring`, `budget` and `random_state`. With ``prefit=True`` any
        fitted regressor, private or of public data.
    confidence_level : float or list of float, default 0.9
        *Public.* Probability that an interval contains the target, in (0, 1). Several levels share
        the privacy loss.
    conformity_score : {"absolute"}, default "absolute"
        *Public.* The absolute residual: all intervals have one width.
    target_bounds : (low, high) or None, default None
        *Public.* Interval that contains the targets. Targets and predictions are clipped to it, and
        intervals end there. ``None``: that of the estimator. An estimator without one is fitted
        with it.
    prefit : bool, default False
        *Public.* Whether `estimator` is fitted.
    conformalize_size : float in (0, 1), default 0.5
        *Public.* Share of the records that `fit` sets aside to find the widths.
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
    quantiles_ : ndarray of shape (n_levels,)
        *Released.* Half the width of the intervals, in units of the target; at most the width of
        `target_bounds`.
    estimator_ : estimator
        *Released.* The fitted regressor.
    n_features_in_ : int
        *Public.* Number of columns of X, if the regressor has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the regressor has it.
    privacy_ : PrivacyGuarantee
        *Public.* Guarantee of fit and widths together; with ``prefit=True`` of the widths alone.

    Notes
    -----
    **Guarantee.** `fit` releases a model and quantiles of scores from disjoint records, each
    (ε, δ)-DP, so all of it is. `fit` draws the two parts after it has spent, by record and without
    looking at values: a fixed number of records if n is public, otherwise each independently with
    probability `conformalize_size`. The quantiles are choices by the exponential mechanism, or in
    a budget that counts Gaussian noise binary searches with noisy counts.

    **Coverage.** At least `confidence_level`, if target_bounds contain the targets and the records
    and the new one are exchangeable. The rank is raised by the mean of the worst noise: about 16/ε
    records, or 21/ε in a budget that counts Gaussian noise, as the default does. With too few
    records intervals are the whole of `target_bounds`, and a `FewRowsWarning` says so if n is
    public. Theorem and proof: *Conformal prediction* in the documentation. The coverage is that of
    all rows together, not of each kind of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> from skdp.calibration import DPConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(6000, 3))
    >>> y = X @ [1.0, -1.0, 0.5] + 0.2 * rng.normal(size=6000)
    >>> model = DPConformalRegressor(DPLinearRegression(target_bounds=(-2, 2)), epsilon=1.0)
    >>> predicted, intervals = model.fit(X[:5000], y[:5000]).predict_interval(X[5000:])
    >>> intervals.shape
    (1000, 2, 1)
    >>> inside = (intervals[:, 0, 0] <= y[5000:]) & (y[5000:] <= intervals[:, 1, 0])
    >>> bool(0.85 < inside.mean() < 0.96)
    True
    """

    estimator: BaseEstimator = field(kw_only=False)
    conformity_score: str = "absolute"
    target_bounds: tuple[float, float] | None = None

    def predict_interval(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Predict the target of each row, and intervals that contain it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            *Private.* Rows that the regressor takes.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            As `predict` returns them.
        intervals : ndarray of shape (n_samples, 2, n_levels)
            Lower and upper ends for each confidence level, within `target_bounds`. They are as
            private as X.
        """
        check_is_fitted(self, "quantiles_")
        predicted = self.predict(X)
        low, high = self._bounds(self.estimator_)
        middle = np.clip(predicted, low, high)[:, None]
        ends = np.stack([middle - self.quantiles_, middle + self.quantiles_], axis=1)
        return predicted, np.clip(ends, low, high)

    def _facts(self, estimator: BaseEstimator, y: np.ndarray) -> ConformalFacts:
        check_choice("conformity_score", self.conformity_score, _SCORES)
        bounds = self._bounds(estimator)
        numbers_of("y", y)
        return ConformalFacts(
            AbsoluteResidual(bounds), model=None if self.prefit else _bounded(estimator, bounds)
        )

    def _bounds(self, estimator: BaseEstimator) -> tuple[float, float]:
        bounds = self.target_bounds
        if bounds is None:
            bounds = getattr(steps_of(estimator)[-1], "target_bounds", None)
        if bounds is None:
            raise ValueError(
                "target_bounds=(low, high) is required: a public interval that contains the "
                "targets."
            )
        return ErrorScale.of(bounds, None).bounds

    def _predictions(self, fitted: BaseEstimator, X: MatrixLike) -> np.ndarray:
        return np.asarray(fitted.predict(X), dtype=float).reshape(_num_samples(X))

    def _publish_thresholds(self, thresholds: np.ndarray, facts: ConformalFacts) -> None:
        assert isinstance(facts.score, AbsoluteResidual)
        self.quantiles_ = facts.score.distance(thresholds[:, 0])


def _bounded(estimator: BaseEstimator, bounds: tuple[float, float]) -> BaseEstimator:
    """Return a copy of an estimator, which takes these bounds if it has none."""
    copy = clone(estimator)
    last = steps_of(copy)[-1]
    if np.ndim(getattr(last, "quantile", 0.5)):
        raise ValueError("intervals are around one number per row. Pass one level as quantile.")
    if last.target_bounds is None:
        last.set_params(target_bounds=bounds)
    return copy


@parameters
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

    estimator: BaseEstimator = field(kw_only=False)
    conformity_score: str = "lac"
    class_conditional: bool = False

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
        classes = classes_of(type(self).__name__, y, known)
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
