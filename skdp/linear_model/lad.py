"""A differentially private regressor of conditional medians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from sklearn.base import BaseEstimator

from skdp.linear_model._quantile_regressor import PrivateQuantileRegressor
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.types import RandomState

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

__all__ = ["DPLADRegressor"]


class DPLADRegressor(PrivateQuantileRegressor):
    """A linear regressor by least absolute deviations, with private coefficients.

    The predictions are conditional medians. The solvers are those of `DPLinearRegression`, without
    ``"adassp"``. The loss is half the absolute residual, rounded near 0. With ``epsilon=inf`` it is
    scikit-learn's ``QuantileRegressor(alpha=0)``, which requires ``C="auto"``, and nothing is
    clipped.

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
    coef_ : ndarray of shape (n_features,)
        *Released*, in units of the targets.
    intercept_ : float
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
    >>> from skdp import DPLADRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPLADRegressor(target_bounds=(-1, 1), random_state=0).fit(X, y)
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
        C: float | Literal["auto"] = "auto",
        smoothing: float = 0.05,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        center: bool | Literal["auto"] = "auto",
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
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.center = center
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.random_state = random_state
        self.verbose = verbose

    def _levels(self) -> tuple[float, ...]:
        return (0.5,)
