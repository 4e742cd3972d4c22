"""One run on data with many canaries, each of which is guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.auditing._bounds import AttackBounds
from skdp.auditing._guesses import Guesses
from skdp.privacy import PrivacyGuarantee

__all__ = ["OneRunAudit"]

_LEAST, _FINE = 1e-12, 1.001  # of p-values: the least one, and how much one may be too large


@dataclass(frozen=True, eq=False, repr=False)
class OneRunAudit(Guesses):
    r"""An attack on one run, with many records that are there, or changed, each by a fair coin.

    The most extreme third of the scores is guessed, the upper half of it to be members. Where only
    some of several equal scores are guessed, the right guesses are those that a fair lot reaches
    with probability 0.95, and the level allows for the rest: the order of the canaries has no
    influence.

    **Guarantee of the test.** Let v or more of r guesses be right with probability a, and let
    :math:`R_i` and :math:`H_i` be the mean probabilities, over the m canaries, to be guessed
    rightly or wrongly while i or more are right. A canary's coin turned over makes right guesses
    wrong, so :math:`H_i \ge \bar f(R_{i+1})` with :math:`\bar f(x) = f(1 - x)`, and
    :math:`R_i - R_{i+1} = (H_i - H_{i+1})\, i / (r - i)`. Every feasible sequence lies above the
    sequence with the least :math:`H_i` at each step, so a is refuted if this sequence has
    :math:`R_0 + H_0 > r/m` (Mahloujifar, Melis and Chaudhuri 2025).

    Parameters
    ----------
    scores : array-like of shape (n_canaries,)
        *Private.* One number for each canary, higher where it seems to be a member.
    members : array-like of shape (n_canaries,)
        *Private.* The coins: 1 for a member, 0 for a record that is not there or was changed.
    n_guesses : int, default None
        *Public.* How many canaries are guessed, fixed before any score is seen; a third of them by
        default.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.privacy import GDPEvent
    >>> rng = np.random.default_rng(0)
    >>> members = rng.integers(2, size=1000)
    >>> audit = OneRunAudit(members + rng.normal(scale=0.3, size=1000), members)
    >>> claim = PrivacyGuarantee(GDPEvent(1.0), "add_remove_one", "noise of 1, as was claimed")
    >>> audit.p_value(claim) < 0.01
    True
    """

    _share = 1.0 / 3.0

    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        bounds, low, high = AttackBounds(guarantee), _LEAST, 1.0
        while high > _FINE * low:
            level = math.sqrt(low * high)
            low, high = (low, level) if self._refutes(bounds, level) else (level, high)
        return min(high / self._trust, 1.0)

    def _is_refuted(self, guarantee: PrivacyGuarantee, level: float) -> bool:
        return self._refutes(AttackBounds(guarantee), level * self._trust)

    def _refutes(self, bounds: AttackBounds, level: float) -> bool:
        """Return whether so many right guesses cannot have probability `level` under the claim."""
        m, r, v = len(self.scores), int(self.n_guesses or 0), self.n_right
        right, wrong = level * v / m, level * (r - v) / m
        for i in range(v - 1, -1, -1):
            before, wrong = wrong, max(wrong, bounds.least_wrong(right))
            right += i / (r - i) * (wrong - before)
            if right + wrong > r / m:
                return True
        return False
