"""The proximal sampler within a requested total variation of its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp.samplers.base import (
    Certificate,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.samplers.kernels.proximal_chain import (
    UnconstrainedChain,
    refuse_endless,
    sample_by_chain,
    tune_chain,
)
from skdp.support.validation import check_real, make_plain

__all__ = ["ProximalTVSampler"]


@dataclass(frozen=True)
class ProximalTVSampler(Sampler):
    """Proximal sampler that starts near the mode and runs until it is close to the target.

    It alternates θ' = θ + √η·ξ with an exact sample from exp(−U(θ) − |θ − θ'|²/(2η)). Start, step
    size and number of steps depend on the data and are not released. The distance between the last
    state and the target is proved for every data set.

    Parameters
    ----------
    max_passes : float
        *Public.* Largest allowed number of passes, predicted for the worst data.

    Notes
    -----
    **Certificate: tv.** After T steps from θ₀, the total variation is at most q^(T−1)·W/√(2πη),
    with q = 1/(1 + αη), W = √(d/α) + \\|θ₀ − θ*\\| and θ* the mode (Theorem B, *Samplers* in the
    documentation). \\|θ₀ − θ*\\| is at most \\|g\\|/α for any subgradient g of U at θ₀. T is the
    least number for which the bound is small enough.
    """

    certifies: ClassVar[Certificate] = Certificate.TV
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B"
    requires: ClassVar[frozenset[Requirement]] = frozenset({Requirement.ROW_COUNT})
    counts_rows: ClassVar[bool] = False
    takes_domain: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = True

    max_passes: float = 1e6

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_passes", self.max_passes, low=0.0)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        refuse_endless("ProximalTVSampler", setting, tv, self.max_passes)
        C = setting.C
        return SamplerPlan(n_steps=1, step=C, stability=1.0, spread=C, tv=tv, contraction=0.0)

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        start = UnconstrainedChain.near_mode(target, rng)
        length, tuning = tune_chain(start, plan.tv, rng)
        sample = sample_by_chain(start, length, rng, start.effort + tuning)
        progress(1, 1)
        return sample
