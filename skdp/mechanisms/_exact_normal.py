"""Exact samples of normal distributions on the integers (Karney 2016, Algorithms N and D)."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import count

import numpy as np

from skdp.mechanisms._grid import cut_off, rejection

_FINE = 2**32  # the first digit of x has a base of more than half of it
_BITS = 62  # of the further digits, and of the choice of k
_UNIT = 2.0**-53
_DIGITS = 30  # of the first decision by decimal numbers; each further one has as many more
_GUARD = 5  # digits of their error; they lose less than two in some tens of operations
# The further digits of x change it by less than 2⁻³¹, and so the probability by less than 2⁻³¹
# times (k + x)·e^(−x(2k + x)/2): at most k for k ≥ 1, where it falls with x, and e^(−1/2) < 0.61
# for k = 0. Of the margin 2⁻³¹·(k + 1) at least 0.39·2⁻³¹ is left for rounding, a hundred thousand
# times as much as is needed: exp of NumPy is exact to a few units of 2⁻⁵³, its argument, of at most
# 100, to two.
_MARGIN = 2.0**-31


def whole_steps_of_normal(scale: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return ⌊scale·abs(Z)⌋ for standard normal Z.

    abs(Z) = k + x with P(k) ∝ e^(−k²/2), x uniform in [0, 1), accepted with e^(−x(2k + x)/2). The
    first digit of x in base `scale` is all that shows. The others are drawn if the decision, or the
    choice of k, needs them. A `scale` below 2^32 is that of the first bits of a finer one. The
    largest is 2^57.
    """
    more = max(0, (_FINE - 1).bit_length() - scale.bit_length())
    fine = scale << more

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        for_k, for_j, for_v = np.frombuffer(rng.bytes(24 * n), np.uint64).reshape(3, n)
        (j, is_uniform), k = _below(fine, for_j), _wholes((for_k >> 2).view(np.int64), rng)
        taken = _taken(k, j, fine, for_v >> 11, rng) & is_uniform
        return (j + fine * cut_off(k, fine)) >> more, taken

    return rejection(size, propose, 0.7)


def _below(end: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ⌊word·end/2^64⌋ and whether it is uniform below `end` if the others are left out.

    Lemire 2019: each integer has as many words with word·end mod 2^64 ≥ 2^64 mod end. With the same
    words, a slightly different `end` gives slightly different noise, which seeded tests compare.
    """
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    low_end, high_end = np.uint64(end & (2**32 - 1)), np.uint64(end >> 32)
    low, high = words & mask, words >> half
    middle = high * low_end + (low * low_end >> half)  # no product or sum exceeds 64 bits
    other = low * high_end + (middle & mask)
    found = high * high_end + (middle >> half) + (other >> half)
    return found.view(np.int64), words * np.uint64(end) >= np.uint64(2**64 % end)


def _wholes(first: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return k ≥ 0 with P(k) ∝ e^(−k²/2), by inversion of uniform numbers with these first bits."""
    ends = _ends()
    k = ends.searchsorted(first, side="right")
    for i in (first == ends[k - 1]).nonzero()[0]:
        k[i] = _whole(int(first[i]), rng)
    return k


@lru_cache(maxsize=1)
def _ends() -> np.ndarray:
    """Return ⌊2^62·P(K ≤ k)⌋ for k = 0, 1, ..., as far as they differ."""
    with localcontext(prec=2 * _DIGITS):
        masses = _masses()
        scaled = 2**_BITS / sum(masses)
        ends = [int(scaled * sum(masses[: k + 1])) for k in range(len(masses))]
    return np.unique(np.array(ends))


def _masses() -> list[Decimal]:
    """Return e^(−k²/2) for k = 0, 1, ..., until they are below the precision."""
    with localcontext() as context:
        last = next(k for k in count() if k * k > 5 * context.prec)  # e^(−5/2) < 1/10
        return [(-Decimal(k * k) / 2).exp() for k in range(last + 1)]


def _whole(first: int, rng: np.random.Generator) -> int:
    """Return the k that belongs to a uniform number with these first bits."""
    for rounds in count(2):
        first, bits = first << _BITS | int(rng.integers(2**_BITS)), _BITS * rounds
        with localcontext(prec=_DIGITS * rounds):
            masses, error = _masses(), Decimal(10) ** (_GUARD - _DIGITS * rounds)
            u, total, end = Decimal(first) / 2**bits, sum(masses), Decimal(0)
            for k, mass in enumerate(masses):
                end += mass / total
                if u + error + Decimal(1) / 2**bits < end:
                    return k
                if u - error < end:
                    break
    raise AssertionError("unreachable")


def _taken(
    k: np.ndarray, j: np.ndarray, one: int, first: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return Bernoulli samples of probability e^(−x(2k + x)/2) for x = (j + r)/one, r uniform.

    They compare it with uniform numbers whose first 53 bits are given.
    """
    x = j / one
    above = np.exp(-x * (k + 0.5 * x)) - first * _UNIT
    taken = above > 0.0
    for i in (np.abs(above) <= _MARGIN * (k + 1.0)).nonzero()[0]:
        taken[i] = _is_taken(int(k[i]), int(j[i]), one, int(first[i]), rng)
    return taken


def _is_taken(k: int, j: int, one: int, first: int, rng: np.random.Generator) -> bool:
    """Decide one sample; `first` has 53 bits of the uniform number that is compared."""
    digit = 0
    for rounds in count(1):
        first = first << _BITS | int(rng.integers(2**_BITS))
        digit, parts = digit << _BITS | int(rng.integers(2**_BITS)), 2 ** (_BITS * rounds)
        with localcontext(prec=_DIGITS * rounds):
            error = Decimal(10) ** (_GUARD - _DIGITS * rounds)
            low, high = (
                (-x * (2 * k + x) / 2).exp()
                for x in (Decimal(j * parts + digit + i) / (one * parts) for i in (1, 0))
            )
            v, width = Decimal(first) / (parts << 53), Decimal(1) / (parts << 53)
            if v + width + error < low:
                return True
            if v - error > high:
                return False
    raise AssertionError("unreachable")


def discrete_normal(
    numerator: int, denominator: int, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return integers with probability ∝ e^(−m²/2s²), s = `numerator`/`denominator`.

    As above, but among the points k + x only those with (k + x)·s an integer: j-th of at most
    ⌈s⌉ integers from ⌈k·s⌉ on. Zero would come with either sign, so −0 is rejected.
    """
    window = -(-numerator // denominator)

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        k, j = _wholes(rng.integers(2**_BITS, size=n), rng), rng.integers(window, size=n)
        m = j - (-k * numerator // denominator)
        x = m * denominator - k * numerator  # times 1/numerator
        good = (x < numerator) & _accepted(k, np.minimum(x, numerator), numerator, rng)
        negative = rng.integers(2, size=n) == 0
        return np.where(negative, -m, m), good & ~(negative & (m == 0))

    return rejection(size, propose, 0.3)


def _accepted(k: np.ndarray, x: np.ndarray, one: int, rng: np.random.Generator) -> np.ndarray:
    """Return Bernoulli samples of probability e^(−y(2k + y)/2) for y = x/one.

    All of k + 1 trials of probability e^(−γ), γ = y·(2k + y)/(2k + 2) ≤ 1, have to succeed.
    """
    passed = np.ones(k.size, dtype=bool)
    for trial in range(int(k.max(initial=0)) + 1):
        tried = np.flatnonzero(passed & (trial <= k))
        passed[tried] = _trials(tried, k, x, one, rng)
    return passed


def _trials(
    running: np.ndarray, k: np.ndarray, x: np.ndarray, one: int, rng: np.random.Generator
) -> np.ndarray:
    """Return trials of e^(−γ): of those of γ/1, γ/2, ... the first that fails is odd."""
    start, true, step = running, np.zeros(k.size, dtype=bool), 1
    while running.size:
        low, high = x[running], x[running] + 2 * k[running] * one
        passed = low > rng.integers(step * one, size=running.size)
        passed &= high > rng.integers((2 * k[running] + 2) * one)
        true[running[~passed]] = step % 2 == 1
        running, step = running[passed], step + 1
    return true[start]
