"""The rows of a Dask collection; only sums over them come to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add, attrgetter, methodcaller

import numpy as np

from skdp.data.blocks import Blocks
from skdp.design.base import ROWS_SUMMED, Design, MemoryDesign, OfBlock, RowNumbers, SumGrid, T
from skdp.design.memory import ClippedDesign

_MOST_NUMBERS = 1 << 23  # of rows that are fetched to be summed; no guarantee rests on it


@dataclass(frozen=True, eq=False, repr=False)
class DaskDesign(Design):
    """*Private.* The linear operator θ ↦ Aθ of rows that stay on threads or on a cluster.

    A sum over all rows is one round trip: each block returns its sum, and these are added up in
    the order of the rows. Rows named by `prefetch` come with the next sum, and are kept for `take`
    until other rows are named.
    """

    blocks: Blocks  # *Private.* Each a `MemoryDesign` of at least one row
    n_columns: int  # *Public.* Columns of A, with the intercept's
    _here: _Here = field(default_factory=lambda: _Here(), init=False, repr=False)

    @property
    def n_samples(self) -> int:
        return sum(self.blocks.n_rows)

    @property
    def n_features(self) -> int:
        return self.n_columns

    def parts(self, function: OfBlock[T], most_rows: int | None = None) -> Iterator[T]:
        for parts in self._gather(partial(_parts, function, most_rows)):
            yield from parts

    def total(
        self, function: OfBlock[T], most_rows: int | None = None, rows: np.ndarray | None = None
    ) -> T:
        if rows is None:
            return reduce(add, self._gather(methodcaller("total", function, most_rows)))
        if not rows.size or self._here.brings(rows):
            return function(self.take(rows))
        places = self.blocks.places(rows)
        return reduce(add, self.blocks.gather(lambda i, block: function(block.take(i)), places))

    def exact_total(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        exact = methodcaller("exact_total", function, grid)
        if rows is None:
            return reduce(add, self._gather(exact))
        return exact(self.take(rows)) if self._are_few(rows) else self.total(exact, rows=rows)

    def exact_sum(
        self, function: OfBlock[np.ndarray], grid: SumGrid, rows: np.ndarray | None = None
    ) -> np.ndarray:
        if rows is None and self.n_samples <= ROWS_SUMMED and len(self.blocks) == 1:
            return self._gather(function)[0]
        if rows is not None and self._are_few(rows):
            return self.take(rows).exact_sum(function, grid)
        return super().exact_sum(function, grid, rows)

    def _are_few(self, rows: np.ndarray) -> bool:
        """Return whether rows of several blocks may be one block here, as they are in memory."""
        return rows.size <= ROWS_SUMMED and rows.size * self.n_columns <= _MOST_NUMBERS

    @cached_property
    def most_entries(self) -> int:
        return max(self.blocks.gather(attrgetter("most_entries")))

    def prefetch(self, rows: np.ndarray) -> None:
        """Fetch these rows with the next sum, or with the next rows."""
        self._here.wanted = np.unique(rows)

    def take(self, rows: RowNumbers) -> MemoryDesign:
        if isinstance(rows, slice):
            rows = np.arange(self.n_samples)[rows]
        here = self._here
        if here.wanted is not None and not here.has(rows):
            wanted, here.wanted = np.union1d(rows, here.wanted), None
            here.keep(wanted, self._fetched(wanted))
        if here.has(rows):
            return here.take(rows)
        distinct, places = np.unique(rows, return_inverse=True)
        return ClippedDesign.joined(self._fetched(distinct)).take(places)

    def _fetched(self, rows: np.ndarray) -> list[ClippedDesign]:
        return self.blocks.gather(_rows, self.blocks.places(rows))

    def _gather(self, function: OfBlock[T]) -> list[T]:
        """Return a function of each block, and fetch announced rows."""
        wanted, self._here.wanted = self._here.wanted, None
        if wanted is None:
            return self.blocks.gather(function)
        by_block = self.blocks.places(wanted)
        every = {i: by_block.get(i) for i in range(len(self.blocks))}
        answers = self.blocks.gather(partial(_with_rows, function), every)
        self._here.keep(wanted, [rows for _, rows in answers if rows is not None])
        return [answer for answer, _ in answers]


class _Here:
    """Rows in memory, by number, and rows to fetch with the next sum."""

    def __init__(self) -> None:
        self.wanted: np.ndarray | None = None
        self._kept: tuple[np.ndarray, ClippedDesign] | None = None

    def has(self, rows: np.ndarray) -> bool:
        """Return whether all rows are here."""
        return self._kept is not None and bool(np.isin(rows, self._kept[0]).all())

    def brings(self, rows: np.ndarray) -> bool:
        """Return whether all rows are here, or will be after the next `take`."""
        return self.has(rows) or (
            self.wanted is not None and bool(np.isin(rows, self.wanted).all())
        )

    def keep(self, numbers: np.ndarray, found: list[ClippedDesign]) -> None:
        """Keep the rows of these increasing numbers, and no others."""
        self._kept = numbers, ClippedDesign.joined(found)

    def take(self, rows: np.ndarray) -> MemoryDesign:
        """Return rows that are here."""
        assert self._kept is not None, "rows are kept first"
        numbers, design = self._kept
        return design.take(numbers.searchsorted(rows))


def _parts(function: OfBlock[T], most_rows: int | None, block: MemoryDesign) -> list[T]:
    return list(block.parts(function, most_rows))


def _rows(rows: np.ndarray, block: MemoryDesign) -> ClippedDesign:
    return block.take(rows).in_memory()


def _with_rows(
    function: OfBlock[T], rows: np.ndarray | None, block: MemoryDesign
) -> tuple[T, ClippedDesign | None]:
    return function(block), None if rows is None else _rows(rows, block)
