r"""Rényi divergences of Poisson-sampled Gaussians: a trapezoidal rule whose error is proved.

With m(x) = 1 − q + q·e^(μx − μ²/2), P has density φ(x)·m(x) if it is sampled, else φ(x), and Q has
φ(x)·m(−x) or φ(x); L = log P/Q. For M = E_Q e^(αL), with ψ(L) = e^(αL) − 1 − α(e^L − 1) ≥ 0,

.. math:: M - 1 = \int Q(x)\,ψ(L(x))\,dx,

a sum of positive terms that does not cancel however small M − 1 is. In the strip \|Im z\| ≤ a with
a < π/μ the integrands are analytic, \|m(x + iy)\| ≤ m(x) and \|m(x + iy)\| ≥ m(x)·cos(μy/2). So a
step h errs by at most 2N/(e^(2πa/h) − 1), N = e^(a²/2)·cos(μa/2)^(−β)·(M + 2α), where β is α − 1
if Q is sampled, else 0 (Trefethen and Weideman 2014, Theorem 5.1). Here h is such that the bound
is e^(−90)·(M + 2α), which is added. No order is special: integers need no sum of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from skdp._validation import check_real
from skdp.privacy.renyi import log_excess

__all__ = ["SampledGaussianPair", "log_mixture"]

_ERROR = 90.0
_REACH = 13.5  # slope of the log-integrand where it is cut off; φ(13.5)/13.5 < e^−90
_MOST_NODES = 1 << 16


def log_mixture(rate: float, exponent: np.ndarray) -> np.ndarray:
    """Return log(1 − q + q·e^exponent) without cancellation."""
    if rate == 1.0:
        return exponent
    small = np.log1p(rate * np.expm1(np.minimum(exponent, 1.0)))
    large = np.logaddexp(math.log1p(-rate), math.log(rate) + exponent)
    return np.where(exponent < 1.0, small, large)


@dataclass(frozen=True)
class SampledGaussianPair:
    """P and Q of this module: the record moves P's sum by `mu`, Q's by −`mu`, if it is sampled."""

    mu: float
    rate: float
    first: bool
    """Whether P is sampled; else it is N(0, 1)."""
    second: bool
    """Whether Q is sampled; else it is N(0, 1)."""

    def renyi(self, order: float) -> float:
        """Return D_α(P‖Q), never below the truth and within a relative 1e-10 of it.

        Less exact are divergences below e^(−60), and those where the rule has more than 65536
        nodes although `_bound` is not exact; that takes μ < 0.01 or an order of at least 10⁵.
        """
        order = check_real("order", order, low=1.0)
        if self.mu == 0.0:
            return 0.0
        bound, is_exact = self._bound(order)
        nodes = None if is_exact else self._nodes(order)
        if nodes is not None:
            bound = min(bound, self._log_moment(order, *nodes))
        return bound / (order - 1.0)

    def _bound(self, order: float) -> tuple[float, bool]:
        """Return an upper bound on log M, and whether it is log M up to rounding.

        The joint convexity of M gives 1 − q + q·e^(α(α−1)s²/2), s the distance of the two sums;
        the triangle inequality in the norm of order α gives [1 − q + q·e^((α−1)μ²/2)]^α for P,
        times (1 − q)^(1−α), a bound on (dN(0, 1)/dQ)^(α−1), for Q.
        """
        shift = self.mu * (self.first + self.second)
        convex = self._mixture(0.5 * order * (order - 1.0) * shift * shift)
        if self.rate == 1.0:
            return convex * (1.0 + 1e-14), True
        far, odds = 0.5 * (order - 1.0) * self.mu * self.mu, self._log_odds()
        triangle = order * self._mixture(far) if self.first else 0.0
        triangle -= self.second * (order - 1.0) * math.log1p(-self.rate)
        lost = max(-odds - far, odds - order * self.mu * self.mu if self.second else -math.inf)
        rounding = 1e-15 * order * (far - math.log(self.rate))
        is_exact = self.first and math.log(order) + lost < -35.0
        return min(convex, triangle) * (1.0 + 1e-14) + rounding, is_exact

    def _mixture(self, exponent: float) -> float:
        return float(log_mixture(self.rate, np.asarray(exponent)))

    def _log_odds(self) -> float:
        return math.log(self.rate) - math.log1p(-self.rate)

    def _nodes(self, order: float) -> tuple[np.ndarray, float] | None:
        """Return x and the step, or None if there would be too many.

        The log-integrand's slope is −x + μ·(α·w(x) + β·w(−x)), w(x) the share of the sampled part
        in m: at least 13.5 before the start, at most −13.5 after the end, by induction in the loop.
        """
        mu, beta = self.mu, self.second * (order - 1.0)
        step = self._step(beta)
        odds = self._log_odds() - 0.5 * mu * mu
        start, least = -_REACH - mu * self.second, mu * beta * float(expit(odds)) + _REACH
        reach = self.first * mu * order
        end = least + reach
        for _ in range(20):
            end = least + reach * float(expit(odds + mu * end))
        if not end - start < _MOST_NODES * step:
            return None
        return start + step * np.arange(math.ceil((end - start) / step) + 1.0), step

    def _step(self, beta: float) -> float:
        """Return the step that errs by e^(−90)·(M + 2α) for about the best width of the strip."""
        widest = (2.0 if beta else 3.1) / self.mu
        width = min(math.sqrt(2.0 * _ERROR / (1.0 + 0.25 * beta * self.mu * self.mu)), widest)
        growth = 0.5 * width**2 - (beta and beta * math.log(math.cos(0.5 * self.mu * width)))
        return 2.0 * math.pi * width / (_ERROR + math.log(4.0) + growth)

    def _log_moment(self, order: float, x: np.ndarray, step: float) -> float:
        """Return log M, rounded upwards."""
        mu, density, loss = self.mu, -0.5 * x * x - 0.5 * math.log(2.0 * math.pi), np.zeros_like(x)
        if self.first:
            loss = log_mixture(self.rate, mu * x - 0.5 * mu * mu)
        if self.second:
            other = log_mixture(self.rate, -mu * x - 0.5 * mu * mu)
            density, loss = density + other, loss - other
        inside = density + log_excess(loss, order) + math.log(step)
        ends = np.array([0, -1])
        tails = density[ends] + order * loss[ends] - math.log(_REACH)
        proved = [-_ERROR + math.log(2.0 * order + 4.0)]  # 2α, and twice 1 or α beyond the ends
        rounding = 1e-11 + 1e-15 * order * float(np.abs(loss[ends]).max())
        log_less = logsumexp(np.concatenate([inside, tails, proved])) + rounding
        return float(np.logaddexp(0.0, log_less)) * (1.0 + 1e-15)
