"""The release of means of labels and scores at a released θ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.design import Design
from skdp.design.base import MemoryDesign
from skdp.losses import Loss, SharedLoss
from skdp.losses.base import ProbabilityLoss
from skdp.losses.weighted import ClassWeightedLoss, WeightedLoss
from skdp.privacy import GDPEvent, Neighboring
from skdp.solvers._machine_sums import MachineSum, mean_sum
from skdp.solvers._score_means import ScoreMeans
from skdp.solvers.base import SCALE_MARGIN, Problem, RowCount

# No guarantee rests on these.
_SHARE = 0.02  # of μ²
_FEWEST, _MOST = 100.0, 3000.0  # n·μ/k for which probabilities gain by the means
_MOST_SCORE = 3.0  # to which scores are clipped

# A guarantee rests on it.
_SENSITIVITY = {Neighboring.ADD_REMOVE_ONE: math.sqrt(3.0), Neighboring.REPLACE_ONE: math.sqrt(8.0)}


@dataclass(frozen=True)
class MeansRelease:
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
        if n is None or (count.public is not None and not problem.neighboring.count_is_public):
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

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    def rest(self, mu: float) -> float:
        """Return the rest of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)

    def release(self, design: Design, theta: np.ndarray, rng: np.random.Generator) -> ScoreMeans:
        """Release the means at a *released* θ; takes one pass."""
        sums, n = self.sums(theta), self.problem.n_samples
        assert n is not None, "`plan` checked it"
        noise = sums.noise(self.mu)
        total = sums.grid.floats(design.exact_total(_Sums(theta), sums.grid))
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


@dataclass(frozen=True, eq=False, repr=False)
class _Sums:
    """Σ (y, c, y·c) of a block; picklable."""

    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        y, shares = block.targets, np.ones(block.n_samples)
        if y.dtype.names is not None:
            y, shares = y["target"], y["weight"]
        clipped = np.clip(block.scores(self.theta) / _MOST_SCORE, -1.0, 1.0)
        signed = np.where(y > 0, shares, -shares)
        return np.array([signed.sum(), shares @ clipped, signed @ clipped])


def loss_of_one_row(loss: Loss) -> Loss | None:
    """Return the loss of a row, None if rows or classes have weights, or it has no link."""
    if isinstance(loss, SharedLoss):
        return loss_of_one_row(loss.loss) if loss.largest == 1.0 else None
    weighted = isinstance(loss, (WeightedLoss, ClassWeightedLoss))
    return loss if isinstance(loss, ProbabilityLoss) and not weighted else None
