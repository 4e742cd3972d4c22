"""What the private linear models share: validate, plan, spend, solve, publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp._fit import refuse_weights, unchanged_if_refused
from skdp._purchase import buy, check_budget, guarantee_of
from skdp._random import noise_generator
from skdp._validation import (
    check_choice,
    check_count,
    check_delta,
    check_epsilon,
    check_real,
    check_size,
)
from skdp.design import ClippedDesign, clip_factors
from skdp.losses import Loss
from skdp.privacy import (
    ComposedEvent,
    Event,
    Neighboring,
    NonPrivateEvent,
    PrivacyGuarantee,
    SelfComposedEvent,
)
from skdp.solvers import SOLVERS, Problem, Solution, Solver

__all__ = ["PrivateLinearModel", "is_auto"]

_LARGEST_VALUE = 1e100
_MOST_ROWS = 1e15


class PrivateLinearModel(BaseEstimator):
    """A linear model that pays for what it learns before it looks at the data.

    What is public about the targets, a *task*, a subclass finds out first: the classes, or the
    bounds of a number.
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Learn the coefficients privately.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values; rows longer than `data_norm` are scaled down to it.
        y : array-like of shape (n_samples,)
            *Private.* Labels, of which the set is public, or numbers.
        **fit_params
            Refused: a `sample_weight` would need a public bound.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, or a value is not finite; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget cannot pay; nothing is learnt and nothing is spent.
        """
        return self._learn(X, y, fit_params)

    def _learn(
        self,
        X: Any,
        y: Any,
        fit_params: dict[str, Any],
        *,
        earlier: Event | None = None,
        known_task: Any = None,
    ) -> Any:
        """Validate, plan, spend, solve, publish; after `earlier` releases start from `coef_`."""
        with unchanged_if_refused(self):
            refuse_weights(fit_params, "; public weights of whole classes go into class_weight")
            self._check_parameters()
            solver, rng = self._resolve_solver(), noise_generator(self.random_state)
            threads = effective_n_jobs(self.n_jobs)
            X, y = self._validated(X, y, reset=earlier is None)
            task, codes = self._encode(y, known_task)
            if math.isinf(self.epsilon):
                guarantee = self._buy(NonPrivateEvent(), "none, epsilon=inf")
                return self._fit_without_privacy(X, y, task, guarantee)
            plan = solver.plan(self._problem(X, task), float(self.epsilon), float(self.delta))
            guarantee = self._buy(plan.event, plan.theorem)
            if earlier is not None:
                guarantee = guarantee_of(
                    _together(earlier, plan.event), self.neighboring, plan.theorem
                )
        # the old model is gone, come what may
        more = _forget(self) if earlier is None else self._start(task)
        with _thread_pools().limit(limits=threads, user_api="blas"):
            problem = plan.problem
            design = ClippedDesign.clip(X, problem.data_norm, problem.intercept_scaling)
            solution = solver.solve(plan, design, codes, rng, self._progress, **more)
        return self._publish(solution, task, problem, guarantee)

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_choice("neighboring", self.neighboring, Neighboring)
        check_size("data_norm", self.data_norm)
        check_size("intercept_scaling", self.intercept_scaling)
        if not is_auto(self.C):
            check_size("C", self.C)
        if self.n_samples_hint is not None:
            hint = check_count("n_samples_hint", self.n_samples_hint)
            check_real("n_samples_hint", hint, low=0.0, high=_MOST_ROWS)
        check_budget(self.budget)

    def _resolve_solver(self) -> Solver:
        solver = self.solver
        if not isinstance(solver, Solver):
            solver = SOLVERS[check_choice("solver", solver, SOLVERS)]()
        return solver if is_auto(self.sampler) else solver.with_sampler(self.sampler)

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset)
        _check_magnitude(X)
        return X, y

    def _problem(self, X: Any, task: Any) -> Problem:
        neighboring = Neighboring(self.neighboring)
        n_rows, n_columns = X.shape
        return Problem(
            loss=self._loss_of(task),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=n_rows if neighboring.count_is_public else self.n_samples_hint,
            neighboring=neighboring,
            C=self.C,
            n_features=n_columns + bool(self.fit_intercept),
        )

    def _buy(self, event: Event, theorem: str) -> PrivacyGuarantee:
        """Return the guarantee of the release, paid for."""
        guarantee = guarantee_of(event, self.neighboring, theorem)
        label = type(self).__name__
        buy(guarantee, self.budget, epsilon=self.epsilon, delta=self.delta, label=label)
        return guarantee

    def _publish(
        self, solution: Solution, task: Any, problem: Problem, guarantee: PrivacyGuarantee
    ) -> Any:
        theta = np.atleast_2d(solution.theta.T)
        n_features = self.n_features_in_
        intercept = problem.intercept_scaling * theta[:, n_features:].sum(axis=1)
        self._publish_coefficients(theta[:, :n_features], intercept, task)
        self.n_iter_ = solution.n_iter
        self.data_norm_ = problem.data_norm
        self.privacy_ = guarantee
        if solution.noise is not None:
            self.coef_noise_ = solution.noise * self._unit(task)
        if self.diagnostics:
            self.diagnostics_ = solution.diagnostics
        return self

    def _fit_without_privacy(
        self, X: Any, y: np.ndarray, task: Any, guarantee: PrivacyGuarantee
    ) -> Any:
        reference = self._reference(X.shape[0]).fit(X, y)
        self._publish_reference(reference, task)
        n_iter = getattr(reference, "n_iter_", None)
        self.n_iter_ = 1 if n_iter is None else int(np.max(n_iter))
        self.data_norm_ = math.inf
        self.privacy_ = guarantee
        for name in ("coef_noise_", "diagnostics_"):
            self.__dict__.pop(name, None)
        return self

    def _seed_of_reference(self) -> Any:
        """Return the random state in a form that scikit-learn takes."""
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**31))
        return self.random_state

    @abstractmethod
    def _encode(self, y: np.ndarray, known: Any) -> tuple[Any, np.ndarray]:
        """Return what is public about the targets, unless `known`, and y as the loss wants it."""

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
        return self.coef_ - half, self.coef_ + half

    def _scores(self, X: Any) -> np.ndarray:
        """Return scores of shape (n_samples, n_scores) for rows clipped as in `fit`."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        coef = np.atleast_2d(self.coef_)
        scores = X @ coef.T
        if not math.isinf(self.data_norm_):
            scores *= clip_factors(X, self.data_norm_)[:, None]
        return scores + self.intercept_

    def _progress(self, step: int, n_steps: int) -> None:
        """Show progress; steps are public, so the display is too."""
        if self.verbose and (step * 10) // n_steps > ((step - 1) * 10) // n_steps:
            print(f"[{type(self).__name__}] step {step} of {n_steps}")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("diagnostics_", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


def _together(earlier: Event, later: Event) -> Event:
    """Return both, with equal releases counted: nested ones would outgrow the stack some day."""
    counts: Counter[Event] = Counter()
    for leaf, count in (*earlier.leaves(), *later.leaves()):
        counts[leaf] += count
    return ComposedEvent(tuple(SelfComposedEvent(leaf, n) for leaf, n in counts.items()))


def _forget(model: Any) -> dict[str, Any]:
    """Drop what an earlier fit released: there is nothing to start from."""
    for name in ("coef_", "intercept_", "coef_noise_", "privacy_", "n_iter_", "diagnostics_"):
        vars(model).pop(name, None)
    return {}


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the process's BLAS libraries; finding them takes milliseconds."""
    return ThreadpoolController()


def _check_magnitude(X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size and max(values.max(), -values.min()) > _LARGEST_VALUE:
        raise ValueError(
            f"X has a value beyond {_LARGEST_VALUE:g}, which counts as infinity. Nothing was spent."
        )


def is_auto(value: Any) -> bool:
    """Return whether a parameter is left to a public rule."""
    return isinstance(value, str) and value == "auto"
