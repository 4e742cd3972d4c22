"""The interface of events.

Ledgers store events for years, so some things about an event never change:

- Its name (`kind`), the names of its fields, their units and their meaning. A mechanism that means
  something else is a new event. An event that nothing makes any more stays in `EVENTS`.
- Its fields are finite numbers, strings, events and tuples of these, so that JSON restores them
  exactly. Two events are equal if their kinds and fields are equal.
- A field may be added, at the end and with a default that says what events without it have always
  meant. `version` rises by one, so that an older library rejects the event rather than misread it.
  The default of an added field never changes. No field is renamed or removed.
- Its curve is never below the truth, for all fields that `__post_init__` accepts. A new proof may
  lower it; an error may only be corrected upwards. Such changes do not touch what was spent:
  a ledger keeps the costs that were found at the time.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from scipy.special import erfinv, expit, ndtri

from skdp.privacy.curve import PrivacyCurve, both_orders
from skdp.privacy.neighboring import Neighboring
from skdp.support.lazy_names import Registry
from skdp.support.safe_numbers import FORMULA, up
from skdp.support.validation import set_checked


class NoClosedCurveError(ValueError):
    """An event has no privacy curve in closed form; an accountant has to bound it."""


class Event(ABC):
    """One release, or several: a frozen tree that says what happened, not what it costs.

    A leaf has a privacy curve. Its shortcuts `pure_epsilon`, `zcdp_rho` and `gdp_mu` are ``inf``
    where the notion does not hold. All of them depend on the neighboring relation.
    `event_from_dict` rebuilds an event from `to_dict`; `version` counts changes of its fields.

    Examples
    --------
    >>> from skdp.privacy import GaussianEvent
    >>> event = GaussianEvent(2.0)
    >>> event.gdp_mu("replace_one"), event.zcdp_rho("replace_one")
    (1.0, 0.5)
    >>> event.to_dict()
    {'kind': 'GaussianEvent', 'version': 1, 'noise_multiplier': 2.0}
    """

    version: ClassVar[int] = 1

    @abstractmethod
    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        """Return the curve of an ordered dominating pair, as bad as any ordered neighbors.

        The pair may depend on the order of the neighbors. ``curve(...).reversed()`` is the curve of
        the other order, and a guarantee has to hold for both.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record (n is then public) or in
            its presence (n is then private).

        Returns
        -------
        PrivacyCurve
            δ(ε) for every real ε.

        Raises
        ------
        NoClosedCurveError
            If an accountant is needed.
        """

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        """Return the least ε such that the event is ε-DP.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record (n is then public) or in
            its presence (n is then private).

        Returns
        -------
        float
            ``inf`` if the event is not pure.
        """
        return math.inf

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        """Return a ρ such that the event is ρ-zero-concentrated DP.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record (n is then public) or in
            its presence (n is then private).

        Returns
        -------
        float
            By default that of any release with this pure ε; ``inf`` if none is known.
        """
        return rho_of_pure(self.pure_epsilon(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        """Return a μ such that the event is μ-Gaussian DP, in both orders of the neighbors.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record (n is then public) or in
            its presence (n is then private).

        Returns
        -------
        float
            By default that of any release with this pure ε; ``inf`` if none is known.
        """
        return mu_of_pure(self.pure_epsilon(neighboring))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        """Return an r such that the event is (`order`, r)-Rényi DP, in both orders of neighbors.

        Parameters
        ----------
        order : float
            *Public.* Order α of the divergence, above 1.
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record (n is then public) or in
            its presence (n is then private).

        Returns
        -------
        float
            By default the divergence of the curve, or more; ``inf`` if no bound is known.
        """
        return max(curve.renyi(order) for curve in both_orders(self.curve(neighboring)))

    def ideal(self) -> tuple[Event, float]:
        """Return the event with exact samplers in place of approximate ones, and the sum of tv.

        If the first is (ε, δ)-DP, this event is (ε, δ + (1 + e^ε)·tv)-DP, by the triangle
        inequality. An approximate sampler inside a sampled leaf stays where it is.

        Returns
        -------
        (Event, float)
            The event, and its total variation from this one.
        """
        return self, 0.0

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """Yield (leaf, count): the event is the composition of these, in any order."""
        yield self, 1

    def to_dict(self) -> dict[str, object]:
        """Return plain data from which `event_from_dict` rebuilds the event.

        Returns
        -------
        dict
            Numbers, strings, lists and dicts.
        """
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        fields = {name: _plain(getattr(self, name)) for name in names}
        return {"kind": type(self).__name__, "version": self.version} | fields

    _set = set_checked


class AdditiveEvent(Event):
    """Noise added to an answer to which each record contributes at most one sensitivity.

    Its cost under ``add_remove_one`` is that of two answers one sensitivity apart, whatever the
    relation. `BetweenNeighborsEvent` relies on that.
    """


def mu_of_pure(epsilon: float) -> float:
    """Return the least μ for which every ε-DP release is μ-Gaussian DP: 2Φ⁻¹(e^ε/(1 + e^ε)).

    The trade-off function of randomized response and of the Gaussian meet where α = β, and the
    former is straight on both sides, the latter convex (Dong, Roth and Su 2022, section 2).
    """
    if epsilon > 1.0:
        return float(-2.0 * ndtri(expit(-epsilon)))
    # In place of 1 − 2/(1 + e^ε), which would cancel.
    return up(2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(0.5 * epsilon))), FORMULA)


def rho_of_pure(epsilon: float) -> float:
    """Return the least ρ for which every ε-DP release is ρ-zCDP: ε·tanh(ε/2).

    Randomized response dominates, and (α − 1)·D_α = log cosh((α − ½)ε) − log cosh(ε/2). The mean
    of tanh over [ε/2, (α − ½)ε] is at most tanh(αε/2), by concavity, and that is at most
    α·tanh(ε/2); equality at α = 1. Never above the ε²/2 of Bun and Steinke 2016, Proposition 3.3.
    """
    return epsilon * math.tanh(0.5 * epsilon) if math.isfinite(epsilon) else math.inf


def check_event(name: str, value: object) -> Event:
    """Return `value` if it is an event."""
    if not isinstance(value, Event):
        raise ValueError(f"{name} must be an Event, such as GDPEvent(1.0), got {value!r}.")
    return value


def _plain(value: object) -> object:
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


EVENTS: Registry[Event] = Registry(
    {
        "GDPEvent": "skdp.privacy.gaussian:GDPEvent",
        "GaussianEvent": "skdp.privacy.gaussian:GaussianEvent",
        "NonPrivateEvent": "skdp.privacy.gaussian:NonPrivateEvent",
        "ComposedEvent": "skdp.privacy.composed_events:ComposedEvent",
        "SelfComposedEvent": "skdp.privacy.composed_events:SelfComposedEvent",
        "ApproxDPEvent": "skdp.privacy.noise_events:ApproxDPEvent",
        "ApproximatedEvent": "skdp.privacy.composed_events:ApproximatedEvent",
        "BetweenNeighborsEvent": "skdp.privacy.composed_events:BetweenNeighborsEvent",
        "BoundedRangeEvent": "skdp.privacy.noise_events:BoundedRangeEvent",
        "DataDependentNoiseEvent": "skdp.research.data_dependent_noise:DataDependentNoiseEvent",
        "DiscreteGaussianEvent": "skdp.privacy.gaussian:DiscreteGaussianEvent",
        "DiscreteLaplaceEvent": "skdp.privacy.noise_events:DiscreteLaplaceEvent",
        "FixedSizeSampledEvent": "skdp.privacy.composed_events:FixedSizeSampledEvent",
        "LaplaceEvent": "skdp.privacy.noise_events:LaplaceEvent",
        "ObjectivePerturbationEvent": (
            "skdp.privacy.objective_perturbation:ObjectivePerturbationEvent"
        ),
        "PiecewiseConstantNoiseEvent": "skdp.privacy.noise_events:PiecewiseConstantNoiseEvent",
        "PoissonSampledEvent": "skdp.privacy.composed_events:PoissonSampledEvent",
        "PureDPEvent": "skdp.privacy.noise_events:PureDPEvent",
        "RepeatAndSelectEvent": "skdp.privacy.noise_events:RepeatAndSelectEvent",
        "ShuffledEvent": "skdp.privacy.composed_events:ShuffledEvent",
        "TruncatedLaplaceEvent": "skdp.privacy.noise_events:TruncatedLaplaceEvent",
        "ZCDPEvent": "skdp.privacy.gaussian:ZCDPEvent",
    }
)
"""Every event by name."""


def event_from_dict(data: dict[str, Any]) -> Event:
    """Rebuild an event from `Event.to_dict`.

    Parameters
    ----------
    data : dict
        *Public.* Result of `Event.to_dict`.

    Returns
    -------
    Event

    Examples
    --------
    >>> from skdp.privacy import GDPEvent
    >>> event_from_dict(GDPEvent(0.5).to_dict())
    GDPEvent(mu=0.5)
    """
    if not isinstance(data, dict):
        raise ValueError(f"data must be a dict from `Event.to_dict`, got {data!r}.")
    if data.get("kind") not in EVENTS:
        raise ValueError(f"Unknown event {data.get('kind')!r}; known: {sorted(EVENTS)}.")
    kind = EVENTS[data["kind"]]
    if data.get("version", 1) > kind.version:
        raise ValueError(f"{data['kind']} has version {data['version']}, newer than this skdp.")
    fields = {name: value for name, value in data.items() if name not in ("kind", "version")}
    return kind(**{name: _rebuilt(value) for name, value in fields.items()})


def _rebuilt(value: Any) -> Any:
    if isinstance(value, dict):
        return event_from_dict(value)
    if isinstance(value, list):
        return tuple(_rebuilt(item) for item in value)
    return value
