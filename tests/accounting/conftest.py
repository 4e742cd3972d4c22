"""Leaves whose compositions are known exactly."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from skdp.privacy import Event, GaussianCurve, PrivacyCurve


@dataclass(frozen=True)
class BlackBoxCurve(PrivacyCurve):
    """All that (ε, δ)-DP says (Kairouz, Oh and Viswanath 2015)."""

    size: float
    failure: float

    def _delta(self, epsilon):
        p = 1.0 / (1.0 + np.exp(-self.size))
        inner = p * np.maximum(0.0, -np.expm1(np.minimum(epsilon - self.size, 0.0)))
        low = (1.0 - p) * np.maximum(0.0, -np.expm1(np.minimum(epsilon + self.size, 0.0)))
        return self.failure + (1.0 - self.failure) * (inner + low)

    def reversed(self):
        return self


@dataclass(frozen=True)
class BlackBox(Event):
    """A release of which only (size, failure)-DP is known."""

    size: float
    failure: float = 0.0

    def curve(self, neighboring):
        return BlackBoxCurve(self.size, self.failure)

    def pure_epsilon(self, neighboring):
        return self.size if self.failure == 0.0 else float("inf")

    def gdp_mu(self, neighboring):
        return float("inf")  # accountants have to cover the curve


@dataclass(frozen=True)
class LaplaceCurve(PrivacyCurve):
    size: float

    def _delta(self, epsilon):
        inner = -np.expm1((np.clip(epsilon, -self.size, self.size) - self.size) / 2)
        outer = np.where(epsilon > 0.0, 0.0, -np.expm1(np.minimum(epsilon, 0.0)))
        return np.where(np.abs(epsilon) <= self.size, inner, outer)

    def reversed(self):
        return self


def exact_delta(mu, size, failure, count, epsilon):
    """δ(ε) of `count` black boxes and one μ-Gaussian release: a sum over the boxes' outcomes."""
    j = np.arange(count + 1)
    p = binom.pmf(j, count, 1.0 / (1.0 + np.exp(size)))
    inner = p @ GaussianCurve(mu).delta(epsilon - (count - 2 * j) * size)
    return 1.0 - (1.0 - failure) ** count * (1.0 - float(inner))


@pytest.fixture(scope="session")
def black_box():
    return BlackBox


@pytest.fixture(scope="session")
def laplace_curve():
    return LaplaceCurve


@pytest.fixture(scope="session")
def exact():
    return exact_delta
