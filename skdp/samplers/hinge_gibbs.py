"""Data augmentation for the hinge loss, a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp._validation import check_count, make_plain
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss
from skdp.samplers._augmented import gaussian_given
from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target

__all__ = ["HingeGibbsSampler"]

_LEAST_GAP = 1e-12  # of a margin from 1, which it meets with probability 0


@dataclass(frozen=True)
class HingeGibbsSampler(Sampler):
    """Alternate a scale for each record with coefficients from a Gaussian law.

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

    certifies: ClassVar[Certificate] = "asymptotic"
    theorem: ClassVar[str] = "Gibbs sampler of the hinge loss: right in the limit only"
    counts_rows: ClassVar[bool] = False

    n_steps: int = 200

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_steps", self.n_steps)

    def check(self, setting: Setting) -> None:  # noqa: D102
        super().check(setting)
        if setting.loss != HingeLoss():
            raise IncompatibleSolverError(
                f"HingeGibbsSampler needs the hinge loss, got {setting.loss!r}. "
                "sampler='proximal' takes any. Nothing was spent."
            )

    def run(self, setting: Setting, tv: float) -> Run:  # noqa: D102
        return Run(self.n_steps, setting.C, 1.0, setting.C)

    def sample(  # noqa: D102
        self, target: Target, run: Run, rng: np.random.Generator, progress: Progress
    ) -> Draw:
        theta = np.zeros(target.shape)
        for step in range(1, run.n_steps + 1):
            theta = _move(target, theta, rng)
            progress(step, run.n_steps)
        return Draw(theta, {"n_queries": run.n_steps * target.design.n_samples})


def _move(target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    b = 0.5 * target.temperature
    gap = np.maximum(np.abs(1.0 - target.y * target.design.matvec(theta)), _LEAST_GAP)
    weights = _inverse_gaussian(b / gap, b * b, rng)
    return gaussian_given(target, weights, target.y * (weights + b), rng)


def _inverse_gaussian(mean: np.ndarray, shape: float, rng: np.random.Generator) -> np.ndarray:
    """Draw as Michael, Schucany and Haas (1976) do, without the difference of large numbers."""
    w = 0.5 * mean * rng.standard_normal(mean.shape) ** 2 / shape
    small = mean / (1.0 + w + np.sqrt(w * (w + 2.0)))
    return np.where(rng.random(mean.shape) * (mean + small) <= mean, small, mean * (mean / small))
