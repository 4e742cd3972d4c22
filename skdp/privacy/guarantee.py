"""Guarantees of fitted estimators."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape

from skdp.privacy.curve import PrivacyCurve, both_orders
from skdp.privacy.events import Event
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.risk import AttackRisk
from skdp.privacy.unit import Unit
from skdp.support.digits import at_least
from skdp.support.types import Number
from skdp.support.validation import check_delta, set_checked

__all__ = ["PrivacyGuarantee"]

_SHOWN_DELTA = 1e-5
_VOID = "VOID for anyone who knows random_state"


@dataclass(frozen=True, repr=False)
class PrivacyGuarantee:
    """A proved bound on what one release reveals about any single record, or person.

    Parameters
    ----------
    event : Event
        What was released.
    neighboring : {"replace_one", "add_remove_one"}
        Whether neighbors differ in the values of one record or in its presence.
    theorem : str
        Theorem that proves the guarantee, with its source.
    bound : PrivacyCurve, optional
        A curve not below the event's in either order, such as `skdp.accounting.AccountedCurve`,
        for an event without a curve in closed form.
    asked : (epsilon, delta) or None
        The requested (ε, δ).
    seeded : bool
        Whether the noise came from a seed. The guarantee is void for anyone who knows the seed.
    by_part : tuple of (part, event)
        What was released from which part of the records (None: all of them), if several fits may
        add up; empty if unknown.
    unit : {"record", "person"}
        What neighboring data sets differ in: one record, or all records of one person.
    exact : bool
        Whether the theorem also holds for the numbers that a computer adds: noise is an exact
        sample, and rounding errors are bounded. False if this is not stated.

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> guarantee = PrivacyGuarantee(GDPEvent(0.268051), "replace_one", "Theorem A'")
    >>> round(guarantee.epsilon(delta=1e-5), 4)
    1.0
    """

    event: Event
    neighboring: Neighboring
    theorem: str
    bound: PrivacyCurve | None = None
    asked: tuple[float, float] | None = None
    seeded: bool = False
    by_part: tuple[tuple[str | None, Event], ...] = ()
    unit: Unit = Unit.RECORD
    exact: bool = False

    def __post_init__(self) -> None:
        set_checked(self, neighboring=Neighboring(self.neighboring), unit=Unit(self.unit))

    @property
    def gdp_mu(self) -> float:
        """The Gaussian-DP parameter μ; ``inf`` for a release that is not Gaussian DP."""
        return self.event.gdp_mu(self.neighboring)

    def epsilon(self, delta: float) -> float:
        """Return the least ε for which the release is (ε, `delta`)-DP; at δ = 0 the pure ε.

        Parameters
        ----------
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        float
            Rounded upwards.
        """
        if check_delta(delta) == 0.0:  # an underflow of the curve proves nothing
            return self.event.pure_epsilon(self.neighboring)
        return max(curve.epsilon(delta) for curve in both_orders(self._curve))

    def delta(self, epsilon: Number) -> Number:
        """Return the least δ for which the release is (`epsilon`, δ)-DP.

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return self.risk().delta(epsilon)

    def tradeoff(self, alpha: Number) -> Number:
        """Return the least type II error of any attack with type I error `alpha`.

        Parameters
        ----------
        alpha : float or ndarray
            *Public.* Type I errors in [0, 1].

        Returns
        -------
        float or ndarray
        """
        return self.risk().tradeoff(alpha)

    def risk(self) -> AttackRisk:
        """Return bounds on attacks on one record, or person, by someone who knows all others.

        Returns
        -------
        AttackRisk
            Void for anyone who knows the seed of `seeded` noise.
        """
        return AttackRisk(self._curve)

    @property
    def _curve(self) -> PrivacyCurve:
        return self.event.curve(self.neighboring) if self.bound is None else self.bound

    def __str__(self) -> str:
        statement = ": ".join(filter(None, (self._asked(), self._cost())))
        void = f"; {_VOID}" if self.seeded else ""
        whose = "" if self.unit == Unit.RECORD else f" of a {self.unit}"
        return f"{statement} under {self.neighboring}{whose} ({self.theorem}){void}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        void = f"<p><strong>{_VOID}</strong></p>" if self.seeded else ""
        statement = str(replace(self, seeded=False))
        return f"<div><p>{escape(statement)}</p>{void}{self.risk()._repr_html_()}</div>"

    def _asked(self) -> str:
        return "" if self.asked is None else _pair(*self.asked)

    def _cost(self) -> str:
        """Describe what the release satisfies; "" if that is what was asked."""
        if (pure := self.event.pure_epsilon(self.neighboring)) < math.inf:
            return f"{at_least(pure):g}-DP without any delta"
        if self.bound is None and self.gdp_mu < math.inf:
            return f"{at_least(self.gdp_mu):g}-Gaussian DP"
        delta = _SHOWN_DELTA if self.asked is None else self.asked[1]
        cost = _pair(self.epsilon(delta), delta)
        return "" if cost == self._asked() else cost


def _pair(epsilon: float, delta: float) -> str:
    """Format (ε, δ) rounded upwards."""
    return f"({at_least(epsilon):g}, {at_least(delta):g})-DP"
