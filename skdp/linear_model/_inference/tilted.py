"""Standard errors of objective perturbation, whose noise is one Gaussian vector of public size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import Design, MemoryDesign, row_products, slope_products
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._inference.covariance import Curvature
from skdp.linear_model._inference.inferred import (
    InferredSolution,
    check_columns,
    has_weights,
    hessian_of,
    positive,
    residual_spread,
)
from skdp.linear_model._inference.releases import MatrixRelease, SpreadRelease
from skdp.losses import Loss
from skdp.losses.base import MarginLoss
from skdp.privacy import Event
from skdp.samplers import Progress
from skdp.solvers import ObjectivePerturbation, Plan, Problem, Solution, Solver
from skdp.solvers._minimizer import check_problem
from skdp.solvers._minimum import MinimumPlan
from skdp.solvers.base import composed
from skdp.solvers.objective_perturbation import ObjectivePerturbationPlan, least_multiplier
from skdp.support.root_search import log_ratio
from skdp.support.rounding import SUM, up

# Shares of μ². No guarantee rests on them: the noise of the fit is calibrated to the rest.
_OF_CURVATURE, _MOST_OF_CURVATURE = 0.05, 0.2  # times √d, as the noise of Ĥ grows, at most
_OF_MIDDLE = 0.1
_OF_SPREAD = 0.02
_OF_OUTPUT = 0.005**2

_PRECISION = 1e-5  # relative, of the noise multiplier; the larger end is used
_WITHOUT_NOISE = 1e9  # μ of matrices at epsilon=inf


@dataclass(frozen=True, kw_only=True)
class TiltedPlan(Plan):
    """The plan of a fit, and of the matrices that are released after it."""

    fit: ObjectivePerturbationPlan | MinimumPlan
    curvature: MatrixRelease
    spread: SpreadRelease | None  # of residuals
    middle: MatrixRelease | None  # for a covariance that does not rest on the model


@dataclass(frozen=True)
class TiltedInference(Solver[TiltedPlan]):
    """Objective perturbation, followed by the matrices that standard errors need.

    The minimizer θ̃ of Σ ℓ + (λ/2)·|θ|² + b·θ with b ~ N(0, s²·I) satisfies
    H̄·(θ̃ − θ°) = −(Σ ∇ℓ(θ°) + b + λθ̃) for the mean H̄ of the second derivative between θ° and θ̃. So
    θ̂ = θ̃ + λĤ⁻¹θ̃ has no bias from the ridge, to first order, and the covariance
    Ĥ⁻¹·(J + s²·I + Cov(Nv))·Ĥ⁻¹, where v = λĤ⁻¹θ̃, N is the noise of Ĥ and J the covariance of
    Σ ∇ℓ(θ°). The output noise of the solver adds (I + λĤ⁻¹)·σ²·(I + λĤ⁻¹).

    Notes
    -----
    **Guarantee.** The minimizer, Ĥ and the middle matrix compose adaptively. The multiplier of b is
    the least with which their composition meets (ε, δ): by its Gaussian-DP parameter if it has one,
    and otherwise by the privacy loss distribution.
    """

    is_robust: bool = False

    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> TiltedPlan:
        _check(problem)
        check_problem("objective_perturbation", problem, delta)
        mu = gdp_mu(epsilon, delta)
        curvature, spread, middle = self._releases(problem, mu)
        others = tuple(one.event for one in (curvature, spread, middle) if one is not None)
        multiplier = _least_multiplier(problem, mu, epsilon, delta, others)
        fit = _plan_at(problem, multiplier, mu)
        return TiltedPlan(
            problem=problem,
            event=composed((fit.event, *others)),
            theorem=f"{fit.theorem}; matrices for standard errors by the Gaussian mechanism",
            fit=fit,
            curvature=curvature,
            spread=spread,
            middle=middle,
        )

    def plan_without_noise(self, problem: Problem) -> TiltedPlan:
        """Return the plan of a fit at ``epsilon=inf``.

        Parameters
        ----------
        problem : Problem
            *Public.*

        Returns
        -------
        TiltedPlan
        """
        _check(problem)
        fit = MinimumPlan(problem)
        curvature, spread, middle = self._releases(problem, _WITHOUT_NOISE)
        return TiltedPlan(
            problem=problem,
            event=fit.event,
            theorem=fit.theorem,
            fit=fit,
            curvature=curvature,
            spread=spread,
            middle=middle,
        )

    def most_rows(self, problem: Problem) -> float:
        return ObjectivePerturbation().most_rows(problem)

    def _releases(
        self, problem: Problem, mu: float
    ) -> tuple[MatrixRelease, SpreadRelease | None, MatrixRelease | None]:
        """Return the releases after the fit.

        A record adds at most max ℓ''·R² to Ĥ and L²R² to the middle matrix, in the Frobenius norm.
        """
        loss, square, relation = problem.loss, problem.row_norm**2, problem.neighboring
        weighted = has_weights(loss)
        steepest, longest = loss.smoothness * square, loss.lipschitz**2 * square
        share = min(_OF_CURVATURE * math.sqrt(problem.n_features or 1), _MOST_OF_CURVATURE)
        curvature = MatrixRelease.plan(math.sqrt(share) * mu, steepest, relation)
        spread = middle = None
        if self.is_robust or weighted:
            middle = MatrixRelease.plan(math.sqrt(_OF_MIDDLE) * mu, longest, relation)
        if not (weighted or isinstance(loss, MarginLoss)):
            spread = SpreadRelease(math.sqrt(_OF_SPREAD) * mu, loss.lipschitz, loss.smoothness)
        return curvature, spread, middle

    def solve(
        self, plan: TiltedPlan, design: Design, rng: np.random.Generator, progress: Progress
    ) -> Solution:
        fit = plan.fit
        if isinstance(fit, MinimumPlan):
            theta = fit.read(design).theta
        else:
            theta = ObjectivePerturbation().solve(fit, design, rng, progress).theta
        release, loss = plan.curvature, plan.problem.loss
        exact = row_products(design, hessian_of(loss), theta)
        H = Curvature.of(release.release(exact, rng), release.scale, fit.ridge)
        v = fit.ridge * (H.inverse @ theta)
        noise, blur = _noise(plan, H, v)
        spread = _spread(plan, design, theta + v, rng)
        J = _middle(plan, design, theta + v, H, noise, spread, rng)
        return InferredSolution(
            theta + v,
            1,
            solver="objective_perturbation",
            covariance=H.sandwich(J, noise).more(blur @ blur.T),
            kind=_kind(plan),
            notes=_notes(plan.problem, spread),
        )


def _noise(plan: TiltedPlan, H: Curvature, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance of b + Nv, and a root of that of the output noise in θ̂."""
    fit, one = plan.fit, np.eye(v.size)
    if isinstance(fit, MinimumPlan):
        return 0.0 * one, 0.0 * one
    noise = fit.noise**2 * one + plan.curvature.covariance_of_product(v)
    return noise, fit.output_noise * (one + fit.ridge * H.inverse)


def _spread(
    plan: TiltedPlan, design: Design, theta: np.ndarray, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Release Σ ψ² and Σ ψ' of a regression at θ̂."""
    if plan.spread is None:
        return None
    return plan.spread.release(design.total(_Spread(plan.problem.loss, theta)), rng)


def _middle(
    plan: TiltedPlan,
    design: Design,
    theta: np.ndarray,
    H: Curvature,
    noise: np.ndarray,
    spread: tuple[float, float] | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the covariance of Σ ∇ℓ at θ°: by the model, or from released squares."""
    share, J, lost = 0.0, H.matrix, float(np.trace(H.inverse @ noise))
    if spread is not None:
        share = lost / spread[1]
        J = residual_spread(*spread, lost, theta.size) * H.matrix
    if plan.middle is not None:
        exact = slope_products(design, plan.problem.loss.gradient, theta)
        J = positive(plan.middle.release(exact, rng) - share * H.matrix)
    return J


def _notes(problem: Problem, spread: tuple[float, float] | None) -> tuple[str, ...]:
    """Return what a table says of clipped residuals, if the number of records is known."""
    if spread is None or problem.n_samples is None or not problem.neighboring.count_is_public:
        return ()
    clipped = min(max(1.0 - spread[1] / problem.n_samples, 0.0), 1.0)
    return (f"About {clipped:.0%} of the residuals were clipped.",)


@dataclass(frozen=True, eq=False, repr=False)
class _Spread:
    """(Σ ψ², Σ ψ') of a block."""

    loss: Loss
    theta: np.ndarray

    def __call__(self, block: MemoryDesign) -> np.ndarray:
        y, z = block.targets, block.scores(self.theta)
        return np.array([(self.loss.gradient(y, z) ** 2).sum(), hessian_of(self.loss)(y, z).sum()])


def _kind(plan: TiltedPlan) -> str:
    if plan.middle is None:
        return "by the model" if plan.spread is None else "constant variance"
    return "robust" if plan.problem.rows_each == 1 else "cluster-robust, by person"


def _check(problem: Problem) -> None:
    if problem.loss.n_scores > 1:
        raise IncompatibleSolverError(
            f"standard_errors=True needs two classes, got {problem.loss.n_scores}."
        )
    hessian_of(problem.loss)
    check_columns(problem)


def _plan_at(problem: Problem, multiplier: float, mu: float) -> ObjectivePerturbationPlan:
    return ObjectivePerturbation().plan_at(problem, multiplier, math.sqrt(_OF_OUTPUT) * mu)


@lru_cache(maxsize=64)
def _least_multiplier(
    problem: Problem, mu: float, epsilon: float, delta: float, others: tuple[Event, ...]
) -> float:
    """Return a multiplier, close to the least, with which all releases together are (ε, δ)-DP."""
    relation = problem.neighboring
    accountant = PLDAccountant(relation)

    @cache
    def excess(multiplier: float) -> float:
        event = composed((_plan_at(problem, multiplier, mu).event, *others))
        whole = event.gdp_mu(relation)
        if math.isfinite(whole):
            return log_ratio(up(whole, SUM), mu)
        return log_ratio(accountant.epsilon(event, delta), epsilon)

    found = least_multiplier(excess, relation, mu, _PRECISION)
    if math.isinf(found):
        raise IncompatibleSolverError(
            f"C={problem.C!r} is too large for standard_errors=True at epsilon={epsilon:g}. "
            "C='auto' chooses a smaller C."
        )
    return found
