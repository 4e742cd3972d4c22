"""Sums of clipped contributions as a computer adds them; *Machine numbers* derives all bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skdp.design.base import ROWS_SUMMED, SumGrid
from skdp.design.transformed import units_of_length
from skdp.losses import Loss
from skdp.losses.weighted import SharedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.solvers.base import Problem
from skdp.support.rounding import SERIES, up

_UNIT = 2.0**-53
# Units of the relative error of a computed derivative, for one score: `exp`, four units, and up to
# twenty operations. The K values of a softmax are also divided by a sum of K.
_DERIVATIVE = 32
_OF_TARGET = 4  # units of a residual z + start − y, in addition to the error of z; targets up to 1
# Units of a clip factor: a root, products and a quotient. The root of a sum of d squares adds half
# of d.
_FACTOR = 8
_PRODUCTS = 16  # at most nine: with factors, weights and √2, and the roundings of the final sum
_BLOCKS = 2.0**31  # the most that a `SumGrid` adds; no computer holds more
_OF_NORM = 8  # units of a computed norm of θ, and of the products that shorten it

# The radius of the ball of coefficients is so large that only these bound it. No guarantee rests
# on them: they set the radius, and the error is computed for it.
_SCORE_SHARE = 2.0**-16  # of the sensitivity, for errors of scores, if the ball may be smaller
_LEAST_SCORES = 64.0  # in units of the loss's noise scale, at least 1
_NOISY_SCORES = 4.0  # in units of √D noise scales: a run ends when the noise in a score is one


@dataclass(frozen=True, kw_only=True)
class MachineSum:
    """Public facts of a sum over all records, computed in floating point."""

    between: float  # l2 distance of the exact sums of neighbors
    errors: float  # bound of the errors of two computed sums together
    largest: float  # bound of the l2 norm of a sum over blocks
    dimension: int  # size of the sum
    radius: float = math.inf  # norm of the coefficients up to which this holds

    @property
    def sensitivity(self) -> float:
        """l2 distance of the computed sums of neighbors."""
        return up(self.between + self.errors, SERIES)

    @property
    def grid(self) -> SumGrid:
        """The grid on which blocks are added."""
        return SumGrid.of(self.largest)

    def noise(self, mu: float) -> GridGaussian:
        """Return noise with which the release of one sum is μ-Gaussian DP."""
        return GridGaussian.at(mu, self.sensitivity, self.dimension, self.largest)


def gradient_sum(
    problem: Problem, longest: float = math.inf, n_records: float = math.inf
) -> MachineSum:
    """Return the facts of Σ ℓ'(y_i, a_i·θ) ⊗ a_i on a ball of θ, each part at most `longest`.

    There are at most `n_records` parts, and no more than the problem has.
    """
    loss, n = problem.loss, min(problem.covered_rows, n_records)
    longest, n_features = min(longest, loss.lipschitz * problem.row_norm), problem.n_features or 1
    between = problem.neighboring.n_changed * longest
    size = n_features * loss.n_scores
    if not is_covered(loss):
        return _with_errors(between, n, longest, 0.0, size)
    whole, of_score = record_error(
        *(loss, problem.row_norm, n_features, ROWS_SUMMED),
        clips=problem.clips,
        parts=problem.parts,
        longest=longest,
    )
    for_scores = _SCORE_SHARE * between * n / problem.covered_rows  # less on samples, as the rest
    radius = _radius(problem, size, for_scores / (2.0 * n * of_score))
    farthest = radius * (1.0 + _gamma(size + _OF_NORM))  # the projection is computed too
    return _with_errors(between, n, longest, whole + of_score * farthest, size, radius)


def is_covered(loss: Loss) -> bool:
    """Whether the theorem covers a loss: an error of a score may move another's gradient by 2L."""
    return math.isfinite(loss.smoothness) and math.isfinite(loss.lipschitz)


def record_error(
    loss: Loss,
    row_norm: float,
    n_features: int,
    terms: int,
    clips: float = 1.0,
    parts: float = 1.0,
    longest: float = math.inf,
) -> tuple[float, float]:
    """Return a bound a + b·|θ| of the error in a sum of gradients, for each record of the sum.

    `terms` is the number of additions that a number passes through before blocks are added. `clips`
    and `parts` are those of `Problem`. If gradients are clipped to `longest`, the errors of sums
    are smaller. The errors of the gradients are not: a row that a center shortens has the error of
    a long row.
    """
    most, K = loss.lipschitz * row_norm, loss.n_scores
    of_sum, of_row = _gamma(parts * (terms + _PRODUCTS)), most * _of_factors(n_features, clips)
    if longest >= most:
        of_sum *= most
    elif isinstance(loss, SharedLoss):  # rows of a person may be long, however short their sum is
        of_sum = most * (of_sum + 2.0 * _gamma(units_of_length(terms, n_features, K)))
    elif parts > 1.0:  # a gradient may be short although both of its parts are long
        of_sum = most * (of_sum + 2.0 * most / longest * _of_factors(n_features + K, clips))
    else:
        of_sum = longest * (of_sum + _of_factors(n_features + K, 1.0))
    of_derivative = most * (_DERIVATIVE + K) * _UNIT
    of_target = loss.smoothness * row_norm * _OF_TARGET * math.sqrt(K) * _UNIT
    units = float(getattr(loss, "score_units", 0.0))
    subtracted = units * loss.smoothness * row_norm * _UNIT  # for each unit of scores
    whole = of_sum + of_row + of_derivative + of_target + subtracted * 2.0 * loss.noise_scale
    of_score = loss.smoothness * row_norm**2 * _of_score(n_features, clips)
    return whole, of_score + subtracted * row_norm


def mean_sum(
    problem: Problem, sensitivity: float, longest: float, length: float, size: int
) -> MachineSum:
    """Return the facts of Σ s·v(y, z) for vectors of norm `longest` at most and shares s.

    `length` is |θ| times the Lipschitz constant of v in the score.
    """
    # Products with shares, and a residual or a logarithm of ten operations, as of a derivative.
    n_features = problem.n_features or 1
    of_score = problem.row_norm * length * _of_score(n_features, problem.clips)
    each = longest * (_summed() + _DERIVATIVE * _UNIT) + of_score
    return _with_errors(sensitivity, problem.covered_rows, longest, each, size)


def gram_sum(problem: Problem) -> MachineSum:
    """Return the facts of AᵀA, as the vector of its diagonal and √2 times its upper triangle."""
    square, n_features = problem.row_norm**2, problem.n_features or 1
    between = math.sqrt(problem.neighboring.n_changed) * square
    each = square * (_summed(problem.parts**2) + 2.0 * _of_factors(n_features, problem.clips))
    size = n_features * (n_features + 1) // 2
    return _with_errors(between, problem.covered_rows, square, each, size)


def moment_sum(problem: Problem, sensitivity: float) -> MachineSum:
    """Return the facts of Σ v for v = (√s·aaᵀ/R², √(1 − s)·y·a/R), by the `sensitivity` of Σ v."""
    # Both parts are at most 1 long, so the sum of their errors bounds that of v.
    n_features = problem.n_features or 1
    each = 2.0 * _summed(problem.parts**2) + 3.0 * _of_factors(n_features, problem.clips)
    size = n_features * (n_features + 1) // 2 + n_features
    return _with_errors(sensitivity, problem.covered_rows, 1.0, each, size)


def _with_errors(
    between: float, n: float, longest: float, each: float, size: int, radius: float = math.inf
) -> MachineSum:
    """Return the facts of n contributions up to `longest`, each computed up to an error."""
    largest = up(2.0 * n * longest, SERIES)  # twice, for errors and for weights and shares
    # Half a step each, twice. In other units, as of moments, a step may be twice as wide.
    blocks = _BLOCKS * 2.0 * SumGrid.of(largest).fine_step * math.sqrt(size)
    return MachineSum(
        between=up(between, SERIES),
        errors=up(2.0 * n * each + blocks, SERIES),
        largest=largest,
        dimension=size,
        radius=radius,
    )


def _radius(problem: Problem, size: int, wanted: float) -> float:
    """Return the radius Θ of coefficients: as wanted, but wide enough for scores and noise."""
    scale = problem.loss.noise_scale
    scores = _LEAST_SCORES * max(1.0, scale) + _NOISY_SCORES * math.sqrt(size) * scale
    return max(scores / problem.row_norm, wanted)


def center_sum(problem: Problem, n_columns: int, sensitivity: float) -> MachineSum:
    """Return the facts of Σ (s·ã, s/2) for rows ã of norm 1 at most and shares s."""
    # twice: (ã, 1/2) is √1.25 long
    each = 2.0 * (_summed() + _of_factors(n_columns, problem.clips))
    return _with_errors(sensitivity, problem.covered_rows, 2.0, each, n_columns + 1)


def _summed(parts: float = 1.0) -> float:
    """Return the relative error of a sum of products in any order, and of what follows."""
    return _gamma(parts * (ROWS_SUMMED + _PRODUCTS))


def shifted(problem: Problem, stretch: float, n_entries: int | None) -> Problem:
    """Return the problem of rows that may be shifted by a center, and then stretched and clipped.

    Rows are clipped, shifted, stretched by at most t = `stretch`, and clipped again. With
    `n_entries` = k the zeros of rows with k other entries are kept, and a shifted row is the
    difference of two parts. Each is at most t·R long, the row at most R. Their products have (2t)²
    times its square. *Machine numbers* derives the units of the factors and of scores.
    """
    if n_entries is None or not stretch:
        return replace(problem, clips=problem.clips + stretch * problem.clips)
    units = stretch * problem.clips * (0.5 * n_entries + _FACTOR)
    units += 2.0 * stretch**2 * (n_entries + 20) + 2.0 * stretch * (n_entries + 6)
    clips = units / (0.5 * (problem.n_features or 1) + _FACTOR)
    return replace(problem, clips=clips, parts=2.0 * stretch)


def _of_factors(n_features: int, clips: float) -> float:
    """Return the relative error of so many clip factors of a row."""
    return _gamma(clips * (0.5 * n_features + _FACTOR))


def _of_score(n_features: int, clips: float) -> float:
    """Return the error of a score relative to R·|θ|."""
    return _gamma(n_features + 4) + _of_factors(n_features, clips)


def _gamma(n_operations: float) -> float:
    """Return the relative error of so many roundings: Higham 2002, Lemma 3.1."""
    return n_operations * _UNIT / (1.0 - n_operations * _UNIT)
