"""Differentially private logistic regression."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import NonPrivatePlan
from skdp.data.lazy import lazy_on_blocks
from skdp.features.base import FeatureMap
from skdp.linear_model._base import Learned, is_auto
from skdp.linear_model._classifier import PrivateLinearClassifier
from skdp.linear_model._probabilities import Probabilities, PublicSpread
from skdp.linear_model._records import AnyMap, LinearRecords
from skdp.linear_model._sample import FitPlan
from skdp.losses import (
    AdaptiveCompetitorLoss,
    AdaptiveLogisticLoss,
    ClippedLogisticLoss,
    CompetitorLoss,
    LogisticLoss,
    Loss,
    MultinomialLoss,
)
from skdp.privacy import PrivacyGuarantee
from skdp.samplers import Sampler
from skdp.solvers import Problem, Solution, Solver
from skdp.support.types import Label, MatrixLike, RandomState

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle

__all__ = ["DPLogisticRegression"]


class DPLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with (ε, δ)-differentially private coefficients.

    The solver learns the coefficients from rows clipped to `data_norm`, with the logistic loss, its
    derivative clipped at `loss_clip`. The defaults depend on public numbers only, so no parameter
    needs tuning on the data. See *Which solver?* in the user guide.

    With ``epsilon=inf`` and no `features` it is scikit-learn's `LogisticRegression`, and nothing
    is clipped.

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
    loss_clip : float in (0, 1), "auto" or None
        *Public.* Bound of the loss's derivative. A small bound needs less noise; with 1 nothing is
        clipped. ``"auto"`` rises from 0.35 at x = 1000 to 1 at x = 24 000, where x = n·μ (half of
        it under ``replace_one``), n is the number of rows and μ the Gaussian-DP parameter. It is
        0.35 if n is private and the solver does not estimate it. ``None``: the plain logistic (or
        multinomial) loss.
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
    standard_errors : bool or "robust", default False
        *Public.* Whether to release what standard errors, intervals and tests need. `coef_` then
        has no bias from a ridge. ``"robust"``: valid also if the log-odds are not linear. With
        `groups` they are cluster-robust. See *Standard errors* in the user guide.
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
    loss_ : Loss
        *Public, or computed from the noisy count.* The loss. Only for private fits.
    signal_ : float or None
        *Computed from what was released.* By how many standard deviations the logarithm of the
        squared norm of `coef_` exceeds what noise and base rates alone leave. Above 2 the model has
        learned something; below, it may have. None if the run is not known.
    solver_ : str
        *Public, or computed from the noisy count.* Name of the solver. Only for private fits.
    n_iter_ : int
        *Public, or computed from the noisy count.* Number of steps of the solver.
    coef_noise_ : float
        *Public.* Standard deviation of the noise in each coefficient, if the solver adds Gaussian
        noise to an optimum.
    coef_std_error_ : ndarray of the shape of `coef_`
        *Released,* like the next two; only with `standard_errors`. Standard errors, by the sample
        and by the noise; nan if a coefficient is not identified.
    coef_noise_std_ : ndarray of the shape of `coef_`
        The part of `coef_std_error_` that is noise.
    coef_covariance_ : ndarray of shape (n_coefficients, n_coefficients)
        Covariance of the coefficients and, last, the intercept.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    feature_map_ : object
        *Public.* The feature map; only with `features`. Its method `get_feature_names_out` names
        the coefficients.
    data_norm_ : float
        *Public.* The norm to which prediction clips rows.
    center_ : ndarray of shape (n_features,) or None
        *Released.* Noisy mean. Prediction clips rows to `data_norm_` and then around `center_`.
        None if rows are not shifted.
    center_radius_ : float or None
        *Released.* The largest distance of a clipped row from `center_`.
    n_features_in_ : int
        *Public.* Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** (`epsilon`, `delta`)-DP under `neighboring`, and by default also
    `privacy_.gdp_mu`-Gaussian DP, for the fit and the three means of few rows together. Samples:
    Gopi, Lee and Liu 2022, Theorem 4.1, and for finite runs Theorem A' (*Finitely many steps* in
    the user guide). Noisy steps: Dong, Roth and Su 2022, Corollary 2 (*The frontier*).
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

    with_errors: ClassVar[tuple[str, ...]] = ("objective_perturbation",)

    def __init__(
        self,
        *,
        features: BaseEstimator | None = None,
        data_norm: float = 1.0,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        max_rows: int | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: BudgetHandle | None = None,
        C: float | Literal["auto"] = "auto",
        loss_clip: float | Literal["auto"] | None = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        center: bool | Literal["auto"] = "auto",
        class_weight: dict[Label, float] | None = None,
        standard_errors: bool | Literal["robust"] = False,
        solver: str | Solver = "auto",
        sampler: str | Sampler = "auto",
        n_samples_hint: int | None = None,
        subsample: float | Literal["auto"] | None = None,
        tol: float = 1e-4,
        random_state: RandomState = None,
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
        self.center = center
        self.class_weight = class_weight
        self.standard_errors = standard_errors
        self.solver = solver
        self.sampler = sampler
        self.n_samples_hint = n_samples_hint
        self.subsample = subsample
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @lazy_on_blocks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probability of each class for rows clipped as in `fit`.

        The strength of the signal is estimated from what `fit` released, and the link from scores
        to probabilities follows from it, at no further cost in privacy. With ``solver="auto"`` and
        few rows of two classes, `fit` releases the coefficients and three means for it. Where they
        say too little, or rows are many, the link is that of the loss. See *Probabilities* in the
        user guide, which also says how far to trust the numbers for which n, ε and columns.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`. They are as private as X.
        """
        scores = super().decision_function(X)
        return self._probabilities_.probabilities(scores)

    @lazy_on_blocks
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms of probabilities, in the order of `classes_`.
        """
        scores = super().decision_function(X)
        return self._probabilities_.log_probabilities(scores)

    @lazy_on_blocks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores by which `predict` decides, for rows clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more
            Log-odds of the second of two classes; log-probabilities of more. Where the link is that
            of the loss alone, linear scores ``X @ coef_.T + intercept_``, X clipped.
        """
        scores = super().decision_function(X)
        if not self._probabilities_.follows_evidence:
            return scores
        found = self._probabilities_.log_probabilities(scores)
        return found[:, 1] - found[:, 0] if scores.ndim == 1 else found

    @property
    def signal_(self) -> float | None:
        """Evidence of a signal in standard deviations, see *Attributes*."""
        check_is_fitted(self, "coef_")
        evidence = self._probabilities_.evidence
        return None if evidence is None else evidence.signal

    def _publish(
        self,
        plan: FitPlan,
        records: LinearRecords[np.ndarray],
        released: Learned,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        super()._publish(plan, records, released, guarantee)
        solution, facts, fit = released
        if not isinstance(fit, NonPrivatePlan):
            theta = solution.theta.reshape(len(solution.theta), -1)
            theta = theta - theta.mean(axis=1, keepdims=True) if theta.shape[1] > 1 else theta
            self._probabilities_ = Probabilities(
                self.loss_,
                solution.flow,
                fit.problem,
                square=float((theta[:-1] ** 2).sum()),
                last=tuple(theta[-1].tolist()),
                n_columns=len(theta) - 1,
                is_centered=self.center_ is not None,
                spread=_spread(solution, fit.problem, facts.feature_map),
                means=solution.means,
            )
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.standard_errors and not (self.loss_clip is None or is_auto(self.loss_clip)):
            raise ValueError(
                "standard_errors needs loss_clip=None or loss_clip='auto': the coefficients of a "
                "clipped loss are not those of a logistic model."
            )

    def _loss(self, n_classes: int) -> Loss:
        clip = self.loss_clip
        if clip is None or (self.standard_errors and is_auto(clip)):
            return LogisticLoss() if n_classes == 2 else MultinomialLoss(n_classes)
        if is_auto(clip):
            family = AdaptiveLogisticLoss()
            return family if n_classes == 2 else AdaptiveCompetitorLoss(family, n_classes)
        loss = ClippedLogisticLoss(clip)
        return loss if n_classes == 2 else CompetitorLoss(loss, n_classes)

    def _publish_reference(self, reference: BaseEstimator, classes: np.ndarray) -> None:
        super()._publish_reference(reference, classes)
        self.loss_ = LogisticLoss() if classes.size == 2 else MultinomialLoss(classes.size)
        self._probabilities_ = Probabilities(self.loss_)

    def _reference(self, n_samples: int) -> LogisticRegression:
        return LogisticRegression(
            C=self.C if isinstance(self.C, Real) else 1.0,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=10_000,
        )


def _spread(solution: Solution, problem: Problem, feature_map: AnyMap) -> PublicSpread | None:
    """Return how scores of two classes spread over public rows, if the evidence may need it."""
    if not isinstance(feature_map, FeatureMap) or solution.theta.ndim > 1:
        return None
    if solution.flow is None or problem.intercept_scaling == 0.0:
        return None
    return PublicSpread.of(feature_map, solution.theta[:-1], problem.data_norm)
