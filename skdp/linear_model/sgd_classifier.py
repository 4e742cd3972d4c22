"""A differentially private linear classifier, learned by stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.utils.metaestimators import available_if

from skdp.linear_model._base import dense
from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.linear_model._sgd import PrivateSGD, is_private
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, Loss, SmoothedHingeLoss
from skdp.support.random import seed_of
from skdp.support.types import Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

__all__ = ["DPSGDClassifier"]

_LOSSES = {"hinge": SmoothedHingeLoss, "log_loss": ClippedLogisticLoss}


class DPSGDClassifier(PrivateSGD[np.ndarray], PrivateLinearClassifier):
    """A linear classifier learned by (ε, δ)-differentially private stochastic gradient descent.

    The same model as `DPLogisticRegression` or `DPHingeClassifier` with ``solver="dp_sgd"``, with
    the settings of the descent as parameters, and with `partial_fit`. The loss is the hinge,
    rounded over 2/3 of a margin, or the logistic loss with its derivative clipped at 0.35. With
    ``epsilon=inf`` it is scikit-learn's `SGDClassifier`, with ``alpha`` 1/(C·n) or its default, and
    nothing is clipped.

    Parameters
    ----------
    features : transformer or None, default None
        *Public.* Feature map: one of `skdp.features`, or scikit-learn transformers that read one
        row at a time and learn nothing. X may then be a data frame with strings and missing values.
        ``None``: the columns of X.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to at most this l2 norm, in `fit` and in prediction. Scale
        columns by public bounds first, for example with `skdp.preprocessing.BoundsScaler`.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    max_rows : int or None
        *Public.* Maximum number of rows used per person. If a person has more, `fit` draws a random
        subset. ``None``: 16,384. Only used with `groups`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    loss : {"hinge", "log_loss"}, default "hinge"
        *Public.* Name of the loss.
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.3
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    class_weight : dict or None
        *Public.* Weights by label; the largest scales the noise. ``"balanced"`` raises ValueError.
    n_steps : int, default 100
        *Public.* Number of steps.
    sampling_rate : float in (0, 1] or None
        *Public.* Probability with which each step reads a record (Poisson sampling). ``None``: 0.1,
        or 1024 divided by a public n if that is less.
    clip_norm : float or None
        *Public.* l2 norm to which gradients of single records are clipped. ``None``: the bound of
        the loss.
    step_size : float or None
        *Public.* Step for the gradient of the sum over all rows. ``None``: from public numbers.
    momentum : float in [0, 1), default 0.9
        *Public.* Heavy-ball momentum.
    average : float in [0, 1], default 0.0
        *Public.* Share of the run, at its end, over which the coefficients are averaged.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ² if the solver needs it. See :term:`n_samples_hint`.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, (n_classes, n_features) for more
        *Released.*
    intercept_ : ndarray of shape (1,) or (n_classes,)
        *Released.*
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    privacy_ : PrivacyGuarantee
        *Public.* What all calls of `fit` and `partial_fit` released, and its guarantee.
    n_iter_ : int
        *Public.* Number of steps in all calls.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring` for each call of `fit` or
    `partial_fit`: see `skdp.solvers.DPSGD`.

    The other attributes are those of `DPLogisticRegression`.

    Examples
    --------
    >>> from skdp import DPSGDClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], cluster_std=0.5, random_state=0)
    >>> model = DPSGDClassifier(epsilon=1.0, random_state=0).fit(X, y)
    >>> model.privacy_.epsilon(1e-5) <= 1.0
    True
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        features: BaseEstimator | None = None,
        data_norm: float = 1.0,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: BudgetHandle | None = None,
        loss: str = "hinge",
        C: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        class_weight: dict[Label, float] | None = None,
        n_steps: int = 100,
        sampling_rate: float | None = None,
        clip_norm: float | None = None,
        step_size: float | None = None,
        momentum: float = 0.9,
        average: float = 0.0,
        n_samples_hint: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.features = features
        self.data_norm = data_norm
        self.classes = classes
        self.max_weight = max_weight
        self.max_rows = max_rows
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_steps = n_steps
        self.sampling_rate = sampling_rate
        self.clip_norm = clip_norm
        self.step_size = step_size
        self.momentum = momentum
        self.average = average
        self.n_samples_hint = n_samples_hint
        self.random_state = random_state
        self.verbose = verbose

    @available_if(is_private)
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: ArrayLike | None = None,
        sample_weight: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn from more rows, starting from the released coefficients.

        Each call spends (`epsilon`, `delta`), and `privacy_` is the composition of all calls, if
        their parameters were fixed beforehand. Calls on disjoint partitions do not add up:
        ``set_params(budget=budget.at(partition=k))``. A call that fails after the spend drops the
        coefficients and `privacy_`; only the ledger of the budget keeps the earlier costs.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As in `fit`.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* As in `fit`.
        classes : array-like or None
            *Public.* All labels that may occur; required in the first call unless the parameter
            `classes` is set.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* As in `fit`.
        groups : array-like of shape (n_samples,) or None
            *Private.* As in `fit`; in every call or in none. All rows of a person belong to one
            partition.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As in `fit`, and if the classes are not known. Nothing is spent.
        """
        return self._resume(X, y, sample_weight, groups, self._known_classes(classes))

    def _known_classes(self, classes: ArrayLike | None) -> np.ndarray:
        every = (self.classes, classes, getattr(self, "classes_", None))
        known = [np.unique(labels) for labels in every if labels is not None]
        if not known:
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may occur."
            )
        for labels in known:
            if not np.array_equal(labels, known[-1]):
                raise ValueError(
                    f"classes={labels.tolist()} differs from {known[-1].tolist()}, the classes of "
                    "earlier calls or of the parameter."
                )
        return known[-1]

    def _learned_coefficients(self, task: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dense(self.coef_), self.intercept_

    def _loss(self, n_classes: int) -> Loss:
        loss = _LOSSES[check_choice("loss", self.loss, _LOSSES)]()
        return loss if n_classes == 2 else CompetitorLoss(loss, n_classes)

    def _reference(self, n_samples: int) -> SGDClassifier:
        return SGDClassifier(
            loss=self.loss,
            alpha=self._reference_alpha(n_samples),
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            random_state=seed_of(self.random_state),
        )
