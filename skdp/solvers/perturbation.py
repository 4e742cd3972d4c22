"""Perturbed minimizers: of the objective, or of the minimum itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from scipy.special import ndtri

from skdp.accounting import gdp_mu
from skdp.design import Design
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import GradientDirections, Loss, Minorant
from skdp.mechanisms.grid_gaussian import GridGaussian
from skdp.privacy import GDPEvent, Neighboring
from skdp.privacy.objective_perturbation import ObjectivePerturbationEvent
from skdp.samplers.base import Progress
from skdp.solvers._minimizer import (
    Objective,
    certified_tolerance,
    check_problem,
    longest,
    minimize,
    of_projection,
)
from skdp.solvers.base import SCALE_MARGIN, Plan, Problem, Solution, Solver, composed, rounded
from skdp.support.safe_numbers import first_to_hold, log_ratio, next_to_root

# No guarantee rests on these: the noise is calibrated for any values.
_SCORE_NOISE = 0.7  # noise in a score over the loss's own scale, for `C="auto"`
_OUTPUT_NOISE = 5e-4  # the same for the output noise, which covers τ; or over the noise of b
_OUTPUT_SHARE = 0.005  # of μ, for the output noise
_OUTPUT_FAILURE = 0.01  # of δ
_LEAST_TOLERANCE = 3e-7  # of L
_MOST_NOISE = 1e6
_FIRST_NOISE = 1.1  # first multiplier tried over the least conceivable
_PRECISION = 1e-6  # relative, of the noise multiplier; the larger end is used


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbationPlan(Plan):
    """Public numbers of a certified minimum of a tilted loss, with noise."""

    noise: float  # s, the standard deviation of each entry of the tilt b
    ridge: float  # λ = 1/C
    tolerance: float  # τ, the length of the gradient
    output_mu: float  # Gaussian-DP parameter of the noise in the coefficients

    def tilt(self) -> GridGaussian:
        """Return the distribution of b, on a grid."""
        return GridGaussian.of_scale(self.noise)

    def blur(self, size: int) -> GridGaussian:
        """Return the noise in the coefficients.

        Rounding moves each entry of b by less than one step from a sample of N(0, s²), and
        therefore the minimizer by at most C·√d steps. For two neighbors together it is twice as
        much.
        """
        error = self.tolerance + math.sqrt(size) * self.tilt().step
        between = 2.0 * error / self.ridge * (1.0 + SCALE_MARGIN) + of_projection(self.problem)
        return GridGaussian.at(self.output_mu, between, size)

    @property
    def output_noise(self) -> float:
        """σ, the standard deviation of the noise in a coefficient."""
        size = (self.problem.n_features or 1) * self.problem.loss.n_scores
        return self.blur(size).scale

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        problem = self.problem
        tilt = self.tilt().release(np.zeros(problem.shape(design.n_features)), rng)
        objective = Objective.of(problem, design, self.ridge, tilt)
        found = minimize(objective, self.tolerance, longest(problem))
        blur = self.blur(tilt.size)
        noisy = blur.release(found.theta, rng)
        progress(1, 1)
        diagnostics = {"passes": objective.passes[0], "gradient": found.length}
        return Solution(rounded(noisy, blur.scale), 1, diagnostics)


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    """Objective perturbation: minimize Σ ℓ + |θ|²/(2C) + b·θ with b ~ N(0, s²·I), plus noise.

    The minimum is found to a public tolerance, and a little output noise covers the rest.

    Notes
    -----
    **Guarantee.** `ObjectivePerturbationEvent` for the exact minimizer, after Redberg, Koskela
    and Wang 2023, for losses of several scores and for both relations. A point whose gradient has
    length τ, rounding included, is within C·τ of the minimizer; both are projected on a public
    ball. So additional noise N(0, σ²·I) costs a Gaussian μ of 2·C·τ/σ, here 1/200 of the μ that is
    spent. τ is certified in floating point for n rows, or for `most_rows` if n is not public.

    **Cost in a budget.** With two classes it is Gaussian DP, with 0.99 times the requested μ under
    ``replace_one`` and 1.06 times under ``add_remove_one``. Regressions and several classes are
    not. A budget with ``composition="gdp"``, the default, counts the least Gaussian that covers
    them: a regression at ε = 1 and δ = 1e-5 as about ε = 2.1, three classes as 2.7. ``"basic"`` and
    ``"rdp"`` count less. The budget's `plan` shows in advance whether a release is admitted.

    **A person with several rows** has gradients in as many directions as rows, or as the model has
    coefficients. The trace of the person's curvature is at most that of one row (*A person as
    one record* in the documentation). The noise grows with the number of directions, so a small
    `max_rows` reduces it. Two persons together have at most as many directions as the model has
    coefficients.

    References
    ----------
    Redberg, Koskela and Wang, "Improving the privacy and practicality of objective perturbation
    for differentially private linear learners", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression
    >>> from skdp.solvers import ObjectivePerturbation
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5000, 2))
    >>> model = DPLogisticRegression(solver=ObjectivePerturbation(), C=0.1, random_state=0)
    >>> model.fit(X, X[:, 0] > 0).coef_.round(1)
    array([[ 9.2, -0.2]])
    """

    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> ObjectivePerturbationPlan:
        check_problem("objective_perturbation", problem, delta)
        mu = gdp_mu(epsilon, delta)
        output_mu = _OUTPUT_SHARE * mu
        # P(privacy loss of the output noise > spent) is δ/100; the rest of ε and δ is for b.
        spent = 0.5 * output_mu**2 - output_mu * float(ndtri(_OUTPUT_FAILURE * delta))
        rest = epsilon - spent, (1.0 - _OUTPUT_FAILURE) * delta
        columns = None if problem.rows_each == 1 else problem.n_features
        shape = replace(problem, n_samples=None, n_features=columns)  # the rest changes nothing
        return self.plan_at(problem, _least_multiplier(shape, mu, *rest), output_mu)

    def plan_at(
        self, problem: Problem, multiplier: float, output_mu: float
    ) -> ObjectivePerturbationPlan:
        """Return the plan for a multiplier of the noise, whose cost is that of its event.

        Parameters
        ----------
        problem : Problem
            *Public.* Checked.
        multiplier : float
            *Public.* s over the largest gradient of a record.
        output_mu : float
            *Public.* Gaussian-DP parameter of the output noise.

        Returns
        -------
        ObjectivePerturbationPlan
        """
        noise = multiplier * problem.loss.lipschitz * problem.row_norm
        ridge = _ridge(problem, multiplier)
        covered = _OUTPUT_NOISE * min(problem.loss.noise_scale / problem.row_norm, noise / ridge)
        wanted = max(0.5 * output_mu * covered * ridge, _LEAST_TOLERANCE * noise / multiplier)
        tolerance = certified_tolerance("objective_perturbation", problem, ridge, wanted, noise)
        event = composed((_event(problem, multiplier), GDPEvent(output_mu)))
        return ObjectivePerturbationPlan(
            problem=problem,
            event=event,
            theorem="objective perturbation, solved to a public tolerance",
            exact=problem.rows_are_exact,
            noise=noise,
            ridge=ridge,
            tolerance=tolerance,
            output_mu=output_mu,
        )


def _ridge(problem: Problem, multiplier: float) -> float:
    """Return λ = 1/C; by default such that the noise in a score, R·s/λ, suits the loss."""
    if problem.C != "auto":
        return 1.0 / float(problem.C)
    s = multiplier * problem.loss.lipschitz * problem.row_norm
    return problem.row_norm * s / (_SCORE_NOISE * problem.loss.noise_scale)


def _event(problem: Problem, multiplier: float) -> ObjectivePerturbationEvent:
    """Return the event of a minimizer with noise s = `multiplier`·L."""
    loss, k, m = problem.loss, _n_directions(problem), problem.rows_each
    change = _trace(loss) * problem.row_norm**2 / _ridge(problem, multiplier)
    determinant = k * math.log1p(change / k) * (1.0 + SCALE_MARGIN)
    directions = GradientDirections.of(loss)
    pulls, cosine = directions.n_extremes, directions.cosine
    together = 0
    if m != 1:
        pulls, cosine = 0 if m is None or k == 1 else m * pulls, 1.0
        together = (problem.n_features or 0) * directions.dimension
    return ObjectivePerturbationEvent(
        multiplier, determinant, k, pulls=pulls, cosine=cosine, joint_dimension=together
    )


def _n_directions(problem: Problem) -> int:
    """Return the dimension of a space that contains all gradients of a record."""
    k, m, d = GradientDirections.of(problem.loss).dimension, problem.rows_each, problem.n_features
    of_rows = math.inf if m is None else m * k
    of_all = math.inf if d is None or m == 1 else d * k
    if math.isinf(found := min(of_rows, of_all)):
        raise IncompatibleSolverError(
            "solver='objective_perturbation' needs a bound of the rows per person. Pass max_rows, "
            "or use solver='regularized_exponential'."
        )
    return int(found)


def _trace(loss: Loss) -> float:
    """Return an upper bound of the trace of one record's Hessian, for every smooth loss."""
    has_tangents = Minorant.of(loss).gap == 0.0
    k = GradientDirections.of(loss).dimension
    return loss.curvature_trace if has_tangents else k * loss.smoothness


@lru_cache(maxsize=256)
def _least_multiplier(problem: Problem, mu: float, epsilon: float, delta: float) -> float:
    """Return a noise multiplier, close to the least, with which b alone is (ε, δ)-DP.

    A function of public numbers. It is cached because it dominates the time of a small fit.
    """

    @cache
    def excess(multiplier: float) -> float:
        """Return log(δ(ε)/δ), or ``inf`` where only unlimited noise would be enough."""
        event = _event(problem, multiplier)
        if event.log_determinant >= epsilon:
            return math.inf
        return log_ratio(float(event.curve(problem.neighboring).delta(epsilon)), delta)

    found = least_multiplier(excess, problem.neighboring, mu, _PRECISION)
    if math.isinf(found):
        raise IncompatibleSolverError(
            f"C={problem.C!r} is too large for solver='objective_perturbation' at "
            f"epsilon={epsilon:g}. C='auto' chooses a smaller C."
        )
    return found


def least_multiplier(
    excess: Callable[[float], float], relation: Neighboring, mu: float, precision: float
) -> float:
    """Return a noise multiplier, close to the least, at which `excess` was found ≤ 0; or inf."""
    low = relation.n_changed / mu  # not less: b on the gradient alone costs as much
    inside, outside = first_to_hold(
        lambda multiplier: excess(multiplier) <= 0.0,
        low,
        _FIRST_NOISE * low,
        lambda multiplier: 1.5 * multiplier,
        _MOST_NOISE / mu,
    )
    return inside if math.isinf(inside) else next_to_root(excess, inside, outside, precision)


# noise in a score over the loss's own scale, for `C="auto"`; no guarantee rests on it
_NOISE_OF_OUTPUT = 0.3
_TOLERANCE = 1e-3  # of G; it adds twice that to the sensitivity


@dataclass(frozen=True, kw_only=True)
class OutputPerturbationPlan(Plan):
    """Public numbers of a certified minimum with noise."""

    ridge: float  # λ = 1/C
    tolerance: float  # τ, the length of the gradient
    moved: float  # largest distance of the computed coefficients of neighbors

    def release(self, size: int) -> GridGaussian:
        """Return the noise in `size` coefficients."""
        return GridGaussian.at(self.event.gdp_mu(self.problem.neighboring), self.moved, size)

    @property
    def noise(self) -> float:
        """σ, the standard deviation of the noise in a coefficient."""
        return self.release(1).scale

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        problem = self.problem
        tilt = np.zeros(problem.shape(design.n_features))
        objective = Objective.of(problem, design, self.ridge, tilt)
        found = minimize(objective, self.tolerance, longest(problem))
        noise = self.release(tilt.size)
        theta = rounded(noise.release(found.theta, rng), noise.scale)
        progress(1, 1)
        seen = {"passes": objective.passes[0], "gradient": found.length}
        return Solution(theta, 1, seen, self.noise, noise_bound=self.noise)


@dataclass(frozen=True)
class OutputPerturbation(Solver):
    """Output perturbation: the minimizer of Σ ℓ + |θ|²/(2C), to a public tolerance, plus noise.

    Notes
    -----
    **Guarantee.** One record moves the minimizer by at most C·G (Chaudhuri, Monteleoni and
    Sarwate 2011, Lemma 7). A point whose gradient has length τ, rounding included, is within C·τ of
    the minimizer. Both are projected on a public ball, wider than any meaningful scores. With noise
    N(0, σ²·I), σ = C·(G + 2τ)/μ, the release is μ-Gaussian DP, under both relations.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, "Differentially private empirical risk minimization",
    Journal of Machine Learning Research 12, 2011, Lemma 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression
    >>> from skdp.solvers import OutputPerturbation
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5000, 2))
    >>> model = DPLogisticRegression(solver=OutputPerturbation(), C=0.1, random_state=0)
    >>> model = model.fit(X, X[:, 0] > 0)
    >>> model.coef_.round(1), round(model.coef_noise_, 2)
    (array([[ 8.8, -0.1]]), 0.27)
    """

    is_gaussian = True
    takes_blocks = True
    takes_persons = True

    def plan(self, problem: Problem, epsilon: float, delta: float) -> OutputPerturbationPlan:
        check_problem("output_perturbation", problem, delta)
        mu, loss, G = gdp_mu(epsilon, delta), problem.loss, problem.lipschitz_difference
        if problem.C == "auto":
            moved = _moved(G, _TOLERANCE * G)
            ridge = problem.row_norm * moved / (mu * _NOISE_OF_OUTPUT * loss.noise_scale)
        else:
            ridge = 1.0 / float(problem.C)
        tolerance = certified_tolerance("output_perturbation", problem, ridge, _TOLERANCE * G)
        moved = _moved(G, tolerance) / ridge + of_projection(problem)
        return OutputPerturbationPlan(
            problem=problem,
            event=GDPEvent(mu),
            theorem="output perturbation of a certified minimizer",
            exact=problem.rows_are_exact,
            ridge=ridge,
            tolerance=tolerance,
            moved=moved,
        )


def _moved(G: float, tolerance: float) -> float:
    """Return a bound of the length of the neighbor's gradient at the point, plus its own τ."""
    return (G + 2.0 * tolerance) * (1.0 + SCALE_MARGIN)
