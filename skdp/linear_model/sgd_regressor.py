"""A differentially private linear regressor, learnt by stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import SGDRegressor
from sklearn.utils.metaestimators import available_if

from skdp._validation import check_choice
from skdp.linear_model._base import is_auto
from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.linear_model._sgd import PrivateSGD, is_private
from skdp.losses import HuberLoss, Loss, SquaredLoss

__all__ = ["DPSGDRegressor"]

_LOSSES = {"squared_error": SquaredLoss, "huber": HuberLoss}


class DPSGDRegressor(PrivateSGD, PrivateLinearRegressor):
    r"""A linear regressor learnt by (ε, δ)-differentially private stochastic gradient descent.

    The same model as `DPLinearRegression` or `DPHuberRegressor` with ``solver="dp_sgd"``, with
    the settings of the descent as parameters of its own, and with `partial_fit`.

    Parameters
    ----------
    loss : {"squared_error", "huber"}, default "squared_error"
        *Public.* Half the square of the residual, its slope clipped at 0.25, or, for more
        robustness and less noise, at 0.15, as shares of half the width of `target_bounds`.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then scikit-learn's `SGDRegressor`, and nothing is clipped.
    delta : float, default 1e-5
        *Public.* Probability, in (0, 1), with which the ε bound may fail; well below 1/n.
    target_bounds : (float, float), default (−1, 1)
        *Public.* Interval of the targets, in their units, from knowledge and never from the data.
        Targets outside are clipped, and so are predictions.
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
        *Public.* Inverse regularisation strength, on scores and targets scaled to [−1, 1]; the
        intercept is regularised like any coefficient. ``"auto"`` regularises by the length of the
        run instead.
        Without privacy `SGDRegressor`'s own ``alpha`` is 1/(C·n), or its default.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`.
    fit_intercept : bool, default True
        *Public.*
    intercept_scaling : float, default 0.5
        *Public.* Size of the constant column, which is part of the row.
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
    coef_ : ndarray of shape (n_features,)
        *Released*, rounded to a public grid before it is scaled to the units of the targets.
    intercept_ : float
        *Released* likewise.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees; after `partial_fit` that of all calls.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips.
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
    >>> import numpy as np
    >>> from skdp import DPSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPSGDRegressor(random_state=0).fit(X, y)
    >>> model.privacy_.epsilon(1e-5) <= 1.0
    True
    >>> model.score(X, y) > 0.7
    True
    """

    def __init__(
        self,
        loss: str = "squared_error",
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        target_bounds: tuple[float, float] = (-1.0, 1.0),
        n_steps: int = 100,
        sampling_rate: float | None = None,
        clip_norm: float | None = None,
        step_size: float | None = None,
        momentum: float = 0.9,
        average: float = 0.0,
        C: Any = "auto",
        data_norm: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
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
        self.target_bounds = target_bounds
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
        self.neighboring = neighboring
        self.n_samples_hint = n_samples_hint
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.diagnostics = diagnostics

    @available_if(is_private)
    def partial_fit(self, X: Any, y: Any) -> DPSGDRegressor:
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

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in `fit`; nothing is spent.
        """
        return self._resume(X, y)

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
            random_state=self._seed_of_reference(),
        )
