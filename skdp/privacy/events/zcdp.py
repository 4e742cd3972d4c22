"""Zero-concentrated differential privacy as an event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from skdp._validation import check_real
from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import Event
from skdp.privacy.neighboring import Neighboring

__all__ = ["ZCDPCurve", "ZCDPEvent"]


@dataclass(frozen=True)
class ZCDPCurve(SymmetricCurve):
    r"""An upper curve of every ρ-zCDP release, for both orders and all real ε.

    .. math:: F(ε) = \min_{α>1} \frac{e^{(α-1)(ρα-ε)}}{α-1}\left(1-\frac1α\right)^α

    (Canonne, Kamath and Steinke 2020, Proposition 12, which holds for every real ε). Because F
    exceeds 1 near 0, the largest randomised-response line implied by any (ε, F(ε)) with ε ≥ 0,
    1 − B(1 + e^ε) with B = max (1 − F)/(1 + e^ε), replaces it below the point where they touch;
    that line is its own mirror image, so the negative half follows by symmetry. F is convex in
    e^ε: with the optimal order α, F''·e^(2ε)/F = α(α − 1) − dα/dε ≥ 0.
    """

    rho: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        start, log_slope = self._line
        return np.where(
            epsilon >= start,
            np.exp(self._log_bound(np.maximum(epsilon, start))),
            -np.expm1(log_slope + np.logaddexp(0.0, np.minimum(epsilon, start))),
        )

    def _log_delta(self, epsilon: np.ndarray) -> np.ndarray:
        near = super()._log_delta(epsilon)
        start, _ = self._line
        far = self._log_bound(np.maximum(epsilon, start))
        return np.where(epsilon >= start, np.minimum(far, 0.0), near)

    @cached_property
    def _line(self) -> tuple[float, float]:
        """Return the ε at which the line touches F, and log B; any point gives a valid line."""

        top = self.rho + 4.0 * math.sqrt(self.rho) + 1e-12
        grid = np.linspace(0.0, top, 200)
        best = int(np.argmax(self._log_slope(grid)))
        around = (grid[max(best - 1, 0)], grid[min(best + 1, 199)])
        found = minimize_scalar(
            lambda x: -max(float(self._log_slope(np.asarray(x))), -1e9),
            bounds=around,
            method="bounded",
        )
        points = np.array([0.0, grid[best], found.x])
        slopes = self._log_slope(points)
        return float(points[np.argmax(slopes)]), float(slopes.max())

    def _log_slope(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log of (1 − F(ε))/(1 + e^ε); −inf where F says nothing."""
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(np.minimum(self._log_bound(epsilon), 0.0)))
        return gain - np.logaddexp(0.0, epsilon)

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε); at the optimum (2α − 1)ρ + log(1 − 1/α) = ε. Any α is valid."""
        low, high = np.full_like(epsilon, -120.0), np.full_like(epsilon, 60.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            rising = (2.0 * np.exp(middle) + 1.0) * self.rho - np.logaddexp(0.0, -middle) > epsilon
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        less, order = np.exp(high), 1.0 + np.exp(high)
        return less * (self.rho * order - epsilon) - high - order * np.logaddexp(0.0, -high)


@dataclass(frozen=True)
class ZCDPEvent(Event):
    """A release that is `rho`-zCDP (Bun and Steinke 2016); 0 for no release at all.

    zCDP does not imply Gaussian DP, so `gdp_mu` is ``inf``.

    Examples
    --------
    >>> round(ZCDPEvent(0.5).curve("replace_one").epsilon(1e-5), 5)
    4.72839
    """

    rho: float

    def __post_init__(self) -> None:
        rho = check_real("rho", self.rho, low=0.0, high=1e30, closed="[]")
        if 0.0 < rho < 1e-30:
            raise ValueError(f"rho must be 0 or at least 1e-30, got {rho!r}. Nothing was spent.")
        self._set(rho=rho)

    def curve(self, neighboring: Neighboring) -> SymmetricCurve:  # noqa: D102
        return ZCDPCurve(self.rho)

    def pure_epsilon(self, neighboring: Neighboring) -> float:  # noqa: D102
        return math.inf if self.rho else 0.0

    def zcdp_rho(self, neighboring: Neighboring) -> float:  # noqa: D102
        return self.rho

    def gdp_mu(self, neighboring: Neighboring) -> float:  # noqa: D102
        return math.inf if self.rho else 0.0

    def rdp(self, order: float, neighboring: Neighboring) -> float:  # noqa: D102
        return self.rho * check_real("order", order, low=1.0)
