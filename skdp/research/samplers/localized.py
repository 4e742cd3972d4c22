"""The proximal sampler in a metric that fits the target near its mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skdp.research.samplers.local_metric import BallSearch, LocalChain
from skdp.samplers.base import (
    Certificate,
    Effort,
    Progress,
    Requirement,
    Sample,
    Sampler,
    SamplerPlan,
    Setting,
    Target,
)
from skdp.samplers.kernels.proximal_chain import (
    ChainStart,
    Length,
    UnconstrainedChain,
    refuse_endless,
    sample_by_chain,
    tune_chain,
)
from skdp.support.validation import check_real, make_plain

__all__ = ["LocalizedSampler"]

_TAIL_SHARE = 0.5  # of the total variation that mass outside of the ball may take

# These choose between two chains that are both within the distance. No guarantee rests on them.
_SEARCH_PASSES = 200.0  # over the data, that it costs to find a ball
_LOCAL_PASS = 1.5  # passes of the plain chain: its acceptance test reads few records


@dataclass(frozen=True)
class LocalizedSampler(Sampler):
    """Proximal sampler in a ball around the mode, with a metric chosen by the data.

    The ball contains all but a proved, tiny part of the mass. In it the Hessian of the potential is
    at least a matrix A ≥ α·I, which replaces α·I, so steps have to resolve only the remaining
    curvature. With many records and a weak ridge little remains. Otherwise the chain of
    `ProximalTVSampler` is run; which of them is run is not released.

    Parameters
    ----------
    max_passes : float
        *Public.* Largest allowed number of passes, predicted for the worst data.

    Notes
    -----
    **Certificate: tv.** The mass outside of the ball, plus Theorem B's bound for what is inside:
    *Samplers* in the documentation.
    """

    certifies: ClassVar[Certificate] = Certificate.TV
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B in a ball"
    requires: ClassVar[frozenset[Requirement]] = frozenset(
        {Requirement.ROW_COUNT, Requirement.SMOOTH_LOSS, Requirement.ONE_SCORE}
    )
    counts_rows: ClassVar[bool] = False

    max_passes: float = 1e6

    def __post_init__(self) -> None:
        make_plain(self)
        check_real("max_passes", self.max_passes, low=0.0)

    def plan(self, setting: Setting, tv: float) -> SamplerPlan:
        refuse_endless("LocalizedSampler", setting, tv, self.max_passes)
        return SamplerPlan(
            n_steps=1, step=setting.C, stability=1.0, spread=setting.C, tv=tv, contraction=0.0
        )

    def sample(
        self, target: Target, plan: SamplerPlan, rng: np.random.Generator, progress: Progress
    ) -> Sample:
        chosen = _choose(target, plan.tv, rng)
        sample = sample_by_chain(chosen.start, chosen.length, rng, chosen.effort)
        progress(1, 1)
        return sample


@dataclass(frozen=True, eq=False)
class _Choice:
    """A chain that is within the distance, and what it took to find it."""

    start: ChainStart
    length: Length
    effort: Effort


def _choose(target: Target, tv: float, rng: np.random.Generator) -> _Choice:
    """Return a chain in a ball, or the plain one if that is about as cheap."""
    start = UnconstrainedChain.near_mode(target, rng)
    length, tuning = tune_chain(start, tv, rng)
    plain = _Choice(start, length, start.effort + tuning)
    if length.n_steps <= _SEARCH_PASSES:
        return plain
    found = BallSearch(target, start.start).find(_TAIL_SHARE * tv)
    effort = plain.effort + Effort(n_evaluations=found.n_evaluations)
    if found.ball is None:
        return replace(plain, effort=effort)
    local = LocalChain(target, found.ball, rng)
    local_length, tuning = tune_chain(local, tv - found.ball.tail, rng)
    if _LOCAL_PASS * local_length.passes >= length.n_steps:
        return replace(plain, effort=effort + tuning)
    return _Choice(local, local_length, effort + tuning)
