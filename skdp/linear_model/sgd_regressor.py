"""A differentially private linear regressor, learned by stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import SGDRegressor
from sklearn.utils.metaestimators import available_if

from skdp.linear_model._base import is_auto
from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.linear_model._sgd import PrivateSGD, is_private
from skdp.losses import HuberLoss, Loss, SquaredLoss
from skdp.support.random import seed_of
from skdp.support.validation import check_choice

__all__ = ["DPSGDRegressor"]

_LOSSES = {"squared_error": SquaredLoss, "huber": HuberLoss}


class DPSGDRegressor(PrivateSGD, PrivateLinearRegressor):
    r"""A linear regressor learned by (ε, δ)-differentially private stochastic gradient descent.

    The same model as `DPLinearRegression` or `DPHuberRegressor` with ``solver="dp_sgd"``, with
    the settings of the descent as parameters of its own, and with `partial_fit`.

    The loss is half the square of the residual, its derivative clipped at 0.25, or, for more
    robustness and less noise, at 0.15, as shares of half the width of `target_bounds`. With
    ``epsilon=inf`` it is scikit-learn's `SGDRegressor`, with ``alpha`` 1/(C·n) or its default, and
    nothing is clipped.

    Parameters
    ----------
    target_bounds : (float, float)
        *Public.* Interval of the targets, from prior knowledge; required. Targets and predictions
        are clipped to it.
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
        subset. ``None``: all rows. Only used with `groups`.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails. ``None``: the budget's δ, or 1e-5.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record or in its presence.
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
        *Public.* Probability with which a record enters the sample of a step, independently of the
        others (Poisson sampling). ``None``: a tenth, or what makes 1024 records if that is less and
        the count is public.
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
        *Released*, rounded to a public grid before it is scaled to the units of the targets.
    intercept_ : float
        *Released* likewise.
    loss_ : Loss
        *Public, or computed from the noisy count*: the loss.
    solver_ : str
        *Public, or computed from the noisy count*: name of the solver.
    privacy_ : PrivacyGuarantee
        *Public.* What was released and what it guarantees; after `partial_fit` that of all calls.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips.
    n_iter_ : int
        *Public.* Steps, over all calls.
    feature_map_ : object
        *Public.* The feature map; only with `features`.
    data_norm_ : float
        *Public.* The norm to which prediction clips.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring` for each call of `fit` or
    `partial_fit`: see `skdp.solvers.DPSGD`.

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
        target_bounds: Any = None,
        features: Any = None,
        data_norm: float = 1.0,
        max_weight: float | None = None,
        max_rows: int | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        loss: str = "squared_error",
        C: Any = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        n_steps: int = 100,
        sampling_rate: float | None = None,
        clip_norm: float | None = None,
        step_size: float | None = None,
        momentum: float = 0.9,
        average: float = 0.0,
        n_samples_hint: int | None = None,
        random_state: Any = None,
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
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DPSGDRegressor:
        """Learn from more rows, starting from the coefficients that are already released.

        Each call spends (`epsilon`, `delta`) anew, and `privacy_` is the composition of all calls:
        a record may have been in each of them. For the chunks of one pass over the records, give
        each call a handle on its own partition, ``set_params(budget=budget.at(partition=k))``: a
        record was in one of them, and the pass costs as much as its costliest call, in the budget
        as well. A partition read twice costs twice. All of this holds for calls whose parameters
        were fixed beforehand; a budget holds for any. A call that dies after the spend drops the
        coefficients: the next one starts anew, `privacy_` counts from there, and what was spent
        before stands in the ledger of the budget alone.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As in `fit`.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* As in `fit`.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* As in `fit`.
        groups : array-like of shape (n_samples,) or None
            *Private.* As in `fit`; in every call or in none. A person is in one partition, with
            all of their rows.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As in `fit`; nothing is spent.
        """
        return self._resume(X, y, sample_weight, groups)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, _LOSSES)

    def _loss_of(self, task: Any) -> Loss:
        return _LOSSES[self.loss]()

    def _reference(self, n_samples: int) -> SGDRegressor:
        return SGDRegressor(
            loss=self.loss,
            alpha=1e-4 if is_auto(self.C) else 1.0 / (self.C * n_samples),
            fit_intercept=self.fit_intercept,
            random_state=seed_of(self.random_state),
        )
