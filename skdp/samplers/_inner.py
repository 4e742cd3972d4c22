"""The exact draw that every proximal method is made of."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from skdp.samplers._acceptance import Acceptance
from skdp.samplers._tangent import TangentPoint
from skdp.samplers.base import Target

__all__ = ["first_accepted"]

_TRIES_PER_POINT = 50


def first_accepted(
    target: Target,
    tangent: TangentPoint,
    center: np.ndarray,
    variance: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Draw from exp(−c·Σ ℓ − |θ − center|²/(2·variance)); return also the number of tries."""
    for round_ in count():
        mean = tangent.follow(center)  # after many rejections, look for a better p
        test = Acceptance(target, tangent.point)
        for tries in range(1, _TRIES_PER_POINT + 1):
            theta = mean + math.sqrt(variance) * rng.standard_normal(mean.shape)
            if test.accepts(theta, rng):
                return theta, round_ * _TRIES_PER_POINT + tries
    raise AssertionError("unreachable")
