"""Differentially private support vector classification."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC

from skdp.linear_model._base import is_auto
from skdp.linear_model.logistic import PrivateLinearClassifier
from skdp.losses import CompetitorLoss, Loss, SmoothedHingeLoss
from skdp.losses.classification import AdaptiveCompetitorLoss, AdaptiveHingeLoss
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.random import seed_of
from skdp.support.safe_numbers import ROOT, down
from skdp.support.types import Label, RandomState
from skdp.support.validation import check_real, parameters

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

_SHARPEST = 0.05


@parameters
class DPHingeClassifier(PrivateLinearClassifier):
    """A linear support vector classifier with (ε, δ)-differentially private coefficients.

    The solvers are those of `DPLogisticRegression`. The loss is the hinge, rounded near its
    non-smooth point over a stretch of `smoothing` margins. With ``epsilon=inf`` it is
    scikit-learn's ``LinearSVC(loss="hinge")``, and nothing is clipped.

    Parameters
    ----------
    features : transformer or None, default None
        *Public.* Feature map: one of `skdp.features`, or scikit-learn transformers that read one
        row at a time and learn nothing. X may then be a data frame with strings and missing values.
        ``None``: the columns of X.
    data_norm : float, default 1.0
        *Public.* Rows are scaled down to at most this l2 norm, in `fit` and in prediction. Scale
        columns by public bounds first, for example with `skdp.preprocessing.BoundsScaler`.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
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
    smoothing : float in [0.05, 1e6) or "auto"
        *Public.* Width in margins of the stretch over which the loss is rounded near its non-smooth
        point. Small widths cost run time. ``"auto"``: 2/3, or 1 if n·μ exceeds 4000 (n rows, μ the
        Gaussian-DP parameter; 8000 under ``replace_one``).
    fit_intercept : bool, default True
        *Public.* Whether each row gets a constant column.
    intercept_scaling : float, default 0.3
        *Public.* Value of the constant column. Larger values add noise; smaller values slow down
        the intercept.
    center : bool or "auto", default "auto"
        *Public.* Whether to spend a tenth of μ² on a noisy mean of the rows and fit the model to
        shifted rows, for which the same noise weighs less. ``"auto"`` decides by public facts. See
        *A learned center* in the user guide.
    class_weight : dict or None
        *Public.* Weights by label; the largest scales the noise. ``"balanced"`` raises ValueError.
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
    tol : float, default 1e-4
        *Public.* Tolerance of scikit-learn's optimizer; only used with ``epsilon=inf``.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.
    verbose : int
        *Public.* If positive, show progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) for two classes, (n_classes, n_features) for more
        *Released.*
    intercept_ : ndarray of shape (1,) or (n_classes,)
        *Released.*
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.

    Notes
    -----
    **Guarantee.** As `DPLogisticRegression`, under the same assumptions.

    The other attributes are those of `DPLogisticRegression`.

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

    features: BaseEstimator | None = None
    data_norm: float = 1.0
    classes: ArrayLike | None = None
    max_weight: float | None = None
    max_rows: int | None = None
    epsilon: float = 1.0
    delta: float | None = None
    neighboring: str = "replace_one"
    budget: BudgetHandle | None = None
    C: float | Literal["auto"] = "auto"
    smoothing: float | Literal["auto"] = "auto"
    fit_intercept: bool = True
    intercept_scaling: float = 0.3
    center: bool | Literal["auto"] = "auto"
    class_weight: dict[Label, float] | None = None
    solver: str | Solver = "auto"
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    tol: float = 1e-4
    random_state: RandomState = None
    verbose: int = 0

    def _loss(self, n_classes: int) -> Loss:
        if is_auto(self.smoothing):
            family = AdaptiveHingeLoss()
            return family if n_classes == 2 else AdaptiveCompetitorLoss(family, n_classes)
        check_real("smoothing", self.smoothing, low=down(_SHARPEST, ROOT), high=1e6)
        loss = SmoothedHingeLoss(self.smoothing)
        return loss if n_classes == 2 else CompetitorLoss(loss, n_classes)

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
