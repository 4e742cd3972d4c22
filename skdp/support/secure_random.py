"""Random numbers from a cryptographic generator that the operating system seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfinv, gammaincinv

try:
    from ssl import RAND_bytes as _random_bytes  # sixteen times as fast as `os.urandom`
except ImportError:  # a Python without OpenSSL
    from os import urandom as _random_bytes

__all__ = ["SecureGenerator"]

_Size = int | tuple[int, ...] | None

_LAST_WORD = 2**64 - 1
_ROOT_2 = math.sqrt(2.0)
_FEW = 8.0  # points of a process, one after another
_ROOM = 4  # words are at least so many times as many as results: at most a quarter is drawn again
_AHEAD = 1 << 16  # points of a process at a time


class SecureGenerator:
    """The methods of NumPy's `Generator` that skdp uses, from cryptographic random bits.

    The bits are those of OpenSSL's generator: AES-256 in counter mode (NIST SP 800-90A), seeded by
    the operating system, one per thread, and seeded anew after a fork. It replaces its key after
    each request, so its state tells nothing about past bits.

    The object itself has no state. Every call asks for the bits that it needs, so a copy or a
    pickle repeats none, and there is no buffer to wipe. Integers and permutations are exactly
    uniform. Numbers of continuous distributions are functions of 53-bit integers, in double
    precision, as NumPy's are.

    A NumPy `BitGenerator` that calls Python for each number is no alternative: an exception in such
    a call, even that of Ctrl-C, is lost, and the number is 0.

    Methods have the arguments and results of NumPy's, in `size` too.
    """

    def bytes(self, length: int) -> bytes:
        return _random_bytes(length)

    def integers(self, low: Any, high: Any = None, size: _Size = None) -> Any:
        """Return integers from `low`, or 0, to below `high`; at most 2^63 of them differ."""
        low, high = (0, low) if high is None else (low, high)
        if size is None and np.ndim(low) == np.ndim(high) == 0:
            return int(low) + _one_below(int(high) - int(low))
        if np.ndim(low) == np.ndim(high) == 0:
            return _below(int(high) - int(low), _count(size)).reshape(size) + int(low)
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high)
        if np.any(high <= low):
            raise ValueError("low >= high")
        widths = high.astype(np.uint64) - low.astype(np.uint64)  # modulo 2^64
        shape = widths.shape if size is None else size
        return _below_each(np.broadcast_to(widths, shape).ravel()).reshape(shape) + low

    def random(self, size: _Size = None) -> Any:
        """Return multiples of 2^−53 in [0, 1)."""
        if size is None:
            return (int.from_bytes(_random_bytes(8), "little") >> 11) * 2.0**-53
        return _shaped((_words(_count(size)) >> 11) * 2.0**-53, size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: _Size = None) -> Any:
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: _Size = None) -> Any:
        """Return √2·erf⁻¹ of odd multiples of 2^−53 in (−1, 1): finite and symmetric."""
        odd = _words(_count(size), np.int64) >> 10 | 1
        return _shaped(_ROOT_2 * erfinv(odd * 2.0**-53), size)

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
        """Return the number of points of a process of rate 1 in [0, λ]."""
        count, end = 0, 0.0
        while lam < _FEW:
            if (end := end + self.standard_exponential()) > lam:
                return count
            count += 1
        while end <= lam:
            points = end + np.cumsum(self.standard_exponential(min(_AHEAD, math.ceil(lam) + 8)))
            count, end = count + int(np.searchsorted(points, lam, side="right")), float(points[-1])
        return count

    def permutation(self, x: Any) -> np.ndarray:
        """Return the items of x, or 0, ..., x − 1, sorted by random keys that all differ."""
        items = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
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


def _words(count: int, dtype: Any = np.uint64) -> np.ndarray:
    """Return random words."""
    return np.frombuffer(_random_bytes(np.dtype(dtype).itemsize * count), dtype)


def _one_below(width: int) -> int:
    """Return a uniform integer from 0 to below `width`."""
    if width <= 0:
        raise ValueError("low >= high")
    n_bits = (width - 1).bit_length()
    while True:
        word = int.from_bytes(_random_bytes((n_bits + 7) // 8), "little") & ((1 << n_bits) - 1)
        if word < width:
            return word


def _below(width: int, count: int) -> np.ndarray:
    """Return uniform integers from 0 to below `width`.

    Words of a size with room for it are reduced modulo the width. Those beyond its last multiple
    are drawn again.
    """
    if width <= 0:
        raise ValueError("low >= high")
    kind, last = _word_for(width)
    end = last - (last % width + 1) % width
    found = _words(count, kind)
    if end < last and (found > end).any():
        found = found.copy()
        while (again := np.flatnonzero(found > end)).size:
            found[again] = _words(again.size, kind)
    return (found % width).astype(np.int64)


def _below_each(widths: np.ndarray) -> np.ndarray:
    """Return a uniform integer from 0 to below each width, in the same way."""
    kind, last = _word_for(int(widths.max(initial=1)))
    ends = last - (last % widths + np.uint64(1)) % widths
    found = _words(widths.size, kind).astype(np.uint64)
    while (again := np.flatnonzero(found > ends)).size:
        found[again] = _words(again.size, kind)
    return (found % widths).astype(np.int64)


def _word_for(width: int) -> tuple[np.dtype, int]:
    """Return the type of words with room for integers below `width`, and the last word."""
    kind = np.min_scalar_type(min(_ROOM * width - 1, _LAST_WORD))
    return kind, 2 ** (8 * kind.itemsize) - 1


def _count(size: _Size) -> int:
    return 1 if size is None else math.prod(size) if isinstance(size, tuple) else int(size)


def _shaped(values: np.ndarray, size: _Size) -> Any:
    return float(values[0]) if size is None else values.reshape(size)
