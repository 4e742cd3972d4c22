"""Dominating pairs of Gaussian noise on whole data and on Poisson samples.

In both neighboring relations μ is 1/s, s the noise multiplier relative to the clipping norm of one
record's contribution, and q is the sampling rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtr

from skdp.accounting.pld.dominating_pairs import (
    LARGEST_LOSS,
    UNIT,
    LossPair,
    TangentPair,
    Triple,
    mirrored,
)

__all__ = [
    "GaussianPair",
    "PoissonGaussianPair",
    "ReplaceOneGaussianPair",
]

_FAR = 600.0  # e^600/q is a float for every rate q above 1e-48; 1 − c is δ below −600
_STEEP = 40.0  # arcsinh(e^x/2) exceeds x by e^(−2x) at most: by nothing in floats from here on


def _gaussian(losses: np.ndarray, mu: float) -> Triple:
    """Return P(L > ε), e^ε·Q(L > ε) and a relative rounding bound for N(μ, 1) against N(0, 1).

    With u = ε/μ − μ/2 these are Φ(−u) and e^ε·Φ(−u − μ) = φ(u)·M(u + μ), M Mills' ratio: the
    second form neither overflows nor cancels. The bound: a relative error of a few units in ε
    and μ moves u by a few units times |u| + μ, hence the tails by that times |u|.
    """
    # In units of 2⁻⁵³ and with x = |u| + μ: two roundings move u by 2|u| + μ/2. The logarithm of a
    # tail has the derivative 1/M(u) ≤ |u| + 1, so the tails move by 2x² + 2x at most. The exponent
    # u²/2 in ndtr is off by 4 units of itself, 2x². Functions and products add less than 10. That
    # is 5x² + 11 at most. The rest of 8x² + 32 is for an ε that is itself off by 2 units.
    u = losses / mu - 0.5 * mu
    split = int(np.searchsorted(u, -4.0 - mu))
    low = np.exp(losses[:split]) * ndtr(-mu - u[:split])
    high = u[split:]
    high = 0.5 * np.exp(-0.5 * high * high) * erfcx((high + mu) * math.sqrt(0.5))
    return ndtr(-u), np.concatenate([low, high]), UNIT * (32.0 + 8.0 * (np.abs(u) + mu) ** 2)


@dataclass(frozen=True)
class GaussianPair(TangentPair):
    """N(μ, 1) against N(0, 1): a sum of sensitivity Δ plus noise of deviation Δ/μ."""

    mu: float

    def evaluate(self, losses: np.ndarray) -> Triple:
        first, second, relative = _gaussian(losses, self.mu)
        return first - second, second, relative * (first + second)


def _amplified(losses: np.ndarray, rate: float) -> np.ndarray:
    """Return log(1 + (e^ε − 1)/q), −inf where that is log of a number ≤ 0."""
    near = np.minimum(losses, _FAR)
    inside = np.maximum(np.expm1(near) / rate, -1.0)
    with np.errstate(divide="ignore"):
        return np.log1p(inside) + (losses - near)


@dataclass(frozen=True)
class PoissonGaussianPair(TangentPair):
    """A Poisson-sampled Gaussian under add/remove, in the order "record removed".

    ((1 − q)·N(0, s²) + q·N(1, s²), N(0, s²)) (Zhu, Dong and Wang 2022, Theorem 11). Given the
    sample S of the other records, of the same distribution under D and D', and the extra record x,
    for c ≥ 1 − q and events E

        (1 − q)·M(S)(E) + q·M(S + x)(E) − c·M(S)(E) = q·(M(S + x)(E) − c'·M(S)(E)),

    c' = (c − 1 + q)/q, so that the curve is at most q·g(log c'), g the Gaussian one with μ = 1/s;
    for c < 1 − q it is 1 − c. Joint convexity of H_c carries this over to the mixture over S.
    """

    mu: float
    rate: float

    @property
    def backward(self) -> LossPair:
        return _PoissonGaussianAdded(self.mu, self.rate)

    @property
    def origin(self) -> float:  # type: ignore[override]
        return math.log1p(-self.rate)

    def evaluate(self, losses: np.ndarray) -> Triple:
        base = _amplified(losses, self.rate)
        start = int(np.searchsorted(base, -_FAR))
        bottom, top, base = losses[:start], losses[start:], base[start:]
        first, second, relative = _gaussian(base, self.mu)
        value = self.rate * (first - second)
        # c' is off by 3 units of |c' − 1|. If c' > 1, the curve q·g(c') moves by 3 of q·second.
        # Else it moves by 3 units of q, and `first` is at least 1/2: 6 of q·first. The logarithm is
        # off by one unit of `base`, which `_gaussian` allows, and by one of ε.
        error = self.rate * (first + second) * (relative + 8.0 * UNIT * (1.0 + np.abs(top)))
        c = np.exp(bottom)
        return (
            np.concatenate([-np.expm1(bottom), value]),
            np.concatenate([c, np.exp(top - base) * second]),
            np.concatenate([np.full(start, 8.0 * UNIT), error]),
        )


@dataclass(frozen=True)
class _PoissonGaussianAdded(TangentPair):
    """The pair of `PoissonGaussianPair` in the order "record added": its loss is bounded.

    With w = 1 − e^ε·(1 − q), the curve is w·g(ε'') with e^ε'' = q·e^ε/w, and 0 where w ≤ 0, since
    M(S)(E) − c·(1 − q)·M(S)(E) − c·q·M(S + x)(E) = w·(M(S)(E) − (c·q/w)·M(S + x)(E)).
    """

    mu: float
    rate: float

    @property
    def backward(self) -> LossPair:
        return PoissonGaussianPair(self.mu, self.rate)

    @property
    def origin(self) -> float:  # type: ignore[override]
        return -math.log1p(-self.rate)

    def evaluate(self, losses: np.ndarray) -> Triple:
        largest = -math.log1p(-self.rate)
        end = int(np.searchsorted(losses, largest))
        inner, rest = losses[:end], np.zeros(losses.size - end)
        w = -np.expm1(inner - largest)
        base = inner + math.log(self.rate) - np.log(w)
        first, second, relative = _gaussian(base, self.mu)
        value = w * (first - second)
        slope = (1.0 - w) * first + w * second
        # The roundings of log q and log w move `base` by 3·|log q| units, and the curve by as many
        # units of w·second. That is within 32·(first + second) ≥ 64·second for q ≥ 1e-9; smaller
        # rates are not proved. The exponent of w is off by 3·largest + |ε| units, which moves w by
        # 1 − w times that. The curve moves by `first` times what w moves.
        error = w * (first + second) * relative
        error += 8.0 * UNIT * (largest + np.abs(inner) + w) * np.exp(inner - largest) * first
        # The float `largest` is within 4 units of the end, up to which δ is at most w.
        beyond = np.maximum(largest * (1.0 + 4.0 * UNIT) - losses[end:], 0.0)
        value, slope = np.append(value, rest), np.append(slope, rest)
        return value, slope, np.append(error, beyond)


@dataclass(frozen=True)
class ReplaceOneGaussianPair(TangentPair):
    """A Poisson-sampled Gaussian under replace-one: its own mirror image.

    ((1 − q)·N(0, s²) + q·N(1, s²), (1 − q)·N(0, s²) + q·N(−1, s²)), which is attained by the
    contributions +C·e and −C·e, s relative to C (Zhu, Dong and Wang 2022, appendix on
    substitution). The loss exceeds ε > 0 where x/s² > arcsinh(A·sinh(ε/2)) + ε/2,
    A = e^(1/(2s²))·(1 − q)/q. An error in this x is harmless to first order: the event {L > ε} is
    where P − e^ε·Q is largest.
    """

    mu: float
    rate: float

    def evaluate(self, losses: np.ndarray) -> Triple:
        return mirrored(self._forward, losses)

    def _forward(self, losses: np.ndarray) -> Triple:
        near, x = np.minimum(losses, LARGEST_LOSS), self._threshold(losses)
        none, plus, minus = ndtr(-x), ndtr(self.mu - x), ndtr(-self.mu - x)
        c, more = np.exp(near), np.expm1(near) * (1.0 - self.rate) * none
        slope = c * ((1.0 - self.rate) * none + self.rate * minus)
        value = self.rate * (plus - c * minus) - more
        size = self.rate * (plus + c * minus) + more
        # In units of 2⁻⁵³ and with X = |x| + μ: the three arguments are off by X, which moves the
        # tails by X·(X + 1). The exponents in ndtr are off by 2X², and e^ε by ε if ε is off by one
        # unit. All of this is relative to `size`, the sum of the sizes of the terms. For x > 37
        # Φ(−x) underflows. Then δ is too large, which an upper bound may be.
        far = losses > LARGEST_LOSS  # where P(L > ε) is above δ and enough
        value[far] = ((1.0 - self.rate) * none + self.rate * plus)[far]
        return value, slope, UNIT * (32.0 + 8.0 * (np.abs(x) + self.mu) ** 2 + losses) * size

    def _threshold(self, losses: np.ndarray) -> np.ndarray:
        """Return x/s for losses ≥ 0, without overflow."""
        log_a = 0.5 * self.mu**2 + math.log1p(-self.rate) - math.log(self.rate)
        with np.errstate(divide="ignore"):
            log_double = log_a + 0.5 * losses + np.log(-np.expm1(-losses))
        near = np.arcsinh(0.5 * np.exp(np.minimum(log_double, _STEEP)))
        return (np.where(log_double < _STEEP, near, log_double) + 0.5 * losses) / self.mu
