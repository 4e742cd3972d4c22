"""The proximal sampler whose inner step is supported by a bundle of cutting planes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from skdp.samplers._alternating import AlternatingSampler
from skdp.samplers._cuts import Bundle
from skdp.samplers.base import Target

__all__ = ["ProximalBundleSampler"]

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

    def inner_step(  # noqa: D102
        self, target: Target, variance: float, rng: np.random.Generator
    ) -> _BundleStep:
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
