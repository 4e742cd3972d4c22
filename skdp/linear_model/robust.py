"""Differentially private regression with robust losses: Huber's loss, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import HuberRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score

from skdp.data.lazy import lazy_on_blocks
from skdp.linear_model._base import is_auto
from skdp.linear_model._records import TargetRange
from skdp.linear_model.linear_regression import PrivateLinearRegressor
from skdp.losses import Loss
from skdp.losses.regression import HuberLoss, QuantileLoss
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_real, parameters

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle


@parameters
class DPHuberRegressor(PrivateLinearRegressor):
    """A robust linear regressor with (ε, δ)-differentially private coefficients.

    The solvers are those of `DPLinearRegression`, without ``"adassp"``. The loss is half the
    squared residual, its derivative clipped to ±`threshold`. With ``epsilon=inf`` it is
    scikit-learn's `HuberRegressor`, with ``alpha=1/C``, and nothing is clipped.

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
    threshold : float, default 0.15
        *Public.* Residual at which the loss turns from square to linear, as a share of half the
        width of `target_bounds`. The noise is proportional to it. Not used with ``epsilon=inf``.
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
    tol : float, default 1e-5
        *Public.* Tolerance of scikit-learn's optimizer; only used with ``epsilon=inf``.
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
    coef_std_error_ : ndarray of the shape of `coef_`
        *Released,* like the next two; only with `standard_errors`. Standard errors, by the sample
        and by the noise; nan if a coefficient is not identified.
    coef_noise_std_ : ndarray of the shape of `coef_`
        The part of `coef_std_error_` that is noise.
    coef_covariance_ : ndarray of shape (n_coefficients, n_coefficients)
        Covariance of the coefficients and, last, the intercept.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. The interval to which targets and
        predictions are clipped.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression` without ``"adassp"``, under the same assumptions.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPHuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPHuberRegressor(target_bounds=(-1, 1), random_state=0).fit(X, y)
    >>> round(model.privacy_.gdp_mu, 6)
    0.268051
    >>> model.score(X, y) > 0.7
    True
    """

    with_errors: ClassVar[tuple[str, ...]] = ("objective_perturbation",)

    target_bounds: Sequence[float] | None = None
    features: BaseEstimator | None = None
    data_norm: float = 1.0
    max_weight: float | None = None
    max_rows: int | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    C: float | Literal["auto"] = "auto"
    threshold: float = 0.15
    fit_intercept: bool = True
    intercept_scaling: float = 0.5
    center: bool | Literal["auto"] = "auto"
    standard_errors: bool | Literal["robust"] = False
    solver: str | Solver = "auto"
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    tol: float = 1e-5
    random_state: RandomState = None
    verbose: int = 0

    def _loss_of(self, task: TargetRange) -> Loss:
        return HuberLoss(check_real("threshold", self.threshold, low=1e-6, high=1e6))

    def _reference(self, n_samples: int) -> HuberRegressor:
        alpha = 1.0 / self.C if isinstance(self.C, Real) else 1e-4
        return HuberRegressor(
            alpha=alpha, fit_intercept=self.fit_intercept, tol=self.tol, max_iter=10_000
        )


@parameters
class DPQuantileRegressor(PrivateLinearRegressor):
    """A linear regressor of one or several quantiles with private coefficients.

    The solvers are those of `DPLinearRegression`, without ``"adassp"``. The loss is the pinball
    loss, rounded near 0 and summed over the quantiles: several quantiles are one release. With
    ``epsilon=inf`` it is scikit-learn's ``QuantileRegressor(alpha=0)``, which requires
    ``C="auto"``, and nothing is clipped.

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
    quantile : float or sequence of float, default 0.5
        *Public.* Levels in (0, 1). For several levels, predictions have one column each.
    C : float or "auto"
        *Public.* Inverse regularization strength: the penalty on the coefficients and the intercept
        is |θ|²/(2C). ``"auto"`` relies on early stopping; C then has almost no effect.
    smoothing : float in [0.01, 1e6), default 0.05
        *Public.* Width of the stretch over which the loss is rounded near its non-smooth point: in
        margins, or as a share of half the width of `target_bounds`. A quantile is that of targets
        blurred by as much. Small widths cost run time; ``"dp_sgd"`` and ``"phased_sgd"`` take less
        and shorter steps then, and learn more with 0.3.
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.5
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    center : bool or "auto", default "auto"
        *Public.* Whether to spend a tenth of μ² on a noisy mean of the rows and fit the model to
        shifted rows, for which the same noise weighs less. ``"auto"`` decides by public facts. See
        *A learned center* in the user guide.
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
    coef_ : ndarray of shape (n_features,) or (n_quantiles, n_features)
        *Released*, in units of the targets.
    intercept_ : float or ndarray of shape (n_quantiles,)
        *Released*, in units of the targets.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. The interval to which targets and
        predictions are clipped.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression` without ``"adassp"``, under the same assumptions.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPQuantileRegressor(
    ...     epsilon=3.0, quantile=[0.1, 0.9], target_bounds=(-1, 1), random_state=0
    ... ).fit(X, y)
    >>> low, high = model.predict(X).T
    >>> model.predict([[0.0, 0.0], [0.5, -0.5]]).round(1)
    array([[-0.1,  0.1],
           [ 0.6,  0.9]])
    >>> round(float(np.mean((low <= y) & (y <= high))), 1)
    0.8
    """

    target_bounds: Sequence[float] | None = None
    features: BaseEstimator | None = None
    data_norm: float = 1.0
    max_weight: float | None = None
    max_rows: int | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    quantile: float | Sequence[float] = 0.5
    C: float | Literal["auto"] = "auto"
    smoothing: float = 0.05
    fit_intercept: bool = True
    intercept_scaling: float = 0.5
    center: bool | Literal["auto"] = "auto"
    solver: str | Solver = "auto"
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_reference and not is_auto(self.C):
            raise ValueError(
                f"C must be 'auto' with epsilon=inf, got {self.C!r}. scikit-learn's "
                "QuantileRegressor has no ridge penalty."
            )

    def _levels(self) -> tuple[float, ...]:
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=object))
        if not levels.size:
            raise ValueError("quantile must have at least one level, got none.")
        return tuple(check_real("quantile", level, low=0.0, high=1.0) for level in levels)

    def _loss_of(self, task: TargetRange) -> QuantileLoss:
        return QuantileLoss(self._levels(), self.smoothing)

    def _reference(self, n_samples: int) -> _QuantileRegressors:
        return _QuantileRegressors(self._levels(), self.fit_intercept)

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict quantiles, clipped to `target_bounds`, for rows clipped as in `fit`.

        Several quantiles of a row are sorted, so that higher levels are never below lower ones
        (Chernozhukov, Fernández-Val and Galichon 2010).

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for one quantile, (n_samples, n_quantiles) for several
            Predictions, in the units of the targets. They are as private as X.
        """
        quantiles = super().predict(X)
        if quantiles.ndim == 1:
            return quantiles
        ranks = np.argsort(np.argsort(self._levels()))
        return np.sort(quantiles, axis=1)[:, ranks]

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Compute R² for one quantile, as scikit-learn does, or the mean pinball D² of several.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.
        y : array-like of shape (n_samples,)
            *Private.* Targets. They are not clipped.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* Weights of the rows. They are not clipped.

        Returns
        -------
        float
            The score, **not private**: it is computed from these rows without noise.
        """
        levels = self._levels()
        if len(levels) == 1:
            return super().score(X, y, sample_weight)
        scores = [
            d2_pinball_score(y, quantile, sample_weight=sample_weight, alpha=level)
            for quantile, level in zip(self.predict(X).T, levels, strict=True)
        ]
        return float(np.mean(scores))


class _QuantileRegressors:
    """scikit-learn's regressor for each of several levels."""

    def __init__(self, levels: tuple[float, ...], fit_intercept: bool) -> None:
        self._models = [
            QuantileRegressor(quantile=level, alpha=0.0, fit_intercept=fit_intercept)
            for level in levels
        ]

    def fit(
        self, X: MatrixLike, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> _QuantileRegressors:
        models = [model.fit(X, y, sample_weight) for model in self._models]
        self.coef_ = np.array([model.coef_ for model in models])
        self.intercept_ = np.array([model.intercept_ for model in models])
        self.n_iter_ = [model.n_iter_ for model in models]
        return self
