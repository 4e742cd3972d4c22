"""Private choices from a list, drawn exactly."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from itertools import count
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms.base import Mechanism, least
from skdp.mechanisms.grid_gaussian import bernoulli_exp, grid_step, to_steps
from skdp.privacy import Event, PureDPEvent
from skdp.privacy.noise_events import BoundedRangeEvent
from skdp.support.safe_numbers import SUM, up
from skdp.support.validation import check_real, check_size

_MOST_WEIGHT_BITS = 40  # of the weights: they decide how often a proposal needs more bits
_MORE_BITS = 60  # of a uniform number, each time that it needs more


def choose(gaps: np.ndarray, scale: int, rng: np.random.Generator, repeats: np.ndarray) -> int:
    """Return i with probability ∝ repeats[i]·e^(−gaps[i]/scale), for integers.

    A gap is k·scale + rest. A proposal is one of the repeats, each with a weight of ⌈2^b·e^(−k)⌉.
    It is accepted with probability e^(−rest/scale) times 2^b·e^(−k) over that weight. The repeats
    sum to less than 2^60.
    """
    bits = min(_MOST_WEIGHT_BITS, 62 - int(repeats.sum()).bit_length())
    weights, (whole, rest) = _weights(bits), np.divmod(gaps, scale)
    each = weights[np.minimum(whole, weights.size - 1)]
    ends = np.cumsum(each * repeats)
    while True:
        place = int(rng.integers(ends[-1]))
        i = int(np.searchsorted(ends, place, side="right"))
        head = (int(ends[i]) - 1 - place) % int(each[i])  # uniform below the weight
        if bernoulli_exp(rest[i : i + 1], scale, rng)[0] and _is_below(head, bits, whole[i], rng):
            return i


@lru_cache(maxsize=64)
def _weights(bits: int) -> np.ndarray:
    """Return ⌈2^bits·e^(−k)⌉ for k = 0, 1, ... until it is 1, the weight of all larger k."""
    first = [1 << bits]
    while first[-1] > 1:
        first.append(_floor_of_exp(bits, len(first)) + 1)  # irrational, so never an integer
    return np.array(first)


def _is_below(head: int, bits: int, k: int, rng: np.random.Generator) -> bool:
    """Return whether a uniform number is below e^(−k); `head` is its first `bits` bits."""
    if k == 0:
        return True
    while head == (edge := _floor_of_exp(bits, int(k))):
        head, bits = head << _MORE_BITS | int(rng.integers(1 << _MORE_BITS)), bits + _MORE_BITS
    return head < edge


@lru_cache(maxsize=256)
def _floor_of_exp(bits: int, k: int) -> int:
    """Return ⌊2^bits·e^(−k)⌋, k ≥ 1: computed with ever more digits until none can change it."""
    for digits in count(bits, 20):
        context = Context(prec=digits + 20)
        scaled = context.multiply(Decimal(1 << bits), context.exp(Decimal(-k)))
        error = context.scaleb(scaled, -digits)  # `exp` and `multiply` round to digits + 20
        low, high = (math.floor(context.add(scaled, side)) for side in (-error, error))
        if low == high:
            return low
    raise AssertionError  # `count` never ends


_EPSILONS = 2.0**-20, 2.0**20


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """A choice of one of finitely many candidates that depends on gaps between utilities only.

    Neighbors change a gap by at most 2Δ, or by Δ if they change all utilities in one direction
    (`monotonic`). Rounding to the grid keeps both bounds, in whole steps.
    """

    sensitivity: float
    epsilon: float
    monotonic: bool = False

    def __post_init__(self) -> None:
        low, high = _EPSILONS
        epsilon = check_real("epsilon", self.epsilon, low=low, high=high, closed="[]")
        self._set(sensitivity=check_size("sensitivity", self.sensitivity), epsilon=epsilon)
        if not isinstance(self.monotonic, bool):
            raise ValueError(f"monotonic must be True or False, got {self.monotonic!r}.")

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, *, monotonic: bool = False
    ) -> Self:
        """Return the most accurate choice for which one release is (ε, δ)-DP.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee of one choice; δ = 0 is allowed.
        sensitivity : float
            *Public.* The most that the utility of one candidate differs between neighbors.
        monotonic : bool, default False
            *Public.* Whether all utilities differ in the same direction, for every pair of
            neighbors.

        Returns
        -------
        Mechanism

        Raises
        ------
        OutOfRangeError
            If no choice of this kind has the guarantee.
        """

        return least(
            lambda x: cls(sensitivity=sensitivity, epsilon=1.0 / x, monotonic=monotonic),
            (1.0 / _EPSILONS[1], 1.0 / _EPSILONS[0]),
            epsilon,
            delta,
        )

    @property
    def event(self) -> Event:
        return PureDPEvent(self._loss)

    @property
    def _loss(self) -> float:
        """Largest change of the logarithm of a probability, rounded upwards."""
        return up(self._gap / self._scale, SUM)

    @property
    def _gap(self) -> int:
        """Largest change of a gap between neighbors, in steps."""
        steps = math.ceil(self.sensitivity / grid_step(self.sensitivity))
        return steps if self.monotonic else 2 * steps

    @property
    def _scale(self) -> int:
        """Growth of a gap, in steps, that divides a probability by e; rounded up."""
        return math.ceil(self._gap / self.epsilon)

    @abstractmethod
    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        """Return the index of the chosen candidate.

        Parameters
        ----------
        value : array-like of shape (n_candidates,)
            *Private.* Utilities; larger is better. ``nan`` counts as 0. Their number is public.
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        int
        """

    def _utilities(self, value: ArrayLike) -> np.ndarray:
        """Return an array of utilities, or raise ValueError if the shape is wrong."""
        utilities = np.asarray(value, dtype=float)
        if utilities.ndim != 1 or not utilities.size:
            raise ValueError(
                "value must have shape (n_candidates,) with at least one candidate, got the shape "
                f"{utilities.shape}."
            )
        return utilities

    def _gaps(self, utilities: np.ndarray) -> np.ndarray:
        """Return the gap of each utility to the best, in steps."""
        steps = to_steps(utilities, grid_step(self.sensitivity))
        return np.asarray(steps.max() - steps)


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Selection):
    """A candidate r with probability ∝ e^(ε·u(r)/2Δ), or e^(ε·u(r)/Δ) if `monotonic`.

    **Guarantee**: pure ε-DP (McSherry and Talwar 2007, Theorem 6). It also has ε-bounded range,
    which costs about half of that in composition (Dong, Durfee and Rogers 2020). Reason: P(r) =
    1/Σ e^(−λ·gap(r, s)), and neighbors change every gap by at most ε/λ. It is drawn exactly, by
    rejection.

    Parameters
    ----------
    sensitivity : float
        *Public.* Δ, the most that the utility of one candidate differs between neighbors.
    epsilon : float in [2^−20, 2^20]
        *Public.* Privacy loss of one choice, in nats.
    monotonic : bool, default False
        *Public.* Whether all utilities differ in the same direction, for every pair of neighbors.
        Counts do under add/remove. Under replace-one they **do not**: one rises, another falls.

    Examples
    --------
    >>> mechanism = ExponentialMechanism(sensitivity=1.0, epsilon=200.0)
    >>> mechanism.release([0.0, 5.0, 2.0], np.random.default_rng())
    1
    """

    @property
    def event(self) -> BoundedRangeEvent:
        return BoundedRangeEvent(self._loss)

    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        # Adjacent candidates of equal utility are one choice: few rows give few runs of them.
        utilities = self._utilities(value)
        starts = np.flatnonzero(np.append(True, utilities[1:] != utilities[:-1]))
        lengths = np.diff(starts, append=utilities.size)
        run = choose(self._gaps(utilities[starts]), self._scale, rng, lengths)
        return int(starts[run] + rng.integers(lengths[run]))


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """The first of the candidates, in random order, that is accepted.

    A candidate is accepted with probability e^(−ε·gap/2Δ), or e^(−ε·gap/Δ) if `monotonic`.

    **Guarantee**: pure ε-DP (McKenna and Sheldon 2020), with expected utility at least that of
    `ExponentialMechanism` (the same source). Proof: *Choices* under *Mechanisms* in the user guide,
    after Ding, Kifer and others 2021.

    Parameters
    ----------
    sensitivity : float
        *Public.* Δ, the most that the utility of one candidate differs between neighbors.
    epsilon : float in [2^−20, 2^20]
        *Public.* Privacy loss of one choice, in nats.
    monotonic : bool, default False
        *Public.* Whether all utilities differ in the same direction, for every pair of neighbors.
        Counts do under add/remove. Under replace-one they **do not**: one rises, another falls.

    Examples
    --------
    >>> mechanism = PermuteAndFlip(sensitivity=1.0, epsilon=200.0)
    >>> mechanism.release([0.0, 5.0, 2.0], np.random.default_rng())
    1
    """

    def release(self, value: ArrayLike, rng: np.random.Generator) -> int:
        gaps = self._gaps(self._utilities(value))
        order = rng.permutation(gaps.size)
        return int(order[np.argmax(bernoulli_exp(gaps[order], self._scale, rng))])
