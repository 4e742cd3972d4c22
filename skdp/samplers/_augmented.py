"""The Gaussian step that samplers by data augmentation share."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from skdp.samplers.base import Target

__all__ = ["gaussian_given"]


def gaussian_given(
    target: Target, weights: np.ndarray, pull: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw θ ~ N(P⁻¹Aᵀ·pull, P⁻¹), P = Aᵀ·diag(weights)·A + α·I."""
    design = target.design
    precision = design.gram(weights) + target.prior_precision * np.eye(design.n_features)
    factor = linalg.cholesky(precision, lower=True)
    mean = linalg.solve_triangular(factor, design.rmatvec(pull), lower=True)
    noise = rng.standard_normal(target.shape)
    return linalg.solve_triangular(factor, mean + noise, lower=True, trans="T")
