"""A sample of the rows, and a fit to it that costs what was asked for all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

from sklearn.base import BaseEstimator

from skdp._private_fit import NonPrivatePlan, ReleaseParameters, ReleasePlan
from skdp.accounting import sampled_gdp_mu, sampled_pure_epsilon
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._records import LinearFacts, LinearRecords, TaskT
from skdp.privacy import (
    Event,
    GaussianCurve,
    GaussianEvent,
    Neighboring,
    PoissonSampledEvent,
    PureDPEvent,
)
from skdp.solvers import SOLVERS, Problem, Solution, Solver
from skdp.support.validation import check_real

ENOUGH_ROWS = 1_000_000
"""Expected rows of an automatic sample. More barely improve a fit. No guarantee rests on it."""

_ROUNDING = 1e-14  # relative: of 1/μ, there and back


class LinearPlan(ReleasePlan, Protocol):
    """The plan of a private fit."""

    @property
    def problem(self) -> Problem:
        """The public facts about the fit."""


@dataclass(frozen=True)
class FitPlan:
    """The public plan of a fit to all records or to a Poisson sample of them."""

    rate: float  # probability with which a record is in the sample; 1 for a fit to all
    fit: NonPrivatePlan | LinearPlan  # of a sample: for neighbors by adding or removing a record
    event: Event  # the release of `fit`, for the records that the sample is drawn from
    theorem: str
    exact: bool


Fitted: TypeAlias = Solution | BaseEstimator
"""What a solver released; without privacy, the fitted estimator of scikit-learn."""


class Learned(NamedTuple):
    """The result of a fit, with its facts and plan, which earlier releases may have set."""

    fitted: Fitted
    facts: LinearFacts[Any]
    plan: NonPrivatePlan | LinearPlan


def check_subsample(subsample: object) -> None:
    """Raise unless it is "auto" or a rate in (0, 1]."""
    if isinstance(subsample, str) and subsample == "auto":
        return
    if isinstance(subsample, str):
        raise ValueError(f"subsample must be None, 'auto' or a rate in (0, 1], got {subsample!r}.")
    check_real("subsample", subsample, low=0.0, high=1.0, closed="]")


def sampling_rate(subsample: float | str, n_known: int | None) -> float:
    """Return the sampling rate, 1 for all rows. "auto" does not sample if n is unknown."""
    if isinstance(subsample, str):
        return min(1.0, ENOUGH_ROWS / n_known) if n_known else 1.0
    return float(subsample)


def expected(records: LinearRecords[TaskT], rate: float) -> LinearRecords[TaskT]:
    """Return records with the public expected number of sampled records as `n_known`."""
    n = records.facts.n_known
    n_known = None if n is None else max(1, round(rate * n))
    return replace(records, rate=rate, facts=replace(records.facts, n_known=n_known))


def can_be_sampled(solver: Solver, delta: float) -> bool:
    """Return whether the cost of a solver's fit to a sample is known."""
    return solver.is_pure or (solver.is_gaussian and delta > 0.0)


def plan_sampled(
    rate: float,
    parameters: ReleaseParameters,
    solver: Solver,
    plan: Callable[[ReleaseParameters], LinearPlan],
) -> FitPlan:
    """Return a plan for a sample whose cost is that of `parameters`.

    `plan` is called with the larger cost of the fit to the sample alone.
    """
    epsilon, delta, relation = parameters.epsilon, parameters.delta, parameters.neighboring
    inside = replace(parameters, neighboring=Neighboring.ADD_REMOVE_ONE)
    if solver.is_pure:
        own = sampled_pure_epsilon(epsilon, rate, relation)
        fit = plan(replace(inside, epsilon=own))
        return FitPlan(rate, fit, PureDPEvent(epsilon), _amplified(rate, fit), fit.exact)
    if not can_be_sampled(solver, delta):
        raise IncompatibleSolverError(_refusal(solver, delta))
    mu = sampled_gdp_mu(epsilon, delta, rate, relation)
    fit = plan(replace(inside, epsilon=GaussianCurve(mu).epsilon(delta)))
    noise = (1.0 - _ROUNDING) / fit.event.gdp_mu(Neighboring.ADD_REMOVE_ONE)
    event = PoissonSampledEvent(rate, GaussianEvent(noise))
    return FitPlan(rate, fit, event, _amplified(rate, fit), fit.exact)


def _amplified(rate: float, fit: ReleasePlan) -> str:
    return f"a Poisson sample at rate {rate:.6g}, amplified; on it {fit.theorem}"


def _refusal(solver: Solver, delta: float) -> str:
    name = type(solver).__name__
    if delta == 0.0:
        return f"subsample with {name} needs delta > 0."
    able = [key for key, kind in SOLVERS.items() if kind.is_pure or kind().is_gaussian]
    return (
        f"{name} cannot be used with subsample, because its cost on a sample is not known. Use one "
        f"of {able}. DPSGD samples by itself: set its sampling_rate."
    )
