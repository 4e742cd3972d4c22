"""Differentially private logistic regression."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.linear_model import LogisticRegression

from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, LogisticLoss, Loss, MultinomialLoss

__all__ = ["DPLogisticRegression"]


class DPLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with (ε, δ)-differentially private coefficients.

    The coefficients are one draw from a density proportional to
    exp(−c·Σ ℓ(y_i, a_i·θ) − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant
    column appended, and ℓ is the logistic loss with its slope clipped at `loss_clip`. Temperature
    c, ridge α and the run of the sampler follow from public numbers: no parameter needs tuning
    on the data.

    Parameters
    ----------
    epsilon : float, default 1.0
        *Public.* Privacy loss in nats that one fit may spend. ``inf`` turns privacy off: the
        estimator is then scikit-learn's `LogisticRegression`, and nothing is clipped.
    delta : float, default 1e-5
        *Public.* Probability, in (0, 1), with which the ε bound may fail; well below 1/n.
    solver : str or Solver, default "regularized_exponential"
        *Public.* How the coefficients are learnt: a name of `skdp.solvers.SOLVERS` or an instance.
    sampler : str or Sampler, default "auto"
        *Public.* What draws the sample: a name of `skdp.samplers.SAMPLERS` or an instance.
        ``"auto"`` is ``"proximal"``, which takes every loss and both relations.
    C : float or "auto"
        *Public.* Inverse regularisation strength as in scikit-learn's `LogisticRegression`; the
        intercept is regularised like any coefficient. ``"auto"`` regularises by the length of the
        run instead, and so weakly otherwise that C hardly matters.
    loss_clip : float in (0, 1) or None, default 0.35
        *Public.* Steepest slope of the loss. ``None`` takes the plain logistic loss (multinomial
        for three or more classes), whose first step costs twice the noise.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`.
    fit_intercept : bool, default True
        *Public.*
    intercept_scaling : float, default 0.3
        *Public.* Size of the constant column. It is part of the row and of its norm: a large one
        makes the noise larger, a small one the intercept slower to learn.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` takes the labels found in `y` as public,
        which a rare label is not: pass them where that matters.
    class_weight : dict or None
        *Public.* Weights by label; the largest one scales the noise. ``"balanced"`` is refused.
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
    coef_ : ndarray of shape (1, n_features) for two classes, (n_classes, n_features) for more
        *Released*, rounded to a public grid.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        *Released*, rounded likewise.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient; only where a solver releases
        an optimum plus Gaussian noise, as ``"output_perturbation"`` does. See `coef_interval`.
    privacy_ : PrivacyGuarantee
        *Public.* What was paid for and what it guarantees.
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    n_iter_ : int
        Steps of the sampler: *public*, or computed from the noisy count that was *released*.
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
    **Guarantee.** The released attributes are `privacy_.gdp_mu`-Gaussian DP under `neighboring`,
    and so (`epsilon`, `delta`)-DP. For an exact draw: Gopi, Lee and Liu 2022, Theorem 4.1; for the
    finite run that is made: Theorem A' (*Finitely many steps* in the documentation).
    **Assumed.** Records are finite vectors with labels in `classes`; all parameters, the columns
    and, under ``replace_one``, n are public; the noise is secret; running time is not observed.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], cluster_std=0.5, random_state=0)
    >>> model = DPLogisticRegression(epsilon=1.0, random_state=0).fit(X, y)
    >>> print(model.privacy_)
    0.268051-Gaussian DP under replace_one (proximal sampler after finitely many steps, Theorem A')
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        solver: Any = "regularized_exponential",
        sampler: Any = "auto",
        C: Any = "auto",
        loss_clip: float | None = 0.35,
        data_norm: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
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
        self.solver = solver
        self.sampler = sampler
        self.C = C
        self.loss_clip = loss_clip
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.classes = classes
        self.class_weight = class_weight
        self.neighboring = neighboring
        self.n_samples_hint = n_samples_hint
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.diagnostics = diagnostics

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def _loss(self, n_classes: int) -> Loss:
        if n_classes == 2:
            return LogisticLoss() if self.loss_clip is None else ClippedLogisticLoss(self.loss_clip)
        if self.loss_clip is None:
            return MultinomialLoss(n_classes)
        return CompetitorLoss(ClippedLogisticLoss(self.loss_clip), n_classes)

    def _reference(self, n_samples: int) -> LogisticRegression:
        return LogisticRegression(
            C=self.C if isinstance(self.C, Real) else 1.0,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            max_iter=10_000,
        )
