"""Gaussian noise on a public grid whose step is a part of the noise, for sums of many rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from skdp.mechanisms._exact_normal import whole_steps_of_normal
from skdp.support.rounding import SUM, up

__all__ = ["GridGaussian"]

_BITS = 32  # of the grid below the noise and the sensitivity; see `at` for what rounding costs
_MOST_BELOW = 50  # bits below the noise
_MOST_BITS = 60  # of the grid below the largest value: within its end, 2^61 steps
_LARGEST_SCALE = 2.0**57  # of exact samples
_LARGEST_NOISE = 2.0**900  # that is computed with, if it hides all values
_END = 2.0**61  # the largest number of steps; with noise, no integer is beyond 2^63
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
        """Return the least noise that makes a release μ-Gaussian DP.

        Parameters
        ----------
        mu : float
            *Public.* Gaussian-DP parameter.
        sensitivity : float
            *Public.* l2 distance of the float64 values of two neighbors.
        dimension : int
            *Public.* How many numbers are released. Rounding adds √d steps to their distance: each
            is less than one longer. That is √d·2⁻³² of the noise, and more only if μ < 2⁻¹⁸. If it
            is as much as the noise, noise alone is released: nobody would see 2³⁰ records in it.
        largest : float
            *Public.* Values up to this size fit on the grid. Larger ones count as its end.

        Returns
        -------
        GridGaussian
        """
        if math.sqrt(dimension) > mu * 2.0**_MOST_BELOW:
            return cls._alone(sensitivity / mu)
        noise, distance = _exponent(sensitivity / mu), _exponent(sensitivity)
        of_noise = max(min(noise, distance) - _BITS, noise - _MOST_BELOW)
        step = max(2.0 ** max(of_noise, _exponent(largest) - _MOST_BITS), _LEAST_STEP)
        in_steps = sensitivity / step + math.sqrt(dimension)
        return cls(scale_in_steps=math.ceil(up(in_steps / mu, SUM)), step=step)

    @classmethod
    def of_scale(cls, scale: float) -> GridGaussian:
        """Return noise of standard deviation `scale`, rounded up to a grid of 2^−32 of it."""
        return cls.on(max(2.0 ** (_exponent(scale) - _BITS), _LEAST_STEP), scale)

    @classmethod
    def on(cls, step: float, scale: float) -> GridGaussian:
        """Return noise on a given grid or, if it has more than 2^57 steps, noise of values 0."""
        if scale / step > _LARGEST_SCALE:
            return cls._alone(scale)
        return cls(scale_in_steps=math.ceil(scale / step), step=step)

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
        end = 0.0 if self.hides else _END * self.step
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
