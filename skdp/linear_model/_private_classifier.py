"""What the private linear classifiers share: validate, plan, spend, solve, publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp._random import noise_generator
from skdp._validation import check_choice, check_count, check_delta, check_epsilon, check_size
from skdp.budget import PrivacyBudget
from skdp.design import ClippedDesign, clip_factors
from skdp.losses import ClassWeightedLoss, Loss
from skdp.privacy import Neighboring, NonPrivateEvent, PrivacyGuarantee
from skdp.solvers import SOLVERS, Plan, Problem, Solution, Solver

__all__ = ["PrivateLinearClassifier"]

_LARGEST_VALUE = 1e100


class PrivateLinearClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier that pays for what it learns before it looks at the data."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Learn the coefficients privately.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values; rows longer than `data_norm` are scaled down to it.
        y : array-like of shape (n_samples,)
            *Private.* Labels; which labels there are is public.
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
        _refuse(fit_params)
        self._check_parameters()
        solver = self._resolve_solver()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        _check_magnitude(X)
        classes, codes = self._encode(y)
        if math.isinf(self.epsilon):
            self._spend(NonPrivateEvent(), "none, epsilon=inf")
            return self._fit_without_privacy(X, y, classes)
        rng = noise_generator(self.random_state)
        plan = solver.plan(self._problem(X.shape[0], classes), self.epsilon, self.delta)
        self._spend(plan.event, plan.theorem)
        solution = self._solve(solver, plan, X, codes, rng)
        return self._publish(solution, classes, plan.problem)

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_choice("neighboring", self.neighboring, Neighboring)
        check_size("data_norm", self.data_norm)
        check_size("intercept_scaling", self.intercept_scaling)
        if not _is_auto(self.C):
            check_size("C", self.C)
        if self.n_samples_hint is not None:
            check_count("n_samples_hint", self.n_samples_hint)
        if not (self.budget is None or isinstance(self.budget, PrivacyBudget)):
            raise ValueError(f"budget must be a PrivacyBudget or None, got {self.budget!r}.")
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight must be None or a dict of public weights, got "
                f"{self.class_weight!r}: weights computed from the data, as 'balanced' ones are, "
                "would reveal class counts. Nothing was spent."
            )

    def _resolve_solver(self) -> Solver:
        solver = self.solver
        if not isinstance(solver, Solver):
            solver = SOLVERS[check_choice("solver", solver, SOLVERS)]()
        return solver if _is_auto(self.sampler) else solver.with_sampler(self.sampler)

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the public classes, and y as −1/+1 (two classes) or 0..K−1."""
        check_classification_targets(y)
        classes = np.unique(y if self.classes is None else np.asarray(self.classes))
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: "
                f"{classes.tolist()}. Nothing was spent."
            )
        codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
        if np.any(classes[codes] != y):
            raise ValueError(f"y has labels outside classes={classes.tolist()}. Nothing was spent.")
        return classes, (2.0 * codes - 1.0 if classes.size == 2 else codes)

    def _problem(self, n_rows: int, classes: np.ndarray) -> Problem:
        neighboring = Neighboring(self.neighboring)
        return Problem(
            loss=self._weighted_loss(classes),
            data_norm=float(self.data_norm),
            intercept_scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            n_samples=n_rows if neighboring.count_is_public else self.n_samples_hint,
            neighboring=neighboring,
            C=self.C,
        )

    def _weighted_loss(self, classes: np.ndarray) -> Loss:
        loss = self._loss(classes.size)
        if self.class_weight is None:
            return loss
        unknown = set(self.class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"class_weight names {unknown}, not among {classes.tolist()}. Nothing was spent."
            )
        weights = (self.class_weight.get(label, 1.0) for label in classes.tolist())
        return ClassWeightedLoss(loss, tuple(check_size("class_weight", w) for w in weights))

    def _spend(self, event: Any, theorem: str) -> None:
        """Buy the release; from here on, `privacy_` is owed."""
        guarantee = PrivacyGuarantee(event, self.neighboring, theorem)
        if self.budget is not None:
            self.budget.spend(guarantee, delta=self.delta, label=type(self).__name__)
        self.privacy_ = guarantee

    def _solve(
        self, solver: Solver, plan: Plan, X: Any, codes: np.ndarray, rng: np.random.Generator
    ) -> Solution:
        problem = plan.problem
        threads = effective_n_jobs(self.n_jobs)
        with _thread_pools().limit(limits=threads, user_api="blas"):
            design = ClippedDesign.clip(X, problem.data_norm, problem.intercept_scaling)
            return solver.solve(plan, design, codes, rng, self._progress)

    def _publish(self, solution: Solution, classes: np.ndarray, problem: Problem) -> Any:
        theta = np.atleast_2d(solution.theta.T)
        n_features = self.n_features_in_
        self.classes_ = classes
        self.coef_ = theta[:, :n_features]
        self.intercept_ = problem.intercept_scaling * theta[:, n_features:].sum(axis=1)
        self.n_iter_ = solution.n_iter
        self.data_norm_ = problem.data_norm
        vars(self).pop("diagnostics_", None)
        if self.diagnostics:
            self.diagnostics_ = solution.diagnostics
        return self

    def _fit_without_privacy(self, X: Any, y: np.ndarray, classes: np.ndarray) -> Any:
        reference = self._reference().fit(X, y)
        if not np.array_equal(reference.classes_, classes):
            raise ValueError("With epsilon=inf every label of `classes` must occur in y.")
        self.classes_ = classes
        self.coef_, self.intercept_ = reference.coef_, np.atleast_1d(reference.intercept_)
        self.n_iter_ = int(np.max(reference.n_iter_))
        self.data_norm_ = math.inf
        return self

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """Return the loss of a private fit."""

    @abstractmethod
    def _reference(self) -> Any:
        """Return the scikit-learn estimator that this one equals at epsilon=inf."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows that are clipped as in `fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = X @ self.coef_.T
        if not math.isinf(self.data_norm_):
            scores *= clip_factors(X, self.data_norm_)[:, None]
        scores += self.intercept_
        return scores.ravel() if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the highest score for each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

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
        tags.classifier_tags.poor_score = not math.isinf(self.epsilon)  # noise, on tiny data
        tags.non_deterministic = self.random_state is None
        return tags


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the process's BLAS libraries; finding them takes milliseconds."""
    return ThreadpoolController()


def _refuse(fit_params: dict[str, Any]) -> None:
    if any(value is not None for value in fit_params.values()):
        raise ValueError(
            f"fit takes X and y only, got {sorted(fit_params)}. A sample_weight would need a "
            "public bound; public weights of whole classes go into class_weight. "
            "Nothing was spent."
        )


def _check_magnitude(X: Any) -> None:
    if X.size and max(X.max(), -X.min()) > _LARGEST_VALUE:
        raise ValueError(
            f"X has a value beyond {_LARGEST_VALUE:g}, which counts as infinity. Nothing was spent."
        )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
