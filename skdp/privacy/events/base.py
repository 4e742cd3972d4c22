"""What every event answers.

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

from skdp.privacy.combined import MixtureCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.subsampling import PoissonSampledCurve
from skdp.support.validation import set_checked

__all__ = ["AdditiveEvent", "Event", "NoClosedCurveError", "check_event"]


class NoClosedCurveError(ValueError):
    """An event has no privacy curve in closed form; an accountant has to bound it."""


class Event(ABC):
    """One release, or several: a frozen tree that says what happened, not what it costs.

    A leaf has a privacy curve; the exact shortcuts (`pure_epsilon`, `zcdp_rho`, `gdp_mu`) are
    ``inf`` where the notion does not hold. All of them depend on the neighboring relation.

    Events survive in ledgers, so a name once given keeps its meaning. `to_dict` and
    `event_from_dict` rebuild an event exactly; `version` counts changes of its fields.
    """

    version: ClassVar[int] = 1

    @abstractmethod
    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        """Return the curve of an ordered dominating pair, as bad as any ordered neighbors.

        The pair may depend on the order of the neighbors; `curve(...).reversed()` is then the
        curve of the other order, and a guarantee has to hold for both.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record or in its presence.

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
            *Public.* Whether neighbors differ in the values of one record or in its presence.

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
            *Public.* Whether neighbors differ in the values of one record or in its presence.

        Returns
        -------
        float
            ``inf`` if none is known.
        """
        return math.inf

    def gdp_mu(self, neighboring: Neighboring) -> float:
        """Return a μ such that the event is μ-Gaussian DP, in both orders of the neighbors.

        Parameters
        ----------
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record or in its presence.

        Returns
        -------
        float
            ``inf`` if none is known.
        """
        return math.inf

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        """Return an r such that the event is (`order`, r)-Rényi DP, in both orders of neighbors.

        By default from the curve, rounded upwards: see `skdp.privacy.renyi`.

        Parameters
        ----------
        order : float
            *Public.* Order α of the divergence, above 1.
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record or in its presence.

        Returns
        -------
        float
            An upper bound; ``inf`` if none is known.
        """
        curve = self.curve(neighboring)
        both = (curve,) if curve.reversed() == curve else (curve, curve.reversed())
        return max(one.renyi(order) for one in both)

    def sampled_curve(self, rate: float, neighboring: Neighboring) -> PrivacyCurve:
        """Return the curve of this event on a Poisson sample: see `PoissonSampledEvent`.

        Parameters
        ----------
        rate : float in (0, 1]
            *Public.* Probability q with which a record is in the sample.
        neighboring : Neighboring or str
            *Public.* Whether neighbors differ in the values of one record or in its presence.

        Returns
        -------
        PrivacyCurve
            δ(ε) for every real ε.
        """
        curve = self.curve(neighboring)
        if Neighboring(neighboring) is Neighboring.ADD_REMOVE_ONE:
            return PoissonSampledCurve(curve, rate)
        return MixtureCurve((rate, 1.0 - rate), (curve, GaussianCurve(0.0)))

    def ideal(self) -> tuple[Event, float]:
        """Return the event with exact samplers in place of approximate ones, and the sum of tv.

        Where the first is (ε, δ)-DP this event is (ε, δ + (1 + e^ε)·tv)-DP: the triangle
        inequality, once. An approximate sampler inside of a sampled leaf stays where it is.

        Returns
        -------
        (Event, float)
            The event, and its total variation from this one.
        """
        return self, 0.0

    def leaves(self) -> Iterator[tuple[Event, int]]:
        """Yield (leaf, count): the event is the composition of these, in any order."""
        yield self, 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `event_from_dict` rebuilds the event.

        Returns
        -------
        dict
            Numbers, strings, lists and dicts.
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"kind": type(self).__name__, "version": self.version} | {
            name: _plain(value) for name, value in fields.items()
        }

    _set = set_checked


class AdditiveEvent(Event):
    """Noise that was added to an answer, of which a record contributes one sensitivity.

    Its cost under ``add_remove_one`` is that of two answers one sensitivity apart, whatever the
    relation, which is what `BetweenNeighborsEvent` asks for.
    """


def check_event(name: str, value: Any) -> Event:
    """Return `value` if it is an event."""
    if not isinstance(value, Event):
        raise ValueError(f"{name} must be an Event, such as GDPEvent(1.0), got {value!r}.")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
