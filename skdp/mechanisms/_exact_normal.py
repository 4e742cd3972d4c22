"""Exact samples of normal distributions on the integers (Karney 2016, Algorithms N and D)."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import numpy as np

from skdp.mechanisms._grid import cut_off, geometric, rejection

__all__ = ["discrete_normal", "whole_steps_of_normal"]

_DIGIT = 2**62  # base of the further digits


def whole_steps_of_normal(scale: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return ⌊scale·abs(Z)⌋ for standard normal Z.

    abs(Z) = k + x with P(k) ∝ e^(−k²/2), x uniform in [0, 1), accepted with e^(−x(2k + x)/2). The
    first digit of x in base `scale` is all that shows; further ones are drawn if needed.
    """

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        k, j = _wholes(n, rng), rng.integers(scale, size=n)
        return j + scale * cut_off(k, scale), _accepted(k, j, scale, rng, _Digits(rng))

    return rejection(size, propose, 0.7)


def discrete_normal(
    numerator: int, denominator: int, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return integers with probability ∝ e^(−m²/2s²), s = `numerator`/`denominator`.

    As above, but among the points k + x only those with (k + x)·s an integer: j-th of at most
    ⌈s⌉ integers from ⌈k·s⌉ on. Zero would come with either sign, so −0 is rejected.
    """
    window = -(-numerator // denominator)

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        k, j = _wholes(n, rng), rng.integers(window, size=n)
        m = j - (-k * numerator // denominator)
        x = m * denominator - k * numerator  # times 1/numerator
        good = (x < numerator) & _accepted(k, np.minimum(x, numerator), numerator, rng)
        negative = rng.integers(2, size=n) == 0
        return np.where(negative, -m, m), good & ~(negative & (m == 0))

    return rejection(size, propose, 0.3)


def _wholes(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return k ≥ 0 with P(k) ∝ e^(−k²/2) = e^(−k/2)·e^(−k(k − 1)/2)."""

    def propose(n: int) -> tuple[np.ndarray, np.ndarray]:
        k = geometric(2, n, rng)
        return k, geometric(2, n, rng) >= k * (k - 1)

    return rejection(size, propose, 0.6)


class _Digits:
    """Uniform numbers u in [0, 1); digits are drawn when a comparison needs them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._digits: defaultdict[int, list[int]] = defaultdict(list)

    def exceeds_another(self, which: int) -> bool:
        """Return whether u exceeds a fresh uniform number."""
        digits = self._digits[which]
        for place in count():
            if place == len(digits):
                digits.append(int(self._rng.integers(_DIGIT)))
            other = int(self._rng.integers(_DIGIT))
            if other != digits[place]:
                break
        return other < digits[place]


def _accepted(
    k: np.ndarray, x: np.ndarray, one: int, rng: np.random.Generator, rest: _Digits | None = None
) -> np.ndarray:
    """Return Bernoulli samples of probability e^(−y(2k + y)/2), y = (x + u)/one; u is `rest`, or 0.

    All of k + 1 trials of probability e^(−γ), γ = y·(2k + y)/(2k + 2) ≤ 1, have to succeed.
    """
    passed = np.ones(k.size, dtype=bool)
    for trial in range(int(k.max(initial=0)) + 1):
        tried = np.flatnonzero(passed & (trial <= k))
        passed[tried] = _trials(tried, k, x, one, rng, rest)
    return passed


def _trials(
    running: np.ndarray,
    k: np.ndarray,
    x: np.ndarray,
    one: int,
    rng: np.random.Generator,
    rest: _Digits | None,
) -> np.ndarray:
    """Return trials of e^(−γ): of those of γ/1, γ/2, ... the first that fails is odd."""
    start, true, step = running, np.zeros(k.size, dtype=bool), 1
    while running.size:
        low, high = x[running], x[running] + 2 * k[running] * one
        passed = _exceeds(low, rng.integers(step * one, size=running.size), running, rest)
        other = rng.integers((2 * k[running] + 2) * one)
        passed &= _exceeds(high, other, running, rest)
        true[running[~passed]] = step % 2 == 1
        running, step = running[passed], step + 1
    return true[start]


def _exceeds(
    values: np.ndarray, others: np.ndarray, which: np.ndarray, rest: _Digits | None
) -> np.ndarray:
    """Return whether value + u > other + a fresh uniform number, or value > other without u."""
    larger = values > others
    for tie in np.flatnonzero(values == others) if rest else ():
        larger[tie] = rest.exceeds_another(int(which[tie]))  # type: ignore[union-attr]
    return larger
