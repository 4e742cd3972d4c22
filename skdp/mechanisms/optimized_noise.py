"""Noise of least cost for one number, found by linear programming."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from skdp.mechanisms._grid import grid_step
from skdp.mechanisms.base import AdditiveMechanism, Loss
from skdp.mechanisms.optimized.additive import AdditiveDesign, check_rows, reach
from skdp.mechanisms.optimized.certified_distribution import CellDistribution, cell_steps
from skdp.mechanisms.optimized.costs import DEGREES, ScaledLoss, cell_nodes
from skdp.privacy import BetweenNeighborsEvent, PiecewiseConstantNoiseEvent
from skdp.support.rounding import SUM, margin
from skdp.support.validation import check_choice, check_count, check_real, check_size

__all__ = ["OptimizedNoise"]

_ROWS = 8000  # about, of the program if `cells` is None; no guarantee rests on it


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
    (0.5585, 0.5588)
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
        if self.support == "integer":
            self._check_integers()
        elif self.cells is not None:
            self._set(cells=check_count("cells", self.cells))
        design = self._design
        check_rows(2 * design.half * design.cells)

    def _check_integers(self) -> None:
        if self.sensitivity != int(self.sensitivity) or self.cells is not None or self.atom:
            raise ValueError(
                "support='integer' needs an integer sensitivity, cells=None and atom=False; got "
                f"{self.sensitivity!r}, {self.cells!r} and {self.atom!r}."
            )

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
        lower = self._design.lower_bound() * scale
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
        return self._design.distribution()

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
