"""Linear programs whose solutions are private noise of least cost, and bounds by their duals.

Distribution k has mass p_k(i) on cell i. Privacy is Σ_i (p_k(i) − e^ε·p_m(i − s))_+ ≤ δ for a set
of triples (k, m, s); each positive part becomes one variable. Triples are added when they are
violated. Neither guarantee nor bound rests on the solver: `certify` checks what is found with
exact arithmetic, and `dual_bound` holds for any multipliers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from skdp.exceptions import OutOfRangeError, UncertifiedNoiseError
from skdp.mechanisms.base import LOSSES, Loss
from skdp.support.validation import check_choice

Triple = tuple[int, int, int]
"""Distributions k and m, and a shift s in cells: p_k(i) is compared with p_m(i − s)."""

TOTAL = 2**53  # the sum of the weights: each weight and its share are exact doubles
_DRAWN_BITS = 80


@dataclass(frozen=True, kw_only=True)
class CellDistribution:
    """A mixture of uniform distributions on consecutive cells, and of an atom at 0."""

    weights: tuple[int, ...]  # sum to 2^53 with `atom`
    start: int  # left end of the first cell, in half cells
    atom: int = 0  # weight of 0 itself

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Exact masses of the cells."""
        return np.array(self.weights) / TOTAL

    @property
    def atom_mass(self) -> float:
        """Probability of 0 itself."""
        return self.atom / TOTAL

    @property
    def edges(self) -> np.ndarray:
        """Ends of the cells, in cells."""
        return 0.5 * self.start + np.arange(len(self.weights) + 1)

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.cumsum((self.atom, *self.weights))

    def draw(self, size: int, rng: np.random.Generator, steps: int) -> np.ndarray:
        """Return noise in steps, rounded down, where a cell has `steps` of them; exact.

        `steps` is even if `start` is odd. The atom is 0.
        """
        cells = np.searchsorted(self._sums, rng.integers(TOTAL, size=size), side="right") - 1
        within = cells * steps + rng.integers(steps, size=size)
        return np.where(cells < 0, 0, within + self.start * steps // 2)


def cell_steps(sensitivity: float, step: float, cells: int) -> int:
    """Return the even number of grid steps of a cell for which `cells` cells hold the sensitivity.

    Values at most a sensitivity apart are then at most `cells` cells apart on the grid.
    """
    return 2 * math.ceil(math.ceil(sensitivity / step) / (2 * cells))


def integer_weights(masses: np.ndarray, atom: float = 0.0) -> tuple[tuple[int, ...], int]:
    """Return weights of the cells and of the atom that sum to 2^53.

    All are rounded down, and the rest goes to the middle: symmetric masses stay symmetric,
    monotone ones monotone.
    """
    shares = np.floor(masses * TOTAL).astype(np.int64)
    own = int(atom * TOTAL)
    left = TOTAL - own - int(shares.sum())
    shares[(shares.size - 1) // 2] += left // 2
    shares[shares.size // 2] += left - left // 2
    return tuple(shares.tolist()), own


def certify(
    weights: Sequence[tuple[int, ...]],
    triples: Sequence[Triple],
    epsilon: float,
    delta: float,
    atom: int = 0,
) -> None:
    """Raise if the weights are not (ε, δ)-private for every triple, by exact arithmetic."""
    found = exact_delta(weights, triples, epsilon, atom)
    if found > Fraction(delta):
        raise UncertifiedNoiseError(
            f"The noise has delta={float(found)!r} by exact arithmetic, more than {delta!r}. Use a "
            "larger delta or fewer cells."
        )


def exact_delta(
    weights: Sequence[Sequence[int]], triples: Sequence[Triple], epsilon: float, atom: int = 0
) -> Fraction:
    """Return the largest Σ_i (p_k(i) − E·p_m(i − s))_+ + atom, with E a little below e^ε: no error.

    A smaller E only makes it larger, so this is a proof that the weights are (ε, δ)-private.
    """
    growth, unit = _exp_below(epsilon), 1 << _DRAWN_BITS
    most = max(_hockey_stick(weights[k], weights[m], s, growth, unit) for k, m, s in triples)
    return Fraction(most + atom * unit, TOTAL * unit)


def _hockey_stick(p: Sequence[int], q: Sequence[int], shift: int, growth: int, unit: int) -> int:
    n = len(q)
    others = (q[i - shift] if 0 <= i - shift < n else 0 for i in range(n))
    return sum(max(0, unit * own - growth * other) for own, other in zip(p, others, strict=True))


def _exp_below(epsilon: float) -> int:
    """Return a number below 2^80·e^ε, from its series, all terms rounded down."""
    top, bottom = epsilon.as_integer_ratio()
    term, total, n = 1 << _DRAWN_BITS, 0, 0
    while term:
        total, n = total + term, n + 1
        term = term * top // (bottom * n)
    return total


DEGREES = {"l1": 1, "l2": 2}
"""Power of the unit with which a loss grows."""

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)
_PARTS = 32


@dataclass(frozen=True)
class ScaledLoss:
    """The loss of noise in units of `scale`."""

    loss: str | Loss
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.loss):
            check_choice("loss", self.loss, LOSSES)
        elif not isinstance(self.loss, Hashable):
            raise ValueError(f"loss must be hashable, got {self.loss!r}.")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the loss of noise x·scale."""
        function = self.loss if callable(self.loss) else LOSSES[self.loss]
        values = np.asarray(function(x * self.scale), dtype=float)
        if values.shape != np.shape(x) or not np.all(np.isfinite(values)):
            raise ValueError(
                "loss must map an array of noise values to as many finite numbers; "
                f"{self.loss!r} does not."
            )
        return values

    def check_growth(self, farthest: float) -> None:
        """Reject a loss that does not grow at both ends: no noise would be best."""
        x = np.linspace(-farthest, farthest, 401)
        values = self(x)
        if not min(values[0], values[-1]) > values.min():
            raise ValueError(f"loss must grow without bound on both sides; {self.loss!r} does not.")

    def is_even(self, farthest: float) -> bool:
        x = np.linspace(0.0, farthest, 401)
        return bool(np.allclose(self(x), self(-x), rtol=1e-12, atol=0.0))


def cell_nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points in each cell, and weights of their sum that is the mean over a cell."""
    # Gauss's rule on each half of a cell, exact for polynomials there.
    quarter = 0.25 * np.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    halves = [middle + (side + _NODES) * quarter for side in (-1.0, 1.0)]
    return np.hstack(halves), 0.25 * np.concatenate([_NODE_WEIGHTS, _NODE_WEIGHTS])


def cell_means(loss: Loss, edges: np.ndarray) -> np.ndarray:
    """Return the mean of a loss over each cell."""
    points, weights = cell_nodes(edges)
    return np.asarray(loss(points)) @ weights


def check_convex(values: np.ndarray) -> None:
    """Reject a loss, given at equally spaced points, for which no lower bound is known."""
    rises, rounding = np.diff(values), _rounding(values)
    if np.any(np.diff(rises) < -4.0 * rounding) or rises[0] > 0.0 or rises[-1] < 0.0:
        raise ValueError(
            "The lower bound needs a convex loss with its minimum within the support. Use "
            "`expected_loss`, the upper bound, for other losses."
        )


def values_below(loss: Loss, knots: np.ndarray) -> np.ndarray:
    """Return values at equally spaced knots whose straight interpolation is nowhere above a loss.

    The loss is convex and grows beyond the knots, so that the last values hold there as well.
    Between two points of a fine grid a convex function lies above the chords of its neighbors.
    """
    step = (knots[1] - knots[0]) / _PARTS
    values = np.asarray(loss(knots[0] + step * np.arange(-1, (knots.size - 1) * _PARTS + 2)))
    check_convex(values)
    rises, rounding, inner = np.diff(values), _rounding(values), values[1:-1]
    left, right = np.diff(rises)[:-1], np.diff(rises)[1:]
    sag = left * right / np.maximum(left + right, rounding)  # below the chord of one part
    chords = np.interp(np.arange(inner.size), np.arange(0, inner.size, _PARTS), inner[::_PARTS])
    gap = chords - inner
    below = np.maximum(gap[:-1], gap[1:]) + np.maximum(sag, 0.0)
    deepest = below.reshape(-1, _PARTS).max(axis=1)
    return (
        inner[::_PARTS]
        - np.maximum(np.append(deepest, 0.0), np.insert(deepest, 0, 0.0))
        - (8.0 * rounding)
    )


def _rounding(values: np.ndarray) -> float:
    """Bound the rounding error of a user's loss function by 900 roundings of 2^−53."""
    return 1e-13 * (1.0 + float(np.max(np.abs(values))))


# Tuning: no guarantee rests on these.
_AT_ONCE = 25_000  # rows; a larger program starts with the largest shifts only
_ROUNDS = 60
_ADDED = 6  # triples a round, for each distribution
_SOLVER_SLACK = 2e-7  # of δ, for the tolerance of the solver
_FLOAT_SLACK = 1e-9  # of δ, for what is checked in floats
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, kw_only=True)
class LinearProgramSolution:
    """Masses of the distributions and of an atom at 0, multiples of 2^−53, and the multipliers."""

    masses: np.ndarray  # (n_distributions, n_cells)
    atom: float
    cell_multipliers: dict[Triple, np.ndarray]  # λ_kms(i), between 0 and μ_kms
    delta_multipliers: dict[Triple, float]  # μ_kms, of the privacy constraints
    row_multipliers: np.ndarray  # of the further inequalities


@dataclass(frozen=True, kw_only=True)
class NoiseProgram:
    """Minimize Σ costs·p over distributions that are (ε, δ)-private for the triples."""

    costs: np.ndarray  # (n_distributions, n_cells)
    decay: np.ndarray  # about how small the mass of a cell may be; columns are scaled by it
    triples: Sequence[Triple]
    epsilon: float
    delta: float
    padding: int = 0  # cells at each end that no triple tests; 0 for noise that is to be drawn
    mirrored: bool = False  # whether the last distribution is the first one's mirror image, etc.
    atom_cost: float | None = None  # allows an atom at 0, for one distribution
    rows: sparse.csr_array | None = None  # further inequalities rows @ p <= bounds, p flattened
    bounds: np.ndarray | tuple[()] = ()
    method: str = "highs"

    @property
    def n_atoms(self) -> int:
        """Number of atoms that are allowed, 0 or 1."""
        return int(self.atom_cost is not None)

    @property
    def n_masses(self) -> int:
        """Number of masses, mirror images included."""
        return self.costs.size + self.n_atoms

    def solve(self) -> LinearProgramSolution:
        """Return masses that meet every triple, by adding the violated triples."""
        rounding = math.exp(self.epsilon) * self.costs.shape[1] / TOTAL
        active, slack = self._first(), min(_SOLVER_SLACK + rounding / self.delta, 0.5)
        for _ in range(_ROUNDS):
            if slack >= 1.0:
                break
            solution = self._solved(active, self.delta * (1.0 - slack))
            excess = self.excess(solution.masses, solution.atom)
            violated = [one for one in self.triples if excess[one] > 0.0]
            new = [one for one in violated if one not in solution.delta_multipliers]
            if not violated or (self.padding and not new):  # multipliers need no exact masses
                return solution
            active = active + self._worst(new, excess)
            if not new:
                slack += 2.0 * max(excess.values()) / self.delta
        raise UncertifiedNoiseError(
            f"The linear program did not reach delta={self.delta!r} in {_ROUNDS} rounds, or "
            "rounding alone costs more. Use fewer cells or a larger delta."
        )

    def excess(self, masses: np.ndarray, atom: float) -> dict[Triple, float]:
        """Return by how much each triple exceeds δ, less a margin for floats."""
        growth, n_cells = math.exp(self.epsilon), self.costs.shape[1]
        core = slice(self.padding, n_cells - self.padding)
        target = self.delta * (1.0 - _FLOAT_SLACK) - atom

        def excess(k: int, m: int, s: int) -> float:
            gap = masses[k] - growth * moved(masses[m], s)
            return float(np.maximum(gap[core], 0.0).sum()) - target

        return {one: excess(*one) for one in self.triples}

    def _first(self) -> list[Triple]:
        if len(self.triples) * self.costs.shape[1] <= _AT_ONCE:
            return list(self.triples)
        farthest = max(abs(s) for _, _, s in self.triples)
        return [one for one in self.triples if abs(one[2]) == farthest]

    def _worst(self, new: list[Triple], excess: dict[Triple, float]) -> list[Triple]:
        """Return the worst of the local maxima along the shifts, for each pair of distributions."""

        def is_peak(k: int, m: int, s: int) -> bool:
            return all(excess[k, m, s] >= excess.get((k, m, s + step), 0.0) for step in (-1, 1))

        peaks = [one for one in new if is_peak(*one)] or new
        return sorted(peaks, key=lambda one: -excess[one])[: _ADDED * len(self.costs)]

    def _solved(self, active: list[Triple], target: float) -> LinearProgramSolution:
        blocks, columns = _Blocks(self, np.array(active)), self._columns()
        matrix, bounds = blocks.inequalities(columns, target)
        costs, sums = self._objective(columns, blocks.own.size)
        answer = linprog(
            costs,
            matrix,
            bounds,
            sums,
            np.ones(len(self.costs)),
            method=self.method,
            options=_OPTIONS,
        )
        if answer.x is None or answer.status != 0:
            raise OutOfRangeError(
                f"No noise on {self.costs.shape[1]} cells was found for epsilon={self.epsilon!r}, "
                f"delta={self.delta!r} under these constraints ({answer.message}). Allow a wider "
                "support, other cells or a weaker cap."
            )
        found = np.maximum(columns @ answer.x[: columns.shape[1]], 0.0)
        masses, atom = found[: self.costs.size].reshape(self.costs.shape), found[self.costs.size :]
        whole = masses.sum(axis=1, keepdims=True) + atom.sum()
        share = float(atom.sum() / whole[0, 0])
        weights = [integer_weights(row, share)[0] for row in masses / whole]
        cells, deltas, rows = blocks.multipliers(-answer.ineqlin.marginals, target)
        return LinearProgramSolution(
            masses=np.array(weights) / TOTAL,
            atom=int(share * TOTAL) / TOTAL,
            cell_multipliers=cells,
            delta_multipliers=deltas,
            row_multipliers=rows,
        )

    def _columns(self) -> sparse.csr_array:
        """Return the matrix from scaled variables to masses: mirror images are one variable."""
        index = np.arange(self.costs.size)
        if self.mirrored:
            index = np.minimum(index, index[::-1])
        index = np.append(index, np.arange(self.n_masses - index.size) + index.size)
        _, column = np.unique(index, return_inverse=True)
        scales = np.append(np.tile(self.decay, len(self.costs)), np.ones(self.n_atoms))
        return sparse.csr_array((scales, (np.arange(index.size), column)))

    def _objective(
        self, columns: sparse.csr_array, n_tests: int
    ) -> tuple[np.ndarray, sparse.csr_array]:
        """Return the costs, and the matrix of the sums that are 1."""
        costs = columns.T @ np.append(self.costs.ravel(), [self.atom_cost] * self.n_atoms)
        sums = np.kron(np.eye(len(self.costs)), np.ones(self.costs.shape[1]))
        sums = np.hstack([sums, np.ones((len(sums), self.n_atoms))]) @ columns
        padded = sparse.hstack([sparse.csr_array(sums), sparse.csr_array((len(sums), n_tests))])
        return np.append(costs, np.zeros(n_tests)), padded.tocsr()


class _Blocks:
    """The inequalities of some triples: cell i of distribution k against cell i − s of m."""

    def __init__(self, program: NoiseProgram, active: np.ndarray) -> None:
        n_cells = program.costs.shape[1]
        core = np.arange(program.padding, n_cells - program.padding)
        triple = np.repeat(np.arange(len(active)), core.size)
        k, m, s = active.T[:, triple]
        cell = np.tile(core, len(active))
        inside = (cell >= s) & (cell < n_cells + s)
        self.program, self.active = program, active
        self.cell, self.triple = cell[inside], triple[inside]
        self.own, self.other = (k * n_cells + cell)[inside], (m * n_cells + cell - s)[inside]
        self.alone, self.alone_triple = (k * n_cells + cell)[~inside], triple[~inside]
        self.scale = program.decay[self.cell]

    def inequalities(
        self, columns: sparse.csr_array, target: float
    ) -> tuple[sparse.csc_array, np.ndarray]:
        """Return the matrix for (masses, atom, positive parts) and its right side, all scaled."""
        program, n_tests, n = self.program, self.own.size, len(self.active)
        row, growth = np.arange(n_tests), math.exp(program.epsilon)
        shape = (n_tests, program.n_masses)
        tests = sparse.csr_array((1.0 / self.scale, (row, self.own)), shape) - sparse.csr_array(
            (growth / self.scale, (row, self.other)), shape
        )
        alone = sparse.csr_array(
            (np.ones(self.alone.size), (self.alone_triple, self.alone)), (n, program.n_masses)
        )
        if program.n_atoms:
            alone = alone + sparse.csr_array(
                (np.ones(n), (np.arange(n), np.full(n, program.costs.size))), alone.shape
            )
        parts = sparse.csr_array((self.scale / target, (self.triple, row)), (n, n_tests))
        rows = [[tests @ columns, -sparse.eye(n_tests)], [alone @ columns / target, parts]]
        if program.rows is not None:
            rows.append([program.rows @ columns[: program.costs.size], None])
        bounds = np.concatenate([np.zeros(n_tests), np.ones(n), program.bounds])
        return sparse.bmat(rows, format="csc"), bounds

    def multipliers(
        self, scaled: np.ndarray, target: float
    ) -> tuple[dict[Triple, np.ndarray], dict[Triple, float], np.ndarray]:
        """Return those of cells, of privacy and of further rows, unscaled and valid."""
        scaled = np.maximum(scaled, 0.0)
        own, deltas, rows = np.split(scaled, [self.own.size, self.own.size + len(self.active)])
        deltas = deltas / target
        cells = np.zeros((len(self.active), self.program.costs.shape[1]))
        cells[self.triple, self.cell] = np.minimum(own / self.scale, deltas[self.triple])
        cells[self.alone_triple, self.alone % cells.shape[1]] = deltas[self.alone_triple]
        keys = [tuple(one) for one in self.active.tolist()]
        return (
            dict(zip(keys, cells, strict=True)),
            dict(zip(keys, deltas.tolist(), strict=True)),
            rows,
        )


def moved(masses: np.ndarray, cells: int) -> np.ndarray:
    """Return the masses moved `cells` to the right, filled with zeros."""
    result = np.zeros_like(masses)
    if cells >= 0:
        result[cells:] = masses[: masses.size - cells]
    else:
        result[:cells] = masses[-cells:]
    return result


def dual_bound(program: NoiseProgram, solution: LinearProgramSolution) -> float:
    """Return a number below Σ costs·p for every p that meets the program; weak duality.

    Multipliers 0 ≤ λ ≤ μ give Σ costs·p ≥ Σ_k min_i f_k(i) − δ·Σ μ with
    f_k(i) = costs_k(i) + Σ λ_kms(i) − e^ε·Σ λ_mks(i + s), whatever the solver did. Those of mirror
    images are equal if the program is mirrored.

    A sum of N numbers in floats is off by at most N·2^−53 times the sum of their sizes. Each f_k(i)
    adds two numbers for each triple to at most eight others, and no partial sum is larger than
    `size`; 1e-15 is nine times 2^−53.
    """
    growth, total = math.exp(program.epsilon), math.fsum(solution.delta_multipliers.values())
    value = np.zeros_like(program.costs)
    for (k, m, s), cells in solution.cell_multipliers.items():
        value[k] += cells
        value[m] -= growth * moved(cells, -s)
    if program.rows is not None:
        value += (program.rows.T @ solution.row_multipliers).reshape(value.shape)
    if program.mirrored:
        value = 0.5 * (value + value[::-1, ::-1])
    value += program.costs
    rows, bounds = solution.row_multipliers, 0.0
    size = np.abs(program.costs).max() + (1.0 + growth) * total
    if program.rows is not None:
        bounds = float(np.dot(rows, program.bounds))
        size += abs(program.rows).max() * rows.sum()
    rounding = 1e-15 * (len(solution.cell_multipliers) + 8) * len(value) * float(size)
    return float(value.min(axis=1).sum()) - program.delta * total - bounds - rounding
