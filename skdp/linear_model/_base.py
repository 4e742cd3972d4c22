"""Base class of the private linear models: checks, problem, and published attributes."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp import solvers
from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.data.persons import check_max_rows
from skdp.data.records import Records
from skdp.data.schema import max_rows_of
from skdp.design.exact_total import ROWS_SUMMED
from skdp.exceptions import IncompatibleSolverError
from skdp.features.auto import AutoMap
from skdp.features.base import FeatureMap
from skdp.features.row_wise import RowWiseMap
from skdp.linear_model import _inference
from skdp.linear_model._inference.inferred import InferredSolution
from skdp.linear_model._records import (
    AnyMap,
    LinearFacts,
    LinearRecords,
    TaskT,
    clipped_scores,
    design_of,
    learned_center,
    learned_map,
    matrix_of,
    most_rows,
    records_of,
    row_weights,
    rows_are_exact,
    rows_of,
    scores_of,
    weighted,
)
from skdp.linear_model._sample import (
    FitPlan,
    Learned,
    LinearPlan,
    can_be_sampled,
    check_subsample,
    expected,
    plan_sampled,
    sampling_rate,
)
from skdp.linear_model._stages.auto_features import CountedPlan, plan_auto, with_choice
from skdp.linear_model._stages.center import MOST_STRETCH, CenterRelease, plan_center
from skdp.linear_model._stages.mean_shift import MeanShift
from skdp.linear_model._stages.ranks import plan_ranked
from skdp.linear_model._stages.staged import FinishedPlan, StagedPlan, rest_of
from skdp.losses import Loss
from skdp.privacy import PrivacyGuarantee
from skdp.samplers import SAMPLERS, Progress
from skdp.solvers import SOLVERS, Problem, Solution, Solver
from skdp.solvers._minimum import MinimumPlan
from skdp.solvers.base import ResumableSolver
from skdp.support.callbacks import StepsTask
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count, check_real, check_size

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_MOST_ROWS = 1e15


class PrivateLinearModel(PrivateEstimator[LinearRecords[TaskT], FitPlan, Learned]):
    """A linear model with a public *task*: the array of classes, or the range of the targets."""

    is_model = True
    standard_errors: bool | Literal["robust"] = False
    with_errors: ClassVar[tuple[str, ...]] = ()
    """Solvers with standard errors, the default one first."""

    features: BaseEstimator | None
    center: bool | Literal["auto"]
    subsample: float | Literal["auto"] | None

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> Self:
        """Learn the coefficients privately.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Finite values; rows longer than `data_norm` are scaled down to it. With
            `features`, X may hold categories and missing values, and sparse X is rejected.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels, whose set is public, or numbers.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* Factors of the losses, clipped to [0, max_weight] unless ``epsilon=inf``.
            ``None``: 1 for each row.
        groups : array-like of shape (n_samples,) or None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, a value is missing or not finite, or weights
            have no public `max_weight`. Nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit. Nothing is learned.
        """
        return self._fit_privately(X, y, sample_weight=sample_weight, groups=groups)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: MatrixLike,
        y: VectorLike,
        *,
        sample_weight: VectorLike | None = None,
        groups: VectorLike | None = None,
        known_task: TaskT | None = None,
        resume: bool = False,
    ) -> LinearRecords[TaskT]:
        self._check_parameters()
        solver = self._resolve_solver()
        if self.max_rows is not None:
            check_max_rows(self.max_rows, groups)
        if groups is not None:
            _check_takes_persons(solver)
        records = records_of(self, X, y, sample_weight, groups, resume=resume)
        if records.blocks is not None:
            is_sampled = self.subsample is not None
            _check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=is_sampled)
        records, task = self._with_targets(records, known_task)
        feature_map = records.facts
        n_columns = self.n_features_in_
        if isinstance(feature_map, FeatureMap | RowWiseMap):
            n_columns = feature_map.n_features_out
        n_known = records.n_records if records.count_is_public else self.n_samples_hint
        facts = LinearFacts(task, solver, feature_map, n_columns, n_known)
        known = records.with_facts(facts).recut(ROWS_SUMMED)
        return with_choice(known, parameters) if isinstance(feature_map, AutoMap) else known

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> FitPlan:
        if not parameters.is_private:
            nothing, plan = NonPrivatePlan(), self._plan_without_privacy(parameters, records)
            return FitPlan(1.0, plan, nothing.event, nothing.theorem, nothing.exact)
        rate = _rate_of(self.subsample, parameters, records)
        if rate == 1.0:
            if records.blocks is not None:
                solver = records.facts.solver
                _check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=False)
            fit = self._plan_finished(parameters, records)
            return FitPlan(1.0, fit, fit.event, fit.theorem, fit.exact)
        plan_fit = partial(self._plan_finished, records=expected(records, rate))
        return plan_sampled(rate, parameters, records.facts.solver, plan_fit)

    def _plan_without_privacy(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> NonPrivatePlan | LinearPlan:
        if self._is_reference:
            return NonPrivatePlan()
        weights = None if records.blocks is not None else records.weights
        if weights is not None and not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        problem = self._problem(records, parameters)
        if self.standard_errors:
            return _inference.plan_without_noise(records.facts.solver, problem)
        minimum = MinimumPlan(problem.adapted(records.n_records, math.inf))
        return plan_ranked(parameters, records, lambda *_: minimum, records.facts.searched)

    @property
    def _is_reference(self) -> bool:
        """Whether a fit is scikit-learn's, not the limit of private fits of features or errors."""
        is_plain = self._features() is None and not self.standard_errors
        return math.isinf(self.epsilon) and is_plain

    def _plan_finished(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> LinearPlan:
        """Return the plan of a private fit, and of a release that corrects it, if that can help."""
        last = self._last_release(parameters, records)
        if last is None:
            return self._plan_fit(parameters, records)
        return FinishedPlan(last, self._plan_fit(rest_of(parameters, last.mu), records))

    def _last_release(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> MeanShift | None:
        """Return a release at the fit that corrects it, None for none."""

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> LinearPlan:
        """Return the plan of a private fit to all of the records."""
        if isinstance(records.facts.feature_map, AutoMap):
            return plan_auto(parameters, records, self._plan_fit)
        return plan_ranked(parameters, records, self._plan_centered, records.facts.searched)

    def _plan_centered(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> LinearPlan:
        center = self._plan_center(parameters, records)
        if center is None:
            return self._plan_rows(parameters, records)
        rest = rest_of(parameters, center.mu)
        return StagedPlan(center, self._plan_rows(rest, records, MOST_STRETCH))

    def _plan_center(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> CenterRelease | None:
        """Return the release of a center by which rows are shifted, None for rows as they are."""
        if not self.center or self.standard_errors:
            return None
        if is_auto(self.center) and parameters.delta > 0.0:
            mu = gdp_mu(parameters.epsilon, parameters.delta) / parameters.neighboring.n_changed
            if not records.facts.may_gain_by_center(mu):
                return None
        return plan_center(self.center, parameters, records, self._problem(records, parameters))

    def _plan_rows(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT], stretch: float = 0.0
    ) -> LinearPlan:
        """Return the plan of a private fit to rows, shifted and stretched if `stretch` > 0."""
        solver, start = records.facts.solver, records.facts.start
        if start is not None and not isinstance(solver, ResumableSolver):
            raise IncompatibleSolverError(
                "partial_fit needs a solver that can start from earlier coefficients, not "
                f"{type(solver).__name__}. Use one of "
                f"{[name for name, kind in SOLVERS.items() if issubclass(kind, ResumableSolver)]}."
            )
        problem = self._problem(records, parameters)
        # the errors of clipped rows, which are then shifted, stretched and clipped again
        problem = replace(problem, clips=problem.clips + stretch * problem.clips)
        _check_start(start, problem)
        plan = solver.plan(problem, parameters.epsilon, parameters.delta)
        _check_rows(most_rows(records), solver, problem)
        return plan

    def _read(
        self, plan: FitPlan, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> Learned:
        if plan.rate < 1.0:
            records = records.sampled(plan.rate, rng)
        most = math.inf if self._rows_each is None else self._rows_each
        if not math.isinf(self.epsilon):  # so that rounding errors are bounded
            most = min(most, ROWS_SUMMED)
        return self._read_fit(plan.fit, records.kept(most, rng), rng)

    def _read_fit(
        self,
        plan: NonPrivatePlan | LinearPlan,
        records: LinearRecords[TaskT],
        rng: np.random.Generator,
    ) -> Learned:
        if isinstance(plan, NonPrivatePlan):
            return Learned(self._fit_reference(records), records.facts, plan)
        with _thread_pools().limit(limits=1, user_api="blas"):  # so that sums do not depend on it
            if isinstance(plan, FinishedPlan):
                learned = self._read_fit(plan.fit, records, rng)
                return plan.first.finished(learned, records, rng)  # type: ignore[no-any-return]
            while isinstance(plan, CountedPlan | StagedPlan):
                plan, records = plan.next(records, rng)
            return Learned(self._solve(plan, records, rng), records.facts, plan)

    def _fit_reference(self, records: LinearRecords[TaskT]) -> BaseEstimator:
        weights = row_weights(records)
        given = {} if weights is None else {"sample_weight": weights}
        rows = matrix_of(records.facts.feature_map, records.X)
        return self._reference(records.n_rows).fit(rows, records.y, **given)

    def _solve(
        self, plan: LinearPlan, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> Solution:
        solver, start = records.facts.solver, records.facts.start
        design = design_of(records, plan.problem)
        if isinstance(plan, MinimumPlan):
            return plan.read(design)
        if start is None:
            return solver.solve(plan, design, rng, _progress_of(self))
        assert isinstance(solver, ResumableSolver), "planned for such a solver only"
        return solver.resume(plan, design, rng, _progress_of(self), start)

    def _publish(
        self,
        plan: FitPlan,
        records: LinearRecords[TaskT],
        released: Learned,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        fitted, facts, fit = released
        self.privacy_ = guarantee
        if facts.feature_map is not None:
            self.feature_map_ = facts.feature_map
        if facts.features is not None:
            self.features_ = facts.features
        self.center_ = None if facts.center is None else facts.center.point
        self.center_radius_ = None if facts.center is None else facts.center.radius
        if isinstance(fit, NonPrivatePlan):
            self._publish_reference(fitted, facts.task)
            n_iter = getattr(fitted, "n_iter_", None)
            self.n_iter_ = 1 if n_iter is None else int(np.max(n_iter))
            self.data_norm_ = math.inf
        else:
            self._publish_solution(fitted, facts, fit.problem)
        return self

    def _publish_solution(
        self, solution: Solution, facts: LinearFacts[TaskT], problem: Problem
    ) -> None:
        coef, intercept = _split(solution.theta, problem.intercept_scaling)
        if facts.center is not None:
            coef, intercept = facts.center.affine(coef, intercept)
        self._publish_coefficients(coef, intercept, facts.task)
        self.n_iter_ = solution.n_iter + facts.n_iter
        self.data_norm_ = problem.data_norm
        self.loss_ = problem.loss if solution.loss is None else solution.loss
        self.solver_ = solution.solver or _name_of(facts.solver)
        if isinstance(solution, InferredSolution):
            _inference.publish_inference(
                self, solution, self._unit(facts.task), problem.intercept_scaling
            )
        if solution.noise is not None:
            self.coef_noise_ = solution.noise * self._unit(facts.task) * facts.stretch

    def _check_parameters(self) -> None:
        check_size("data_norm", self.data_norm)
        check_size("intercept_scaling", self.intercept_scaling)
        if not (is_auto(self.C) or self.C == self.epsilon == math.inf):
            check_size("C", self.C)
        if self.max_weight is not None:
            check_size("max_weight", self.max_weight)
        if self.max_rows is not None:
            check_count("max_rows", self.max_rows)
        if not (is_auto(self.center) or isinstance(self.center, bool | np.bool_)):
            raise ValueError(f"center must be 'auto', True or False, got {self.center!r}.")
        if self.standard_errors is not False:
            _inference.check_standard_errors(self)
        if hasattr(self, "tol"):  # as in the scikit-learn class of the same model
            check_real("tol", self.tol, low=0.0)
        if self.subsample is not None:
            check_subsample(self.subsample)
        if self.n_samples_hint is not None:
            hint = check_count("n_samples_hint", self.n_samples_hint)
            check_real("n_samples_hint", hint, low=0.0, high=_MOST_ROWS)

    @property
    def _rows_each(self) -> int | None:
        """Maximum number of rows of a person: `max_rows`, or as schemas state."""
        return max_rows_of(self._schemas()) if self.max_rows is None else self.max_rows

    def _is_gaussian(self) -> bool:
        return self._resolve_solver().is_gaussian and self.subsample in (None, 1.0)

    def _resolve_solver(self) -> Solver:
        solver = self.solver
        if self.standard_errors:
            solver = _inference.solver_with_errors(self)
        if not isinstance(solver, Solver):
            solver = SOLVERS[check_choice("solver", solver, SOLVERS)]()
        if isinstance(solver, solvers.AutoSolver) and self.budget is not None and self.budget.exact:
            solver = replace(solver, exact=True)
        return solver if is_auto(self.sampler) else solver.with_sampler(self.sampler)

    def _problem(self, records: LinearRecords[TaskT], parameters: ReleaseParameters) -> Problem:
        problem = Problem(
            loss=weighted(self._loss_of(records.facts.task), records),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=records.facts.n_known,
            neighboring=parameters.neighboring,
            C=self.C,
            n_features=records.facts.n_columns + bool(self.fit_intercept),
            rows_each=1 if records.persons is None else self._rows_each,
            has_features=records.facts.feature_map is not None,
            determines_all=records.facts.determines_all,
            rows_are_exact=rows_are_exact(records.facts.feature_map),
            clips=1.0 + (records.facts.feature_map is not None),  # a mixture clips a part
        )
        is_gaussian = parameters.is_private and parameters.delta > 0.0
        if problem.n_samples is None or not is_gaussian:
            return problem
        return problem.adapted(problem.n_samples, gdp_mu(parameters.epsilon, parameters.delta))

    @abstractmethod
    def _with_targets(
        self, records: Records[AnyMap], known_task: TaskT | None
    ) -> tuple[Records[AnyMap], TaskT]:
        """Check all rows; return them with targets as the loss expects them, and the task.

        `known_task` is the task of an earlier fit.
        """

    @abstractmethod
    def _loss_of(self, task: TaskT) -> Loss:
        """Return the loss of a private fit."""

    @abstractmethod
    def _publish_coefficients(self, coef: np.ndarray, intercept: np.ndarray, task: TaskT) -> None:
        """Set the released attributes from coefficients (n_scores, n_features) and intercepts."""

    def _unit(self, task: TaskT) -> float:
        """Return the size of one unit of the score in the units of the coefficients."""
        return 1.0

    @abstractmethod
    def _reference(self, n_samples: int) -> BaseEstimator:
        """Return the scikit-learn estimator that this one equals at epsilon=inf."""

    @abstractmethod
    def _publish_reference(self, reference: BaseEstimator, task: TaskT) -> None:
        """Set the released attributes from those of the fitted reference."""

    def coef_interval(
        self, level: float = 0.95, *, sampling: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute confidence intervals of the coefficients.

        With `standard_errors`, they cover the coefficients of the population, from which records
        are a sample. Without the sampling error they cover the coefficients of a fit to the same
        rows without noise, and without a ridge.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.* Coverage of each interval.
        sampling : bool or None
            *Public.* Whether to include the variation between samples of records. ``None``: with
            `standard_errors`; otherwise intervals cover the regularized fit to the same rows.

        Returns
        -------
        low, high : ndarray of the shape of `coef_`
            Computed from released and public numbers; nan where the release does not identify a
            coefficient.

        Raises
        ------
        ValueError
            If the fit has no standard errors, and its solver does not add Gaussian noise of known
            size to an optimum, as ``solver="output_perturbation"`` does.
        """
        check_is_fitted(self, "coef_")
        if hasattr(self, "_inference_"):
            ends = self._inference_.interval(level, sampling=sampling is not False)
            shape, n = np.shape(self.coef_), self._inference_.n_columns
            return ends[0][:n].reshape(shape), ends[1][:n].reshape(shape)
        if sampling or not hasattr(self, "coef_noise_"):
            raise ValueError(
                "Intervals of this fit are not available. Set standard_errors=True in "
                "DPLogisticRegression, DPLinearRegression or DPHuberRegressor, or use "
                "solver='output_perturbation' for intervals without the sampling error."
            )
        half = ndtri(0.5 + 0.5 * check_real("level", level, low=0.0, high=1.0)) * self.coef_noise_
        return dense(self.coef_) - half, dense(self.coef_) + half

    def summary(
        self, *, level: float = 0.95, scaler: BaseEstimator | None = None
    ) -> _inference.CoefficientSummary:
        """Return a table of the coefficients, as statsmodels does, for `standard_errors`.

        Its columns are the coefficient, its standard error with both parts, sampling and noise, the
        z statistic, its p-value for a coefficient of 0, and the interval.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.* Coverage of each interval.
        scaler : transformer or None
            *Public.* The `BoundsScaler` in front of the model, or a pipeline or `ColumnTransformer`
            with such scalers. Coefficients are then in the units of its input. Scalers within
            `features` are found without it.

        Returns
        -------
        _inference.CoefficientSummary
            With ``as_text()``, ``as_html()`` and ``to_frame()``. It costs no privacy.

        Raises
        ------
        ValueError
            If the fit has no standard errors, or `scaler` has other columns.
        """
        check_is_fitted(self, "coef_")
        return _inference.summary_of(self, level, scaler)

    def wald_test(
        self,
        hypothesis: MatrixLike | None = None,
        *,
        value: float | VectorLike = 0.0,
        scaler: BaseEstimator | None = None,
    ) -> _inference.WaldTest:
        """Test that several coefficients, or linear combinations of them, have given values.

        Parameters
        ----------
        hypothesis : list of str or int, ndarray of shape (n_tests, n_coefficients) or None
            *Public.* Names or positions of coefficients, ``"Intercept"`` being the last, or a row
            of factors for each combination. ``None``: all but the intercept.
        value : float or array-like of shape (n_tests,)
            *Public.* Values under the hypothesis.
        scaler : transformer or None
            *Public.* See `summary`.

        Returns
        -------
        _inference.WaldTest
            Named tuple of ``statistic``, ``df`` and ``pvalue``; nan if a coefficient is not
            identified. It costs no privacy.

        Raises
        ------
        ValueError
            If the fit has no standard errors, or a coefficient is unknown.
        """
        check_is_fitted(self, "coef_")
        return _inference.wald_test_of(self, hypothesis, value, scaler)

    def to_sklearn(self) -> Pipeline:
        """Return the fitted model as a pipeline of scikit-learn's own objects.

        It predicts the same, to about 1e-12, and needs only scikit-learn, NumPy and SciPy. It keeps
        no `privacy_`, so keep a record of the guarantee beside it. See *Deployment without skdp* in
        the user guide.

        Returns
        -------
        Pipeline
            *Released.* It takes arrays, sparse matrices and frames of numbers. It costs no privacy.

        Raises
        ------
        ValueError
            If scikit-learn has no counterpart of a part of the model. It has none of a `center_`, a
            `target_transform`, several quantiles or a Poisson regression. It has no `features` but
            `AdditiveFeatures` of single columns. It has no probabilities of three or more classes
            that follow the evidence of a signal.
        """
        from skdp.linear_model._plain.steps import plain_scores

        check_is_fitted(self, "coef_")
        return make_pipeline(*plain_scores(self, np.atleast_2d(dense(self.coef_))), *self._plain())

    @abstractmethod
    def _plain(self) -> list[BaseEstimator]:
        """Return scikit-learn's steps from scores to predictions."""

    def _scores(self, X: MatrixLike) -> np.ndarray:
        """Return scores of shape (n_samples, n_scores) for rows clipped as in `fit`."""
        check_is_fitted(self, "coef_")
        coef = self.coef_ if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
        coef = coef if math.isinf(self.data_norm_) else dense(coef)
        feature_map, center = learned_map(self), learned_center(self)
        if feature_map is None and center is None and not math.isinf(self.data_norm_):
            return clipped_scores(self, X, coef.T) + self.intercept_
        scores = scores_of(feature_map, rows_of(self, X), coef.T, self.data_norm_, center)
        return scores + self.intercept_

    def _features(self) -> BaseEstimator | None:
        """Return the transformer of rows to features, None for the columns themselves."""
        return self.features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        features = self._features()
        tags.input_tags.sparse = features is None
        if isinstance(features, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(features).input_tags.allow_nan
        tags.non_deterministic = self.random_state is None
        return tags


def _split(theta: np.ndarray, intercept_scaling: float) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of shape (n_scores, n_features), and intercepts."""
    theta = np.atleast_2d(theta.T)
    n_features = theta.shape[1] - (intercept_scaling > 0.0)
    return theta[:, :n_features], intercept_scaling * theta[:, n_features:].sum(axis=1)


def _progress_of(model: BaseEstimator) -> Progress:
    """Return a function that shows steps to callbacks, or else as `verbose` says."""
    if getattr(model, "_skl_callbacks", None):
        return StepsTask(model)
    if not model.verbose:
        return _show_nothing
    from skdp.support.progress import ProgressBar

    return ProgressBar(type(model).__name__)


def _rate_of(
    subsample: float | Literal["auto"] | None,
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
) -> float:
    """Return the sampling rate. None means "auto" for Dask collections if that costs no more."""
    if subsample is None and records.blocks is not None:
        exact = not parameters.counts_gaussians
        if exact and can_be_sampled(records.facts.solver, parameters.delta):
            subsample = "auto"
    return 1.0 if subsample is None else sampling_rate(subsample, records.facts.n_known)


def _check_reads_blocks(solver: Solver, *, epsilon: float, is_sampled: bool) -> None:
    """Raise if the rows must be in memory. The rows of a sample are."""
    if math.isinf(epsilon):
        raise ValueError(
            "epsilon=inf fits scikit-learn's own estimator, which takes no dask collections. "
            "Pass a finite epsilon, or call .compute() if X and y fit into memory."
        )
    if not (solver.takes_blocks or is_sampled):
        raise IncompatibleSolverError(
            f"{solver!r} needs all rows in memory and cannot read dask collections. Use a solver "
            f"of {[name for name, kind in SOLVERS.items() if kind().takes_blocks]} with a sampler "
            f"of {[name for name, kind in SAMPLERS.items() if kind.takes_blocks]}, or "
            "subsample=, or call .compute() if X and y fit into memory."
        )


def _check_takes_persons(solver: Solver) -> None:
    if not solver.takes_persons:
        raise IncompatibleSolverError(
            f"{type(solver).__name__} cannot protect a person with several rows. With groups, use "
            f"one of {[name for name, kind in SOLVERS.items() if kind.takes_persons]}."
        )


def _show_nothing(step: int, n_steps: int) -> None:
    pass


def _name_of(solver: Solver) -> str:
    """Return the name of a solver in `SOLVERS`, or else of its class."""
    return SOLVERS.name_of(type(solver)) or type(solver).__name__


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the BLAS libraries of the process. Cached: finding them takes milliseconds."""
    return ThreadpoolController()


def _check_rows(n_samples: float, solver: Solver, problem: Problem) -> None:
    """Raise if the plan does not hold for so many rows. The message omits the private number."""
    most = solver.most_rows(problem)
    if n_samples > most:
        raise ValueError(
            f"X has more than {most:.0f} rows, the limit of {type(solver).__name__} if the number "
            "of rows is private. A larger n_samples_hint raises the limit."
        )


def _check_start(start: np.ndarray | None, problem: Problem) -> None:
    if start is None or problem.n_features is None:
        return
    if start.shape != (wanted := problem.shape(problem.n_features)):
        raise ValueError(
            f"partial_fit cannot continue: the learned coefficients have shape {start.shape}, and "
            f"this fit needs shape {wanted}."
        )


def dense(coef: np.ndarray | sparse.spmatrix) -> np.ndarray:
    """Return coefficients as an array, also after `sparsify`."""
    return coef if isinstance(coef, np.ndarray) else coef.toarray()


def is_auto(value: object) -> TypeIs[Literal["auto"]]:
    return isinstance(value, str) and value == "auto"
