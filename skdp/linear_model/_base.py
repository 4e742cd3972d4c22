"""Base class of the private linear models: checks, problem, and published attributes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import (
    ThreadpoolController,  # scikit-learn depends on it, always installed
)

from skdp import solvers
from skdp._private_fit import (
    NonPrivatePlan,
    PrivateEstimator,
    ReleaseParameters,
    together,
    warn_paid,
)
from skdp.accounting import gdp_mu
from skdp.accounting.calibration import LEAST_SIGNAL
from skdp.data.persons import check_max_rows
from skdp.data.records import Records
from skdp.design.base import ROWS_SUMMED
from skdp.exceptions import FewRowsWarning
from skdp.features.base import FeatureMap
from skdp.features.combined import AutoMap
from skdp.features.row_wise import RowWiseMap
from skdp.linear_model._first_releases import (
    MOST_STRETCH,
    CenterRelease,
    plan_center,
    plan_ranks,
    warn_of_columns,
    warn_of_ends,
)
from skdp.linear_model._intervals import (
    InferredSolution,
    check_standard_errors,
    coef_interval,
    publish_inference,
    summary,
    wald_test,
)
from skdp.linear_model._last_releases import ClassMixture, ClassShift, LinkChoice, MeanShift
from skdp.linear_model._plans import (
    PARTS,
    CountedPlan,
    FinishedPlan,
    FitPlan,
    GaussianRelease,
    Learned,
    LinearPlan,
    PlanFit,
    StagedPlan,
    can_be_sampled,
    check_reads_blocks,
    check_start,
    check_takes_persons,
    is_gaussian,
    on_samples,
    plan_auto,
    plan_sampled,
    plan_trial,
    replaced,
    rest_of,
    with_choice,
)
from skdp.linear_model._records import (
    AnyMap,
    LinearFacts,
    LinearRecords,
    TaskT,
    clipped_scores,
    dense,
    design_of,
    entries_kept,
    learned_center,
    learned_map,
    matrix_of,
    records_of,
    row_weights,
    rows_of,
    scores_of,
    weighted,
)
from skdp.losses import Loss
from skdp.privacy import PrivacyGuarantee
from skdp.samplers.base import Progress, Sampler
from skdp.solvers import SOLVERS, Plan, Problem, Solution, Solver
from skdp.solvers._minimizer import MinimumPlan
from skdp.solvers._releases import shifted
from skdp.support.other_libraries import StepsTask
from skdp.support.random import likely_size
from skdp.support.types import MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_count, check_real, check_size

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_MOST_ROWS = 1e15
_FEWEST_SAMPLED = 200  # columns for which steps may read samples; no guarantee rests on it
_ENOUGH_ROWS = 1_000_000  # of an automatic sample: more barely improve a fit
_FEW = (
    "A noisy count finds about {} records, and a model needs about {:.2g} at this epsilon: noise "
    "may outweigh what it learns. A weighted record counts as its weight divided by max_weight."
)


class PrivateLinearModel(PrivateEstimator[LinearRecords[TaskT], FitPlan, Learned]):
    """A linear model with a public *task*: the array of classes, or the range of the targets."""

    is_model = True
    _first_releases: ClassVar[tuple[Callable[..., GaussianRelease | None], ...]]
    _first_releases = (plan_ranks, plan_center)
    """Functions that plan releases before a fit, in their order."""

    with_errors: ClassVar[tuple[str, ...]] = ()
    """Solvers with standard errors, the default one first."""
    coef_interval, summary, wald_test = coef_interval, summary, wald_test

    # The values of parameters that a class lacks.
    features: BaseEstimator | None = None
    data_norm: float = 1.0
    C: float | Literal["auto"] = "auto"
    fit_intercept: bool = True
    center: bool | Literal["auto"] = "auto"
    standard_errors: bool | Literal["robust"] = False
    sampler: str | Sampler = "auto"
    n_samples_hint: int | None = None
    subsample: float | Literal["auto"] | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` also those of `solver` and `sampler` objects.

        Parameters
        ----------
        deep : bool
            *Public.* Whether to include parameters of parameters, such as ``solver__n_steps``.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = super().get_params(deep)
        parts = [part for part in PARTS if deep and is_dataclass(found.get(part))]
        return found | {
            f"{part}__{own.name}": getattr(found[part], own.name)
            for part in parts
            for own in fields(found[part])
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters, such as ``solver="dp_sgd"`` and ``solver__n_steps=50``.

        Parameters
        ----------
        **params : dict
            *Public.* Those of `solver` and `sampler` also with a name instead of an object.

        Returns
        -------
        self
        """
        known = self.get_params(deep=False)
        of_parts: dict[str, dict[str, Any]] = defaultdict(dict)
        for name in [*params]:
            part, _, rest = name.partition("__")
            if rest and part in PARTS and part in known:
                of_parts[part][rest] = params.pop(name)
        super().set_params(**params)
        for part, new in of_parts.items():
            setattr(self, part, replaced(part, getattr(self, part), new))
        return self

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
            check_takes_persons(solver)
        records = records_of(self, X, y, sample_weight, groups, resume=resume)
        if records.blocks is not None:
            is_sampled = self.subsample is not None
            check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=is_sampled)
        records, task = self._with_targets(records, known_task)
        feature_map, n_columns = records.facts, self.n_features_in_
        if isinstance(feature_map, FeatureMap | RowWiseMap):
            n_columns = feature_map.n_features_out
        is_known = records.count_is_public and records.weights is None
        n_known = records.n_records if is_known else self.n_samples_hint
        facts = LinearFacts(task, solver, feature_map, n_columns, n_known)
        if resume:
            facts = replace(facts, start=_start_of(self, task), n_iter=self.n_iter_)
        known = records.with_facts(facts).recut(ROWS_SUMMED)
        return with_choice(known, parameters) if isinstance(feature_map, AutoMap) else known

    def _published_guarantee(
        self, now: PrivacyGuarantee, records: LinearRecords[TaskT]
    ) -> PrivacyGuarantee:
        """Return the guarantee of all calls of `partial_fit`."""
        if records.facts.start is None:
            return now
        return together(self.privacy_, now)

    @abstractmethod
    def _learned_coefficients(self, task: TaskT) -> tuple[np.ndarray, np.ndarray]:
        """Invert `_publish_coefficients`."""

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> FitPlan:
        if not parameters.is_private:
            nothing, plan = NonPrivatePlan(), self._plan_without_privacy(parameters, records)
            return FitPlan(1.0, plan, nothing.event, nothing.theorem, nothing.exact)
        solver, plan_fit = records.facts.solver, partial(_plan_corrected, self, self._plan_fit)
        rate = _rate_of(self, parameters, records)
        if rate == 1.0 and records.blocks is not None and records.persons is not None:
            raise ValueError(
                "With groups, rows outside of memory are read as a sample of persons only: pass "
                "subsample= below 1 to a linear model, or read the data into memory if they fit."
            )
        if rate < 1.0:
            return plan_sampled(rate, parameters, records, plan_fit)
        if records.blocks is not None:
            check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=False)
        fit = plan_fit(parameters, records)
        if records.facts.n_columns >= _FEWEST_SAMPLED and _may_sample(self, parameters, records):
            fit = on_samples(fit, parameters)
        return FitPlan(1.0, fit, fit.event, fit.theorem, fit.exact)

    def _plan_without_privacy(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> NonPrivatePlan | LinearPlan:
        """Return the plan of scikit-learn's fit, or of the limit of private fits."""
        if self._is_reference:
            return NonPrivatePlan()
        weights = None if records.blocks is not None else records.weights
        if weights is not None and not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        if self.standard_errors:
            problem = self._problem(records, parameters)
            return records.facts.solver.plan(problem, math.inf, parameters.delta)
        plan_fit = partial(PrivateLinearModel._plan_fit, self)  # overrides have one for this fit
        return _plan_corrected(self, plan_fit, parameters, records)

    @property
    def _is_reference(self) -> bool:
        """Whether a fit is scikit-learn's, not the limit of private fits of features or errors."""
        is_plain = self._features() is None and not self.standard_errors
        return math.isinf(self.epsilon) and is_plain

    def _last_releases(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT]
    ) -> Sequence[MeanShift | LinkChoice | ClassMixture | ClassShift]:
        """Return releases at the fit that correct it, in their order."""
        return ()

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> LinearPlan:
        """Return the plan of a fit to all of the records, after releases that prepare it."""
        if isinstance(records.facts.feature_map, AutoMap):
            return plan_auto(parameters, records, self._plan_fit)
        if records.facts.rival is not None and not self._may_try(parameters, records):
            records = records.with_facts(replace(records.facts, rival=None))
        firsts: list[GaussianRelease] = []
        for plan_first in self._first_releases:
            if (first := plan_first(self, parameters, records)) is not None:
                firsts.append(first)
                if parameters.is_private:
                    parameters = rest_of(parameters, first.mu)
        is_centered = any(isinstance(first, CenterRelease) for first in firsts)
        plan_rows = partial(self._plan_rows, stretch=MOST_STRETCH if is_centered else 0.0)
        if records.facts.rival is None:
            plan = plan_rows(parameters, records)
        else:
            short = partial(learn, progress=lambda step, n_steps: None)
            plan = plan_trial(parameters, records, plan_rows, self._compared(), short)
        for first in reversed(firsts):
            plan = StagedPlan(first, plan)
        return plan

    def _may_try(self, parameters: ReleaseParameters, records: LinearRecords[TaskT]) -> bool:
        """Return whether other features can be tried: errors are known, and costs add up."""
        facts = records.facts
        return (
            hasattr(self, "_compared")
            and not getattr(facts.task, "counts", False)  # scores of counts are logarithms
            and is_gaussian(parameters, records)
            and facts.solver.takes_trees
            and records.persons is None  # trees of persons take half a minute for 12 000 rows
            and not self.standard_errors
            and (is_auto(self.center) or not self.center)
        )

    def _plan_rows(
        self, parameters: ReleaseParameters, records: LinearRecords[TaskT], stretch: float
    ) -> LinearPlan:
        """Return the plan of a fit to rows, which a release of their center may stretch."""
        solver, start = records.facts.solver, records.facts.start
        problem = self._problem(records, parameters)
        if not parameters.is_private:
            problem = problem.adapted(records.n_records, math.inf)
            return MinimumPlan(
                problem=solver.limit(problem) if isinstance(solver, solvers.AutoSolver) else problem
            )
        problem = shifted(problem, stretch, entries_kept(records.facts.feature_map))
        if start is not None:
            check_start(start, solver, problem)
        plan = solver.plan(problem, parameters.epsilon, parameters.delta)
        _check_rows(records, solver, problem)
        if start is None:
            return plan
        return solver.resume(plan, start)  # type: ignore[attr-defined,no-any-return]  # checked

    def _read(
        self, plan: FitPlan, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> Learned:
        if plan.rate < 1.0:
            records = records.sampled(plan.rate, rng)
        if records.persons is not None:
            most = _rows_each(self) or math.inf
            if not math.isinf(self.epsilon):  # so that rounding errors are bounded
                most = min(most, ROWS_SUMMED)
            records = records.kept(most, rng)
        fit = plan.fit
        if isinstance(fit, NonPrivatePlan):
            weights = row_weights(records)
            given = {} if weights is None else {"sample_weight": weights}
            rows = matrix_of(records.facts.feature_map, records.X)
            fitted = self._reference(records.n_rows).fit(rows, records.y, **given)
            return Learned(fitted, records.facts, fit)
        with _thread_pools().limit(limits=1, user_api="blas"):  # so that sums do not depend on it
            return learn(fit, records, rng, progress_of(self))

    def _publish(
        self,
        plan: FitPlan,
        records: LinearRecords[TaskT],
        released: Learned,
        guarantee: PrivacyGuarantee,
    ) -> Self:
        fitted, facts, fit, _ = released
        self.privacy_ = guarantee
        if facts.feature_map is not None:
            self.feature_map_ = facts.feature_map
        if facts.features is not None:
            self.features_ = facts.features
        if facts.searched and isinstance(facts.feature_map, FeatureMap):
            warn_of_ends(facts.feature_map.facts)
        self.center_ = None if facts.center is None else facts.center.point
        self.center_radius_ = None if facts.center is None else facts.center.radius
        if isinstance(fit, NonPrivatePlan):
            self._publish_reference(fitted, facts.task)
            n_iter = getattr(fitted, "n_iter_", None)
            self.n_iter_ = 1 if n_iter is None else int(np.max(n_iter))
            self.data_norm_ = math.inf
        else:
            _publish_solution(self, fitted, facts, fit)
        return self

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
            check_standard_errors(self)
        if hasattr(self, "tol"):  # as in the scikit-learn class of the same model
            check_real("tol", self.tol, low=0.0)
        if isinstance(self.subsample, str) and not is_auto(self.subsample):
            raise ValueError(
                f"subsample must be None, 'auto' or a rate in (0, 1], got {self.subsample!r}."
            )
        if not (self.subsample is None or is_auto(self.subsample)):
            check_real("subsample", self.subsample, low=0.0, high=1.0, closed="]")
        if self.n_samples_hint is not None:
            hint = check_count("n_samples_hint", self.n_samples_hint)
            check_real("n_samples_hint", hint, low=0.0, high=_MOST_ROWS)

    def _is_gaussian(self) -> bool:
        return self._resolve_solver().is_gaussian and self.subsample in (None, 1.0)

    def _resolve_solver(self) -> Solver:
        solver = self.solver
        if self.standard_errors:
            from skdp.linear_model._standard_errors import (
                solver_with_errors,  # others need none
            )

            solver = solver_with_errors(self)
        if not isinstance(solver, Solver):
            solver = SOLVERS[check_choice("solver", solver, SOLVERS)]()
        if isinstance(solver, solvers.AutoSolver) and self.budget is not None and self.budget.exact:
            solver = replace(solver, exact=True)
        return solver if is_auto(self.sampler) else solver.with_sampler(self.sampler)

    def _problem(self, records: LinearRecords[TaskT], parameters: ReleaseParameters) -> Problem:
        n_rows = records.n_records if parameters.neighboring.count_is_public else 0
        problem = Problem(
            loss=weighted(self._loss_of(records.facts.task), records),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=records.facts.n_known,
            neighboring=parameters.neighboring,
            C=self.C,
            n_features=records.facts.n_columns + bool(self.fit_intercept),
            rows_each=1 if records.persons is None else _rows_each(self),
            has_features=records.facts.feature_map is not None,
            determines_all=records.facts.determines_all,
            # a transformer of another library may compute a row's features in other ways
            rows_are_exact=not isinstance(records.facts.feature_map, RowWiseMap),
            clips=1.0 + (records.facts.feature_map is not None),  # a mixture clips a part
            weighted_rows=None if records.weights is None else n_rows,
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
            If scikit-learn has no counterpart of a part of the model. It has none of a
            `target_transform`, several quantiles or a Poisson regression. It has no `features` but
            `AdditiveFeatures` of single columns. It has no probabilities of three or more classes
            that are recalibrated.
        """
        from skdp.linear_model._plain import plain_scores

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


def can_resume(model: PrivateLinearModel[Any]) -> bool:
    """Return whether a fit is one run that can start anywhere, and so has a `partial_fit`.

    Solvers with Gaussian releases have others before or after their run, such as a center, which
    hold for one fit. So have the classes that are short for a feature map.
    """
    solver = model.solver
    kind = SOLVERS.get(solver) if isinstance(solver, str) else type(solver)
    if kind is None or kind.is_gaussian or not hasattr(kind, "resume"):
        return False
    is_plain = type(model)._features is PrivateLinearModel._features
    return is_plain and not (math.isinf(model.epsilon) or model.standard_errors)


def _publish_solution(
    model: PrivateLinearModel[TaskT],
    solution: Solution,
    facts: LinearFacts[TaskT],
    plan: LinearPlan,
) -> None:
    """Set the released attributes of a fit by skdp's own solvers."""
    problem, unit = plan.problem, model._unit(facts.task)
    center = facts.center
    warn_of_columns(getattr(model, "feature_names_in_", ()), facts, solution.gram, problem)
    coef, intercept = _split(solution.theta, problem.intercept_scaling)
    if center is not None:
        coef, intercept = center.affine(coef, intercept)
    model._publish_coefficients(coef, intercept, facts.task)
    model.n_iter_ = solution.n_iter + facts.n_iter
    model.data_norm_ = problem.data_norm
    model.loss_ = problem.loss if solution.loss is None else solution.loss
    kind = type(facts.solver)
    model.solver_ = solution.solver or SOLVERS.name_of(kind) or kind.__name__
    if isinstance(solution, InferredSolution):
        publish_inference(model, solution, unit, problem.intercept_scaling)
    if solution.noise is not None:
        model.coef_noise_ = solution.noise * unit * facts.stretch
    if facts.n_known is None and solution.flow is not None:
        mu = plan.event.gdp_mu(problem.neighboring)
        if solution.flow.n_samples * mu < LEAST_SIGNAL:
            warn_paid(_FEW.format(solution.flow.n_samples, LEAST_SIGNAL / mu), FewRowsWarning)


def _split(theta: np.ndarray, intercept_scaling: float) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of shape (n_scores, n_features), and intercepts."""
    theta = np.atleast_2d(theta.T)
    n_features = theta.shape[1] - (intercept_scaling > 0.0)
    return theta[:, :n_features], intercept_scaling * theta[:, n_features:].sum(axis=1)


def _plan_corrected(
    model: PrivateLinearModel[TaskT],
    plan_fit: PlanFit,
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
) -> LinearPlan:
    """Return the plan of a fit, and of releases that correct it, if that can help."""
    lasts, rest = model._last_releases(parameters, records), parameters
    if lasts and parameters.is_private:
        rest = rest_of(parameters, math.sqrt(sum(last.mu * last.mu for last in lasts)))
    plan = plan_fit(rest, records)
    for last in lasts:
        plan = FinishedPlan(last, plan)
    return plan


def learn(
    plan: LinearPlan, records: LinearRecords[Any], rng: np.random.Generator, progress: Progress
) -> Learned:
    """Let a plan read the records: make its releases in their order, and fit."""
    if isinstance(plan, FinishedPlan):
        return plan.first.finished(learn(plan.fit, records, rng, progress), records, rng)  # type: ignore[no-any-return]
    if isinstance(plan, CountedPlan | StagedPlan):
        return learn(*plan.next(records, rng), rng, progress)
    assert isinstance(plan, Plan), "all others have stages"
    by_samples = getattr(getattr(plan, "fit", None), "steps", None) is not None  # of `NoisyGDPlan`
    design = design_of(records, plan.problem, by_samples)
    return Learned(plan.read(design, rng, progress), records.facts, plan, design)


def progress_of(model: BaseEstimator) -> Progress:
    """Return a function that shows steps to callbacks, or else as `verbose` says."""
    if getattr(model, "_skl_callbacks", None):
        return StepsTask(model)
    if not model.verbose:
        return lambda step, n_steps: None
    from skdp.support.other_libraries import ProgressBar

    return ProgressBar(type(model).__name__)


def _start_of(model: PrivateLinearModel[TaskT], task: TaskT) -> np.ndarray:
    """Return the released coefficients as the solver takes them."""
    earlier = model.privacy_.neighboring
    if earlier != model.neighboring:
        raise ValueError(
            "neighboring may not change in partial_fit: earlier calls used "
            f"{str(earlier)!r}, got {model.neighboring!r}."
        )
    coef, intercept = model._learned_coefficients(task)
    if model.fit_intercept:
        coef = np.column_stack([coef, intercept / model.intercept_scaling])
    return coef.ravel() if len(coef) == 1 else coef.T


def _rows_each(model: PrivateLinearModel[Any]) -> int | None:
    """Return the maximum number of rows of a person: `max_rows`, or as schemas state."""
    if model.max_rows is not None:
        return model.max_rows
    stated = (one.max_rows for one in model._schemas())
    return min((one for one in stated if one is not None), default=None)


def _rate_of(
    model: PrivateLinearModel[Any], parameters: ReleaseParameters, records: LinearRecords[Any]
) -> float:
    """Return the sampling rate, 1 for all rows, also for "auto" if n is unknown.

    None means "auto" for Dask collections if that costs no more.
    """
    rate = model.subsample
    if rate is None and records.blocks is not None and not parameters.counts_gaussians:
        rate = "auto" if can_be_sampled(records.facts.solver, parameters.delta) else None
    if isinstance(rate, str):
        n_known = records.n_known or model.n_samples_hint
        return min(1.0, _ENOUGH_ROWS / n_known) if n_known else 1.0
    return 1.0 if rate is None else float(rate)


def _may_sample(
    model: PrivateLinearModel[Any], parameters: ReleaseParameters, records: LinearRecords[Any]
) -> bool:
    """Return whether a fit may be other than Gaussian DP, and its rows are fast to sample."""
    is_counted = parameters.budget is not None and parameters.budget.has_limit
    feature_map = records.facts.feature_map
    is_plain = isinstance(feature_map, FeatureMap | None) and records.persons is None
    is_sparse = sparse.issparse(records.X) or entries_kept(feature_map) is not None
    is_dense = records.blocks is None and not is_sparse
    return is_plain and is_dense and not (is_counted or model._is_part)


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the BLAS libraries of the process. Cached: finding them takes milliseconds."""
    return ThreadpoolController()


def _check_rows(records: LinearRecords[Any], solver: Solver, problem: Problem) -> None:
    """Raise if the plan does not hold for so many rows. The message omits the private number."""
    n, rate, most = records.n_records, records.rate, solver.most_rows(problem)
    # A sample has more rows than this number with a chance of e^−700 at most.
    if (n if rate == 1.0 else likely_size(n, rate)) > most:
        raise ValueError(
            f"X has more than {most:.0f} rows, the limit of {type(solver).__name__} if the number "
            "of rows is private. A larger n_samples_hint raises the limit."
        )


def is_auto(value: object) -> TypeIs[Literal["auto"]]:
    return isinstance(value, str) and value == "auto"
