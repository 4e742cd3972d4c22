"""Plan of a search: the cost of each run and of the whole."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from skdp.accounting import gdp_mu
from skdp.budget import Amount
from skdp.budget.filters.base import largest_gaussian
from skdp.mechanisms import ExponentialMechanism, Gaussian, Laplace, PermuteAndFlip
from skdp.privacy import Event, GDPEvent, Neighboring, PureDPEvent, RepeatAndSelectEvent
from skdp.privacy.repeated import RunCount
from skdp.support.root_search import arithmetic, bisect
from skdp.support.rounding import ROOT, down, up

_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
DISTRIBUTIONS = tuple(_SHAPES)
# Mechanisms round their cost up, and sums of scores in floats are known only to 1e-6 of a row: the
# ε of a choice is lowered and the noise in a score is raised by more than that.
_SAFE = 1.0 - 1e-6
_ROUNDED_UP = 1.0 + 1e-5
_NEARLY = up(1.0, ROOT)  # an ε in a grid may exceed the limit by this factor, and is then lowered


@dataclass(frozen=True)
class SearchTerms:
    """The public settings of a search."""

    epsilon: float
    delta: float
    neighboring: Neighboring
    distribution: str
    mean_runs: float
    release_scores: bool = False

    @property
    def gamma(self) -> float:
        return _gamma(self.distribution, self.mean_runs)

    @property
    def pure_factor(self) -> float:
        """2 + η: the cost of the best of K, in units of the ε of one run."""
        return 2.0 + _SHAPES[self.distribution]

    @property
    def run_epsilon(self) -> float:
        """The largest ε of one run for which the best of K costs at most `epsilon` in floats."""
        once = self.epsilon / self.pure_factor
        while once * self.pure_factor > self.epsilon:
            once = math.nextafter(once, 0.0)
        return once

    def repeated(self, event: Event) -> RepeatAndSelectEvent:
        return RepeatAndSelectEvent(event, self.distribution, self.gamma)

    def count(self, rng: np.random.Generator) -> int:
        """Draw the number of runs, at least 1."""
        gamma = self.gamma
        return int(
            rng.geometric(gamma) if self.distribution == "geometric" else rng.logseries(1.0 - gamma)
        )


class Run(ABC):
    """The cost of one fit, and the noise in a score at the same cost."""

    @property
    @abstractmethod
    def amount(self) -> Amount:
        """The `epsilon` and `delta` of the fit."""

    @abstractmethod
    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        """Return whether the cost covers a fit."""

    @abstractmethod
    def noisy(self, score: float, rng: np.random.Generator) -> float:
        """Add noise to a sum of scores."""


@dataclass(frozen=True)
class GaussianRun(Run):
    """μ-Gaussian DP."""

    mu: float
    delta: float

    @property
    def amount(self) -> Amount:
        return largest_gaussian(self.mu, self.delta)

    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        return bool(event.gdp_mu(neighboring) <= up(self.mu, ROOT))

    def noisy(self, score: float, rng: np.random.Generator) -> float:
        return float(Gaussian(sensitivity=1.0, scale=_ROUNDED_UP / self.mu).release(score, rng))


@dataclass(frozen=True)
class PureRun(Run):
    """ε-DP."""

    epsilon: float

    @property
    def amount(self) -> Amount:
        return Amount(self.epsilon, 0.0)

    def pays_for(self, event: Event, neighboring: Neighboring) -> bool:
        return bool(event.pure_epsilon(neighboring) <= self.epsilon)

    def noisy(self, score: float, rng: np.random.Generator) -> float:
        return float(Laplace.calibrate(self.epsilon, 0.0, _ROUNDED_UP).release(score, rng))


@dataclass(frozen=True)
class SearchPlan:
    """The *public* plan of a search.

    Parameters
    ----------
    event : Event
        The release of the whole search, proved by `theorem`.
    terms : SearchTerms
        The settings of the search.
    runs : tuple of Run
        The cost of a fit of each candidate.
    choice : mechanism or None
        The private choice of a winner. None: the best noisy score wins.
    epsilons : tuple of float or None
        The cost of each candidate if it wins, for "cheapest".
    exact : bool
        False: scores are floating-point numbers that depend on where rows stand in the data.
    """

    event: Event
    theorem: str
    terms: SearchTerms
    runs: tuple[Run, ...]
    choice: ExponentialMechanism | PermuteAndFlip | None = None
    epsilons: tuple[float, ...] | None = None
    exact: bool = False

    def tried(self, rng: np.random.Generator) -> list[int]:
        """Return the candidate of each run: each once, or random ones K times."""
        n = len(self.runs)
        if not isinstance(self.event, RepeatAndSelectEvent):
            return list(range(n))
        return [int(i) for i in rng.integers(n, size=self.terms.count(rng))]


def _plan_all(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan one fit of each candidate, and one choice, or noisy scores, on other rows.

    A score costs the held-out rows what a fit costs the others.
    """
    k, monotonic = len(epsilons), not terms.neighboring.count_is_public
    if terms.delta == 0.0:
        once: Run = PureRun(terms.epsilon / k * _SAFE)
        pure = PermuteAndFlip(sensitivity=1.0, epsilon=terms.epsilon * _SAFE, monotonic=monotonic)
        whole = SearchPlan(PureDPEvent(terms.epsilon), _ALL, terms, (once,) * k, pure)
    else:
        whole = _plan_gaussian_fits(terms, k, monotonic)
    return replace(whole, theorem=_SCORED, choice=None) if terms.release_scores else whole


def _plan_gaussian_fits(terms: SearchTerms, k: int, monotonic: bool) -> SearchPlan:
    mu = gdp_mu(terms.epsilon, terms.delta)
    chance = float(ndtr(0.5 * mu))
    epsilon = 2.0 * (math.log(chance) - math.log1p(-chance)) * _SAFE  # is μ-Gaussian DP
    choice = ExponentialMechanism(sensitivity=1.0, epsilon=epsilon, monotonic=monotonic)
    runs = (GaussianRun(mu / math.sqrt(k), terms.delta),) * k
    return SearchPlan(GDPEvent(mu), _ALL, terms, runs, choice)


def _plan_repeat(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan the best of K runs, each of a random candidate."""
    event: Event
    if terms.delta == 0.0:
        run: Run = PureRun(terms.run_epsilon)
        event = PureDPEvent(terms.run_epsilon)
    else:
        mu = _run_mu(terms.epsilon, terms.delta, terms.distribution, terms.gamma)
        run, event = GaussianRun(mu, terms.delta), GDPEvent(mu)
    return SearchPlan(terms.repeated(event), _REPEAT, terms, (run,) * len(epsilons))


def _plan_cheapest(terms: SearchTerms, epsilons: Sequence[float | None]) -> SearchPlan:
    """Plan K runs of candidates of different ε; the least ε that is good enough wins."""
    most = terms.run_epsilon
    if any(epsilon is None or not 0.0 < epsilon <= most * _NEARLY for epsilon in epsilons):
        raise ValueError(
            f"with method='cheapest' each candidate needs an epsilon above 0 and up to {most:g}, "
            f"because the search costs {terms.pure_factor:g} times the largest."
        )
    runs = tuple(PureRun(min(float(epsilon or 0.0), most)) for epsilon in epsilons)
    costs = tuple(terms.pure_factor * run.epsilon for run in runs)
    event = terms.repeated(PureDPEvent(max(run.epsilon for run in runs)))
    return SearchPlan(event, _CHEAPEST, terms, runs, epsilons=costs)


PLANS: dict[str, Callable[[SearchTerms, Sequence[float | None]], SearchPlan]] = {
    "all": _plan_all,
    "repeat": _plan_repeat,
    "cheapest": _plan_cheapest,
}
_ALL = "a fit of each candidate and one private choice, on disjoint rows"
_SCORED = "a fit and a noisy score of each candidate, on disjoint rows"
_REPEAT = "best of K runs, each a fit and a noisy score on disjoint rows: Best of K, Theorem"
_CHEAPEST = "cheapest of K runs, each a fit and a noisy score on disjoint rows: Best of K, Theorem"


@lru_cache(maxsize=64)
def _gamma(distribution: str, mean: float) -> float:
    """Return γ of the distribution of the number of runs with a given mean."""
    highest = down(1.0, ROOT)
    if distribution == "geometric":
        return min(1.0 / mean, highest)

    def excess(log_gamma: float) -> float:
        return RunCount("negative_binomial", math.exp(log_gamma), 0.0).mean - mean

    if excess(math.log(highest)) >= 0.0:
        return highest
    return math.exp(brentq(excess, -700.0, math.log(highest)))


@lru_cache(maxsize=64)
def _run_mu(epsilon: float, delta: float, distribution: str, gamma: float) -> float:
    """Return the μ of each run for which the best of them is (ε, δ)-DP."""

    def holds(mu: float) -> bool:
        event = RepeatAndSelectEvent(GDPEvent(mu), distribution, gamma)
        return bool(event.curve(Neighboring.REPLACE_ONE).delta(epsilon) <= delta)

    highest = gdp_mu(epsilon, delta)
    return bisect(holds, 1e-3 * highest, highest, arithmetic(1e-4))
