"""The data as a solver sees them: rows clipped to a public norm, without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

__all__ = ["ClippedDesign", "clip_factors"]

_ROUNDING = 1e-12


def clip_factors(X: Any, norm: float) -> np.ndarray:
    """Return s of shape (n_samples,) in (0, 1] with s_i·|x_i| ≤ `norm`, rounding included.

    Rows that are short enough keep factor 1 (to within 1e-12). X is dense or CSR; one read, no
    copy.
    """
    norms = row_norms(X)
    np.maximum(norms, norm, out=norms)
    return np.divide(norm * (1.0 - _ROUNDING), norms, out=norms)


@dataclass(frozen=True, eq=False)
class ClippedDesign:
    """The linear operator θ ↦ Aθ, where row i of A is (s_i·x_i, b₀) and s_i·|x_i| ≤ `data_norm`.

    X itself is never copied nor written: clipping is one factor a row, and the intercept column,
    of the public constant size b₀, is virtual. All rows of A lie in a ball whose radius is the
    hypotenuse of `data_norm` and b₀.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, d)
        *Private.* Finite values.
    data_norm : float
        *Public.* Every row is scaled down to this l2 norm if it is longer.
    intercept_scaling : float
        *Public.* Size b₀ of the intercept column; 0 for no intercept.
    """

    X: Any
    data_norm: float
    intercept_scaling: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scale", clip_factors(self.X, self.data_norm))

    @property
    def n_samples(self) -> int:
        """Number of rows; public under ``replace_one`` only."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns of A, the intercept's included."""
        return self.X.shape[1] + (self.intercept_scaling > 0.0)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """Return Aθ for θ of shape (n_features,) or (n_features, k): one read of X."""
        z = self.X @ theta[: self.X.shape[1]]
        z *= self._factors(z)
        if self.intercept_scaling > 0.0:
            z += self.intercept_scaling * theta[-1]
        return z

    def rmatvec(self, residual: np.ndarray) -> np.ndarray:
        """Return Aᵀr for r of shape (n_samples,) or (n_samples, k): one read of X."""
        features = self.X.T @ (residual * self._factors(residual))
        if self.intercept_scaling == 0.0:
            return features
        intercept = self.intercept_scaling * residual.sum(axis=0, keepdims=True)
        return np.concatenate([features, intercept])

    def gram(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the sum over the named rows of w_i·a_i·a_iᵀ, of shape (d, d)."""
        block = self.X[rows]
        block = block.toarray() if hasattr(block, "toarray") else block
        block = block * self._scale[rows, None]
        if self.intercept_scaling > 0.0:
            block = np.column_stack([block, np.full(rows.size, self.intercept_scaling)])
        return (block.T * weights) @ block

    def _factors(self, like: np.ndarray) -> np.ndarray:
        return self._scale if like.ndim == 1 else self._scale[:, None]
