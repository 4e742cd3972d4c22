"""The proximal sampler in a metric that fits the target near its mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skdp._validation import check_real, make_plain
from skdp.samplers.base import Certificate, Progress, Sample, Sampler, SamplerPlan, Setting, Target
from skdp.samplers.kernels.local_metric import BallSearch, InBall
from skdp.samplers.kernels.proximal_chain import Length, NearMode, refuse_endless

__all__ = ["LocalizedSampler"]

_SHARE = 0.5  # of the total variation that mass outside of the ball may take
_SEARCH = 200.0  # passes over the data that it costs to find a ball
_DEARER = 1.5  # is a pass of a chain in a ball: its acceptance test reads all records twice


@dataclass(frozen=True)
class LocalizedSampler(Sampler):
    """Run the proximal sampler in a ball around the mode, with the metric that the data have there.

    The ball holds all but a proved, tiny part of the law, and in it the potential is curved at
    least as a matrix A ≥ α·I, which takes the place of α·I: the curvature that steps have to
    resolve is what is left over. With many records and a weak ridge that is little. Where it is
    much, `ProximalTVSampler`'s chain is run instead; which of them is run, is not released.

    Parameters
    ----------
    max_passes : float
        *Public.* Settings are refused in which the worst data may be read more often than this.

    Notes
    -----
    **Certificate: tv.** The mass outside of the ball, plus Theorem B's bound for the law inside:
    *Localized* in the documentation.
    """

    certifies: ClassVar[Certificate] = "tv"
    theorem: ClassVar[str] = "Gopi, Lee and Liu 2022, Theorem 4.1, and Theorem B in a ball"
    requires: ClassVar[frozenset[str]] = frozenset(
        {"a row count", "a loss with a continuous gradient", "a loss of one score a record"}
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
        start = NearMode(target, rng)
        plain = start.length(plan.tv)
        draw = _local_draw(target, start, plain, plan.tv, rng) or start.draw(plain)
        progress(1, 1)
        return draw


def _local_draw(
    target: Target, start: NearMode, plain: Length, tv: float, rng: np.random.Generator
) -> Sample | None:
    """Return a draw by a chain in a ball, or None if the plain chain is about as cheap."""
    if plain.n_steps <= _SEARCH:
        return None
    search = BallSearch(target, start.start)
    ball = search.ball(_SHARE * tv)
    start.n_queries += search.n_queries
    if ball is None:
        return None
    local = InBall(target, ball, rng)
    length = local.length(tv)
    if _DEARER * length.passes >= plain.n_steps:  # its tests read few records
        start.n_queries += local.n_queries
        return None
    local.n_queries += start.n_queries
    return local.draw(length)
