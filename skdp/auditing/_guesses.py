"""Guesses of secret coins from scores: what both audits count."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._validation import check_count, check_real
from skdp.privacy import GDPEvent, Neighboring, PrivacyGuarantee

__all__ = ["Guesses", "check_runs"]

_LEAST_MU, _LARGEST_MU, _FINE = 1e-3, 30.0, 1e-3


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
        order = np.argsort(self.scores, kind="stable")
        low, guesses = (self.n_guesses or 0) // 2, self.n_guesses or 0
        high = order[order.size - (guesses - low) :]
        said_in, said_out = self.members[high], self.members[order[:low]]
        return int(said_in.sum() + (1 - said_out).sum())

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
        level = 1.0 - check_real("confidence", confidence, low=0.0, high=1.0)
        low, high = _LEAST_MU, _LARGEST_MU
        if not self._is_refuted(_gaussian(low), level):
            return 0.0
        while high > low + _FINE:
            middle = 0.5 * (low + high)
            refuted = self._is_refuted(_gaussian(middle), level)
            low, high = (middle, high) if refuted else (low, middle)
        return low

    def _is_refuted(self, guarantee: PrivacyGuarantee, level: float) -> bool:
        return self.p_value(guarantee) <= level

    def lower_epsilon(self, delta: float = 1e-5, confidence: float = 0.95) -> float:
        """Return the ε of Gaussian noise as weak as `lower_mu`.

        Parameters
        ----------
        delta : float in (0, 1), default 1e-5
            *Public.*
        confidence : float in (0, 1), default 0.95
            *Public.*

        Returns
        -------
        float
        """
        mu = self.lower_mu(confidence)
        if mu == 0.0:
            return 0.0
        return _gaussian(mu).epsilon(delta)


def check_runs(n_runs: Any) -> int:
    """Return a number of runs, of which a guess needs two."""
    if check_count("n_runs", n_runs) < 2:
        raise ValueError(f"n_runs must be at least 2, got {n_runs!r}.")
    return int(n_runs)


def _gaussian(mu: float) -> PrivacyGuarantee:
    return PrivacyGuarantee(GDPEvent(mu), Neighboring.REPLACE_ONE, "a hypothesis")
