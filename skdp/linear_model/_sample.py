"""A sample of the rows, and a fit to it that costs what was asked for all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from skdp._private_fit import ReleaseParameters, ReleasePlan
from skdp.accounting import sampled_gdp_mu, sampled_pure_epsilon
from skdp.exceptions import IncompatibleSolverError
from skdp.linear_model._records import LinearRecords
from skdp.privacy import (
    Event,
    GaussianCurve,
    GaussianEvent,
    Neighboring,
    PoissonSampledEvent,
    PureDPEvent,
)
from skdp.solvers import SOLVERS, Solver
from skdp.support.validation import check_real

__all__ = [
    "ENOUGH_ROWS",
    "FitPlan",
    "can_be_sampled",
    "check_subsample",
    "expected",
    "plan_sampled",
    "sampling_rate",
]

ENOUGH_ROWS = 1_000_000
"""Expected rows of an automatic sample; more hardly make a fit better. No guarantee rests on it."""

_ROUNDING = 1e-14  # relative: of 1/μ, there and back


@dataclass(frozen=True)
class FitPlan:
    """A fit to all records or to a Poisson sample of them; all of it public.

    Parameters
    ----------
    rate : float
        Probability with which a record is in the sample; 1 for a fit to all.
    fit : ReleasePlan
        What is released from the sample, for neighbors by adding or removing a record.
    event : Event
        What that is for the records that the sample is drawn from.
    theorem : str
        The statement that proves the event.
    """

    rate: float
    fit: Any
    event: Event
    theorem: str


def check_subsample(subsample: Any) -> None:
    """Raise unless it is "auto" or a rate in (0, 1]."""
    if isinstance(subsample, str) and subsample == "auto":
        return
    if isinstance(subsample, str):
        raise ValueError(f"subsample must be None, 'auto' or a rate in (0, 1], got {subsample!r}.")
    check_real("subsample", subsample, low=0.0, high=1.0, closed="]")


def sampling_rate(subsample: Any, n_known: int | None) -> float:
    """Return the rate of the sample that is fitted, from public facts; 1 for all rows.

    Parameters
    ----------
    subsample : float or "auto"
        *Public.* As an estimator takes it; checked.
    n_known : int or None
        *Public.* The number of rows, exact or a guess; None where none is public, and then nothing
        is sampled automatically.
    """
    if isinstance(subsample, str):
        return min(1.0, ENOUGH_ROWS / n_known) if n_known else 1.0
    return float(subsample)


def expected(records: LinearRecords, rate: float) -> LinearRecords:
    """Return records with the public number of those that a sample is to hold."""
    n = records.facts.n_known
    n_known = None if n is None else max(1, round(rate * n))
    return replace(records, rate=rate, facts=replace(records.facts, n_known=n_known))


def can_be_sampled(solver: Solver, delta: float) -> bool:
    """Return whether it is known what a solver's fit to a sample costs."""
    return solver.is_pure or (solver.is_gaussian and delta > 0.0)


def plan_sampled(
    rate: float,
    parameters: ReleaseParameters,
    solver: Solver,
    plan: Callable[[ReleaseParameters], ReleasePlan],
) -> FitPlan:
    """Return a plan for a sample that costs just what `parameters` ask for.

    `plan` is called with what the sample's own fit may cost.
    """
    epsilon, delta, relation = parameters.epsilon, parameters.delta, parameters.neighboring
    inside = replace(parameters, neighboring=Neighboring.ADD_REMOVE_ONE)
    if solver.is_pure:
        own = sampled_pure_epsilon(epsilon, rate, relation)
        fit = plan(replace(inside, epsilon=own))
        return FitPlan(rate, fit, PureDPEvent(epsilon), _amplified(rate, fit))
    if not can_be_sampled(solver, delta):
        raise IncompatibleSolverError(_refusal(solver, delta))
    mu = sampled_gdp_mu(epsilon, delta, rate, relation)
    fit = plan(replace(inside, epsilon=GaussianCurve(mu).epsilon(delta)))
    noise = (1.0 - _ROUNDING) / fit.event.gdp_mu(Neighboring.ADD_REMOVE_ONE)
    event = PoissonSampledEvent(rate, GaussianEvent(noise))
    return FitPlan(rate, fit, event, _amplified(rate, fit))


def _amplified(rate: float, fit: ReleasePlan) -> str:
    return f"a Poisson sample at rate {rate:.6g}, amplified; on it {fit.theorem}"


def _refusal(solver: Solver, delta: float) -> str:
    name = type(solver).__name__
    if delta == 0.0:
        return f"subsample with {name} needs delta > 0."
    able = [key for key, kind in SOLVERS.items() if kind.is_pure or kind().is_gaussian]
    return (
        f"subsample needs a solver whose release is Gaussian or pure DP, one of {able}; what "
        f"{name} releases is neither, and its cost on a sample is not known. "
        "(DPSGD samples by itself: its sampling_rate is the way to read less.)"
    )
