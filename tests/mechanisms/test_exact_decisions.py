"""Decisions of the sampler that floating point would make wrongly: they need further bits."""

import mpmath as mp
import numpy as np
import pytest

from skdp.mechanisms._exact_normal import whole_steps_of_normal

BITS = 2**62
ALL = BITS - 1  # 62 bits that are 1


class Scripted:
    """A generator of equal proposals: of k, of j, and of the number that decides.

    They are drawn all at once as words of 64 bits, and j in the upper half of its word.
    """

    def __init__(self, first, j, uniform, further):
        self.first, self.j, self.uniform, self.further = first, j, uniform, list(further)
        self.proposals = 0

    def integers(self, high):
        return self.further[min(self.proposals, len(self.further)) - 1]

    def bytes(self, length):
        self.proposals += 1
        words = (self.first << 2, self.j << 32, int(self.uniform * 2**53) << 11)
        return np.repeat(np.array(words, dtype=np.uint64), length // 24).tobytes()


def cumulative(k):
    """2^62·P(K ≤ k), rounded down."""
    with mp.workdps(60):
        masses = [mp.exp(-mp.mpf(i * i) / 2) for i in range(40)]
        return int(mp.floor(sum(masses[: k + 1]) / sum(masses) * BITS))


@pytest.mark.parametrize("k", [0, 1, 3])
def test_digits_behind_the_first_decide_near_the_probability(k):
    """For x = (j + r)/2^32 the probability falls with r; the compared number is in the middle."""
    j, one = 2**32 // 3, 2**32
    x = (j + 0.5) / one
    uniform = float(np.exp(-x * (2 * k + x) / 2.0))
    first = cumulative(k) - 2**40
    rng = Scripted(first, j, uniform, [ALL, 0])  # r is nearly 1, and in the second proposal 0
    found = whole_steps_of_normal(one, 1, rng)
    assert rng.proposals == 2
    assert found[0] == j + k * one


@pytest.mark.parametrize("k", [0, 1, 2])
def test_further_bits_choose_k_where_the_first_are_those_of_an_end(k):
    below = Scripted(cumulative(k), 0, 0.0, [0])
    above = Scripted(cumulative(k), 0, 0.0, [ALL])
    assert whole_steps_of_normal(2**40, 1, below)[0] == k * 2**40
    assert whole_steps_of_normal(2**40, 1, above)[0] == (k + 1) * 2**40
