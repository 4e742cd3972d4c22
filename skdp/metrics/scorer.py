"""Private scorers for scikit-learn, called with an estimator and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from skdp.data.schema import groups_of, schemas_in
from skdp.data.validation import present
from skdp.metrics._evaluation import Score, predictions_of
from skdp.metrics.curve_scores import dp_average_precision_score, dp_roc_auc_score
from skdp.metrics.error_scores import (
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
)
from skdp.metrics.label_scores import dp_accuracy_score, dp_brier_score_loss, dp_log_loss
from skdp.support.types import MatrixLike, VectorLike

_OF_SECOND = (dp_roc_auc_score, dp_average_precision_score)
_OF_EACH = (dp_log_loss, dp_brier_score_loss)
_OF_NUMBERS = (dp_mean_squared_error, dp_mean_absolute_error, dp_r2_score)
_LOSSES = (dp_log_loss, dp_brier_score_loss, dp_mean_squared_error, dp_mean_absolute_error)
_KNOWN = (dp_accuracy_score, *_OF_SECOND, *_OF_EACH, *_OF_NUMBERS)


@dataclass(eq=False)
class PrivateScorer:
    """A scorer that makes one private release per call, returned by `make_private_scorer`.

    Parameters
    ----------
    metric : callable
        *Public.* The score.
    terms : dict
        *Public.* Other arguments of the score.

    Examples
    --------
    >>> from skdp import DPLinearRegression
    >>> from skdp.metrics import dp_mean_absolute_error, make_private_scorer
    >>> asked = {"epsilon": 1.0, "target_bounds": (0, 1), "random_state": 0}
    >>> scorer = make_private_scorer(dp_mean_absolute_error, **asked)
    >>> X, y = [[0.0], [0.5], [1.0], [0.5]] * 1000, [0.0, 0.1, 1.0, 0.9] * 1000
    >>> model = DPLinearRegression(target_bounds=(0, 1), random_state=0).fit(X, y)
    >>> round(scorer(model, X, y), 1)
    -0.2
    """

    metric: Callable[..., Score]
    terms: dict[str, object] = field(repr=False)
    _groups: bool | str | None = field(default=None, init=False, repr=False)

    def __call__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike,
        *,
        groups: VectorLike | None = None,
    ) -> float:
        """Return the private score of a fitted estimator; greater is better.

        If the estimator has a schema that identifies persons, `groups` are taken from X.
        """
        groups = groups_of(schemas_in([estimator]), X, groups)
        terms = dict(self.terms) if groups is None else {**self.terms, "groups": groups}
        if self.metric in (*_OF_SECOND, *_OF_EACH):
            terms.setdefault("classes", estimator.classes_)
            none = np.empty((0, np.size(estimator.classes_)))
            guess = predictions_of(estimator.predict_proba, X, none)
            guess = guess if self.metric in _OF_EACH else present("y_score", guess)[:, -1]
        else:
            guess = predictions_of(estimator.predict, X, np.empty(0))
        value = self.metric(y, guess, **terms).value
        return -value if self.metric in _LOSSES else value

    def set_score_request(self, *, groups: bool | str | None) -> PrivateScorer:
        """Set whether scikit-learn's metadata routing passes `groups` to each call.

        Parameters
        ----------
        groups : bool, str or None
            *Public.* Whether to pass `groups`, or under which name. None: passing them raises.

        Returns
        -------
        PrivateScorer
            The scorer itself.
        """
        self._groups = groups
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata request, as scikit-learn's scorers do.

        Returns
        -------
        MetadataRequest
        """
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="groups", alias=self._groups)
        return request


def make_private_scorer(
    metric: Callable[..., Score], *, epsilon: float, **terms: object
) -> PrivateScorer:
    """Make a scorer that spends one private release per call.

    In scikit-learn's searches and cross-validations each fold of each candidate is a call.
    `DPGridSearchCV` chooses at a lower cost. Do not score training rows: see *Evaluating models
    privately* in the user guide.

    Parameters
    ----------
    metric : callable
        *Public.* One of the functions of `skdp.metrics` that return a `Score`.
    epsilon : float
        *Public.* Privacy loss of each call, in nats; finite.
    **terms : dict
        *Public.* Other arguments of the metric, such as `budget` or `target_bounds`.

    Returns
    -------
    PrivateScorer
        Call it with a fitted estimator, rows and labels. Losses are negative, as in scikit-learn.

    Raises
    ------
    ValueError
        If the metric is not one of these functions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skdp import DPLogisticRegression, PrivacyBudget
    >>> from skdp.metrics import dp_roc_auc_score, make_private_scorer
    >>> X, y = make_classification(4000, random_state=0)
    >>> budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    >>> model = DPLogisticRegression(epsilon=1.0, budget=budget.at(partition="learn"))
    >>> model = model.fit(X[:3000], y[:3000])
    >>> own = budget.at(partition="judge")
    >>> scorer = make_private_scorer(dp_roc_auc_score, epsilon=1.0, budget=own)
    >>> bool(scorer(model, X[3000:], y[3000:]) > 0.8)
    True
    >>> round(budget.spent.epsilon, 3)
    1.0
    """
    if metric not in _KNOWN:
        names = ", ".join(known.__name__ for known in _KNOWN)
        raise ValueError(f"metric must be one of {names}, got {metric!r}.")
    return PrivateScorer(metric, {"epsilon": epsilon, **terms})
