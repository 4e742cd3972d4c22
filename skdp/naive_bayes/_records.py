"""Records of naive Bayes, in memory or in Dask blocks, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skdp.data.blocks import Block, Blocks, added
from skdp.data.columns import Columns
from skdp.data.persons import Persons
from skdp.data.validation import codes_in_block
from skdp.naive_bayes.features import Feature, in_units, in_units_below
from skdp.naive_bayes.totals import Totals

__all__ = ["LabelledBlocks", "LabelledColumns", "column_key"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelledColumns:
    """Validated columns, classes of the rows as 0..K−1, and what is public about both.

    `weights` are in units of `unit`, the largest that counts, and clipped to it where a fit is
    private; None for equal ones.
    """

    columns: Columns
    codes: np.ndarray
    classes: np.ndarray
    features: Sequence[Feature]
    count_is_public: bool
    weights: np.ndarray | None
    unit: float
    earlier: Totals | None = None
    n_persons: int | None = None

    def of_persons(self, persons: Persons) -> LabelledColumns:
        """Return the records of persons, whose rows weigh as much as one together at most."""
        weights = persons.row_weights()
        if self.weights is not None:
            weights = weights * self.weights
        return replace(self, weights=weights, n_persons=persons.n_persons)

    @property
    def n_records(self) -> int:
        """The number of records: of rows, or of persons."""
        return self.codes.size if self.n_persons is None else self.n_persons

    @property
    def is_weighted(self) -> bool:
        """Whether there are weights."""
        return self.weights is not None

    def answers(self, *, exact: bool) -> dict[str, np.ndarray]:
        """Return the *private* answers; `exact` sums take weights as multiples of 2^−24."""
        n_classes, weights = self.classes.size, self.weights
        if weights is not None and exact:
            weights = in_units(weights) if self.n_persons is None else in_units_below(weights)
        found = {"classes": np.bincount(self.codes, weights, n_classes)}
        for j, (feature, x) in enumerate(zip(self.features, self.columns.parts, strict=True)):
            found[column_key(j)] = feature.answer(x, self.codes, n_classes, weights)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class LabelledBlocks:
    """Columns and labels of Dask collections, which passed the checks where they are.

    `model` is the estimator without what workers may not know.
    """

    blocks: Blocks
    model: Any
    classes: np.ndarray
    features: Sequence[Feature]
    count_is_public: bool
    is_weighted: bool
    unit: float
    earlier: Totals | None = None
    n_persons: None = None

    @property
    def n_records(self) -> int:
        """The number of rows."""
        return sum(self.blocks.n_rows)

    def answers(self, *, exact: bool) -> dict[str, np.ndarray]:
        """Return the *private* answers, sums over the blocks."""
        known = partial(_labelled, self.model, self.features, self.classes, self.unit)
        return added(self.blocks.gather(partial(_answers, known, exact)))


def _labelled(
    model: Any,
    features: Sequence[Feature],
    classes: np.ndarray,
    unit: float,
    block: Block,
) -> LabelledColumns:
    """Return a block, after `_facts`, as records in memory."""
    columns, codes = Columns.of(block.X, "X"), codes_in_block(block.y, classes)
    weights = model._weights(block.sample_weight, codes.size, unit)
    return LabelledColumns(columns, codes, classes, features, False, weights, unit)


def _answers(
    labelled: Callable[[Block], LabelledColumns], exact: bool, block: Block
) -> dict[str, np.ndarray]:
    return labelled(block).answers(exact=exact)


def column_key(j: int) -> str:
    """Return the name of what is asked of a column."""
    return f"column {j}"
