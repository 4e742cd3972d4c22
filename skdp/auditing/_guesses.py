"""Guesses of secret coins from scores: what both audits count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee
from skdp.support.validation import check_count, check_delta, check_real

__all__ = ["Guesses", "check_runs"]

_UNLUCKY = 0.05  # the share of lots that may have fewer right guesses than are counted
_LEAST, _FINE = 1e-3, 1e-3  # the first hypothesis of a search, and how close the search ends
_LARGEST_MU, _LARGEST_EPSILON = 30.0, 60.0  # ends of the searches, and so the largest bounds


@dataclass(frozen=True, eq=False)
class Guesses:
    """The most extreme scores are guessed, half of them high, and the right guesses counted."""

    scores: Any
    members: Any
    n_guesses: int | None = None

    _share = 2.0 / 3.0

    def __post_init__(self) -> None:
        scores, members = np.asarray(self.scores, dtype=float), np.asarray(self.members)
        if scores.ndim != 1 or scores.size < 2 or members.shape != scores.shape:
            raise ValueError(
                "scores and members must be two lists of one length, of at least 2, got shapes "
                f"{scores.shape} and {members.shape}."
            )
        if np.isnan(scores).any() or not np.isin(members, (0, 1)).all():
            raise ValueError("scores must be numbers without NaN, and members of 0 and 1.")
        chosen = self.n_guesses
        n = max(round(self._share * scores.size), 1) if chosen is None else chosen
        if check_count("n_guesses", n) > scores.size:
            raise ValueError(f"n_guesses must be at most {scores.size}, got {n}.")
        for name, value in (("scores", scores), ("members", members), ("n_guesses", n)):
            object.__setattr__(self, name, value)

    @property
    def n_right(self) -> int:
        """How many of the guesses are right.

        Where only some of several equal scores are guessed, it is the number that a fair lot
        reaches with probability 0.95 at least.
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

        If `n_right` refutes a claim, then fair lots refute it with probability 1 − `_UNLUCKY` at
        least, by a union bound over both ends. Lots refute a true claim with probability α at most,
        so `n_right` does with probability α / (1 − `_UNLUCKY`) at most.
        """
        n = int(self.n_guesses or 0)
        ends = ((self.scores, n - n // 2), (-self.scores, n // 2))
        sizes = [(np.cumsum(_ties(scores, self.members)[1]), k) for scores, k in ends]
        return 1.0 if all(k in (0, *found) for found, k in sizes) else 1.0 - _UNLUCKY

    @abstractmethod
    def p_value(self, guarantee: PrivacyGuarantee) -> float:
        """Return a bound on the probability of so many right guesses under a guarantee.

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
        """Return the largest μ such that less than μ-Gaussian DP is refuted.

        Parameters
        ----------
        confidence : float in (0, 1), default 0.95
            *Public.* Probability with which the release is not μ'-Gaussian DP for any smaller μ'.

        Returns
        -------
        float
            0 where nothing is refuted.
        """
        return self._largest_refuted(GDPEvent, _LARGEST_MU, confidence)

    def lower_epsilon(self, delta: float = 1e-5, confidence: float = 0.95) -> float:
        """Return the largest ε such that (ε', `delta`)-DP is refuted for every ε' below it.

        Parameters
        ----------
        delta : float in [0, 1), default 1e-5
            *Public.* The δ of the hypotheses.
        confidence : float in (0, 1), default 0.95
            *Public.* Probability with which the release is not (ε', `delta`)-DP for any smaller ε'.

        Returns
        -------
        float
            0 where nothing is refuted.
        """
        delta = check_delta(delta)
        return self._largest_refuted(
            lambda epsilon: ApproxDPEvent(epsilon, delta), _LARGEST_EPSILON, confidence
        )

    def gaussian_epsilon(self, delta: float = 1e-5, confidence: float = 0.95) -> float:
        """Return the ε at `delta` of Gaussian noise whose μ is `lower_mu`.

        It is no lower bound on the ε of a release whose noise is not Gaussian: see `lower_epsilon`.

        Parameters
        ----------
        delta : float in (0, 1), default 1e-5
            *Public.* The δ at which the Gaussian noise has the returned ε.
        confidence : float in (0, 1), default 0.95
            *Public.* Probability with which the release is not μ'-Gaussian DP for any smaller μ'.

        Returns
        -------
        float
            0 where nothing is refuted.
        """
        if check_delta(delta) == 0.0:
            raise ValueError(
                "delta must be above 0, because Gaussian noise is not (epsilon, 0)-DP for any "
                "epsilon. Use lower_epsilon with delta=0."
            )
        mu = self.lower_mu(confidence)
        return _hypothesis(GDPEvent(mu)).epsilon(delta) if mu else 0.0

    def _largest_refuted(
        self, event: Callable[[float], Event], largest: float, confidence: float
    ) -> float:
        """Return the largest parameter of an event that is refuted, by bisection; 0 for none."""
        level = 1.0 - check_real("confidence", confidence, low=0.0, high=1.0)
        low, high = _LEAST, largest
        if not self._is_refuted(_hypothesis(event(low)), level):
            return 0.0
        while high > low + _FINE:
            middle = 0.5 * (low + high)
            refuted = self._is_refuted(_hypothesis(event(middle)), level)
            low, high = (middle, high) if refuted else (low, middle)
        return low

    def _is_refuted(self, guarantee: PrivacyGuarantee, level: float) -> bool:
        return self.p_value(guarantee) <= level


def _ties(scores: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of members and of all among equal scores, the highest scores first."""
    _, rank, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    return np.bincount(rank, members).astype(int), sizes


def check_runs(n_runs: Any) -> int:
    """Return a number of runs, of which a guess needs two."""
    if check_count("n_runs", n_runs) < 2:
        raise ValueError(f"n_runs must be at least 2, got {n_runs!r}.")
    return int(n_runs)


def _hypothesis(event: Event) -> PrivacyGuarantee:
    return PrivacyGuarantee(event, Neighboring.REPLACE_ONE, "a hypothesis")
