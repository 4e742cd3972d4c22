"""Guesses of secret random bits from scores, which both audits count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import hypergeom

from skdp.privacy import ApproxDPEvent, Event, GDPEvent, Neighboring, PrivacyGuarantee
from skdp.support.types import VectorLike
from skdp.support.validation import check_count, check_delta, check_real

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

    def gaussian_epsilon(self, delta: float = 1e-5, confidence: float = 0.95) -> float:
        """Return the ε at `delta` of Gaussian noise whose μ is `lower_mu`.

        It is not a lower bound for a release with other noise: see `lower_epsilon`.

        Parameters
        ----------
        delta : float in (0, 1), default 1e-5
            *Public.* The δ of the result.
        confidence : float in (0, 1), default 0.95
            *Public.* As in `lower_mu`.

        Returns
        -------
        float
            0 if nothing is refuted.
        """
        if check_delta(delta) == 0.0:
            raise ValueError(
                "delta must be above 0: Gaussian noise has no finite epsilon at delta=0. Use "
                "lower_epsilon."
            )
        mu = self.lower_mu(confidence)
        return _hypothesis(GDPEvent(mu)).epsilon(delta) if mu else 0.0

    def _largest_refuted(
        self, event: Callable[[float], Event], largest: float, confidence: float
    ) -> float:
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
    """Return the numbers of members and of all runs at each score, highest score first."""
    _, rank, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    return np.bincount(rank, members).astype(int), sizes


def check_runs(n_runs: int) -> int:
    if check_count("n_runs", n_runs) < 2:
        raise ValueError(f"n_runs must be at least 2, got {n_runs!r}.")
    return int(n_runs)


def _hypothesis(event: Event) -> PrivacyGuarantee:
    return PrivacyGuarantee(event, Neighboring.REPLACE_ONE, "a hypothesis")
