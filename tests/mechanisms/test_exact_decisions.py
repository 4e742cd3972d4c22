"""Decisions of the sampler that floating point would make wrongly: they need further bits."""

import mpmath as mp
import numpy as np
import pytest

from skdp.mechanisms.grid_gaussian import whole_steps_of_normal

BITS = 2**62
ALL = BITS - 1  # 62 bits that are 1
CELL = 2**46  # numbers with the same 16 first bits


class Scripted:
    """A generator of equal proposals: of k with the number that decides, and of j of 32 bits.

    They are drawn all at once as words of 64 bits. Where 16 bits do not tell k, the number that
    decides is drawn again, and is 0.
    """

    def __init__(self, first, j, further):
        word = (j >> 5) << 37 | (j & 31) << 23  # 27 bits of j times a power of two, and 5 more
        self.words, self.further = np.array([first << 2, word], dtype=np.uint64), list(further)
        self.proposals = self.in_each = 0

    def integers(self, high):
        return self.further[min(self.proposals, len(self.further)) - 1]

    def bytes(self, length):
        if length <= 8 * self.in_each:
            return bytes(length)
        self.proposals, self.in_each = self.proposals + 1, length // 16
        return np.repeat(self.words, self.in_each).tobytes()


def cumulative(k):
    """2^62·P(K ≤ k), rounded down."""
    with mp.workdps(60):
        masses = [mp.exp(-mp.mpf(i * i) / 8192) for i in range(1200)]
        return int(mp.floor(sum(masses[: k + 1]) / sum(masses) * BITS))


@pytest.mark.parametrize("k", [0, 1, 100])
def test_digits_behind_the_first_decide_near_the_probability(k):
    """For x = (j + r)/2^32 the probability falls with r; the compared number is in the middle."""
    j, one = 2**32 // 3, 2**32
    x = (j + 0.5) / one
    v = int(np.exp(-x * (2 * k + x) / 8192.0) * CELL)
    first = cumulative(k) // CELL * CELL - CELL + v
    rng = Scripted(first, j, [ALL, 0])  # r is nearly 1, and in the second proposal 0
    found = whole_steps_of_normal(64 * one, 1, rng)
    assert rng.proposals == 2
    assert found[0] == j + k * one


@pytest.mark.parametrize("k", [0, 1, 2, 300])
def test_further_bits_choose_k_where_the_first_are_those_of_an_end(k):
    below = Scripted(cumulative(k), 0, [0])
    above = Scripted(cumulative(k), 0, [ALL])
    assert whole_steps_of_normal(2**46, 1, below)[0] == k * 2**40
    assert whole_steps_of_normal(2**46, 1, above)[0] == (k + 1) * 2**40
