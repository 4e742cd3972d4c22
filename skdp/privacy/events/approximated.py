"""Releases by approximate samplers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, check_event
from skdp.privacy.neighboring import Neighboring
from skdp.support.root_search import minimize_from_grid
from skdp.support.validation import check_real

__all__ = ["ApproximatedCurve", "ApproximatedEvent"]

_GRID = np.concatenate([-np.geomspace(1e-6, 600.0, 400)[::-1], [0.0], np.geomspace(1e-6, 600, 400)])


@dataclass(frozen=True)
class ApproximatedCurve(PrivacyCurve):
    """The curve when both distributions may be off by `tv` in total variation: δ(ε) + (1 + e^ε)·tv.

    The sum holds for every real ε and both orders, but rises once the second term takes over. A
    curve does not rise. So it is constant from its least value on, and for very negative ε it is
    the mirror image of that constant for the reversed pair.
    """

    curve: PrivacyCurve
    tv: float

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        (low, least_reversed), (high, least) = self._turns
        if min(least, least_reversed) >= 1.0:
            return np.ones_like(epsilon)
        inside = np.clip(epsilon, low, high)
        total = self.curve._delta(inside) + (1.0 + np.exp(inside)) * self.tv
        tail = 1.0 - np.exp(np.minimum(epsilon, low)) * (1.0 - least_reversed)
        return np.clip(np.where(epsilon < low, tail, total), 0.0, 1.0)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    @cached_property
    def _turns(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return where the two tails begin, and the constants of the two orders."""
        epsilon, least = self._least(self.curve)
        backwards, least_reversed = self._least(self.curve.reversed())
        return (min(-backwards, epsilon), least_reversed), (epsilon, least)

    def _least(self, curve: PrivacyCurve) -> tuple[float, float]:
        def total(epsilon: float) -> float:
            return curve.delta(epsilon) + (1.0 + math.exp(epsilon)) * self.tv

        on_grid = curve.delta(_GRID) + (1.0 + np.exp(_GRID)) * self.tv
        epsilon, _ = minimize_from_grid(total, _GRID, on_grid, xatol=1e-13)
        return epsilon, total(epsilon)

    def reversed(self) -> PrivacyCurve:
        backwards = self.curve.reversed()
        return self if backwards == self.curve else ApproximatedCurve(backwards, self.tv)


@dataclass(frozen=True)
class ApproximatedEvent(Event):
    """`event`, released by a sampler within total variation `tv` of its target.

    Both neighbors are approximated, so (ε, δ) becomes (ε, δ + (1 + e^ε)·tv) (triangle inequality).
    In a composition the tv of all releases add up, and the factor counts once, at the end. No
    shortcut holds unless `tv` is 0.

    Parameters
    ----------
    event : Event
        *Public.* The release by an exact sampler.
    tv : float in [0, 1]
        *Public.* Bound on the total variation between the two.
    """

    event: Event
    tv: float

    def __post_init__(self) -> None:
        tv = check_real("tv", self.tv, low=0.0, high=1.0, closed="[]")
        self._set(event=check_event("event", self.event), tv=tv)

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        curve = self.event.curve(neighboring)
        return ApproximatedCurve(curve, self.tv) if self.tv else curve

    def ideal(self) -> tuple[Event, float]:
        inner, tv = self.event.ideal()
        return inner, self.tv + tv

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.tv else self.event.pure_epsilon(neighboring)

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return math.inf if self.tv else self.event.zcdp_rho(neighboring)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return math.inf if self.tv else self.event.gdp_mu(neighboring)

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return math.inf if self.tv else self.event.rdp(order, neighboring)
