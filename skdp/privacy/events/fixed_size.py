"""A release on a sample of fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.privacy.combined import StitchedCurve, SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.sampled import SampledEvent
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.sampling import PoissonSampledCurve

__all__ = ["FixedSizeSampledEvent"]


@dataclass(frozen=True)
class FixedSizeSampledEvent(SampledEvent):
    """`event` on a batch of b of the n records, drawn without replacement; q = b/n.

    Under ``replace_one`` only, n and b public. At ε ≥ 0 the curve is q·δ(log(1 + (e^ε − 1)/q)),
    with δ the larger order of the event (Balle, Barthe and Gaboardi 2018, Theorem 9; Zhu, Dong
    and Wang 2022, Theorem 11), and below 0 its mirror image. No single pair attains both
    halves, so this stitched curve is what composes. It costs more than Poisson sampling at the
    same rate.

    Raises
    ------
    ValueError
        Under ``add_remove_one``, where n and hence the batch's law change.
    """

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:  # noqa: D102
        base = SymmetrizedCurve(self.event.curve(_replace_one(neighboring)))
        return StitchedCurve(PoissonSampledCurve(base, self.sampling_rate))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        """Return log(1 + q·(e^ε − 1))."""
        base = self.event.pure_epsilon(_replace_one(neighboring))
        return base if base > 700.0 else math.log1p(self.sampling_rate * math.expm1(base))


def _replace_one(neighboring: Neighboring) -> Neighboring:
    if Neighboring(neighboring) is not Neighboring.REPLACE_ONE:
        raise ValueError(
            "FixedSizeSampledEvent has no guarantee under 'add_remove_one', where the number of "
            "records changes; use 'replace_one', or PoissonSampledEvent. Nothing was spent."
        )
    return Neighboring.REPLACE_ONE
