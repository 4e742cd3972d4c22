"""What the private linear models share: their checks, their problem, and what they publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters, ReleasePlan
from skdp.accounting import gdp_mu
from skdp.data.persons import check_max_rows
from skdp.data.records import Records
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._records import (
    LinearFacts,
    LinearRecords,
    design_of,
    learned_map,
    matrix_of,
    most_rows,
    records_of,
    row_weights,
    rows_of,
    scores_of,
    weighted,
)
from skdp.linear_model._sample import (
    FitPlan,
    can_be_sampled,
    check_subsample,
    expected,
    plan_sampled,
    sampling_rate,
)
from skdp.losses import Loss
from skdp.privacy import PrivacyGuarantee
from skdp.samplers import SAMPLERS, Progress
from skdp.solvers import SOLVERS, Problem, Solution, Solver
from skdp.solvers.base import ResumableSolver
from skdp.support.validation import (
    check_choice,
    check_count,
    check_real,
    check_size,
)

__all__ = ["PrivateLinearModel", "dense", "is_auto"]

_MOST_ROWS = 1e15


class PrivateLinearModel(PrivateEstimator):
    """A linear model; what is public about its targets, a *task*, a subclass finds out first.

    A task is the array of classes, or the bounds of a number.
    """

    features: Any
    subsample: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn the coefficients privately.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or dask collection of shape (n_samples, n_features)
            *Private.* Finite values; rows longer than `data_norm` are scaled down to it. With
            `features`, X may hold categories and missing values, and sparse X is rejected.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels, of which the set is public, or numbers.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* What the loss of each record is multiplied by, clipped to [0, max_weight];
            as it is with ``epsilon=inf``. ``None`` weighs all records alike.
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
            If a parameter, a shape or a type is wrong, a value is missing or not finite where
            that is not allowed, or weights have no public `max_weight`; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is learned.
        """
        return self._fit_privately(X, y, sample_weight=sample_weight, groups=groups)

    def _check_data(
        self,
        parameters: ReleaseParameters,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        known_task: Any = None,
        resume: bool = False,
    ) -> LinearRecords:
        self._check_parameters()
        self._check_loss()
        solver = self._resolve_solver()
        if self.max_rows is not None:
            check_max_rows(self.max_rows, groups)
        if groups is not None:
            _check_takes_persons(solver)
        records: Any = records_of(self, X, y, sample_weight, groups, resume=resume)
        if records.blocks is not None:
            is_sampled = self.subsample is not None
            _check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=is_sampled)
        records, task = self._with_targets(records, known_task)
        feature_map = records.facts
        n_columns = self.n_features_in_ if feature_map is None else feature_map.n_features_out
        n_known = records.n_records if records.count_is_public else self.n_samples_hint
        earlier = self._resumed(task) if resume else {}
        facts = LinearFacts(task, solver, feature_map, n_columns, n_known, **earlier)
        return records.with_facts(facts)

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords) -> ReleasePlan:
        if not parameters.is_private:
            plan = NonPrivatePlan()
            return FitPlan(1.0, plan, plan.event, plan.theorem)
        rate = _rate_of(self.subsample, parameters, records)
        if rate == 1.0:
            if records.blocks is not None:
                solver = records.facts.solver
                _check_reads_blocks(solver, epsilon=self.epsilon, is_sampled=False)
            fit = self._plan_fit(parameters, records)
            return FitPlan(1.0, fit, fit.event, fit.theorem)
        plan_fit = partial(self._plan_fit, records=expected(records, rate))
        return plan_sampled(rate, parameters, records.facts.solver, plan_fit)

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords) -> Any:
        """Return the plan of a private fit to all of the records."""
        solver, start = records.facts.solver, records.facts.start
        if start is not None and not isinstance(solver, ResumableSolver):
            raise IncompatibleSolverError(
                "partial_fit needs a solver that can start from earlier coefficients, not "
                f"{type(solver).__name__}. Use one of "
                f"{[name for name, kind in SOLVERS.items() if issubclass(kind, ResumableSolver)]}."
            )
        problem = self._problem(records, parameters)
        _check_start(start, problem)
        plan = solver.plan(problem, parameters.epsilon, parameters.delta)
        _check_rows(most_rows(records), solver, problem)
        return plan

    def _read(self, plan: FitPlan, records: LinearRecords, rng: np.random.Generator) -> Any:
        if plan.rate < 1.0:
            records = records.sampled(plan.rate, rng)
        return self._read_fit(plan.fit, records.kept(self.max_rows, rng), rng)

    def _read_fit(self, plan: Any, records: LinearRecords, rng: np.random.Generator) -> Any:
        """Return the solver's solution; without privacy, the fitted reference."""
        if math.isinf(self.epsilon):
            weights = row_weights(records)
            given = {} if weights is None else {"sample_weight": weights}
            rows = matrix_of(records.facts.feature_map, records.X)
            return self._reference(records.n_rows).fit(rows, records.y, **given)
        solver, start = records.facts.solver, records.facts.start
        with _thread_pools().limit(limits=1, user_api="blas"):  # so that sums do not depend on it
            design = design_of(records, plan.problem)
            if start is None:
                return solver.solve(plan, design, rng, _progress_of(self))
            assert isinstance(solver, ResumableSolver), "planned for such a solver only"
            return solver.resume(plan, design, rng, _progress_of(self), start)

    def _publish(
        self, plan: Any, records: LinearRecords, released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        self.privacy_, facts = guarantee, records.facts
        if facts.feature_map is not None:
            self.feature_map_ = facts.feature_map
        if math.isinf(self.epsilon):
            self._publish_reference(released, facts.task)
            n_iter = getattr(released, "n_iter_", None)
            self.n_iter_ = 1 if n_iter is None else int(np.max(n_iter))
            self.data_norm_ = math.inf
            return self
        self._publish_solution(released, facts.task, plan.fit.problem)
        self.solver_ = released.solver or _name_of(facts.solver)
        self.n_iter_ += facts.n_iter
        return self

    def _publish_solution(self, solution: Solution, task: Any, problem: Problem) -> None:
        theta = np.atleast_2d(solution.theta.T)
        n_features = theta.shape[1] - (problem.intercept_scaling > 0.0)
        intercept = problem.intercept_scaling * theta[:, n_features:].sum(axis=1)
        self._publish_coefficients(theta[:, :n_features], intercept, task)
        self.n_iter_ = solution.n_iter
        self.data_norm_ = problem.data_norm
        self.loss_ = problem.loss if solution.loss is None else solution.loss
        if solution.noise is not None:
            self.coef_noise_ = solution.noise * self._unit(task)

    def _check_parameters(self) -> None:
        check_size("data_norm", self.data_norm)
        check_size("intercept_scaling", self.intercept_scaling)
        if not (is_auto(self.C) or self.C == self.epsilon == math.inf):
            check_size("C", self.C)
        if self.max_weight is not None:
            check_size("max_weight", self.max_weight)
        if self.max_rows is not None:
            check_count("max_rows", self.max_rows)
        if hasattr(self, "tol"):  # of those whose twin in scikit-learn has one
            check_real("tol", self.tol, low=0.0)
        if self.subsample is not None:
            check_subsample(self.subsample)
        if self.n_samples_hint is not None:
            hint = check_count("n_samples_hint", self.n_samples_hint)
            check_real("n_samples_hint", hint, low=0.0, high=_MOST_ROWS)

    def _is_gaussian(self) -> bool:
        return self._resolve_solver().is_gaussian and self.subsample in (None, 1.0)

    def _resolve_solver(self) -> Solver:
        solver = self.solver
        if not isinstance(solver, Solver):
            solver = SOLVERS[check_choice("solver", solver, SOLVERS)]()
        return solver if is_auto(self.sampler) else solver.with_sampler(self.sampler)

    def _problem(self, records: LinearRecords, parameters: ReleaseParameters) -> Problem:
        problem = Problem(
            loss=weighted(self._loss_of(records.facts.task), records),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=records.facts.n_known,
            neighboring=parameters.neighboring,
            C=self.C,
            n_features=records.facts.n_columns + bool(self.fit_intercept),
            rows_each=1 if records.persons is None else self.max_rows,
        )
        if problem.n_samples is None or parameters.delta == 0.0:
            return problem
        return problem.adapted(problem.n_samples, gdp_mu(parameters.epsilon, parameters.delta))

    @abstractmethod
    def _with_targets(self, records: Records[Any], known_task: Any) -> tuple[Records[Any], Any]:
        """Check all rows; return them with targets as the loss wants them, and the task.

        `known_task` is that of an earlier fit, None for the one that parameters or targets say.
        """

    @abstractmethod
    def _check_loss(self) -> None:
        """Check the parameters of the loss, before there are targets."""

    @abstractmethod
    def _loss_of(self, task: Any) -> Loss:
        """Return the loss of a private fit."""

    @abstractmethod
    def _publish_coefficients(self, coef: np.ndarray, intercept: np.ndarray, task: Any) -> None:
        """Set the released attributes from coefficients (n_scores, n_features) and intercepts."""

    def _unit(self, task: Any) -> float:
        """Return the size of one unit of the score in the units of the coefficients."""
        return 1.0

    @abstractmethod
    def _learned_coefficients(self, task: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return what `_publish_coefficients` would publish as the attributes that there are."""

    def _resumed(self, task: Any) -> dict[str, Any]:
        """Return where an earlier fit ended, for those that can go on from there."""
        raise NotImplementedError(f"{type(self).__name__} has no partial_fit.")

    @abstractmethod
    def _reference(self, n_samples: int) -> Any:
        """Return the scikit-learn estimator that this one equals at epsilon=inf."""

    @abstractmethod
    def _publish_reference(self, reference: Any, task: Any) -> None:
        """Set the released attributes from those of the fitted reference."""

    def coef_interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return ends of intervals around `coef_` for the coefficients without their noise.

        Each interval holds the coefficient of the regularized fit to the same rows, as it would be
        without noise, with probability `level`. What would change with other rows is not in it.

        Parameters
        ----------
        level : float in (0, 1)
            *Public.*

        Returns
        -------
        low, high : ndarray of the shape of `coef_`
            Computed from what was released and from public numbers.

        Raises
        ------
        ValueError
            If the solver's release is not an optimum plus Gaussian noise of known size:
            ``solver="output_perturbation"`` has one.
        """
        check_is_fitted(self, "coef_")
        if not hasattr(self, "coef_noise_"):
            raise ValueError(
                "coef_interval needs a release that is an optimum plus noise of known size, as "
                "with solver='output_perturbation'; no formula is known for this one."
            )
        half = ndtri(0.5 + 0.5 * check_real("level", level, low=0.0, high=1.0)) * self.coef_noise_
        return dense(self.coef_) - half, dense(self.coef_) + half

    def _scores(self, X: Any) -> np.ndarray:
        """Return scores of shape (n_samples, n_scores) for rows clipped as in `fit`."""
        check_is_fitted(self, "coef_")
        coef = self.coef_ if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
        coef = coef if math.isinf(self.data_norm_) else dense(coef)
        feature_map = learned_map(self)
        return scores_of(feature_map, rows_of(self, X), coef.T, self.data_norm_) + self.intercept_

    def _features(self) -> Any:
        """Return the transformer whose features are fitted, None for the columns themselves."""
        return self.features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        features = self._features()
        tags.input_tags.sparse = features is None
        if isinstance(features, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(features).input_tags.allow_nan
        tags.non_deterministic = self.random_state is None
        return tags


def _progress_of(model: PrivateLinearModel) -> Progress:
    """Return what shows the steps done: nothing, unless `verbose`."""
    if not model.verbose:
        return _show_nothing
    from skdp.support.progress import ProgressBar

    return ProgressBar(type(model).__name__)


def _rate_of(subsample: Any, parameters: ReleaseParameters, records: LinearRecords) -> float:
    """Return the rate of the sample: by default that of "auto" for Dask collections.

    Unless the solver's cost on a sample is unknown, or the budget would count it at more.
    """
    if subsample is None and records.blocks is not None:
        exact = not parameters.counts_gaussians
        if exact and can_be_sampled(records.facts.solver, parameters.delta):
            subsample = "auto"
    return 1.0 if subsample is None else sampling_rate(subsample, records.facts.n_known)


def _check_reads_blocks(solver: Solver, *, epsilon: float, is_sampled: bool) -> None:
    """Raise if rows have to be in memory; those of a sample are."""
    if math.isinf(epsilon):
        raise ValueError(
            "epsilon=inf fits scikit-learn's own estimator, which takes no dask collections: "
            "give a finite epsilon, or call .compute() where X and y fit into memory."
        )
    if not (solver.takes_blocks or is_sampled):
        raise IncompatibleSolverError(
            f"{solver!r} wants all columns or all scores at once and cannot read dask "
            "collections, whose rows stay where they are. Take a solver of "
            f"{[name for name, kind in SOLVERS.items() if kind().takes_blocks]} with a sampler "
            f"of {[name for name, kind in SAMPLERS.items() if kind.takes_blocks]}, or "
            "subsample=, or call .compute() where X and y fit into memory."
        )


def _check_takes_persons(solver: Solver) -> None:
    """Raise if the solver bounds only what one row adds."""
    if not solver.takes_persons:
        raise IncompatibleSolverError(
            f"groups needs a solver that bounds what a person of several rows adds, one of "
            f"{[name for name, kind in SOLVERS.items() if kind.takes_persons]}; "
            f"{type(solver).__name__} bounds what one row does."
        )


def _show_nothing(step: int, n_steps: int) -> None:
    pass


def _name_of(solver: Solver) -> str:
    """Return the name of a solver of the menu, of others their class's."""
    return SOLVERS.name_of(type(solver)) or type(solver).__name__


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the process's BLAS libraries; finding them takes milliseconds."""
    return ThreadpoolController()


def _check_rows(n_samples: float, solver: Solver, problem: Problem) -> None:
    """Raise if the plan does not hold for so many rows; the number itself is not said."""
    most = solver.most_rows(problem)
    if n_samples > most:
        raise ValueError(
            f"X has more than the {most:.0f} rows for which {type(solver).__name__} can plan where "
            "their number is private. A larger n_samples_hint raises this limit."
        )


def _check_start(start: np.ndarray | None, problem: Problem) -> None:
    if start is None or problem.n_features is None:
        return
    if start.shape != (wanted := problem.shape(problem.n_features)):
        raise ValueError(
            f"the coefficients that were learned have the shape {start.shape}, and this fit has "
            f"coefficients of shape {wanted}: partial_fit cannot go on from them."
        )


def dense(coef: Any) -> np.ndarray:
    """Return coefficients as an array, also those that `sparsify` has packed."""
    return coef.toarray() if sparse.issparse(coef) else coef


def is_auto(value: Any) -> bool:
    """Return whether a parameter is left to a public rule."""
    return isinstance(value, str) and value == "auto"
