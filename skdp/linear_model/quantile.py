"""A differentially private regressor of conditional quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score

from skdp.data.lazy import lazy_on_blocks
from skdp.linear_model._quantile_regressor import PrivateQuantileRegressor
from skdp.support.validation import check_real

__all__ = ["DPQuantileRegressor"]


class DPQuantileRegressor(PrivateQuantileRegressor):
    """A linear regressor of one or several quantiles with private coefficients.

    By default the coefficients are one sample from a density proportional to exp(−c·Σ ℓ(y_i, a_i·θ)
    − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant column appended, y_i
    the target scaled from `target_bounds` to [−1, 1], and ℓ is the pinball loss rounded near 0,
    summed over the quantiles. Where its run would be long, for many rows or a large ε, they are the
    end of noisy gradient steps on Σ ℓ instead. All numbers of either follow from public ones: no
    parameter needs tuning on the data. Several quantiles are one sample, whose cost is that of the
    largest change that one record makes to all of them together.

    With ``epsilon=inf`` it is scikit-learn's ``QuantileRegressor(alpha=0)``, which knows no ridge,
    so that `C` must be ``"auto"``, and nothing is clipped.

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
    quantile : float or sequence of float, default 0.5
        *Public.* Levels in (0, 1). Of several, predictions have one column each, in this order.
    C : float or "auto"
        *Public.* Inverse regularisation strength: the ridge is |θ|²/(2C) beside the sum of the
        losses, the intercept included; of regressors on scores and targets scaled to [−1, 1].
        ``"auto"`` relies on early stopping; C then has almost no effect. With ``epsilon=inf`` it
        is scikit-learn's default.
    smoothing : float in [0.01, 1e6), default 0.05
        *Public.* Width of the stretch over which the loss is rounded near its non-smooth point: in
        margins, or as a share of half the width of `target_bounds`. A quantile is that of targets
        blurred by as much. Small widths cost run time; ``"dp_sgd"`` and ``"phased_sgd"`` take less
        and shorter steps then, and learn more with 0.3.
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
    coef_ : ndarray of shape (n_features,) or (n_quantiles, n_features)
        *Released*, rounded to a public grid before it is scaled to the units of the targets.
    intercept_ : float or ndarray of shape (n_quantiles,)
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
    and so (`epsilon`, `delta`)-DP. For an exact sample: Gopi, Lee and Liu 2022, Theorem 4.1; for
    the finite run that is made: Theorem A' (*Finitely many steps* in the documentation). For noisy
    steps: Dong, Roth and Su 2022, Corollary 2 (*The frontier*).
    **Assumed.** Records are finite vectors with finite targets; all parameters, the columns and,
    under ``replace_one``, n are public; the noise is secret; running time is not observed.

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
    >>> bool((low <= high).all()), bool(np.mean((low <= y) & (y <= high)) > 0.5)
    (True, True)
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
        quantile: Any = 0.5,
        C: Any = "auto",
        smoothing: float = 0.05,
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
        self.quantile = quantile
        self.C = C
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.random_state = random_state
        self.verbose = verbose

    def _levels(self) -> tuple[float, ...]:
        levels = (self.quantile,) if np.ndim(self.quantile) == 0 else tuple(self.quantile)
        if not levels:
            raise ValueError("quantile must name at least one level, got none.")
        return tuple(check_real("quantile", level, low=0.0, high=1.0) for level in levels)

    @lazy_on_blocks
    def predict(self, X: Any) -> np.ndarray:
        """Return quantiles for rows clipped as in `fit`, clipped to `target_bounds`.

        Several quantiles of a row are sorted, so that higher levels are never below lower ones
        (Chernozhukov, Fernández-Val and Galichon 2010).

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Finite values.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of one quantile, as scikit-learn does; of several, their mean pinball D².

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values.
        y : array-like of shape (n_samples,)
            *Private.* Targets, in their units; not clipped.
        sample_weight : array-like of shape (n_samples,) or None
            *Private.* Weights of the rows, as they are.

        Returns
        -------
        float
            The score, **not private**: it is computed from these rows without noise.
        """
        levels = self._levels()
        if len(levels) == 1:
            return super().score(X, y, sample_weight)
        return float(
            np.mean(
                [
                    d2_pinball_score(y, quantile, sample_weight=sample_weight, alpha=level)
                    for quantile, level in zip(self.predict(X).T, levels, strict=True)
                ]
            )
        )
