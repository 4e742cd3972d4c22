"""From a privacy target and costs of cells in all parts of a range to certified noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.mechanisms.optimized.additive import check_rows
from skdp.mechanisms.optimized.certified_distribution import (
    CellDistribution,
    Triple,
    certify,
    integer_weights,
)
from skdp.mechanisms.optimized.costs import ScaledLoss, cell_means, values_below
from skdp.mechanisms.optimized.linear_program import NoiseProgram, dual_bound
from skdp.research.noise.event import reachable_shifts

__all__ = ["PartsDesign"]

_MEMORY = 64


@dataclass(frozen=True, kw_only=True)
class PartsDesign:
    """Settings of a linear program; lengths in units of the sensitivity, which is `cells` cells."""

    epsilon: float
    delta: float
    loss: ScaledLoss
    partition: tuple[int, ...]
    weights: tuple[float, ...]
    cells: int
    half: int
    costs: tuple[tuple[float, ...], ...] | None = None
    cap: float | None = None

    def distributions(self) -> tuple[CellDistribution, ...]:
        """Return a distribution for each part."""
        return _distributions(self)

    def lower_bound(self) -> float:
        """Return a number that the weighted loss of no private noise is below."""
        return _lower_bound(self)

    def program(
        self, costs: np.ndarray, loss: np.ndarray, triples: list[Triple], padding: int = 0
    ) -> NoiseProgram:
        """Return the program for the costs of cells in all parts; `loss` is what is capped."""
        n = loss.size
        distance = np.abs(np.arange(n) - 0.5 * (n - 1)) / self.cells
        decay = np.maximum(np.exp(-self.epsilon * distance), 1.0 if padding else 0.01 * self.delta)
        weighted = np.array(self.weights)[:, None] * costs
        mirrored = self._is_symmetric(weighted, loss)
        if mirrored:
            last = len(self.weights) - 1
            triples = [(k, m, s) for k, m, s in triples if (k, m, s) <= (last - k, last - m, -s)]
        check_rows(len(triples) * n)
        capped = self.cap is not None
        return NoiseProgram(
            costs=weighted,
            decay=decay,
            triples=triples,
            epsilon=self.epsilon,
            delta=self.delta,
            padding=padding,
            mirrored=mirrored,
            rows=np.kron(np.eye(len(weighted)), loss) if capped else None,
            bounds=np.full(len(weighted) if capped else 0, self.cap or 0.0),
            method="highs-ipm",
        )

    def _is_symmetric(self, costs: np.ndarray, loss: np.ndarray) -> bool:
        widths = np.diff(self.partition)
        values = (costs, widths, loss if self.cap is not None else widths)
        return all(np.allclose(value, np.flip(value), rtol=1e-12, atol=0.0) for value in values)

    def cell_loss(self) -> np.ndarray:
        """Return the mean of the loss over each cell."""
        return cell_means(self.loss, np.arange(-self.half, self.half + 1) / self.cells)

    def cell_costs(self) -> np.ndarray:
        """Return the coefficient of each cell of each part in the objective."""
        if self.costs is not None:
            return np.array(self.costs)
        return np.tile(self.cell_loss(), (len(self.weights), 1))


@lru_cache(maxsize=_MEMORY)
def _distributions(design: PartsDesign) -> tuple[CellDistribution, ...]:
    design.loss.check_growth(design.half / design.cells)
    triples = reachable_shifts(design.partition, design.cells)
    program = design.program(design.cell_costs(), design.cell_loss(), triples)
    weights = [integer_weights(masses)[0] for masses in program.solve().masses]
    certify(weights, triples, design.epsilon, design.delta)
    return tuple(CellDistribution(weights=one, start=-2 * design.half) for one in weights)


@lru_cache(maxsize=_MEMORY)
def _lower_bound(design: PartsDesign) -> float:
    widths = np.diff(design.partition)
    if np.any(widths != widths[0]) or design.costs is not None:
        raise ValueError(
            "A lower bound needs parts of equal width and a loss that depends on the noise alone. "
            "`objective` is an upper bound for all parts and losses."
        )
    padding = design.cells + 1
    half = 2 * design.half + padding
    loss = values_below(design.loss, np.arange(-half, half + 1) / design.cells)
    width, last = int(widths[0]), len(design.weights)
    triples = [
        (k, m, (m - k) * width)
        for k in range(last)
        for m in range(last)
        if 0 < abs(m - k) * width <= design.cells
    ]
    program = design.program(np.tile(loss, (last, 1)), loss, triples, padding)
    return dual_bound(program, program.solve())
