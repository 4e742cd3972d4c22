"""Certified noise for a privacy target and a loss, and a lower bound on the loss of any noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

from skdp.exceptions import OutOfRangeError
from skdp.mechanisms.optimized.certified_distribution import (
    CellDistribution,
    Triple,
    certify,
    integer_weights,
)
from skdp.mechanisms.optimized.costs import ScaledLoss, cell_means, check_convex, values_below
from skdp.mechanisms.optimized.linear_program import NoiseProgram, dual_bound

__all__ = ["AdditiveDesign", "check_rows", "reach"]

_MOST_ROWS = 50_000
_MEMORY = 256


@dataclass(frozen=True, kw_only=True)
class AdditiveDesign:
    """A privacy target and a loss; the unit of length is the sensitivity, `cells` cells."""

    epsilon: float
    delta: float
    loss: ScaledLoss
    cells: int
    integer: bool = False
    symmetric: bool = False
    monotone: bool = False
    atom: bool = False

    def distribution(self) -> CellDistribution:
        """Return the better distribution of two: on cells with an edge, and with a middle, at 0."""
        return _best_distribution(self)

    def lower_bound(self) -> float:
        """Return a lower bound on the expected loss of all private noise."""
        return _lower_bound(self)

    @property
    def half(self) -> int:
        """Cells on each side of 0: those of truncated Laplace noise, and a sensitivity more."""
        return math.ceil(self.cells * (reach(self.epsilon, self.delta) + 1.0))

    @property
    def mirrored(self) -> bool:
        """Whether the noise is symmetric, by request or because the loss is."""
        return self.symmetric or self.loss.is_even(self.half / self.cells)

    def program(self, costs: np.ndarray, start: int, padding: int = 0) -> NoiseProgram:
        """Return the program for costs of cells that begin `start` half cells from 0."""
        middles = (0.5 * (start + 1) + np.arange(costs.size)) / self.cells
        has_atom = self.atom and padding == 0
        least = 1.0 if padding else 0.01 * self.delta  # multipliers of rare cells count as well
        rows = _falling(middles, self.mirrored or padding == 0) if self.monotone else None
        return NoiseProgram(
            costs=costs[None],
            decay=np.maximum(np.exp(-self.epsilon * np.abs(middles)), least),
            triples=self._triples(costs.size),
            epsilon=self.epsilon,
            delta=self.delta,
            padding=padding,
            mirrored=self.mirrored,
            atom_cost=float(self.loss(np.zeros(1))[0]) if has_atom else None,
            rows=rows,
            bounds=np.zeros(0 if rows is None else rows.shape[0]),
        )

    def _triples(self, n_cells: int) -> list[Triple]:
        signs = (1,) if self.mirrored else (1, -1)
        check_rows(n_cells * self.cells * len(signs))
        return [(0, 0, sign * s) for s in range(1, self.cells + 1) for sign in signs]


@lru_cache(maxsize=_MEMORY)
def _best_distribution(design: AdditiveDesign) -> CellDistribution:
    design.loss.check_growth(design.half / design.cells)
    if design.integer:
        points = np.arange(-design.half, design.half + 1) / design.cells
        return _solved(design, design.loss(points), -2 * design.half - 1)[1]
    starts = (-2 * design.half - 1, -2 * design.half)
    found = []
    for start in starts:
        edges = np.arange(start, -start + 1, 2) / (2 * design.cells)
        found.append(_solved(design, cell_means(design.loss, edges), start))
    return min(found, key=lambda pair: pair[0])[1]


def _solved(
    design: AdditiveDesign, costs: np.ndarray, start: int
) -> tuple[float, CellDistribution]:
    """Return a certified distribution with its cost."""
    program = design.program(costs, start)
    solution = program.solve()
    weights, atom = integer_weights(solution.masses[0], solution.atom)
    certify([weights], program.triples, design.epsilon, design.delta, atom)
    start += design.integer  # integers are the middles of cells
    found = CellDistribution(weights=weights, start=start, atom=atom)
    at_zero = found.atom_mass * (program.atom_cost or 0.0)
    return float(costs @ found.probabilities) + at_zero, found


@lru_cache(maxsize=_MEMORY)
def _lower_bound(design: AdditiveDesign) -> float:
    padding = design.cells + 1
    half = 2 * design.half + padding
    knots = np.arange(-half, half + 1) / design.cells
    if design.integer:
        costs = design.loss(knots)
        check_convex(costs)
    else:
        costs = values_below(design.loss, knots)
    if design.symmetric:
        costs = 0.5 * (costs + costs[::-1])  # no difference to symmetric noise
    program = design.program(costs, -2 * half - 1, padding)
    return dual_bound(program, program.solve())


def reach(epsilon: float, delta: float) -> float:
    """Return the half-width of truncated Laplace noise, in sensitivities."""
    if epsilon == 0.0:
        return 0.5 / delta
    return math.log1p(math.expm1(epsilon) / (2.0 * delta)) / epsilon


def check_rows(n_rows: int) -> None:
    """Reject a program that would take minutes."""
    if n_rows > _MOST_ROWS:
        raise OutOfRangeError(
            f"The linear program would have about {n_rows} rows, more than {_MOST_ROWS}. Use fewer "
            "cells, or for small epsilon and delta another noise, which is nearly as good."
        )


def _falling(middles: np.ndarray, whole: bool) -> sparse.csr_array:
    """Return rows that are at most 0 if masses fall on both sides of the middle.

    `whole`: they also fall from the cell around 0. This is unknown for smoothed asymmetric masses.
    """
    n, near = middles.size, 1e-9
    inner = np.arange(n - 1)
    falls = middles[:-1] > (-near if whole else near)
    rises = middles[1:] < (near if whole else -near)
    sign = falls.astype(float) - rises
    steps = sparse.csr_array((-sign, (inner, inner)), (n - 1, n)) + sparse.csr_array(
        (sign, (inner, inner + 1)), (n - 1, n)
    )
    return steps[np.flatnonzero(sign)]
