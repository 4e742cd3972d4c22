"""True and predicted values of test rows, in memory or in Dask blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skdp._blocks import Block, Blocks, added, is_collection
from skdp._columns import as_floats
from skdp._data_validation import check_no_missing

__all__ = ["Pairs", "check_order", "numbers_of"]

_MOST_ROWS = 2**31


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """*Private* predictions, and the truth beside them."""

    blocks: Blocks | None
    block: Block | None
    n_rows: int
    found: list[Any]

    @classmethod
    def of(
        cls, truth: Any, guess: Any, check: Callable[[Block], Any], *, guess_name: str = "y_pred"
    ) -> Pairs:
        """Return the pairs, and what a check has found in each block of them."""
        if is_collection(truth) or is_collection(guess):
            blocks = Blocks.of(guess, truth, parameters=(guess_name, "y_true", "sample_weight"))
            found = blocks.check(check)
            return cls(blocks, None, _checked_count(sum(blocks.n_rows)), found)
        block = Block(np.asarray(guess), np.asarray(truth))
        if len(block.X) != len(block.y):
            raise ValueError("there must be as many predictions as true values.")
        return cls(None, block, _checked_count(len(block.y)), [check(block)])

    def total(self, function: Callable[[Block], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return sums over rows, by name, which a function gives for a block."""
        if self.blocks is None:
            assert self.block is not None, "pairs are in memory or in blocks"
            return function(self.block)
        return added(self.blocks.gather(function))


def _checked_count(n: int) -> int:
    if not 0 < n < _MOST_ROWS:
        raise ValueError("there must be at least one row, and fewer than 2^31.")
    return n


def numbers_of(name: str, values: Any) -> np.ndarray:
    """Return finite floats of one column; raise without quoting a value."""
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"{name} must be one column of numbers, got the shape {column.shape}.")
    check_no_missing(name, column)
    try:
        floats = as_floats(column)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold finite numbers.") from None
    if not np.isfinite(floats).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return floats


def check_order(classes: Any) -> None:
    """Raise unless labels are in increasing order, as a classifier's are: the last is positive."""
    if classes is None:
        return
    if np.ndim(classes) != 1 or list(classes) != np.unique(np.asarray(classes)).tolist():
        raise ValueError(f"classes must be different labels in increasing order, got {classes!r}.")
