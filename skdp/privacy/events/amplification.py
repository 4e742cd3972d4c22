"""Releases on a random part of the records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from skdp.privacy.combined import StitchedCurve, SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, check_event
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.subsampling import PoissonSampledCurve, check_rate

__all__ = ["FixedSizeSampledEvent", "PoissonSampledEvent", "ShuffledEvent"]


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
        if self.sampling_rate == 1:
            return self.event.curve(neighboring)
        return self.event.sampled_curve(self.sampling_rate, neighboring)

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
class ShuffledEvent(Event):
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

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:
        return self.event.curve(neighboring)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        return self.event.pure_epsilon(neighboring)

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        return self.event.zcdp_rho(neighboring)

    def gdp_mu(self, neighboring: Neighboring) -> float:
        return self.event.gdp_mu(neighboring)

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return self.event.rdp(order, neighboring)

    def leaves(self) -> Iterator[tuple[Event, int]]:
        yield from self.event.leaves()
