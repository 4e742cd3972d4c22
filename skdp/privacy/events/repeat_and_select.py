"""Releases of the best of a random number of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, check_event
from skdp.privacy.events.pure import ApproxDPCurve
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.renyi import randomized_response_divergence
from skdp.privacy.repeated import BestOfCurve, RunCount
from skdp.support.root_search import minimize_from_grid
from skdp.support.validation import check_choice, check_count, check_real

__all__ = ["RepeatAndSelectEvent"]

_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
_DISTRIBUTIONS = (*_SHAPES, "negative_binomial", "poisson", "fixed")
_LOG_LESS = np.log(np.geomspace(1e-2, 1e12, 85))  # of the inner order less 1


@dataclass(frozen=True)
class RepeatAndSelectEvent(Event):
    """`event` (fit and score one random candidate) K times; only the best is released.

    K must be drawn without looking at the data or the scores. Neither K nor the other runs are
    released. The curve is that of *Best of K* in the user guide, for every distribution of K.
    ε-DP becomes (2 + η)·ε-DP for K with a truncated negative binomial distribution of shape η
    (Papernot and Steinke 2022, Corollary 3; geometric is η = 1, Liu and Talwar 2019). Rényi: the
    same, Theorem 2, and for Poisson K Theorem 6.

    Parameters
    ----------
    event : Event
        One run, its score included.
    distribution : {"geometric", "logarithmic", "negative_binomial", "poisson", "fixed"}
        *Public.* Distribution of K. If `event` is Gaussian, a fixed K may stand for K candidates
        that are tried once each.
    parameter : float
        *Public.* γ in (0, 1); the mean of a Poisson distribution; K itself if it is fixed.
    shape : float
        *Public.* η > −1. Only used with ``negative_binomial``.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> event = RepeatAndSelectEvent(GDPEvent(0.268), "geometric", 0.1)
    >>> round(event.curve("replace_one").epsilon(1e-5), 2)
    1.54
    """

    event: Event
    distribution: str
    parameter: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        distribution = str(check_choice("distribution", self.distribution, _DISTRIBUTIONS))
        self._set(
            event=check_event("event", self.event),
            distribution=distribution,
            parameter=_checked_parameter(distribution, self.parameter),
            shape=check_real("shape", self.shape, low=-1.0),
        )
        if self.distribution != "negative_binomial" and self.shape != 1.0:
            raise ValueError(f"distribution={self.distribution!r} takes no shape.")

    @property
    def count(self) -> RunCount:
        """Distribution of K."""
        if self.distribution in ("poisson", "fixed"):
            return RunCount(self.distribution, self.parameter)
        shape = _SHAPES.get(self.distribution, self.shape)
        return RunCount("negative_binomial", self.parameter, shape)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        epsilon = self.pure_epsilon(neighboring)
        if math.isfinite(epsilon):
            return ApproxDPCurve(epsilon)
        return BestOfCurve(self.event.curve(neighboring), self.count)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        once = self.event.pure_epsilon(neighboring)
        if once == 0.0 or self.count.distribution == "negative_binomial":
            return (2.0 + self.count.shape) * once
        return self.parameter * once if self.distribution == "fixed" else math.inf

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        # The least of the pure bound and Papernot and Steinke's Theorem 2 (best inner order) or 6;
        # the curve's for a fixed K. Below the order where the theorems' bounds are least, they are
        # taken at that order, as divergences grow with the order.
        order = check_real("order", order, low=1.0)
        pure = self.pure_epsilon(neighboring)
        bound = math.inf if math.isinf(pure) else randomized_response_divergence(pure, order)
        if self.distribution == "fixed":
            return min(bound, super().rdp(order, neighboring))
        if self.event.pure_epsilon(neighboring) == 0.0:
            return bound
        order = max(order, _least_order(self, Neighboring(neighboring)))
        return min(bound, self._repeated(order, neighboring))

    def _repeated(self, order: float, neighboring: Neighboring) -> float:
        base, count = self.event.rdp(order, neighboring), self.count
        if self.distribution == "poisson":
            return base + self._poisson_cost(order, neighboring)
        cost = base + _truncated_cost(self.event, neighboring, self.parameter, count.shape)
        return cost + math.log(count.mean) / (order - 1.0)

    def _poisson_cost(self, order: float, neighboring: Neighboring) -> float:
        curve = self.event.curve(neighboring)
        epsilon = math.log1p(1.0 / (order - 1.0))
        failure = max(curve.delta(epsilon), curve.reversed().delta(epsilon))
        return self.parameter * failure + max(0.0, math.log(self.parameter)) / (order - 1.0)


def _checked_parameter(distribution: str, parameter: float) -> float:
    if distribution == "fixed":
        return check_count("parameter", parameter)
    highest = math.inf if distribution == "poisson" else 1.0
    return check_real("parameter", parameter, low=0.0, high=highest)


@lru_cache(maxsize=256)
def _least_order(event: RepeatAndSelectEvent, neighboring: Neighboring) -> float:
    def cost(log_less: float) -> float:
        return event._repeated(1.0 + math.exp(log_less), neighboring)

    grid = _LOG_LESS[::4]
    best, _ = minimize_from_grid(cost, grid, np.array([cost(x) for x in grid]), xatol=1e-3)
    return 1.0 + math.exp(best)


@lru_cache(maxsize=256)
def _truncated_cost(event: Event, neighboring: Neighboring, gamma: float, eta: float) -> float:
    """Return the least of (1 + η)·[(1 − 1/λ)·r(λ) + log(1/γ)/λ] over the inner orders λ."""

    def cost(log_less: float) -> float:
        inner = 1.0 + math.exp(log_less)
        repeated = (1.0 - 1.0 / inner) * event.rdp(inner, neighboring)
        return (1.0 + eta) * (repeated - math.log(gamma) / inner)

    on_grid = np.array([cost(x) for x in _LOG_LESS])
    return minimize_from_grid(cost, _LOG_LESS, on_grid, xatol=1e-6)[1]
