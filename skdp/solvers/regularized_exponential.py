"""The regularized exponential mechanism: a sample from exp(−c·Σ loss − (α/2)·|θ|²)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from skdp.accounting import gdp_mu
from skdp.design import Design, TransformedDesign
from skdp.exceptions import IncompatibleSolverError, UncertifiedSamplerWarning
from skdp.losses import GradientDirections
from skdp.privacy import Event, GDPEvent, NonPrivateEvent
from skdp.privacy.composed_events import ApproximatedEvent
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, Sampler, SamplerPlan, Setting, Target
from skdp.samplers.base import Ball, Certificate, Progress
from skdp.samplers.proximal import ProximalSampler
from skdp.solvers._releases import GramRelease, Metric
from skdp.solvers.base import (
    SCALE_MARGIN,
    Flow,
    GaussianSolver,
    Plan,
    Problem,
    RowCount,
    Solution,
    composed,
    grid_width,
    require_delta,
    rounded,
    rounded_inwards,
)
from skdp.support.validation import check_choice, make_plain

# No privacy guarantee rests on these; the bound of the risk holds for any values.
_REACH = 2.5  # in units of the loss's noise scale
_RISK_SHARE = 0.01  # of the excess, allowed for a chain that has not converged
_FEWEST = 32.0  # steps of the chain


def reach_of(problem: Problem) -> float:
    """Return the norm of coefficients whose scores reach a few times the loss's noise scale."""
    return _REACH * problem.loss.noise_scale / problem.row_norm


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Ridge and temperature that balance the terms of a bound of the excess risk.

    With L = L_ℓ·R the Lipschitz constant of one record's loss, a sample at c and α = c/C exceeds,
    in Σ ℓ and on average, the best θ with |θ| ≤ B by at most d/c + B²/(2C) + V·C. V = 0 for the
    rows at hand; V = 2n·L² for n times the population that they come from. A μ-Gaussian DP sample
    has c = (mu/G)²/C.
    """

    dimension: int  # d, of the space in which the losses vary
    size: int  # number of coefficients
    reach: float  # B; 0 if the ridge is part of the objective
    lipschitz: float  # L
    lipschitz_difference: float  # G
    n_samples: int | None
    population: bool

    @classmethod
    def of(cls, problem: Problem, domain: Ball | None, n: int | None, population: bool) -> Balance:
        """Return the balance for a problem; without a domain, B is the reach of the loss."""
        if problem.n_features is None:
            raise IncompatibleSolverError(
                "A sample from the density itself needs n_features in the problem, or a number C."
            )
        loss, R = problem.loss, problem.row_norm
        reach = reach_of(problem) if domain is None else domain.radius
        directions = GradientDirections.of(loss).dimension if domain is None else loss.n_scores
        return cls(
            dimension=problem.n_features * directions,
            size=problem.n_features * loss.n_scores,
            reach=reach if isinstance(problem.C, str) else 0.0,
            lipschitz=loss.lipschitz * R,
            lipschitz_difference=problem.lipschitz_difference,
            n_samples=n,
            population=population,
        )

    @property
    def variation(self) -> float:  # V
        return 2.0 * (self.n_samples or 0) * self.lipschitz**2 if self.population else 0.0

    def C(self, mu: float) -> float:
        """Return C = c/α that minimizes the bound."""
        private = self.dimension * (self.lipschitz_difference / mu) ** 2
        return self.reach / math.sqrt(2.0 * (private + self.variation))

    def excess(self, temperature: float, C: float) -> float:
        """Return the bound for an exact sample, summed over the rows."""
        excess = self.dimension / temperature + 0.5 * self.reach**2 / C + self.variation * C
        if self.reach:
            return excess
        return excess + 0.5 * (self.size - self.dimension) / temperature  # from the ridge alone

    def second_moment(self, C: float, alpha: float, domain: Ball | None) -> float:
        """Return an upper bound of E|θ|², θ an exact sample."""
        if domain is not None:
            return domain.radius**2
        assert self.n_samples is not None, "the number of rows bounds the norm of the mode"
        mode = self.n_samples * self.lipschitz * C
        return (math.sqrt(self.size / alpha) + mode) ** 2

    def loss_of(self, distance: float, C: float, second_moment: float) -> float:
        """Return the largest increase of Σ ℓ if a sample moves by `distance` in quadratic mean."""
        assert self.n_samples is not None, "each of n losses can increase"
        moved = self.n_samples * self.lipschitz * distance
        if not self.reach:
            moved += distance * (0.5 * distance + math.sqrt(second_moment)) / C
        return moved

    def relaxations(self, mu: float, C: float, domain: Ball | None) -> float:
        """Return the run time in units of 1/α in which a chain from 0 approaches the density."""
        if self.n_samples is None:
            return _FEWEST
        alpha = (mu / (self.lipschitz_difference * C)) ** 2
        moment = self.second_moment(C, alpha, domain) + self.size / alpha
        lost = self.loss_of(math.sqrt(moment), C, moment)
        needed = math.log(max(lost / (_RISK_SHARE * self.excess(alpha * C, C)), math.e))
        return _FEWEST * math.expm1(needed / _FEWEST)


_LONG_RUN = 171
"""Number of steps above which a metric helps; no guarantee rests on it."""

_TV_SHARE = 0.01  # of δ; no guarantee rests on its size
_MOST_STEPS = 50_000
_METRIC_GAIN = 0.7  # steps in a metric over steps without; above, the metric is not worth its cost
_MOST_METRIC_COLUMNS = 512  # above, the matrix products of proposals take longer than passes
_EXPONENT = 6.0  # of a step: half its length times the trace of the worst Hessian; limits runs
_LEAST_TV = 1e-280  # below, products underflow
_TV_MARGIN = 1e-9  # a guarantee rests on it: others compute (1 + e^ε)·η to at least 1e-10


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Public numbers of one sample from the density."""

    sampler_plan: SamplerPlan  # plan of the sampler
    temperature: float  # c of the density, in units of 1/loss
    prior_precision: float  # α of the density, in units of 1/coefficient²
    domain: Ball | None = None  # domain of the density; None for all of space
    balance: Balance | None = None  # the bound that determined c and α, if any

    @property
    def noise(self) -> float:
        """Largest standard deviation of a sample, in directions without data."""
        # A forward half step adds η to the Poincaré constant of a chain's state. A backward one
        # contracts in W_∞ (Lemma 1 of *Finitely many steps* in the documentation), which does not
        # increase the constant, and adds at most η: T steps make (2T − 1)·η, and 1/α at most.
        noise = math.sqrt(self.sampler_plan.spread / self.temperature)
        return noise if self.domain is None else min(noise, self.domain.radius)

    @property
    def excess_risk_bound(self) -> float:
        """Upper bound of the expected excess risk: mean loss minus its minimum over \\|θ\\| ≤ B.

        B is the radius of the domain or else the reach of the loss. The loss is that of the rows at
        hand for "erm", of the population for "sco". inf without an `objective` or a row count, or
        if no distance between sample and density is proved.
        """
        balance, c, alpha = self.balance, self.temperature, self.prior_precision
        run = self.sampler_plan
        if balance is None or balance.n_samples is None or math.isinf(run.contraction):
            return math.inf
        if run.tv and self.domain is None:
            return math.inf  # the missing probability may be anywhere
        C, size = c / alpha, balance.size
        moment = balance.second_moment(C, alpha, self.domain)
        distance = run.contraction * math.sqrt(moment + size * run.step / c)
        distance += math.sqrt(size) * grid_width(self.noise)
        excess = balance.excess(c, C) + balance.loss_of(distance, C, moment)
        if self.domain is not None:
            excess += run.tv * balance.loss_of(2.0 * self.domain.radius, C, moment)
        return excess / balance.n_samples * (1.0 + SCALE_MARGIN)


@dataclass(frozen=True, kw_only=True)
class RegularizedExponentialPlan(Plan):
    """Public numbers of a sample from a density, or within `tv` of it."""

    solver: RegularizedExponential
    density_mu: float  # Gaussian-DP parameter of an exact sample together with its metric
    tv: float  # total variation between sample and density
    count: RowCount | None  # determines the run; None for a sampler that does not need it
    schedule: Schedule | None  # None if it depends on an open release: a row count, or a metric
    gram: GramRelease | None  # release of the matrix for the metric

    def read(self, design: Design, rng: np.random.Generator, progress: Progress) -> Solution:
        solver, problem, schedule, metric = self.solver, self.problem, self.schedule, None
        n, mu = problem.n_samples, self.density_mu
        if schedule is None:
            assert self.count is not None, "only a missing count leaves the schedule open"
            n = self.count.release(design, rng)
            problem, gram = problem.adapted(n, mu), self.gram
            if gram is None:
                schedule, gram = solver._run(problem, mu, n, self.tv)
            if gram is not None:
                metric, mu = gram.release(design, rng), gram.rest(mu)
                schedule = solver.schedule(problem, mu, n, self.tv, metric)
        assert schedule is not None, "a run without a matrix has a schedule"
        rows = design if metric is None else TransformedDesign.shortening(design, metric.root())
        target = Target(
            design=rows,
            loss=problem.loss,
            row_norm=problem.row_norm,
            temperature=schedule.temperature,
            prior_precision=schedule.prior_precision,
            domain=solver.domain,
            row_trace=None if metric is None else metric.trace,
        )
        draw = solver.sampler.sample(target, schedule.sampler_plan, rng, progress)
        on_grid = rounded if solver.domain is None else rounded_inwards
        theta, root = on_grid(draw.theta, schedule.noise), None
        if isinstance(rows, TransformedDesign):
            theta, root = rows.matrix @ theta, rows.matrix
        return Solution(
            theta,
            schedule.sampler_plan.n_steps,
            draw.diagnostics,
            loss=problem.loss,
            noise_bound=schedule.noise if solver.is_gaussian else None,
            noise_root=root,
            flow=self._flow(schedule, problem, n, mu, metric),
            gram=metric.gram if metric else None,
        )

    def _flow(
        self, schedule: Schedule, problem: Problem, n: int | None, mu: float, metric: Metric | None
    ) -> Flow | None:
        """Return the run as a flow: in a time t its noise grows to t·G/μ."""
        solver = self.solver
        if n is None or not solver.is_gaussian or solver.domain or solver.objective:
            return None
        return Flow(
            n_samples=n,
            time=schedule.noise * mu / problem.lipschitz_difference,
            noise=schedule.noise,
            metric_noise=metric.noise if metric else math.inf,
            ridge=schedule.prior_precision / schedule.temperature,
        )


@dataclass(frozen=True)
class RegularizedExponential(GaussianSolver):
    """Regularized exponential mechanism: coefficients sampled from a strongly log-concave density.

    Parameters
    ----------
    sampler : Sampler
        *Public.* Sampler of the density; its certificate enters the accounting.
    objective : {"erm", "sco"} or None
        *Public.* With ``C="auto"``, choose c and α by a bound of the excess risk on the rows at
        hand ("erm") or on their population ("sco"). The plan's `schedule` states the bound. None
        uses rules found by experiment. With a number C the ridge is part of the objective, and the
        bound covers both.
    domain : Ball or None
        *Public.* Domain of the coefficients; None for all of space.

    Notes
    -----
    **Guarantee.** Let G be the Lipschitz constant of one record's influence on Σ ℓ. An exact sample
    is c·G/√α-Gaussian DP (Gopi, Lee and Liu 2022, Theorem 4.1). The last state of a stable
    sampler is f·c·G/√α-Gaussian DP with f < 1 after any public number of steps (Theorem A').
    Given C = c/α and f, the target m is met by α = (m/(G·C·f))². A sample within total variation
    η of the density makes (ε, δ) into (ε, δ + (1 + e^ε)·η): one hundredth of δ is spent on it. A
    custom sampler without a certificate for finite runs raises a warning and has no guarantee;
    reference samplers are rejected. All of this holds on a domain and on all of space.

    For a long run, 1 % of μ² is first spent on the matrix AᵀA, and the sample is drawn in
    coordinates φ with θ = S·φ, S² ≤ 1 computed from the released matrix. There the rows are S·a, no
    longer than a, so all of the above holds given the matrix, and the two compose (*The frontier*
    in the documentation).

    References
    ----------
    Gopi, Lee and Liu, "Private convex optimization via exponential mechanism", COLT 2022.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.privacy import Neighboring
    >>> from skdp.solvers import Problem
    >>> facts = Problem(
    ...     loss=LogisticLoss(),
    ...     data_norm=1.0,
    ...     intercept_scaling=0.0,
    ...     n_samples=10_000,
    ...     neighboring=Neighboring.REPLACE_ONE,
    ...     n_features=10,
    ... )
    >>> solver = RegularizedExponential(objective="erm", domain=Ball(5.0))
    >>> round(solver.plan(facts, epsilon=1.0, delta=1e-5).schedule.excess_risk_bound, 4)
    0.0167
    """

    sampler: Sampler = field(default_factory=ProximalSampler)
    objective: str | None = None
    domain: Ball | None = None

    takes_persons = True

    def __post_init__(self) -> None:
        make_plain(self)
        _refuse_reference(self.sampler)
        if self.objective is not None:
            check_choice("objective", self.objective, ("erm", "sco"))
        if not (self.domain is None or isinstance(self.domain, Ball)):
            raise ValueError(f"domain must be a Ball or None, got {self.domain!r}.")

    @property
    def is_gaussian(self) -> bool:  # type: ignore[override]
        """Whether a sample has the full μ of (ε, δ), with no part of δ reserved."""
        return self.sampler.certifies in (Certificate.EXACT, Certificate.STABLE)

    @property
    def takes_blocks(self) -> bool:  # type: ignore[override]
        """Whether the sampler needs only sums over the design and some of its rows."""
        return self.sampler.takes_blocks

    def with_sampler(self, sampler: str | Sampler) -> RegularizedExponential:
        if isinstance(sampler, str):
            _refuse_reference(sampler)
            sampler = SAMPLERS[check_choice("sampler", sampler, SAMPLERS)]()
        if not isinstance(sampler, Sampler):
            raise IncompatibleSolverError(
                f"sampler must be one of {list(SAMPLERS)} or a Sampler, got {sampler!r}."
            )
        return replace(self, sampler=sampler)

    def plan(self, problem: Problem, epsilon: float, delta: float) -> RegularizedExponentialPlan:
        require_delta(delta, "regularized_exponential")
        tv = _tv_bound(epsilon, delta) if self.sampler.certifies == "tv" else 0.0
        mu = gdp_mu(epsilon, (1.0 - _TV_SHARE) * delta if tv else delta)
        count = RowCount.plan(problem, epsilon, delta) if self.sampler.counts_rows else None
        return self._planned(problem, count, count.rest(mu) if count else mu, tv)

    def plan_at(self, problem: Problem, mu: float) -> RegularizedExponentialPlan:
        return self._planned(problem, RowCount(problem.n_samples, 0.0), mu, 0.0)

    def _planned(
        self, problem: Problem, count: RowCount | None, mu: float, tv: float
    ) -> RegularizedExponentialPlan:
        self._check(problem, mu)
        schedule = gram = None
        if count is None or count.public is not None:
            schedule, gram = self._run(problem, mu, problem.n_samples, tv)
        return RegularizedExponentialPlan(
            problem=problem,
            event=composed((*(count.events if count else ()), self._event(mu, tv))),
            theorem=self.sampler.theorem,
            solver=self,
            density_mu=mu,
            tv=tv,
            count=count,
            schedule=schedule,
            gram=gram,
        )

    def _check(self, problem: Problem, mu: float) -> None:
        n, sampler = problem.n_samples, self.sampler
        if self.objective == "sco" and n is None and not sampler.counts_rows:
            raise IncompatibleSolverError(
                "objective='sco' needs a row count. Pass n_samples_hint, or use sampler='proximal'."
            )
        if self.objective is not None and n is not None:
            C, t = self._regularization(problem, mu, n)
            if t > _longest(problem, n):
                steps = t / _longest(problem, n) * _MOST_STEPS
                raise IncompatibleSolverError(
                    f"objective={self.objective!r} with C={C:.3g} needs about {steps:.3g} steps, "
                    f"more than {_MOST_STEPS}. Use a smaller C, epsilon or domain."
                )
        sampler.check(self._setting(problem, mu, n))

    def _event(self, mu: float, tv: float) -> Event:
        """Return the event of a sample at `mu` from this sampler."""
        if self.sampler.certifies not in list(Certificate):
            raise IncompatibleSolverError(
                f"{self.sampler!r} certifies {str(self.sampler.certifies)!r}, not one of "
                f"{[str(kind) for kind in Certificate]}."
            )
        if self.sampler.certifies != "asymptotic":
            return ApproximatedEvent(GDPEvent(mu), tv) if tv else GDPEvent(mu)
        warnings.warn(
            f"{type(self.sampler).__name__} converges to its target, but nothing is proved about a "
            "finite run. The release has no privacy guarantee.",
            UncertifiedSamplerWarning,
            stacklevel=2,
        )
        return NonPrivateEvent()

    def _run(
        self, problem: Problem, mu: float, n: int | None, tv: float
    ) -> tuple[Schedule | None, GramRelease | None]:
        """Return the numbers of a run or, if a metric shortens it, the release of its matrix."""
        schedule, d = self.schedule(problem, mu, n, tv), problem.n_features
        # other coordinates would change the meaning of the user's own C or domain
        own = self.domain is not None or self.objective is not None or problem.C != "auto"
        own |= not self.sampler.takes_long_runs
        is_long = schedule.sampler_plan.n_steps > _LONG_RUN
        if n is None or d is None or own or not is_long or d > _MOST_METRIC_COLUMNS:
            return schedule, None
        gram = GramRelease.plan(problem, mu)
        if gram is None:
            return schedule, None
        plain, noise = n * problem.row_norm**2, gram.spectral_noise(d)
        is_shorter = noise * plain / (plain / d + noise) < _METRIC_GAIN * plain
        return (None, gram) if is_shorter else (schedule, None)

    def schedule(
        self,
        problem: Problem,
        mu: float,
        n: int | None,
        tv: float = 0.0,
        metric: Metric | None = None,
    ) -> Schedule:
        """Return the numbers of a sample that is `mu`-Gaussian DP except for `tv`.

        Parameters
        ----------
        problem : Problem
            *Public.*
        mu : float
            *Public.* Gaussian-DP parameter.
        n : int or None
            *Public or released.* Approximate number of rows.
        tv : float
            *Public.* Total variation between sample and density.
        metric : Metric or None
            *Released.* Metric of the run.

        Returns
        -------
        Schedule
        """
        setting = self._setting(problem, mu, n, None if metric is None else metric.trace)
        sampler_plan = self.sampler.plan(setting, tv)
        self._check_plan(sampler_plan, tv)
        alpha = setting.prior_precision / sampler_plan.stability**2
        balance = self._balance(problem, n) if self.objective else None
        return Schedule(
            sampler_plan=sampler_plan,
            temperature=alpha * setting.C,
            prior_precision=alpha,
            domain=self.domain,
            balance=balance,
        )

    def _check_plan(self, sampler_plan: SamplerPlan, tv: float) -> None:
        """Raise if the sampler claims more for a run than it certifies."""
        free = self.sampler.certifies in ("stable", "asymptotic")
        allowed = sampler_plan.stability == 1.0 or free
        if not (sampler_plan.tv <= tv and 0.0 < sampler_plan.stability <= 1.0 and allowed):
            raise IncompatibleSolverError(
                f"{self.sampler!r} certifies {str(self.sampler.certifies)!r} and was asked for a "
                f"total variation of {tv:.3g}, but plans {sampler_plan!r}."
            )

    def _balance(self, problem: Problem, n: int | None) -> Balance:
        return Balance.of(problem, self.domain, n, self.objective == "sco")

    def _setting(
        self, problem: Problem, mu: float, n: int | None, row_trace: float | None = None
    ) -> Setting:
        C, t = self._regularization(problem, mu, n, row_trace is not None)
        alpha = (mu / (problem.lipschitz_difference * C)) ** 2 * (1.0 - SCALE_MARGIN)
        return Setting(
            loss=problem.loss,
            row_norm=problem.row_norm,
            n_samples=n,
            n_is_public=problem.count_is_public,
            n_features=problem.n_features,
            C=C,
            flow_time=t,
            prior_precision=alpha,
            domain=self.domain,
            row_trace=row_trace,
        )

    def _regularization(
        self, problem: Problem, mu: float, n: int | None, is_bounded: bool = False
    ) -> tuple[float, float]:
        """Return C = c/α and the flow time of a run."""
        if self.objective is not None:
            balance = self._balance(problem, n)
            C = balance.C(mu) if isinstance(problem.C, str) else float(problem.C)
            t = C * balance.relaxations(mu, C, self.domain)
            if n is not None and problem.n_samples is None:  # estimated: too late to raise
                t = min(t, _longest(problem, n))
            return C, t
        takes_long = self.sampler.takes_long_runs
        t = problem.flow_time(None if takes_long else n, problem.lipschitz_difference / mu)
        if takes_long and n is not None and not is_bounded:  # a metric's columns bound the work
            t = min(t, _longest(problem, n))
        if self.sampler.certifies == "stable" or not isinstance(problem.C, str):
            return problem.inverse_regularization(t), t  # regularized by the run's length
        return self._balance(problem, n).C(mu), t


def _refuse_reference(sampler: str | Sampler) -> None:
    """Raise if a sampler, or its name, is for research only."""
    named = isinstance(sampler, str) and sampler in REFERENCE_SAMPLERS
    if named or any(map(REFERENCE_SAMPLERS.name_of, type(sampler).__mro__)):
        raise IncompatibleSolverError(
            f"sampler={sampler!r} is a reference sampler for `draw_samples`, without privacy. Use "
            f"one of {list(SAMPLERS)}."
        )


def _longest(problem: Problem, n: int) -> float:
    """Return the longest flow time of a run with an objective, by its number of steps."""
    exponent = _EXPONENT if problem.loss.n_scores == 1 else 0.5 * _EXPONENT
    return _MOST_STEPS * exponent / (0.5 * problem.worst_curvature(n))


def _tv_bound(epsilon: float, delta: float) -> float:
    """Return η with (1 + e^ε)·η at most the share of δ for sampling."""
    tv = _TV_SHARE * delta * float(expit(-epsilon)) * (1.0 - _TV_MARGIN)
    if tv < _LEAST_TV:
        raise IncompatibleSolverError(
            f"epsilon={epsilon!r} is too large for a sampler with a bound in total variation. Use "
            "sampler='proximal'."
        )
    return tv
