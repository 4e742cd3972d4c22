"""The proximal sampler with a bundle of cutting planes for its inner step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from skdp.design import Design, LossSum, scored
from skdp.samplers.base import Effort, Target
from skdp.samplers.proximal import AlternatingSampler

# These set the number of cutting planes and proposals of a sample. No guarantee rests on them.
_SPARE_PLANES = 50
_EXCHANGES = 500
_DUAL_GAP = 0.01
_CLOSE_ENOUGH = 0.5
_PLANES_PER_ROUND = 50
_TRIES_PER_ROUND = 50


class Bundle:
    """Cutting planes A_j(θ) = b_j + g_j·θ ≤ V(θ) = c·Σ ℓ, each of which touches V at a point.

    Any mixture Σ w_j·A_j is an affine minorant of V as well. `minorant` chooses the mixture whose
    minimum with the quadratic |θ − center|²/(2σ²) is greatest; the minimum is at
    center − σ²·Σ w_j·g_j. The search exchanges weight between two planes at a time. Its result is
    below V even if the search stops early.
    """

    def __init__(self, target: Target, variance: float) -> None:
        self._target, self._variance = target, variance
        size = int(np.prod(target.shape))
        self._gradients, self._levels = np.zeros((0, size)), np.zeros(0)
        self._weights = np.zeros(0)

    def value(self, theta: np.ndarray) -> float:
        """Return V(θ); evaluates each record once."""
        return self._value(self._target.design, theta)

    def cut(self, theta: np.ndarray) -> float:
        """Add the plane that touches V at θ and return V(θ); evaluates each record once."""
        rows, slope = scored(self._target.design, self._target.loss.gradient, theta)
        gradient, value = self._target.temperature * slope.ravel(), self._value(rows, theta)
        # Drop the oldest planes without weight if there are too many.
        surplus = self._levels.size - self._gradients.shape[1] - _SPARE_PLANES
        if surplus > 0:
            idle = np.flatnonzero(self._weights == 0.0)[:surplus]
            self._gradients = np.delete(self._gradients, idle, axis=0)
            self._levels = np.delete(self._levels, idle)
            self._weights = np.delete(self._weights, idle)
        self._gradients = np.vstack([self._gradients, gradient])
        self._levels = np.append(self._levels, value - gradient @ theta.ravel())
        self._weights = np.append(self._weights, 0.0 if self._weights.size else 1.0)
        return value

    def minorant(self, center: np.ndarray) -> tuple[float, np.ndarray]:
        """Return level b and gradient g of the best mixture for a center."""
        gram = self._variance * self._gradients @ self._gradients.T
        lift = self._levels + self._gradients @ center.ravel()
        self._weights = _best_mixture(self._weights, lift, gram)
        gradient = (self._weights @ self._gradients).reshape(self._target.shape)
        return float(self._weights @ self._levels), gradient

    def _value(self, rows: Design, theta: np.ndarray) -> float:
        return self._target.temperature * float(rows.total(LossSum(self._target.loss.value, theta)))


def _best_mixture(weights: np.ndarray, lift: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Approximately maximize w·lift − w·gram·w/2 over the simplex, from given weights."""
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
    """Proximal sampler with an exact inner step by a bundle method, for non-smooth losses.

    It alternates θ' = θ + √η·ξ with a sample from exp(−U(θ) − |θ − θ'|²/(2η)). The inner step uses
    values and subgradients of c·Σ ℓ only. A proximal bundle method adds cutting planes until a
    mixture A of them nearly touches c·Σ ℓ at the minimum of A plus the quadratic. With A in place
    of c·Σ ℓ the distribution is Gaussian. Proposals from it are made until one is accepted, with
    probability exp(A(θ) − c·Σ ℓ(θ)). Cutting planes remain valid from step to step.

    `ProximalSampler` needs fewer evaluations, but its minorants of a non-smooth loss do not touch.

    Parameters
    ----------
    max_exponent : float
        *Public.* Bound on the expected −log acceptance of a proposal, for the worst data, a smooth
        loss and a plane that touches at the proposal's mean. Halved for several scores.
    min_steps : int
        *Public.* Minimum number of steps.

    Notes
    -----
    **Certificate: stable.** A mixture of cutting planes is an affine minorant of the potential, so
    the accepted proposal has the inner distribution exactly, whatever the quality of the mixture
    (*Reference samplers* in the documentation). Start, step size and number of steps are public, so
    Theorem A' holds as for `ProximalSampler`.

    References
    ----------
    Liang and Chen, "A proximal algorithm for sampling from non-smooth potentials", Winter
    Simulation Conference, 2022.
    """

    max_exponent: float = 2.0

    def inner_step(self, target: Target, variance: float, rng: np.random.Generator) -> _BundleStep:
        return _BundleStep(target, variance, rng)


class _BundleStep:
    """Rejection sampling under a mixture of cutting planes."""

    def __init__(self, target: Target, variance: float, rng: np.random.Generator) -> None:
        self._variance, self._rng = variance, rng
        self._pass = Effort(n_evaluations=target.design.n_samples)
        self._bundle = Bundle(target, variance)
        self._bundle.cut(np.zeros(target.shape))
        self.effort = self._pass

    def draw(self, center: np.ndarray) -> np.ndarray:
        """Return one sample for a center; refine the bundle after many rejections."""
        for tries in count():
            if tries % _TRIES_PER_ROUND == 0:
                for _ in range(_PLANES_PER_ROUND):  # until the minorant nearly touches at `mean`
                    level, gradient = self._bundle.minorant(center)
                    mean = center - self._variance * gradient
                    gap = self._bundle.cut(mean) - level - float(np.vdot(gradient, mean))
                    self.effort += self._pass
                    if gap <= _CLOSE_ENOUGH:
                        break
            theta = mean + math.sqrt(self._variance) * self._rng.standard_normal(mean.shape)
            excess = self._bundle.value(theta) - level - float(np.vdot(gradient, theta))
            self.effort += self._pass + Effort(n_tries=1)
            if excess <= self._rng.standard_exponential():
                return theta
        raise AssertionError("unreachable")
