"""Weighted sums of products aaᵀ of rows, and of products ggᵀ of records' gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.design.base import Design, MemoryDesign, Pointwise

__all__ = ["row_products", "rows_at_once", "slope_products"]

_VALUES_AT_ONCE = 1 << 18  # of rows that are copied for a weighted matrix
_FEWEST_ROWS = 256


def rows_at_once(n_features: int) -> int:
    """Return the number of rows that are copied together for a matrix.

    Parameters
    ----------
    n_features : int
        *Public.*

    Returns
    -------
    int
    """
    return max(_FEWEST_ROWS, _VALUES_AT_ONCE // n_features)


def row_products(design: Design, weights: Pointwise, theta: np.ndarray) -> np.ndarray:
    """Return Σ w(y_i, a_i·θ)·a_i·a_iᵀ: one read of X.

    Parameters
    ----------
    design : Design
        *Private.*
    weights : callable
        Of targets and scores, such as the second derivative of a loss; picklable.
    theta : ndarray of shape (n_features,)
        Coefficients; the last is the intercept's.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        *Private.*
    """
    products = _Products(weights, theta)
    return np.asarray(design.total(products, rows_at_once(design.n_features)))


def slope_products(design: Design, derivative: Pointwise, theta: np.ndarray) -> np.ndarray:
    """Return Σ ggᵀ over records, where g is the sum of derivative(y_i, a_i·θ)·a_i over its rows.

    Parameters
    ----------
    design : Design
        *Private.* A design of records with several rows has a method `slope_products`.
    derivative : callable
        Of targets and scores, such as a method of a loss; picklable.
    theta : ndarray of shape (n_features,)
        Coefficients; the last is the intercept's.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        *Private.*
    """
    of_records: Callable[[Pointwise, np.ndarray], np.ndarray] | None
    of_records = getattr(design, "slope_products", None)
    if of_records is not None:
        return of_records(derivative, theta)
    return row_products(design, _Squared(derivative), theta)


@dataclass(frozen=True, eq=False, repr=False)
class _Products:
    """Σ w·aaᵀ of a block."""

    weights: Pointwise
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        return block.gram(self.weights(block.targets, block.scores(self.theta)))


@dataclass(frozen=True, eq=False, repr=False)
class _Squared:
    """The square of a function of targets and scores."""

    function: Pointwise

    def __call__(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.function(y, z) ** 2
