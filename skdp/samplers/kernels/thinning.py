"""An event of probability exp(−c·Σ D_i), without looking at every D_i."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.design import Design, MemoryDesign
from skdp.losses import Minorant
from skdp.samplers.base import Target
from skdp.support.random import child_generator

__all__ = ["Acceptance", "RowStream", "excess_is_below"]

_CHUNK = 1024
_FEW = 0.25  # rows at random places, of all, as which all of them cost; no guarantee rests on it
# A norm of a difference of two vectors and its product with R are each right to a relative
# (d + 3)·2⁻⁵³, below 1e-9 for d < 10⁶. An excess beyond the bound would be accepted too often.
_NORM_MARGIN = 1e-9


class RowStream:
    """Independent uniform numbers of rows: one sequence, which is taken piece by piece.

    They come from a child of the noise's generator and depend on nothing else. So the next ones may
    be looked at ahead of time, to fetch their rows, and what is taken stays the same.

    Parameters
    ----------
    n_rows : int
        All numbers are below it.
    rng : numpy Generator
        *Secret.* Keys the child.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._n_rows, self._rng = n_rows, child_generator(rng)
        self._waiting = np.empty(0, dtype=np.int64)
        self.n_taken = 0
        """How many numbers have been taken."""

    def ahead(self, count: int) -> np.ndarray:
        """Return the numbers that are taken next, and leave them there.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        rows : ndarray of shape (count,)
            Numbers in 0..`n_rows` − 1.
        """
        missing = count - self._waiting.size
        if missing > 0:
            fresh = self._rng.integers(self._n_rows, size=missing)
            self._waiting = np.concatenate([self._waiting, fresh])
        return self._waiting[:count]

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers, each of which is taken once.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        rows : ndarray of shape (count,)
            Numbers in 0..`n_rows` − 1.
        """
        rows = self.ahead(count)
        self._waiting = self._waiting[count:]
        self.n_taken += count
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class Acceptance:
    """Accepts θ with probability exp(−c·Σ D_i), D_i ≥ 0 how far loss i lies above its minorant.

    For a smooth loss the affine minorant at θ₀ = `origin` is its tangent, and D_i its Bregman
    divergence. All D_i lie below one bound b, so the event can be drawn by thinning: of
    Poisson(n·c·b) records taken at random, each is a hit with probability D_i/b; the number of hits
    is Poisson(c·Σ D_i), and θ is accepted if it is 0. That reads a few hundred rows, however large
    n is. Where the bound is so weak that a good part of all rows would be read, the sum is compared
    with an exponential variable instead. Both ways are exact.

    Which records are taken says a stream of row numbers, each of which is used once. Given all that
    happened before, the proposal included, the next number is uniform: it depends on nothing but
    numbers of a child generator that nobody has used. Whether some of them were looked at ahead of
    time, to fetch their rows, has no part in any decision, and where a hit ends the reading depends
    on numbers that were used and not on those that follow. So every θ is judged as by numbers drawn
    afresh, for it alone.

    On a ball |θ| ≤ r, the event is also that another exponential variable is at least
    `surplus`·(r² − |θ|²)/2: it makes up for a proposal that has so much more ridge than the target.

    Parameters
    ----------
    target : Target
    origin : ndarray of shape (d,) or (d, K)
        θ₀.
    rows : Design
        The target's, scored at θ₀.
    stream : RowStream
        Numbers of rows, of which thinning takes the next.
    surplus : float
        In 1/coefficient².
    """

    target: Target
    origin: np.ndarray
    rows: Design
    stream: RowStream
    surplus: float = 0.0

    def decide(self, theta: np.ndarray, rng: np.random.Generator) -> tuple[bool, int]:
        """Draw the event for one θ; return also the number of per-example evaluations."""
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
        assert self.target.domain is not None, "it makes up for a ridge on a ball"
        return 0.5 * self.surplus * (self.target.domain.radius**2 - float(np.vdot(theta, theta)))

    def _no_hit(
        self, theta: np.ndarray, bound: float, count: int, rng: np.random.Generator
    ) -> tuple[bool, int]:
        n_evaluations = 0
        for start in range(0, count, _CHUNK):
            size = min(_CHUNK, count - start)
            n_evaluations += size
            excess = self._excess(theta)(self.rows.take(self.stream.take(size)))
            if (rng.random(size) * bound < excess).any():
                return False, n_evaluations
        return True, n_evaluations

    def _excess(self, theta: np.ndarray) -> _Excess:
        return _Excess(self.target.minorant, theta, self.origin)


def excess_is_below(
    limit: float, target: Target, rows: Design, theta: np.ndarray, origin: np.ndarray
) -> tuple[bool, int]:
    """Return whether c·Σ D_i ≤ `limit`, reading no more than that takes; and n_evaluations.

    Parameters
    ----------
    limit : float
        *Private.*
    target : Target
    rows : Design
        The target's, scored at θ₀.
    theta, origin : ndarray of shape (d,) or (d, K)
        θ and θ₀.

    Returns
    -------
    is_below : bool
        *Private.*
    n_evaluations : int
        Per-example evaluations.
    """
    n_evaluations = 0
    for size, excess in rows.parts(_SummedExcess(_Excess(target.minorant, theta, origin))):
        n_evaluations += size
        limit -= target.temperature * excess
        if limit < 0.0:
            return False, n_evaluations
    return True, n_evaluations


@dataclass(frozen=True, eq=False, repr=False)
class _Excess:
    """D_i for the records of a block."""

    minorant: Minorant
    theta: np.ndarray
    origin: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        origin_scores = block.scores(self.origin)
        return self.minorant.excess(block.targets, block.scores(self.theta), origin_scores)


@dataclass(frozen=True, eq=False, repr=False)
class _SummedExcess:
    """The number of records of a block, and the sum of their D_i."""

    excess: _Excess

    def __call__(self, block: MemoryDesign) -> tuple[int, float]:
        return block.n_samples, float(self.excess(block).sum())
