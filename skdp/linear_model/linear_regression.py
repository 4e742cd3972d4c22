"""Differentially private least squares."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge

from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.linear_model._target_scale import TargetRange
from skdp.losses import Loss, SquaredLoss
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.types import RandomState
from skdp.support.validation import check_real

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

__all__ = ["DPLinearRegression"]


class DPLinearRegression(PrivateLinearRegressor):
    """Linear regression by least squares with (ε, δ)-differentially private coefficients.

    The solver learns the coefficients from rows clipped to `data_norm` and targets scaled from
    `target_bounds` to [−1, 1], with the squared loss, its derivative clipped at ±`slope_bound`. The
    defaults depend on public numbers only, so no parameter needs tuning on the data. See *Which
    solver?* in the user guide. A number for `C` makes it ridge regression. With enough rows,
    predictions are shifted so that their mean is right (*Models* in the user guide).

    ``solver="adassp"`` releases the moments AᵀA and Aᵀy with Gaussian noise instead and solves the
    normal equations. It is exact least squares for large n·ε and up to some thousand columns,
    noisier otherwise, and takes no weights. ``"auto"`` takes it where its noise is small. With
    ``epsilon=inf`` it is scikit-learn's `LinearRegression`, or ``Ridge(alpha=1/C)`` if `C` is a
    number, and nothing is clipped.

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
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    slope_bound : float, default 0.25
        *Public.* Bound of the loss's derivative, as a share of half the width of `target_bounds`,
        or of the largest count. The noise is proportional to it. A small bound moves the fit from
        the mean toward the median. Not used by ``"adassp"``.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.5
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    center : bool or "auto", default "auto"
        *Public.* Whether to spend a tenth of μ² on a noisy mean of the rows and fit the model to
        shifted rows, for which the same noise weighs less. ``"auto"`` decides by public facts. See
        *A learned center* in the user guide.
    standard_errors : bool or "robust", default False
        *Public.* Whether to release what standard errors, intervals and tests need. `coef_` then
        has no bias from a ridge. ``"robust"``: valid also if the spread of the residuals varies.
        With `groups` they are cluster-robust. See *Standard errors* in the user guide.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learned: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` picks by public facts (*Which solver?* in the user guide); see `solver_`.
    sampler : str or Sampler, default "auto"
        *Public.* Sampler of the exponential mechanism: a name of `skdp.samplers.SAMPLERS` or an
        instance. ``"auto"`` is ``"proximal"``.
    n_samples_hint : int or None
        *Public.* A guess of n for ``add_remove_one``; it should not be too low. ``None``: estimate
        n with 1 % of μ² if the solver needs it. See :term:`n_samples_hint`.
    subsample : float in (0, 1], "auto" or None
        *Public.* Probability with which each row is used. ``"auto"`` aims at a million rows.
        ``None``: all rows in memory, ``"auto"`` for Dask if that costs no more. See
        :term:`subsample`.
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
        *Public, or released* if a narrower range was found. The interval to which targets and
        predictions are clipped.
    loss_ : Loss
        *Public, or computed from the noisy count.* The loss. Only for private fits.
    solver_ : str
        *Public, or computed from the noisy count.* Name of the solver. Only for private fits.
    n_iter_ : int
        *Public, or computed from the noisy count.* Number of steps of the solver.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient, if the solver adds Gaussian
        noise to an optimum.
    coef_std_error_ : ndarray of the shape of `coef_`
        *Released,* like the next two; only with `standard_errors`. Standard errors, by the sample
        and by the noise; nan if a coefficient is not identified.
    coef_noise_std_ : ndarray of the shape of `coef_`
        The part of `coef_std_error_` that is noise.
    coef_covariance_ : ndarray of shape (n_coefficients, n_coefficients)
        Covariance of the coefficients and, last, the intercept.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    feature_map_ : object
        *Public.* The feature map; only with `features`. Its method `get_feature_names_out` names
        the coefficients.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows.
    n_features_in_ : int
        *Public.* Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring`, and by default also
    `privacy_.gdp_mu`-Gaussian DP. Samples: Gopi, Lee and Liu 2022, Theorem 4.1, and for finite runs
    Theorem A' (*Finitely many steps* in the user guide). Noisy steps: Dong, Roth and Su 2022,
    Corollary 2 (*The frontier*).
    ``"adassp"``: the Gaussian mechanism (*Least squares from noisy moments*).
    **Assumed.** Records are finite vectors with finite targets; all parameters, the columns and,
    under ``replace_one``, n are public; the noise is secret; running time is not observed.
    **Uncertainty.** `standard_errors`: *Standard errors* in the user guide.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPLinearRegression(target_bounds=(-1, 1), random_state=0).fit(X, y)
    >>> round(model.privacy_.gdp_mu, 6)
    0.268051
    >>> model.score(X, y) > 0.7
    True
    """

    with_errors: ClassVar[tuple[str, ...]] = ("objective_perturbation", "adassp")

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
        C: float | Literal["auto"] = "auto",
        slope_bound: float = 0.25,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        center: bool | Literal["auto"] = "auto",
        standard_errors: bool | Literal["robust"] = False,
        solver: str | Solver = "auto",
        sampler: str | Sampler = "auto",
        n_samples_hint: int | None = None,
        subsample: float | Literal["auto"] | None = None,
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
        self.C = C
        self.slope_bound = slope_bound
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.center = center
        self.standard_errors = standard_errors
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.random_state = random_state
        self.verbose = verbose

    def _loss_of(self, task: TargetRange) -> Loss:
        return SquaredLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _reference(self, n_samples: int) -> LinearRegression | Ridge:
        if isinstance(self.C, Real):
            return Ridge(alpha=1.0 / self.C, fit_intercept=self.fit_intercept)
        return LinearRegression(fit_intercept=self.fit_intercept)
