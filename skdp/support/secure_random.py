"""Random numbers from a cryptographic generator that the operating system seeds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from threading import local
from typing import Any

import numpy as np
from scipy.special import erfinv, gammaincinv, pdtr, pdtrik

try:
    from ssl import RAND_bytes as _random_bytes  # sixteen times as fast as `os.urandom`
except ImportError:  # a Python without OpenSSL
    from os import urandom as _random_bytes


_Size = int | tuple[int, ...] | None

_MOST_BYTES = 1 << 30  # of a request: OpenSSL takes less than 2^31
_WIDEST = 2**63
_ROOT_2 = math.sqrt(2.0)
_ROOM = 4  # words are at least so many times as many as results: at most a quarter is drawn again
_WORDS = [(2 ** (8 * size) - 1, np.dtype(f"u{size}")) for size in (1, 2, 4, 8)]
_FORKS: list[None] = []  # one for each fork between the first process and this one
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=partial(_FORKS.append, None))
_AHEAD = 1024  # numbers drawn ahead; calls for more than an eighth of it draw their own


class SecureGenerator:
    """The methods of NumPy's `Generator` that skdp uses, from cryptographic random bits.

    The bits are those of OpenSSL's generator: AES-256 in counter mode (NIST SP 800-90A), seeded by
    the operating system, one per thread, and seeded anew after a fork. It replaces its key after
    each request, so its state tells nothing about past bits.

    The object has no state but a few uniform and normal numbers drawn ahead, because samplers ask
    for few at a time. Each is returned once: copies, pickles and forked processes begin without
    any, and each thread has its own. Integers and permutations are exactly uniform. Numbers of
    continuous distributions are functions of 53-bit integers, in double precision, as NumPy's are.

    A NumPy `BitGenerator` that calls Python for each number is no alternative: an exception in such
    a call, even that of Ctrl-C, is lost, and the number is 0.

    Methods have the arguments and results of NumPy's, in `size` too.
    """

    def __init__(self) -> None:
        self._uniform, self._normal = _Ahead(_uniform), _Ahead(_normal)

    def __reduce__(self) -> tuple[type[SecureGenerator], tuple[()]]:
        return SecureGenerator, ()

    def bytes(self, length: int) -> bytes:
        return _bytes(length)

    def integers(self, low: Any, high: Any = None, size: _Size = None) -> Any:
        """Return integers from `low`, or 0, to below `high`; at most 2^63 of them differ."""
        low, high = (0, low) if high is None else (low, high)
        if np.ndim(low) == np.ndim(high) == 0:
            low, width = int(low), _width(int(high) - int(low))
            if size is None:
                return low + _one_below(width)
            found = _below(width, width, _count(size)).reshape(size)
            return found + low if low else found
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high)
        if np.any(high <= low):
            raise ValueError("low >= high")
        widths = high.astype(np.uint64) - low.astype(np.uint64)  # modulo 2^64
        most = _width(int(widths.max(initial=1)))
        shape = widths.shape if size is None else size
        widths = np.broadcast_to(widths, shape).ravel()
        return _below(widths, most, widths.size).reshape(shape) + low

    def random(self, size: _Size = None) -> Any:
        """Return multiples of 2^−53 in [0, 1)."""
        return self._uniform.take(size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: _Size = None) -> Any:
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: _Size = None) -> Any:
        """Return √2·erf⁻¹ of odd multiples of 2^−53 in (−1, 1): finite and symmetric."""
        return self._normal.take(size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: _Size = None) -> Any:
        return loc + scale * self.standard_normal(size)

    def standard_exponential(self, size: _Size = None) -> Any:
        return -math.log(1.0 - self.random()) if size is None else -np.log(1.0 - self.random(size))

    def exponential(self, scale: float = 1.0, size: _Size = None) -> Any:
        return scale * self.standard_exponential(size)

    def standard_gamma(self, shape: Any, size: _Size = None) -> Any:
        return gammaincinv(shape, self.random(size))

    def geometric(self, p: float, size: _Size = None) -> Any:
        """Return numbers of trials up to the first success, below 2^62."""
        if p >= 1.0:
            return self.integers(1, 2, size)
        trials = np.minimum(self.standard_exponential(size) / -math.log1p(-p), 2.0**61)
        return np.floor(trials).astype(np.int64) + 1

    def logseries(self, p: float) -> int:
        """Return an integer n ≥ 1 with probability ∝ pⁿ/n.

        It is geometric with parameter 1 − q for q = 1 − (1 − p)^U: q has density ∝ 1/(1 − q) on
        [0, p], and the integral of q^(n − 1) over it is pⁿ/n.
        """
        q = -math.expm1(math.log1p(-p) * (1.0 - self.random()))
        return math.floor(1.0 + math.log(1.0 - self.random()) / math.log(q))

    def poisson(self, lam: float) -> int:
        """Return the least integer k with P(K ≤ k) > U."""
        u = self.random()
        count = max(0, math.ceil(pdtrik(u, lam) - 0.5)) if lam > 0.0 else 0  # up to one
        while count and pdtr(count - 1, lam) > u:
            count -= 1
        while pdtr(count, lam) <= u:
            count += 1
        return count

    def permutation(self, items: Any) -> np.ndarray:
        """Return the items, or 0, ..., items − 1, sorted by random keys that all differ."""
        items = np.arange(items) if np.ndim(items) == 0 else np.asarray(items)
        while True:
            keys = _words(len(items))
            order = np.argsort(keys)
            if np.all(np.diff(keys[order])):  # an unsigned difference; equal keys would keep order
                return items[order]

    def choice(self, a: int, size: _Size = None, p: np.ndarray | None = None) -> Any:
        """Return integers below `a`, with probabilities `p`, each independently."""
        if p is None:
            return self.integers(a, size=size)
        sums = np.cumsum(p)
        return np.searchsorted(sums / sums[-1], self.random(size), side="right")

    def spawn(self, n_children: int) -> list[SecureGenerator]:
        return [SecureGenerator() for _ in range(n_children)]


class _Ahead(local):
    """Numbers of a distribution, drawn ahead for the calls of one thread."""

    def __init__(self, draw: Callable[[int], np.ndarray]) -> None:
        self._draw, self._numbers = draw, np.empty(0)
        self._start, self._forks = 0, len(_FORKS)

    def take(self, size: _Size) -> Any:
        """Return the next unused numbers, as a float or an array of this size."""
        if size is None:
            return float(self._next(1)[0])
        count = _count(size)
        found = self._draw(count) if count > _AHEAD // 8 else self._next(count)
        return found.reshape(size)

    def _next(self, count: int) -> np.ndarray:
        start, stop = self._start, self._start + count
        if stop > self._numbers.size or self._forks != len(_FORKS):
            self._numbers, self._forks = self._draw(_AHEAD), len(_FORKS)
            start, stop = 0, count
        self._start = stop
        return self._numbers[start:stop]


def _uniform(count: int) -> np.ndarray:
    return (_words(count) >> 11) * 2.0**-53


def _normal(count: int) -> np.ndarray:
    return _ROOT_2 * erfinv((_words(count, np.int64) >> 10 | 1) * 2.0**-53)


def _bytes(length: int) -> bytes:
    """Return random bytes, of as many requests as they need."""
    if length <= _MOST_BYTES:
        return _random_bytes(length)
    return b"".join(
        _random_bytes(min(_MOST_BYTES, length - start)) for start in range(0, length, _MOST_BYTES)
    )


def _words(count: int, dtype: Any = np.uint64) -> np.ndarray:
    return np.frombuffer(_bytes(np.dtype(dtype).itemsize * count), dtype)


def _width(width: int) -> int:
    """Return a width of integers if there are some and not too many."""
    if width <= 0:
        raise ValueError("low >= high")
    if width > _WIDEST:
        raise ValueError("high - low is larger than 2**63")
    return width


def _one_below(width: int) -> int:
    """Return a uniform integer from 0 to below `width`."""
    n_bits = (width - 1).bit_length()
    while True:
        word = int.from_bytes(_random_bytes((n_bits + 7) // 8), "little") & ((1 << n_bits) - 1)
        if word < width:
            return word


def _below(width: int | np.ndarray, most: int, count: int) -> np.ndarray:
    """Return uniform integers from 0 to below `width`, or to below each of `count` widths.

    Words of a size with room for `most`, the largest width, are reduced modulo the width. Those
    beyond its last multiple are drawn again.
    """
    last, kind = next((word for word in _WORDS if word[0] >= _ROOM * most - 1), _WORDS[-1])
    end = last - (last % width + 1) % width
    found = _words(count, kind)
    if (found > end).any():
        found = found.copy()
        while (again := np.flatnonzero(found > end)).size:
            found[again] = _words(again.size, kind)
    return (found % width).astype(np.int64)


def _count(size: _Size) -> int:
    return 1 if size is None else math.prod(size) if isinstance(size, tuple) else int(size)
