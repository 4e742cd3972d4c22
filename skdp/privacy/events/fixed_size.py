"""A release on a sample of fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skdp.privacy.combined import StitchedCurve, SymmetrizedCurve
from skdp.privacy.curve import PrivacyCurve
from skdp.privacy.events.base import Event, check_event
from skdp.privacy.events.pure import mu_of_pure, rho_of_pure
from skdp.privacy.neighboring import Neighboring
from skdp.privacy.sampling import PoissonSampledCurve, check_rate

__all__ = ["FixedSizeSampledEvent"]


@dataclass(frozen=True)
class FixedSizeSampledEvent(Event):
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

    sampling_rate: float
    event: Event

    def __post_init__(self) -> None:
        rate = check_rate(self.sampling_rate)
        self._set(sampling_rate=rate, event=check_event("event", self.event))

    def curve(self, neighboring: Neighboring) -> PrivacyCurve:  # noqa: D102
        base = SymmetrizedCurve(self.event.curve(_replace_one(neighboring)))
        return StitchedCurve(PoissonSampledCurve(base, self.sampling_rate))

    def pure_epsilon(self, neighboring: Neighboring) -> float:
        """Return log(1 + q·(e^ε − 1))."""
        base = self.event.pure_epsilon(_replace_one(neighboring))
        return base if base > 700.0 else math.log1p(self.sampling_rate * math.expm1(base))

    def zcdp_rho(self, neighboring: Neighboring) -> float:
        """Return the ρ of a pure release with this ε; ``inf`` if the release is not pure."""
        return rho_of_pure(self.pure_epsilon(neighboring))

    def gdp_mu(self, neighboring: Neighboring) -> float:
        """Return the μ of a pure release with this ε; ``inf`` if the release is not pure."""
        return mu_of_pure(self.pure_epsilon(neighboring))


def _replace_one(neighboring: Neighboring) -> Neighboring:
    if Neighboring(neighboring) is not Neighboring.REPLACE_ONE:
        raise ValueError(
            "FixedSizeSampledEvent has no guarantee under 'add_remove_one', where the number of "
            "records changes; use 'replace_one', or PoissonSampledEvent. Nothing was spent."
        )
    return Neighboring.REPLACE_ONE
