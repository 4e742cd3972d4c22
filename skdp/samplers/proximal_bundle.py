"""The proximal sampler whose inner step is supported by a bundle of cutting planes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from skdp.samplers.base import Target
from skdp.samplers.kernels.alternating import AlternatingSampler

__all__ = ["Bundle", "ProximalBundleSampler"]

_SPARE_CUTS = 50
_EXCHANGES = 500
_DUAL_GAP = 0.01


class Bundle:
    """Cuts A_j(θ) = b_j + g_j·θ ≤ V(θ) = c·Σ ℓ, one from each point that was looked at.

    Any mixture Σ w_j·A_j is below V as well. `support` chooses the mixture that is best under
    V + |θ − center|²/(2σ²): its minimum with the quadratic is the greatest, and lies at
    center − σ²·Σ w_j·g_j. It is found by exchanging weight between two cuts at a time; whatever is
    found is below V.
    """

    def __init__(self, target: Target, variance: float) -> None:
        self._target, self._variance = target, variance
        size = int(np.prod(target.shape))
        self._slopes, self._levels = np.zeros((0, size)), np.zeros(0)
        self._weights = np.zeros(0)
        self.n_queries = 0

    def value(self, theta: np.ndarray) -> float:
        """Return V(θ): one query of each record."""
        self.n_queries += self._target.design.n_samples
        return self._loss(self._target.design.matvec(theta))

    def cut(self, theta: np.ndarray) -> float:
        """Add the cut that touches V at θ; return V(θ). One query of each record."""
        target, scores = self._target, self._target.design.matvec(theta)
        self.n_queries += target.design.n_samples
        slope = target.design.rmatvec(target.loss.gradient(target.y, scores))
        slope, value = target.temperature * slope.ravel(), self._loss(scores)
        self._drop_idle_cuts()
        self._slopes = np.vstack([self._slopes, slope])
        self._levels = np.append(self._levels, value - slope @ theta.ravel())
        self._weights = np.append(self._weights, 0.0 if self._weights.size else 1.0)
        return value

    def support(self, center: np.ndarray) -> tuple[float, np.ndarray]:
        """Return level b and slope g of the mixture that serves best for a center."""
        gram = self._variance * self._slopes @ self._slopes.T
        lift = self._levels + self._slopes @ center.ravel()
        self._weights = _best_mixture(self._weights, lift, gram)
        slope = (self._weights @ self._slopes).reshape(self._target.shape)
        return float(self._weights @ self._levels), slope

    def _loss(self, scores: np.ndarray) -> float:
        target = self._target
        return target.temperature * float(target.loss.value(target.y, scores).sum())

    def _drop_idle_cuts(self) -> None:
        """Make room: of the cuts without weight, the oldest go."""
        surplus = self._levels.size - self._slopes.shape[1] - _SPARE_CUTS
        if surplus > 0:
            idle = np.flatnonzero(self._weights == 0.0)[:surplus]
            self._slopes = np.delete(self._slopes, idle, axis=0)
            self._levels = np.delete(self._levels, idle)
            self._weights = np.delete(self._weights, idle)


def _best_mixture(weights: np.ndarray, lift: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return w on the simplex that about maximises w·lift − w·gram·w/2, from given weights."""
    weights, ascent = weights.copy(), lift - gram @ weights
    for _ in range(_EXCHANGES):
        best, worst = int(np.argmax(ascent)), int(np.argmin(np.where(weights > 0, ascent, np.inf)))
        gain = ascent[best] - ascent[worst]
        if gain <= _DUAL_GAP:
            break
        curvature = gram[best, best] + gram[worst, worst] - 2.0 * gram[best, worst]
        amount = min(gain / curvature, weights[worst]) if curvature > 0.0 else weights[worst]
        weights[best] += amount
        weights[worst] = 0.0 if amount == weights[worst] else weights[worst] - amount
        ascent = ascent - amount * (gram[best] - gram[worst])
    return weights / weights.sum()


_CLOSE_ENOUGH = 0.5
_CUTS_PER_ROUND = 50
_TRIES_PER_ROUND = 50


@dataclass(frozen=True)
class ProximalBundleSampler(AlternatingSampler):
    """Alternate θ' = θ + √η·ξ with an exact draw from exp(−U(θ) − |θ − θ'|²/(2η)), by a bundle.

    The inner step knows c·Σ ℓ by its values and subgradients only. A proximal bundle method puts
    cutting planes below it until a mixture A of them nearly touches where A and the quadratic are
    least together. There the law is Gaussian, and a proposal is accepted with probability
    exp(A(θ) − c·Σ ℓ(θ)); that is repeated until one is. Cuts stay valid, so they are kept from
    step to step. A reference for `ProximalSampler`, which looks into the sum and needs less.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data, a loss
        without kinks and a cut that touches at the proposal's mean. Halved for several scores.
    min_steps : int
        *Public.* Fewest steps.

    Notes
    -----
    **Certificate: stable.** A mixture of cuts is an affine function below the potential, so the
    accepted proposal has the inner law exactly, however well or badly the bundle was solved
    (*Reference samplers* in the documentation). Start, step size and number of steps are public:
    Theorem A' holds as it does for `ProximalSampler`.

    References
    ----------
    Liang and Chen, "A proximal algorithm for sampling from non-smooth potentials", Winter
    Simulation Conference, 2022.
    """

    max_exponent: float = 2.0

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> _BundleStep:
        return _BundleStep(target, variance, rng)


class _BundleStep:
    """Draws by rejection under a bundle of cuts."""

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._variance, self._rng = variance, rng
        self._bundle = Bundle(target, variance)
        self._bundle.cut(np.zeros(target.shape))
        self.n_tries = 0

    @property
    def n_queries(self) -> int:
        """How many times a record was looked at, at one point each time."""
        return self._bundle.n_queries

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one draw for a center; after many rejections the bundle is refined."""
        for tries in count():
            if tries % _TRIES_PER_ROUND == 0:
                level, slope = self._touching(center)
                mean = center - self._variance * slope
            theta = mean + math.sqrt(self._variance) * self._rng.standard_normal(mean.shape)
            self.n_tries += 1
            excess = self._bundle.value(theta) - level - float(np.vdot(slope, theta))
            if excess <= self._rng.standard_exponential():
                return theta
        raise AssertionError("unreachable")

    def _touching(self, center: np.ndarray) -> tuple[float, np.ndarray]:
        """Return level and slope of a function below that nearly touches at its proposal's mean."""
        for _ in range(_CUTS_PER_ROUND):
            level, slope = self._bundle.support(center)
            mean = center - self._variance * slope
            if self._bundle.cut(mean) - level - float(np.vdot(slope, mean)) <= _CLOSE_ENOUGH:
                break
        return level, slope
