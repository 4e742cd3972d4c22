"""Releases that are zero-concentrated DP."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skdp.privacy.combined import HullCurve
from skdp.privacy.curve import SymmetricCurve
from skdp.privacy.events.base import Event
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_real

__all__ = ["ZCDPCurve", "ZCDPEvent"]


@dataclass(frozen=True)
class ZCDPCurve(HullCurve):
    r"""An upper curve of every ρ-zCDP release, for both orders and all real ε.

    .. math:: F(ε) = \min_{α>1} \frac{e^{(α-1)(ρα-ε)}}{α-1}\left(1-\frac1α\right)^α

    (Canonne, Kamath and Steinke 2020, Proposition 12, which holds for every real ε). F is convex
    in e^ε: with the optimal order α, F''·e^(2ε)/F = α(α − 1) − dα/dε ≥ 0. It exceeds 1 near 0,
    where its convex hull with its mirror image (`HullCurve`) replaces it.
    """

    rho: float

    @property
    def _farthest(self) -> float:
        return self.rho + 4.0 * math.sqrt(self.rho) + 1e-12

    def _log_bound(self, epsilon: np.ndarray) -> np.ndarray:
        """Return log F(ε); at the optimum (2α − 1)ρ + log(1 − 1/α) = ε. Any α is valid.

        F is flat there: an error of 3e-9 in log(α − 1) does not show.
        """
        low, high = np.full_like(epsilon, -120.0), np.full_like(epsilon, 60.0)
        for _ in range(36):
            middle = 0.5 * (low + high)
            less = np.exp(middle)
            rising = (2.0 * less + 1.0) * self.rho - np.log1p(1.0 / less) > epsilon
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        less, order = np.exp(high), 1.0 + np.exp(high)
        return less * (self.rho * order - epsilon) - high - order * np.logaddexp(0.0, -high)


@dataclass(frozen=True)
class ZCDPEvent(Event):
    """A release that is `rho`-zCDP (Bun and Steinke 2016); 0 for no release at all.

    zCDP does not imply Gaussian DP, so `gdp_mu` is ``inf``.

    Parameters
    ----------
    rho : float
        *Public.* 0, or in [1e-30, 1e30].

    Examples
    --------
    >>> round(ZCDPEvent(0.5).curve("replace_one").epsilon(1e-5), 5)
    4.72839
    """

    rho: float

    def __post_init__(self) -> None:
        rho = check_real("rho", self.rho, low=0.0, high=1e30, closed="[]")
        if 0.0 < rho < 1e-30:
            raise ValueError(f"rho must be 0 or at least 1e-30, got {rho!r}.")
        self._set(rho=rho)

    def curve(self, neighboring: Neighboring) -> SymmetricCurve:
        return ZCDPCurve(self.rho)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.inf if self.rho else 0.0

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return self.rho

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return math.inf if self.rho else 0.0

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return self.rho * check_real("order", order, low=1.0)
