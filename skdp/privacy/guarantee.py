"""Guarantees of fitted estimators, and bounds on attacks that follow from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from html import escape

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from skdp.privacy.combined import SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve, both_orders
from skdp.privacy.events import Event
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring, Unit
from skdp.support.display import at_least, html_table, percents
from skdp.support.types import Number
from skdp.support.validation import check_delta, check_real, set_checked

DEFAULT_DELTA = 1e-5
"""The δ of a release that has neither a delta nor a budget."""

LARGE_DELTA = 1e-3
"""The δ above which a budget or a release warns."""

_VOID = "VOID for anyone who knows random_state"


class _Bounded(ABC):
    """What a privacy curve says in both orders of the neighbors."""

    @property
    @abstractmethod
    def _curve(self) -> PrivacyCurve: ...

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
        return reduce(np.maximum, (curve.delta(epsilon) for curve in both_orders(self._curve)))

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
        curves = both_orders(self._curve)
        return reduce(np.minimum, (curve.tradeoff()(alpha) for curve in curves))


@dataclass(frozen=True, repr=False)
class PrivacyGuarantee(_Bounded):
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
        delta = DEFAULT_DELTA if self.asked is None else self.asked[1]
        cost = _pair(self.epsilon(delta), delta)
        return "" if cost == self._asked() else cost


def _pair(epsilon: float, delta: float) -> str:
    """Format (ε, δ) rounded upwards."""
    return f"({at_least(epsilon):g}, {at_least(delta):g})-DP"


_LARGEST_MU = 60.0


@dataclass(frozen=True)
class AttackRisk(_Bounded):
    """Bounds on attacks on one record by someone who knows all others and sees the release.

    Every number is an upper bound that holds for every attack, computed from the guarantee alone.
    The alternative is a data set in which the record was replaced, or from which it was removed.
    `PrivacyGuarantee.risk` returns it.

    Parameters
    ----------
    curve : PrivacyCurve
        *Public.* Curve of one or several releases; both orders of the neighbors count.

    Examples
    --------
    >>> risk = AttackRisk(GaussianCurve(0.268051))
    >>> round(risk.advantage, 3), round(risk.true_positive_rate(0.01), 4)
    (0.107, 0.0198)
    """

    curve: PrivacyCurve

    @property
    def _curve(self) -> PrivacyCurve:
        return self.curve

    @property
    def advantage(self) -> float:
        """Membership advantage: true positive rate less false positive rate of the best test."""
        return float(self.delta(0.0))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return the true positive rate of the best membership test.

        Parameters
        ----------
        false_positive_rate : float in [0, 1]
            *Public.*

        Returns
        -------
        float
            1 − f(α), f the trade-off function.
        """
        return float(1.0 - self.tradeoff(_share("false_positive_rate", false_positive_rate)))

    def accuracy(self, prior: float = 0.5) -> float:
        """Return the accuracy of the best guess whether a record is in the data.

        Parameters
        ----------
        prior : float in (0, 1), default 0.5
            *Public.* Probability of membership before the release.

        Returns
        -------
        float
            1 − π + π·δ(log((1 − π)/π)).
        """
        prior = check_real("prior", prior, low=0.0, high=1.0)
        return _accuracy(prior, self.delta)

    def posterior(self, false_positive_rate: float, prior: float = 0.5) -> float:
        """Return the probability of membership after a positive test.

        Parameters
        ----------
        false_positive_rate : float in (0, 1]
            *Public.* Probability of a positive test if the record is not in the data. Unless δ is
            0, no bound holds for all rates.
        prior : float in (0, 1), default 0.5
            *Public.* Probability of membership before the release.

        Returns
        -------
        float
        """
        alpha = check_real(
            "false_positive_rate", false_positive_rate, low=0.0, high=1.0, closed="]"
        )
        prior = check_real("prior", prior, low=0.0, high=1.0)
        found = prior * self.true_positive_rate(alpha)
        return found / (found + (1.0 - prior) * alpha)

    def reconstruction(self, prior_success: float) -> float:
        """Return the largest probability of a right guess of a value, given the release.

        Parameters
        ----------
        prior_success : float in [0, 1]
            *Public.* How often without the release: 1/k for k equally likely values.

        Returns
        -------
        float
        """
        # 1 − f(κ), f of both orders at once: the success of any attack is a mean of such tests, and
        # 1 − f is concave.
        orders = both_orders(self.curve)
        curve = self.curve if len(orders) == 1 else SymmetrizedCurve(self.curve)
        return float(1.0 - curve.tradeoff()(_share("prior_success", prior_success)))

    def to_dict(self) -> dict[str, float]:
        """Return the probabilities that a report shows, by name.

        Returns
        -------
        dict
        """
        return self._brief() | {
            "members found at 0.1 % false alarms": self.true_positive_rate(0.001),
            "right guesses of membership, 50 % without the release": self.accuracy(),
        }

    def _brief(self) -> dict[str, float]:
        return {
            "advantage of the best membership test": self.advantage,
            "members found at 1 % false alarms": self.true_positive_rate(0.01),
            "right guesses of one of 10 values, 10 % without the release": self.reconstruction(0.1),
        }

    def __str__(self) -> str:
        return "\n".join(f"{percents(value):>8}  {name}" for name, value in self.to_dict().items())

    def _repr_html_(self) -> str:
        rows = ((name, percents(value)) for name, value in self._brief().items())
        return html_table(("what an attacker gains", "at most"), rows)


def gaussian_mu_for(**targets: float | tuple[float, float] | None) -> float:
    """Return the Gaussian-DP parameter at which the one target that is not None is just met."""
    given = {name: target for name, target in targets.items() if target is not None}
    if len(given) != 1:
        raise ValueError(f"Give exactly one of {[*targets]}, got {[*given]}.")
    ((name, target),) = given.items()
    if name == "advantage":
        wanted = check_real(name, target, low=0.0, high=1.0)
        return float(2.0 * ndtri(0.5 + 0.5 * wanted))
    if not (isinstance(target, tuple | list) and len(target) == 2):
        raise ValueError(f"{name} must be a pair of probabilities, got {target!r}.")
    wanted, without = (check_real(name, p, low=0.0, high=1.0) for p in target)
    least = max(without, 1.0 - without) if name == "accuracy" else without
    if wanted <= least:
        raise ValueError(f"{name}={target!r} must exceed an attacker's chance without a release.")
    if name != "accuracy":
        return float(ndtri(wanted) - ndtri(without))
    return float(
        brentq(lambda mu: _accuracy(without, GaussianCurve(mu).delta) - wanted, 0.0, _LARGEST_MU)
    )


def _accuracy(prior: float, delta: Callable[[float], float]) -> float:
    return float(1.0 - prior + prior * delta(math.log1p(-prior) - math.log(prior)))


def _share(name: str, value: float) -> float:
    return check_real(name, value, low=0.0, high=1.0, closed="[]")
