"""Solvers with standard errors: least squares from moments, and objective perturbation.

A model with `standard_errors` takes one of them instead of the solver of the same name. Both
release the coefficients and what the matrices of a sandwich, Ĥ⁻¹·J·Ĥ⁻¹, are computed from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from skdp.accounting import PLDAccountant, gdp_mu
from skdp.design import Design, MemoryDesign, row_products, slope_products
from skdp.design.base import Pointwise
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._intervals import Curvature, InferredSolution
from skdp.linear_model._records import ExposureLoss
from skdp.losses import Loss
from skdp.losses.base import MarginLoss
from skdp.losses.regression import PoissonLoss, SquaredLoss
from skdp.losses.weighted import ClassWeightedLoss, SharedLoss, WeightedLoss
from skdp.privacy import Event, GDPEvent, Neighboring, NonPrivateEvent
from skdp.samplers.base import Progress
from skdp.solvers import AdaSSP, ObjectivePerturbation, Plan, Problem, Solution, Solver
from skdp.solvers._minimizer import MinimumPlan, check_problem
from skdp.solvers._releases import targets_and_shares
from skdp.solvers.adassp import AdaSSPPlan
from skdp.solvers.base import SCALE_MARGIN, composed, require_delta, rounded
from skdp.solvers.perturbation import ObjectivePerturbationPlan, least_multiplier
from skdp.support.safe_numbers import SUM, log_ratio, up

_MOST_COLUMNS = 2048  # four dense matrices of 32 MiB, and an eigendecomposition of seconds
_WITHOUT_NOISE = 1e9  # μ at epsilon=inf

# Shares of μ². No guarantee rests on them: the noise of the fit is calibrated to the rest.
_OF_MIDDLE = 0.1
_OF_SPREAD_OF_MOMENTS = 0.04
_OF_SPREAD = 0.02
_OF_CLIPPED = 0.01
_OF_CURVATURE, _MOST_OF_CURVATURE = 0.05, 0.2  # times √d, as the noise of Ĥ grows, at most
_OF_OUTPUT = 0.005**2

_SURE = 3.5  # standard deviations
_SHORTENED = 1.0 - 1e-6  # factor of a row that counts as clipped
_LONGEST = 2.0  # residual: targets and predictions are in [−1, 1]
_DEVIATIONS = 4.0  # of residuals, at which those in the middle matrix are clipped
_LONGEST_STEP = 1.2
"""Most log-odds by which θ̂ − θ̃ moves a row, for first order to hold.

`benchmarks/bench_standard_errors.py --any-step` shows how coverage falls beyond it.
"""
_FAR = "Noise needs a ridge that outweighs the rarer class, so that no intervals are known."

_PRECISION = 1e-5  # relative, of the noise multiplier; the larger end is used


def solver_with_errors(model: Any) -> Solver:
    names, asked = model.with_errors, model.solver
    if not (isinstance(asked, str) and asked in ("auto", *names)):
        raise IncompatibleSolverError(
            f"standard_errors=True needs solver='auto' or one of {list(names)}, got {asked!r}."
        )
    kinds: dict[str, type[MomentInference] | type[TiltedInference]]
    kinds = {"adassp": MomentInference, "objective_perturbation": TiltedInference}
    kind = kinds[names[0] if asked == "auto" else asked]
    return kind(is_robust=isinstance(model.standard_errors, str))


@dataclass(frozen=True)
class MatrixRelease:
    """Σ M over records, M positive semidefinite with Frobenius norm at most `largest`, plus noise.

    *Adding or removing a record* changes the sum by one M, of norm at most `largest`.
    *Replacing one* changes it by M − M', and |M − M'|² = |M|² + |M'|² − 2·tr(MM') is at most
    2·`largest`², because the trace of a product of two such matrices is not negative.

    Coordinates are the upper triangle, times √2 off the diagonal, so that their Euclidean norm is
    the Frobenius norm. With N(0, σ²) added to each, σ = Δ/μ, the release is μ-Gaussian DP. In the
    matrix the noise has the variance σ² on the diagonal and σ²/2 elsewhere.
    """

    mu: float  # Gaussian-DP parameter
    scale: float  # σ

    @classmethod
    def plan(cls, mu: float, largest: float, relation: Neighboring) -> MatrixRelease:
        sensitivity = math.sqrt(relation.n_changed) * largest
        return cls(mu, sensitivity / mu * (1.0 + SCALE_MARGIN))

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    def release(self, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the *private* sum with noise, on a public grid."""
        noise = rng.standard_normal(total.shape)  # its symmetric part has variances 1 and 1/2
        return rounded(total + self.scale * 0.5 * (noise + noise.T), self.scale)

    def covariance_of_product(self, v: np.ndarray) -> np.ndarray:
        """Return the covariance of N·v for the noise N of the matrix: ½σ²(|v|²·I + vvᵀ).

        (Nv)_i = Σ_j N_ij·v_j has the variance σ²v_i² + ½σ²·Σ_{j≠i} v_j², and the covariance of
        (Nv)_i with (Nv)_k is that of N_ik·v_k and N_ki·v_i, which is ½σ²·v_i·v_k.
        """
        return 0.5 * self.scale**2 * (v @ v * np.eye(v.size) + np.outer(v, v))


@dataclass(frozen=True)
class SpreadRelease:
    """(Σ ψ²/L², Σ ψ'/κ) over records, plus noise: the spread of residuals, and their number.

    ψ is the derivative of a loss in the score, at most L in size, and ψ' the second derivative, in
    [0, κ]. A record adds a point of [0, 1]², so neighbors' sums differ by at most √2 under both
    relations. Least squares releases (Σ s·q, Σ s·(1 − q)) instead, with q = r²/L² and the share s
    of a record that has the residual r. A record adds a point of the triangle (0, 0), (1, 0),
    (0, 1). So neighbors differ by at most 1 if one is added or removed, and by √2 if one is
    replaced. Clipped rows and all others are counted in the same way, with q = 1 or q = 0.
    """

    mu: float  # Gaussian-DP parameter
    longest: float  # L
    steepest: float  # κ; L² for least squares
    sensitivity: float = math.sqrt(2.0)

    @property
    def event(self) -> GDPEvent:
        return GDPEvent(self.mu)

    @property
    def scale(self) -> float:
        return self.sensitivity / self.mu * (1.0 + SCALE_MARGIN)

    def release(self, sums: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Return *private* Σ ψ² and Σ ψ' with noise; the second is at least 1, or its noise."""
        exact = sums / np.array([self.longest**2, self.steepest])
        noisy = rounded(exact + self.scale * rng.standard_normal(2), self.scale)
        count = max(float(noisy[1]), self.scale, 1.0)
        return float(noisy[0]) * self.longest**2, count * self.steepest


@dataclass(frozen=True, kw_only=True)
class MomentPlan(Plan):
    """The plan of noisy moments, and of what is released after them."""

    fit: AdaSSPPlan
    spread: SpreadRelease
    clipped: SpreadRelease
    middle_mu: float | None  # Gaussian-DP parameter of a middle matrix

    @property
    def is_private(self) -> bool:
        return not isinstance(self.event, NonPrivateEvent)

    @property
    def gram(self) -> MatrixRelease:
        return MatrixRelease(0.0, self.fit.gram_noise)

    @property
    def knows_count(self) -> bool:
        """Whether Σ s of the shares of records is n, which is public."""
        problem = self.problem
        return problem.neighboring.count_is_public and not isinstance(problem.loss, SharedLoss)

    @property
    def knows_last(self) -> bool:
        """Whether the last entry of Ĝ, which is n·b₀², is public."""
        return self.knows_count and self.problem.intercept_scaling > 0.0

    def known(self, gram: np.ndarray) -> np.ndarray:
        """Return Ĝ with the last entry if that is public."""
        if not self.knows_last:
            return gram
        assert self.problem.n_samples is not None, "n is public"
        gram = gram.copy()
        gram[-1, -1] = self.problem.n_samples * self.problem.intercept_scaling**2
        return gram

    def noise(self, theta: np.ndarray) -> np.ndarray:
        """Return the covariance of e − Nθ."""
        if not self.is_private:
            return np.zeros((theta.size, theta.size))
        noise = self.gram.covariance_of_product(theta)
        if self.knows_last:
            noise[-1, -1] -= (self.gram.scale * theta[-1]) ** 2  # that entry of Ĝ has no noise
        return noise + self.fit.moment_noise**2 * np.eye(theta.size)

    def residuals(self, sums: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Release Σ s·r² and Σ s. If n is public, it is Σ s, and half of the noise cancels."""
        squares, others = self.spread.release(sums, rng)
        if not self.knows_count:
            least = max(self.spread.scale, 1.0)
            return squares, max((squares + others) / _LONGEST**2, least)
        assert self.problem.n_samples is not None, "n is public"
        n = max(self.problem.n_samples, 1)
        return 0.5 * (squares + n * _LONGEST**2 - others), n

    def middle(
        self, design: Design, theta: np.ndarray, H: Curvature, lost: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the covariance of Aᵀ(y − Aθ°)."""
        problem = self.problem
        sums = design.total(partial(residual_spread, problem.loss, theta))
        squares, count = self.residuals(sums, rng)
        if self.middle_mu is None:
            return _variance(squares, count, lost, theta.size) * H.matrix
        least = self.spread.scale * _LONGEST**2  # the noise in `squares`
        longest = min(_LONGEST, _DEVIATIONS * math.sqrt(max(squares, least) / count))
        square = (longest * problem.row_norm) ** 2
        release = MatrixRelease.plan(self.middle_mu, square, problem.neighboring)
        residual = partial(_residual, problem.loss, longest)
        J = release.release(slope_products(design, residual, theta), rng)
        share = 0.0 if _has_weights(problem.loss) else lost / count
        return _positive(J - share * H.matrix)

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        moments, scale = self.fit.release(design, rng), self.gram.scale
        H = Curvature.of(self.known(moments.gram), scale)
        theta = H.inverse @ moments.moment
        theta = theta - H.bias_of_inverse(scale) @ theta
        noise = self.noise(theta)
        J = self.middle(design, theta, H, float(np.trace(H.inverse @ noise)), rng)
        progress(1, 1)
        kind = "constant variance" if self.middle_mu is None else _robust_kind(self.problem)
        return InferredSolution(
            theta,
            1,
            solver="adassp",
            covariance=H.sandwich(J, noise),
            kind=kind,
            clipped=share_of_clipped(self.clipped, self.problem.loss, design, rng)[0],
        )


@dataclass(frozen=True)
class MomentInference(Solver):
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

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> MomentPlan:
        if math.isinf(epsilon):
            return self._plan_at(problem, _WITHOUT_NOISE)
        require_delta(delta, "adassp")
        plan = self._plan_at(problem, gdp_mu(epsilon, delta))
        middle = () if plan.middle_mu is None else (GDPEvent(plan.middle_mu),)
        events = (plan.fit.event, plan.spread.event, plan.clipped.event, *middle)
        return replace(plan, event=composed(events))

    def _plan_at(self, problem: Problem, mu: float) -> MomentPlan:
        """Return a plan whose releases have squares of μ that add up to `mu`²; without an event."""
        _check_columns(problem)
        has_middle = self.is_robust or _has_weights(problem.loss)
        others = _OF_SPREAD_OF_MOMENTS + _OF_CLIPPED + has_middle * _OF_MIDDLE
        rest, apart = math.sqrt(1.0 - others), math.sqrt(problem.neighboring.n_changed)
        of_spread = math.sqrt(_OF_SPREAD_OF_MOMENTS) * mu
        fit = AdaSSP().plan_at(problem, rest * mu * (1.0 - SCALE_MARGIN))
        return MomentPlan(
            problem=problem,
            event=NonPrivateEvent(),
            theorem=f"{fit.theorem}; spread of the residuals by the Gaussian mechanism",
            fit=fit,
            spread=SpreadRelease(of_spread, _LONGEST, _LONGEST**2, apart),
            clipped=clipped_release(mu, problem.neighboring),
            middle_mu=math.sqrt(_OF_MIDDLE) * mu if has_middle else None,
        )


def clipped_release(mu: float, relation: Neighboring) -> SpreadRelease:
    """Return the release of the numbers of rows that are clipped, and that are not."""
    return SpreadRelease(math.sqrt(_OF_CLIPPED) * mu, 1.0, 1.0, math.sqrt(relation.n_changed))


def share_of_clipped(
    release: SpreadRelease, loss: Loss, design: Design, rng: np.random.Generator
) -> tuple[float, float]:
    """Release the share of rows that are clipped, and the number of all rows.

    What noise may be is taken off the share: in one of 4000 fits it is more.
    """
    clipped, others = release.release(design.total(partial(_clipped, loss)), rng)
    n = max(clipped, 0.0) + others
    return max(clipped - _SURE * release.scale, 0.0) / n, n


def _clipped(loss: Any, block: Any) -> np.ndarray:
    """Return Σ s of the rows of a block that are long or have targets outside, and of others."""
    y, shares = targets_and_shares(loss, block.targets)
    is_clipped = block.factors < _SHORTENED
    if not isinstance(_unweighted(loss), MarginLoss):
        is_clipped |= np.abs(y) == 1.0
    return np.array([shares[is_clipped].sum(), shares[~is_clipped].sum()])


def _residual(loss: Loss, longest: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return clipped residuals, times the row's share of a record."""
    targets, shares = targets_and_shares(loss, y)
    return shares * np.clip(z - np.clip(targets, -1.0, 1.0), -longest, longest)


def residual_spread(loss: Loss, theta: np.ndarray, block: MemoryDesign) -> np.ndarray:
    """Return (Σ s·r², Σ s·(L² − r²)) of a block: shares s of records, clipped residuals r."""
    targets, shares = targets_and_shares(loss, block.targets)
    residuals = block.scores(theta) - np.clip(targets, -1.0, 1.0)
    squares = np.minimum(residuals**2, _LONGEST**2)
    return np.array([(shares * squares).sum(), (shares * (_LONGEST**2 - squares)).sum()])


@dataclass(frozen=True, kw_only=True)
class TiltedPlan(Plan):
    """The plan of a fit, and of the matrices that are released after it."""

    fit: ObjectivePerturbationPlan | MinimumPlan
    curvature: MatrixRelease
    spread: SpreadRelease | None  # of residuals
    middle: MatrixRelease | None  # for a covariance that does not rest on the model
    clipped: SpreadRelease

    def noise(self, H: Curvature, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance of b + Nv, and a root of that of the output noise in θ̂."""
        fit, one = self.fit, np.eye(v.size)
        if isinstance(fit, MinimumPlan):
            return 0.0 * one, 0.0 * one
        noise = fit.noise**2 * one + self.curvature.covariance_of_product(v)
        return noise, fit.output_noise * (one + fit.ridge * H.inverse)

    @property
    def is_of_counts(self) -> bool:
        return isinstance(_unweighted(self.problem.loss), PoissonLoss)

    @property
    def kind(self) -> str:
        if self.middle is None:
            if self.spread is None:
                return "by the model"
            return "variance in proportion to mean" if self.is_of_counts else "constant variance"
        return _robust_kind(self.problem)

    def residuals(self, spread: tuple[float, float] | None, n: float) -> tuple[float, float] | None:
        """Return the *released* share of residuals that are clipped, and less what noise may be.

        `n` is the released number of records. None is known with weights, nor for counts, for which
        the second sum is of predicted counts.
        """
        if spread is None or self.spread is None or self.is_of_counts:
            return None
        public = self.problem.n_samples if self.problem.count_is_public else None
        n, scale = (n, 2.0 * self.clipped.scale**2) if public is None else (public, 0.0)
        noise, share = math.sqrt(self.spread.scale**2 + scale), 1.0 - spread[1] / max(n, 1.0)
        return float(np.clip(share, 0.0, 1.0)), share - _SURE * noise / max(n, 1.0)

    def is_far(self, v: np.ndarray) -> bool:
        """Return whether the *released* step v = θ̂ − θ̃ is too long for first order."""
        step = self.problem.row_norm * float(np.linalg.norm(v))
        return isinstance(_unweighted(self.problem.loss), MarginLoss) and step > _LONGEST_STEP

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        fit, loss = self.fit, self.problem.loss
        tilted = fit.read(design, rng, progress).theta
        exact = row_products(design, hessian_of(loss), tilted)
        released = self.curvature.release(exact, rng)
        H = Curvature.of(released, self.curvature.scale, fit.ridge)
        v = fit.ridge * (H.inverse @ tilted)
        theta, (noise, blur) = tilted + v, self.noise(H, v)
        lost = float(np.trace(H.inverse @ noise))
        J, share, spread, variance = H.matrix, 0.0, None, None
        if self.spread is not None:
            spread = self.spread.release(design.total(partial(loss_spread, loss, theta)), rng)
            share = lost / spread[1]
            variance = _variance(*spread, lost, theta.size)
            J = variance * H.matrix
        if self.middle is not None:  # by released squares instead of by the model
            squares = slope_products(design, loss.gradient, theta)
            J = _positive(self.middle.release(squares, rng) - share * H.matrix)
        covariance = H.sandwich(J, noise).more(blur @ blur.T)
        is_far = self.is_far(v)
        clipped, n = share_of_clipped(self.clipped, loss, design, rng)
        found = self.residuals(spread, n)
        notes = () if found is None else (f"About {found[0]:.0%} of the residuals were clipped.",)
        of_means = isinstance(_unweighted(loss), SquaredLoss)  # others clip residuals on purpose
        return InferredSolution(
            theta,
            1,
            solver="objective_perturbation",
            covariance=covariance.unknown() if is_far else covariance,
            kind=self.kind,
            notes=(_FAR,) if is_far else notes,
            dispersion=variance if self.is_of_counts else None,
            clipped=clipped,
            residuals=found[1] if of_means and found is not None else 0.0,
        )


@dataclass(frozen=True)
class TiltedInference(Solver):
    """Objective perturbation, followed by the matrices that standard errors need.

    The minimizer θ̃ of Σ ℓ + (λ/2)·|θ|² + b·θ with b ~ N(0, s²·I) satisfies
    H̄·(θ̃ − θ°) = −(Σ ∇ℓ(θ°) + b + λθ̃) for the mean H̄ of the second derivative between θ° and θ̃. So
    θ̂ = θ̃ + λĤ⁻¹θ̃ has no bias from the ridge, to first order, and the covariance
    Ĥ⁻¹·(J + s²·I + Cov(Nv))·Ĥ⁻¹, where v = λĤ⁻¹θ̃, N is the noise of Ĥ and J the covariance of
    Σ ∇ℓ(θ°). Between θ̃ and θ̂ the second derivative of a logistic loss changes by a factor of at
    most exp(R·|v|); where that is large, first order says nothing, and no coefficient counts as
    identified. The output noise of the solver adds (I + λĤ⁻¹)·σ²·(I + λĤ⁻¹).

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
        if problem.loss.n_scores > 1:
            raise IncompatibleSolverError(
                f"standard_errors=True needs two classes, got {problem.loss.n_scores}."
            )
        hessian_of(problem.loss)
        _check_columns(problem)
        if math.isinf(epsilon):
            mu = _WITHOUT_NOISE
        else:
            check_problem("objective_perturbation", problem, delta)
            mu = gdp_mu(epsilon, delta)
        curvature, spread, middle = self._releases(problem, mu)
        clipped = clipped_release(mu, problem.neighboring)
        releases = (curvature, spread, middle, clipped)
        others = tuple(one.event for one in releases if one is not None)
        fit: ObjectivePerturbationPlan | MinimumPlan = MinimumPlan(problem=problem)
        event, theorem = fit.event, fit.theorem
        if not math.isinf(epsilon):
            multiplier = _least_multiplier(problem, mu, epsilon, delta, others)
            fit = _plan_at(problem, multiplier, mu)
            event = composed((fit.event, *others))
            theorem = f"{fit.theorem}; matrices for standard errors by the Gaussian mechanism"
        return TiltedPlan(
            problem=problem,
            event=event,
            theorem=theorem,
            fit=fit,
            curvature=curvature,
            spread=spread,
            middle=middle,
            clipped=clipped,
        )

    def most_rows(self, problem: Problem) -> float:
        return ObjectivePerturbation().most_rows(problem)

    def _releases(
        self, problem: Problem, mu: float
    ) -> tuple[MatrixRelease, SpreadRelease | None, MatrixRelease | None]:
        """Return the releases after the fit: the curvature, the spread and the middle matrix.

        A record adds at most max ℓ''·R² to Ĥ and L²R² to the middle matrix, in the Frobenius norm.
        """
        loss, square, relation = problem.loss, problem.row_norm**2, problem.neighboring
        weighted = _has_weights(loss)
        steepest, longest = loss.smoothness * square, loss.lipschitz**2 * square
        share = min(_OF_CURVATURE * math.sqrt(problem.n_features or 1), _MOST_OF_CURVATURE)
        curvature = MatrixRelease.plan(math.sqrt(share) * mu, steepest, relation)
        spread = middle = None
        if self.is_robust or weighted:
            middle = MatrixRelease.plan(math.sqrt(_OF_MIDDLE) * mu, longest, relation)
        if not (weighted or isinstance(loss, MarginLoss)):
            spread = SpreadRelease(math.sqrt(_OF_SPREAD) * mu, loss.lipschitz, loss.smoothness)
        return curvature, spread, middle


def loss_spread(loss: Loss, theta: np.ndarray, block: MemoryDesign) -> np.ndarray:
    """Return (Σ ψ², Σ ψ') of a block."""
    y, z = block.targets, block.scores(theta)
    return np.array([(loss.gradient(y, z) ** 2).sum(), hessian_of(loss)(y, z).sum()])


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


def hessian_of(loss: Loss) -> Pointwise:
    """Return the second derivative of a loss of one score, a function of targets and scores."""
    found: Pointwise | None = getattr(loss, "hessian", None)
    if found is None:
        raise IncompatibleSolverError(f"standard_errors=True is not available for {loss!r}.")
    return found


def _check_columns(problem: Problem) -> None:
    """Raise if the matrices would be too large."""
    if (problem.n_features or 0) > _MOST_COLUMNS:
        raise IncompatibleSolverError(
            f"standard_errors=True takes up to {_MOST_COLUMNS} coefficients, the intercept's "
            f"included; got {problem.n_features}."
        )


def _has_weights(loss: Loss) -> bool:
    """Return whether records count differently, so that the model alone gives no covariance."""
    return _unweighted(loss) is not loss and not isinstance(loss, ExposureLoss)


def _unweighted(loss: Loss) -> Loss:
    return _unweighted(loss.loss) if isinstance(loss, WeightedLoss | ClassWeightedLoss) else loss


def _robust_kind(problem: Problem) -> str:
    return "robust" if problem.rows_each == 1 else "cluster-robust, by person"


def _positive(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix with negative eigenvalues raised to 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _variance(squares: float, count: float, lost: float, d: int) -> float:
    """Return the mean square of the residuals from a sum over fitted residuals.

    The noise of the coefficients adds about `lost` = tr(V₀·Ĥ) to the sum. A fit of d coefficients
    takes the share d of `count` away.
    """
    return max(squares - lost, 0.0) / max(count - d, 1.0)
