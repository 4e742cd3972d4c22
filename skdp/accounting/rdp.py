"""Rényi differential privacy: divergences of each order add."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.accounting.base import Accountant, EventCount, total
from skdp.accounting.rdp_conversion import CONVERSIONS, delta_from_rdp, epsilon_from_rdp
from skdp.privacy import Event
from skdp.support.rounding import SUM, up
from skdp.support.validation import check_choice

__all__ = ["RDPAccountant"]

_LEAST_ORDER = 1.0 + 1e-6


@dataclass(frozen=True)
class RDPAccountant(Accountant):
    r"""Rényi composition: r(a) = Σ k_i·r_i(a) for every order a > 1, then the best order.

    Orders are continuous. Every order gives a valid bound, even if it is not the best one.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    conversion : {"tight", "classic"}
        *Public.* ``"classic"`` is ε = r(a) + log(1/δ)/(a − 1), Tian 2024, Lemma 7 with ρ = r(a)/a.

    Notes
    -----
    **Guarantee.** Mironov 2017, Propositions 1 and 3. Canonne, Kamath and Steinke 2020,
    Proposition 12. r_i(a) is the least of three values: the event's own, ρ·a, and the value of
    randomized response at the event's pure ε (Mironov 2017, Proposition 6; Kairouz, Oh and
    Viswanath 2015). No δ exceeds the total variation, which is at most √(r/2) and √(1 − e^−r)
    with r of an order just above 1 (Pinsker; Bretagnolle and Huber 1979). So ε = 0 once δ
    reaches it.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> round(RDPAccountant().epsilon(GDPEvent(1.0), 1e-5), 5)
    4.72839
    """

    conversion: str = "tight"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("conversion", self.conversion, CONVERSIONS)

    def rdp(self, event: Event, order: float) -> float:
        """Return the Rényi divergence bound of an event at an order above 1.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.
        order : float
            *Public.* Order α of the divergence, above 1.

        Returns
        -------
        float
            An upper bound; ``inf`` if none is known.
        """
        return self._rdp(self._leaves(event), order)

    def _rdp(self, leaves: tuple[EventCount, ...], order: float) -> float:
        return total(leaves, lambda leaf: leaf.rdp(order))

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        self._check(leaves)
        pure = total(leaves, lambda leaf: leaf.pure)
        if pure == 0.0 or delta >= self._total_variation(leaves):
            return 0.0
        converted = epsilon_from_rdp(lambda a: self._rdp(leaves, a), delta, self.conversion)
        return min(pure, converted)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        self._check(leaves)
        if total(leaves, lambda leaf: leaf.pure) <= epsilon:
            return 0.0
        converted = delta_from_rdp(lambda a: self._rdp(leaves, a), epsilon, self.conversion)
        return min(converted, self._total_variation(leaves))

    def _total_variation(self, leaves: tuple[EventCount, ...]) -> float:
        least = self._rdp(leaves, _LEAST_ORDER)
        return up(math.sqrt(min(0.5 * least, -math.expm1(-least))), SUM)

    def _check(self, leaves: tuple[EventCount, ...]) -> None:
        for leaf in leaves:
            if math.isinf(leaf.rdp(_LEAST_ORDER)):
                raise self._refusal(leaf, "finite Rényi divergences")
