"""What reference samplers share: a public number of steps, and no certificate but the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skdp.samplers.base import Certificate, Sampler, SamplerPlan, Setting
from skdp.support.validation import check_count, make_plain

__all__ = ["ReferenceSampler"]


@dataclass(frozen=True)
class ReferenceSampler(Sampler):
    """A chain of a public number of steps that is right in the limit only.

    Parameters
    ----------
    n_steps : int
        Steps of one run.
    """

    certifies: ClassVar[Certificate] = Certificate.ASYMPTOTIC
    counts_rows: ClassVar[bool] = False

    n_steps: int = 200

    def __post_init__(self) -> None:
        make_plain(self)
        check_count("n_steps", self.n_steps)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        return SamplerPlan(n_steps=self.n_steps, step=setting.C, stability=1.0, spread=setting.C)
