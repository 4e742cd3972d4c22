"""Features chosen by a public number of records or by a released one, such as `AutoFeatures`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.features.auto import AutoMap, unknown_numbers
from skdp.linear_model._records import LinearRecords, TaskT
from skdp.linear_model._sample import LinearPlan
from skdp.linear_model._stages.staged import rest_of
from skdp.privacy import Event, GDPEvent
from skdp.solvers import Problem
from skdp.solvers.base import RowCount, composed

Fits = tuple[tuple[float, LinearPlan], ...]
"""Plans of fits in the order of the least signal n·μ/k of each."""

# Two standard deviations of the noise in a bin are then 22 % of the records, or 32 % for k = 1.
_FEWEST_FOR_RANKS = 20.0  # n·μ/(k·√p) for p columns with bounds="auto"
_TYPICAL_DELTA = 1e-5  # for the choice where δ = 0; no guarantee rests on it


def with_choice(
    records: LinearRecords[TaskT], parameters: ReleaseParameters
) -> LinearRecords[TaskT]:
    """Return records with chosen features if their number is known, or if nothing is private."""
    facts = records.facts
    if not parameters.is_private:
        return _chosen(records, math.inf)
    if facts.n_known is None:
        return records
    signal = signal_of(parameters, facts.n_known)
    chosen = _chosen(records, signal)
    if signal < _FEWEST_FOR_RANKS * math.sqrt(len(chosen.facts.searched)):
        raise ValueError(
            f"bounds='auto' for {len(chosen.facts.searched)} columns needs more records or a "
            "larger epsilon. State the bounds of more columns."
        )
    return chosen


@dataclass(frozen=True)
class CountedPlan:
    """The public plan of a count, and then of a fit to the features that it decides."""

    parameters: ReleaseParameters
    count: RowCount
    fits: Fits
    event: Event
    chosen: Callable[[LinearRecords[Any], float], LinearRecords[Any]]

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"a noisy count by the Gaussian mechanism, then {self.fits[-1][1].theorem}"

    @property
    def exact(self) -> bool:
        """Whether all fits are proved for the numbers that a computer adds, as the count is."""
        return all(fit.exact for _, fit in self.fits)

    @property
    def problem(self) -> Problem:
        """The public facts about the fit with the first features."""
        return self.fits[0][1].problem

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        """Release the count; return the plan and the records of the fit that it decides."""
        signal = signal_of(self.parameters, self.count.release(records, rng))
        fit = [plan for least, plan in self.fits if least <= signal][-1]
        return fit, self.chosen(records, signal)


def plan_auto(
    parameters: ReleaseParameters,
    records: LinearRecords[TaskT],
    plan_fit: Callable[[ReleaseParameters, LinearRecords[TaskT]], LinearPlan],
) -> CountedPlan:
    """Return a plan of a count, and of the fits to the choices of `AutoFeatures`."""
    _check_takes_count(records, parameters)
    auto = records.facts.feature_map
    assert isinstance(auto, AutoMap), "planned for such a map only"

    def fits(inside: ReleaseParameters) -> Fits:
        leasts = (0.0, *auto.limits)
        return tuple((least, plan_fit(inside, _chosen(records, least))) for least in leasts)

    return plan_counted(parameters, fits, _chosen)


def plan_counted(
    parameters: ReleaseParameters,
    fits_of: Callable[[ReleaseParameters], Fits],
    chosen: Callable[[LinearRecords[Any], float], LinearRecords[Any]],
) -> CountedPlan:
    """Return a plan of a count with 1 % of μ², and of the fits among which it decides.

    All fits are planned, and so checked, before anything is spent. The costs of the count and of
    the fit compose adaptively, so the largest cost of a fit is counted.
    """
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    count = RowCount.of_share(mu)
    fits = fits_of(rest_of(parameters, count.mu))
    dearest = max(fit.event.gdp_mu(parameters.neighboring) for _, fit in fits)
    event = composed((*count.events, GDPEvent(dearest)))
    return CountedPlan(parameters, count, fits, event, chosen)


def _chosen(records: LinearRecords[TaskT], signal: float) -> LinearRecords[TaskT]:
    auto = records.facts.feature_map
    assert isinstance(auto, AutoMap), "chosen once"
    features, feature_map = auto.choice(signal)
    facts = replace(
        records.facts,
        features=features,
        feature_map=feature_map,
        n_columns=feature_map.n_features_out,
        searched=unknown_numbers(auto.features.bounds, auto.facts),
    )
    return records.with_facts(facts)


def signal_of(parameters: ReleaseParameters, n: float) -> float:
    """Return n·μ/k for n records and neighbors that differ in k of them."""
    mu = gdp_mu(parameters.epsilon, parameters.delta or _TYPICAL_DELTA)
    return n * mu / parameters.neighboring.n_changed


def _check_takes_count(records: LinearRecords[TaskT], parameters: ReleaseParameters) -> None:
    solver = records.facts.solver
    if not (solver.is_gaussian and parameters.delta > 0.0):
        raise IncompatibleSolverError(
            "With neighboring='add_remove_one', AutoFeatures needs n_samples_hint, or delta > 0 "
            "and a Gaussian DP solver, such as 'auto' or 'noisy_gd', not "
            f"{type(solver).__name__}."
        )
