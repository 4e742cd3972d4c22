"""Permute and flip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms._grid import bernoulli_exp
from skdp.mechanisms._selection import Selection

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """The first of the candidates, in random order, that is accepted.

    A candidate is accepted with probability e^(−ε·gap/2Δ), or e^(−ε·gap/Δ) if `monotonic`.

    **Guarantee**: pure ε-DP (McKenna and Sheldon 2020), with expected utility at least that of
    `ExponentialMechanism` (the same source). Proof: *Choices* under *Mechanisms* in the user guide,
    after Ding, Kifer and others 2021.

    Parameters
    ----------
    sensitivity : float
        *Public.* Δ, the most that the utility of one candidate differs between neighbors.
    epsilon : float in [2^−20, 2^20]
        *Public.* Privacy loss of one choice, in nats.
    monotonic : bool, default False
        *Public.* Whether all utilities differ in the same direction, for every pair of neighbors.
        Counts do under add/remove. Under replace-one they **do not**: one rises, another falls.

    Examples
    --------
    >>> mechanism = PermuteAndFlip(sensitivity=1.0, epsilon=200.0)
    >>> mechanism.release([0.0, 5.0, 2.0], np.random.default_rng())
    1
    """

    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        gaps = self._gaps(self._utilities(value))
        order = rng.permutation(gaps.size)
        return int(order[np.argmax(bernoulli_exp(gaps[order], self._scale, rng))])
