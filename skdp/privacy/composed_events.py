"""Events of events: several in a row, approximated ones, samples and shuffles."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.privacy.combined import (
    MixtureCurve,
    PoissonSampledCurve,
    StitchedCurve,
    SubstitutedGaussianCurve,
    SymmetrizedCurve,
    check_rate,
)
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events import AdditiveEvent, Event, NoClosedCurveError, check_event
from skdp.privacy.gaussian import GaussianCurve, GaussianEvent, NonPrivateEvent
from skdp.privacy.neighboring import Neighboring
from skdp.support.safe_numbers import minimize_from_grid
from skdp.support.validation import check_count, check_real


class _WrappedEvent(Event):
    """An event that costs as much as another one does under some relation."""

    @abstractmethod
    def _inner(self, neighboring: Neighboring) -> tuple[Event, Neighboring]:
        """Return that event and that relation."""

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        inner, relation = self._inner(neighboring)
        return inner.curve(relation)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        inner, relation = self._inner(neighboring)
        return inner.pure_epsilon(relation)

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        inner, relation = self._inner(neighboring)
        return inner.zcdp_rho(relation)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        inner, relation = self._inner(neighboring)
        return inner.gdp_mu(relation)

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        inner, relation = self._inner(neighboring)
        return inner.rdp(order, relation)


class _Composition(Event):
    """Several releases on the same data; the parameters of each are fixed beforehand.

    Pure ε, ρ, and Rényi divergences of one order add (Dwork and Roth 2014; Bun and Steinke 2016;
    Mironov 2017); Gaussian μ add in squares (Dong, Roth and Su 2022, Corollary 2). All of these
    also hold for adaptively chosen parameters.
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        leaves = list(self.leaves())
        if len(leaves) == 1 and leaves[0][1] == 1:
            return leaves[0][0].curve(neighboring)
        mu = self.gdp_mu(neighboring)
        exact = all(isinstance(leaf.curve(neighboring), GaussianCurve) for leaf, _ in leaves)
        if not exact:
            raise NoClosedCurveError(f"{self!r} has no curve in closed form; use an accountant.")
        return GaussianCurve(mu)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.pure_epsilon(neighboring) for leaf, count in self.leaves())

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.zcdp_rho(neighboring) for leaf, count in self.leaves())

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return math.hypot(
            *(math.sqrt(count) * leaf.gdp_mu(neighboring) for leaf, count in self.leaves())
        )

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return math.fsum(count * leaf.rdp(order, neighboring) for leaf, count in self.leaves())


@dataclass(frozen=True)
class ComposedEvent(_Composition):
    """One release of each of `events`.

    Parameters
    ----------
    events : sequence of Event
        *Public.*

    Examples
    --------
    >>> from skdp.privacy import ComposedEvent, GDPEvent
    >>> event = ComposedEvent((GDPEvent(0.3), GDPEvent(0.4)))
    >>> event.gdp_mu("replace_one")
    0.5
    >>> [count for leaf, count in event.leaves()]
    [1, 1]
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        try:
            events = tuple(self.events)
        except TypeError:
            raise ValueError(
                f"events must be a tuple or list of events, got {self.events!r}."
            ) from None
        self._set(events=tuple(check_event(f"events[{i}]", e) for i, e in enumerate(events)))

    def ideal(self) -> tuple[Event, float]:
        parts = [event.ideal() for event in self.events]
        return ComposedEvent(tuple(event for event, _ in parts)), math.fsum(tv for _, tv in parts)

    def leaves(self) -> Iterator[tuple[Event, int]]:
        for event in self.events:
            yield from event.leaves()


@dataclass(frozen=True)
class SelfComposedEvent(_Composition):
    """`count` releases of `event`.

    Parameters
    ----------
    event : Event
        *Public.*
    count : int
        *Public.* At least 0.

    Examples
    --------
    >>> from skdp.accounting import GDPAccountant
    >>> from skdp.privacy import GDPEvent, SelfComposedEvent
    >>> steps = SelfComposedEvent(GDPEvent(0.1), count=100)
    >>> steps.gdp_mu("replace_one"), round(GDPAccountant().epsilon(steps, 1e-5), 3)
    (1.0, 4.377)
    """

    event: Event
    count: int

    def __post_init__(self) -> None:
        count = check_count("count", self.count, low=0)
        self._set(event=check_event("event", self.event), count=count)

    def ideal(self) -> tuple[Event, float]:
        event, tv = self.event.ideal()
        return SelfComposedEvent(event, self.count), self.count * tv

    def leaves(self) -> Iterator[tuple[Event, int]]:
        for leaf, count in self.event.leaves() if self.count else ():
            yield leaf, self.count * count


_GRID = np.concatenate([-np.geomspace(1e-6, 600.0, 400)[::-1], [0.0], np.geomspace(1e-6, 600, 400)])


@dataclass(frozen=True)
class ApproximatedCurve(PrivacyCurve):
    """The curve when both distributions may be off by `tv` in total variation: δ(ε) + (1 + e^ε)·tv.

    The sum holds for every real ε and both orders, but rises once the second term takes over. A
    curve does not rise. So it is constant from its least value on, and for very negative ε it is
    the mirror image of that constant for the reversed pair.
    """

    curve: PrivacyCurve
    tv: float

    def _delta(self, epsilon: np.ndarray) -> np.ndarray:
        (low, least_reversed), (high, least) = self._turns
        if min(least, least_reversed) >= 1.0:
            return np.ones_like(epsilon)
        inside = np.clip(epsilon, low, high)
        total = self.curve._delta(inside) + (1.0 + np.exp(inside)) * self.tv
        tail = 1.0 - np.exp(np.minimum(epsilon, low)) * (1.0 - least_reversed)
        return np.clip(np.where(epsilon < low, tail, total), 0.0, 1.0)

    def _mirrored(self, epsilon: np.ndarray) -> np.ndarray:
        return self.reversed()._delta(epsilon)

    @cached_property
    def _turns(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return where the two tails begin, and the constants of the two orders."""
        epsilon, least = self._least(self.curve)
        backwards, least_reversed = self._least(self.curve.reversed())
        return (min(-backwards, epsilon), least_reversed), (epsilon, least)

    def _least(self, curve: PrivacyCurve) -> tuple[float, float]:
        def total(epsilon: float) -> float:
            return curve.delta(epsilon) + (1.0 + math.exp(epsilon)) * self.tv

        on_grid = curve.delta(_GRID) + (1.0 + np.exp(_GRID)) * self.tv
        epsilon, _ = minimize_from_grid(total, _GRID, on_grid, xatol=1e-13)
        return epsilon, total(epsilon)

    def reversed(self) -> PrivacyCurve:
        backwards = self.curve.reversed()
        return self if backwards == self.curve else ApproximatedCurve(backwards, self.tv)


@dataclass(frozen=True)
class ApproximatedEvent(_WrappedEvent):
    """`event`, released by a sampler within total variation `tv` of its target.

    Both neighbors are approximated, so (ε, δ) becomes (ε, δ + (1 + e^ε)·tv) (triangle inequality).
    In a composition the tv of all releases add up, and the factor counts once, at the end. No
    shortcut holds unless `tv` is 0.

    Parameters
    ----------
    event : Event
        *Public.* The release by an exact sampler.
    tv : float in [0, 1]
        *Public.* Bound on the total variation between the two.
    """

    event: Event
    tv: float

    def __post_init__(self) -> None:
        tv = check_real("tv", self.tv, low=0.0, high=1.0, closed="[]")
        self._set(event=check_event("event", self.event), tv=tv)

    def _inner(self, neighboring: Neighboring) -> tuple[Event, Neighboring]:
        return (NonPrivateEvent() if self.tv else self.event), neighboring  # for the shortcuts

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        curve = self.event.curve(neighboring)
        return ApproximatedCurve(curve, self.tv) if self.tv else curve

    def ideal(self) -> tuple[Event, float]:
        inner, tv = self.event.ideal()
        return inner, self.tv + tv


@dataclass(frozen=True)
class BetweenNeighborsEvent(_WrappedEvent):
    """Additive noise on values that are at most one sensitivity apart for any two neighbors.

    The sensitivity of `event` alone is one record's contribution, and two contributions change
    under ``replace_one``. That is twice too much for a count, and for a mean between bounds. Here
    the sensitivity is the change between neighbors, whatever the relation.

    Parameters
    ----------
    event : AdditiveEvent
        *Public.* Additive noise, such as `LaplaceEvent`.
    """

    event: AdditiveEvent

    def __post_init__(self) -> None:
        if not isinstance(self.event, AdditiveEvent):
            kinds = ", ".join(sorted(kind.__name__ for kind in AdditiveEvent.__subclasses__()))
            raise ValueError(f"event must be additive noise, one of {kinds}, got {self.event!r}.")

    def _inner(self, neighboring: Neighboring) -> tuple[Event, Neighboring]:
        Neighboring(neighboring)  # raises ValueError for an unknown relation
        return self.event, Neighboring.ADD_REMOVE_ONE  # where one contribution changes


@dataclass(frozen=True)
class _SampledEvent(Event):
    sampling_rate: float
    event: Event

    def __post_init__(self) -> None:
        rate = check_rate(self.sampling_rate)
        self._set(sampling_rate=rate, event=check_event("event", self.event))

    def _amplified(self, epsilon: float) -> float:
        """Return log(1 + q·(e^ε − 1))."""
        return epsilon if epsilon > 700.0 else math.log1p(self.sampling_rate * math.expm1(epsilon))


@dataclass(frozen=True)
class PoissonSampledEvent(_SampledEvent):
    """`event` on a sample that contains each record independently with `sampling_rate`.

    The sample and its size are not released, and sums are not divided by its size. See
    *Subsampling* in the user guide.

    ``add_remove_one``: the curve is that of ((1 − q)·Q + q·P, Q), the record's removal; its reverse
    is the addition (Zhu, Dong and Wang 2022, Theorem 11). ``replace_one``: for `GaussianEvent` the
    optimal pair (Lebeda, Regehr, Kamath and Steinke 2024); for any other event q·δ(ε) at ε ≥ 0 and
    its mirror, by joint convexity. A curve under replace-one implies no more.

    Parameters
    ----------
    sampling_rate : float in (0, 1]
        *Public.* Probability q with which a record is in the sample.
    event : Event
        *Public.* What is released from the sample.

    Examples
    --------
    >>> from skdp.privacy import PureDPEvent
    >>> event = PoissonSampledEvent(0.1, PureDPEvent(1.0))
    >>> round(event.pure_epsilon("add_remove_one"), 6)
    0.158565
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        rate, event = self.sampling_rate, self.event
        if rate == 1:
            return event.curve(neighboring)
        if Neighboring(neighboring) is Neighboring.ADD_REMOVE_ONE:
            return PoissonSampledCurve(event.curve(neighboring), rate)
        if isinstance(event, GaussianEvent):
            return SubstitutedGaussianCurve(rate, event.noise_multiplier)
        return MixtureCurve((rate, 1.0 - rate), (event.curve(neighboring), GaussianCurve(0.0)))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        base = self.event.pure_epsilon(neighboring)
        if Neighboring(neighboring) is Neighboring.REPLACE_ONE:
            return base
        return self._amplified(base)


@dataclass(frozen=True)
class FixedSizeSampledEvent(_SampledEvent):
    """`event` on a batch of b of the n records, drawn without replacement; q = b/n.

    n and b are public. At ε ≥ 0 the curve is q·δ(log(1 + (e^ε − 1)/q)), with δ the larger order of
    the event (Balle, Barthe and Gaboardi 2018, Theorem 9; Zhu, Dong and Wang 2022, Theorem 11).
    Below 0 it is the mirror image. No single pair attains both halves, so accountants compose this
    combined curve. It costs more than Poisson sampling at the same rate.

    Parameters
    ----------
    sampling_rate : float in (0, 1]
        *Public.* Share q = b/n of the records that a batch holds.
    event : Event
        *Public.* What is released from the batch.

    Raises
    ------
    ValueError
        Under ``add_remove_one``, where n and hence the batch's distribution change.
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        base = SymmetrizedCurve(self.event.curve(_replace_one(neighboring)))
        return StitchedCurve(PoissonSampledCurve(base, self.sampling_rate))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self._amplified(self.event.pure_epsilon(_replace_one(neighboring)))


def _replace_one(neighboring: Neighboring) -> Neighboring:
    if Neighboring(neighboring) is not Neighboring.REPLACE_ONE:
        raise ValueError(
            "FixedSizeSampledEvent has no guarantee under 'add_remove_one', where the number of "
            "records changes; use 'replace_one', or PoissonSampledEvent."
        )
    return Neighboring.REPLACE_ONE


@dataclass(frozen=True)
class ShuffledEvent(_WrappedEvent):
    """One epoch: every record is in exactly one batch, and `event` is released for each batch.

    It costs as much as one `event` **without any amplification**: each record is read once, so
    the batches compose in parallel, also if later batches look at earlier outputs. Nothing better
    is proved: for small noise the true cost lies far above the Poisson value (Chua, Ghazi, Kamath,
    Kumar, Manurangsi, Sinha and Zhang 2024). Batches must be assigned without looking at the data.
    E epochs are a `SelfComposedEvent` of this one.

    Parameters
    ----------
    event : Event
        *Public.* What is released for each batch.
    """

    event: Event

    def __post_init__(self) -> None:
        self._set(event=check_event("event", self.event))

    def ideal(self) -> tuple[Event, float]:
        event, tv = self.event.ideal()
        return ShuffledEvent(event), tv

    def _inner(self, neighboring: Neighboring) -> tuple[Event, Neighboring]:
        return self.event, neighboring

    def leaves(self) -> Iterator[tuple[Event, int]]:
        yield from self.event.leaves()
