"""Bounds on the success of any attack under a guarantee, on the safe side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.privacy import ApproxDPEvent, PrivacyGuarantee, PureDPEvent

_DELTA = 1e-5
_EPSILON = np.concatenate([np.linspace(0.0, 3.0, 121)[:-1], np.geomspace(3.0, 60.0, 120)])
_COARSE = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])  # of the requested ε, if δ(ε) is slow


@dataclass(frozen=True)
class AttackBounds:
    """Bounds from δ(ε) on a grid of ε ≥ 0, in both orders. Any grid gives a valid bound."""

    guarantee: PrivacyGuarantee

    @cached_property
    def _epsilon(self) -> np.ndarray:
        event, asked = self.guarantee.event, self.guarantee.asked
        if isinstance(event, ApproxDPEvent | PureDPEvent):  # its own line is the lowest
            return np.array([min(event.epsilon, _EPSILON[-1])])
        if self.guarantee.bound is not None:
            return _COARSE * (self.guarantee.epsilon(_DELTA) if asked is None else asked[0])
        return _EPSILON if asked is None else np.union1d(_EPSILON, min(asked[0], _EPSILON[-1]))

    @cached_property
    def _delta(self) -> np.ndarray:
        return np.minimum(np.asarray(self.guarantee.delta(self._epsilon), dtype=float), 1.0)

    def right(self, share: np.ndarray) -> np.ndarray:
        """Bound the probability of a right guess, if a `share` of all runs is guessed.

        For two worlds with equal prior, right − e^ε·wrong ≤ δ(ε) and right + wrong = share.
        """
        s = 1.0 / (1.0 + np.exp(-self._epsilon))
        lines = s * np.asarray(share)[..., None] + (1.0 - s) * self._delta
        return np.minimum(lines.min(axis=-1), share)

    def least_wrong(self, right: float) -> float:
        """Bound from below the probability in one world of an event with `right` in the other.

        It is f(1 − right), with f the convex symmetric trade-off function of the lines.
        """
        ratio = np.exp(-self._epsilon)
        lines = np.maximum(ratio * (right - self._delta), 1.0 - self._delta - (1.0 - right) / ratio)
        return max(float(lines.max()), 0.0)
