"""Differentially private logistic regression."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from skdp.data.lazy import lazy_on_blocks
from skdp.linear_model._base import is_auto
from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.losses import (
    AdaptiveCompetitorLoss,
    AdaptiveLogisticLoss,
    ClippedLogisticLoss,
    CompetitorLoss,
    LogisticLoss,
    Loss,
    MultinomialLoss,
)
from skdp.losses.base import ProbabilityLoss

__all__ = ["DPLogisticRegression"]


class DPLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with (ε, δ)-differentially private coefficients.

    By default the coefficients are one sample from a density proportional to exp(−c·Σ ℓ(y_i, a_i·θ)
    − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant column appended, and ℓ
    is the logistic loss with its derivative clipped at `loss_clip`. Where its run would be long,
    for many rows or a large ε, they are the end of noisy gradient steps on Σ ℓ instead. All numbers
    of either follow from public ones: no parameter needs tuning on the data.

    With ``epsilon=inf`` it is scikit-learn's `LogisticRegression`, and nothing is clipped.

    Parameters
    ----------
    features : transformer or None, default None
        *Public.* The feature map of each row: one of `skdp.features`, or a `Pipeline`,
        `ColumnTransformer` or `FeatureUnion` of transformers that read one row at a time and learn
        nothing. X may then be a data frame with text and missing values, and `data_norm` bounds
        rows of features. ``None`` fits the columns of X themselves.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to this l2 norm, in `fit` and in prediction. In the units of
        X: scale by public bounds first, as with `skdp.preprocessing.BoundsScaler`. Unscaled columns
        leave little but the longest of them.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` takes the labels found in `y` as public, which
        a rare label is not: pass them where that matters.
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
    loss_clip : float in (0, 1), "auto" or None
        *Public.* Bound of the loss's derivative. ``"auto"`` lets it rise with x = n·μ, n the number
        of rows and μ the Gaussian-DP parameter (half of x under ``replace_one``): 0.35 up to
        x = 1000, where a low bound wastes less noise, and 1 from 24 000 on, where nothing is
        clipped and the fit tends to the one without privacy. Where n is private and a solver does
        not estimate it, 0.35. ``None`` takes the plain logistic loss (multinomial for three or
        more classes).
    fit_intercept : bool, default True
        *Public.* Whether a constant column is part of each row.
    intercept_scaling : float, default 0.3
        *Public.* Size of the constant column. It is part of the row and of its norm: a large one
        makes the noise larger, a small one the intercept slower to learn.
    class_weight : dict or None
        *Public.* Weights by label; the largest one scales the noise. ``"balanced"`` is refused.
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
    tol : float, default 1e-4
        *Public.* Where scikit-learn's minimiser ends with ``epsilon=inf``, as its own `tol`. A
        private fit does not use it: the number of its steps, or the tolerance on which its
        guarantee rests, follows from other public numbers.
    random_state : None, int, Generator or RandomState
        *Secret.* ``None`` takes fresh entropy from the operating system for each fit. A seed voids
        the guarantee, for whoever knows it can subtract the noise, and is refused beside a budget:
        for tests only.
    verbose : int
        *Public.* Above 0, show steps done, by tqdm where it is installed; their number is public.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, (n_classes, n_features) for more
        *Released*, computed from what was rounded to a public grid, or rounded itself.
    intercept_ : ndarray of shape (1,) or (n_classes,)
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
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    n_iter_ : int
        Steps of the sampler: *public*, or computed from the noisy count that was *released*.
    feature_map_ : object
        *Public.* The map of rows to features; only with `features`.
    data_norm_ : float
        *Public.* The norm to which prediction clips.
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
    **Assumed.** Records are finite vectors with labels in `classes`; all parameters, the columns
    and, under ``replace_one``, n are public; the noise is secret; running time is not observed.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], cluster_std=0.5, random_state=0)
    >>> model = DPLogisticRegression(epsilon=1.0, random_state=0).fit(X, y)
    >>> round(model.privacy_.gdp_mu, 6)
    0.268051
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        features: Any = None,
        data_norm: float = 1.0,
        classes: Any = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: Any = None,
        C: Any = "auto",
        loss_clip: Any = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        class_weight: dict[Any, float] | None = None,
        solver: Any = "auto",
        sampler: Any = "auto",
        n_samples_hint: int | None = None,
        subsample: float | str | None = None,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.features = features
        self.data_norm = data_norm
        self.classes = classes
        self.max_weight = max_weight
        self.max_rows = max_rows
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.C = C
        self.loss_clip = loss_clip
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @lazy_on_blocks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for rows that are clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`. They are as private as X. For two classes
            they are a/(a + b) with a = min(σ(z), k) and b = min(σ(−z), k), σ the logistic function
            and z the score: what the loss, whose derivative is clipped, has for its link, with k
            the loss's clip but at least 1/2 and, for small data, 1. For more classes they are the
            softmax of the scores. No calibration data are needed.
        """
        return np.exp(self.predict_log_proba(X))

    @lazy_on_blocks
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As `fit` takes it.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms of probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        assert isinstance(self.loss_, ProbabilityLoss), "both logistic losses have a link"
        return self.loss_.log_probabilities(scores)

    def _loss(self, n_classes: int) -> Loss:
        if self.loss_clip is None:
            return LogisticLoss() if n_classes == 2 else MultinomialLoss(n_classes)
        adaptive = is_auto(self.loss_clip)
        loss = AdaptiveLogisticLoss() if adaptive else ClippedLogisticLoss(self.loss_clip)
        if n_classes == 2:
            return loss
        return (AdaptiveCompetitorLoss if adaptive else CompetitorLoss)(loss, n_classes)

    def _publish_reference(self, reference: Any, classes: np.ndarray) -> None:
        super()._publish_reference(reference, classes)
        self.loss_ = LogisticLoss() if classes.size == 2 else MultinomialLoss(classes.size)

    def _reference(self, n_samples: int) -> LogisticRegression:
        return LogisticRegression(
            C=self.C if isinstance(self.C, Real) else 1.0,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=10_000,
        )
