"""The numerical accountant: privacy loss distributions composed by FFT, between two bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp._validation import check_delta
from skdp.accounting._event_pairs import loss_pair
from skdp.accounting._leaf import Leaf
from skdp.accounting.base import Accountant
from skdp.accounting.pld import Composition, compose
from skdp.privacy import Event, GaussianCurve, NonPrivateEvent

__all__ = ["PLDAccountant"]


@dataclass(frozen=True)
class PLDAccountant(Accountant):
    r"""The composition of the leaves' dominating pairs, each order of the neighbours by itself.

    The tightest accountant for a plan that is fixed beforehand: any leaves with a curve, mixed in
    any numbers. ε exceeds that of the pairs by about 3e-4. Gaussian leaves are merged first, and
    a plan of nothing else is exact.

    Notes
    -----
    **Guarantee.** Zhu, Dong and Wang 2022, Theorem 10 (dominating pairs compose as products);
    Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (connect the dots); rounding, truncation
    and wrapping are all charged to the safe side. It does **not** hold for releases that are
    chosen after seeing results; those need a filter, see `skdp.budget`.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent, SelfComposedEvent
    >>> round(PLDAccountant().epsilon(SelfComposedEvent(GDPEvent(0.1), 100), 1e-5), 5)
    4.37718
    """

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:  # noqa: D102
        upper = self.epsilon(event, delta)
        leaves = self._leaves(event)
        if not leaves or any(leaf.event == NonPrivateEvent() for leaf in leaves):
            return upper, upper
        _, rest = self._parts(leaves)
        if rest is None:
            return max(0.0, upper * (1.0 - 1e-10)), upper
        return min(upper, rest.bounds_epsilon(check_delta(delta))[0]), upper

    def _epsilon(self, leaves: tuple[Leaf, ...], delta: float) -> float:
        mu, rest = self._parts(leaves)
        if rest is None:
            return GaussianCurve(mu).epsilon(delta)
        pure = math.fsum(leaf.count * leaf.pure for leaf in leaves) * (1.0 + 1e-15)
        return pure if delta == 0.0 else min(pure, rest.epsilon(delta))

    def _delta(self, leaves: tuple[Leaf, ...], epsilon: float) -> float:
        mu, rest = self._parts(leaves)
        if rest is None:
            return GaussianCurve(mu).delta(epsilon) * (1.0 + 1e-12)
        pure = math.fsum(leaf.count * leaf.pure for leaf in leaves) * (1.0 + 1e-15)
        return 0.0 if epsilon >= pure else rest.delta(epsilon)

    def _parts(self, leaves: tuple[Leaf, ...]) -> tuple[float, Composition | None]:
        """Return the μ of the Gaussian leaves, and all leaves composed unless they are the only."""
        curves = [(leaf.curves[0], leaf.count) for leaf in leaves]
        squares = (k * c.mu**2 for c, k in curves if isinstance(c, GaussianCurve))
        mu = math.sqrt(math.fsum(squares)) * (1.0 + 1e-15)
        rest = [(loss_pair(c), k) for c, k in curves if not isinstance(c, GaussianCurve)]
        if not rest:
            return mu, None
        return mu, compose(([(loss_pair(GaussianCurve(mu)), 1)] if mu else []) + rest)
