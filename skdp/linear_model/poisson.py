"""Differentially private regression of counts."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from skdp.linear_model._target_scale import TargetRange
from skdp.linear_model.linear_regression import DPLinearRegression
from skdp.losses import PoissonLoss
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_real

__all__ = ["DPPoissonRegressor"]


class DPPoissonRegressor(DPLinearRegression):
    """Poisson regression of counts and rates with (ε, δ)-differentially private coefficients.

    The model is E[y] = exp(x·coef + intercept), a generalized linear model with a log link: each
    coefficient multiplies the expected count. Targets are at least 0, so pass
    ``target_bounds=(0, high)``. For rates pass ``y = counts / exposure`` and the exposure as
    `sample_weight`. The loss is e^s − t·s, with the score s and the count t divided by `high`. Its
    derivative is clipped at `slope_bound`.

    Solvers, ridge and intercept are those of `DPLinearRegression`, with scores on the scale of
    logarithms. With ``epsilon=inf`` it is scikit-learn's `PoissonRegressor`, with ``alpha=1/(C·n)``
    if `C` is a number, and nothing is clipped.

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
    standard_errors : False
        *Public.* Standard errors are not available for counts.
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
        *Released.*
    intercept_ : float
        *Released* likewise: the logarithm of the expected count of a row of zeros.
    target_bounds_ : (float, float)
        *Public, or released* if a narrower range was found. No prediction is above the upper bound.

    Notes
    -----
    **Guarantee.** As `DPLinearRegression` without ``"adassp"``. One record more or less changes the
    sum of the losses by a function whose Lipschitz constant is at most `slope_bound` times the
    norm of a row, the constant column included (proof: `skdp.losses.PoissonLoss`).
    **Assumed.** As there.

    The other attributes are those of `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> visits = rng.poisson(3.0 * np.exp(X @ [2.0, -1.0]))
    >>> model = DPPoissonRegressor(target_bounds=(0, 20), random_state=0).fit(X, visits)
    >>> model.predict([[0.0, 0.0]]).round(1)
    array([3.])
    """

    keeps_low = True
    with_errors = ()

    def _target_range(self) -> TargetRange:
        target_range = super()._target_range()
        if target_range.low != 0.0:
            raise ValueError(
                "target_bounds of DPPoissonRegressor must begin at 0, for example (0, 20), got "
                f"{self.target_bounds!r}."
            )
        return target_range

    def _loss_of(self, task: TargetRange) -> PoissonLoss:
        return PoissonLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        start = self._loss_of(task).start + math.log(task.high) + task.shift
        self._set_coefficients(coef, intercept + start, task)

    def _ends(self, task: TargetRange) -> tuple[float, float]:
        """The upper end of a range that was found moves with the predictions."""
        if task.shift == 0.0 or (most := self._target_range().high) == task.high:
            return task.low, task.high
        return task.low, min(task.high * math.exp(task.shift), most)

    def _unit(self, task: TargetRange) -> float:
        return 1.0  # coefficients are logarithms, which have no unit

    def _reference(self, n_samples: int) -> PoissonRegressor:
        alpha = 1.0 / (float(self.C) * n_samples) if isinstance(self.C, Real) else 1.0
        return PoissonRegressor(alpha=alpha, fit_intercept=self.fit_intercept, max_iter=10_000)

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(scores, np.log(self.target_bounds_[1])))

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Compute D², the explained share of the Poisson deviance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.
        y : array-like of shape (n_samples,)
            *Private.* Targets of at least 0. They are not clipped.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* Weights of the rows. They are not clipped.

        Returns
        -------
        float
            The score, **not private**: it is computed from these rows without noise.
        """
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
