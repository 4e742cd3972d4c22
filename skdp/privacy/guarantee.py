"""What a fitted estimator promises, in every language of the field."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from skdp.privacy.curve import PrivacyCurve, both_orders
from skdp.privacy.events import Event
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.risk import AttackRisk
from skdp.privacy.unit import Unit
from skdp.support.digits import at_least
from skdp.support.validation import check_delta

__all__ = ["PrivacyGuarantee"]

_SHOWN_DELTA = 1e-5
_VOID = "VOID for whoever knows random_state"


@dataclass(frozen=True, repr=False)
class PrivacyGuarantee:
    """A proved bound on what one release reveals about any single record, or person.

    Parameters
    ----------
    event : Event
        What was released.
    neighboring : {"replace_one", "add_remove_one"}
        Which data sets the release makes hard to tell apart.
    theorem : str
        The statement that proves it, with its source.
    bound : PrivacyCurve, optional
        A curve not below the event's in either order, for an event that has none in closed form:
        `skdp.accounting.AccountedCurve`.
    asked : (epsilon, delta) or None
        What the release was asked to satisfy.
    seeded : bool
        Whether the noise came from a seed. Whoever knows the seed can remove the noise: the
        guarantee is void for them.
    by_part : tuple of (part, event)
        What was released from which part of the records, None for all of them, where several fits
        may add up; empty where that is not known.
    unit : {"record", "person"}
        What neighboring data sets differ in: one record, or all those of one person.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighboring", Neighboring(self.neighboring))
        object.__setattr__(self, "unit", Unit(self.unit))

    @property
    def gdp_mu(self) -> float:
        """The Gaussian-DP parameter μ; ``inf`` for a release that is not Gaussian DP."""
        return self.event.gdp_mu(self.neighboring)

    def epsilon(self, delta: float) -> float:
        """Return the least ε for which the release is (ε, `delta`)-DP, rounded upwards.

        At δ = 0 it is the event's pure ε: that a curve underflows proves nothing there.

        Parameters
        ----------
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        float
        """
        if check_delta(delta) == 0.0:
            return self.event.pure_epsilon(self.neighboring)
        return max(curve.epsilon(delta) for curve in both_orders(self._curve))

    def delta(self, epsilon: Any) -> Any:
        """Return the least δ for which the release is (`epsilon`, δ)-DP; arrays are welcome.

        Parameters
        ----------
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        return self.risk().delta(epsilon)

    def tradeoff(self, alpha: Any) -> Any:
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
        """Return how well anybody can attack one record, or person, who knows all others.

        Returns
        -------
        AttackRisk
            For whoever does not know the noise: where it is `seeded`, not for those with the seed.
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
        """Return what the release satisfies, "" where that is what was asked."""
        if (pure := self.event.pure_epsilon(self.neighboring)) < math.inf:
            return f"{at_least(pure):g}-DP without any delta"
        if self.bound is None and self.gdp_mu < math.inf:
            return f"{at_least(self.gdp_mu):g}-Gaussian DP"
        delta = _SHOWN_DELTA if self.asked is None else self.asked[1]
        cost = _pair(self.epsilon(delta), delta)
        return "" if cost == self._asked() else cost


def _pair(epsilon: float, delta: float) -> str:
    """Return a statement of which no number is less than it should be."""
    return f"({at_least(epsilon):g}, {at_least(delta):g})-DP"
