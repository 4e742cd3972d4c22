"""Small releases beside that of the coefficients, and the sums of rows that releases add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, ClassVar

import numpy as np

from skdp.design import Design
from skdp.design.base import ROWS_SUMMED, MemoryDesign, SumGrid
from skdp.design.transformed import shared_cross_product, units_of_length
from skdp.losses import Loss, Minorant
from skdp.losses.base import ProbabilityLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import Neighboring
from skdp.solvers.base import SCALE_MARGIN, NoisyGram, PartOfMu, Problem, RowCount, ScoreMeans
from skdp.support.safe_numbers import SERIES, up

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


_ROOT_2 = math.sqrt(2.0)

# No guarantee rests on these.
_MOST_COLUMNS = 1024  # of a released matrix
_GRAM_SHARE = 0.1  # of μ, which is 1 % of μ²
_STEEPER = 2.0  # ρ of a metric for steps over the spectral norm of the matrix's noise
_LONGEST_STEP = 1.5  # in units of 1/curvature
_RIDGES = 16.0  # least ρ of a metric for steps, in units of the curvature at which a ridge matters


@dataclass(frozen=True, eq=False)
class Metric:
    """P = V·diag(g)·Vᵀ with eigenvalues g = ρ/(l + ρ) in (0, 1], for AᵀA ≈ V·diag(l)·Vᵀ.

    P leaves steps unchanged in directions with l below the noise ρ and shortens them by ρ/l in
    others: P^½·AᵀA·P^½ has eigenvalues of about ρ at most. V and l are *released,* ρ is *public.*
    """

    vectors: np.ndarray  # V
    values: np.ndarray  # l ≥ 0
    noise: float  # ρ
    gram: NoisyGram  # *released*

    @classmethod
    def of(cls, gram: NoisyGram) -> Metric:
        """Return the metric of a released matrix, with ρ = σ·√(2d)."""
        values, vectors = np.linalg.eigh(gram.matrix)
        return cls(vectors, np.maximum(values, 0.0), gram.spectral_noise, gram)

    @cached_property
    def gains(self) -> np.ndarray:
        """g, the eigenvalues of P."""
        return self.noise / (self.values + self.noise)

    @property
    def trace(self) -> float:
        """Approximate trace of P^½·AᵀA·P^½."""
        return float(self.gains @ self.values)

    def apply(self, force: np.ndarray) -> np.ndarray:
        """Return P·force, for a force of shape (n_features,) or (n_features, K)."""
        return np.asarray(self.vectors @ (self.gains * (self.vectors.T @ force).T).T)

    def root(self) -> np.ndarray:
        """Return P^½, symmetric."""
        return np.asarray((self.vectors * np.sqrt(self.gains)) @ self.vectors.T)


@dataclass(frozen=True, kw_only=True)
class GramRelease(PartOfMu):
    """The release of AᵀA with symmetric Gaussian noise, μ-Gaussian DP.

    Adding or removing a row a changes AᵀA by aaᵀ, of Frobenius norm |a|² ≤ R². Replacing it changes
    AᵀA by aaᵀ − bbᵀ, of squared norm |a|⁴ + |b|⁴ − 2(a·b)² ≤ 2R⁴. The diagonal and √2 times the
    entries above it are a vector whose l2 norm is the Frobenius norm. Each entry of the vector gets
    noise of standard deviation σ = Δ/μ: σ on the diagonal, σ/√2 on all other entries of the matrix.
    Products of weighted records are multiplied by shares s and t in [0, 1] of the largest weight.
    The squares, s²|a|⁴ and at most s²|a|⁴ + t²|b|⁴, are then no larger. A sum over a Poisson sample
    counts as a sampled step on gradients of norm R², and is then divided by the rate.
    """

    mu: float
    sums: MachineSum
    largest: float | None = None  # weight of a record, None without weights
    floor: float = 0.0  # least ρ of a metric for steps: a run that a ridge ends needs no less
    sample: Any = None  # `SampledSteps` of one step: a sum over a sample is released instead
    square: float = math.nan  # R², of a sample

    @classmethod
    def plan(cls, problem: Problem, mu: float) -> GramRelease | None:
        """Return a release with 1 % of μ²; None for too many columns or an unknown number."""
        d = problem.n_features
        if d is None or not 1 < d <= _MOST_COLUMNS:
            return None
        floor = _RIDGES / (problem.most_C * Minorant.of(problem.loss).smoothness)
        largest = problem.loss.largest if isinstance(problem.loss, WeightedLoss) else None
        return cls(mu=_GRAM_SHARE * mu, sums=gram_sum(problem), largest=largest, floor=floor)

    @cached_property
    def noise(self) -> GridGaussian:
        own = self.sample
        return own.noise(self.sums, self.square) if own else self.sums.noise(self.mu)

    @property
    def rate(self) -> float:
        return self.sample.rate if self.sample else 1.0

    @property
    def scale(self) -> float:
        """σ, its standard deviation."""
        return self.noise.scale / self.rate

    def spectral_noise(self, n_features: int) -> float:
        """Return the approximate spectral norm of the noise, σ·√(2d)."""
        return self.scale * math.sqrt(2.0 * n_features)

    def longest_step(self, problem: Problem, ridge: float = 0.0) -> float:
        """Return a step that is stable in the metric for steps, where AᵀA is about ρ at most."""
        assert problem.n_features is not None, "`plan` checked the number of columns"
        noise = self.noise_for_steps(problem.n_features)
        return _LONGEST_STEP / (Minorant.of(problem.loss).smoothness * noise + ridge)

    def release_for_steps(self, design: Design, rng: np.random.Generator) -> Metric:
        """Release the metric for steps, with at least twice the ρ of `release`; takes one pass."""
        metric = self.release(design, rng)
        return replace(metric, noise=self.noise_for_steps(design.n_features))

    def noise_for_steps(self, n_features: int) -> float:
        """Return ρ of the metric for steps."""
        return max(_STEEPER * self.spectral_noise(n_features), self.floor)

    def release(self, design: Design, rng: np.random.Generator) -> Metric:
        """Release the metric of the noisy matrix, with ρ = σ·√(2d); takes one pass."""
        noisy = self.noise.release(as_vector(self.exact(design, rng)), rng)
        return Metric.of(NoisyGram(as_matrix(noisy) / self.rate, self.scale))

    def exact(self, design: Design, rng: np.random.Generator) -> np.ndarray:
        """Return the *private* matrix of all records, or of a sample."""
        if self.sample is not None:
            rows = next(self.sample.samples(design.n_records, rng))
            return design.exact_sum(methodcaller("cross_product"), self.sums.grid, rows)
        if self.largest is None:
            return design.cross_product(self.sums.grid)
        return shared_cross_product(design, self.largest, self.sums.grid)


def as_vector(matrix: np.ndarray) -> np.ndarray:
    """Return the diagonal and √2 times the upper triangle of a symmetric matrix, row by row."""
    rows, columns = np.triu_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, _ROOT_2)


def as_matrix(vector: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of such a vector."""
    d = (math.isqrt(8 * vector.size + 1) - 1) // 2
    rows, columns = np.triu_indices(d)
    matrix = np.empty((d, d))
    matrix[rows, columns] = vector / np.where(rows == columns, 1.0, _ROOT_2)
    matrix[columns, rows] = matrix[rows, columns]
    return matrix


# No guarantee rests on these.
_SHARE = 0.02  # of μ²
_FEWEST, _MOST = 100.0, 3000.0  # n·μ/k for which probabilities gain by the means
_MOST_SCORE = 3.0  # to which scores are clipped

# A guarantee rests on it.
_SENSITIVITY = {Neighboring.ADD_REMOVE_ONE: math.sqrt(3.0), Neighboring.REPLACE_ONE: math.sqrt(8.0)}


@dataclass(frozen=True)
class MeansRelease(PartOfMu):
    """The release of Σ (y, c, y·c) with Gaussian noise, μ-Gaussian DP; c is c(z) in units of its
    bound.

    A record adds v = (y, c, y·c) with |y| = 1 and |c| ≤ 1. Adding or removing it changes the sums
    by |v|² = 1 + 2c² ≤ 3. Replacing it by (y', c') changes them by 2(c − c')² ≤ 8 if y' = y, and
    otherwise by 4 + (c − c')² + (c + c')² = 4 + 2c² + 2c'² ≤ 8. The rows of a person have shares
    that add up to at most 1. So a person adds a point of the convex hull of all v and 0, where no
    norm and no distance is larger: |v − 0|² ≤ 3.

    Scores of the other records are computed with errors that depend on where their rows stand.
    `mean_sum` bounds them for the released θ, and the noise covers them.
    """

    name: ClassVar[str] = "three means of labels and scores"
    mu: float  # Gaussian-DP parameter
    count: RowCount  # of the solver's plan
    problem: Problem  # its number of records is public, or released by `count`

    @classmethod
    def plan(cls, problem: Problem, count: RowCount, mu: float) -> MeansRelease | None:
        """Return a release with 2 % of μ², None where probabilities gain nothing.

        The number of records is `problem.n_samples`, public, or released by `count`. A guess of a
        private number could be far from it, and the means with it.
        """
        n = problem.n_samples
        if n is None or (count.public is not None and not problem.count_is_public):
            return None
        loss = loss_of_one_row(problem.loss)
        has_link = loss is not None and loss.n_scores == 1 and problem.intercept_scaling > 0.0
        if not (has_link and isinstance(problem.C, str)):
            return None
        if not _FEWEST <= problem.signal(n, mu) <= _MOST:
            return None
        return cls(math.sqrt(_SHARE) * mu, count, problem)

    @property
    def exact(self) -> bool:
        """Whether rounding errors are bounded."""
        return self.problem.rows_are_exact

    def release(self, design: Design, theta: np.ndarray, rng: np.random.Generator) -> ScoreMeans:
        """Release the means at a *released* θ; takes one pass."""
        sums, n = self.sums(theta), self.problem.n_samples
        assert n is not None, "`plan` checked it"
        noise, added = sums.noise(self.mu), partial(_sums, theta, self.problem.loss)
        total = sums.grid.floats(design.exact_total(added, sums.grid))
        label, score, product = (noise.release(total, rng) / n).tolist()
        count_noise = 1.0 / (self.count.mu * n) if self.count.mu else 0.0
        return ScoreMeans(
            label=label,
            score=_MOST_SCORE * score,
            product=_MOST_SCORE * product,
            noise=noise.scale / n,
            n_records=n,
            count_noise=count_noise,
            most_score=_MOST_SCORE,
        )

    def sums(self, theta: np.ndarray) -> MachineSum:
        """Return the facts of the sums at a *released* θ."""
        # (1, 1, 1) is √3 long, and c and y·c move together
        length = math.sqrt(2.0) * float(np.linalg.norm(theta)) / _MOST_SCORE * (1.0 + SCALE_MARGIN)
        between = _SENSITIVITY[self.problem.neighboring]
        problem = self.problem.with_columns(theta.size)
        return mean_sum(problem, between, math.sqrt(3.0), length, 3)


def _sums(theta: np.ndarray, loss: Loss, block: MemoryDesign) -> np.ndarray:
    """Return Σ (y, c, y·c) of a block."""
    y, shares = targets_and_shares(loss, block.targets)
    clipped = np.clip(block.scores(theta) / _MOST_SCORE, -1.0, 1.0)
    signed = np.where(y > 0, shares, -shares)
    return np.array([signed.sum(), shares @ clipped, signed @ clipped])


def targets_and_shares(loss: Loss, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the targets alone, and each row's share of a record: 1 for rows without weights."""
    if y.dtype.names is None:
        return y, np.ones(y.shape)
    assert isinstance(loss, WeightedLoss), "no other loss takes pairs"
    return y["target"], y["weight"] / loss.largest


def loss_of_one_row(loss: Loss) -> Loss | None:
    """Return the loss of a row of weight 1, None if classes have weights, or it has no link."""
    if isinstance(loss, WeightedLoss):
        return loss_of_one_row(loss.loss)
    weighted = isinstance(loss, ClassWeightedLoss)
    return loss if isinstance(loss, ProbabilityLoss) and not weighted else None
