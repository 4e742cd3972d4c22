"""Gibbs samplers by data augmentation, for the logistic and the hinge loss: references."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from skdp.design import in_memory
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss, Loss
from skdp.research.samplers.reference import ReferenceSampler
from skdp.samplers.base import Progress, Sample, SamplerPlan, Setting, Target

__all__ = ["HingeGibbsSampler", "LogisticGibbsSampler"]

_TERMS = 200  # of the series of a Pólya-Gamma number
_CHUNK = 1 << 20  # gamma numbers at a time
_LEAST_GAP = 1e-12  # of a margin from 1, which it meets with probability 0


@dataclass(frozen=True)
class GibbsSampler(ReferenceSampler):
    """A chain from 0 that is made for one loss; a subclass gives the loss and a step.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    """

    theorem: ClassVar[str] = "Gibbs sampler: right in the limit only"
    loss: ClassVar[Loss]

    def check(self, setting: Setting) -> None:
        super().check(setting)
        if setting.loss != self.loss:
            raise IncompatibleSolverError(
                f"{type(self).__name__} needs {self.loss!r}, got {setting.loss!r}. "
                "Use sampler='proximal'."
            )

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        theta = np.zeros(target.shape)
        for step in range(1, plan.n_steps + 1):
            theta = self._move(target, theta, rng)
            progress(step, plan.n_steps)
        return Sample(theta, {"n_evaluations": plan.n_steps * target.design.n_samples})

    @abstractmethod
    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the coefficients after a step."""


def _gaussian_given(
    target: Target, weights: np.ndarray, pull: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw θ ~ N(P⁻¹Aᵀ·pull, P⁻¹), P = Aᵀ·diag(weights)·A + α·I."""
    design = in_memory(target.design)
    precision = design.gram(weights) + target.prior_precision * np.eye(design.n_features)
    factor = linalg.cholesky(precision, lower=True)
    mean = linalg.solve_triangular(factor, design.weighted_sum(pull), lower=True)
    noise = rng.standard_normal(target.shape)
    return linalg.solve_triangular(factor, mean + noise, lower=True, trans="T")


@dataclass(frozen=True)
class LogisticGibbsSampler(GibbsSampler):
    """Gibbs sampler of the logistic loss, with a Pólya-Gamma variable per record.

    With z_i = y_i·a_i and m = z_i·θ, (1 + e^(−m))^(−c) is the integral over ω of
    e^(cm/2 − ωm²/2) against the distribution PG(c, 0). Given θ, ω_i ~ PG(c, z_i·θ); given ω,
    θ ~ N(P⁻¹Zᵀ(c/2), P⁻¹) with P = Zᵀ·diag(ω)·Z + α·I. A number from PG(c, m) is a series of gamma
    numbers, of which 200 are drawn; the others, whose variance is below 1e-9 of the whole, are
    replaced by their mean.

    Parameters
    ----------
    n_steps : int
        Steps of one run, which starts at 0.

    Notes
    -----
    **Certificate: asymptotic.**

    References
    ----------
    Polson, Scott and Windle, "Bayesian inference for logistic models using Pólya-Gamma latent
    variables", Journal of the American Statistical Association 108, 2013.
    """

    theorem: ClassVar[str] = "Gibbs sampler of the logistic loss: right in the limit only"
    loss: ClassVar[Loss] = LogisticLoss()

    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        c, design = target.temperature, in_memory(target.design)
        weights = _polya_gamma(c, np.abs(design.scores(theta)), rng)
        return _gaussian_given(target, weights, 0.5 * c * design.targets, rng)


def _polya_gamma(shape: float, tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from PG(shape, tilt): Σ_k g_k/(2π²·((k − ½)² + (tilt/2π)²)), g_k ~ Gamma(shape, 1)."""
    squares = (np.arange(1.0, _TERMS + 1.0) - 0.5) ** 2
    drawn, head = np.empty(tilt.shape), np.empty(tilt.shape)
    step = _CHUNK // _TERMS
    for start in range(0, tilt.size, step):
        rows = slice(start, start + step)
        terms = squares + (tilt[rows, None] / (2.0 * math.pi)) ** 2
        terms = 0.5 / (math.pi**2 * terms)
        drawn[rows] = (rng.standard_gamma(shape, terms.shape) * terms).sum(axis=1)
        head[rows] = shape * terms.sum(axis=1)
    small = tilt < 1e-4
    half = np.where(small, 1.0, 0.5 * tilt)
    mean = shape * np.where(small, 0.25, 0.25 * np.tanh(half) / half)
    return drawn + np.maximum(mean - head, 0.0)


@dataclass(frozen=True)
class HingeGibbsSampler(GibbsSampler):
    """Gibbs sampler of the hinge loss, with a scale variable per record.

    With z_i = y_i·a_i and b = c/2, exp(−c·max(0, u)) is the integral over λ > 0 of a multiple of
    λ^(−1/2)·exp(−(u + bλ)²/(2λ)), u = 1 − z_i·θ. Given θ, 1/λ_i is inverse Gaussian with mean
    b/|u_i| and shape b²; given λ, θ ~ N(P⁻¹Zᵀ(1/λ + b), P⁻¹) with P = Zᵀ·diag(1/λ)·Z + α·I.

    Parameters
    ----------
    n_steps : int
        Steps of one run, which starts at 0.

    Notes
    -----
    **Certificate: asymptotic.**

    References
    ----------
    Polson and Scott, "Data augmentation for support vector machines", Bayesian Analysis 6, 2011.
    """

    theorem: ClassVar[str] = "Gibbs sampler of the hinge loss: right in the limit only"
    loss: ClassVar[Loss] = HingeLoss()

    def _move(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        b, design = 0.5 * target.temperature, in_memory(target.design)
        y = design.targets
        gap = np.maximum(np.abs(1.0 - y * design.scores(theta)), _LEAST_GAP)
        weights = _inverse_gaussian(b / gap, b * b, rng)
        return _gaussian_given(target, weights, y * (weights + b), rng)


def _inverse_gaussian(mean: np.ndarray, shape: float, rng: np.random.Generator) -> np.ndarray:
    """Draw as Michael, Schucany and Haas (1976) do, without the difference of large numbers."""
    w = 0.5 * mean * rng.standard_normal(mean.shape) ** 2 / shape
    small = mean / (1.0 + w + np.sqrt(w * (w + 2.0)))
    return np.where(rng.random(mean.shape) * (mean + small) <= mean, small, mean * (mean / small))
