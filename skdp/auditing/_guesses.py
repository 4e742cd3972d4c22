"""Guesses of secret coins from scores: what both audits count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skdp._validation import check_count, check_delta, check_real
from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee

__all__ = ["Guesses", "check_runs"]

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
        """How many of the guesses are right."""
        order, guesses = self._order, self.n_guesses or 0
        low = guesses // 2
        high = order[order.size - (guesses - low) :]
        said_in, said_out = self.members[high], self.members[order[:low]]
        return int(said_in.sum() + (1 - said_out).sum())

    @cached_property
    def _order(self) -> np.ndarray:
        """Indices that sort the scores, with equal scores in random order.

        The random numbers come from a public seed and are assigned to the members of a tie in
        sorted order, so the order of the runs has no influence. The seed contains the sizes of the
        ties and the numbers of their members. With the sizes alone, all audits with ties of these
        sizes would guess the same positions, and these would be right in nearly all or in none.
        """
        _, rank, sizes = np.unique(self.scores, return_inverse=True, return_counts=True)
        counts = np.bincount(rank, self.members).astype(int)
        order = np.lexsort((self.members, rank))
        lots = np.random.default_rng([*sizes, *counts]).random(order.size)
        return order[np.lexsort((lots, rank[order]))]

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


def check_runs(n_runs: Any) -> int:
    """Return a number of runs, of which a guess needs two."""
    if check_count("n_runs", n_runs) < 2:
        raise ValueError(f"n_runs must be at least 2, got {n_runs!r}.")
    return int(n_runs)


def _hypothesis(event: Event) -> PrivacyGuarantee:
    return PrivacyGuarantee(event, Neighboring.REPLACE_ONE, "a hypothesis")
