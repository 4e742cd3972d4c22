"""Public grids, exact samples on them by integers, and Gaussian noise with a grid of its own.

The samples of normal distributions are those of Karney 2016, Algorithms N and D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count

import numpy as np
from numpy.typing import ArrayLike

from skdp.support.safe_numbers import SUM, up

_BITS_OF_SENSITIVITY = 30  # of the grid below the sensitivity
_END = 2**61  # the largest number of steps that is released
_MOST_PROPOSALS = 2**14  # at a time, so that they stay in cache; no guarantee rests on it
_FULL = 2**62 + 2**60  # noise is cut off here: any number of the grid plus that is past its end


def grid_step(sensitivity: float) -> float:
    """Return the width of the grid, a power of two: 2^−30 to 2^−31 of the sensitivity."""
    return 2.0 ** (math.floor(math.log2(sensitivity)) - _BITS_OF_SENSITIVITY)


def to_steps(values: ArrayLike, step: float) -> np.ndarray:
    """Return values on the grid, ⌊v/step + 1/2⌋, as integers of at most ±2^61.

    The map is monotone, and adding whole steps to v adds them to the result (`step` is a power of
    two, so nothing is rounded on the way). Numbers that lie at most D steps apart, D an integer,
    are therefore at most D apart on the grid. No value raises, because an error would reveal it:
    ``nan`` counts as 0, and values beyond the grid as its end.
    """
    finite = np.asarray(values, dtype=float)
    if np.isnan(finite).any():
        finite = np.where(np.isnan(finite), 0.0, finite)
    inside = np.minimum(np.maximum(finite, -_END * step), _END * step)
    halves = np.ldexp(inside, 2 - math.frexp(step)[1])
    return (np.floor(halves).astype(np.int64) + 1) >> 1


def from_steps(steps: np.ndarray, step: float) -> np.ndarray:
    """Return integers on the grid as floats, clipped to its ends."""
    return np.minimum(np.maximum(steps, -_END), _END) * step


def ratio_below(numerator: int, denominator: int) -> float:
    """Return the largest float that is at most `numerator`/`denominator`."""
    ratio = numerator / denominator
    exact = Fraction(numerator, denominator)
    return ratio if Fraction(ratio) <= exact else math.nextafter(ratio, 0.0)


def rejection(
    size: int, propose: Callable[[int], tuple[np.ndarray, np.ndarray]], chance: float = 1.0
) -> np.ndarray:
    """Return `size` accepted integers; `propose(n)` returns n of them and which are accepted.

    `chance`, about the share that is accepted, sets how many are proposed at a time.
    """
    found, missing = [], size
    while missing > 0:
        spread = math.sqrt(missing * (1.0 - chance))
        wanted = math.ceil((missing + 2.0 * spread) / chance)  # often enough
        values, good = propose(min(wanted, _MOST_PROPOSALS))
        found.append(values[good])
        missing -= found[-1].size
    return np.concatenate([*found, np.empty(0, dtype=np.int64)])[:size]


def bernoulli_exp(numerator: np.ndarray, denominator: int, rng: np.random.Generator) -> np.ndarray:
    """Return Bernoulli samples of probability e^(−numerator/denominator), exponents ≥ 0.

    Canonne, Kamath and Steinke 2020, Algorithm 1: with γ in [0, 1] the first K at which a trial of
    probability γ/K fails is odd with probability Σ (−γ)^k/k! = e^−γ. Whole units of the exponent
    are trials of probability 1/e each. Denominators up to 2^57.
    """
    whole, rest = np.divmod(numerator, denominator)
    passed = _series(rest, denominator, rng)
    far = np.flatnonzero(passed & (whole > 0))
    passed[far] = _units(far.size, rng) >= whole[far]
    return passed


def _series(numerator: np.ndarray, denominator: int, rng: np.random.Generator) -> np.ndarray:
    found, running, k = np.ones(numerator.shape, dtype=bool), np.arange(numerator.size), 1
    while running.size:
        passed = rng.integers(k * denominator, size=running.size) < numerator[running]
        found[running[~passed]] = k % 2 == 1
        running, k = running[passed], k + 1
    return found


def _units(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the number of successes of probability 1/e before the first failure."""
    counts, running = np.zeros(size, dtype=np.int64), np.arange(size)
    while running.size:
        running = running[_series(np.ones(running.size, dtype=np.int64), 1, rng)]
        counts[running] += 1
    return counts


def cut_off(counts: np.ndarray, scale: int) -> np.ndarray:
    """Return `counts`, cut off where a sum with counts·scale is beyond the end of any grid."""
    return np.minimum(counts, _FULL // scale - 1)


def geometric(
    scale: int, size: int, rng: np.random.Generator, below: int | None = None
) -> np.ndarray:
    """Return integers m ≥ 0 with probability ∝ e^(−m/scale), those under `below` if it is given.

    m = u + scale·v with u < scale, P(u) ∝ e^(−u/scale), and v a count of such trials (Canonne,
    Kamath and Steinke 2020, Algorithm 2). `scale` is at most 2^52; larger numbers than
    2^62 are cut off there.
    """
    width = scale if below is None else min(below, scale)

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        low = rng.integers(width, size=n)
        good = bernoulli_exp(low, scale, rng)
        drawn = low + scale * cut_off(_units(n, rng), scale)
        return drawn, good if below is None else good & (drawn < below)

    return rejection(size, propose, 0.4)


_PER_UNIT = 64  # values of k per unit of abs(Z); 32 and 128 are slower: benchmarks/bench_random.py
_PER_UNIT_BITS = 6
_SCALE_BITS = 28  # of a scale; the other 36 of a word make its multiples rarely not uniform
_FINE_BITS = 33  # of the base of the first digit of x, at least
_BITS = 62  # of the further digits, and of the choice of k
_GUIDE_BITS = 16  # of these, which alone decide k for 99 of 100 numbers
_FIRST_BITS = _BITS - _GUIDE_BITS  # of the number that is compared: what is left of them
_DIGITS = 30  # of the first decision by decimal numbers; each further one has as many more
_GUARD = 10  # digits of their error; they lose less than eight in a million operations
# The further digits of x change it by less than 2⁻³², and so the probability by less than that
# times (k + x)/64² ≤ 2⁻¹²·(k + 1). Those of v change it by less than 2⁻⁴⁶. Of 2⁻³²·(k + 1) more
# than 0.99 is left for rounding, a hundred thousand times as much as is needed: exp of NumPy is
# exact to a few units of 2⁻⁵³, its argument, of less than (k + 1)/2048, to three.
_MARGIN = 2.0**-32
_CLOSE = 1.0 - 2.0**-20  # by which a bound of the probability is lowered, for its own rounding


def drawn_scale(scale: int) -> int:
    """Return the least integer from `scale` on with at most 28 significant bits."""
    dropped = max(0, scale.bit_length() - _SCALE_BITS)
    return -(-scale >> dropped) << dropped


def whole_steps_of_normal(scale: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return ⌊scale·abs(Z)⌋ for standard normal Z and a `scale` up to 2^57, rounded to 28 bits.

    abs(Z) = (k + x)/64 with P(k) ∝ e^(−k²/2·64²), x uniform in [0, 1), accepted with
    e^(−x(2k + x)/2·64²). The first digit of x in base `scale`/64 is all that shows. The others are
    drawn if the decision, or the choice of k, needs them. A `scale` below 2^38 is that of the first
    bits of a finer one.
    """
    scale = drawn_scale(scale)
    more = max(0, _FINE_BITS + _PER_UNIT_BITS - scale.bit_length())
    one = scale << more >> _PER_UNIT_BITS

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        for_k, for_j = np.frombuffer(rng.bytes(16 * n), np.uint64).reshape(2, n)
        j, is_uniform = _below(one, for_j)
        k, taken = _chosen((for_k >> 2).view(np.int64), j, one, rng)
        return (j + one * cut_off(k, one)) >> more, taken & is_uniform

    return rejection(size, propose, 0.99)


def _below(one: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return integers below `one`, and whether they are uniform if the others are left out.

    The last of its bits, all but the 28 first, are those of the word. For the first bits, m of them
    as a number, 36 bits w of the word give ⌊w·m/2^36⌋. Lemire 2019: each integer has as many w with
    w·m mod 2^36 ≥ 2^36 mod m.
    """
    low_bits, n_bits = one.bit_length() - _SCALE_BITS, 64 - _SCALE_BITS
    m, end = one >> low_bits, 1 << n_bits
    products = (words >> _SCALE_BITS) * np.uint64(m)
    low = (words & (2**_SCALE_BITS - 1)) >> (_SCALE_BITS - low_bits)
    found = ((products >> n_bits) << low_bits) | low
    return found.view(np.int64), products & (end - 1) >= end % m


def _chosen(
    first: np.ndarray, j: np.ndarray, one: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return k by inversion of uniform numbers, and whether x = (j + r)/one is accepted.

    Where 16 bits of the 62 decide k, the others are uniform beside it, and so are the first of the
    number v that is compared. v below the least probability of all x needs no comparison.
    """
    guide, least = _guide()
    k, v = guide[first >> _FIRST_BITS], first & (2**_FIRST_BITS - 1)
    near = (v >= least[k]).nonzero()[0]  # all undecided ones: the last of `least` is 0
    taken = np.ones(k.size, dtype=bool)
    if near.size:
        open_k = near[k[near] < 0]
        k[open_k] = _wholes(first[open_k], _PER_UNIT, rng)
        v[open_k] = np.frombuffer(rng.bytes(8 * open_k.size), np.uint64) >> (64 - _FIRST_BITS)
        taken[near] = _taken(k[near], j[near], one, v[near], rng)
    return k, taken


@lru_cache(maxsize=1)
def _guide() -> tuple[np.ndarray, np.ndarray]:
    """Return the k of each 16 bits, −1 if they do not tell; and the least probabilities of each k.

    These are e^(−(2k + 1)/2·64²), that of x = 1, in units of v; 0 at the end.
    """
    ends = _ends(_PER_UNIT)
    n_ends = np.bincount(ends >> _FIRST_BITS, minlength=2**_GUIDE_BITS)
    least = np.exp(-(np.arange(ends.size + 1) + 0.5) / _PER_UNIT**2) * _CLOSE
    least[-1] = 0.0
    guide = np.where(n_ends == 0, n_ends.cumsum(), -1)
    return guide, np.floor(least * 2.0**_FIRST_BITS).astype(np.int64)


def _wholes(first: np.ndarray, per_unit: int, rng: np.random.Generator) -> np.ndarray:
    """Return k ≥ 0 with P(k) ∝ e^(−k²/2w²), w = `per_unit`, by inversion of uniform numbers.

    `first` has 62 bits of each. If they are an end of k's, further bits decide.
    """
    ends = _ends(per_unit)
    k = ends.searchsorted(first, side="right")
    for i in (first == ends[k - 1]).nonzero()[0]:
        k[i] = _whole(int(first[i]), per_unit, rng)
    return k


@lru_cache(maxsize=2)
def _ends(per_unit: int) -> np.ndarray:
    """Return ⌊2^62·P(K ≤ k)⌋ for k = 0, 1, ..., as far as they are below 2^62 − 1, and this."""
    with localcontext(prec=2 * _DIGITS):
        masses = _masses(per_unit)
        scaled = 2**_BITS / sum(masses)
        ends = np.array([int(scaled * end) for end in accumulate(masses)])
    return ends[: ends.searchsorted(2**_BITS - 1) + 1]


def _masses(per_unit: int) -> list[Decimal]:
    """Return e^(−k²/2w²) for k = 0, 1, ..., until they are below the precision."""
    masses, least = [], Decimal(10) ** -(getcontext().prec + 2)  # the others add up to 10 of it
    mass, factor, ratio = (Decimal(-i) / (2 * per_unit**2) for i in (0, 1, 2))
    mass, factor, ratio = mass.exp(), factor.exp(), ratio.exp()
    while mass > least:
        masses.append(mass)
        mass, factor = mass * factor, factor * ratio
    return masses


def _whole(first: int, per_unit: int, rng: np.random.Generator) -> int:
    """Return the k that belongs to a uniform number with these first bits."""
    for rounds in count(2):
        first, bits = first << _BITS | int(rng.integers(2**_BITS)), _BITS * rounds
        with localcontext(prec=_DIGITS * rounds):
            masses, error = _masses(per_unit), Decimal(10) ** (_GUARD - _DIGITS * rounds)
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
    """Return Bernoulli samples of probability e^(−x(2k + x)/2·64²), x = (j + r)/one, r uniform.

    They compare it with uniform numbers whose first 46 bits are given.
    """
    x = j / one
    above = np.exp(-x * (2.0 * k + x) / (2.0 * _PER_UNIT**2)) - first * 2.0**-_FIRST_BITS
    taken = above > 0.0
    for i in (np.abs(above) <= _MARGIN * (k + 1.0)).nonzero()[0]:
        taken[i] = _is_taken(int(k[i]), int(j[i]), one, int(first[i]), rng)
    return taken


def _is_taken(k: int, j: int, one: int, first: int, rng: np.random.Generator) -> bool:
    """Decide one sample; `first` has 46 bits of the uniform number that is compared."""
    digit = 0
    for rounds in count(1):
        first = first << _BITS | int(rng.integers(2**_BITS))
        digit, parts = digit << _BITS | int(rng.integers(2**_BITS)), 2 ** (_BITS * rounds)
        with localcontext(prec=_DIGITS * rounds):
            error = Decimal(10) ** (_GUARD - _DIGITS * rounds)
            low, high = (
                (-x * (2 * k + x) / (2 * _PER_UNIT**2)).exp()
                for x in (Decimal(j * parts + digit + i) / (one * parts) for i in (1, 0))
            )
            width = Decimal(1) / (parts << _FIRST_BITS)
            v = Decimal(first) * width
            if v + width + error < low:
                return True
            if v - error > high:
                return False
    raise AssertionError("unreachable")


def discrete_normal(
    numerator: int, denominator: int, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return integers with probability ∝ e^(−m²/2s²), s = `numerator`/`denominator`.

    As above, with steps of 1 for k and only those x with (k + x)·s an integer, the j-th of at most
    ⌈s⌉ integers from ⌈k·s⌉ on. Zero would come with either sign, so −0 is rejected.
    """
    window = -(-numerator // denominator)

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        k, j = _wholes(rng.integers(2**_BITS, size=n), 1, rng), rng.integers(window, size=n)
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


_BITS_BELOW = (
    32  # of the grid below the noise and the sensitivity; see `at` for what rounding costs
)
_MOST_BELOW = 50  # bits below the noise
_MOST_BITS = 60  # of the grid below the largest value: within its end, 2^61 steps
_LARGEST_SCALE = 2.0**57  # of exact samples
_LARGEST_NOISE = 2.0**900  # that is computed with, if it hides all values
_END_OF_GRID = 2.0**61  # the largest number of steps; with noise, no integer is beyond 2^63
_AT_ONCE = 1 << 16  # samples: a call takes as long as a thousand; no guarantee rests on it
_LEAST_STEP = 2.0**-1000  # so that no quotient by it overflows; no guarantee rests on it


@dataclass(frozen=True, kw_only=True)
class GridGaussian:
    """⌊v + Y⌋ for values v rounded to a grid and exact samples Y of N(0, σ²), in steps of the grid.

    It is a function of v + Y, so as private as the real Gaussian mechanism: see `Gaussian`, whose
    grid is a part of the sensitivity and not of the noise.
    """

    scale_in_steps: int
    step: float
    hides: bool = False  # whether values count as 0, because the noise is too large for the grid

    @classmethod
    def at(
        cls, mu: float, sensitivity: float, dimension: int, largest: float = 0.0
    ) -> GridGaussian:
        """Return the least noise that makes a release of d = `dimension` numbers μ-Gaussian DP.

        `sensitivity` is the l2 distance of the float64 values of two neighbors. Rounding adds √d
        steps to it: each number is less than one longer. That is √d·2⁻³² of the noise, and more
        only if μ < 2⁻¹⁸. If it is as much as the noise, noise alone is released, because even 2³⁰
        records would be invisible in it. The grid reaches `largest`; larger values count as it.
        """
        if math.sqrt(dimension) > mu * 2.0**_MOST_BELOW:
            return cls._alone(sensitivity / mu)
        noise, distance = _exponent(sensitivity / mu), _exponent(sensitivity)
        of_noise = max(min(noise, distance) - _BITS_BELOW, noise - _MOST_BELOW)
        step = max(2.0 ** max(of_noise, _exponent(largest) - _MOST_BITS), _LEAST_STEP)
        in_steps = sensitivity / step + math.sqrt(dimension)
        return cls(scale_in_steps=drawn_scale(math.ceil(up(in_steps / mu, SUM))), step=step)

    @classmethod
    def of_scale(cls, scale: float) -> GridGaussian:
        """Return noise of standard deviation `scale`, rounded up to a grid of 2^−32 of it."""
        return cls.on(max(2.0 ** (_exponent(scale) - _BITS_BELOW), _LEAST_STEP), scale)

    @classmethod
    def on(cls, step: float, scale: float) -> GridGaussian:
        """Return noise on a given grid or, if it has more than 2^57 steps, noise of values 0."""
        if scale / step > _LARGEST_SCALE:
            return cls._alone(scale)
        return cls(scale_in_steps=drawn_scale(math.ceil(scale / step)), step=step)

    @classmethod
    def _alone(cls, scale: float) -> GridGaussian:
        """Return noise that is released instead of values, which it would hide."""
        return replace(cls.of_scale(min(scale, _LARGEST_NOISE)), hides=True)

    @property
    def scale(self) -> float:
        """σ, the standard deviation of the noise in each number."""
        return self.scale_in_steps * self.step

    def release(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return *private* values with noise, on the grid; none of them raises an error."""
        return self.add(values, self.noise(values.size, rng))

    def add(self, values: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return *private* values with noise of `noise` or `stream`, which is used once.

        Values become integers as in `to_steps`; ``nan`` counts as an end of the grid. `step` is a
        power of two and not too small, so that a product with 2/`step` is as exact as `ldexp`.
        """
        end = 0.0 if self.hides else _END_OF_GRID * self.step
        halves = np.fmin(np.fmax(values, -end), end) * (2.0 / self.step)
        steps = (np.floor(halves).astype(np.int64) + 1) >> 1
        return np.asarray((steps + noise.reshape(steps.shape)) * self.step)

    def stream(self, size: int, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield `count` times the noise of a release, drawn for several at a time."""
        at_once = max(1, _AT_ONCE // size)
        for start in range(0, count, at_once):
            n = min(at_once, count - start)
            yield from self.noise(n * size, rng).reshape(n, size)

    def noise(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return ⌊Y⌋ of samples Y, in steps."""
        sizes = whole_steps_of_normal(self.scale_in_steps, size, rng)
        bits = np.frombuffer(rng.bytes(-(-size // 8)), np.uint8)
        return sizes ^ -np.unpackbits(bits, count=size).astype(np.int64)  # ~size, if the bit is set


def _exponent(size: float) -> int:
    """Return the least e with `size` < 2^e; very small for 0."""
    return math.frexp(max(size, _LEAST_STEP))[1]
