"""What one release costs: its ε at a δ, its Gaussian cover, its Rényi divergences."""

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

_COVER_PRECISION = 1e-5  # relative, upwards; no guarantee rests on it
_KNOTS = 41  # of a numerical curve; no guarantee rests on it
_LARGEST_EPSILON = 700.0  # e^ε is a float up to here


def quote(guarantee: PrivacyGuarantee, delta: float, epsilon: float | None = None) -> float:
    """Return an ε for which the release is (ε, `delta`)-DP; `epsilon` itself if it is one."""
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
    """Return the ledger's row for a release with this guarantee, quoted at `delta`.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        *Public.* What the release satisfies.
    delta : float
        *Public.* Where to quote it.
    label : str
        *Public.* Name of the release.
    epsilon : float or None
        *Public.* The ε at `delta`, checked with one look at the curve; None: it is searched.
    **more : dict
        *Public.* Other fields of the row.

    Returns
    -------
    Release
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
        version=VERSION,
        **facts | more,
    )


def epsilon_of_plan(event: Event, neighboring: Neighboring, delta: float) -> float:
    """Return the least ε that any accountant finds for an event whose parameters are fixed.

    Every accountant's answer is a bound for such an event, so the least is one too.
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
    """Return how the event enters the Gaussian filter: `gdp_mu`, `slack` and `tv`.

    It is covered by the curve of `gdp_mu` plus `slack`, for an output within `tv` of the released.

    An event that is Gaussian DP enters with its own μ. Any other one enters with the least μ whose
    curve covers its curve up to `slack_left()`: that of the numerical accountant for a composition
    (its parameters are fixed beforehand), or else leaf by leaf, with an equal part of the slack
    each. Errors in total variation are kept apart.
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
    """Cover the ideal releases together where a curve of them is known, else one by one."""
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
    """Cover an event as a whole; a search over a grid asks for the same one many times."""
    return covering_mu(_curve(event, neighboring, slack), slack, precision=_COVER_PRECISION)


def _curve(event: Event, neighboring: Neighboring, slack: float) -> PrivacyCurve:
    leaves = list(event.leaves())
    if len(leaves) == 1 and leaves[0][1] == 1:
        return leaves[0][0].curve(neighboring)
    return numerical_curve(event, neighboring, slack)


@lru_cache(maxsize=256)
def _covering_one(leaf: Event, neighboring: Neighboring, slack: float) -> float:
    mu = leaf.gdp_mu(neighboring)
    return (
        mu
        if math.isfinite(mu)
        else covering_mu(leaf.curve(neighboring), slack, precision=_COVER_PRECISION)
    )


def renyi_cost(event: Event, neighboring: Neighboring, order: float) -> float:
    """Return a bound on the Rényi divergence of `order` > 1, in both orders of the neighbors.

    Leaves add up (Mironov 2017, Proposition 1); a leaf that is ρ-zCDP has at most ρ·`order` (Bun
    and Steinke 2016, Definition 1.1).
    """
    total = math.fsum(k * _of_leaf(leaf, neighboring, order) for leaf, k in event.leaves())
    return float(total)


def _of_leaf(leaf: Event, neighboring: Neighboring, order: float) -> float:
    try:
        own = leaf.rdp(order, neighboring)
    except NoClosedCurveError:
        own = math.inf
    return min(own, order * leaf.zcdp_rho(neighboring))


@dataclass(frozen=True)
class KnottedCurve(SymmetricCurve):
    """Chords, in e^ε, through upper bounds of δ at `knots`; constant after the last one.

    H_c is convex and nonincreasing in c = e^ε, so the chords of upper bounds lie above it.
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        at = np.exp(np.minimum(epsilon, self.knots[-1]))
        return up(np.interp(at, np.exp(self.knots), self.values), SERIES)


def numerical_curve(event: Event, neighboring: Neighboring, slack: float) -> KnottedCurve:
    """Return a curve above that of the event, in both orders, fine wherever δ is above `slack`.

    Raises
    ------
    NoClosedCurveError
        If `slack` is 0, the accountant has no curve for a leaf, or e^ε is no float at the end.
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
    """δ_m(ε) + `slack` + (1 + e^ε)·`tv` (*Reserves* in the documentation).

    A curve does not rise: from its least value on it is constant.
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
        """The ε of the least value; any ε gives a valid curve, so a rough one will do."""
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
    """δ from Rényi divergences at `orders`, each of which was bounded."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        pairs = zip(self.orders, self.divergences, strict=True)
        logs = [tight_log_delta(order, divergence, epsilon) for order, divergence in pairs]
        return up(np.exp(np.minimum(np.min(logs, axis=0), 0.0)), SERIES)
