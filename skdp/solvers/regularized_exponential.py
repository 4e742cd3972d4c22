"""The regularized exponential mechanism: a sample from exp(−c·Σ loss − (α/2)·|θ|²)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

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

__all__ = ["LONG_RUN", "RegularizedExponential", "RegularizedExponentialPlan", "Schedule"]

LONG_RUN = 171
"""Steps, more of which are better taken in a metric; no guarantee rests on it."""

_TV_SHARE = 0.01  # of δ; no guarantee rests on its size
_MOST_STEPS = 50_000
_METRIC_GAIN = 0.7  # steps in a metric over steps without, above which it is not worth its price
_MOST_METRIC_COLUMNS = 512  # above, the matrix products of proposals take longer than passes do
_EXPONENT = 6.0  # of a step: half its length times the trace of the worst Hessian; by it runs end
_LEAST_TV = 1e-280  # below, products underflow
_TV_MARGIN = 1e-9  # a guarantee rests on it: (1 + e^ε)·η as others compute it, to 1e-10 at worst


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Numbers of one sample from the density; all of them public.

    Parameters
    ----------
    sampler_plan : SamplerPlan
        What the sampler does.
    temperature, prior_precision : float
        c, in units of 1/loss, and α of the density.
    domain : Ball or None
        To which it is restricted.
    balance : Balance or None
        The bound by which c and α were chosen, if any.
    """

    sampler_plan: SamplerPlan
    temperature: float
    prior_precision: float
    domain: Ball | None = None
    balance: Balance | None = None

    @property
    def noise(self) -> float:
        """Standard deviation of a sample where the data say nothing, and no less than elsewhere.

        A forward half step adds η to the Poincaré constant of a chain's state. A backward one
        contracts in W_∞ (Lemma 1 of *Finitely many steps* in the documentation), which does not
        increase the constant, and adds at most η: T steps make (2T − 1)·η, and 1/α at most.
        """
        noise = math.sqrt(self.sampler_plan.spread / self.temperature)
        return noise if self.domain is None else min(noise, self.domain.radius)

    @property
    def excess_risk_bound(self) -> float:
        """Upper bound of the expected excess risk: a record's mean loss less the least there is.

        Least over all \\|θ\\| ≤ B, the radius of the domain or else the reach of the loss; on the
        rows at hand for "erm", on the population for "sco". inf without an `objective`, without
        a row count, and where nothing is proved of how near the sample is to the density.
        """
        balance, c, alpha = self.balance, self.temperature, self.prior_precision
        if (
            balance is None
            or balance.n_samples is None
            or math.isinf(self.sampler_plan.contraction)
        ):
            return math.inf
        if self.sampler_plan.tv and self.domain is None:
            return math.inf  # the little that is missing may lie anywhere
        C, size = c / alpha, balance.size
        moment = balance.second_moment(C, alpha, self.domain)
        distance = self.sampler_plan.contraction * math.sqrt(
            moment + size * self.sampler_plan.step / c
        )
        distance += math.sqrt(size) * grid_width(self.noise)
        excess = balance.excess(c, C) + balance.loss_of(distance, C, moment)
        if self.domain is not None:
            excess += self.sampler_plan.tv * balance.loss_of(2.0 * self.domain.radius, C, moment)
        return excess / balance.n_samples * (1.0 + SCALE_MARGIN)


@dataclass(frozen=True, kw_only=True)
class RegularizedExponentialPlan(Plan):
    """A sample from a density, or within `tv` of it; all of it public.

    Parameters
    ----------
    density_mu : float
        Gaussian-DP parameter of an exact sample, and of the metric that it may be drawn in.
    tv : float
        Total variation within which the sample is of the density.
    count : RowCount or None
        The number of rows by which the run is chosen; None for a sampler that does not need one.
    schedule : Schedule or None
        The run; None where it depends on what is still to be released: a row count, or a metric.
    gram : GramRelease or None
        The release of a matrix from which the metric is computed.
    """

    density_mu: float
    tv: float
    count: RowCount | None
    schedule: Schedule | None
    gram: GramRelease | None


@dataclass(frozen=True)
class RegularizedExponential(Solver):
    """Draw the coefficients from a strongly log-concave density.

    Parameters
    ----------
    sampler : Sampler
        *Public.* Backend that draws; what it certifies enters the accounting.
    objective : {"erm", "sco"} or None
        *Public.* By which bound c and α are chosen, with ``C="auto"``: "erm" by that of the excess
        risk on the rows at hand, "sco" by that of the excess risk on the population that they come
        from. The plan's `schedule` states the bound. None takes rules found by experiment. With a
        C of your own the ridge counts as a part of the objective, and the bound is about both.
    domain : Ball or None
        *Public.* Where the coefficients lie; None for all of space.

    Notes
    -----
    **Guarantee.** With G the Lipschitz constant of one record's influence on Σ ℓ, an exact sample
    is c·G/√α-Gaussian DP (Gopi, Lee and Liu 2022, Theorem 4.1), and the last state of a stable
    sampler is f·c·G/√α-Gaussian DP with f < 1 after any public number of steps (Theorem A').
    Given C = c/α and f, the target m is met by α = (m/(G·C·f))². A sample within total variation
    η of the density makes (ε, δ) into (ε, δ + (1 + e^ε)·η): one hundredth of δ is spent on it. A
    sampler of your own that certifies nothing of a finite run is used with a warning, and without
    a guarantee; the papers' reference samplers are refused.
    All of this holds on a domain as it does on all of space.
    Where a long run asks for it, 1 % of μ² is spent on the matrix AᵀA first, and the sample is
    drawn in coordinates φ with θ = S·φ, S² ≤ 1 computed from that matrix. There the rows are S·a,
    no longer than a, so that all of the above holds word for word given the matrix, and the two
    compose (*The frontier* in the documentation).

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
        """Whether a sample has just the μ of the (ε, δ) asked for: whether none is set aside."""
        return self.sampler.certifies in (Certificate.EXACT, Certificate.STABLE)

    @property
    def takes_blocks(self) -> bool:  # type: ignore[override]
        """Whether the sampler asks for sums and for some rows only."""
        return self.sampler.takes_blocks

    def with_sampler(self, sampler: Any) -> RegularizedExponential:
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
        """Return the plan of a μ-Gaussian DP release where the number of rows is known.

        Parameters
        ----------
        problem : Problem
            *Public or released.* Its `n_samples` is a number.
        mu : float
            *Public.* Gaussian-DP parameter.

        Returns
        -------
        plan : RegularizedExponentialPlan
            As `plan` returns it.
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
                "objective='sco' needs a row count: n_samples_hint, or a sampler that estimates "
                "it, as 'proximal' does."
            )
        if self.objective is not None and n is not None:
            C, t = self._regularization(problem, mu, n)
            if t > _longest(problem, n):
                steps = t / _longest(problem, n) * _MOST_STEPS
                raise IncompatibleSolverError(
                    f"objective={self.objective!r} with C={C:.3g} wants some {steps:.3g} steps, "
                    f"and {_MOST_STEPS} are the most; take a smaller C, epsilon or domain."
                )
        sampler.check(self._setting(problem, mu, n))

    def _event(self, mu: float, tv: float) -> Event:
        """Return the event of a sample at `mu`, drawn as the sampler does."""
        if self.sampler.certifies not in list(Certificate):
            raise IncompatibleSolverError(
                f"{self.sampler!r} certifies {str(self.sampler.certifies)!r}, not one of "
                f"{[str(kind) for kind in Certificate]}."
            )
        if self.sampler.certifies != "asymptotic":
            return ApproximatedEvent(GDPEvent(mu), tv) if tv else GDPEvent(mu)
        warnings.warn(
            f"{type(self.sampler).__name__} comes near its target in the long run only; nothing is "
            "proved of the run that is made, and the release has no privacy guarantee.",
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
        if schedule is None:
            assert plan.count is not None, "only what needs a count leaves the schedule open"
            n = plan.count.release(design, rng)
            problem, mu, gram = problem.adapted(n, plan.density_mu), plan.density_mu, plan.gram
            if gram is None:
                schedule, gram = self._run(problem, mu, n, plan.tv)
            if gram is not None:
                metric, mu = gram.release(design, rng), gram.rest(mu)
                schedule = self.schedule(problem, mu, n, plan.tv, metric)
        assert schedule is not None, "a run without a matrix is planned at once"
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
        )

    def _run(
        self, problem: Problem, mu: float, n: int | None, tv: float
    ) -> tuple[Schedule | None, GramRelease | None]:
        """Return the numbers of a run or, where a metric shortens it, the release for that."""
        schedule = self.schedule(problem, mu, n, tv)
        gram = None if n is None else self._gram(problem, mu, n, schedule)
        return (schedule, None) if gram is None else (None, gram)

    def _gram(self, problem: Problem, mu: float, n: int, schedule: Schedule) -> GramRelease | None:
        """Return the release of AᵀA for a metric in which a run is shorter, if there is one.

        With a C of the user's own, or a domain, other coordinates would change what they mean.
        """
        own = self.domain is not None or self.objective is not None or problem.C != "auto"
        own |= not self.sampler.takes_long_runs
        d = problem.n_features
        if own or d is None or d > _MOST_METRIC_COLUMNS:
            return None
        if schedule.sampler_plan.n_steps <= LONG_RUN:
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
        """Return the numbers of a sample that is `mu`-Gaussian DP but for `tv`.

        Parameters
        ----------
        problem : Problem
            *Public.*
        mu : float
            *Public.* Gaussian-DP parameter.
        n : int or None
            *Public or released.* About how many rows there are.
        tv : float
            *Public.* Total variation within which the sample is of the density.
        metric : Metric or None
            *Released.* In which it is drawn.

        Returns
        -------
        schedule : Schedule
            Density, and the run that samples it.
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
        """Raise if the sampler claims more of a run than it certifies."""
        allowed = sampler_plan.stability == 1.0 or self.sampler.certifies in (
            "stable",
            "asymptotic",
        )
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
        shared = problem.neighboring.count_is_public
        d = problem.n_features
        return Setting(
            loss=problem.loss,
            row_norm=problem.row_norm,
            n_samples=n,
            n_is_public=shared,
            n_features=d,
            C=C,
            flow_time=t,
            prior_precision=alpha,
            domain=self.domain,
            row_trace=row_trace,
        )

    def _flow_time(self, problem: Problem, mu: float, n: int | None, is_bounded: bool) -> float:
        """Return for how long a run flows; in a metric, columns bound how long that takes."""
        noise = problem.lipschitz_difference / mu
        if not self.sampler.takes_long_runs:
            return problem.flow_time(n, noise)
        t = problem.flow_time(None, noise)
        return t if n is None or is_bounded else min(t, _longest(problem, n))

    def _regularization(
        self, problem: Problem, mu: float, n: int | None, is_bounded: bool = False
    ) -> tuple[float, float]:
        """Return C = c/α and for how long a run flows."""
        if self.objective is not None:
            balance = self._balance(problem, n)
            C = balance.C(mu) if isinstance(problem.C, str) else float(problem.C)
            t = C * balance.relaxations(mu, C, self.domain)
            if n is not None and problem.n_samples is None:  # estimated: too late to refuse
                t = min(t, _longest(problem, n))
            return C, t
        t = self._flow_time(problem, mu, n, is_bounded)
        if self.sampler.certifies == "stable" or not isinstance(problem.C, str):
            return problem.inverse_regularization(t), t  # regularized by the run's length
        return self._balance(problem, n).C(mu), t


def _refuse_reference(sampler: str | Sampler) -> None:
    """Raise if a sampler, or its name, is one that is there for research only."""
    named = isinstance(sampler, str) and sampler in REFERENCE_SAMPLERS
    if named or any(map(REFERENCE_SAMPLERS.name_of, type(sampler).__mro__)):
        raise IncompatibleSolverError(
            f"sampler={sampler!r} is a reference: it is there for `draw_samples`, "
            "which draws without privacy for research and for reproducing papers. An estimator "
            f"takes one of {list(SAMPLERS)}, each of which certifies a run that ends."
        )


def _longest(problem: Problem, n: int) -> float:
    """Return for how long a run with an objective may flow, by the steps that it would take."""
    exponent = _EXPONENT if problem.loss.n_scores == 1 else 0.5 * _EXPONENT
    return _MOST_STEPS * exponent / (0.5 * problem.worst_curvature(n))


def _tv_bound(epsilon: float, delta: float) -> float:
    """Return η with (1 + e^ε)·η at most the share of δ that sampling may take."""
    tv = _TV_SHARE * delta * float(expit(-epsilon)) * (1.0 - _TV_MARGIN)
    if tv < _LEAST_TV:
        raise IncompatibleSolverError(
            f"epsilon={epsilon!r} is too large for a sampler with a bound in total variation; "
            "sampler='proximal' takes any."
        )
    return tv
