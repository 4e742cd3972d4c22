"""Noise of least weighted cost that may depend on where in a public range a number is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms._grid import from_steps, grid_step, to_steps
from skdp.mechanisms.base import Mechanism
from skdp.mechanisms.optimized.additive import reach
from skdp.mechanisms.optimized.certified_distribution import CellDistribution, cell_steps
from skdp.mechanisms.optimized.costs import DEGREES, ScaledLoss, cell_means
from skdp.privacy import BetweenNeighborsEvent
from skdp.research.noise.event import DataDependentNoiseEvent
from skdp.research.noise.program import PartsDesign
from skdp.support.validation import check_count, check_real, check_size

__all__ = ["DataDependentNoise"]

_WHOLE = (
    1e-9  # how far from a whole cell an end may be; it is then rounded: no guarantee rests on it
)


@dataclass(frozen=True)
class DataDependentNoise(Mechanism):
    """The (ε, δ)-private noise of least weighted loss, one density for each part of a range.

    Where answers are likely their noise can be smaller, and elsewhere larger, than any noise that
    is the same for all. It is not 0 on average, but pulls toward the middle of the range.

    **Guarantee**: (ε, δ)-DP, checked with exact arithmetic, whatever the solver did; the whole
    curve is that of `DataDependentNoiseEvent` (Selvi, Liu and Wiesemann 2024, Section 3). The part
    that a number is in is not told.

    Parameters
    ----------
    epsilon, delta : float
        *Public.* ε ≥ 0, and δ in (0, 1).
    partition : sequence of float
        *Public.* Increasing ends of the parts, multiples of `sensitivity`/`cells`. Values are
        clipped to the whole range.
    sensitivity : float, default 1.0
        *Public.* Distance of the values of two neighbors.
    loss : {"l1", "l2"} or callable
        *Public.* As in `OptimizedNoise`.
    weights : sequence of float or None
        *Public.* How much each part counts; chosen without looking at the data. ``None`` takes its
        width.
    costs : nested sequence of float or None
        *Public.* In place of the loss, the cost of each of 2·`half_cells` cells (columns, from the
        left) in each part (rows).
    cap : float or None
        *Public.* The largest expected `loss` that is allowed in any part.
    cells : int, default 4
        *Public.* How many cells a sensitivity has.
    half_cells : int or None
        *Public.* How many cells the noise has on each side of 0. ``None`` takes those of truncated
        Laplace noise, and a sensitivity more.

    Examples
    --------
    >>> noise = DataDependentNoise(1.0, 0.2, partition=(-2, -1, 0, 1, 2), sensitivity=2.0, cells=2)
    >>> round(noise.objective, 4)
    0.9565
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    partition: Sequence[float]
    sensitivity: float = 1.0
    loss: str | Callable[[np.ndarray], ArrayLike] = "l1"
    weights: Sequence[float] | None = None
    costs: Sequence[Sequence[float]] | None = None
    cap: float | None = None
    cells: int = 4
    half_cells: int | None = None

    def __post_init__(self) -> None:
        self._set(
            epsilon=check_real("epsilon", self.epsilon, low=0.0, high=20.0, closed="[]"),
            delta=check_real("delta", self.delta, low=1e-12, high=1.0, closed="["),
            sensitivity=check_size("sensitivity", self.sensitivity),
            cells=check_count("cells", self.cells),
            partition=_numbers("partition", self.partition, -math.inf),
        )
        self._check_partition()
        self._set(weights=self._checked_weights(), half_cells=self._checked_half())
        if self.cap is not None:
            self._set(cap=check_real("cap", self.cap, low=0.0))
        if self.costs is not None:
            self._set(costs=self._checked_costs(self.costs))

    def _checked_weights(self) -> tuple[float, ...]:
        given = np.diff(self.partition) if self.weights is None else self.weights
        weights = _numbers("weights", given, 0.0)
        if len(weights) != len(self.partition) - 1:
            raise ValueError(
                f"weights must be {len(self.partition) - 1} numbers, one for each part, got "
                f"{self.weights!r}."
            )
        return tuple(weight / math.fsum(weights) for weight in weights)

    def _checked_half(self) -> int:
        if self.half_cells is not None:
            return check_count("half_cells", self.half_cells)
        return math.ceil(self.cells * (reach(self.epsilon, self.delta) + 1.0))

    def _checked_costs(self, costs: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
        values = np.asarray(costs, dtype=float)
        shape = (len(self.partition) - 1, 2 * (self.half_cells or 0))
        if values.shape != shape or not np.all(np.isfinite(values)):
            raise ValueError(
                f"costs must be finite numbers in {shape[0]} rows, one for each part, and "
                f"{shape[1]} columns, one for each cell; got the shape {values.shape}."
            )
        return tuple(map(tuple, values.tolist()))

    def _check_partition(self) -> None:
        ends = np.array(self.partition) * (self.cells / self.sensitivity)
        off = np.abs(ends - np.round(ends)) > _WHOLE * np.maximum(1.0, np.abs(ends))
        rising = all(a < b for a, b in itertools.pairwise(self.partition))
        if len(ends) < 2 or not rising or np.any(off) or np.any(np.abs(ends) > 2.0**30):
            raise ValueError(
                "partition must be at least two increasing multiples of sensitivity/cells = "
                f"{self.sensitivity / self.cells:g}, got {self.partition!r}."
            )

    @property
    def event(self) -> BetweenNeighborsEvent:
        masses = tuple(tuple(row) for row in self.probabilities.tolist())
        noise = DataDependentNoiseEvent(masses, self._design.partition, self.cells)
        return BetweenNeighborsEvent(noise)

    @property
    def objective(self) -> float:
        """The minimized value: the weighted expected loss, or cost."""
        costs = np.array(self.costs) if self.costs is not None else self._means(self.loss)
        return float(np.sum(np.array(self.weights)[:, None] * costs * self.probabilities))

    @property
    def bracket(self) -> tuple[float, float]:
        """Numbers below and above the least weighted loss; the second is that of this noise.

        For a partition into parts of one width, `weights` that are even within a part, and a
        convex loss.
        """
        scale = 1.0 if callable(self.loss) else self.sensitivity ** DEGREES[self.loss]
        lower = self._design.lower_bound() * scale
        return lower - 1e-15 * abs(lower), self.objective  # for the product's error

    @property
    def probabilities(self) -> np.ndarray:
        """Masses of the cells (columns) in each part (rows)."""
        return np.array([one.probabilities for one in self._distributions])

    @property
    def edges(self) -> np.ndarray:
        """Ends of the cells, in the units of the value."""
        return self._distributions[0].edges * self._steps * self.step

    @property
    def step(self) -> float:
        """Width of the grid on which values are released, a power of two."""
        return grid_step(self.sensitivity)

    def losses(self, loss: str | Callable[[np.ndarray], ArrayLike]) -> np.ndarray:
        """Return the expected loss in each part.

        Parameters
        ----------
        loss : {"l1", "l2"} or callable
            As in `OptimizedNoise`.

        Returns
        -------
        ndarray of shape (n_parts,)
        """
        return self.probabilities @ self._means(loss)

    def release(self, value: float, rng: np.random.Generator) -> float:
        """Return `value`, clipped to the range of the partition, plus the noise of its part.

        Parameters
        ----------
        value : float
            *Private.* ``nan`` counts as 0.
        rng : numpy.random.Generator
            *Secret.*

        Returns
        -------
        float
        """
        ends = np.array(self._design.partition) * self._steps
        place = np.clip(to_steps(value, self.step), ends[0], ends[-1] - 1)
        part = int(np.searchsorted(ends, place, side="right")) - 1
        noise = self._distributions[part].draw(1, rng, self._steps)
        return float(from_steps(place + noise, self.step)[0])

    def _means(self, loss: str | Callable[[np.ndarray], ArrayLike]) -> np.ndarray:
        return cell_means(ScaledLoss(loss), self.edges)

    @property
    def _distributions(self) -> tuple[CellDistribution, ...]:
        return self._design.distributions()

    @property
    def _steps(self) -> int:
        return cell_steps(self.sensitivity, self.step, self.cells)

    @property
    def _design(self) -> PartsDesign:
        scale = 1.0 if callable(self.loss) else self.sensitivity ** DEGREES[self.loss]
        return PartsDesign(
            epsilon=self.epsilon,
            delta=self.delta,
            loss=ScaledLoss(self.loss, self.sensitivity if callable(self.loss) else 1.0),
            partition=tuple(round(end * self.cells / self.sensitivity) for end in self.partition),
            weights=tuple(self.weights or ()),
            cells=self.cells,
            half=self.half_cells or 0,
            costs=None if self.costs is None else tuple(map(tuple, self.costs)),
            cap=None if self.cap is None else self.cap / scale,
        )


def _numbers(name: str, values: Iterable[float], low: float) -> tuple[float, ...]:
    try:
        return tuple(check_real(f"{name}[{i}]", one, low=low) for i, one in enumerate(values))
    except TypeError:
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}.") from None
