"""The numerical accountant: privacy loss distributions composed by FFT, between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from skdp.accounting.base import Accountant, EventCount, is_open, total
from skdp.accounting.pld.composition import Composition, compose
from skdp.accounting.pld.from_events import COVERED, loss_pair
from skdp.accounting.rdp_conversion import Rdp, delta_from_rdp, epsilon_from_rdp
from skdp.privacy import Event, GaussianCurve, PrivacyCurve
from skdp.privacy.events.zcdp import ZCDPCurve
from skdp.support.rounding import SERIES, THERE_AND_BACK, down, up
from skdp.support.validation import check_delta

__all__ = ["PLDAccountant"]

_Curve = TypeVar("_Curve", bound=PrivacyCurve)


@dataclass(frozen=True)
class PLDAccountant(Accountant):
    r"""Numerical composition of dominating pairs, for each order of the neighbors separately.

    The tightest accountant for a plan that is fixed in advance, of any leaves with a curve. ε
    exceeds that of the pairs by about 3e-4, less if ε is small, and at most 1e-5 of it if ε is
    large. Single releases and plans of Gaussian leaves are exact. zCDP leaves are merged. Bounds
    from Rényi divergences and from pure ε are used if they are lower.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Notes
    -----
    **Guarantee.** Zhu, Dong and Wang 2022, Theorem 10 (dominating pairs compose as products);
    Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (connect the dots); rounding, truncation
    and wrapping are all charged to the safe side. Rényi divergences: Mironov 2017, Proposition 1;
    Canonne, Kamath and Steinke 2020, Proposition 12. It does **not** hold for adaptively chosen
    releases; those need a filter, see `skdp.budget`.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent, SelfComposedEvent
    >>> round(PLDAccountant().epsilon(SelfComposedEvent(GDPEvent(0.1), 100), 1e-5), 5)
    4.37718
    """

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        upper = self.epsilon(event, delta)
        leaves = self._leaves(event)
        if not leaves or is_open(leaves):
            return upper, upper
        _, composed = _composed(leaves)
        if composed is None:
            return max(0.0, down(upper, THERE_AND_BACK)), upper
        return min(upper, composed.bounds_epsilon(check_delta(delta))[0]), upper

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        mu, composed = _composed(leaves)
        if composed is None:
            return GaussianCurve(mu).epsilon(delta)
        answers = [_pure(leaves)]
        if delta > 0.0:
            answers.append(composed.epsilon(delta))
            if (rdp := _renyi(leaves)) is not None:
                answers.append(epsilon_from_rdp(rdp, delta, "tight"))
        return min(answers)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        mu, composed = _composed(leaves)
        if composed is None:
            return up(GaussianCurve(mu).delta(epsilon), SERIES)
        if epsilon >= _pure(leaves):
            return 0.0
        answers = [composed.delta(epsilon)]
        if (rdp := _renyi(leaves)) is not None:
            answers.append(delta_from_rdp(rdp, epsilon, "tight"))
        return min(answers)


def _composed(leaves: tuple[EventCount, ...]) -> tuple[float, Composition | None]:
    """Return the μ of the Gaussian leaves, and all leaves composed unless they are the only."""
    mu = math.sqrt(_summed(leaves, GaussianCurve, lambda curve: curve.mu**2))
    rho = _summed(leaves, ZCDPCurve, lambda curve: curve.rho)
    pairs = [(loss_pair(ZCDPCurve(rho)), 1)] if rho else []
    for leaf in leaves:
        if not isinstance(leaf.curves[0], GaussianCurve | ZCDPCurve):
            pairs.append((loss_pair(leaf.curves[0]), leaf.count))
    if not pairs:
        return mu, None
    return mu, compose(pairs + ([(loss_pair(GaussianCurve(mu)), 1)] if mu else []))


def _summed(
    leaves: tuple[EventCount, ...], kind: type[_Curve], part: Callable[[_Curve], float]
) -> float:
    """Return Σ count·part over the leaves with a curve of this kind, rounded upwards."""

    def cost(leaf: EventCount) -> float:
        curve = leaf.curves[0]
        return part(curve) if isinstance(curve, kind) else 0.0

    return total(leaves, cost)


def _pure(leaves: tuple[EventCount, ...]) -> float:
    return total(leaves, lambda leaf: leaf.pure)


def _renyi(leaves: tuple[EventCount, ...]) -> Rdp | None:
    """Return the Rényi divergences, if they say more than the curves of some leaf."""
    if not any(isinstance(leaf.event, COVERED) for leaf in leaves):
        return None
    return lambda order: total(leaves, lambda leaf: leaf.rdp(order))
