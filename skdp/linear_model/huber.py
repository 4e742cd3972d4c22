"""A differentially private regressor that large residuals do not carry away."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.linear_model import HuberRegressor

from skdp._validation import check_real
from skdp.linear_model._regressor import PrivateLinearRegressor
from skdp.losses import HuberLoss, Loss

__all__ = ["DPHuberRegressor"]


class DPHuberRegressor(PrivateLinearRegressor):
    """A robust linear regressor with (ε, δ)-differentially private coefficients.

    The coefficients are one draw from a density proportional to
    exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant
    column appended, y_i the target scaled from `target_bounds` to [−1, 1], and ℓ is
    half the square of the residual, its slope clipped to ±`threshold`. Temperature c, ridge α and
    the run of the sampler follow from public numbers.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then scikit-learn's `HuberRegressor`.
        Nothing is clipped then.
    delta : float, default 1e-5
        *Public.* Probability, in (0, 1), with which the ε bound may fail; well below 1/n.
    target_bounds : (float, float), default (−1, 1)
        *Public.* Interval of the targets, in their units, from knowledge and never from the data.
        Targets outside are clipped, and so are predictions.
    threshold : float, default 0.15
        *Public.* Residual at which the loss turns from square to linear, as a share of half the
        width of `target_bounds`. It is the largest slope, which the noise grows with. (That of
        scikit-learn's is in units of a scale that it estimates; with ``epsilon=inf`` this one is
        not used.)
    solver : str or Solver, default "regularized_exponential"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
    sampler : str or Sampler, default "auto"
        *Public.* What draws the sample: a name of `skdp.samplers.SAMPLERS` or an instance.
        ``"auto"`` is ``"proximal"``, which takes every loss and both relations.
    C : float or "auto"
        *Public.* Inverse regularisation strength: the ridge is |θ|²/(2C) beside the sum of the
        losses, on scores and targets scaled to [−1, 1], intercept included. ``"auto"`` regularises
        by the length of the run instead. With ``epsilon=inf`` it is ``alpha=1/C``, or
        scikit-learn's default.
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
    coef_ : ndarray of shape (n_features,)
        *Released*, rounded to a public grid before it is scaled to the units of the targets.
    intercept_ : float
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
    >>> from skdp import DPHuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(2000, 2))
    >>> y = X @ [1.0, -0.5] + 0.1 * rng.normal(size=2000)
    >>> model = DPHuberRegressor(random_state=0).fit(X, y)
    >>> print(model.privacy_)
    0.268051-Gaussian DP under replace_one (proximal sampler after finitely many steps, Theorem A')
    >>> model.score(X, y) > 0.7
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        target_bounds: tuple[float, float] = (-1.0, 1.0),
        solver: Any = "regularized_exponential",
        sampler: Any = "auto",
        C: Any = "auto",
        threshold: float = 0.15,
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
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.solver = solver
        self.sampler = sampler
        self.C = C
        self.threshold = threshold
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

    def _loss_of(self, task: Any) -> Loss:
        return HuberLoss(check_real("threshold", self.threshold, low=1e-6, high=1e6))

    def _reference(self, n_samples: int) -> HuberRegressor:
        alpha = 1.0 / self.C if isinstance(self.C, Real) else 1e-4
        return HuberRegressor(alpha=alpha, fit_intercept=self.fit_intercept, max_iter=10_000)
