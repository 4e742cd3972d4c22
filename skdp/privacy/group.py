"""Group privacy: data sets that are several changes apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp._validation import check_count, check_delta
from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve

__all__ = ["GroupCurve", "group_privacy"]


def group_privacy(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return the (ε', δ') of a group of `size` changes under a black-box (ε, δ): kε and a sum.

    δ' = δ·(e^(kε) − 1)/(e^ε − 1), capped at 1. Source: lecture notes of 2024, Lemma 1. The curve
    version, `PrivacyCurve.group`, is never looser; iterate the curve and convert last.

    Examples
    --------
    >>> epsilon, delta = group_privacy(1.0, 1e-5, 2)
    >>> epsilon, round(delta, 11)
    (2.0, 3.718282e-05)
    """
    size, delta = check_count("size", size), check_delta(delta)
    if not 0.0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must lie in [0, inf), got {epsilon!r}.")
    if size * epsilon > 700.0:
        return size * epsilon, 1.0 if delta else 0.0
    factor = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon else float(size)
    return size * epsilon, min(1.0, delta * factor)


@dataclass(frozen=True)
class GroupCurve(PrivacyCurve):
    """The curve of a group: G(a) = sup{P(S): Q(S) ≤ a} of one change, iterated `size` times.

    G is replaced by a piecewise-linear function above it (exact for finite pairs), and the
    composition of piecewise-linear functions is exact. Valid, and tight for a black-box curve:
    Dong, Roth and Su 2022, Theorem 2.14.
    """

    curve: PrivacyCurve
    size: int

    def __post_init__(self) -> None:
        check_count("size", self.size)

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        return self.curve._delta(epsilon) if self.size == 1 else self._pair._delta(epsilon)

    def reversed(self) -> PrivacyCurve:
        """Return the group curve of the reversed single change."""
        backwards = self.curve.reversed()
        return self if backwards == self.curve else GroupCurve(backwards, self.size)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    @cached_property
    def _pair(self) -> DiscretePairCurve:
        levels, powers = _power(self.curve.dominating_pair())
        a, g = levels, powers
        for _ in range(self.size - 1):
            # G∘g bends where g bends, and where g meets a knot of G.
            knots = np.unique(np.concatenate([a, np.interp(levels[levels > g[0]], g, a)]))
            a, g = knots, np.interp(np.interp(knots, a, g), levels, powers)
        p, q = np.diff(g, prepend=0.0), np.diff(a, prepend=0.0)
        return DiscretePairCurve(tuple(np.maximum(p, 0.0)), tuple(q))


def _power(pair: DiscretePairCurve) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots (a, G(a)) of the most powerful tests of a pair, from a = 0 to a = 1."""
    p, q, order = pair.ordered()
    at_once = p[order][q[order] == 0.0].sum()
    p, q = p[order][q[order] > 0.0], q[order][q[order] > 0.0]
    a, g = np.cumsum(q), at_once + np.cumsum(p)
    return np.append(0.0, a / a[-1]), np.append(at_once, np.minimum(g / g[-1], 1.0))
