"""All sources of randomness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from itertools import count
from numbers import Integral
from typing import Any, cast

import numpy as np

from skdp.support.secure_random import SecureGenerator
from skdp.support.types import RandomState

_KEY_BYTES = 32
_BITS, _MARGIN = 53, 2.0**-40  # of a uniform number, and of a quotient of logarithms
_NEVER = 1e-300  # instead of 0, which has no logarithm
_LONGEST = 2**60  # of a gap; beyond any number of rows
_DIGITS, _LOST = 30, 5  # of decimal numbers for each round, and those lost to rounding
_AT_ONCE = 1 << 14  # rows sampled at a time; no guarantee rests on it
_TAIL = 700.0  # e^−700 is the least positive float


class HiddenSeed(int):
    """A seed that does not print, because its noise can be subtracted."""

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


class HiddenState:
    """A seed that is not an integer, as `value`; it does not print either."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<hidden>"


def hidden(random_state: object) -> object:
    """Return a random state in a form that prints no seed."""
    silent = np.random.Generator, np.random.RandomState, HiddenSeed, HiddenState
    if random_state is None or isinstance(random_state, silent):
        return random_state
    if isinstance(random_state, float) and not math.isfinite(random_state):  # and so no seed
        return random_state
    if isinstance(random_state, Integral):
        return HiddenSeed(random_state)
    return HiddenState(random_state)


def _shown(random_state: object) -> Any:
    return random_state.value if isinstance(random_state, HiddenState) else random_state


def noise_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that a fit draws its noise from.

    With ``None`` all bits come from the operating system's cryptographic generator. The object then
    has the methods of NumPy's `Generator` that skdp uses. Anything else makes the noise repeatable,
    so anyone who knows the seed can subtract the noise: seeds are for tests only.

    Examples
    --------
    >>> noise_generator(0).integers(100, size=3).tolist()
    [85, 63, 51]
    """
    random_state = _shown(random_state)
    if random_state is None:
        return cast(np.random.Generator, SecureGenerator())
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        pass  # whose message has the seed
    raise ValueError(
        "random_state must be None, a NumPy Generator or RandomState, an integer that is not "
        "negative, or several of these."
    )


def simulation_generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator, for simulations: their random numbers need not be secret."""
    return np.random.default_rng() if random_state is None else noise_generator(random_state)


def child_generator(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator whose stream is independent of the further stream of another one."""
    if isinstance(rng, SecureGenerator):
        return rng  # it has no stream: every number is new
    return np.random.default_rng(int.from_bytes(rng.bytes(_KEY_BYTES), "little"))


def seed_of(random_state: RandomState) -> RandomState:
    """Return a random state in a form that scikit-learn takes, for fits without privacy."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return _shown(random_state)


def likely_size(n: float, rate: float) -> float:
    """Return a size that a Poisson sample exceeds with chance e^−700 at most (Bernstein)."""
    mean = rate * n
    return min(n, mean + math.sqrt(2.0 * _TAIL * mean) + 2.0 / 3.0 * _TAIL)


def poisson_sample(n: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return the sorted numbers of rows, out of `n`, each with probability `rate`, independently.

    The gaps between them are geometric, so the cost is that of the sample alone. Every row has
    exactly the probability `rate`, a binary fraction.
    """
    if rate >= 1.0:
        return np.arange(n)
    parts, last = [], -1
    while last < n:
        expected = (n - last) * rate
        gaps = _gaps(rate, math.ceil(expected + 4.0 * math.sqrt(expected) + 8.0), rng)
        parts.append(np.minimum(gaps, n + 1).cumsum() + last)
        last = int(parts[-1][-1])
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return rows[: rows.searchsorted(n)]


def poisson_samples(
    n: int, rate: float, count: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield `count` independent samples; several are drawn at a time, as one of more rows."""
    at_once = max(1, int(_AT_ONCE / max(1.0, n * rate)))
    for start in range(0, count, at_once):
        several = range(min(at_once, count - start))
        rows = poisson_sample(len(several) * n, rate, rng)
        ends = rows.searchsorted([n * (i + 1) for i in several])
        for i in several:
            yield rows[ends[i - 1] if i else 0 : ends[i]] - i * n


def _gaps(rate: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return ⌊log U/log(1 − rate)⌋ + 1 for uniform U, of which 53 bits are drawn, or more.

    Logarithms in floating point and the quotient are exact to a few units of 2⁻⁵³. If both ends of
    what U may be have one gap, with a margin of thousands of units, that is the gap.
    """
    first, base = np.frombuffer(rng.bytes(8 * size), np.uint64) >> 11, math.log1p(-rate)
    ends = np.empty((2, size))
    ends[0], ends[1] = first + 1.0, np.maximum(first, _NEVER)
    factors = np.array([[1.0 - _MARGIN], [1.0 + _MARGIN]]) / base
    least, most = np.minimum(np.floor(np.log(ends * 2.0**-_BITS) * factors), _LONGEST)
    found = least.astype(np.int64)
    for i in (least != most).nonzero()[0]:
        found[i] = _exact_gap(rate, int(first[i]), rng)
    return found + 1


def _exact_gap(rate: float, first: int, rng: np.random.Generator) -> int:
    """Return ⌊log U/log(1 − rate)⌋ for U with these first bits, by decimal numbers."""
    for rounds in count(2):
        first, parts = first << _BITS | int(rng.integers(2**_BITS)), 2 ** (_BITS * rounds)
        with localcontext(prec=_DIGITS * rounds):
            base = (1 - Decimal(rate)).ln()
            error = Decimal(10) ** (_LOST - _DIGITS * rounds) / Decimal(rate)
            ends = (Decimal(first + 1) / parts, Decimal(max(first, _NEVER)) / parts)
            least, most = (
                int(end.ln() / base * (1 + sign * error))
                for end, sign in zip(ends, (-1, 1), strict=True)
            )
        if least == most:
            return min(least, _LONGEST)
    raise AssertionError("unreachable")
