"""Differentially private logistic regression, and the base of all linear classifiers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp import solvers
from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records, labels_of
from skdp.linear_model._base import Learned, PrivateLinearModel, can_resume, is_auto
from skdp.linear_model._last_releases import ClassMixture, ClassShift, LinkChoice
from skdp.linear_model._plans import Compared, FitPlan
from skdp.linear_model._probabilities import Probabilities, TowardShares
from skdp.linear_model._records import AnyMap, LinearRecords, dense
from skdp.losses import ClippedLogisticLoss, CompetitorLoss, LogisticLoss, Loss, MultinomialLoss
from skdp.losses.classification import AdaptiveCompetitorLoss, AdaptiveLogisticLoss
from skdp.losses.weighted import ClassWeightedLoss
from skdp.privacy import PrivacyGuarantee
from skdp.samplers import Sampler
from skdp.solvers import Solver
from skdp.support.types import Label, MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_size, parameters

if TYPE_CHECKING:
    from skdp.budget import BudgetHandle


FactsT = TypeVar("FactsT")


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel[np.ndarray]):
    """A linear classifier, learned privately. Its task is the array of classes."""

    @available_if(can_resume)
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: ArrayLike | None = None,
        sample_weight: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn from more rows, starting from the released coefficients, with ``solver="dp_sgd"``.

        Each call spends (`epsilon`, `delta`), and `privacy_` is the composition of all calls, if
        their parameters were fixed beforehand. Calls on disjoint partitions do not add up:
        ``set_params(budget=budget.at(partition=k))``. A call that fails after the spend drops the
        coefficients and `privacy_`; only the ledger of the budget keeps the earlier costs.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* As in `fit`.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* As in `fit`.
        classes : array-like or None
            *Public.* All labels that may occur; required in the first call unless the parameter
            `classes` is set.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* As in `fit`.
        groups : array-like of shape (n_samples,) or None
            *Private.* As in `fit`; in every call or in none. All rows of a person belong to one
            partition.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As in `fit`, and if the classes are not known. Nothing is spent.
        """
        resume, more = hasattr(self, "coef_"), {"sample_weight": sample_weight, "groups": groups}
        known = self._known_classes(classes)
        return self._fit_privately(X, y, resume=resume, known_task=known, **more)

    def _known_classes(self, classes: ArrayLike | None) -> np.ndarray:
        every = (self.classes, classes, getattr(self, "classes_", None))
        known = [np.unique(labels) for labels in every if labels is not None]
        if not known:
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may occur."
            )
        for labels in known:
            if not np.array_equal(labels, known[-1]):
                raise ValueError(
                    f"classes={labels.tolist()} differs from {known[-1].tolist()}, the classes of "
                    "earlier calls or of the parameter."
                )
        return known[-1]

    def _learned_coefficients(self, task: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dense(self.coef_), self.intercept_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight must be None or a dict of public weights, got "
                f"{self.class_weight!r}. Weights computed from the data, such as 'balanced', would "
                "reveal class counts."
            )
        self._loss(2)
        for weight in (self.class_weight or {}).values():
            check_size("class_weight", weight)

    def _with_targets(
        self, records: Records[AnyMap], known_task: np.ndarray | None
    ) -> tuple[Records[AnyMap], np.ndarray]:
        """Return the targets as −1/+1 (two classes) or 0..K−1; without privacy unchanged."""
        known = self.classes if known_task is None else known_task
        coded, classes = labels_of(records, type(self).__name__, known)
        if self._is_reference:
            return records, classes
        if classes.size == 2:
            coded = coded.mapped(lambda rows: replace(rows, y=np.where(rows.y > 0, 1.0, -1.0)))
        return coded, classes

    def _loss_of(self, classes: np.ndarray) -> Loss:
        loss = self._loss(classes.size)
        if self.class_weight is None:
            return loss
        unknown = set(self.class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"Unknown labels in class_weight: {unknown}. The labels are {classes.tolist()}."
            )
        weights = (float(self.class_weight.get(label, 1.0)) for label in classes.tolist())
        return ClassWeightedLoss(loss, tuple(weights))

    def _publish_coefficients(
        self, coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray
    ) -> None:
        self.classes_, self.coef_, self.intercept_ = classes, coef, intercept

    def _publish_reference(self, reference: BaseEstimator, classes: np.ndarray) -> None:
        if not np.array_equal(reference.classes_, classes):
            raise ValueError("With epsilon=inf every label of `classes` must occur in y.")
        intercept = np.atleast_1d(reference.intercept_)
        self._publish_coefficients(reference.coef_, intercept, classes)

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """Return the loss of a private fit without class weights."""

    @lazy_on_blocks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores of rows, clipped as in `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more
            Scores; for two classes, the scores of the second.
        """
        scores = self._scores(X)
        return scores.ravel() if self.classes_.size == 2 else scores

    @lazy_on_blocks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the label with the highest score for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from `classes_`. They are as private as X.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _plain(self) -> list[BaseEstimator]:
        from skdp.linear_model._plain import plain_classifier

        norm = 0.0 if math.isinf(self.data_norm_) else self.data_norm_  # the link is then linear
        lengths = np.linalg.norm(dense(self.coef_), axis=1)
        reach = float((norm * lengths + np.abs(self.intercept_)).max())
        return plain_classifier(self.classes_, getattr(self, "_probabilities_", None), reach)

    def sparsify(self) -> Self:
        """Store `coef_` as a sparse matrix, which predicts faster if most entries are 0.

        Returns
        -------
        self
            The estimator. No privacy is spent.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Store `coef_` as an array again, after `sparsify`.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = dense(self.coef_)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.epsilon != math.inf  # noise, on tiny data
        return tags


def _log_losses(y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    loss = LogisticLoss() if scores.ndim == 1 else MultinomialLoss(scores.shape[1])
    return loss.value(y, scores)  # Lipschitz with 1, and with √2


class LogisticModel(PrivateLinearClassifier):
    """A logistic regression. Its attributes are the values of parameters that a class lacks."""

    with_errors = ("objective_perturbation",)
    loss_clip: float | Literal["auto"] | None = "auto"
    intercept_scaling: float = 0.3
    tol: float = 1e-4

    @staticmethod
    def _compared() -> Compared:
        return Compared(_log_losses, 1.0, 0.01)

    @lazy_on_blocks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the probability of each class for rows clipped as in `fit`.

        The strength of the signal is estimated from what `fit` released, and the link from scores
        to probabilities follows from it, at no further cost in privacy. With ``solver="auto"`` and
        few rows of two classes, `fit` releases the coefficients and four numbers for it. With very
        few rows, and with few rows of more classes, it releases the shares of the classes, toward
        which probabilities are moved. With many rows it releases errors of probabilities, and they
        are recalibrated. See *Probabilities* in the user guide, which also says how far to trust
        the numbers for which n, ε and columns.

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
            of the loss alone, linear scores ``X @ coef_.T + intercept_``, X clipped. If those of
            several classes are mixed with shares, linear scores too, whose softmax is the mixture.
        """
        scores, moved = super().decision_function(X), self._probabilities_.moved
        if isinstance(moved, TowardShares) and scores.ndim > 1:
            return moved.scores(scores)
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
        if not isinstance(released.plan, NonPrivatePlan):
            self._probabilities_ = Probabilities.of(released)
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

    def _last_releases(
        self, parameters: ReleaseParameters, records: LinearRecords[np.ndarray]
    ) -> Sequence[LinkChoice | ClassMixture | ClassShift]:
        is_weighted = self.class_weight or records.weights is not None
        has_delta = parameters.is_private and parameters.delta > 0.0
        if is_weighted or self.standard_errors or not (self.fit_intercept and has_delta):
            return ()
        solver = records.facts.solver
        if not solver.is_gaussian:
            return ()
        two, n = records.facts.task.size == 2, records.facts.n_known
        x = (n or 0) * gdp_mu(parameters.epsilon, parameters.delta)
        x /= parameters.neighboring.n_changed
        if two and ClassMixture.few <= x < LinkChoice.few:
            return ()  # so that most fits to few rows enter one file less
        has_own_link = two and is_auto(self.C) and isinstance(solver, solvers.AutoSolver)
        return [
            *(LinkChoice.plan(parameters, records) if has_own_link else ()),
            *ClassMixture.plan(parameters, records),
            *ClassShift.plan(parameters, records),
        ]

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


@parameters
class DPLogisticRegression(LogisticModel):
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
        learned something; below, it may have. None for three and more classes, or if the run is not
        known.
    solver_ : str
        *Public, or computed from the noisy count.* Name of the solver. Only for private fits.
    n_iter_ : int
        *Public, or computed from what was released.* Number of steps of the solver.
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
    `privacy_.gdp_mu`-Gaussian DP, for the fit and all that probabilities are computed from. Of wide
    rows or features `privacy_` may be another curve (*Steps on samples* in the user guide).
    Samples: Gopi, Lee and Liu 2022, Theorem 4.1, and for finite runs Theorem A' (*Finitely many
    steps* in the user guide). Noisy steps: Dong, Roth and Su 2022, Corollary 2 (*The frontier*).
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
    loss_clip: float | Literal["auto"] | None = "auto"
    fit_intercept: bool = True
    intercept_scaling: float = 0.3
    center: bool | Literal["auto"] = "auto"
    class_weight: dict[Label, float] | None = None
    standard_errors: bool | Literal["robust"] = False
    solver: str | Solver = "auto"
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None
    tol: float = 1e-4
    random_state: RandomState = None
    verbose: int = 0
