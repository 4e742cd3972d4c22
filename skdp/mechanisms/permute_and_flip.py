"""Permute and flip: a private choice that is never worse than the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.mechanisms._grid import bernoulli_exp
from skdp.mechanisms._selection import Selection

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """The first candidate in random order accepted, with probability e^(−ε·gap/2Δ).

    **Guarantee**: pure ε-DP (McKenna and Sheldon 2020), with expected utility at least that of
    `ExponentialMechanism` (the same source). If `monotonic` the probabilities are e^(−ε·gap/Δ).
    The choice is distributed as the largest utility plus exponential noise (Ding, Kifer and others
    2021): the winner's noise, moved by as much as gaps change, wins for the neighbor too.

    Parameters
    ----------
    sensitivity : float
        *Public.* Δ, the farthest that any one candidate's utility differs between neighbors.
    epsilon : float in [2^−20, 2^20]
        *Public.* What one choice costs.
    monotonic : bool, default False
        *Public.* Whether all utilities differ in the same direction, for every pair of neighbors.
        Counts do under add/remove. Under replace-one they **do not**: one rises, another falls.

    Examples
    --------
    >>> mechanism = PermuteAndFlip(sensitivity=1.0, epsilon=200.0)
    >>> mechanism.release([0.0, 5.0, 2.0], np.random.default_rng())
    1
    """

    def _choose(self, gaps: np.ndarray, rng: np.random.Generator) -> int:
        order = rng.permutation(gaps.size)
        return int(order[np.argmax(bernoulli_exp(gaps[order], self._scale, rng))])
