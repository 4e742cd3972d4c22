"""Accountants: the interface, and curves of events as they bound them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
from scipy.optimize import brentq

from skdp.privacy import Event, Neighboring, NonPrivateEvent, PrivacyCurve
from skdp.privacy.curve import SymmetricCurve, both_orders, randomized_response_divergence
from skdp.privacy.events import NoClosedCurveError, rho_of_pure
from skdp.support.lazy_names import Registry
from skdp.support.safe_numbers import SERIES, SUM, first_to_hold, up
from skdp.support.types import Number
from skdp.support.validation import check_delta, set_checked

_FAR = 700.0  # e^ε is a double up to here
_LOG_TINIEST, _LOG_PRECISION = -700.0, 1e-12


class UnpricedEventError(ValueError):
    """An accountant has no proved bound for a leaf of an event.

    Examples
    --------
    >>> from skdp.accounting import GDPAccountant, UnpricedEventError
    >>> from skdp.privacy import ZCDPEvent
    >>> try:
    ...     GDPAccountant().epsilon(ZCDPEvent(0.5), 1e-5)
    ... except UnpricedEventError as error:
    ...     print(str(error).partition(":")[0])
    GDPAccountant cannot account for ZCDPEvent(rho=0.5) under replace_one
    """


@dataclass(frozen=True)
class EventCount:
    """`count` releases of `event`; numbers are of one release and hold for both orders."""

    event: Event
    count: int
    neighboring: Neighboring

    @cached_property
    def curves(self) -> tuple[PrivacyCurve, ...]:
        """The curves of the two orders, one if they are the same."""
        return both_orders(self.event.curve(self.neighboring))

    def delta(self, epsilon: Number) -> Number:
        return reduce(np.maximum, (curve.delta(epsilon) for curve in self.curves))

    def epsilon(self, delta: float) -> float:
        """Return ε(δ); at δ = 0 the pure ε."""
        if delta <= 0.0:
            return self.pure
        return max(curve.epsilon(min(delta, 1.0 - 2.0**-53)) for curve in self.curves)

    @cached_property
    def pure(self) -> float:
        """Pure ε, or ``inf``."""
        return self.event.pure_epsilon(self.neighboring)

    @cached_property
    def rho(self) -> float:
        """Least known zCDP parameter, or ``inf``."""
        return min(self.event.zcdp_rho(self.neighboring), rho_of_pure(self.pure))

    @cached_property
    def mu(self) -> float:
        """Gaussian-DP parameter of the event itself, or ``inf``."""
        return self.event.gdp_mu(self.neighboring)

    def rdp(self, order: float) -> float:
        """Return the least known bound on the Rényi divergence."""
        own = _own_rdp(self.event, order, self.neighboring)
        return min(own, self.rho * order, randomized_response_divergence(self.pure, order))

    @cached_property
    def floor(self) -> float:
        """The δ that no ε removes, with a margin for rounding."""
        if math.isfinite(self.pure):
            return 0.0
        return up(float(self.delta(_FAR)), SERIES)


@lru_cache(maxsize=4096)
def _own_rdp(event: Event, order: float, neighboring: Neighboring) -> float:
    return event.rdp(order, neighboring)


@dataclass(frozen=True)
class Accountant(ABC):
    """A composition theorem: the cost of an event with parameters that were fixed in advance.

    An accountant reads only the leaves of an event, so nesting and order do not matter. Answers are
    never below the truth. Leaves without a bound raise UnpricedEventError.

    Parameters
    ----------
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).

    Examples
    --------
    >>> from skdp.accounting import GDPAccountant, RDPAccountant
    >>> from skdp.privacy import GDPEvent, SelfComposedEvent
    >>> plan = SelfComposedEvent(GDPEvent(0.1), 100)
    >>> for accountant in (GDPAccountant(), RDPAccountant()):
    ...     print(round(accountant.epsilon(plan, delta=1e-5), 3))
    4.377
    4.728
    >>> round(GDPAccountant().delta(plan, epsilon=3.0), 5)
    0.00154
    """

    neighboring: Neighboring | str = Neighboring.REPLACE_ONE

    def __post_init__(self) -> None:
        set_checked(self, neighboring=Neighboring(self.neighboring))

    def epsilon(self, event: Event, delta: float) -> float:
        """Return an ε ≥ 0 for which `event` is (ε, `delta`)-DP; ``inf`` if none is proved.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        float

        Raises
        ------
        UnpricedEventError
            If the accountant has no bound for a leaf.
        """
        delta = check_delta(delta)
        leaves = self._leaves(event)
        if not leaves:
            return 0.0
        if is_open(leaves):
            return math.inf
        return self._guarded(leaves, lambda: max(0.0, float(self._epsilon(leaves, delta))))

    def delta(self, event: Event, epsilon: Number) -> Number:
        """Return a δ in [0, 1] for which `event` is (`epsilon`, δ)-DP.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.
        epsilon : float or ndarray
            *Public.*

        Returns
        -------
        float or ndarray
        """
        leaves = self._leaves(event)
        wanted = np.asarray(epsilon, dtype=float)
        values = np.array([self._one_delta(leaves, one) for one in wanted.ravel().tolist()])
        return values.reshape(wanted.shape) if wanted.ndim else float(values[0])  # type: ignore[return-value]

    def bounds(self, event: Event, delta: float) -> tuple[float, float]:
        """Return numbers between which the ε of the leaves' dominating pairs lies.

        Parameters
        ----------
        event : Event
            *Public.* What was released, its parameters fixed beforehand.
        delta : float in [0, 1)
            *Public.*

        Returns
        -------
        (float, float)

        Raises
        ------
        UnpricedEventError
            If this accountant has no lower bound.
        """
        raise UnpricedEventError(
            f"{type(self).__name__} has no lower bound. PLDAccountant has one, and for Gaussian "
            "leaves GDPAccountant."
        )

    @abstractmethod
    def _epsilon(self, leaves: tuple[EventCount, ...], delta: float) -> float:
        """Return ε of at least one leaf; every leaf is private."""

    def _delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        # Brent's search of log δ, and then steps upwards until ε(δ) ≤ ε is seen.
        if self._epsilon(leaves, 0.0) <= epsilon:
            return 0.0

        def excess(log_delta: float) -> float:
            """Above 0 if δ is too small; between −1 and 1, whatever ε is."""
            found = self._epsilon(leaves, math.exp(log_delta)) if log_delta else 0.0
            if found == epsilon or math.isinf(found):
                return -1.0 if found == epsilon else 1.0
            return (found - epsilon) / (found + epsilon)

        if excess(_LOG_TINIEST) <= 0.0:
            return math.exp(_LOG_TINIEST)
        near = brentq(excess, _LOG_TINIEST, 0.0, xtol=_LOG_PRECISION)
        farther = lambda x: min(2.0 * x - near + _LOG_PRECISION, 0.0)  # noqa: E731
        return math.exp(first_to_hold(lambda x: excess(x) <= 0.0, near, near, farther)[0])

    def _one_delta(self, leaves: tuple[EventCount, ...], epsilon: float) -> float:
        if not epsilon >= 0.0:
            raise ValueError(f"epsilon must lie in [0, inf], got {epsilon!r}.")
        if not leaves:
            return 0.0
        if is_open(leaves):
            return 1.0
        return self._guarded(leaves, lambda: min(1.0, float(self._delta(leaves, float(epsilon)))))

    def _leaves(self, event: Event) -> tuple[EventCount, ...]:
        if not isinstance(event, Event):
            raise UnpricedEventError(f"{event!r} is not an Event.")
        counts: Counter[Event] = Counter()
        for leaf, count in event.leaves():
            counts[leaf] += count
        relation = Neighboring(self.neighboring)
        merged = [EventCount(leaf, count, relation) for leaf, count in counts.items() if count]
        return tuple(sorted(merged, key=lambda leaf: repr(leaf.event)))

    def _guarded(self, leaves: tuple[EventCount, ...], answer: Callable[[], float]) -> float:
        try:
            return answer()
        except NoClosedCurveError as error:
            culprit = next((leaf for leaf in leaves if not _has_curve(leaf)), leaves[0])
            raise self._refusal(culprit, "a privacy curve") from error

    def _refusal(self, leaf: EventCount, needed: str) -> UnpricedEventError:
        return UnpricedEventError(
            f"{type(self).__name__} cannot account for {leaf.event!r} under {self.neighboring}: it "
            f"needs {needed}, which this event does not have."
        )


def is_open(leaves: tuple[EventCount, ...]) -> bool:
    """Return whether a leaf has no privacy at all."""
    return any(leaf.event == NonPrivateEvent() for leaf in leaves)


def total(leaves: tuple[EventCount, ...], cost: Callable[[EventCount], float]) -> float:
    """Return the sum of a cost over all releases, rounded upwards."""
    return up(math.fsum(leaf.count * cost(leaf) for leaf in leaves), SUM)


def _has_curve(leaf: EventCount) -> bool:
    try:
        return bool(leaf.curves)
    except NoClosedCurveError:
        return False


@dataclass(frozen=True)
class AccountedCurve(SymmetricCurve):
    """The curve of `event` that `accountant` proves, for both orders of the neighbors at once.

    The parameters of the event were fixed beforehand.

    Examples
    --------
    >>> from skdp.accounting import PLDAccountant
    >>> from skdp.privacy import GaussianEvent, PoissonSampledEvent, SelfComposedEvent
    >>> steps = SelfComposedEvent(PoissonSampledEvent(0.01, GaussianEvent(1.0)), 1000)
    >>> round(AccountedCurve(steps, PLDAccountant("add_remove_one")).epsilon(1e-5), 3)
    1.828
    """

    event: Event
    accountant: Accountant

    def _forward(self, epsilon: np.ndarray) -> np.ndarray:
        return self.accountant.delta(self.event, epsilon)

    def epsilon(self, delta: float) -> float:
        return self.accountant.epsilon(self.event, delta)


ACCOUNTANTS: Registry[Accountant] = Registry(
    {
        "basic": "skdp.accounting.advanced:BasicAccountant",
        "advanced": "skdp.accounting.advanced:AdvancedAccountant",
        "zcdp": "skdp.accounting.concentrated:ZCDPAccountant",
        "rdp": "skdp.accounting.concentrated:RDPAccountant",
        "gdp": "skdp.accounting.concentrated:GDPAccountant",
        "pld": "skdp.accounting.pld:PLDAccountant",
    }
)
"""Every accountant by name."""
