"""Noise of least cost for one number, found by linear programming, and bounds on its cost."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skdp.exceptions import OutOfRangeError
from skdp.mechanisms.base import AdditiveMechanism, Loss
from skdp.mechanisms.grid_gaussian import grid_step
from skdp.mechanisms.linear_program import (
    DEGREES,
    CellDistribution,
    NoiseProgram,
    ScaledLoss,
    Triple,
    cell_means,
    cell_nodes,
    cell_steps,
    certify,
    check_convex,
    dual_bound,
    integer_weights,
    values_below,
)
from skdp.privacy.composed_events import BetweenNeighborsEvent
from skdp.privacy.noise_events import PiecewiseConstantNoiseEvent
from skdp.support.safe_numbers import SUM, margin
from skdp.support.validation import check_choice, check_count, check_real, check_size

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
    """Return the better of two: on cells with an edge, and on cells with a middle, at 0."""
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
    """Return a lower bound on the expected loss of all private noise."""
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


_ROWS = 500  # about, of the program if `cells` is None; no guarantee rests on it


@dataclass(frozen=True)
class OptimizedNoise(AdditiveMechanism):
    """The (ε, δ)-private noise with the least expected loss, among mixtures of uniform ones.

    The density is constant on cells of width Δ/`cells`, and a linear program finds its values: see
    *Optimized noise* in the user guide. The gain is largest for large ε and δ, and on integers.

    **Guarantee**: (ε, δ)-DP, checked with exact arithmetic, whatever the solver did. The whole
    curve is that of `PiecewiseConstantNoiseEvent` (Selvi, Liu and Wiesemann 2024, Section 2).

    Parameters
    ----------
    epsilon, delta : float
        *Public.* ε ≥ 0, and δ in (0, 1): with δ = 0 the best noise is `Staircase`.
    sensitivity : float, default 1.0
        *Public.* Distance of the values of two neighbors; an integer if `support` is "integer".
    loss : {"l1", "l2"} or callable
        *Public.* \\|x\\|, x², or a hashable function of an array of noise, in the units of the
        value, which grows on both sides.
    support : {"real", "integer"}
        *Public.* Use ``"integer"`` for counts: the noise is much smaller.
    cells : int or None
        *Public.* Number of cells of a sensitivity. ``None``: up to 20, or enough for the steps of a
        large ε, if the program stays small.
    symmetric, monotone : bool, default False
        *Public.* Whether the density must be symmetric, and must fall on both sides of 0. If the
        loss is symmetric so is the noise.
    atom : bool, default False
        *Public.* Whether the value itself may be released, with a probability of at most δ.

    Examples
    --------
    >>> noise = OptimizedNoise(epsilon=1.0, delta=0.2)
    >>> lower, upper = noise.bracket
    >>> round(lower, 4), round(upper, 4)
    (0.5574, 0.5591)
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    sensitivity: float = 1.0
    loss: str | Loss = "l1"
    support: str = "real"
    cells: int | None = None
    symmetric: bool = False
    monotone: bool = False
    atom: bool = False

    sensitivity_norm: ClassVar[str] = "l1"
    dimension = 1

    def __post_init__(self) -> None:
        self._set(
            epsilon=check_real("epsilon", self.epsilon, low=0.0, high=20.0, closed="[]"),
            delta=check_real("delta", self.delta, low=1e-12, high=1.0, closed="["),
            sensitivity=check_size("sensitivity", self.sensitivity),
            support=check_choice("support", self.support, ("real", "integer")),
        )
        given = self.sensitivity, self.cells, self.atom
        if self.support == "integer" and given != (int(self.sensitivity), None, False):
            raise ValueError(
                "support='integer' needs an integer sensitivity, cells=None and atom=False; got "
                f"{self.sensitivity!r}, {self.cells!r} and {self.atom!r}."
            )
        if self.cells is not None:
            self._set(cells=check_count("cells", self.cells))
        design = self._design
        check_rows(2 * design.half * design.cells)

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, sensitivity: float, **options: Any
    ) -> OptimizedNoise:
        """Return the noise for which one release is (ε, δ)-DP: the constructor.

        Parameters
        ----------
        epsilon, delta : float
            *Public.* The guarantee.
        sensitivity : float
            *Public.* Distance of the values of two neighbors in `sensitivity_norm`.
        **options : dict
            *Public.* Other parameters of the class.

        Returns
        -------
        OptimizedNoise
        """
        return cls(epsilon, delta, sensitivity=sensitivity, **options)

    @property
    def event(self) -> BetweenNeighborsEvent:
        found, cells = self._distribution, self._design.cells
        noise = PiecewiseConstantNoiseEvent(tuple(found.probabilities), cells, found.atom_mass)
        return BetweenNeighborsEvent(noise)

    @property
    def step(self) -> float:
        return 1.0 if self.support == "integer" else grid_step(self.sensitivity)

    @property
    def bracket(self) -> tuple[float, float]:
        """Bounds on the least expected loss: no noise has less than the first.

        The second is the loss of this noise. The first holds for all (ε, δ)-private noise with
        this `support` (and symmetric or monotone, if requested), for a convex loss and a query
        whose neighbors may be any distance up to the sensitivity apart.
        """
        scale = 1.0 if callable(self.loss) else self.sensitivity ** DEGREES[self.loss]
        lower = _lower_bound(self._design) * scale
        product_error = margin(SUM) * abs(lower)
        return lower - product_error, self.expected_loss(self.loss)

    @property
    def edges(self) -> np.ndarray:
        """Ends of the cells, in the units of the value; integers are the middles of theirs."""
        return (self._distribution.edges - 0.5 * (self.support == "integer")) * self._width

    @property
    def probabilities(self) -> np.ndarray:
        """Masses of the cells. With the atom's they sum to 1."""
        return self._distribution.probabilities

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        found = self._distribution
        sums = np.concatenate([[0.0], np.cumsum(found.probabilities)])
        if self.support == "integer":
            return found.edges[np.searchsorted(sums[1:-1], p)]
        edges, below = self.edges, np.interp(0.0, self.edges, sums)
        left, right = edges < 0.0, edges > 0.0
        middle = np.array([below, below + found.atom_mass])
        heights = np.concatenate([sums[left], middle, sums[right] + found.atom_mass])
        return np.interp(p, heights, np.concatenate([edges[left], np.zeros(2), edges[right]]))

    def _draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self._distribution.draw(size, rng, self._steps)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        found = self._distribution
        if self.support == "integer":
            return found.edges[:-1], found.probabilities
        points, weights = cell_nodes(self.edges)
        masses = (weights * found.probabilities[:, None]).ravel()
        return np.append(points.ravel(), 0.0), np.append(masses, found.atom_mass)

    @property
    def _distribution(self) -> CellDistribution:
        return _best_distribution(self._design)

    @property
    def _steps(self) -> int:
        if self.support == "integer":
            return 1
        return cell_steps(self.sensitivity, self.step, self._design.cells)

    @property
    def _width(self) -> float:
        return self._steps * self.step

    @property
    def _design(self) -> AdditiveDesign:
        return AdditiveDesign(
            epsilon=self.epsilon,
            delta=self.delta,
            loss=ScaledLoss(self.loss, self.sensitivity if callable(self.loss) else 1.0),
            cells=self._cells(),
            integer=self.support == "integer",
            symmetric=self.symmetric,
            monotone=self.monotone,
            atom=self.atom,
        )

    def _cells(self) -> int:
        if self.support == "integer":
            return int(self.sensitivity)
        if self.cells is not None:
            return self.cells
        few = math.isqrt(int(_ROWS / (2.0 * (reach(self.epsilon, self.delta) + 1.0))))
        return max(2, min(few, max(20, math.ceil(3.0 * (1.0 + math.exp(0.5 * self.epsilon))))))
