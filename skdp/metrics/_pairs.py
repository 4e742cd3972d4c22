"""True and predicted values of test rows, in memory or in Dask blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.data.blocks import Block, Blocks, added
from skdp.data.column import Column, is_collection
from skdp.data.exact_sums import in_records, steps_of
from skdp.data.persons import Persons, refuse_blocks
from skdp.data.validation import check_no_missing, present

__all__ = ["Pairs", "check_order", "numbers_of"]

_MOST_ROWS = 2**31


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """*Private* predictions, and the truth beside them.

    `n_records` is the number of records: of rows, or of persons.
    """

    blocks: Blocks | None
    block: Block | None
    n_records: int
    found: list[Any]
    persons: Persons | None = None

    @classmethod
    def of(
        cls,
        parameters: ReleaseParameters,
        truth: Any,
        guess: Any,
        check: Callable[[Block], Any],
        *,
        guess_name: str = "y_pred",
        groups: Any = None,
    ) -> Pairs:
        """Return the pairs, and what a check has found in each block of them."""
        if is_collection(truth) or is_collection(guess):
            refuse_blocks(groups)
            blocks = Blocks.of(guess, truth, parameters=(guess_name, "y_true", "sample_weight"))
            found = blocks.check(partial(_of_present, check, guess_name))
            return cls(blocks, None, _checked_count(parameters, sum(blocks.n_rows)), found)
        block = _present(guess_name, Block(guess, truth))
        if np.shape(block.X)[:1] != np.shape(block.y)[:1]:
            raise ValueError("there must be as many predictions as true values.")
        n_rows = _checked_count(parameters, len(block.y))
        if groups is None:
            return cls(None, block, n_rows, [check(block)])
        persons = Persons.of(groups, n_rows)
        return cls(None, block, persons.n_persons, [check(block)], persons)

    def total(self, function: Callable[[Block], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return sums over rows, by name, which a function gives for a block."""
        if self.blocks is None:
            assert self.block is not None, "pairs are in memory or in blocks"
            return function(self.block)
        return added(self.blocks.gather(partial(_of_present, function, "y_pred")))

    def counts(
        self, function: Callable[[np.ndarray | None, Block], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Return what `total` does of a function that counts rows by what they weigh, in steps."""
        if self.persons is None:
            return self.total(partial(function, None))
        weights = steps_of(self.persons)
        counts = self.total(partial(function, weights))
        return {name: in_records(steps, weights) for name, steps in counts.items()}

    def of_records(
        self, numbers: Callable[[Block], Iterator[dict[str, np.ndarray]]]
    ) -> Callable[[Block], Iterator[dict[str, np.ndarray]]]:
        """Return what gives the numbers of records: those of rows, or their means for persons."""
        return numbers if self.persons is None else partial(_means, self.persons, numbers)


def _means(
    persons: Persons, numbers: Callable[[Block], Iterator[dict[str, np.ndarray]]], block: Block
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the mean numbers of each person's rows, within what one row may have.

    A mean is in the convex hull of rows, but for 2^−53 a row: what a record is rounded by is more.
    """
    some = list(numbers(block))
    for name in some[0] if some else ():
        rows = np.concatenate([one[name] for one in some])
        sums = [np.bincount(persons.codes, one, persons.n_persons) for one in rows.T]
        yield {name: np.stack(sums, axis=1) / persons.counts[:, None]}


def _checked_count(parameters: ReleaseParameters, n: int) -> int:
    """Return the number of rows; zero rows raise ValueError only if the number is public."""
    if n == 0 and parameters.neighboring.count_is_public:
        raise ValueError("there must be at least one row.")
    if n >= _MOST_ROWS:
        raise ValueError("there must be fewer than 2^31 rows.")
    return n


def _present(guess_name: str, block: Block) -> Block:
    """Return predictions and truth as arrays; raise ValueError if a value is missing."""
    return Block(present(guess_name, block.X), present("y_true", block.y))


def _of_present(function: Callable[[Block], Any], guess_name: str, block: Block) -> Any:
    return function(_present(guess_name, block))


def numbers_of(name: str, column: np.ndarray) -> np.ndarray:
    """Return finite floats of one column; raise without quoting a value."""
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"{name} must be one column of numbers.")
    check_no_missing(name, column)
    try:
        floats = Column(column).floats()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold finite numbers.") from None
    if not np.isfinite(floats).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return floats


def check_order(classes: Any) -> None:
    """Raise unless labels are in increasing order, as a classifier's are: the last is positive."""
    if classes is None:
        return
    if np.size(classes) < 2:
        raise ValueError(f"classes must be two labels or more, got {classes!r}.")
    if np.ndim(classes) != 1 or list(classes) != np.unique(np.asarray(classes)).tolist():
        raise ValueError(f"classes must be different labels in increasing order, got {classes!r}.")
