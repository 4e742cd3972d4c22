"""Choices of bounded range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdp.privacy.curve import PrivacyCurve, SymmetricCurve
from skdp.privacy.events.base import Event, mu_of_pure
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring
from skdp.support.validation import check_real

__all__ = ["BoundedRangeCurve", "BoundedRangeEvent"]


@dataclass(frozen=True)
class BoundedRangeCurve(SymmetricCurve):
    r"""The curve of an ε-bounded-range release: (1 − e^((x − ε)/2))²/(1 − e^−ε) at 0 ≤ x ≤ ε.

    The largest over t of the curves of two points with losses t and t − ε; t = (x + ε)/2 is best.
    ε is `bound`, above 0.
    """

    bound: float

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        least = np.expm1(np.minimum(0.5 * (epsilon - self.bound), 0.0))
        return least * least / -np.expm1(-self.bound)


@dataclass(frozen=True)
class BoundedRangeEvent(Event):
    """A release whose privacy loss lies, for each pair of neighbors, in an interval of length ε.

    The exponential mechanism is one (Dong, Durfee and Rogers 2020). It is ε-DP, ε²/8-zCDP, and
    2Φ⁻¹(e^(ε/2)/(1 + e^(ε/2)))-Gaussian DP, about half of what ε-DP alone implies. See *Choices of
    bounded range* in the user guide.

    Parameters
    ----------
    epsilon : float in [0, inf)
        *Public.*

    Examples
    --------
    >>> round(BoundedRangeEvent(1.0).gdp_mu("replace_one"), 3)
    0.624
    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=check_real("epsilon", self.epsilon, low=0.0, closed="["))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return BoundedRangeCurve(self.epsilon) if self.epsilon else GaussianCurve(0.0)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.epsilon

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return 0.125 * self.epsilon * self.epsilon

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        order = check_real("order", order, low=1.0)
        return min(order * self.zcdp_rho(neighboring), self.epsilon)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return mu_of_pure(0.5 * self.epsilon)
