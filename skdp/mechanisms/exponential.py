"""The exponential mechanism over a list of candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms._exact_choice import choose
from skdp.mechanisms._selection import Selection
from skdp.privacy import BoundedRangeEvent

__all__ = ["ExponentialMechanism"]


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Selection):
    """A candidate r with probability ∝ e^(ε·u(r)/2Δ), or e^(ε·u(r)/Δ) if `monotonic`.

    **Guarantee**: pure ε-DP (McSherry and Talwar 2007, Theorem 6). It also has ε-bounded range,
    which costs about half of that in composition (Dong, Durfee and Rogers 2020). Reason: P(r) =
    1/Σ e^(−λ·gap(r, s)), and neighbors change every gap by at most ε/λ. It is drawn exactly, by
    rejection.

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

    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        # Adjacent candidates of equal utility are one choice: few rows give few runs of them.
        utilities = self._utilities(value)
        starts = np.flatnonzero(np.append(True, utilities[1:] != utilities[:-1]))
        lengths = np.diff(starts, append=utilities.size)
        run = choose(self._gaps(utilities[starts]), self._scale, rng, lengths)
        return int(starts[run] + rng.integers(lengths[run]))
