"""Audits in many runs and in one, from guesses of what the data contain."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from scipy import stats
from scipy.special import ndtr
from scipy.stats import hypergeom

from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee, PureDPEvent
from skdp.support.random import simulation_generator
from skdp.support.types import RandomState, VectorLike
from skdp.support.validation import check_count, check_delta, check_real

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


_UNLUCKY = 0.05  # share of lots that may have fewer right guesses than the audit counts
_LEAST, _FINE = 1e-3, 1e-3  # the first hypothesis of a search, and how close the search ends
_LARGEST_MU, _LARGEST_EPSILON = 30.0, 60.0  # the largest possible bounds


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guesses for the most extreme scores, half of them at each end."""

    scores: VectorLike
    members: VectorLike
    n_guesses: int | None = None

    _share = 2.0 / 3.0

    def __post_init__(self) -> None:
        scores, members = np.asarray(self.scores, dtype=float), np.asarray(self.members)
        if scores.ndim != 1 or scores.size < 2 or members.shape != scores.shape:
            raise ValueError(
                "scores and members must be lists of equal length, at least 2; got shapes "
                f"{scores.shape} and {members.shape}."
            )
        if np.isnan(scores).any() or not np.isin(members, (0, 1)).all():
            raise ValueError("scores must not have NaN, and members must be 0 or 1.")
        chosen = self.n_guesses
        n = max(round(self._share * scores.size), 1) if chosen is None else chosen
        if check_count("n_guesses", n) > scores.size:
            raise ValueError(f"n_guesses must be at most {scores.size}, got {n}.")
        for name, value in (("scores", scores), ("members", members), ("n_guesses", n)):
            object.__setattr__(self, name, value)

    @property
    def n_right(self) -> int:
        """Number of right guesses.

        If only some of several equal scores are guessed, it is a number that a fair lot reaches
        with probability at least 0.95.
        """
        n = int(self.n_guesses or 0)
        return self._n_right(self.scores, self.members, n - n // 2) + self._n_right(
            -self.scores, 1 - self.members, n // 2
        )

    def _n_right(self, scores: np.ndarray, members: np.ndarray, n: int) -> int:
        """Return the number of members among the n highest scores; see `n_right` for ties."""
        hits, sizes = _ties(scores, members)
        whole = int(np.searchsorted(np.cumsum(sizes), n))  # ties that are guessed as a whole
        drawn = n - sizes[:whole].sum()
        by_lot = hypergeom.ppf(0.5 * _UNLUCKY, sizes[whole], hits[whole], drawn)
        return int(hits[:whole].sum() + by_lot)

    @cached_property
    def _trust(self) -> float:
        """The share of a level that remains for the scores: 1 unless a tie is cut.

        `n_right` refutes a true claim with probability at most α / (1 − `_UNLUCKY`), by Markov's
        inequality. See *Audits* in the documentation, *Equal scores*.
        """
        n = int(self.n_guesses or 0)
        ends = ((self.scores, n - n // 2), (-self.scores, n // 2))
        sizes = [(np.cumsum(_ties(scores, self.members)[1]), k) for scores, k in ends]
        return 1.0 if all(k in (0, *found) for found, k in sizes) else 1.0 - _UNLUCKY

    @abstractmethod
    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        """Bound the probability of as many right guesses under a guarantee.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            *Public.* The claim.

        Returns
        -------
        float
            Below α with probability at most α if the claim is true.
        """

    def lower_mu(self, confidence: float = 0.95) -> float:
        """Return the largest μ below which every μ'-Gaussian DP claim is refuted.

        Parameters
        ----------
        confidence : float in (0, 1), default 0.95
            *Public.* Probability that the true μ is at least the result.

        Returns
        -------
        float
            0 if nothing is refuted.
        """
        return self._largest_refuted(GDPEvent, _LARGEST_MU, confidence)

    def lower_epsilon(self, delta: float = 1e-5, confidence: float = 0.95) -> float:
        """Return the largest ε below which every (ε', `delta`)-DP claim is refuted.

        Parameters
        ----------
        delta : float in [0, 1), default 1e-5
            *Public.* The δ of the hypotheses.
        confidence : float in (0, 1), default 0.95
            *Public.* Probability that the true ε is at least the result.

        Returns
        -------
        float
            0 if nothing is refuted.
        """
        delta = check_delta(delta)
        return self._largest_refuted(
            lambda epsilon: ApproxDPEvent(epsilon, delta), _LARGEST_EPSILON, confidence
        )

    def _largest_refuted(
        self, event: Callable[[float], Event], largest: float, confidence: float
    ) -> float:
        level = 1.0 - check_real("confidence", confidence, low=0.0, high=1.0)
        return _largest(lambda one: self._is_refuted(_hypothesis(event(one)), level), largest)

    def _is_refuted(self, guarantee: PrivacyGuarantee, level: float) -> bool:
        return self.p_value(guarantee) <= level


def _largest(is_refuted: Callable[[float], bool], largest: float) -> float:
    """Return the number below which all are refuted, up to `largest`; 0 if none is."""
    low, high = _LEAST, largest
    if not is_refuted(low):
        return 0.0
    while high > low + _FINE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def _ties(scores: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of members and of all runs at each score, highest score first."""
    _, rank, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    return np.bincount(rank, members).astype(int), sizes


def check_runs(n_runs: int) -> int:
    """Return the number of runs if it is large enough."""
    if check_count("n_runs", n_runs) < 2:
        raise ValueError(f"n_runs must be at least 2, got {n_runs!r}.")
    return int(n_runs)


def _hypothesis(event: Event) -> PrivacyGuarantee:
    return PrivacyGuarantee(event, Neighboring.REPLACE_ONE, "a hypothesis")


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
    >>> round(audit.p_value(claim), 5), round(audit.lower_mu(), 1)
    (0.0, 1.8)
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


_LEAST_P_VALUE, _FINE_FACTOR = (
    1e-12,
    1.001,
)  # smallest p-value, and the factor by which it may be too large


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
    >>> round(audit.p_value(claim), 5), round(audit.lower_mu(), 1)
    (5e-05, 1.8)
    """

    _share = 1.0 / 3.0

    def gaussian_mu(self, confidence: float = 0.95) -> float:
        """Return a lower bound on μ from the sums of members' and other scores, if Gaussian.

        It **assumes** that the scores of members and of other canaries differ by a constant, plus
        independent Gaussian noise of one variance. `lower_mu` needs no assumption and is smaller:
        no audit of one run is as sharp for every release. For independent scores with noise of any
        kind use `MultiRunAudit`. See *Audits* in the documentation for the proof.

        Parameters
        ----------
        confidence : float in (0, 1), default 0.95
            *Public.* Probability that the true μ is at least the result.

        Returns
        -------
        float
            0 if nothing is refuted.
        """
        level = 1.0 - check_real("confidence", confidence, low=0.0, high=1.0)
        members, n = self.members == 1, len(self.scores)
        parts = [self.scores[members == member] for member in (True, False)]
        sizes = np.array([part.size for part in parts])
        if n < 3 or not sizes.all() or not parts[0].mean() > parts[1].mean():
            return 0.0
        unit = math.sqrt((1.0 / sizes).sum())
        spread = math.sqrt(sum(((part - part.mean()) ** 2).sum() for part in parts) / (n - 2))
        distance = (parts[0].mean() - parts[1].mean()) / unit
        chi = np.sqrt(stats.chi2.ppf(_CELLS[:-1], n - 2) / (n - 2))  # left ends: tails only rise
        least = np.full(chi.shape, np.inf) if spread == 0.0 else distance / spread * chi

        def is_refuted(mu: float) -> bool:
            tails = np.diff(_CELLS) @ ndtr(mu / unit - least)
            return bool(tails + 1.0 - _CELLS[-1] + _CELLS[0] <= level)

        return _largest(is_refuted, _LARGEST_MU)

    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        bounds, low, high = AttackBounds(guarantee), _LEAST_P_VALUE, 1.0
        while high > _FINE_FACTOR * low:
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
