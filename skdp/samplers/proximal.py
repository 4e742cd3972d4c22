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

# of the minorant below the potential, for the worst data; no guarantee rests on it
_WIDEST_GAP = 30.0


@dataclass(frozen=True)
class ProximalSampler(AlternatingSampler):
    """Proximal sampler: alternate θ' = θ + √η·ξ with a sample from exp(−U(θ) − |θ − θ'|²/(2η)).

    The inner sample is exact, by rejection. Replacing Σ ℓ by its tangent at any point p gives a
    Gaussian distribution. A proposal from it is accepted with probability exp(−c·Σ D_i), where the
    D_i are the Bregman divergences from p. Proposals are made until one is accepted, so the result
    does not depend on p. The first half step, from the public start 0, is left out: it would add
    noise without adding privacy.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data and a
        smooth loss. Halved for several scores per record, where shorter steps cost less in total.
    min_steps : int
        *Public.* Minimum number of steps.

    Notes
    -----
    **Certificate: stable.** After any T ≥ 1 steps of size η, f² = 1 − 2q^T/(1 + q^(T−1)) with
    q = 1/(1 + αη) (Theorem A', *Finitely many steps* in the documentation). The factor f < 1
    grows with T toward the value 1 of an exact sample of the target.
    """

    takes_domain: ClassVar[bool] = True

    def check(self, setting: Setting) -> None:
        super().check(setting)
        c, n = setting.C * setting.prior_precision, setting.n_samples or 0
        if c * n * Minorant.of(setting.loss).gap > _WIDEST_GAP:
            raise IncompatibleSolverError(
                f"{setting.loss!r} is not smooth, and for {n} rows ProximalSampler might never "
                "accept a proposal. Smooth the loss, or use sampler='proximal_bundle'."
            )

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> TangentStep:
        return TangentStep(target, variance, rng)
