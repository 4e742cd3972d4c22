"""A release that is repeated a random number of times, of which the best is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp._search import minimize_from_grid
from skdp._validation import check_choice, check_real
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, NoClosedCurveError, check_event
from skdp.privacy.events.pure import ApproxDPCurve, mu_of_pure, rho_of_pure
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.renyi import randomized_response_divergence

__all__ = ["RepeatAndSelectEvent"]

_DISTRIBUTIONS = {"geometric": 1.0, "logarithmic": 0.0, "negative_binomial": None, "poisson": None}
_LOG_LESS = np.log(np.geomspace(1e-2, 1e12, 85))  # of the inner order less 1


@dataclass(frozen=True)
class RepeatAndSelectEvent(Event):
    """`event` (fit and score one random candidate) K times; the best is released, K is random.

    ε-DP becomes (2 + η)·ε-DP for K with a truncated negative binomial distribution of shape η
    (Papernot and Steinke 2022, Corollary 3; geometric is η = 1, Liu and Talwar 2019). Rényi: the
    same, Theorem 2, and for Poisson K Theorem 6. There is a curve only in the pure case. K must be
    drawn without looking at the data or the scores, and neither K nor the other runs are released.

    Parameters
    ----------
    event : Event
        One run.
    distribution : {"geometric", "logarithmic", "negative_binomial", "poisson"}
        *Public.* The distribution of K.
    parameter : float
        *Public.* γ in (0, 1), or the mean for Poisson.
    shape : float
        *Public.* η > −1, for ``negative_binomial`` only; else it must be left at 1.
    """

    event: Event
    distribution: str
    parameter: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        distribution = str(check_choice("distribution", self.distribution, _DISTRIBUTIONS))
        highest = math.inf if distribution == "poisson" else 1.0
        parameter = check_real("parameter", self.parameter, low=0.0, high=highest)
        shape = check_real("shape", self.shape, low=-1.0)
        self._set(
            event=check_event("event", self.event),
            distribution=distribution,
            parameter=parameter,
            shape=shape,
        )
        if self.distribution != "negative_binomial" and self.shape != 1.0:
            raise ValueError(f"distribution={self.distribution!r} takes no shape.")

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        epsilon = self.pure_epsilon(neighboring)
        if math.isinf(epsilon):
            raise NoClosedCurveError(f"{self!r} has no curve in closed form; use `rdp`.")
        return ApproxDPCurve(epsilon)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        if self.distribution == "poisson":
            return 0.0 if self.event.pure_epsilon(neighboring) == 0.0 else math.inf
        return (2.0 + self._eta()) * self.event.pure_epsilon(neighboring)

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return rho_of_pure(self.pure_epsilon(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return mu_of_pure(self.pure_epsilon(neighboring))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        """Return Papernot and Steinke's Theorem 2 (best inner order) or 6, or the pure bound.

        Parameters
        ----------
        order : float
            *Public.* Order α of the divergence, above 1.
        neighboring : Neighboring or str
            *Public.* Which data sets are neighbours.

        Returns
        -------
        float
            An upper bound; ``inf`` if none is known.
        """
        order = check_real("order", order, low=1.0)
        pure = self.pure_epsilon(neighboring)
        bound = math.inf if math.isinf(pure) else randomized_response_divergence(pure, order)
        return min(bound, self._repeated(order, neighboring))

    def _repeated(self, order: float, neighboring: Neighboring) -> float:
        base = self.event.rdp(order, neighboring)
        if self.distribution == "poisson":
            return base + self._poisson_cost(order, neighboring)
        cost = base + _truncated_cost(self.event, neighboring, self.parameter, self._eta())
        return cost + math.log(self._mean()) / (order - 1.0)

    def _eta(self) -> float:
        fixed = _DISTRIBUTIONS[self.distribution]
        return self.shape if fixed is None else fixed

    def _mean(self) -> float:
        gamma, eta = self.parameter, self._eta()
        if eta == 0.0:
            return (1.0 / gamma - 1.0) / -math.log(gamma)
        return eta * (1.0 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def _poisson_cost(self, order: float, neighboring: Neighboring) -> float:
        curve = self.event.curve(neighboring)
        epsilon = math.log1p(1.0 / (order - 1.0))
        failure = max(curve.delta(epsilon), curve.reversed().delta(epsilon))
        return self.parameter * failure + max(0.0, math.log(self.parameter)) / (order - 1.0)


@lru_cache(maxsize=256)
def _truncated_cost(event: Event, neighboring: Neighboring, gamma: float, eta: float) -> float:
    """Return the least of (1 + η)·[(1 − 1/λ)·r(λ) + log(1/γ)/λ] over the inner orders λ."""

    def cost(log_less: float) -> float:
        inner = 1.0 + math.exp(log_less)
        repeated = (1.0 - 1.0 / inner) * event.rdp(inner, neighboring)
        return (1.0 + eta) * (repeated - math.log(gamma) / inner)

    on_grid = np.array([cost(x) for x in _LOG_LESS])
    return minimize_from_grid(cost, _LOG_LESS, on_grid, xatol=1e-6)[1]
