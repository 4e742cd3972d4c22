"""What the forests share: their features."""

from __future__ import annotations

from typing import Any

from skdp.features import TableFacts, TreeMap
from skdp.linear_model._mapped import MixtureModel

__all__ = ["ForestModel"]


class ForestModel(MixtureModel):
    """A linear model of leaves of random trees, and of additive features."""

    n_trees: Any
    depth: Any
    feature_seed: Any

    def _random_map(self, facts: TableFacts) -> TreeMap:
        return TreeMap.of(
            facts, n_trees=self.n_trees, depth=self.depth, feature_seed=self.feature_seed
        )
