"""An event of probability exp(−c·Σ D_i), without looking at every D_i."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.design import Design, MemoryDesign
from skdp.losses import Loss
from skdp.samplers.base import Target

__all__ = ["Acceptance"]

_CHUNK = 1024
# A norm of a difference of two vectors and its product with R are each right to a relative
# (d + 3)·2⁻⁵³, below 1e-9 for d < 10⁶. An excess beyond the bound would be accepted too often.
_NORM_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Accepts θ with probability exp(−c·Σ D_i), D_i ≥ 0 how far loss i lies above its minorant.

    For a smooth loss the affine minorant at θ₀ = `origin` is its tangent, and D_i its Bregman
    divergence. All D_i lie below one bound b, so the event can be drawn by thinning: of
    Poisson(n·c·b) records taken at random, each is a hit with probability D_i/b; the number of hits
    is Poisson(c·Σ D_i), and θ is accepted if it is 0. That reads a few hundred rows, however large
    n is. Where the bound is so weak that as many rows would be read as there are, the sum is
    compared with an exponential variable instead. Both ways are exact.

    On a ball |θ| ≤ r, the event is also that another exponential variable is at least
    `surplus`·(r² − |θ|²)/2: it makes up for a proposal that has so much more ridge than the target.

    Parameters
    ----------
    target : Target
    origin : ndarray of shape (d,) or (d, K)
        θ₀.
    rows : Design
        The target's, scored at θ₀.
    surplus : float
        In 1/coefficient².
    """

    target: Target
    origin: np.ndarray
    rows: Design
    surplus: float = 0.0

    def decide(self, theta: np.ndarray, rng: np.random.Generator) -> tuple[bool, int]:
        """Draw the event for one θ; return also the number of per-example evaluations."""
        target = self.target
        if self.surplus and rng.standard_exponential() < self._missing_ridge(theta):
            return False, 0
        radius = target.row_norm * target.design.reach(theta - self.origin) * (1.0 + _NORM_MARGIN)
        bound = target.loss.excess_bound(radius)
        rows_to_read = target.design.n_samples * target.temperature * bound
        if rows_to_read < target.design.n_samples:
            return self._no_hit(theta, bound, int(rng.poisson(rows_to_read)), rng)
        return self.sum_is_below(theta, float(rng.standard_exponential()))

    def _missing_ridge(self, theta: np.ndarray) -> float:
        assert self.target.domain is not None, "it makes up for a ridge on a ball"
        return 0.5 * self.surplus * (self.target.domain.radius**2 - float(np.vdot(theta, theta)))

    def _no_hit(
        self, theta: np.ndarray, bound: float, count: int, rng: np.random.Generator
    ) -> tuple[bool, int]:
        n_evaluations = 0
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            rows = rng.integers(self.target.design.n_samples, size=size)
            n_evaluations += size
            excess = self._excess(theta)(self.rows.take(rows))
            if (rng.random(size) * bound < excess).any():
                return False, n_evaluations
        return True, n_evaluations

    def sum_is_below(self, theta: np.ndarray, limit: float) -> tuple[bool, int]:
        """Return whether c·Σ D_i ≤ `limit`, reading no more than that takes; and n_evaluations."""
        n_evaluations = 0
        for size, excess in self.rows.parts(_SummedExcess(self._excess(theta))):
            n_evaluations += size
            limit -= self.target.temperature * excess
            if limit < 0.0:
                return False, n_evaluations
        return True, n_evaluations

    def _excess(self, theta: np.ndarray) -> _Excess:
        return _Excess(self.target.loss, theta, self.origin)


@dataclass(frozen=True, eq=False)
class _Excess:
    """D_i for the records of a block."""

    loss: Loss
    theta: np.ndarray
    origin: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        origin_scores = block.scores(self.origin)
        return self.loss.excess(block.targets, block.scores(self.theta), origin_scores)


@dataclass(frozen=True, eq=False)
class _SummedExcess:
    """The number of records of a block, and the sum of their D_i."""

    excess: _Excess

    def __call__(self, block: MemoryDesign) -> tuple[int, float]:
        return block.n_samples, float(self.excess(block).sum())
