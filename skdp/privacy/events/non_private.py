"""Releases without privacy."""

from __future__ import annotations

from dataclasses import dataclass

from skdp.privacy.events.base import Event
from skdp.privacy.gaussian import GaussianCurve
from skdp.privacy.neighboring import Neighboring

__all__ = ["NonPrivateEvent"]


@dataclass(frozen=True)
class NonPrivateEvent(Event):
    """A release without any privacy: δ(ε) = 1 for every ε."""

    def curve(self, neighboring: Neighboring) -> GaussianCurve:
        return GaussianCurve(float("inf"))

    def rdp(self, order: float, neighboring: Neighboring) -> float:
        return float("inf")
