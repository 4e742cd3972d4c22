"""Standard errors of least squares from noisy moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import gdp_mu
from skdp.design import Design, MemoryDesign, slope_products
from skdp.linear_model._inference.covariance import Curvature
from skdp.linear_model._inference.inferred import (
    InferredSolution,
    check_columns,
    has_weights,
    positive,
    residual_spread,
)
from skdp.linear_model._inference.releases import MatrixRelease, SpreadRelease
from skdp.losses import Loss, SharedLoss
from skdp.privacy import GDPEvent, NonPrivateEvent
from skdp.samplers import Progress
from skdp.solvers import AdaSSP, Plan, Problem, Solution, Solver
from skdp.solvers.adassp import AdaSSPPlan
from skdp.solvers.base import SCALE_MARGIN, composed, require_delta

# Shares of μ²; no guarantee rests on them.
_OF_SPREAD = 0.04
_OF_MIDDLE = 0.1

_LONGEST = 2.0  # residual: targets and predictions are in [−1, 1]
_DEVIATIONS = 4.0  # of residuals, at which those in the middle matrix are clipped
_WITHOUT_NOISE = 1e9  # μ at epsilon=inf


@dataclass(frozen=True, kw_only=True)
class MomentPlan(Plan):
    """The plan of noisy moments, and of what is released after them."""

    fit: AdaSSPPlan
    spread: SpreadRelease
    is_private: bool
    middle_mus: tuple[float, ...]  # Gaussian-DP parameter of a middle matrix, if there is one


@dataclass(frozen=True)
class MomentInference(Solver[MomentPlan]):
    """Least squares from noisy moments Ĝ and m̂, followed by the spread of the residuals.

    With Ĝ = G + N and m̂ = Aᵀy + e the estimate θ̂ = Ĝ⁻¹m̂ satisfies
    Ĝ·(θ̂ − θ°) = Aᵀ(y − Aθ°) + e − Nθ°. So its covariance is
    Ĝ⁻¹·(J + σ_m²·I + Cov(Nθ))·Ĝ⁻¹, with J the covariance of Aᵀ(y − Aθ°): the variance of the
    residuals times Ĝ, or a released Σ r²aaᵀ. The ridge of `AdaSSP` is left out, because it would
    bias the coefficients.

    Notes
    -----
    **Guarantee.** Each release is Gaussian DP, and squares of μ add up to that of (ε, δ). The
    residuals of Σ r²aaᵀ are clipped at four standard deviations, by the spread released before.
    """

    is_robust: bool = False

    takes_blocks = True
    takes_persons = True

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> MomentPlan:
        require_delta(delta, "adassp")
        plan = self._plan_at(problem, gdp_mu(epsilon, delta))
        events = plan.fit.event, plan.spread.event, *(GDPEvent(mu) for mu in plan.middle_mus)
        return replace(plan, event=composed(events), is_private=True)

    def plan_without_noise(self, problem: Problem) -> MomentPlan:
        """Return the plan of a fit at ``epsilon=inf``.

        Parameters
        ----------
        problem : Problem
            *Public.*

        Returns
        -------
        MomentPlan
        """
        return self._plan_at(problem, _WITHOUT_NOISE)

    def _plan_at(self, problem: Problem, mu: float) -> MomentPlan:
        """Return a plan whose releases have squares of μ that add up to `mu`²; without an event."""
        check_columns(problem)
        has_middle = self.is_robust or has_weights(problem.loss)
        shares = (_OF_SPREAD, *(has_middle * [_OF_MIDDLE]))
        of_spread, *of_middle = (math.sqrt(share) * mu for share in shares)
        apart = math.sqrt(problem.neighboring.n_changed)
        fit = AdaSSP().plan_at(problem, math.sqrt(1.0 - sum(shares)) * mu * (1.0 - SCALE_MARGIN))
        return MomentPlan(
            problem=problem,
            event=NonPrivateEvent(),
            theorem=f"{fit.theorem}; spread of the residuals by the Gaussian mechanism",
            fit=fit,
            is_private=False,
            spread=SpreadRelease(of_spread, _LONGEST, _LONGEST**2, apart),
            middle_mus=tuple(of_middle),
        )

    def solve(
        self, plan: MomentPlan, design: Design, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        moments = AdaSSP().release(plan.fit, design, rng)
        release = MatrixRelease(0.0, plan.fit.gram_noise)
        H = Curvature.of(_known(plan, moments.gram), release.scale)
        theta = H.inverse @ moments.moment
        theta = theta - H.bias_of_inverse(release.scale) @ theta
        noise = _noise(plan, release, theta)
        J = _middle(plan, design, theta, H, noise, rng)
        progress(1, 1)
        return InferredSolution(
            theta, 1, solver="adassp", covariance=H.sandwich(J, noise), kind=_kind(plan)
        )


def _noise(plan: MomentPlan, release: MatrixRelease, theta: np.ndarray) -> np.ndarray:
    """Return the covariance of e − Nθ."""
    if not plan.is_private:
        return np.zeros((theta.size, theta.size))
    noise = release.covariance_of_product(theta)
    if _knows_count(plan.problem) and plan.problem.intercept_scaling > 0.0:
        noise[-1, -1] -= (release.scale * theta[-1]) ** 2  # that entry of Ĝ has no noise
    return noise + plan.fit.moment_noise**2 * np.eye(theta.size)


def _known(plan: MomentPlan, gram: np.ndarray) -> np.ndarray:
    """Return Ĝ with the last entry, which is n·b₀², if n is public."""
    problem = plan.problem
    if not (_knows_count(problem) and problem.intercept_scaling > 0.0):
        return gram
    assert problem.n_samples is not None, "n is public"
    gram = gram.copy()
    gram[-1, -1] = problem.n_samples * problem.intercept_scaling**2
    return gram


def _knows_count(problem: Problem) -> bool:
    return problem.neighboring.count_is_public and not isinstance(problem.loss, SharedLoss)


def _residuals(plan: MomentPlan, sums: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Release Σ s·r² and Σ s. If n is public, it is Σ s, and half of the noise cancels."""
    squares, others = plan.spread.release(sums, rng)
    if not _knows_count(plan.problem):
        least = max(plan.spread.scale, 1.0)
        return squares, max((squares + others) / _LONGEST**2, least)
    assert plan.problem.n_samples is not None, "n is public"
    n = max(plan.problem.n_samples, 1)
    return 0.5 * (squares + n * _LONGEST**2 - others), n


def _middle(
    plan: MomentPlan,
    design: Design,
    theta: np.ndarray,
    H: Curvature,
    noise: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the covariance of Aᵀ(y − Aθ°)."""
    loss, lost = plan.problem.loss, float(np.trace(H.inverse @ noise))
    squares, count = _residuals(plan, design.total(_Spread(loss, theta)), rng)
    if not plan.middle_mus:
        return residual_spread(squares, count, lost, theta.size) * H.matrix
    least = plan.spread.scale * _LONGEST**2  # the noise in `squares`
    longest = min(_LONGEST, _DEVIATIONS * math.sqrt(max(squares, least) / count))
    relation, square = plan.problem.neighboring, (longest * plan.problem.row_norm) ** 2
    release = MatrixRelease.plan(plan.middle_mus[0], square, relation)
    J = release.release(slope_products(design, _Residual(loss, longest), theta), rng)
    share = 0.0 if has_weights(loss) else lost / count
    return positive(J - share * H.matrix)


@dataclass(frozen=True, eq=False, repr=False)
class _Residual:
    """Clipped residuals, times the row's share of a record."""

    loss: Loss
    longest: float

    def __call__(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        targets, shares = _targets(self.loss, y)
        return shares * np.clip(z - np.clip(targets, -1.0, 1.0), -self.longest, self.longest)


@dataclass(frozen=True, eq=False, repr=False)
class _Spread:
    """(Σ s·r², Σ s·(L² − r²)) of a block, with shares s of records and clipped residuals r."""

    loss: Loss
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        targets, shares = _targets(self.loss, block.targets)
        residuals = block.scores(self.theta) - np.clip(targets, -1.0, 1.0)
        squares = np.minimum(residuals**2, _LONGEST**2)
        return np.array([(shares * squares).sum(), (shares * (_LONGEST**2 - squares)).sum()])


def _targets(loss: Loss, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    """Return targets, and the rows' shares of a record, which add up to at most 1 for a person."""
    if not isinstance(loss, SharedLoss):
        return y, 1.0
    return y["target"], y["weight"] / loss.largest


def _kind(plan: MomentPlan) -> str:
    if not plan.middle_mus:
        return "constant variance"
    return "robust" if plan.problem.rows_each == 1 else "cluster-robust, by person"
