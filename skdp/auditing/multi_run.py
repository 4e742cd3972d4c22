"""Audits by many runs on two neighboring data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from scipy import stats
from scipy.special import ndtr

from skdp.auditing._bounds import AttackBounds
from skdp.auditing._guesses import Guesses, check_runs
from skdp.privacy import PrivacyGuarantee
from skdp.support.random import simulation_generator
from skdp.support.types import RandomState

__all__ = ["MultiRunAudit"]

_CELLS = ndtr(np.linspace(-8.0, 8.0, 801))

DataT = TypeVar("DataT")


@dataclass(frozen=True, eq=False, repr=False)
class MultiRunAudit(Guesses):
    """An attack on many runs, each on one of two neighboring data sets, chosen at random.

    The audit guesses that the highest third of the scores comes from the first data set and the
    lowest third from the second, and counts the right guesses. Nothing is tuned on the scores, and
    the order of the runs has no influence. See *Privacy auditing* in the user guide.

    **Guarantee of the test.** If the release keeps the claim, the p-value is at most α with
    probability at most α, for any distribution of the scores. See *Audits* in the documentation for
    the proof.

    Parameters
    ----------
    scores : array-like of shape (n_runs,)
        *Private.* One number for each run, higher for the first data set.
    members : array-like of shape (n_runs,)
        *Private.* 1 for a run on the first data set, else 0. The guarantee requires that each run's
        data set is chosen independently with probability 1/2. It does not hold for a fixed number
        of runs on each data set.
    n_guesses : int, default None
        *Public.* Number of guessed runs, fixed before any score is seen. None: two thirds of them.

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
        release: Callable[[DataT, np.random.Generator], float],
        one: DataT,
        other: DataT,
        n_runs: int = 200,
        random_state: RandomState = None,
    ) -> Self:
        """Choose the data sets at random, make the runs, and return the audit.

        Parameters
        ----------
        release : callable
            *Public.* Maps a data set and a generator to a score.
        one, other : object
            *Private.* Two neighboring data sets; the scores of the first are higher.
        n_runs : int, default 200
            *Public.* Number of runs on both data sets together, at least 2.
        random_state : None, int or numpy Generator, default None
            *Secret.* Source of the random choices and of the runs' generators.

        Returns
        -------
        MultiRunAudit
        """
        rng = simulation_generator(random_state)
        members = rng.integers(2, size=check_runs(n_runs))
        scores = [release(one if member else other, rng.spawn(1)[0]) for member in members]
        return cls(scores, members)

    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        bounds, m, r = AttackBounds(guarantee), len(self.scores), int(self.n_guesses or 0)
        if r == m:
            right = float(bounds.right(np.ones(1))[0])
            return min(float(stats.binom.sf(self.n_right - 1, r, right)) / self._trust, 1.0)
        # An integral over u ~ Beta(r + 1, m − r) of binomial tails with probability A(u)/u. A(u)/u
        # decreases, so its value at the left end of each cell bounds the integral from above.
        shares = stats.beta.ppf(_CELLS[:-1], r + 1, m - r)
        right = bounds.right(shares) / shares
        tails = stats.binom.sf(self.n_right - 1, r, np.minimum(right, 1.0))
        found = float(np.diff(_CELLS) @ tails + 1.0 - _CELLS[-1] + _CELLS[0])
        return min(found / self._trust, 1.0)

    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors of the attack at each threshold; equal scores share one.

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
