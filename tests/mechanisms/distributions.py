"""Distribution functions of the noises, written down independently of the library."""

import math

import numpy as np
from scipy import stats


def cdf(mechanism):
    """P(X < x) of the ideal noise, whose steps the samples have to hit; x in units of the value."""
    return CDFS[type(mechanism).__name__](mechanism)


def laplace(m):
    return stats.laplace(scale=m.scale).cdf


def gaussian(m):
    return stats.norm(scale=m.scale).cdf


def truncated_laplace(m):
    whole = stats.laplace(scale=m.scale)
    low, high = whole.cdf(-m.cut), whole.cdf(m.cut)
    return lambda x: np.clip((whole.cdf(x) - low) / (high - low), 0.0, 1.0)


def staircase(m):
    """The integral of a density that is e^(−ε·⌈(|x| − γΔ)/Δ⌉), up to a constant."""
    period = math.ceil(m.sensitivity / m.step) * m.step
    center = max(1, round(m.gamma * period / m.step)) * m.step
    fall = math.exp(-m.epsilon)

    def upper(x):
        level = np.maximum(np.ceil((x - center) / period), 0.0)
        full = np.where(level > 0, center + period * (fall - fall**level) / (1 - fall), 0.0)
        start = np.where(level > 0, center + (level - 1) * period, 0.0)
        return full + (x - start) * fall**level

    total = 2.0 * (center + period * fall / (1.0 - fall))
    return lambda x: 0.5 + np.sign(x) * upper(np.abs(x)) / total


def on_integers(weight, reach):
    m = np.arange(-reach, reach + 1)
    mass = weight(m) / weight(m).sum()
    below = np.concatenate([[0.0], np.cumsum(mass)])
    return lambda x: below[np.clip(np.ceil(x).astype(int) + reach, 0, below.size - 1)]


def geometric(m):
    return on_integers(lambda k: np.exp(-np.abs(k) / m.scale), math.ceil(60 * m.scale) + 2)


def discrete_gaussian(m):
    return on_integers(lambda k: np.exp(-0.5 * (k / m.scale) ** 2), math.ceil(14 * m.scale) + 2)


CDFS = {
    "Laplace": laplace,
    "Gaussian": gaussian,
    "TruncatedLaplace": truncated_laplace,
    "Staircase": staircase,
    "Geometric": geometric,
    "DiscreteGaussian": discrete_gaussian,
}
