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
from skdp.solvers._score_means import ScoreMeans
from skdp.solvers.base import SCALE_MARGIN, Problem, RowCount, rounded

__all__ = ["MeansRelease", "loss_of_one_row"]

# No guarantee rests on these.
_SHARE = 0.02  # of μ²
_FEWEST, _MOST = 100.0, 3000.0  # n·μ/k for which probabilities gain by the means
_MOST_SCORE = 3.0  # to which scores are clipped

# Guarantees rest on these.
_MOST_RECORDS = 1 << 24  # a noisy count exceeds it by fewer than 2²⁴, so sums are below 2⁶¹
_LEVELS = 1 << 12  # of a score of 1 in units of `_MOST_SCORE`, in which scores are rounded
_SHARES = 1 << 24  # of a record, in which shares of its rows are rounded down
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

    Scores are rounded to multiples of 2⁻¹² and shares down to multiples of 2⁻²⁴, each row on its
    own. So all this holds for the rounded rows, and their sums are exact, because they are sums of
    integers.
    """

    name: ClassVar[str] = "three means of labels and scores"
    mu: float  # Gaussian-DP parameter
    count: RowCount  # of the solver's plan
    n_records: int  # public, or released by `count`
    sensitivity: float

    @classmethod
    def plan(cls, problem: Problem, count: RowCount, mu: float) -> MeansRelease | None:
        """Return a release with 2 % of μ², None where probabilities gain nothing.

        The number of records is `problem.n_samples`, public, or released by `count`. A guess of a
        private number could be far from it, and the means with it.
        """
        n, relation = problem.n_samples, problem.neighboring
        if n is None or (count.public is not None and not relation.count_is_public):
            return None
        loss = loss_of_one_row(problem.loss)
        has_link = loss is not None and loss.n_scores == 1 and problem.intercept_scaling > 0.0
        if not (has_link and isinstance(problem.C, str) and n <= _MOST_RECORDS):
            return None
        if not _FEWEST <= problem.signal(n, mu) <= _MOST:
            return None
        return cls(math.sqrt(_SHARE) * mu, count, n, _SENSITIVITY[relation])

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    def rest(self, mu: float) -> float:
        """Return the rest of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)

    def release(self, design: Design, theta: np.ndarray, rng: np.random.Generator) -> ScoreMeans:
        """Release the means at a *released* θ; takes one pass."""
        scale = self.sensitivity / self.mu * (1.0 + SCALE_MARGIN)
        sums = design.total(_Sums(theta)) / (_LEVELS * _SHARES)
        noisy = rounded(sums + rng.normal(scale=scale, size=3), scale)
        label, score, product = (noisy / self.n_records).tolist()
        count_noise = 1.0 / (self.count.mu * self.n_records) if self.count.mu else 0.0
        return ScoreMeans(
            label=label,
            score=_MOST_SCORE * score,
            product=_MOST_SCORE * product,
            noise=scale / self.n_records,
            n_records=self.n_records,
            count_noise=count_noise,
            most_score=_MOST_SCORE,
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Sums:
    """Σ (y, c, y·c) of a block, as integers; picklable."""

    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        y, shares = block.targets, np.full(block.n_samples, _SHARES)
        if y.dtype.names is not None:
            y, shares = y["target"], np.floor(y["weight"] * _SHARES).astype(np.int64)
        clipped = np.clip(block.scores(self.theta) / _MOST_SCORE, -1.0, 1.0)
        levels = np.rint(clipped * _LEVELS).astype(np.int64)
        signed = np.where(y > 0, shares, -shares)
        return np.array([_LEVELS * signed.sum(), (shares * levels).sum(), (signed * levels).sum()])


def loss_of_one_row(loss: Loss) -> Loss | None:
    """Return the loss of a row, None if rows or classes have weights, or it has no link."""
    if isinstance(loss, SharedLoss):
        return loss_of_one_row(loss.loss) if loss.largest == 1.0 else None
    weighted = isinstance(loss, (WeightedLoss, ClassWeightedLoss))
    return loss if isinstance(loss, ProbabilityLoss) and not weighted else None
