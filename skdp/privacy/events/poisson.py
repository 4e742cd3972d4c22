"""A release on a Poisson sample of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.sampled import SampledEvent
from skdp.privacy.neighboring import Neighboring

__all__ = ["PoissonSampledEvent"]


@dataclass(frozen=True)
class PoissonSampledEvent(SampledEvent):
    """`event` on a sample that holds each record with probability `sampling_rate`, independently.

    The sample and its size are not released, and sums are not divided by its size.

    ``add_remove_one``: the curve is that of ((1 − q)·Q + q·P, Q), the record's removal; its reverse
    is the addition (Zhu, Dong and Wang 2022, Theorem 11). ``replace_one``: for `GaussianEvent` the
    optimal pair (Lebeda, Regehr, Kamath and Steinke 2024); for any other event q·δ(ε) at ε ≥ 0 and
    its mirror, by joint convexity: with probability 1 − q the record is not in the sample. That is
    all a curve under replace-one implies, because it is silent about samples of different size.

    Parameters
    ----------
    sampling_rate : float in (0, 1]
        *Public.*
    event : Event
        What is released from the sample.

    Examples
    --------
    >>> from skdp.privacy import PureDPEvent
    >>> event = PoissonSampledEvent(0.1, PureDPEvent(1.0))
    >>> round(event.pure_epsilon("add_remove_one"), 6)
    0.158565
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:  # noqa: D102
        if self.sampling_rate == 1:
            return self.event.curve(neighboring)
        return self.event.sampled_curve(self.sampling_rate, neighboring)

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        """Return log(1 + q·(e^ε − 1)) under add/remove; ε itself under replace-one."""
        base = self.event.pure_epsilon(neighboring)
        if base > 700.0 or Neighboring(neighboring) is Neighboring.REPLACE_ONE:
            return base
        return math.log1p(self.sampling_rate * math.expm1(base))
