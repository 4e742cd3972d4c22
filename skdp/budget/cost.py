"""Cost of one release: its ε at a δ, its Gaussian cover, its Rényi divergences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from skdp.accounting import ACCOUNTANTS, UnpricedEventError, covering_mu
from skdp.accounting.rdp_conversion import tight_log_delta
from skdp.ledger.release import VERSION, Release
from skdp.privacy import (
    ComposedEvent,
    Event,
    GaussianCurve,
    Neighboring,
    NoClosedCurveError,
    NonPrivateEvent,
    PrivacyCurve,
    PrivacyGuarantee,
    SelfComposedEvent,
)
from skdp.privacy.curve import SymmetricCurve
from skdp.support.rounding import CURVE, SERIES, up

__all__ = [
    "ConvertedCurve",
    "CoveredCurve",
    "KnottedCurve",
    "epsilon_of_plan",
    "gaussian_cost",
    "numerical_curve",
    "priced_release",
    "quote",
    "renyi_cost",
]

_COVER_PRECISION = 1e-5  # relative, rounded up; no guarantee rests on it
_KNOTS = 41  # of a numerical curve; no guarantee rests on it
_LARGEST_EPSILON = 700.0  # e^ε is a float up to here


def quote(guarantee: PrivacyGuarantee, delta: float, epsilon: float | None = None) -> float:
    """Return an ε for which the release is (ε, `delta`)-DP: `epsilon` itself if it is valid."""
    try:
        if epsilon is not None:
            known = epsilon >= (guarantee.epsilon(0.0) if delta == 0.0 else 0.0)
            if known and up(guarantee.delta(float(epsilon)), CURVE) <= delta:
                return float(epsilon)
        return float(guarantee.epsilon(delta))
    except NoClosedCurveError:
        return epsilon_of_plan(guarantee.event, guarantee.neighboring, delta)


def priced_release(
    guarantee: PrivacyGuarantee,
    delta: float,
    label: str,
    *,
    epsilon: float | None = None,
    **more: Any,
) -> Release:
    """Return the ledger's row for a release, quoted at `delta`; `more` are other fields.

    An `epsilon` at `delta` is checked, which saves the search for it.
    """
    event, relation = guarantee.event, guarantee.neighboring
    facts = {
        "gdp_mu": float(event.gdp_mu(relation)),
        "zcdp_rho": float(event.zcdp_rho(relation)),
        "pure_epsilon": float(event.pure_epsilon(relation)),
    }
    return Release(
        label=label,
        epsilon=quote(guarantee, float(delta), epsilon),
        delta=float(delta),
        neighboring=str(relation),
        event=event.to_dict(),
        theorem=guarantee.theorem,
        exact=guarantee.exact,
        version=VERSION,
        **facts | more,
    )


def epsilon_of_plan(event: Event, neighboring: Neighboring, delta: float) -> float:
    """Return the least ε of all accountants for an event with fixed parameters.

    Each of them is a bound for such an event, so the least is a bound too.
    """
    return min(_answers(event, neighboring, delta), default=math.inf)


def _answers(event: Event, neighboring: Neighboring, delta: float) -> Iterator[float]:
    for kind in ACCOUNTANTS.values():
        try:
            yield kind(neighboring).epsilon(event, delta)
        except UnpricedEventError:
            continue


def gaussian_cost(
    event: Event, neighboring: Neighboring, slack_left: Callable[[], float]
) -> dict[str, float]:
    """Return the `gdp_mu`, `slack` and `tv` of an event in the Gaussian filter.

    The curve of `gdp_mu` plus `slack` covers the event, for an output within `tv` of the released
    one. A Gaussian DP event has its own μ. Another event has the least μ whose curve covers it up
    to `slack_left()`: as a whole if the numerical accountant has its curve (the parameters of a
    composition are fixed in advance), else leaf by leaf, with equal parts of the slack.
    """
    ideal, tv = event.ideal()
    ideals = list(ideal.leaves())
    mu = math.hypot(*(math.sqrt(k) * leaf.gdp_mu(neighboring) for leaf, k in ideals))
    if math.isfinite(mu) or not _is_private(ideals):
        return {"gdp_mu": mu, "slack": 0.0, "tv": tv}
    slack = slack_left()
    return {"gdp_mu": _covering(ideals, neighboring, slack), "slack": slack, "tv": tv}


def _is_private(ideals: list[tuple[Event, int]]) -> bool:
    return NonPrivateEvent() not in [leaf for leaf, _ in ideals]


def _covering(ideals: list[tuple[Event, int]], neighboring: Neighboring, slack: float) -> float:
    """Cover the ideal releases together if their curve is known, else one by one."""
    together = ComposedEvent(tuple(SelfComposedEvent(leaf, count) for leaf, count in ideals))
    try:
        return _covering_together(together, neighboring, slack)
    except NoClosedCurveError:
        each = slack / sum(count for _, count in ideals)
        return math.hypot(
            *(math.sqrt(k) * _covering_one(leaf, neighboring, each) for leaf, k in ideals)
        )


@lru_cache(maxsize=256)
def _covering_together(event: Event, neighboring: Neighboring, slack: float) -> float:
    """Cover an event as a whole; cached, because a grid search repeats its events."""
    return covering_mu(_curve(event, neighboring, slack), slack, precision=_COVER_PRECISION)


def _curve(event: Event, neighboring: Neighboring, slack: float) -> PrivacyCurve:
    leaves = list(event.leaves())
    if len(leaves) == 1 and leaves[0][1] == 1:
        return leaves[0][0].curve(neighboring)
    return numerical_curve(event, neighboring, slack)


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
    return math.fsum(k * _of_leaf(leaf, neighboring, order) for leaf, k in event.leaves())


def _of_leaf(leaf: Event, neighboring: Neighboring, order: float) -> float:
    try:
        own = leaf.rdp(order, neighboring)
    except NoClosedCurveError:
        own = math.inf
    return min(own, order * leaf.zcdp_rho(neighboring))


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
