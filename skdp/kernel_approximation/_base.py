"""What the kernel models share: their features."""

from __future__ import annotations

from typing import Any

from skdp.features import FourierMap, TableFacts
from skdp.linear_model._mapped import MixtureModel

__all__ = ["KernelModel"]


class KernelModel(MixtureModel):
    """A linear model of additive features and random waves."""

    n_components: Any
    scale: Any
    feature_seed: Any

    def _random_map(self, facts: TableFacts) -> FourierMap:
        return FourierMap.of(
            facts,
            n_components=self.n_components,
            scale=self.scale,
            feature_seed=self.feature_seed,
        )
