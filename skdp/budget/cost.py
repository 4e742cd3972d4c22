"""What events cost in a composition, and the curves of sums of costs."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache

import numpy as np

from skdp.accounting import ACCOUNTANTS, UnpricedEventError
from skdp.accounting.concentrated import covering_mu, tight_log_delta
from skdp.privacy import ComposedEvent, Event, GaussianCurve, Neighboring, SelfComposedEvent
from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events import NoClosedCurveError
from skdp.support.safe_numbers import SERIES, up

_COVER_PRECISION = 1e-5  # relative, rounded up; no guarantee rests on it
_KNOTS = 41  # of a numerical curve; no guarantee rests on it
_LARGEST_EPSILON = 700.0  # e^ε is a float up to here


def epsilon_of_plan(event: Event, neighboring: Neighboring, delta: float) -> float:
    """Return the least ε of all accountants for an event with fixed parameters.

    Each of them is a bound for such an event, so the least is a bound too.
    """
    answers = [math.inf]
    for kind in ACCOUNTANTS.values():
        with suppress(UnpricedEventError):
            answers.append(kind(neighboring).epsilon(event, delta))
    return min(answers)


def covering(ideals: list[tuple[Event, int]], neighboring: Neighboring, slack: float) -> float:
    """Return the least μ whose curve covers events and their counts, up to `slack`.

    They are covered as a whole if their curve is known, else one by one, with equal parts of the
    slack.
    """
    together = ComposedEvent(tuple(SelfComposedEvent(leaf, count) for leaf, count in ideals))
    try:
        return _covering_together(together, neighboring, slack)
    except NoClosedCurveError:
        each = slack / sum(count for _, count in ideals)
        mus = (math.sqrt(k) * _covering_one(leaf, neighboring, each) for leaf, k in ideals)
        return math.hypot(*mus)


@lru_cache(maxsize=256)
def _covering_together(event: Event, neighboring: Neighboring, slack: float) -> float:
    """Cover an event as a whole; cached, because a grid search repeats its events."""
    (leaf, count), *more = event.leaves()
    is_one = count == 1 and not more
    curve = leaf.curve(neighboring) if is_one else numerical_curve(event, neighboring, slack)
    return covering_mu(curve, slack, precision=_COVER_PRECISION)


@lru_cache(maxsize=256)
def _covering_one(leaf: Event, neighboring: Neighboring, slack: float) -> float:
    mu = leaf.gdp_mu(neighboring)
    if math.isfinite(mu):
        return mu
    return covering_mu(leaf.curve(neighboring), slack, precision=_COVER_PRECISION)


def renyi_cost(event: Event, neighboring: Neighboring, order: float) -> float:
    """Bound the Rényi divergence of `order` > 1, for both orders of the neighbors.

    Leaves add up (Mironov 2017, Proposition 1); a leaf that is ρ-zCDP has at most ρ·`order` (Bun
    and Steinke 2016, Definition 1.1).
    """
    costs = []
    for leaf, count in event.leaves():
        own = math.inf
        with suppress(NoClosedCurveError):
            own = leaf.rdp(order, neighboring)
        costs.append(count * min(own, order * leaf.zcdp_rho(neighboring)))
    return math.fsum(costs)


@dataclass(frozen=True)
class KnottedCurve(SymmetricCurve):
    """Chords, in e^ε, through upper bounds of δ at `knots`; constant after the last knot.

    δ is convex and nonincreasing in e^ε, so the chords of upper bounds lie above it.
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        at = np.exp(np.minimum(epsilon, self.knots[-1]))
        return up(np.interp(at, np.exp(self.knots), self.values), SERIES)


def numerical_curve(event: Event, neighboring: Neighboring, slack: float) -> KnottedCurve:
    """Return a curve above that of the event, in both orders, fine where δ is above `slack`.

    Raise NoClosedCurveError if `slack` is 0, the accountant has no curve for a leaf, or e^ε
    overflows.
    """
    accountant = ACCOUNTANTS["pld"](neighboring)
    if slack == 0.0:
        raise NoClosedCurveError("A numerical curve does not reach down to slack 0.")
    try:
        end = accountant.epsilon(event, 0.5 * slack)
        if end > _LARGEST_EPSILON:
            raise NoClosedCurveError(f"At slack {slack:g} the curve goes on to epsilon {end:g}.")
        knots = np.linspace(0.0, end, _KNOTS)
        values = np.minimum(accountant.delta(event, knots), 1.0)
    except UnpricedEventError as error:
        raise NoClosedCurveError(str(error)) from error
    return KnottedCurve(tuple(knots.tolist()), tuple(values.tolist()))


@dataclass(frozen=True)
class CoveredCurve(SymmetricCurve):
    """δ_m(ε) + `slack` + (1 + e^ε)·`tv` (*Gaussian differential privacy* in the documentation).

    The sum rises for large ε, but a privacy curve does not: it is constant from the minimum on.
    """

    mu: float
    _: KW_ONLY
    slack: float = 0.0
    tv: float = 0.0

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.minimum(epsilon, self._lowest)
        factor = 1.0 + np.exp(epsilon)
        return np.asarray(GaussianCurve(self.mu).delta(epsilon) + self.slack + factor * self.tv)

    @cached_property
    def _lowest(self) -> float:
        """The ε of the minimum; any ε gives a valid curve, so a rough value is enough."""
        if not self.tv:
            return _LARGEST_EPSILON
        grid = np.linspace(0.0, 100.0, 4001)
        values = GaussianCurve(self.mu).delta(grid) + (1.0 + np.exp(grid)) * self.tv
        return float(grid[np.argmin(values)])

    def epsilon(self, delta: float) -> float:
        if self.slack or self.tv:
            return super().epsilon(delta)
        return GaussianCurve(self.mu).epsilon(delta)


@dataclass(frozen=True)
class ConvertedCurve(SymmetricCurve):
    """δ from bounds of the Rényi divergences at `orders`."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        pairs = zip(self.orders, self.divergences, strict=True)
        logs = [tight_log_delta(order, divergence, epsilon) for order, divergence in pairs]
        return up(np.exp(np.minimum(np.min(logs, axis=0), 0.0)), SERIES)
