"""Noise of least cost that may depend on where in a public range a number is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skdp.mechanisms.base import Mechanism
from skdp.mechanisms.grid_gaussian import from_steps, grid_step, to_steps
from skdp.mechanisms.linear_program import (
    DEGREES,
    CellDistribution,
    NoiseProgram,
    ScaledLoss,
    Triple,
    cell_means,
    cell_steps,
    certify,
    dual_bound,
    integer_weights,
    values_below,
)
from skdp.mechanisms.optimized_noise import check_rows, reach
from skdp.privacy.combined import MaximumCurve, SymmetrizedCurve
from skdp.privacy.composed_events import BetweenNeighborsEvent
from skdp.privacy.curve import DiscretePairCurve, PrivacyCurve
from skdp.privacy.events import AdditiveEvent
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.noise_events import CellNoiseCurve
from skdp.support.validation import check_count, check_real, check_size

Value = TypeVar("Value")


@dataclass(frozen=True)
class DataDependentNoiseEvent(AdditiveEvent):
    """One number in part k of a public range, plus noise of mass `distributions[k][i]` on cell i.

    Parts and cells are counted in the same unit, and the part is not released. Neighbors may be in
    parts k and m, and then their distributions are moved by any difference that two such numbers
    can have; a fraction of a cell is a mixture of two whole ones. The curve is the envelope over
    all that.

    Parameters
    ----------
    distributions : tuple of tuples of float
        *Public.* One distribution for each part, on the same cells; each sums to 1.
    partition : tuple of int
        *Public.* Ends of the parts, increasing, in cells.
    sensitivity : int
        *Public.* Size of one record's contribution, in cells.
    """

    distributions: tuple[tuple[float, ...], ...]
    partition: tuple[int, ...]
    sensitivity: int

    def __post_init__(self) -> None:
        distributions = tuple(
            _numbers(f"distributions[{k}]", distribution)
            for k, distribution in enumerate(_sequence("distributions", self.distributions))
        )
        partition = tuple(int(end) for end in _numbers("partition", self.partition))
        self._set(sensitivity=check_count("sensitivity", self.sensitivity))
        increasing = all(a < b for a, b in itertools.pairwise(partition))
        if (
            partition != tuple(self.partition)
            or not increasing
            or len(partition) != len(distributions) + 1
        ):
            raise ValueError(
                f"partition must be {len(distributions) + 1} increasing integers, the ends of "
                f"{len(distributions)} parts, one for each distribution, got {self.partition!r}."
            )
        if len({len(distribution) for distribution in distributions}) != 1:
            raise ValueError(
                "distributions must be on the same cells, got "
                f"{[len(masses) for masses in distributions]!r} numbers."
            )
        self._set(distributions=distributions, partition=partition)
        for distribution in distributions:
            DiscretePairCurve(distribution, distribution)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        farthest = Neighboring(neighboring).n_changed * self.sensitivity
        triples = reachable_shifts(self.partition, farthest)
        one_order = [(k, m, s) for k, m, s in triples if (k, -s) < (m, s)]
        same = CellNoiseCurve(self.distributions[0], self.distributions[0])
        curves = [self._pair(*triple) for triple in one_order] or [same]
        return SymmetrizedCurve(MaximumCurve(tuple(curves)))

    def _pair(self, k: int, m: int, s: int) -> CellNoiseCurve:
        first, second = (np.array(self.distributions[one]) for one in (k, m))
        gap = np.zeros(abs(s))
        p, q = ([first, gap], [gap, second]) if s > 0 else ([gap, first], [second, gap])
        return CellNoiseCurve(tuple(np.concatenate(p)), tuple(np.concatenate(q)))


def reachable_shifts(partition: Sequence[int], farthest: int) -> list[tuple[int, int, int]]:
    """Return all (k, m, s): numbers in parts k and m may be s apart, up to `farthest`.

    Numbers in the half-open parts are less apart than the ends of their parts; what lies between
    two whole differences is a mixture of them, so both are named.
    """
    parts = list(itertools.pairwise(partition))
    found = []
    for (k, (a, b)), (m, (c, d)) in itertools.product(enumerate(parts), repeat=2):
        if c - b < farthest and d - a > -farthest:
            shifts = range(max(c - b, -farthest), min(d - a, farthest) + 1)
            found += [(k, m, s) for s in shifts if (k, s) != (m, 0)]
    return found


def _sequence(name: str, values: Iterable[Value]) -> tuple[Value, ...]:
    try:
        found = tuple(values)
    except TypeError:
        found = ()
    if not found or isinstance(values, str | dict):
        raise ValueError(f"{name} must be a sequence with at least one entry, got {values!r}.")
    return found


def _numbers(name: str, values: Iterable[float]) -> tuple[float, ...]:
    return tuple(
        check_real(f"{name}[{i}]", value, low=-1e15, high=1e15)
        for i, value in enumerate(_sequence(name, values))
    )


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
    """Return a number that the weighted loss of no private noise is below."""
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
            partition=_reals("partition", self.partition, -math.inf),
        )
        self._check_partition()
        half = math.ceil(self.cells * (reach(self.epsilon, self.delta) + 1.0))
        if self.half_cells is not None:
            half = check_count("half_cells", self.half_cells)
        self._set(weights=self._checked_weights(), half_cells=half)
        if self.cap is not None:
            self._set(cap=check_real("cap", self.cap, low=0.0))
        if self.costs is not None:
            self._set(costs=self._checked_costs(self.costs))

    def _checked_weights(self) -> tuple[float, ...]:
        given = np.diff(self.partition) if self.weights is None else self.weights
        weights = _reals("weights", given, 0.0)
        if len(weights) != len(self.partition) - 1:
            raise ValueError(
                f"weights must be {len(self.partition) - 1} numbers, one for each part, got "
                f"{self.weights!r}."
            )
        return tuple(weight / math.fsum(weights) for weight in weights)

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
        lower = _lower_bound(self._design) * scale
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
        return _distributions(self._design)

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


def _reals(name: str, values: Iterable[float], low: float) -> tuple[float, ...]:
    try:
        return tuple(check_real(f"{name}[{i}]", one, low=low) for i, one in enumerate(values))
    except TypeError:
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}.") from None
