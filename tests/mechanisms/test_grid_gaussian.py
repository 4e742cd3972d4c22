"""Exact Gaussian noise on a grid: the sampler's decisions, its distribution, and the scale."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from skdp.mechanisms import grid_gaussian
from skdp.mechanisms.grid_gaussian import GridGaussian, drawn_scale, whole_steps_of_normal
from skdp.support.secure_random import SecureGenerator

RISK = 1e-7  # of a false alarm, of each statistical test
FINE = (2**27 + 12345) << 8


class Told:
    """A generator whose integers are told beforehand."""

    def __init__(self, *integers):
        self.integers_left = list(integers)

    def integers(self, *_):
        return self.integers_left.pop(0)


def agrees_with_half_normal(found, scale):
    top = 4 * scale
    mass = 2.0 * np.diff(stats.norm.cdf(np.arange(top + 1) / scale))
    counts = np.bincount(np.minimum(found, top), minlength=top + 1)
    return stats.chisquare(counts, np.append(mass, 1.0 - mass.sum()) * found.size).pvalue > RISK


def ends(per_unit, bits):
    """2^bits·P(K ≤ k) for P(k) ∝ e^(−k²/2w²), rounded down."""
    with mp.workdps(80):
        masses = [mp.exp(-mp.mpf(k * k) / (2 * per_unit**2)) for k in range(20 * per_unit)]
        total, sums = sum(masses), np.cumsum(masses)
        return [int(mp.floor(one / total * 2**bits)) for one in sums]


class TestSampler:
    @pytest.mark.parametrize("scale", [1, 2, 7])
    @pytest.mark.parametrize("rng", [SecureGenerator(), np.random.default_rng()], ids=type)
    def test_masses_at_small_scales(self, scale, rng):
        assert agrees_with_half_normal(whole_steps_of_normal(scale, 200_000, rng), scale)

    def test_masses_if_every_decision_is_made_exactly(self, monkeypatch):
        guide, least = grid_gaussian._guide()
        monkeypatch.setattr(grid_gaussian, "_MARGIN", 10.0)
        monkeypatch.setattr(grid_gaussian, "_guide", lambda: (0 * guide - 1, 0 * least))
        found = whole_steps_of_normal(3, 3000, np.random.default_rng())
        assert agrees_with_half_normal(found, 3)

    def test_low_bits_at_a_large_scale_are_uniform(self):
        found = whole_steps_of_normal(FINE, 200_000, np.random.default_rng())
        for width in (2, 3, 64, 100):
            counts = np.bincount(found % width, minlength=width)
            assert stats.chisquare(counts).pvalue > RISK
        parts = np.bincount(found % (FINE // 64) * 16 // (FINE // 64), minlength=16)
        assert stats.chisquare(parts).pvalue > RISK  # of x, but for 3e-5 of its slope
        assert stats.kstest(found / FINE, stats.halfnorm.cdf).pvalue > RISK

    @pytest.mark.parametrize("k", [0, 1, 64, 500])
    @pytest.mark.parametrize("j", [0, 1, 2**32 // 3, 2**32 - 1])
    def test_an_exact_decision_compares_with_the_exponential(self, k, j):
        """For x next to j/2^32, v is below e^(−x(2k + x)/2·64²) or not; both differ by 2^−60."""
        one, digit = 2**32, 12345
        with mp.workdps(60):
            x = (j + mp.mpf(digit) / 2**62) / one
            chance = int(mp.floor(mp.exp(-x * (2 * k + x) / 8192) * 2**108))
        for shift, wanted in ((-(2**48), True), (2**48, False)):
            v = chance + shift
            if 0 <= v < 2**108:
                told = Told(v % 2**62, digit)
                assert grid_gaussian._is_taken(k, j, one, v >> 62, told) is wanted

    @pytest.mark.parametrize("per_unit", [1, 64])
    def test_the_choice_of_k_compares_with_the_sums_of_masses(self, per_unit):
        table, exact = grid_gaussian._ends(per_unit), ends(per_unit, 62)
        assert table.tolist() == exact[: table.size]
        assert table[-1] == 2**62 - 1 > table[-2]
        for k, end in enumerate(ends(per_unit, 124)[:5]):
            for shift, wanted in ((-(2**50), k), (2**50, k + 1)):
                u = end + shift
                assert grid_gaussian._whole(u >> 62, per_unit, Told(u % 2**62)) == wanted

    def test_sixteen_bits_tell_k_only_where_all_numbers_agree(self):
        table, (guide, least) = grid_gaussian._ends(64), grid_gaussian._guide()
        firsts = np.arange(2**16) << 46
        low, high = (table.searchsorted(n, "right") for n in (firsts, firsts + 2**46 - 1))
        decided = guide >= 0
        assert np.array_equal(guide[decided], low[decided])
        assert np.array_equal(guide[decided], high[decided])
        assert not np.isin(firsts[decided], table).any()  # a tie
        assert decided.mean() > 0.98
        with mp.workdps(40):
            for k, bound in enumerate(least[:-1].tolist()):  # of all x, that of 1 is the least
                assert bound < mp.exp(-mp.mpf(2 * k + 1) / 8192) * 2**46 < 1.0001 * bound
        assert least[-1] == 0 <= guide.max() < least.size - 1

    @pytest.mark.parametrize("m", [2**27, 2**27 + 1, 5**12, 2**28 - 1])
    def test_each_integer_below_an_end_has_as_many_words(self, m):
        """All words of 36 bits that give one integer, of some; the 28 others have 5 bits of it."""
        for found in (0, 1, m // 3, m - 1):
            words = np.arange(-(-(found << 36) // m), -(-((found + 1) << 36) // m), dtype=np.uint64)
            j, is_uniform = grid_gaussian._below(
                m << 5, words << np.uint64(28) | np.uint64(1 << 23)
            )
            assert (j == (found << 5) + 1).all()
            assert is_uniform.sum() == 2**36 // m

    def test_ties_draw_further_bits(self):
        end = ends(64, 124)[0]
        told = Told(end % 2**62, 0)  # as many bits as cannot tell, and 62 more
        assert grid_gaussian._whole(end >> 62, 64, told) == 0
        assert told.integers_left == []

    @pytest.mark.parametrize("scale", [1, 2**28 - 1, 2**28 + 1, 3 * 2**40 - 1, 2**57 - 1, 2**57])
    def test_a_scale_is_rounded_up_to_28_bits(self, scale):
        drawn = drawn_scale(scale)
        assert scale <= drawn <= scale * (1.0 + 2.0**-27)
        assert drawn & -drawn >= 2 ** max(0, scale.bit_length() - 28)
        found = whole_steps_of_normal(scale, 1000, np.random.default_rng(0))
        same = whole_steps_of_normal(drawn, 1000, np.random.default_rng(0))
        assert np.array_equal(found, same)


class TestScale:
    @pytest.mark.parametrize("mu", [1e-6, 0.02, 1.0, 300.0])
    @pytest.mark.parametrize("sensitivity", [1e-200, 3e-5, 1.0, 7e50])
    @pytest.mark.parametrize("dimension", [1, 500, 10**6])
    def test_it_makes_rounded_values_mu_gaussian_dp(self, mu, sensitivity, dimension):
        noise = GridGaussian.at(mu, sensitivity, dimension)
        distance = Fraction(sensitivity) / Fraction(noise.step)  # and √d steps for the rounding
        spent = Fraction(mu) * noise.scale_in_steps - distance
        assert spent > 0
        assert spent**2 >= dimension
        assert noise.scale <= sensitivity / mu * (1.0 + 1.2e-8 * (1.0 + dimension**0.5))

    def test_the_grid_has_room_for_the_largest_value(self):
        noise = GridGaussian.at(1e6, 1.0, 1, largest=1e12)
        released = noise.release(np.array([1e12, -1e12]), np.random.default_rng(0))
        assert np.allclose(np.abs(released), 1e12, rtol=1e-12)
        assert noise.scale < 2e-5

    @pytest.mark.parametrize("mu", [1e-17, 1e-19, 1e-25, 1e-307])
    def test_noise_that_is_too_large_for_the_grid_is_released_alone(self, mu):
        noise, values = GridGaussian.at(mu, 1.0, 100, 1e12), np.full(100, 1e12)
        assert noise.hides
        assert noise.scale == pytest.approx(min(1.0 / mu, 2.0**900))
        one, other = (noise.release(v, np.random.default_rng(0)) for v in (values, -values))
        np.testing.assert_array_equal(one, other)
        assert 0.5 < np.std(one / noise.scale) < 2.0  # false alarms: below 1e-12
        assert not GridGaussian.at(1e-14, 1.0, 100, 1e12).hides

    def test_no_value_raises_and_each_is_released_on_the_grid(self):
        noise = GridGaussian.at(1.0, 1.0, 5)
        values = np.array([np.nan, np.inf, -np.inf, 1e300, 0.3])
        released = noise.release(values, np.random.default_rng(0))
        assert np.isfinite(released).all()
        assert np.array_equal(released / noise.step, np.rint(released / noise.step))

    def test_the_noise_has_its_scale_and_rounds_down(self):
        noise = GridGaussian(scale_in_steps=2, step=0.5)
        found = noise.noise(200_000, np.random.default_rng())
        edges = np.arange(-9, 10)
        mass = np.diff(stats.norm.cdf(edges / 2.0))
        counts = np.histogram(found, edges)[0]
        assert stats.chisquare(counts, mass / mass.sum() * counts.sum()).pvalue > RISK
