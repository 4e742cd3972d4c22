"""The rows of Dask collections, as linear models see them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skdp.data.blocks import Block, Blocks
from skdp.design import DaskDesign, Design
from skdp.features import FeatureMap

__all__ = ["BlockRows", "MappedBlockRows"]


@dataclass(frozen=True, eq=False, repr=False)
class BlockRows:
    """Rows that passed the checks where they are.

    `model` is the estimator without what workers may not know; it makes of a block what it makes
    of rows in memory. `task` is public about the targets.
    """

    blocks: Blocks
    model: Any
    task: Any

    @property
    def n_samples(self) -> int:
        return sum(self.blocks.n_rows)

    @property
    def n_columns(self) -> int:
        return int(self.model.n_features_in_)

    def design(self, data_norm: float, intercept_scaling: float, targets: Any) -> Design:
        """Return the clipped rows, with targets of their own."""
        make = partial(_design, self.model, self.task, data_norm, intercept_scaling)
        return DaskDesign(self.blocks.map(make), self.n_columns + (intercept_scaling > 0.0))

    def take(self, rows: np.ndarray, targets: Any) -> tuple[Any, np.ndarray]:
        """Return some of the rows, whose numbers rise, in memory, and their targets."""
        some = partial(_some, self.model, self.task)
        found = self.blocks.gather(some, self.blocks.places(rows))
        taken, y = zip(*found, strict=True)
        return taken[0].joined(taken[1:]), np.concatenate(y)


@dataclass(frozen=True, eq=False, repr=False)
class MappedBlockRows(BlockRows):
    """Rows of tables, of which the model makes features."""

    @property
    def feature_map(self) -> FeatureMap:
        return self.model.feature_map_

    @property
    def n_columns(self) -> int:
        return self.feature_map.n_features_out

    def mapped(self, feature_map: FeatureMap) -> MappedBlockRows:
        """Return the features of the same rows by another map, which codes tables alike."""
        model = copy.copy(self.model)
        model.feature_map_ = feature_map
        return replace(self, model=model)

    def total(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum of a function of coded tables."""
        return sum(self.blocks.gather(partial(_of_table, self.model, function)))


def _design(model: Any, task: Any, data_norm: float, intercept_scaling: float, block: Block) -> Any:
    rows, _, targets, _ = model._labelled(block.X, block.y, block.sample_weight, task, reset=False)
    return rows.design(data_norm, intercept_scaling, targets)


def _some(model: Any, task: Any, rows: np.ndarray, block: Block) -> tuple[Any, np.ndarray]:
    every, _, targets, _ = model._labelled(block.X, block.y, block.sample_weight, task, reset=False)
    return every.take(rows, targets)


def _of_table(model: Any, function: Callable[[Any], Any], block: Block) -> Any:
    return function(model._rows(block.X, reset=False).X)
