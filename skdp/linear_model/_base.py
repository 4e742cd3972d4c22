"""What the private linear models share: their checks, their problem, and what they publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp._private_fit import NonPrivatePlan, PrivateEstimator, ReleaseParameters, ReleasePlan
from skdp.accounting import gdp_mu
from skdp.data.column import is_collection
from skdp.data.persons import Persons, check_max_rows, refuse_blocks
from skdp.data.validation import (
    column_names,
    refuse_missing,
    remember_names,
    validated,
    validated_table,
    validated_weights,
)
from skdp.design import ClippedDesign, Design, SharedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.features.base import FeatureMap
from skdp.features.row_wise import RowWiseMap, feature_map_of
from skdp.linear_model._block_rows import BlockRows, blocks_of, check_reads_blocks
from skdp.linear_model._mapped_rows import MappedRows
from skdp.linear_model._sample import (
    FitPlan,
    can_be_sampled,
    check_subsample,
    plan_sampled,
    sampling_rate,
)
from skdp.losses import Loss, SharedLoss, WeightedLoss, weighted_targets
from skdp.privacy import PrivacyGuarantee
from skdp.samplers import Progress
from skdp.solvers import SOLVERS, Problem, Solution, Solver
from skdp.solvers.base import ResumableSolver
from skdp.support.random import child_generator, poisson_sample
from skdp.support.validation import (
    check_choice,
    check_count,
    check_real,
    check_size,
)

__all__ = ["MatrixRows", "PrivateLinearModel", "Rows", "dense", "is_auto"]

_LARGEST_VALUE = 1e100
_MOST_ROWS = 1e15
_TAIL = 700.0  # a chance of e^−700 is less than what δ is rounded by
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_STORED = [np.dtype(t) for t in ("float64", "float32", "float16", *_INTEGERS, "bool")]
"""Types that X keeps; the first is what texts, objects, dates and all others become."""
_OF_TEXT = (
    " Encode it by public categories: features=AdditiveFeatures(categories=...), or an additive "
    "model such as DPAdditiveClassifier."
)


class Rows(Protocol):
    """Validated rows, as many as there are targets, in memory or elsewhere."""

    @property
    def feature_map(self) -> FeatureMap | RowWiseMap | None:
        """The public map whose features are fitted, None for the columns themselves."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns, the intercept's aside; public."""

    def design(self, data_norm: float, intercept_scaling: float, targets: Any) -> Design:
        """Return the clipped rows and their targets, as a solver sees them."""

    def take(self, rows: np.ndarray, targets: Any) -> tuple[Rows, np.ndarray]:
        """Return some of the rows, by number, in memory, and their targets."""


@dataclass(frozen=True, eq=False, repr=False)
class MatrixRows:
    """The rows of X, an array or CSR matrix, or features that a transformer has made of them."""

    X: Any
    feature_map: RowWiseMap | None = None

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def design(self, data_norm: float, intercept_scaling: float, targets: Any) -> Design:
        return ClippedDesign.clip(self.X, data_norm, intercept_scaling, targets)

    def take(self, rows: np.ndarray, targets: Any) -> tuple[MatrixRows, np.ndarray]:
        return replace(self, X=self.X[rows]), targets[rows]

    def joined(self, others: Sequence[MatrixRows]) -> MatrixRows:
        """Return these rows and those of others."""
        parts = [self.X, *(one.X for one in others)]
        stack = sparse.vstack if sparse.issparse(self.X) else np.vstack
        return replace(self, X=stack(parts))

    def matrix(self) -> Any:
        return self.X

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        if math.isinf(data_norm):
            return np.asarray(safe_sparse_dot(self.X, coef, dense_output=True))
        return ClippedDesign.clip(self.X, data_norm).scores(dense(coef))


_WITHOUT_MAX_WEIGHT = (
    "sample_weight needs max_weight, a public bound that weights are clipped to: one record of "
    "unbounded weight would outweigh all noise. Public weights of whole classes may go into "
    "class_weight."
)


@dataclass(frozen=True, eq=False, repr=False)
class LinearRecords:
    """Validated rows, targets as the loss wants them, and what is public about them.

    `n_known` is a number of records that is public, exact under ``replace_one``, a guess otherwise;
    None where there is none. `task` is public about the targets. `weights` are None where none were
    given; in a private fit the targets carry them. Rows that are elsewhere have their targets, and
    `y` is None. `persons` say whose each row is, where a record is a person. `start` are released
    coefficients from which `solver` goes on after `n_iter` steps, None for none.
    """

    rows: Rows
    y: np.ndarray | None
    task: Any
    solver: Solver
    n_known: int | None
    weights: Any = None
    persons: Persons | None = None
    start: np.ndarray | None = None
    n_iter: int = 0
    rate: float = 1.0

    @property
    def n_records(self) -> int:
        """Number of rows, or of persons where a record is a person."""
        return self.rows.n_samples if self.persons is None else self.persons.n_persons

    def sampled(self, rate: float, rng: np.random.Generator) -> LinearRecords:
        """Return a Poisson sample of the records, drawn from a stream of its own; all at rate 1."""
        if rate == 1.0:
            return self
        chosen = poisson_sample(self.n_records, rate, child_generator(rng))
        rows = chosen if self.persons is None else self.persons.rows_of(chosen)
        return self.expected(rate)._taken(rows)

    def weighted(self, loss: Loss, max_weight: float | None) -> Loss:
        """Return the loss of rows that carry weights, where they do."""
        largest = 1.0 if max_weight is None or self.weights is None else float(max_weight)
        if self.persons is not None:
            return SharedLoss(loss, largest)
        return loss if self.weights is None else WeightedLoss(loss, largest)

    def design(self, data_norm: float, intercept_scaling: float, loss: Loss) -> Design:
        """Return the clipped rows and their targets, as a solver sees them."""
        rows = self.rows.design(data_norm, intercept_scaling, self.y)
        if self.persons is None or not isinstance(loss, SharedLoss):
            return rows
        return SharedDesign(rows, self.persons, loss.largest)

    def kept(self, max_rows: int | None, rng: np.random.Generator) -> LinearRecords:
        """Return the same with at most so many rows of each person, None for all."""
        if self.persons is None or max_rows is None:
            return self
        return self._taken(self.persons.kept(max_rows, child_generator(rng)))

    def shared(self, *, is_private: bool) -> LinearRecords:
        """Return the same where all rows of a person count together as one record.

        In a private fit the targets carry the weights.
        """
        if self.persons is None or self.y is None:
            return self
        shares = self.persons.row_weights()
        if not is_private:
            return replace(self, weights=shares * (1.0 if self.weights is None else self.weights))
        if self.weights is None:
            return replace(self, y=weighted_targets(self.y, shares))
        return replace(self, y=weighted_targets(self.y["target"], shares * self.y["weight"]))

    def _taken(self, chosen: np.ndarray) -> LinearRecords:
        rows, y = self.rows.take(chosen, self.y)
        if self.persons is None:
            return replace(self, rows=rows, y=y)
        weights = None if self.weights is None else self.weights[chosen]
        persons = self.persons.take(chosen)
        return replace(self, rows=rows, y=y, weights=weights, persons=persons)

    def expected(self, rate: float) -> LinearRecords:
        """Return the same records with the public number of those that a sample is to hold."""
        n = self.n_known
        return replace(self, n_known=None if n is None else max(1, round(rate * n)), rate=rate)

    @property
    def most_rows(self) -> float:
        """As many rows as are fitted; of a sample more have a chance of e^−700 (Bernstein)."""
        if self.rate == 1.0:
            return self.n_records
        mean = self.rate * self.n_records
        return min(self.n_records, mean + math.sqrt(2.0 * _TAIL * mean) + 2.0 / 3.0 * _TAIL)


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
            *Private.* Finite values; rows longer than `data_norm` are scaled down to it. With a
            feature map, numbers and categories, some of which may be missing; not sparse.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels, of which the set is public, or numbers.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* What the loss of each record is multiplied by, clipped to [0, max_weight];
            as it is with ``epsilon=inf``. ``None`` weighs all records alike.
        groups : array-like of shape (n_samples,) or None
            *Private.* Whose each row is, where a person may have several: then all rows of a person
            are protected together, and count together as one record. ``None``: each row is a
            record of its own.

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
            If the budget does not admit the fit; then nothing is learnt.
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
        if sample_weight is not None and parameters.is_private and self.max_weight is None:
            raise ValueError(_WITHOUT_MAX_WEIGHT)
        if self.max_rows is not None:
            check_max_rows(self.max_rows, groups)
        if groups is not None:
            _check_takes_persons(solver)
        given = X, y, sample_weight, known_task
        rows: Rows
        if is_collection(X) or is_collection(y):
            refuse_blocks(groups)
            check_reads_blocks(self, solver, sampled=self.subsample is not None)
            rows, task, y = blocks_of(self, *given, reset=not resume)
            weights = sample_weight
        else:
            rows, task, y, weights = self._labelled(*given, reset=not resume)
        persons = None if groups is None else Persons.of(groups, rows.n_samples)
        records = LinearRecords(rows, y, task, solver, None, weights, persons)
        earlier = self._resumed(task) if resume else {}
        public = parameters.neighboring.count_is_public
        n_known = records.n_records if public else self.n_samples_hint
        return replace(records, n_known=n_known, **earlier)

    def _labelled(
        self, X: Any, y: Any, sample_weight: Any, known_task: Any, *, reset: bool
    ) -> tuple[Rows, Any, np.ndarray, np.ndarray | None]:
        """Return checked rows, what is public about targets, these as a loss wants them, weights.

        In a private fit the targets carry the weights.
        """
        rows, y = self._rows(X, y, reset=reset)
        task, y = self._encode(y, known_task)
        weights = None if sample_weight is None else validated_weights(sample_weight, len(y))
        if weights is not None and not math.isinf(self.epsilon):
            y = weighted_targets(y, np.clip(weights, 0.0, self.max_weight))
        return rows, task, y, weights

    def _plan(self, parameters: ReleaseParameters, records: LinearRecords) -> ReleasePlan:
        if not parameters.is_private:
            plan = NonPrivatePlan()
            return FitPlan(1.0, plan, plan.event, plan.theorem)
        rate = _rate_of(self.subsample, parameters, records)
        if rate == 1.0:
            if isinstance(records.rows, BlockRows):
                check_reads_blocks(self, records.solver, sampled=False)
            fit = self._plan_fit(parameters, records)
            return FitPlan(1.0, fit, fit.event, fit.theorem)
        sample = records.expected(rate)
        return plan_sampled(
            rate, parameters, records.solver, lambda inside: self._plan_fit(inside, sample)
        )

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords) -> Any:
        """Return the plan of a private fit to all of the records."""
        solver = records.solver
        if records.start is not None and not isinstance(solver, ResumableSolver):
            raise IncompatibleSolverError(
                f"partial_fit goes on from earlier coefficients, which {type(solver).__name__} "
                "cannot; take one of "
                f"{[name for name, kind in SOLVERS.items() if issubclass(kind, ResumableSolver)]}."
            )
        problem = self._problem(records, parameters)
        _check_start(records.start, problem)
        plan = solver.plan(problem, parameters.epsilon, parameters.delta)
        _check_rows(records.most_rows, solver, problem)
        return plan

    def _read(self, plan: FitPlan, records: LinearRecords, rng: np.random.Generator) -> Any:
        records = records.sampled(plan.rate, rng).kept(self.max_rows, rng)
        is_private = not math.isinf(self.epsilon)
        return self._read_fit(plan.fit, records.shared(is_private=is_private), rng)

    def _read_fit(self, plan: Any, records: LinearRecords, rng: np.random.Generator) -> Any:
        """Return the solver's solution; without privacy, the fitted reference."""
        if math.isinf(self.epsilon):
            given = {} if records.weights is None else {"sample_weight": records.weights}
            rows: Any = records.rows
            return self._reference(rows.n_samples).fit(rows.matrix(), records.y, **given)
        problem, solver = plan.problem, records.solver
        with _thread_pools().limit(limits=1, user_api="blas"):  # so that sums do not depend on it
            norm, b0 = problem.data_norm, problem.intercept_scaling
            design = records.design(norm, b0, problem.loss)
            if records.start is None:
                return solver.solve(plan, design, rng, _progress_of(self))
            assert isinstance(solver, ResumableSolver), "planned for such a solver only"
            return solver.resume(plan, design, rng, _progress_of(self), records.start)

    def _publish(
        self, plan: Any, records: LinearRecords, released: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        self.privacy_ = guarantee
        if records.rows.feature_map is not None:
            self.feature_map_ = records.rows.feature_map
        if math.isinf(self.epsilon):
            self._publish_reference(released, records.task)
            n_iter = getattr(released, "n_iter_", None)
            self.n_iter_ = 1 if n_iter is None else int(np.max(n_iter))
            self.data_norm_ = math.inf
            return self
        self._publish_solution(released, records.task, plan.fit.problem)
        self.solver_ = released.solver or _name_of(records.solver)
        self.n_iter_ += records.n_iter
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
        neighboring = parameters.neighboring
        problem = Problem(
            loss=records.weighted(self._loss_of(records.task), self.max_weight),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=records.n_known,
            neighboring=neighboring,
            C=self.C,
            n_features=records.rows.n_columns + bool(self.fit_intercept),
            rows_each=1 if records.persons is None else self.max_rows,
        )
        if problem.n_samples is None or parameters.delta == 0.0:
            return problem
        return problem.adapted(problem.n_samples, gdp_mu(parameters.epsilon, parameters.delta))

    @abstractmethod
    def _encode(self, y: np.ndarray, known: Any) -> tuple[Any, np.ndarray]:
        """Return what is public about the targets, unless `known`, and y as the loss wants it."""

    def _task_in_block(self, y: np.ndarray, known: Any) -> Any:
        """Return what `_task_of_blocks` wants to know of the targets in a block, after checks."""
        return self._encode(y, known)[0]

    def _task_of_blocks(self, found: list[Any], known: Any) -> Any:
        """Return what is public about the targets, unless `known`, by what is in the blocks."""
        return found[0]

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
    def _learnt_coefficients(self, task: Any) -> tuple[np.ndarray, np.ndarray]:
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

        Each interval holds the coefficient of the regularised fit to the same rows, as it would be
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
        return self._rows(X, reset=False).products(coef.T, self.data_norm_) + self.intercept_

    def _rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return checked rows, and y if it is given; no error quotes a value."""
        is_mapped = (self._features() if reset else self._learnt_map()) is not None
        checked = (_table if is_mapped else _matrix)(self, X, y, reset=reset)
        X, *targets = checked if isinstance(checked, tuple) else (checked,)
        rows: Any = MatrixRows(X)
        if is_mapped:
            rows = _mapped(X, self._new_map(X) if reset else self._learnt_map(), column_names(self))
        return (rows, *targets) if targets else rows

    def _features(self) -> Any:
        """Return the transformer whose features are fitted, None for the columns themselves."""
        return self.features

    def _new_map(self, table: Any) -> FeatureMap | RowWiseMap | None:
        """Return the map of the features, from public facts about the columns."""
        features = self._features()
        return None if features is None else feature_map_of(features, table, column_names(self))

    def _learnt_map(self) -> FeatureMap | RowWiseMap | None:
        return getattr(self, "feature_map_", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        features = self._features()
        tags.input_tags.sparse = features is None
        if isinstance(features, BaseEstimator):
            tags.input_tags.allow_nan = get_tags(features).input_tags.allow_nan
        tags.non_deterministic = self.random_state is None
        return tags


def _matrix(model: PrivateLinearModel, X: Any, y: Any, *, reset: bool) -> Any:
    """Return X as finite numbers, and y if it is given."""
    most = math.inf if isinstance(y, str) else _LARGEST_VALUE
    options: dict[str, Any] = {"accept_sparse": "csr", "reset": reset, "dtype": _STORED}
    return validated(model, X, y, most=most, advice=_OF_TEXT, **options)


def _table(model: PrivateLinearModel, X: Any, y: Any, *, reset: bool) -> Any:
    """Return X as it is, after checks of its shape and names, and y if it is given."""
    checked = validated_table(model, X, y, reset=reset)
    if reset:
        remember_names(model, X)
    return checked


def _mapped(table: Any, feature_map: Any, names: Any) -> MappedRows | MatrixRows:
    """Return the rows of a table with their feature map."""
    if isinstance(feature_map, RowWiseMap):
        features = feature_map.features(table)
        refuse_missing(features, most=_LARGEST_VALUE)
        return MatrixRows(features, feature_map)
    return MappedRows(feature_map.coded(table, names), feature_map)


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
    if subsample is None and isinstance(records.rows, BlockRows):
        exact = not parameters.counts_gaussians
        if exact and can_be_sampled(records.solver, parameters.delta):
            subsample = "auto"
    return 1.0 if subsample is None else sampling_rate(subsample, records.n_known)


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
            f"the coefficients that were learnt have the shape {start.shape}, and this fit has "
            f"coefficients of shape {wanted}: partial_fit cannot go on from them."
        )


def dense(coef: Any) -> np.ndarray:
    """Return coefficients as an array, also those that `sparsify` has packed."""
    return coef.toarray() if sparse.issparse(coef) else coef


def is_auto(value: Any) -> bool:
    """Return whether a parameter is left to a public rule."""
    return isinstance(value, str) and value == "auto"
