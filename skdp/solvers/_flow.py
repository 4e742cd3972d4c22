"""A run of noisy steps as a noisy gradient flow, in public or released numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """θ' = −P·∇Σℓ(θ) + noise from θ = 0 on, for a time t. All of it is public or released.

    Parameters
    ----------
    n_samples : int
        *Public or released.* About how many records there are.
    time : float
        *Public.* t.
    noise : float
        *Public.* σ: standard deviation of the noise in each coefficient after a time t where the
        data do not contract it, in units in which P is the identity.
    metric_noise : float
        *Public.* ρ of P, which has eigenvalues ρ/(l + ρ) where AᵀA has l; infinite for P = I.
    clip_share : float
        *Public.* Length of a record's gradient over the longest that the loss allows for.
    ridge : float
        *Public.* 1/C. The run follows the flow if ridge·t is small.
    """

    n_samples: int
    time: float
    noise: float
    metric_noise: float = math.inf
    clip_share: float = 1.0
    ridge: float = 0.0

    def gain(self, curvature: float) -> float:
        """Return the eigenvalue of P where AᵀA has the eigenvalue `curvature`."""
        return 1.0 / (1.0 + curvature / self.metric_noise)
