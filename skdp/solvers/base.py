"""The contract between an estimator and a way to learn privately: plan, pay, solve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp._validation import make_plain
from skdp.accounting import gdp_mu
from skdp.design import ClippedDesign
from skdp.exceptions import IncompatibleSolverError
from skdp.losses import Loss
from skdp.privacy import ComposedEvent, Event, GDPEvent, Neighboring
from skdp.samplers import Progress

__all__ = ["Plan", "Problem", "RowCount", "Solution", "Solver", "composed", "require_delta"]


@dataclass(frozen=True)
class Problem:
    """Everything about a fit that is public.

    Parameters
    ----------
    loss : Loss
    data_norm, intercept_scaling : float
        Every row is (x, b₀) with \\|x\\| at most `data_norm` and b₀ = `intercept_scaling`.
    n_samples : int or None
        A public number of rows, exact or approximate; None where there is none.
    neighboring : Neighboring
    C : float or "auto"
        Inverse regularisation strength.
    n_features : int or None
        Columns, the intercept's included; needed by samplers that choose C or their cost by it.
    """

    loss: Loss
    data_norm: float
    intercept_scaling: float
    n_samples: int | None
    neighboring: Neighboring
    C: float | str = "auto"
    n_features: int | None = None

    def __post_init__(self) -> None:
        make_plain(self)

    @property
    def row_norm(self) -> float:
        """R: norm of a row with its intercept."""
        return math.hypot(self.data_norm, self.intercept_scaling)

    def shape(self, n_features: int) -> tuple[int, ...]:
        """Return the shape of θ for rows of `n_features`, the intercept's column included."""
        k = self.loss.n_scores
        return (n_features,) if k == 1 else (n_features, k)

    @property
    def lipschitz_difference(self) -> float:
        """G: Lipschitz constant in θ of the change that one record makes to the summed loss."""
        return self.neighboring.n_changed * self.loss.lipschitz * self.row_norm


@dataclass(frozen=True)
class Plan(ABC):
    """What a solver will release, every parameter fixed, and the theorem that prices it."""

    problem: Problem
    event: Event
    theorem: str


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver has released.

    Attributes
    ----------
    theta : ndarray of shape (n_features,) or (n_features, K)
        Released coefficients, the intercept column's last.
    n_iter : int
        Number of steps: public, or computed from what was released.
    diagnostics : dict
        *Not private.*
    noise : float or None
        *Public.* Standard deviation of the Gaussian noise in each entry of `theta`, where `theta`
        is an optimum with such noise added; None where its law is another.
    """

    theta: np.ndarray
    n_iter: int
    diagnostics: dict[str, Any] = field(default_factory=dict)
    noise: float | None = None


class Solver(ABC):
    """A way to learn linear models privately, in two parts.

    `plan` sees public facts only and says what will be released; an estimator buys that, and only
    then hands the data to `solve`.
    """

    def with_sampler(self, sampler: Any) -> Solver:
        """Return the same solver with another sampler backend, a name or an instance."""
        raise IncompatibleSolverError(
            f"{type(self).__name__} draws no sample, so sampler={sampler!r} has no meaning for "
            "it; leave sampler='auto'."
        )

    @abstractmethod
    def plan(self, problem: Problem, epsilon: float, delta: float) -> Plan:
        """Return a plan that is (`epsilon`, `delta`)-DP."""

    @abstractmethod
    def solve(
        self,
        plan: Any,
        design: ClippedDesign,
        y: np.ndarray,
        rng: np.random.Generator,
        progress: Progress,
        start: np.ndarray | None = None,
    ) -> Solution:
        """Read the data and release the solution that `plan` describes."""


def composed(events: tuple[Event, ...]) -> Event:
    """Return the composition of events that were fixed beforehand; of one, the event itself."""
    return events[0] if len(events) == 1 else ComposedEvent(events)


def require_delta(delta: float, name: str) -> None:
    """Raise if δ is 0, for a solver whose noise is Gaussian."""
    if delta == 0.0:
        raise IncompatibleSolverError(
            f"solver={name!r} adds Gaussian noise, which needs delta > 0; "
            "solver='exponential_mechanism' takes delta=0."
        )


_SHARE = 0.1  # of μ, which is 1 % of μ²
_LEAST = 10


@dataclass(frozen=True)
class RowCount:
    """The number of rows by which steps are chosen: public, or a release of its own.

    A row more or less changes the count by 1, so with N(0, 1/μ²) added it is μ-Gaussian DP.

    Parameters
    ----------
    public : int or None
        The number, where it is public.
    mu : float
        Gaussian-DP price of the noisy count; 0 for a public one.
    """

    public: int | None
    mu: float

    @classmethod
    def plan(cls, problem: Problem, epsilon: float, delta: float) -> RowCount:
        """Return a count that takes a hundredth of μ², if it has to be bought."""
        if problem.n_samples is not None:
            return cls(problem.n_samples, 0.0)
        return cls(None, _SHARE * gdp_mu(epsilon, delta))

    @property
    def events(self) -> tuple[GDPEvent, ...]:
        """What is released for it, if anything."""
        return (GDPEvent(self.mu),) if self.mu > 0.0 else ()

    def release(self, design: ClippedDesign, rng: np.random.Generator) -> int:
        """Return the number: public, or released now."""
        if self.public is not None:
            return self.public
        return max(_LEAST, round(design.n_samples + rng.normal() / self.mu))

    def rest(self, mu: float) -> float:
        """Return what is left of `mu`."""
        return math.sqrt(mu * mu - self.mu * self.mu)
