"""The proximal (alternating) sampler with an exact inner step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Minorant
from skdp.samplers.base import Setting, Target
from skdp.samplers.kernels.alternating import AlternatingSampler
from skdp.samplers.kernels.tangent_rejection import TangentStep

__all__ = ["ProximalSampler"]

_WIDEST_GAP = (
    30.0  # of the minorant below the potential, for the worst data; no guarantee rests on it
)


@dataclass(frozen=True)
class ProximalSampler(AlternatingSampler):
    """Alternate θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    It is drawn by rejection: under the tangent of Σ ℓ at any point p the distribution is Gaussian,
    and a proposal is accepted with probability exp(−c·Σ D_i), D_i the Bregman divergences from p.
    That is repeated until one is accepted, so that the distribution is exact whatever p and the
    data are. The first half step, from the public start 0, is left out: it would add noise and no
    privacy.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data and a
        smooth loss. It is halved where a record has several scores: shorter steps are then
        cheaper in all.
    min_steps : int
        *Public.* Fewest steps.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η, with q = 1/(1 + αη),
    f² = 1 − 2q^T/(1 + q^(T−1)): Theorem A' (*Finitely many steps* in the documentation). f < 1
    grows with T toward the value 1 of an exact sample of the target.
    """

    takes_domain: ClassVar[bool] = True

    def check(self, setting: Setting) -> None:
        super().check(setting)
        c, n = setting.C * setting.prior_precision, setting.n_samples or 0
        if c * n * Minorant.of(setting.loss).gap > _WIDEST_GAP:
            raise IncompatibleSolverError(
                f"ProximalSampler's affine minorants lie too far below {setting.loss!r} where it "
                f"is not smooth: for {n} rows it might never accept a proposal. "
                "sampler='proximal_bundle' takes non-smooth losses, or smooth the loss."
            )

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> TangentStep:
        return TangentStep(target, variance, rng)
