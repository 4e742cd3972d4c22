"""What the private linear classifiers share: validate, plan, spend, solve, publish."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # scikit-learn depends on it, always installed

from skdp._random import noise_generator
from skdp._validation import check_choice, check_count, check_delta, check_epsilon, check_size
from skdp.budget import PrivacyBudget
from skdp.design import ClippedDesign, clip_factors
from skdp.losses import ClassWeightedLoss, Loss
from skdp.privacy import Event, Neighboring, NonPrivateEvent, PrivacyGuarantee
from skdp.solvers import SOLVERS, Problem, Solution, Solver

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
        with _unchanged_if_refused(self):
            _refuse(fit_params)
            self._check_parameters()
            solver, rng = self._resolve_solver(), noise_generator(self.random_state)
            threads = effective_n_jobs(self.n_jobs)
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
            _check_magnitude(X)
            classes, codes = self._encode(y)
            if math.isinf(self.epsilon):
                guarantee = self._buy(NonPrivateEvent(), "none, epsilon=inf")
                return self._fit_without_privacy(X, y, classes, guarantee)
            plan = solver.plan(self._problem(X.shape[0], classes), self.epsilon, self.delta)
            guarantee = self._buy(plan.event, plan.theorem)
        _forget(self)  # from here on the old model is gone, whatever happens
        with _thread_pools().limit(limits=threads, user_api="blas"):
            problem = plan.problem
            design = ClippedDesign.clip(X, problem.data_norm, problem.intercept_scaling)
            solution = solver.solve(plan, design, codes, rng, self._progress)
        return self._publish(solution, classes, problem, guarantee)

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
        if self.classes is None:  # else comparison with them is the stronger check
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

    def _buy(self, event: Event, theorem: str) -> PrivacyGuarantee:
        """Return the guarantee of the release, paid for."""
        guarantee = PrivacyGuarantee(event, Neighboring(self.neighboring), theorem)
        if self.budget is not None:
            self.budget.spend(guarantee, delta=self.delta, label=type(self).__name__)
        return guarantee

    def _publish(
        self,
        solution: Solution,
        classes: np.ndarray,
        problem: Problem,
        guarantee: PrivacyGuarantee,
    ) -> Any:
        theta = np.atleast_2d(solution.theta.T)
        n_features = self.n_features_in_
        self.classes_ = classes
        self.coef_ = theta[:, :n_features]
        self.intercept_ = problem.intercept_scaling * theta[:, n_features:].sum(axis=1)
        self.n_iter_ = solution.n_iter
        self.data_norm_ = problem.data_norm
        self.privacy_ = guarantee
        if self.diagnostics:
            self.diagnostics_ = solution.diagnostics
        return self

    def _fit_without_privacy(
        self, X: Any, y: np.ndarray, classes: np.ndarray, guarantee: PrivacyGuarantee
    ) -> Any:
        reference = self._reference().fit(X, y)
        if not np.array_equal(reference.classes_, classes):
            raise ValueError("With epsilon=inf every label of `classes` must occur in y.")
        self.classes_ = classes
        self.coef_, self.intercept_ = reference.coef_, np.atleast_1d(reference.intercept_)
        self.n_iter_ = int(np.max(reference.n_iter_))
        self.data_norm_ = math.inf
        self.privacy_ = guarantee
        vars(self).pop("diagnostics_", None)
        return self

    def _seed_of_reference(self) -> Any:
        """Return the random state in a form that scikit-learn takes."""
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**31))
        return self.random_state

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
        check_is_fitted(self, "coef_")
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


@contextmanager
def _unchanged_if_refused(model: Any) -> Iterator[None]:
    """Give a model its attributes back if its fit ends here."""
    before = vars(model).copy()
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def _forget(model: Any) -> None:
    """Drop what an earlier fit released."""
    for name in ("coef_", "intercept_", "privacy_", "n_iter_", "diagnostics_"):
        vars(model).pop(name, None)


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
    values = X.data if sparse.issparse(X) else X
    if values.size and max(values.max(), -values.min()) > _LARGEST_VALUE:
        raise ValueError(
            f"X has a value beyond {_LARGEST_VALUE:g}, which counts as infinity. Nothing was spent."
        )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
