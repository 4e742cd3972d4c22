"""A differentially private linear classifier, learnt by stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.utils.metaestimators import available_if

from skdp._validation import check_choice
from skdp.linear_model._base import is_auto
from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.linear_model._sgd import PrivateSGD, is_private
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, Loss, SmoothedHingeLoss

__all__ = ["DPSGDClassifier"]

_LOSSES = {"hinge": SmoothedHingeLoss, "log_loss": ClippedLogisticLoss}


class DPSGDClassifier(PrivateSGD, PrivateLinearClassifier):
    r"""A linear classifier learnt by (ε, δ)-differentially private stochastic gradient descent.

    The same model as `DPLogisticRegression` or `DPHingeClassifier` with ``solver="dp_sgd"``, with
    the settings of the descent as parameters of its own, and with `partial_fit`.

    Parameters
    ----------
    loss : {"hinge", "log_loss"}, default "hinge"
        *Public.* The hinge rounded over 2/3 of a margin, or the logistic loss, its slope clipped
        at 0.35.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then scikit-learn's `SGDClassifier`, and nothing is clipped.
    delta : float, default 1e-5
        *Public.* Probability, in (0, 1), with which the ε bound may fail; well below 1/n.
    n_steps : int, default 100
        *Public.* Number of steps.
    sampling_rate : float in (0, 1] or None
        *Public.* Probability with which a row enters the sample of a step, each by its own coin.
        ``None``: a tenth, or what makes 1024 rows if that is less and the row count is public.
    clip_norm : float or None
        *Public.* Longer gradients of single records are scaled down to this l2 norm; ``None``
        leaves them as the loss bounds them.
    step_size : float or None
        *Public.* Step for the gradient of the sum over all rows; ``None`` takes it from public
        numbers.
    momentum : float in [0, 1), default 0.9
        *Public.* Heavy-ball momentum.
    average : float in [0, 1], default 0.0
        *Public.* Share of the run, its end, over which the coefficients are averaged.
    C : float or "auto"
        *Public.* Inverse regularisation strength as in `LogisticRegression`; the intercept is
        regularised like any coefficient. ``"auto"`` regularises by the length of the run instead.
        Without privacy `SGDClassifier`'s own ``alpha`` is 1/(C·n), or its default.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`.
    fit_intercept : bool, default True
        *Public.*
    intercept_scaling : float, default 0.3
        *Public.* Size of the constant column, which is part of the row.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` takes the labels found in `y` as public,
        which a rare label is not: pass them where that matters, and for `partial_fit`.
    class_weight : dict or None
        *Public.* Weights by label; the largest one scales the noise. ``"balanced"`` is refused.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    n_samples_hint : int or None
        *Public.* Rough number of rows under ``add_remove_one``; it sets steps and rates, never the
        guarantee. ``None`` buys a noisy count with 1 % of the budget.
    budget : PrivacyBudget or None
        *Public.* Ledger that pays before the data are read. Sampled steps are not Gaussian DP: a
        ``"gdp"`` budget admits them with ``slack=``, a ``"rdp"`` one as they are.
    random_state : None, int, Generator or RandomState
        ``None`` seeds the noise from the operating system. Whoever knows a seed can subtract the
        noise: seeds are for tests.
    n_jobs : int or None
        Threads of the linear algebra, −1 for all; ``None`` for one.
    verbose : int
        Above 0, print steps done; the number of steps is public.
    diagnostics : bool
        Keep `diagnostics_`, which is **not private** and is dropped on pickling.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, (n_classes, n_features) for more
        *Released*, rounded to a public grid.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        *Released*, rounded likewise.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees; after `partial_fit` that of all calls.
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    n_iter_ : int
        *Public.* Steps, over all calls.
    data_norm_ : float
        *Public.* The norm to which prediction clips.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.
    diagnostics_ : dict
        **Not private.** Only with ``diagnostics=True``.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring` for each call of `fit` or
    `partial_fit`: see `skdp.solvers.DPSGD`.

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
        loss: str = "hinge",
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        n_steps: int = 100,
        sampling_rate: float | None = None,
        clip_norm: float | None = None,
        step_size: float | None = None,
        momentum: float = 0.9,
        average: float = 0.0,
        C: Any = "auto",
        data_norm: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        neighboring: str = "replace_one",
        n_samples_hint: int | None = None,
        budget: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        diagnostics: bool = False,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.n_steps = n_steps
        self.sampling_rate = sampling_rate
        self.clip_norm = clip_norm
        self.step_size = step_size
        self.momentum = momentum
        self.average = average
        self.C = C
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.classes = classes
        self.class_weight = class_weight
        self.neighboring = neighboring
        self.n_samples_hint = n_samples_hint
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.diagnostics = diagnostics

    @available_if(is_private)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> DPSGDClassifier:
        """Learn from more rows, starting from the coefficients that are already released.

        Each call spends (`epsilon`, `delta`) anew, and `privacy_` is the composition of all calls:
        a record may have been in each of them. It holds for calls whose parameters were fixed
        beforehand; a budget holds for any.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.*
        y : array-like of shape (n_samples,)
            *Private.*
        classes : array-like or None
            *Public.* All labels that may occur; needed at the first call unless the parameter
            `classes` has them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in `fit`, and if the labels that may occur are not known; nothing is spent.
        """
        return self._resume(X, y, self._known_classes(classes))

    def _known_classes(self, classes: Any) -> np.ndarray:
        known = self.classes if self.classes is not None else getattr(self, "classes_", None)
        if classes is None and known is None:
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may "
                "occur, which are public."
            )
        both = [np.unique(labels) for labels in (known, classes) if labels is not None]
        if not np.array_equal(both[0], both[-1]):
            raise ValueError(
                f"classes={both[-1].tolist()} differs from {both[0].tolist()}, the labels of "
                "earlier calls."
            )
        return both[0]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, _LOSSES)

    def _loss(self, n_classes: int) -> Loss:
        loss = _LOSSES[self.loss]()
        return loss if n_classes == 2 else CompetitorLoss(loss, n_classes)

    def _reference(self, n_samples: int) -> SGDClassifier:
        return SGDClassifier(
            loss=self.loss,
            alpha=1e-4 if is_auto(self.C) else 1.0 / (self.C * n_samples),
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            random_state=self._seed_of_reference(),
        )
