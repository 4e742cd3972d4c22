"""Least squares from noisy moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design, MemoryDesign
from skdp.design.base import SumGrid
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss, SquaredLoss
from skdp.losses.weighted import SharedLoss, WeightedLoss
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import GDPEvent, Neighboring
from skdp.samplers.base import Progress
from skdp.solvers._releases import (
    MachineSum,
    as_matrix,
    as_vector,
    moment_sum,
    targets_and_shares,
)
from skdp.solvers.base import (
    GaussianSolver,
    NoisyGram,
    Plan,
    Problem,
    Solution,
    require_delta,
)

_SHARE = 1.0 / 3.0  # of the squared sensitivity, for AᵀA; the guarantee is for this value
_MOST_COLUMNS = 16_384  # a square matrix of this size takes 2 GiB, and four are in memory at once


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """*Released* AᵀA and Aᵀy, each with noise and on a public grid."""

    gram: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True, kw_only=True)
class AdaSSPPlan(Plan):
    """Public numbers of a release of noisy moments."""

    sums: MachineSum  # of Σ v
    noise: GridGaussian  # in each entry of Σ v

    def with_columns(self, n_features: int) -> AdaSSPPlan:
        if self.problem.n_features is not None:
            return self
        problem = self.problem.with_columns(n_features)
        sums = moment_sum(problem, self.sums.between)
        mu = self.event.gdp_mu(problem.neighboring)
        return replace(self, problem=problem, sums=sums, noise=sums.noise(mu))

    @property
    def gram_noise(self) -> float:
        """Standard deviation on the diagonal of AᵀA; elsewhere 1/√2 of it."""
        return self.noise.scale * self.problem.row_norm**2 / math.sqrt(_SHARE)

    @property
    def moment_noise(self) -> float:
        """Standard deviation on Aᵀy."""
        return self.noise.scale * self.problem.row_norm / math.sqrt(1.0 - _SHARE)

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        plan = self.with_columns(design.n_features)
        moments = plan.release(design, rng)
        inverse = plan._inverse(moments)
        theta = np.asarray(inverse @ moments.moment)
        progress(1, 1)
        # b̂ has noise of covariance m²I, and Ĝθ of (g²/2)(|θ|²I + θθᵀ) ≤ g²|θ|²I: to first order
        noise = math.hypot(plan.moment_noise, plan.gram_noise * float(np.linalg.norm(theta)))
        gram = NoisyGram(moments.gram, plan.gram_noise)
        return Solution(theta, 1, noise_bound=noise, noise_root=inverse, gram=gram)

    def release(self, design: Design, rng: np.random.Generator) -> NoisyMoments:
        """Release the moments with noise; nothing else is read. Targets are clipped to [−1, 1]."""
        plan, R = self.with_columns(design.n_features), self.problem.row_norm
        of_gram, of_moment = math.sqrt(_SHARE) / R**2, math.sqrt(1.0 - _SHARE) / R
        gram = as_vector(design.cross_product(SumGrid.of(plan.sums.largest * R**2)))
        grid = SumGrid.of(plan.sums.largest * R)
        moment = design.exact_sum(partial(_moment, plan.problem.loss), grid)
        noisy = plan.noise.release(np.concatenate([of_gram * gram, of_moment * moment]), rng)
        gram, moment = np.split(noisy, [gram.size])
        return NoisyMoments(as_matrix(gram) / of_gram, moment / of_moment)

    def _inverse(self, moments: NoisyMoments) -> np.ndarray:
        gram, d, problem = moments.gram.copy(), len(moments.moment), self.problem
        # The sum of all rows' weights may be public: the number of rows.
        shared = isinstance(problem.loss, SharedLoss) or not problem.neighboring.count_is_public
        if not shared and problem.intercept_scaling > 0.0:
            assert problem.n_samples is not None
            gram[-1, -1] = problem.n_samples * problem.intercept_scaling**2
        values, vectors = np.linalg.eigh(gram)
        ridge = 0.0 if problem.C == "auto" else 1.0 / float(problem.C)
        values = np.maximum(values + ridge, math.sqrt(2.0 * d) * self.gram_noise)
        return np.asarray((vectors / values) @ vectors.T)


@dataclass(frozen=True)
class AdaSSP(GaussianSolver):
    """Adaptive sufficient statistics perturbation: least squares from one noisy release.

    For rows a of norm at most R and targets y in [−1, 1] the record's contribution is
    v = (√s·aaᵀ/R², √(1 − s)·y·a/R) with s = 1/3, so Σ v consists of AᵀA and Aᵀy. It is released
    with Gaussian noise, and nothing else is read. Noise on the symmetric matrix is added to its
    upper triangle, scaled so that Euclidean and Frobenius norm agree.

    The solution is (Ĝ + I/C)⁻¹·b̂, with eigenvalues of the matrix raised to at least √(2d)·σ, the
    size of the largest eigenvalue of the noise. Wang's AdaSSP spends a third of its budget on a
    noisy least eigenvalue for the same purpose; here the eigenvalues of Ĝ are known already.

    Notes
    -----
    **Guarantee.** μ-Gaussian DP, by the Gaussian mechanism: noise of standard deviation Δ/μ in
    each coordinate of Σ v, where Δ bounds the change of Σ v between neighbors.

    *Adding or removing a record:* \\|v\\|² ≤ s + (1 − s) = 1, so Δ = 1.

    *Replacing one:* with unit vectors e, e' along a, a', c = \\|e·e'\\|, and lengths r, r' ≤ 1 in
    units of R, \\|v − v'\\|² ≤ s·(r⁴ + r'⁴ − 2(rr'c)²) + (1 − s)·(r² + r'² + 2rr'c). For fixed
    k = rr' and q = kc, both brackets grow with r² + r'², which is at most 1 + k². At that value
    both grow with k, so r = r' = 1 is the worst: 2s(1 − c²) + 2(1 − s)(1 + c). As 1 − s ≥ 2s, this
    grows with c up to 4(1 − s), attained by one row with targets 1 and −1. So Δ² = 8/3, no more
    than Aᵀy alone would cost.

    *A person with several rows* adds Σ w·v with weights w that add up to at most 1: a point of the
    convex hull of 0 and the contributions of single rows. No two of its points are farther apart.

    References
    ----------
    Y.-X. Wang, *Revisiting differentially private linear regression*, UAI 2018, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> from skdp.solvers import AdaSSP
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20_000, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> model = DPLinearRegression(solver=AdaSSP(), target_bounds=(1, 5), random_state=0).fit(X, y)
    >>> model.coef_.round(1), round(float(model.intercept_), 1)
    (array([ 1., -2.]), 3.0)
    """

    takes_blocks = True
    takes_trees = False
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> AdaSSPPlan:
        require_delta(delta, "adassp")
        return self.plan_at(problem, gdp_mu(epsilon, delta))

    def plan_at(self, problem: Problem, mu: float) -> AdaSSPPlan:
        _require_squared(problem.loss)
        if (problem.n_features or 0) > _MOST_COLUMNS:  # AᵀA would be too large for memory
            raise IncompatibleSolverError(
                f"solver='adassp' takes up to {_MOST_COLUMNS} columns, the intercept's included; "
                f"got {problem.n_features}. Use solver='regularized_exponential'."
            )
        sums = moment_sum(problem, _sensitivity(problem.neighboring))
        return AdaSSPPlan(
            problem=problem,
            event=GDPEvent(mu),
            theorem="Gaussian mechanism on the moments, AdaSSP",
            exact=problem.rows_are_exact,
            solver=self,
            sums=sums,
            noise=sums.noise(mu),
        )


def _moment(loss: Loss, block: MemoryDesign) -> np.ndarray:
    """Return Aᵀy of a block, or for rows with shares Σ share·y·a."""
    y, shares = targets_and_shares(loss, block.targets)
    return block.weighted_sum(shares * np.clip(y, -1.0, 1.0))


def _sensitivity(neighboring: Neighboring) -> float:
    """Return Δ, the largest change of Σ v between neighbors; see *Guarantee* of `AdaSSP`."""
    return math.sqrt(4.0 * (1.0 - _SHARE)) if neighboring.count_is_public else 1.0


def _require_squared(loss: Loss) -> None:
    """Raise unless the loss is the squared error with equal weights of records."""
    if isinstance(loss, SharedLoss) and isinstance(loss.loss, SquaredLoss):
        return
    if isinstance(loss, WeightedLoss) and isinstance(loss.loss, SquaredLoss):
        raise IncompatibleSolverError(
            "solver='adassp' takes no sample_weight. Leave the weights out, or use "
            "solver='regularized_exponential'."
        )
    if not isinstance(loss, SquaredLoss):
        raise IncompatibleSolverError(
            f"solver='adassp' needs a SquaredLoss, got {loss!r}. Use DPLinearRegression, or "
            "solver='regularized_exponential'."
        )
