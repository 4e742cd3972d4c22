"""Exact samples of a choice with probabilities ∝ e^(−gap/scale), by integers alone."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import lru_cache
from itertools import count

import numpy as np

from skdp.mechanisms._grid import bernoulli_exp

_MOST_BITS = 40  # of the weights: they decide how often a proposal needs more bits
_MORE_BITS = 60  # of a uniform number, each time that it needs more


def choose(gaps: np.ndarray, scale: int, rng: np.random.Generator, repeats: np.ndarray) -> int:
    """Return i with probability ∝ repeats[i]·e^(−gaps[i]/scale), for integers.

    A gap is k·scale + rest. A proposal is one of the repeats, each with a weight of ⌈2^b·e^(−k)⌉.
    It is accepted with probability e^(−rest/scale) times 2^b·e^(−k) over that weight. The repeats
    sum to less than 2^60.
    """
    bits = min(_MOST_BITS, 62 - int(repeats.sum()).bit_length())
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
