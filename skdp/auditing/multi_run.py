"""Many runs on two neighboring data sets, guessed apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr

from skdp.auditing._bounds import AttackBounds
from skdp.auditing._guesses import Guesses, check_runs
from skdp.privacy import PrivacyGuarantee
from skdp.support.random import noise_generator

__all__ = ["MultiRunAudit"]

_CELLS = ndtr(np.linspace(-8.0, 8.0, 801))


@dataclass(frozen=True, eq=False, repr=False)
class MultiRunAudit(Guesses):
    r"""An attack on many runs, each on one of two neighboring data sets by a fair coin.

    The most extreme two thirds of the scores are guessed: the upper half of them to come from the
    first data set, the lower half from the second. Where only some of several equal scores are
    guessed, the right guesses are those that a fair lot reaches with probability 0.95, and the
    level allows for the rest: the order of the runs has no influence. Nothing is tuned, no run is
    set aside.

    **Guarantee of the test.** Of a release that keeps the claim, v of r guesses are right with at
    most the probability computed. Given the scores the coins are independent, each right with a
    probability M of at most max(q, 1 − q), q its posterior. The claim bounds the integrated upper
    quantiles of M: :math:`A(u) = \min_\varepsilon (\delta(\varepsilon) + e^\varepsilon u) / (1 +
    e^\varepsilon)`. That v or more of r guesses are right has a probability that is multi-affine
    and increasing in their M; its maximum over all choices of r runs is convex and increasing in
    each M, so its mean is largest where M has the quantiles A'. There, given the share u beyond the
    (r + 1)-th largest, the r above are independent and right with probability A(u)/u, u of the
    distribution Beta(r + 1, m − r); the integral over u is bounded from above cell by cell.

    Parameters
    ----------
    scores : array-like of shape (n_runs,)
        *Private.* One number for each run, higher where it looks like the first data set.
    members : array-like of shape (n_runs,)
        *Private.* The coins: 1 where the run was on the first data set, else 0. The guarantee needs
        a fair coin for each run. It does not hold for a fixed number of runs on each data set.
    n_guesses : int, default None
        *Public.* How many runs are guessed, fixed before any score is seen; two thirds of them by
        default.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> rng = np.random.default_rng(0)
    >>> audit = MultiRunAudit.run(
    ...     lambda data, noise: sum(data) + noise.normal(scale=0.5), [1.0], [0.0], 200, rng
    ... )
    >>> claim = PrivacyGuarantee(GDPEvent(1.0), "add_remove_one", "noise of 1, as was claimed")
    >>> audit.p_value(claim) < 0.01
    True
    """

    @classmethod
    def run(
        cls,
        release: Callable[[Any, np.random.Generator], float],
        one: Any,
        other: Any,
        n_runs: int = 200,
        random_state: Any = None,
    ) -> MultiRunAudit:
        """Toss the coins, make the runs, and return the audit.

        Parameters
        ----------
        release : callable
            *Public.* Called with a data set and a generator of its own; returns a score.
        one, other : object
            *Private.* Two neighboring data sets; of the first the scores are higher.
        n_runs : int, default 200
            *Public.* Of both together, at least 2.
        random_state : None, int or numpy Generator, default None
            *Secret.* Source of the coins and of the runs' generators.

        Returns
        -------
        MultiRunAudit
        """
        rng = noise_generator(random_state)
        members = rng.integers(2, size=check_runs(n_runs))
        scores = [release(one if member else other, rng.spawn(1)[0]) for member in members]
        return cls(scores, members)

    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        bounds, m, r = AttackBounds(guarantee), len(self.scores), int(self.n_guesses or 0)
        if r == m:
            right = float(bounds.right(np.ones(1))[0])
            return min(float(stats.binom.sf(self.n_right - 1, r, right)) / self._trust, 1.0)
        shares = stats.beta.ppf(_CELLS[:-1], r + 1, m - r)
        right = bounds.right(shares) / shares
        tails = stats.binom.sf(self.n_right - 1, r, np.minimum(right, 1.0))
        found = float(np.diff(_CELLS) @ tails + 1.0 - _CELLS[-1] + _CELLS[0])
        return min(found / self._trust, 1.0)

    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors of the attack at each threshold, to be compared with the claim.

        No threshold lies between equal scores.

        Returns
        -------
        false_positives, false_negatives : ndarrays
            Shares of the runs on the second data set above the threshold, and of those on the
            first not above it.
        """
        order = np.argsort(self.scores)[::-1]
        scores, hits = self.scores[order], self.members[order]
        last = np.r_[scores[1:] != scores[:-1], True]  # of a tie
        positives, negatives = np.cumsum(hits)[last], np.cumsum(1 - hits)[last]
        false_positives = np.r_[0.0, negatives] / max(negatives[-1], 1)
        return false_positives, 1.0 - np.r_[0.0, positives] / max(positives[-1], 1)
