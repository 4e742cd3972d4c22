"""Audits by one run on data with many canaries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.auditing._bounds import AttackBounds
from skdp.auditing._guesses import Guesses
from skdp.privacy import PrivacyGuarantee

__all__ = ["OneRunAudit"]

_LEAST, _FINE = 1e-12, 1.001  # smallest p-value, and the factor by which it may be too large


@dataclass(frozen=True, eq=False, repr=False)
class OneRunAudit(Guesses):
    """An attack on one run with many canaries, each a member or not with probability 1/2.

    The audit guesses that the highest sixth of the scores are members and the lowest sixth are not,
    and counts the right guesses. The order of the canaries has no influence. See *Privacy
    auditing* in the user guide.

    **Guarantee of the test.** If the release keeps the claim, the p-value is at most α with
    probability at most α (Mahloujifar, Melis and Chaudhuri 2025). See *Audits* in the documentation
    for the proof.

    Parameters
    ----------
    scores : array-like of shape (n_canaries,)
        *Private.* One number for each canary, higher for likely members.
    members : array-like of shape (n_canaries,)
        *Private.* 1 for a member, 0 for a record that is absent or changed; each chosen
        independently with probability 1/2.
    n_guesses : int, default None
        *Public.* Number of guessed canaries, fixed before any score is seen. None: a third of them.

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
        """Return whether the claim excludes probability `level` for so many right guesses.

        With R_i and H_i the mean probabilities over the m canaries to be guessed rightly or wrongly
        while i or more guesses are right, H_i ≥ f(1 − R_{i+1}), R_i − R_{i+1} =
        (H_i − H_{i+1})·i/(r − i) and R_0 + H_0 = r/m. The least H_i at each step gives the least
        R_0 + H_0, which must not be larger. See *Audits* in the documentation.
        """
        m, r, v = len(self.scores), int(self.n_guesses or 0), self.n_right
        right, wrong = level * v / m, level * (r - v) / m
        for i in range(v - 1, -1, -1):
            before, wrong = wrong, max(wrong, bounds.least_wrong(right))
            right += i / (r - i) * (wrong - before)
            if right + wrong > r / m:
                return True
        return False
