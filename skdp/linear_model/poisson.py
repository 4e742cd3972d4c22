"""Differentially private regression of counts."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from skdp.linear_model._regressor import TargetRange
from skdp.linear_model.linear_regression import DPLinearRegression
from skdp.losses import PoissonLoss
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
        *Released* likewise: the logarithm of the expected count of a row of zeros.
    target_bounds_ : (float, float)
        *Public.* No prediction is above the upper bound.

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

    def _target_range(self) -> TargetRange:
        target_range = super()._target_range()
        if target_range.low != 0.0:
            raise ValueError(
                "target_bounds of DPPoissonRegressor must begin at 0, as in (0, 20), got "
                f"{self.target_bounds!r}."
            )
        return target_range

    def _loss_of(self, task: Any) -> PoissonLoss:
        return PoissonLoss(check_real("slope_bound", self.slope_bound, low=1e-6, high=1e6))

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, task: TargetRange
    ) -> None:
        start = self._loss_of(task).start + math.log(task.high)
        self._set_coefficients(coef, intercept + start, task)

    def _unit(self, task: TargetRange) -> float:
        return 1.0  # coefficients are logarithms, which have no unit

    def _reference(self, n_samples: int) -> PoissonRegressor:
        alpha = 1.0 / (float(self.C) * n_samples) if isinstance(self.C, Real) else 1.0
        return PoissonRegressor(alpha=alpha, fit_intercept=self.fit_intercept, max_iter=10_000)

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(scores, np.log(self.target_bounds_[1])))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D², the explained share of the Poisson deviance.

        The best score is 1. A constant prediction of the mean of `y` has score 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* As `fit` takes it.
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
