"""A differentially private linear regressor, learned by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDRegressor
from sklearn.utils.metaestimators import available_if

from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.linear_model._sgd import PrivateSGD, is_private
from skdp.linear_model._target_scale import TargetRange
from skdp.losses import HuberLoss, Loss, SquaredLoss
from skdp.support.random import seed_of
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

__all__ = ["DPSGDRegressor"]

_LOSSES = {"squared_error": SquaredLoss, "huber": HuberLoss}


class DPSGDRegressor(PrivateSGD[TargetRange], PrivateLinearRegressor):
    """A linear regressor learned by (ε, δ)-differentially private stochastic gradient descent.

    The same model as `DPLinearRegression` or `DPHuberRegressor` with ``solver="dp_sgd"``, with the
    settings of the descent as parameters, and with `partial_fit`. The loss is half the squared
    residual, with its derivative clipped at 0.25, or at 0.15 for more robustness and less noise.
    The unit of both is half the width of `target_bounds`. With ``epsilon=inf`` it is scikit-learn's
    `SGDRegressor`, with ``alpha`` 1/(C·n) or its default, and nothing is clipped.

    Parameters
    ----------
    target_bounds : (float, float)
        *Public.* Interval of the targets, from prior knowledge; required. Targets and predictions
        are clipped to it. If it is far too wide, `fit` finds a narrower one: see
        :term:`target_bounds`.
    features : transformer or None, default None
        *Public.* Feature map: one of `skdp.features`, or scikit-learn transformers that read one
        row at a time and learn nothing. X may then be a data frame with strings and missing values.
        ``None``: the columns of X.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to at most this l2 norm, in `fit` and in prediction. Scale
        columns by public bounds first, for example with `skdp.preprocessing.BoundsScaler`.
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
    loss : {"squared_error", "huber"}, default "squared_error"
        *Public.* Name of the loss.
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.5
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
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
    coef_ : ndarray of shape (n_features,)
        *Released*, in units of the targets.
    intercept_ : float
        *Released*, in units of the targets.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips.
    privacy_ : PrivacyGuarantee
        *Public.* What all calls of `fit` and `partial_fit` released, and its guarantee.
    n_iter_ : int
        *Public.* Number of steps in all calls.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring` for each call of `fit` or
    `partial_fit`: see `skdp.solvers.DPSGD`.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPSGDRegressor(target_bounds=(-1, 1), random_state=0).fit(X, y)
    >>> model.privacy_.epsilon(1e-5) <= 1.0
    True
    >>> model.score(X, y) > 0.7
    True
    """

    def __init__(
        self,
        *,
        target_bounds: Sequence[float] | None = None,
        features: BaseEstimator | None = None,
        data_norm: float = 1.0,
        max_weight: float | None = None,
        max_rows: int | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: BudgetHandle | None = None,
        loss: str = "squared_error",
        C: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
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
        self.target_bounds = target_bounds
        self.features = features
        self.data_norm = data_norm
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
            As in `fit`. Nothing is spent.
        """
        return self._resume(X, y, sample_weight, groups)

    def _learned_coefficients(self, task: TargetRange) -> tuple[np.ndarray, np.ndarray]:
        intercept = (np.atleast_1d(self.intercept_) - task.middle) / task.half_width
        return np.atleast_2d(self.coef_) / task.half_width, intercept

    def _loss_of(self, task: TargetRange) -> Loss:
        return _LOSSES[check_choice("loss", self.loss, _LOSSES)]()

    def _reference(self, n_samples: int) -> SGDRegressor:
        return SGDRegressor(
            loss=self.loss,
            alpha=self._reference_alpha(n_samples),
            fit_intercept=self.fit_intercept,
            random_state=seed_of(self.random_state),
        )
