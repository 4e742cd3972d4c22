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
from skdp.privacy import ApproximatedEvent, Event, GDPEvent, NonPrivateEvent
from skdp.samplers import (
    REFERENCE_SAMPLERS,
    SAMPLERS,
    Ball,
    Certificate,
    Progress,
    ProximalSampler,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.solvers._excess_risk import Balance
from skdp.solvers._flow import Flow
from skdp.solvers._metric import GramRelease, Metric
from skdp.solvers.base import (
    SCALE_MARGIN,
    Plan,
    Problem,
    RowCount,
    Solution,
    Solver,
    composed,
    grid_width,
    require_delta,
    rounded,
    rounded_inwards,
)
from skdp.support.validation import check_choice, make_plain

__all__ = ["RegularizedExponential", "RegularizedExponentialPlan", "Schedule"]

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
    """Public numbers of one sample from the density.

    Parameters
    ----------
    sampler_plan : SamplerPlan
        Plan of the sampler.
    temperature, prior_precision : float
        c, in units of 1/loss, and α of the density.
    domain : Ball or None
        Domain of the density; None for all of space.
    balance : Balance or None
        The bound that determined c and α, if any.
    """

    sampler_plan: SamplerPlan
    temperature: float
    prior_precision: float
    domain: Ball | None = None
    balance: Balance | None = None

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

    density_mu: float  # Gaussian-DP parameter of an exact sample together with its metric
    tv: float  # total variation between sample and density
    count: RowCount | None  # determines the run; None for a sampler that does not need it
    schedule: Schedule | None  # None if it depends on an open release: a row count, or a metric
    gram: GramRelease | None  # release of the matrix for the metric


@dataclass(frozen=True)
class RegularizedExponential(Solver[RegularizedExponentialPlan]):
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
        """Return the plan of a μ-Gaussian DP release for a known number of rows.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter.

        Returns
        -------
        RegularizedExponentialPlan
        """
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

    def solve(
        self,
        plan: RegularizedExponentialPlan,
        design: Design,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        problem, schedule, metric = plan.problem, plan.schedule, None
        n, mu = problem.n_samples, plan.density_mu
        if schedule is None:
            assert plan.count is not None, "only a missing count leaves the schedule open"
            n = plan.count.release(design, rng)
            problem, gram = problem.adapted(n, mu), plan.gram
            if gram is None:
                schedule, gram = self._run(problem, mu, n, plan.tv)
            if gram is not None:
                metric, mu = gram.release(design, rng), gram.rest(mu)
                schedule = self.schedule(problem, mu, n, plan.tv, metric)
        assert schedule is not None, "a run without a matrix has a schedule"
        rows = design if metric is None else TransformedDesign.shortening(design, metric.root())
        c, alpha = schedule.temperature, schedule.prior_precision
        target = Target(
            design=rows,
            loss=problem.loss,
            row_norm=problem.row_norm,
            temperature=c,
            prior_precision=alpha,
            domain=self.domain,
            row_trace=None if metric is None else metric.trace,
        )
        draw = self.sampler.sample(target, schedule.sampler_plan, rng, progress)
        on_grid = rounded if self.domain is None else rounded_inwards
        theta = on_grid(draw.theta, schedule.noise)
        if isinstance(rows, TransformedDesign):
            theta = rows.matrix @ theta
        return Solution(
            theta,
            schedule.sampler_plan.n_steps,
            draw.diagnostics,
            loss=problem.loss,
            noise_bound=schedule.noise if self.is_gaussian else None,
            noise_root=rows.matrix if isinstance(rows, TransformedDesign) else None,
            flow=self._flow(schedule, problem, mu, n, metric),
        )

    def _flow(
        self,
        schedule: Schedule,
        problem: Problem,
        mu: float,
        n: int | None,
        metric: Metric | None,
    ) -> Flow | None:
        """Return the run as a flow: in a time t its noise grows to t·G/μ."""
        if n is None or not self.is_gaussian or self.domain or self.objective:
            return None
        return Flow(
            n_samples=n,
            time=schedule.noise * mu / problem.lipschitz_difference,
            noise=schedule.noise,
            metric_noise=metric.noise if metric else math.inf,
            ridge=schedule.prior_precision / schedule.temperature,
        )

    def _run(
        self, problem: Problem, mu: float, n: int | None, tv: float
    ) -> tuple[Schedule | None, GramRelease | None]:
        """Return the numbers of a run or, if a metric shortens it, the release of its matrix."""
        schedule = self.schedule(problem, mu, n, tv)
        gram = None if n is None else self._gram(problem, mu, n, schedule)
        return (schedule, None) if gram is None else (None, gram)

    def _gram(self, problem: Problem, mu: float, n: int, schedule: Schedule) -> GramRelease | None:
        """Return the release of AᵀA if a metric shortens the run, else None."""
        # other coordinates would change the meaning of the user's own C or domain
        own = self.domain is not None or self.objective is not None or problem.C != "auto"
        own |= not self.sampler.takes_long_runs
        d = problem.n_features
        if own or d is None or d > _MOST_METRIC_COLUMNS:
            return None
        if schedule.sampler_plan.n_steps <= _LONG_RUN:
            return None
        gram = GramRelease.plan(problem, mu)
        if gram is None:
            return None
        plain, noise = n * problem.row_norm**2, gram.spectral_noise(d)
        return gram if noise * plain / (plain / d + noise) < _METRIC_GAIN * plain else None

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
            n_is_public=problem.neighboring.count_is_public,
            n_features=problem.n_features,
            C=C,
            flow_time=t,
            prior_precision=alpha,
            domain=self.domain,
            row_trace=row_trace,
        )

    def _flow_time(self, problem: Problem, mu: float, n: int | None, is_bounded: bool) -> float:
        """Return the flow time of a run; in a metric, the columns already bound the work."""
        noise = problem.lipschitz_difference / mu
        if not self.sampler.takes_long_runs:
            return problem.flow_time(n, noise)
        t = problem.flow_time(None, noise)
        return t if n is None or is_bounded else min(t, _longest(problem, n))

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
        t = self._flow_time(problem, mu, n, is_bounded)
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
