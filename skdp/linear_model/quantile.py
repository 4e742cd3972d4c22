"""A differentially private regressor of conditional quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score

from skdp._validation import check_real
from skdp.linear_model._quantile_regressor import PrivateQuantileRegressor

__all__ = ["DPQuantileRegressor"]


class DPQuantileRegressor(PrivateQuantileRegressor):
    """A linear regressor of one or several quantiles with private coefficients.

    The coefficients are one draw from a density proportional to
    exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant
    column appended, y_i the target scaled from `target_bounds` to [−1, 1], and ℓ is
    the pinball loss with its kink rounded, summed over the quantiles. Temperature c, ridge α and
    the run of the sampler follow from public numbers. Several quantiles are one draw, whose price
    is that of the largest change that one record makes to all of them together.

    Parameters
    ----------
    quantile : float or sequence of float, default 0.5
        *Public.* Levels in (0, 1). Of several, predictions have one column each, in this order.
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then scikit-learn's `QuantileRegressor(alpha=0)`.
        Nothing is clipped then.
    delta : float, default 1e-5
        *Public.* Probability, in (0, 1), with which the ε bound may fail; well below 1/n.
    target_bounds : (float, float), default (−1, 1)
        *Public.* Interval of the targets, in their units, from knowledge and never from the data.
        Targets outside are clipped, and so are predictions.
    smoothing : float in [0.01, 1e6), default 0.3
        *Public.* Width of the stretch over which the kink of the loss is rounded, as a share of
        half the width of `target_bounds`.
    solver : str or Solver, default "regularized_exponential"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
    sampler : str or Sampler, default "auto"
        *Public.* What draws the sample: a name of `skdp.samplers.SAMPLERS` or an instance.
        ``"auto"`` is ``"proximal"``, which takes every loss and both relations.
    C : float or "auto"
        *Public.* Inverse regularisation strength: the ridge is |θ|²/(2C) beside the sum of the
        losses, on scores and targets scaled to [−1, 1], intercept included. ``"auto"`` regularises
        by the length of the run instead. Only ``"auto"`` with ``epsilon=inf``: scikit-learn's
        `QuantileRegressor` knows no ridge.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`.
    fit_intercept : bool, default True
        *Public.*
    intercept_scaling : float, default 0.5
        *Public.* Size of the constant column. It is part of the row and of its norm: a large one
        makes the noise larger, a small one the intercept slower to learn.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbouring data sets differ in the value of one row (then n is public)
        or in its presence (then it is private).
    n_samples_hint : int or None
        *Public.* A public guess of n, such as a study's planned size, for ``add_remove_one``. It
        sets the step size and costs no privacy, however wrong. Rather guess high: if it is a
        hundred times too low the default sampler may never end. ``None`` buys a noisy count with
        1/100 of the fit's squared Gaussian-DP parameter. Not used under ``replace_one``.
    budget : PrivacyBudget or None
        What pays for the fit, before the fit reads the data.
    random_state : int, Generator, RandomState or None
        *Secret.* For tests only: whoever knows the seed can subtract the noise. ``None`` takes
        fresh entropy from the operating system for each fit.
    n_jobs : int or None
        Number of BLAS threads, −1 for all; ``None`` for one, the fastest but on large dense data.
    verbose : int
        Above 0, print steps done; the number of steps is public.
    diagnostics : bool
        Keep `diagnostics_`, which is **not private** and is dropped on pickling.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_quantiles, n_features)
        *Released*, rounded to a public grid before it is scaled to the units of the targets.
    intercept_ : float or ndarray of shape (n_quantiles,)
        *Released* likewise.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient; only where a solver releases
        an optimum plus Gaussian noise, as ``"output_perturbation"`` does. See `coef_interval`.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    target_bounds_ : (float, float)
        *Public.* The interval to which prediction clips.
    n_iter_ : int
        Steps of the solver: *public*, or computed from the noisy count that was *released*.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if X had string column names.
    diagnostics_ : dict
        **Not private.** Only with ``diagnostics=True``.

    Notes
    -----
    **Guarantee.** The released attributes are `privacy_.gdp_mu`-Gaussian DP under `neighboring`,
    and so (`epsilon`, `delta`)-DP. For an exact draw: Gopi, Lee and Liu 2022, Theorem 4.1; for the
    finite run that is made: Theorem A' (*Finitely many steps* in the documentation).
    **Assumed.** Records are finite vectors with finite targets; all parameters, the columns and,
    under ``replace_one``, n are public; the noise is secret; running time is not observed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPQuantileRegressor([0.1, 0.9], epsilon=3.0, random_state=0).fit(X, y)
    >>> low, high = model.predict(X).T
    >>> bool((low <= high).all()), bool(np.mean((low <= y) & (y <= high)) > 0.5)
    (True, True)
    """

    def __init__(
        self,
        quantile: Any = 0.5,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        target_bounds: tuple[float, float] = (-1.0, 1.0),
        solver: Any = "regularized_exponential",
        sampler: Any = "auto",
        C: Any = "auto",
        smoothing: float = 0.3,
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
        self.quantile = quantile
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.solver = solver
        self.sampler = sampler
        self.C = C
        self.smoothing = smoothing
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

    def _levels(self) -> tuple[float, ...]:
        levels = (self.quantile,) if np.ndim(self.quantile) == 0 else tuple(self.quantile)
        if not levels:
            raise ValueError("quantile must name at least one level, got none.")
        return tuple(check_real("quantile", level, low=0.0, high=1.0) for level in levels)

    def predict(self, X: Any) -> np.ndarray:
        """Return quantiles for rows clipped as in `fit`, clipped to `target_bounds`.

        Several quantiles of a row are sorted, so that higher levels are never below lower ones
        (Chernozhukov, Fernández-Val and Galichon 2010).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for one quantile, (n_samples, n_quantiles) for several
        """
        quantiles = super().predict(X)
        if quantiles.ndim == 1:
            return quantiles
        ranks = np.argsort(np.argsort(self._levels()))
        return np.sort(quantiles, axis=1)[:, ranks]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of one quantile, as scikit-learn does; of several, their mean pinball D²."""
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
