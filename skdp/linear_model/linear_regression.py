"""Differentially private least squares."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.linear_model import LinearRegression, Ridge

from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.losses import Loss, SquaredLoss
from skdp.support.validation import check_real

__all__ = ["DPLinearRegression"]


class DPLinearRegression(PrivateLinearRegressor):
    """Linear regression by least squares with (ε, δ)-differentially private coefficients.

    By default the coefficients are one sample from a density proportional to exp(−c·Σ ℓ(y_i, a_i·θ)
    − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant column appended, y_i
    the target scaled from `target_bounds` to [−1, 1], and ℓ is half the square of the residual, its
    derivative clipped to ±`slope_bound`. Where its run would be long, for many rows or a large ε,
    they are the end of noisy gradient steps on Σ ℓ instead. All numbers of either follow from
    public ones: no parameter needs tuning on the data. With ``solver="adassp"`` the matrix AᵀA and
    the vector Aᵀy of the same rows and targets are released with Gaussian noise instead, and the
    normal equations are solved with them. With a number for `C` either is ridge regression; there
    is no other class for that.

    The default solver follows the gradients of a square whose derivative is clipped.
    ``solver="adassp"`` is exact least squares where n·ε is large, for up to some thousand columns,
    and adds more noise where it is not; it draws no sample, needs no count of records and takes no
    weights. With ``epsilon=inf`` it is scikit-learn's `LinearRegression`, or ``Ridge(alpha=1/C)``
    if `C` is a number, and nothing is clipped.

    Parameters
    ----------
    target_bounds : (float, float)
        *Public.* Interval of the targets, in their units, from knowledge and never from the data;
        it has no default. Targets outside are clipped, and so are predictions.
    features : transformer or None, default None
        *Public.* The feature map of each row: one of `skdp.features`, or a `Pipeline`,
        `ColumnTransformer` or `FeatureUnion` of transformers that read one row at a time and learn
        nothing. X may then be a data frame with text and missing values, and `data_norm` bounds
        rows of features. ``None`` fits the columns of X themselves.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`. Unscaled columns
        leave little but the longest of them.
    max_weight : float or None
        *Public.* Largest weight of a record: the `sample_weight` of `fit`, which is private, is
        clipped to [0, max_weight], and the noise grows in proportion to it. ``None`` refuses
        weights in a private fit.
    max_rows : int or None
        *Public.* Maximum number of rows used per person, only with the `groups` of `fit`. If a
        person has more, each `fit` draws a uniform subset. ``None`` uses all rows. The rows of a
        person weigh as much as one record in any case.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend.
    delta : float or None
        *Public.* Probability with which the ε bound may fail, well below 1/n. ``None`` takes the
        budget's, or 1e-5 without a budget.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one record (then n is
        public) or in its presence (then it is private).
    budget : PrivacyBudget or None
        *Public.* What the fit spends from, before it reads the data.
    C : float or "auto"
        *Public.* Inverse regularisation strength: the ridge is |θ|²/(2C) beside the sum of the
        losses, the intercept included; of regressors on scores and targets scaled to [−1, 1].
        ``"auto"`` relies on early stopping; C then has almost no effect. With ``epsilon=inf`` it
        is scikit-learn's default.
    slope_bound : float, default 0.25
        *Public.* Bound of the loss's derivative, as a share of half the width of `target_bounds`,
        or of the largest count. Beyond it the loss is linear. The noise is proportional to it. A
        small bound moves the fit from the mean towards the median. Not used by ``"adassp"``.
    fit_intercept : bool, default True
        *Public.* Whether a constant column is part of each row.
    intercept_scaling : float, default 0.5
        *Public.* Size of the constant column. It is part of the row and of its norm: a large one
        makes the noise larger, a small one the intercept slower to learn.
    solver : str or Solver, default "auto"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
        ``"auto"`` takes ``"regularized_exponential"``, or ``"noisy_gd"`` where that one's run would
        have more than 128 steps, or 64 with several scores a record, and for more than 1024
        columns or with `groups`; `solver_` says which.
    sampler : str or Sampler, default "auto"
        *Public.* What draws the sample: a name of `skdp.samplers.SAMPLERS` or an instance.
        ``"auto"`` is ``"proximal"``, which takes every loss and both relations. Only for solvers
        that sample; with one given, ``solver="auto"`` is ``"regularized_exponential"``.
    n_samples_hint : int or None
        *Public.* A public guess of n, such as a study's planned size, for ``add_remove_one``. It
        sets the step size and costs no privacy, however wrong. Rather guess high: if it is
        ten times too low, a solver that draws samples may take very long. ``None`` estimates n
        privately, with 1 % of the fit's μ², where the solver needs it. Not used under
        ``replace_one``.
    subsample : float in (0, 1], "auto" or None
        *Public.* Rate q of the sample that is fitted in place of X: each row is in it with
        probability q, independently, and less noise costs the same (ε, δ). ``"auto"``: such that
        a million rows are expected, or 1 if the public count is less or there is none. ``None``: 1,
        all rows, of X in memory and with ``epsilon=inf``; of Dask collections as ``"auto"``, where
        solver and budget count a sample at what is asked.
    random_state : None, int, Generator or RandomState
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.
    verbose : int
        *Public.* Above 0, show steps done, by tqdm where it is installed; their number is public.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        *Released*, computed from what was rounded to a public grid, or rounded itself.
    intercept_ : float
        *Released* likewise.
    loss_ : Loss
        *Public, or computed from the noisy count*: what was minimised.
    solver_ : str
        *Public, or computed from the noisy count*: name of the solver that was taken.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient; only where a solver releases
        an optimum plus Gaussian noise, as ``"output_perturbation"`` does. See `coef_interval`.
    privacy_ : PrivacyGuarantee
        *Public.* What was released and what it guarantees.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips.
    n_iter_ : int
        Steps of the solver: *public*, or computed from the noisy count that was *released*.
    feature_map_ : object
        *Public.* The map of rows to features; only with `features`.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.

    Notes
    -----
    **Guarantee.** The released attributes are `privacy_.gdp_mu`-Gaussian DP under `neighboring`,
    and so (`epsilon`, `delta`)-DP: by the Gaussian mechanism for ``"adassp"`` (*Least squares from
    noisy moments* in the documentation), by Theorem A' for ``"regularized_exponential"``, by the
    composition of noisy steps for ``"noisy_gd"``.
    **Assumed.** Records are finite vectors with finite targets; all parameters, the columns and,
    under ``replace_one``, n are public; the noise is secret; running time is not observed.
    **Uncertainty.** Standard errors and intervals of the coefficients are not offered: no formula
    is known here whose coverage includes the clipping, the ridge and the noise.

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
        C: Any = "auto",
        slope_bound: float = 0.25,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        solver: Any = "auto",
        sampler: Any = "auto",
        n_samples_hint: int | None = None,
        subsample: float | str | None = None,
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
        self.C = C
        self.slope_bound = slope_bound
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.random_state = random_state
        self.verbose = verbose

    def _loss_of(self, task: Any) -> Loss:
        return SquaredLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _reference(self, n_samples: int) -> LinearRegression | Ridge:
        if isinstance(self.C, Real):
            return Ridge(alpha=1.0 / self.C, fit_intercept=self.fit_intercept)
        return LinearRegression(fit_intercept=self.fit_intercept)
