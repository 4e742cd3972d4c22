"""An event of probability exp(−c·Σ D_i), without computing every D_i."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.design import Design, MemoryDesign
from skdp.losses import Minorant
from skdp.samplers.base import Target
from skdp.support.random import child_generator

__all__ = ["Acceptance", "RowStream", "excess_is_below"]

_CHUNK = 1024
_ROWS_DRAWN = 512  # row numbers, or more: a call takes longer than they do
_FEW = 0.25  # share of random rows that costs as much as one pass; no guarantee rests on it
# A norm of a difference of two vectors and its product with R are each exact to a relative
# (d + 3)·2⁻⁵³, below 1e-9 for d < 10⁶. An excess beyond the bound would be accepted too often.
_NORM_MARGIN = 1e-9


class RowStream:
    """Independent uniform row numbers below `n_rows`: one sequence, taken piece by piece.

    They come from a child of the noise's generator and depend on nothing else. Looking at the next
    ones ahead of time, to fetch their rows, does not change them.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._n_rows, self._rng = n_rows, child_generator(rng)
        self._waiting = np.empty(0, dtype=np.int64)
        self.n_taken = 0

    def ahead(self, count: int) -> np.ndarray:
        """Return the next numbers without taking them."""
        missing = count - self._waiting.size
        if missing > 0:
            fresh = self._rng.integers(self._n_rows, size=max(missing, _ROWS_DRAWN))
            self._waiting = np.concatenate([self._waiting, fresh])
        return self._waiting[:count]

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers; each is taken once."""
        rows = self.ahead(count)
        self._waiting = self._waiting[count:]
        self.n_taken += count
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class Acceptance:
    """Accept θ with probability exp(−c·Σ D_i), D_i ≥ 0 the excess of loss i over its minorant.

    All D_i lie below one bound b, so the event can be drawn by thinning: of Poisson(n·c·b) records
    taken at random, each is a hit with probability D_i/b; the number of hits is Poisson(c·Σ D_i),
    and θ is accepted if it is 0. If the bound is so weak that a large part of all rows would be
    read, the sum is compared with an exponential variable instead. Both ways are exact, also with
    rows fetched ahead: see *The acceptance test* in *Finitely many steps* in the documentation.

    On a ball |θ| ≤ r, the event also requires that another exponential variable is at least
    `surplus`·(r² − |θ|²)/2. This corrects for a proposal with so much more ridge than the target.
    """

    target: Target
    origin: np.ndarray  # θ₀
    rows: Design  # scored at θ₀
    stream: RowStream
    surplus: float = 0.0  # in 1/coefficient²

    def decide(self, theta: np.ndarray, rng: np.random.Generator) -> tuple[bool, int]:
        """Return whether θ is accepted, and the number of per-example evaluations."""
        target = self.target
        if self.surplus and rng.standard_exponential() < self._missing_ridge(theta):
            return False, 0
        radius = target.row_norm * target.design.reach(theta - self.origin) * (1.0 + _NORM_MARGIN)
        bound = target.minorant.excess_bound(radius)
        if target.temperature * bound < _FEW:
            count = rng.poisson(target.design.n_samples * target.temperature * bound)
            return self._no_hit(theta, bound, int(count), rng)
        limit = float(rng.standard_exponential())
        return excess_is_below(limit, target, self.rows, theta, self.origin)

    def _missing_ridge(self, theta: np.ndarray) -> float:
        assert self.target.domain is not None, "a surplus of ridge needs a ball"
        return 0.5 * self.surplus * (self.target.domain.radius**2 - float(np.vdot(theta, theta)))

    def _no_hit(
        self, theta: np.ndarray, bound: float, count: int, rng: np.random.Generator
    ) -> tuple[bool, int]:
        n_evaluations = 0
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            n_evaluations += size
            rows = self.rows.take(self.stream.take(size))
            excess = _excess(self.target.minorant, theta, self.origin, rows)
            if (rng.random(size) * bound < excess).any():
                return False, n_evaluations
        return True, n_evaluations


def excess_is_below(
    limit: float, target: Target, rows: Design, theta: np.ndarray, origin: np.ndarray
) -> tuple[bool, int]:
    """Return whether c·Σ D_i ≤ `limit`, and the number of per-example evaluations.

    `rows` are scored at `origin`. Reading ends as soon as the answer is known.
    """
    n_evaluations = 0
    for size, excess in rows.parts(partial(_summed_excess, target.minorant, theta, origin)):
        n_evaluations += size
        limit -= target.temperature * excess
        if limit < 0.0:
            return False, n_evaluations
    return True, n_evaluations


def _excess(
    minorant: Minorant, theta: np.ndarray, origin: np.ndarray, block: MemoryDesign
) -> np.ndarray:
    """Return D_i for the records of a block."""
    return minorant.excess(block.targets, block.scores(theta), block.scores(origin))


def _summed_excess(
    minorant: Minorant, theta: np.ndarray, origin: np.ndarray, block: MemoryDesign
) -> tuple[int, float]:
    """Return the number of records of a block, and the sum of their D_i."""
    return block.n_samples, float(_excess(minorant, theta, origin, block).sum())
