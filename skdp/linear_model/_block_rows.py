"""The rows of Dask collections, as linear models see them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skdp.data.blocks import Block, Blocks, empty_rows, for_workers
from skdp.data.validation import remember_columns, validated_weights
from skdp.design import DaskDesign, Design
from skdp.exceptions import IncompatibleSolverError
from skdp.features.base import FeatureMap
from skdp.features.row_wise import RowWiseMap
from skdp.samplers import SAMPLERS
from skdp.solvers import SOLVERS, Solver

__all__ = ["BlockRows", "blocks_of", "check_reads_blocks"]


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
    def feature_map(self) -> FeatureMap | RowWiseMap | None:
        return self.model._learnt_map()  # type: ignore[no-any-return]

    @property
    def n_columns(self) -> int:
        found = self.feature_map
        return int(self.model.n_features_in_) if found is None else found.n_features_out

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

    def mapped(self, feature_map: FeatureMap) -> BlockRows:
        """Return the features of the same rows by another map, which codes tables alike."""
        model = copy.copy(self.model)
        model.feature_map_ = feature_map
        return replace(self, model=model)

    def total(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum of a function of coded tables."""
        return sum(self.blocks.gather(partial(_of_table, self.model, function)))


def blocks_of(
    model: Any, X: Any, y: Any, sample_weight: Any, known_task: Any, *, reset: bool
) -> tuple[BlockRows, Any, None]:
    """Return checked rows of Dask collections, which stay where they are, and their task.

    Blocks hold their targets, so that there are none beside them.
    """
    blocks = Blocks.of(X, y, sample_weight)
    remember_columns(model, X, reset=reset)
    worker = for_workers(model)
    if reset:
        worker.feature_map_ = model._new_map(empty_rows(X))
    found = blocks.check(partial(_task_in_block, worker, known_task))
    task = model._task_of_blocks(found, known_task)
    return BlockRows(blocks, worker, task), task, None


def check_reads_blocks(model: Any, solver: Solver, *, sampled: bool) -> None:
    """Raise if rows have to be in memory; those of a sample are."""
    if math.isinf(model.epsilon):
        raise ValueError(
            "epsilon=inf fits scikit-learn's own estimator, which takes no dask collections: "
            "give a finite epsilon, or call .compute() where X and y fit into memory."
        )
    if not (solver.takes_blocks or sampled):
        raise IncompatibleSolverError(
            f"{solver!r} wants all columns or all scores at once and cannot read dask "
            "collections, whose rows stay where they are. Take a solver of "
            f"{[name for name, kind in SOLVERS.items() if kind().takes_blocks]} with a sampler "
            f"of {[name for name, kind in SAMPLERS.items() if kind.takes_blocks]}, or "
            "subsample=, or call .compute() where X and y fit into memory."
        )


def _task_in_block(model: Any, known: Any, block: Block) -> Any:
    """Return what there is to know of a block's targets, after all checks of a fit in memory."""
    _, y = model._rows(block.X, block.y, reset=False)
    if block.sample_weight is not None:
        validated_weights(block.sample_weight, len(y))
    return model._task_in_block(y, known)


def _design(model: Any, task: Any, data_norm: float, intercept_scaling: float, block: Block) -> Any:
    rows, _, targets, _ = model._labelled(block.X, block.y, block.sample_weight, task, reset=False)
    return rows.design(data_norm, intercept_scaling, targets)


def _some(model: Any, task: Any, rows: np.ndarray, block: Block) -> tuple[Any, np.ndarray]:
    every, _, targets, _ = model._labelled(block.X, block.y, block.sample_weight, task, reset=False)
    return every.take(rows, targets)


def _of_table(model: Any, function: Callable[[Any], Any], block: Block) -> Any:
    return function(model._rows(block.X, reset=False).X)
