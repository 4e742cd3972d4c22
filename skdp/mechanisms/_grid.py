"""A public grid, and exact samples of distributions on it, by integers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

_BITS = 30  # of the grid below the sensitivity
_END = 2**61  # the largest number of steps that is released
_AT_ONCE = 2**20  # proposals; no guarantee rests on it
_FULL = 2**62 + 2**60  # noise is cut off here: any number of the grid plus that is past its end


def grid_step(sensitivity: float) -> float:
    """Return the width of the grid, a power of two: 2^−30 to 2^−31 of the sensitivity."""
    return 2.0 ** (math.floor(math.log2(sensitivity)) - _BITS)


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
        wanted = math.ceil((missing + 2.0 * math.sqrt(missing)) / chance)  # often enough
        values, good = propose(min(wanted, _AT_ONCE))
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
