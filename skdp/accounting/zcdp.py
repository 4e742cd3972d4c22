"""Zero-concentrated differential privacy: ρ adds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.accounting.base import Accountant, EventCount, total
from skdp.accounting.rdp_conversion import CONVERSIONS, delta_from_rdp, epsilon_from_rdp
from skdp.privacy import Event
from skdp.support.rounding import FORMULA, down, up
from skdp.support.validation import check_choice

__all__ = ["ZCDPAccountant"]


@dataclass(frozen=True)
class ZCDPAccountant(Accountant):
    r"""Composition of zCDP: ρ = Σ k_i·ρ_i, then from ρ to (ε, δ).

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    conversion : {"tight", "classic"}
        *Public.* ``"tight"`` minimizes exp((a − 1)(ρa − ε))·(1 − 1/a)^a / (a − 1) over orders
        a > 1. ``"classic"`` is ρ + 2·√(ρ·log(1/δ)), the least over a of Tian 2024, Lemma 7.

    Notes
    -----
    **Guarantee.** Bun and Steinke 2016, Lemma 1.7 and Proposition 1.3 (classic); Canonne, Kamath
    and Steinke 2020, Proposition 12 (tight). A pure ε is ε·tanh(ε/2)-zCDP, at most the ε²/2 of Bun
    and Steinke 2016, Proposition 1.4: see *Zero-concentrated DP* in the user guide.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> round(ZCDPAccountant().epsilon(GDPEvent(1.0), 1e-5), 5)
    4.72839
    >>> round(ZCDPAccountant(conversion="classic").epsilon(GDPEvent(1.0), 1e-5), 5)
    5.29853
    """

    conversion: str = "tight"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("conversion", self.conversion, CONVERSIONS)

    def rho(self, event: Event) -> float:
        """Return the ρ of an event.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.

        Returns
        -------
        float
        """
        return self._rho(self._leaves(event))

    def _rho(self, leaves: tuple[EventCount, ...]) -> float:
        for leaf in leaves:
            if math.isinf(leaf.rho):
                raise self._refusal(leaf, "a finite zcdp_rho")
        return total(leaves, lambda leaf: leaf.rho)

    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        rho = self._rho(leaves)
        if rho == 0.0 or delta == 0.0:
            return 0.0 if rho == 0.0 else math.inf
        if self.conversion == "classic":
            return up(rho + 2.0 * math.sqrt(rho * -math.log(delta)), FORMULA)
        return epsilon_from_rdp(lambda order: rho * order, delta, self.conversion)

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        rho = self._rho(leaves)
        if rho == 0.0:
            return 0.0
        if self.conversion == "classic":
            exponent = -(max(0.0, epsilon - rho) ** 2) / (4.0 * rho)
            return math.exp(min(0.0, down(exponent, FORMULA)))
        return delta_from_rdp(lambda order: rho * order, epsilon, self.conversion)
