"""The exponential mechanism over a list of candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.mechanisms._grid import bernoulli_exp, rejection
from skdp.mechanisms._selection import Selection
from skdp.privacy import BoundedRangeEvent

__all__ = ["ExponentialMechanism"]


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Selection):
    """A candidate r with probability ∝ e^(ε·u(r)/2Δ), or e^(ε·u(r)/Δ) if `monotonic`.

    **Guarantee**: pure ε-DP (McSherry and Talwar 2007, Theorem 6), and of ε-bounded range, which
    costs about half of that in composition (Dong, Durfee and Rogers 2020): P(r) = 1/Σ e^(−λ·gap(r,
    s)), and neighbors change every gap by at most ε/λ. It is drawn exactly, by rejection.

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
    >>> mechanism = ExponentialMechanism(sensitivity=1.0, epsilon=200.0)
    >>> mechanism.release([0.0, 5.0, 2.0], np.random.default_rng())
    1
    """

    @property
    def event(self) -> BoundedRangeEvent:
        return BoundedRangeEvent(self._loss)

    def _choose(self, gaps: np.ndarray, rng: np.random.Generator) -> int:
        def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
            candidates = rng.integers(gaps.size, size=n)
            return candidates, bernoulli_exp(gaps[candidates], self._scale, rng)

        return int(rejection(1, propose, 1.0 / gaps.size)[0])
