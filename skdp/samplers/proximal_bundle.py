"""The proximal sampler whose inner step lies over a mixture of cutting planes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from skdp.design import Design, LossSum, scored
from skdp.samplers.base import Effort, Target
from skdp.samplers.kernels.alternating import AlternatingSampler

__all__ = ["Bundle", "ProximalBundleSampler"]

# These decide how many cutting planes and proposals a sample takes. No guarantee rests on them.
_SPARE_PLANES = 50
_EXCHANGES = 500
_DUAL_GAP = 0.01
_CLOSE_ENOUGH = 0.5
_PLANES_PER_ROUND = 50
_TRIES_PER_ROUND = 50


class Bundle:
    """Cutting planes A_j(θ) = b_j + g_j·θ ≤ V(θ) = c·Σ ℓ, each of which touches V at a point.

    Any mixture Σ w_j·A_j is an affine minorant of V as well. `minorant` chooses the mixture that
    is best under V + |θ − center|²/(2σ²): its minimum with the quadratic is the greatest, and lies
    at center − σ²·Σ w_j·g_j. It is found by exchanging weight between two planes at a time;
    whatever is found is below V.
    """

    def __init__(self, target: Target, variance: float) -> None:
        self._target, self._variance = target, variance
        size = int(np.prod(target.shape))
        self._gradients, self._levels = np.zeros((0, size)), np.zeros(0)
        self._weights = np.zeros(0)

    def value(self, theta: np.ndarray) -> float:
        """Return V(θ): one evaluation of each record."""
        return self._value(self._target.design, theta)

    def cut(self, theta: np.ndarray) -> float:
        """Add the plane that touches V at θ; return V(θ). One evaluation of each record."""
        rows, slope = scored(self._target.design, self._target.loss.gradient, theta)
        gradient, value = self._target.temperature * slope.ravel(), self._value(rows, theta)
        self._drop_idle_planes()
        self._gradients = np.vstack([self._gradients, gradient])
        self._levels = np.append(self._levels, value - gradient @ theta.ravel())
        self._weights = np.append(self._weights, 0.0 if self._weights.size else 1.0)
        return value

    def minorant(self, center: np.ndarray) -> tuple[float, np.ndarray]:
        """Return level b and gradient g of the mixture that serves best for a center."""
        gram = self._variance * self._gradients @ self._gradients.T
        lift = self._levels + self._gradients @ center.ravel()
        self._weights = _best_mixture(self._weights, lift, gram)
        gradient = (self._weights @ self._gradients).reshape(self._target.shape)
        return float(self._weights @ self._levels), gradient

    def _value(self, rows: Design, theta: np.ndarray) -> float:
        return self._target.temperature * float(rows.total(LossSum(self._target.loss.value, theta)))

    def _drop_idle_planes(self) -> None:
        """Make room: of the planes without weight, the oldest go."""
        surplus = self._levels.size - self._gradients.shape[1] - _SPARE_PLANES
        if surplus > 0:
            idle = np.flatnonzero(self._weights == 0.0)[:surplus]
            self._gradients = np.delete(self._gradients, idle, axis=0)
            self._levels = np.delete(self._levels, idle)
            self._weights = np.delete(self._weights, idle)


def _best_mixture(weights: np.ndarray, lift: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return w on the simplex that about maximizes w·lift − w·gram·w/2, from given weights."""
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


@dataclass(frozen=True)
class ProximalBundleSampler(AlternatingSampler):
    """Alternate θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)), by a bundle.

    The inner step knows c·Σ ℓ by its values and subgradients only. A proximal bundle method adds
    cutting planes until a mixture A of them, an affine minorant, nearly touches c·Σ ℓ where A and
    the quadratic are least together. Under A the distribution is Gaussian, and a proposal is
    accepted with probability exp(A(θ) − c·Σ ℓ(θ)); that is repeated until one is. Cutting planes
    stay valid, so they are kept from step to step. `ProximalSampler` looks into the sum and needs
    less, but its minorants of a non-smooth loss do not touch.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data, a smooth
        loss and a plane that touches at the proposal's mean. Halved for several scores.
    min_steps : int
        *Public.* Fewest steps.

    Notes
    -----
    **Certificate: stable.** A mixture of cutting planes is an affine minorant of the potential, so
    the accepted proposal has the inner distribution exactly, however well or badly the bundle was
    solved (*Reference samplers* in the documentation). Start, step size and number of steps are
    public: Theorem A' holds as it does for `ProximalSampler`.

    References
    ----------
    Liang and Chen, "A proximal algorithm for sampling from non-smooth potentials", Winter
    Simulation Conference, 2022.
    """

    max_exponent: float = 2.0

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> _BundleStep:
        return _BundleStep(target, variance, rng)


class _BundleStep:
    """Draws by rejection under a mixture of cutting planes."""

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._variance, self._rng = variance, rng
        self._pass = Effort(n_evaluations=target.design.n_samples)
        self._bundle = Bundle(target, variance)
        self._bundle.cut(np.zeros(target.shape))
        self.effort = self._pass

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one sample for a center; after many rejections the bundle is refined."""
        for tries in count():
            if tries % _TRIES_PER_ROUND == 0:
                level, gradient = self._touching(center)
                mean = center - self._variance * gradient
            theta = mean + math.sqrt(self._variance) * self._rng.standard_normal(mean.shape)
            excess = self._bundle.value(theta) - level - float(np.vdot(gradient, theta))
            self.effort += self._pass + Effort(n_tries=1)
            if excess <= self._rng.standard_exponential():
                return theta
        raise AssertionError("unreachable")

    def _touching(self, center: np.ndarray) -> tuple[float, np.ndarray]:
        """Return an affine minorant that nearly touches at its proposal's mean."""
        for _ in range(_PLANES_PER_ROUND):
            level, gradient = self._bundle.minorant(center)
            mean = center - self._variance * gradient
            gap = self._bundle.cut(mean) - level - float(np.vdot(gradient, mean))
            self.effort += self._pass
            if gap <= _CLOSE_ENOUGH:
                break
        return level, gradient
