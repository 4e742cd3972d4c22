"""The regularized exponential mechanism: coefficients drawn from exp(−c·Σ loss − (α/2)·|θ|²)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit

from skdp._validation import check_choice
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError, UncertifiedSamplerWarning
from skdp.privacy import ApproximatedEvent, Event, GDPEvent, NonPrivateEvent
from skdp.samplers import SAMPLERS, Progress, ProximalSampler, Run, Sampler, Setting, Target
from skdp.solvers._count import RowCount
from skdp.solvers._flow import balanced_regularisation, flow_time, inverse_regularisation
from skdp.solvers._release import rounded
from skdp.solvers.base import Plan, Problem, Solution, Solver, composed, require_delta

__all__ = ["RegularizedExponential", "RegularizedExponentialPlan", "Schedule"]

_ROUNDING = 1e-12
_TV_SHARE = 0.01  # of δ


@dataclass(frozen=True)
class Schedule:
    """Public numbers of one draw.

    Attributes
    ----------
    run : Run
        What the sampler does.
    temperature, prior_precision : float
        c and α of the density.
    """

    run: Run
    temperature: float
    prior_precision: float

    @property
    def noise(self) -> float:
        """Standard deviation of the draw in a direction where the data say nothing, roughly."""
        return math.sqrt(self.run.spread / self.temperature)


@dataclass(frozen=True)
class RegularizedExponentialPlan(Plan):
    """A plan whose density costs `density_mu`, but for `tv`; a row count costs if bought."""

    density_mu: float
    tv: float
    count: RowCount | None


@dataclass(frozen=True)
class RegularizedExponential(Solver):
    """Draw the coefficients from a strongly log-concave density.

    Parameters
    ----------
    sampler : Sampler
        *Public.* Backend that draws; what it certifies enters the accounting.

    Notes
    -----
    **Guarantee.** With G the Lipschitz constant of one record's influence on Σ ℓ, an exact draw is
    c·G/√α-Gaussian DP (Gopi, Lee and Liu 2022, Theorem 4.1), and the last state of a stable
    sampler is f·c·G/√α-Gaussian DP with f < 1 after any public number of steps (Theorem A').
    Given C = c/α and f, the target m is met by α = (m/(G·C·f))². A draw within total variation η
    of the density makes (ε, δ) into (ε, δ + (1 + e^ε)·η): one hundredth of δ pays for it. A sampler
    that certifies nothing of a finite run is used with a warning, and without a guarantee.
    """

    sampler: Sampler = field(default_factory=ProximalSampler)

    def with_sampler(self, sampler: Any) -> RegularizedExponential:  # noqa: D102
        if isinstance(sampler, str):
            sampler = SAMPLERS[check_choice("sampler", sampler, SAMPLERS)]()
        if not isinstance(sampler, Sampler):
            raise IncompatibleSolverError(
                f"sampler must be one of {list(SAMPLERS)} or a Sampler, got {sampler!r}. "
                "Nothing was spent."
            )
        return replace(self, sampler=sampler)

    def plan(  # noqa: D102
        self, problem: Problem, epsilon: float, delta: float
    ) -> RegularizedExponentialPlan:
        require_delta(delta, "regularized_exponential")
        tv = _tv_bound(epsilon, delta) if self.sampler.certifies == "tv" else 0.0
        mu = gdp_mu(epsilon, (1.0 - _TV_SHARE) * delta if tv else delta)
        count = RowCount.plan(problem, epsilon, delta) if self.sampler.counts_rows else None
        density_mu = count.rest(mu) if count else mu
        setting = self._setting(problem, density_mu, problem.n_samples)
        self.sampler.check(setting)
        if tv:
            self.sampler.run(setting, tv)  # a distance out of reach is refused before it is paid
        event = composed((*(count.events if count else ()), self._event(density_mu, tv)))
        theorem = self.sampler.theorem
        return RegularizedExponentialPlan(problem, event, theorem, density_mu, tv, count)

    def _event(self, mu: float, tv: float) -> Event:
        """Return what a draw at price `mu` amounts to, sampled as it is."""
        if self.sampler.certifies != "asymptotic":
            return ApproximatedEvent(GDPEvent(mu), tv) if tv else GDPEvent(mu)
        warnings.warn(
            f"{type(self.sampler).__name__} comes near its target in the long run only; nothing is "
            "proved of the run that is made, and the release has no privacy guarantee.",
            UncertifiedSamplerWarning,
            stacklevel=2,
        )
        return NonPrivateEvent()

    def solve(  # noqa: D102
        self,
        plan: RegularizedExponentialPlan,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Solution:
        n = plan.count.release(design, rng) if plan.count else None
        schedule = self.schedule(plan.problem, plan.density_mu, n, plan.tv)
        target = Target(
            design,
            y,
            plan.problem.loss,
            plan.problem.row_norm,
            schedule.temperature,
            schedule.prior_precision,
        )
        draw = self.sampler.sample(target, schedule.run, rng, progress)
        theta = rounded(draw.theta, schedule.noise)
        return Solution(theta, schedule.run.n_steps, draw.diagnostics)

    def schedule(self, problem: Problem, mu: float, n: int | None, tv: float = 0.0) -> Schedule:
        """Return the numbers of a draw that is `mu`-Gaussian DP but for `tv`, of about `n` rows."""
        setting = self._setting(problem, mu, n)
        run = self.sampler.run(setting, tv)
        alpha = setting.prior_precision / run.stability**2
        return Schedule(run, alpha * setting.C, alpha)

    def _setting(self, problem: Problem, mu: float, n: int | None) -> Setting:
        t = flow_time(problem, n, problem.lipschitz_difference / mu)
        early = self.sampler.certifies == "stable"  # its draw is regularised by the run's length
        C = inverse_regularisation(problem, t) if early else balanced_regularisation(problem, mu)
        return Setting(
            problem.loss,
            problem.row_norm,
            n,
            problem.neighboring.count_is_public,
            problem.n_features,
            C,
            t,
            (mu / (problem.lipschitz_difference * C)) ** 2 * (1.0 - _ROUNDING),
        )


def _tv_bound(epsilon: float, delta: float) -> float:
    """Return η with (1 + e^ε)·η at most the share of δ that sampling may take."""
    tv = _TV_SHARE * delta * float(expit(-epsilon)) * (1.0 - 1e-9)
    if tv < 1e-280:
        raise IncompatibleSolverError(
            f"epsilon={epsilon!r} is too large for a sampler with a bound in total variation; "
            "sampler='proximal' takes any. Nothing was spent."
        )
    return tv
