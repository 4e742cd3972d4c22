"""What a solver with standard errors releases, and what its variants share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.design.base import Pointwise
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._inference.covariance import Covariance
from skdp.losses import Loss
from skdp.losses.weighted import ClassWeightedLoss, WeightedLoss
from skdp.solvers import Problem, Solution

_MOST_COLUMNS = 2048  # four dense matrices of 32 MiB, and an eigendecomposition of seconds


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class InferredSolution(Solution):
    """*Released.* Coefficients without the bias of a ridge, and their covariance."""

    covariance: Covariance
    kind: str  # of the covariance, in words
    notes: tuple[str, ...] = ()  # for a table


def hessian_of(loss: Loss) -> Pointwise:
    """Return the second derivative of a loss of one score, a function of targets and scores."""
    found: Pointwise | None = getattr(loss, "hessian", None)
    if found is None:
        raise IncompatibleSolverError(f"standard_errors=True is not available for {loss!r}.")
    return found


def check_columns(problem: Problem) -> None:
    """Raise if the matrices would be too large."""
    if (problem.n_features or 0) > _MOST_COLUMNS:
        raise IncompatibleSolverError(
            f"standard_errors=True takes up to {_MOST_COLUMNS} coefficients, the intercept's "
            f"included; got {problem.n_features}."
        )


def has_weights(loss: Loss) -> bool:
    """Return whether records count differently, so that the model alone gives no covariance."""
    return isinstance(loss, WeightedLoss | ClassWeightedLoss)


def positive(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix with negative eigenvalues raised to 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def residual_spread(squares: float, count: float, lost: float, d: int) -> float:
    """Return the mean square of the residuals from a sum over fitted residuals.

    The noise of the coefficients adds about `lost` = tr(V₀·Ĥ) to the sum. A fit of d coefficients
    takes the share d of `count` away.
    """
    return max(squares - lost, 0.0) / max(count - d, 1.0)
