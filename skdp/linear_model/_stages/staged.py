"""A Gaussian release before a fit, planned together with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.linear_model._records import LinearRecords, TaskT
from skdp.linear_model._sample import LinearPlan
from skdp.privacy import Event, GaussianCurve, GDPEvent
from skdp.solvers import Problem
from skdp.solvers.base import composed

_REST_MARGIN = 1e-9  # relative; a guarantee rests on it: ε from μ and back is right to 1e-10


class GaussianRelease(Protocol):
    """A Gaussian release that prepares the records of a fit."""

    @property
    def mu(self) -> float:
        """Its Gaussian-DP parameter."""

    @property
    def name(self) -> str:
        """What is released, in words."""

    @property
    def exact(self) -> bool:
        """Whether rounding errors are bounded and the noise is exact."""

    def prepared(self, records: LinearRecords[Any], rng: np.random.Generator) -> LinearRecords[Any]:
        """Release from *private* records; return them with facts that follow from the release."""


FirstT = TypeVar("FirstT", bound=GaussianRelease)


@dataclass(frozen=True)
class StagedPlan(Generic[FirstT]):
    """The public plan of a Gaussian release, then of a fit that it prepares."""

    first: FirstT
    fit: LinearPlan

    @property
    def event(self) -> Event:
        """Both releases, which compose adaptively."""
        return composed((GDPEvent(self.first.mu), self.fit.event))

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"{self.first.name} by the Gaussian mechanism, then {self.fit.theorem}"

    @property
    def exact(self) -> bool:
        """Whether both are proved for the numbers that a computer adds."""
        return self.first.exact and self.fit.exact

    @property
    def problem(self) -> Problem:
        """The public facts about the fit."""
        return self.fit.problem

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        """Make the release; return the plan and the records of the fit."""
        return self.fit, self.first.prepared(records, rng)


class FinishedPlan(StagedPlan[Any]):
    """The public plan of a fit, then of a release at it: `first` is planned first, made last."""

    @property
    def theorem(self) -> str:
        return f"{self.fit.theorem}; then {self.first.name} by the Gaussian mechanism"


def most_rest(parameters: ReleaseParameters, spent: float) -> float:
    """Return a bound of μ of all fits with the parameters that `rest_of` returns."""
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    return math.sqrt(mu * mu - spent * spent) * (1.0 - 0.5 * _REST_MARGIN)


def rest_of(parameters: ReleaseParameters, spent: float) -> ReleaseParameters:
    """Return the parameters of a fit after a release with the parameter μ `spent`.

    δ stays. If it alone covers the rest of μ, ε would be 0; then ε stays and δ is less.
    """
    mu = gdp_mu(parameters.epsilon, parameters.delta)
    left = GaussianCurve(math.sqrt(mu * mu - spent * spent) * (1.0 - _REST_MARGIN))
    epsilon = left.epsilon(parameters.delta)
    if epsilon > 0.0:
        return replace(parameters, epsilon=epsilon)
    return replace(parameters, delta=left.delta(parameters.epsilon))
