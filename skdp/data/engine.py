"""The contract with the places where blocks of rows are: all that other code knows of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from skdp.support.types import MatrixLike, VectorLike

KEPT_LOCALLY = 2**30  # bytes of a collection that stay in one machine's memory between reads
Task = tuple[Callable[..., Any], Sequence[int]]
"""A picklable function, and the increasing numbers of the blocks that are its arguments."""


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """*Private* consecutive rows as they came, with targets, weights and persons, if there are."""

    X: MatrixLike
    y: VectorLike = None
    sample_weight: VectorLike = None
    groups: VectorLike = None

    def parts(self) -> list[MatrixLike]:
        every = self.X, self.y, self.sample_weight, self.groups
        return [part for part in every if part is not None]


class Engine(ABC):
    """*Private* blocks in order, computed whenever they are read (`tests/test_engines.py`)."""

    n_bytes: float = math.inf  # *public* size of what a read computes, infinite if unknown
    are_given: ClassVar[bool] = False  # *public*; whether the user has cut the rows into blocks
    is_fixed: bool = False  # *public*; whether no read can differ from the others
    may_end: bool = False  # *public*; whether the rows may be readable only once

    @abstractmethod
    def read(self) -> Iterable[Any]:
        """Return the blocks in order, at least one: one round trip."""

    @abstractmethod
    def mapped(self, function: Callable[[Any], object]) -> Engine:
        """Return ``function(block)`` of each block, lazily."""

    @abstractmethod
    def derived(self, tasks: Sequence[Task]) -> Engine:
        """Return the results of tasks as blocks, lazily."""

    @abstractmethod
    def kept(self) -> Engine:
        """Compute the blocks and keep them where they are."""

    def stored(self, n_blocks: int) -> Engine:
        """Return blocks that are computed once, if the engine has a place that outlives a read."""
        return self

    def shuffled(
        self, part: Callable[[int, Any], Any], join: Callable[..., Any], n: int, n_blocks: int
    ) -> Engine:
        """Return n lazy blocks. Block i joins ``part(i, block)`` of all `n_blocks` blocks here."""
        numbers = range(n_blocks)
        parts = self.derived([(partial(part, i), [block]) for i in range(n) for block in numbers])
        return parts.derived(
            [(join, range(i, i + n_blocks)) for i in range(0, n * n_blocks, n_blocks)]
        )

    def room(self) -> float:
        """Return the number of bytes that may be kept between reads."""
        return float(KEPT_LOCALLY)


def rows_of(part: MatrixLike) -> MatrixLike:
    """Return an object whose index selects rows: ``iloc`` of a frame, or the part itself."""
    return part.iloc if hasattr(part, "iloc") else part


def n_rows(part: MatrixLike) -> int:
    """Return the number of rows of an array, a table or a list."""
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)
