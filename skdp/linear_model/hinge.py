"""A differentially private support vector classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.svm import LinearSVC

from skdp.linear_model._base import is_auto
from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.losses import (
    AdaptiveCompetitorLoss,
    AdaptiveHingeLoss,
    CompetitorLoss,
    Loss,
    SmoothedHingeLoss,
)
from skdp.support.random import seed_of
from skdp.support.rounding import ROOT, down
from skdp.support.validation import check_real

__all__ = ["DPHingeClassifier"]

_SHARPEST = 0.05


class DPHingeClassifier(PrivateLinearClassifier):
    """A linear support vector classifier with (ε, δ)-differentially private coefficients.

    By default the coefficients are one sample from a density proportional to exp(−c·Σ ℓ(y_i, a_i·θ)
    − (α/2)·|θ|²), where a_i is row i clipped to `data_norm` with a constant column appended, and ℓ
    is the hinge loss, rounded near its non-smooth point over a stretch of `smoothing` margins.
    Where its run would be long, for many rows or a large ε, they are the end of noisy gradient
    steps on Σ ℓ instead. All numbers of either follow from public ones: no parameter needs tuning
    on the data.

    With ``epsilon=inf`` it is scikit-learn's ``LinearSVC(loss="hinge")``, and nothing is clipped.

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
    smoothing : float in [0.05, 1e6) or "auto"
        *Public.* Width of the stretch over which the loss is rounded near its non-smooth point, in
        margins. Small widths cost run time. ``"auto"`` takes 2/3, and 1 where n·μ is above 4000 (n
        the number of rows, μ the Gaussian-DP parameter; 8000 under ``replace_one``).
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
    >>> from skdp import DPHingeClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], cluster_std=0.5, random_state=0)
    >>> model = DPHingeClassifier(epsilon=1.0, random_state=0).fit(X, y)
    >>> round(model.privacy_.epsilon(delta=1e-5), 6)
    1.0
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
        smoothing: Any = "auto",
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
        self.smoothing = smoothing
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

    def _loss(self, n_classes: int) -> Loss:
        adaptive = is_auto(self.smoothing)
        if not adaptive:
            check_real("smoothing", self.smoothing, low=down(_SHARPEST, ROOT), high=1e6)
        loss = AdaptiveHingeLoss() if adaptive else SmoothedHingeLoss(self.smoothing)
        if n_classes == 2:
            return loss
        return (AdaptiveCompetitorLoss if adaptive else CompetitorLoss)(loss, n_classes)

    def _reference(self, n_samples: int) -> LinearSVC:
        return LinearSVC(
            loss="hinge",
            C=self.C if isinstance(self.C, Real) else 1.0,
            fit_intercept=self.fit_intercept,
            intercept_scaling=1.0,
            class_weight=self.class_weight,
            random_state=seed_of(self.random_state),
            tol=self.tol,
            max_iter=100_000,
        )
