"""Blocks of rows outside memory. An engine reads them, and only results come to the driver.

Blocks are read many times, so each read checks that the values are the same as in the first read.
The classes print no rows, because workers log the arguments of tasks that fail.

Each round trip is a line of the log "skdp.blocks", at the level DEBUG: off by default, for tests
and benchmarks on public data. It is *not private*: the numbers of trips and of blocks that
samplers and minimizers read depend on the rows.
"""

from __future__ import annotations

import copy
import logging
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import pairwise
from secrets import token_bytes
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from skdp.data import dask
from skdp.data.batches import Batches, blocks_of
from skdp.data.column import Column, check_plain, home_of
from skdp.data.columns import frame_names, is_frame
from skdp.data.dask import SAME_CHUNKS, DaskBlocks
from skdp.data.engine import Block, Engine, n_rows, rows_of
from skdp.data.persons import Persons, with_places
from skdp.support.other_libraries import public_error
from skdp.support.types import MatrixLike, VectorLike

_OF_PERSONS = 2**28  # bytes of a block with all rows of some persons, about
Piece = tuple[int, slice]
"""Some rows of a block, by its number."""


def pieces_of(lengths: Sequence[int], step: int) -> list[list[Piece]]:
    """Return the pieces of old blocks for each new block, in order.

    New blocks begin at multiples of `step`, counted from the first row of all. Where an old block
    has several multiples, the rows from the first to the last of them stay one block, so that at
    most `step` rows at each end have to be copied.
    """
    ends = np.cumsum(lengths)
    starts, n = ends - lengths, int(ends[-1])
    edges = np.unique([0, *(-(-starts // step) * step), *(ends // step * step), n])
    return [_between(starts, ends, low, high) for low, high in pairwise(edges[edges <= n].tolist())]


def _between(starts: np.ndarray, ends: np.ndarray, low: int, high: int) -> list[Piece]:
    """Return the pieces with the rows from `low` to below `high`."""
    first, beyond = ends.searchsorted(low, side="right"), starts.searchsorted(high, side="left")
    return [
        (i, slice(max(low - int(starts[i]), 0), min(high, int(ends[i])) - int(starts[i])))
        for i in range(int(first), int(beyond))
        if starts[i] < ends[i]
    ]


def stacked(parts: Sequence[MatrixLike]) -> MatrixLike:
    """Return the rows of arrays, sparse matrices or pandas objects, such as blocks have.

    Parts of different types become objects. Otherwise, if one block has a missing value, pandas
    would turn the integers of the column into floats, and round those above 2^53. NumPy would turn
    numbers beside a string into strings.
    """
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        kinds = {tuple(np.atleast_1d(part.dtypes)) for part in parts}
        return pd.concat(parts if len(kinds) == 1 else [part.astype(object) for part in parts])
    if home_of(parts[0]) == "pyarrow":
        import pyarrow as pa

        if is_frame(parts[0]):
            return pa.concat_tables(parts)
        return pa.chunked_array([one for part in parts for one in part.chunks], parts[0].type)
    if sparse.issparse(parts[0]):  # of numbers only, which are read as floats
        return sparse.vstack(parts)
    return np.concatenate(parts if len({*map(_type, parts)}) == 1 else [*map(_objects, parts)])


def _type(part: np.ndarray) -> object:
    """Return a type, or a kind of types whose common type has the same values for Python."""
    dtype = part.dtype
    return dtype.kind if dtype.kind in "iufUS" and dtype.char != "g" else dtype


def _objects(part: np.ndarray) -> np.ndarray:
    return part if part.dtype.kind == "O" else Column(part.ravel()).objects().reshape(part.shape)


_LOG = logging.getLogger("skdp.blocks")
T = TypeVar("T")
EstimatorT = TypeVar("EstimatorT")


class _FirstRead(NamedTuple):
    """Facts of a block from the first read, and the result or error of its function."""

    n_rows: int
    n_bytes: int
    fingerprint: int
    found: Any
    error: tuple[type[Exception], str] | None


def empty_rows(X: MatrixLike) -> MatrixLike:
    """Return no rows, in memory, with the columns and types of a collection."""
    is_arrow = isinstance(X, Batches)
    return X.schema.empty_table().select(X.names) if is_arrow else dask.empty_rows(X)


class Blocks:
    """Blocks of rows of a collection, with their targets and weights, on any engine.

    `empty` are no rows, with the *public* columns of all blocks.
    """

    def __init__(self, engine: Engine, empty: MatrixLike = None) -> None:
        self.n_rows: list[int] = []  # of each block, since `check`; *private* if their sum is
        self.n_persons: list[int] = []  # likewise, of each block, if persons are given
        self.is_kept = False  # *public*; whether reads compute nothing anew
        self._engine, self._empty, self._n_given = engine, empty, "all"

    @classmethod
    def of(
        cls,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
        *,
        parameters: Sequence[str] = ("X", "y", "sample_weight"),
    ) -> Blocks:
        """Return the blocks of X and the others. Messages call the first three by `parameters`."""
        given = (X, y, sample_weight, groups)
        parts = dict(zip((*parameters, "groups"), given, strict=True))
        is_arrow = any(isinstance(part, Batches) for part in parts.values())
        return cls((blocks_of if is_arrow else DaskBlocks.of)(parts), empty_rows(X))

    def __len__(self) -> int:
        """Return the number of blocks, since `check`."""
        return len(self.n_rows)

    def check(self, function: Callable[[Block], T], *, of_persons: bool = False) -> list[T]:
        """Return ``function(block)`` of each block that has rows: the first read of the data.

        If blocks raise errors, it raises the first one, with the block's number if the user has cut
        the rows; otherwise the number is private, as it counts rows or smaller values.
        `function` raises ValueError or TypeError, of which `public_error` shows what is public, or
        another exception, whose type is shown. Blocks without rows are dropped, but not all blocks.
        If `of_persons`, each of the blocks from now on has all rows of some persons.
        """
        if fits := self._engine.n_bytes <= self._engine.room():
            self._keep()
        seen: list[_FirstRead] = self.gather(partial(_read_first, self._empty, function))
        self._n_given = str(len(seen))
        numbers = [i for i, one in enumerate(seen) if one.n_rows] or [0]
        for i in numbers:
            if (error := seen[i].error) is not None:
                kind, text = error
                raise kind(f"In {self._place(i)}: {text}")
        self.n_rows = [seen[i].n_rows for i in numbers]
        self._guard({i: seen[i].fingerprint for i in numbers})
        n_bytes = sum(seen[i].n_bytes for i in numbers)
        if of_persons:
            self._bring_persons_together(n_bytes)
        if fits or n_bytes <= self._engine.room():
            self._keep()
        elif self._engine.may_end:  # a second read, before the spend
            list(self._engine.derived([(Block.parts, [0])]).read())
        return [seen[i].found for i in numbers]

    def _bring_persons_together(self, n_bytes: int) -> None:
        """Cut new blocks, each with all rows of some persons."""
        n, n_blocks = 1 + n_bytes // _OF_PERSONS, len(self.n_rows)
        placed = self._engine.mapped(partial(with_places, token_bytes(), n))
        self._engine = placed.shuffled(_part, partial(_cut_out, None), n, n_blocks)
        sizes = self.gather(_n_rows_and_persons)
        numbers = [i for i, (n_rows, _) in enumerate(sizes) if n_rows] or [0]
        self.n_rows, self.n_persons = ([sizes[i][j] for i in numbers] for j in (0, 1))
        self._guard(dict.fromkeys(numbers))

    def gather(
        self, function: Callable[..., T], arguments: Mapping[int, object] | None = None
    ) -> list[T]:
        """Return ``function(block)`` of each block in order: one round trip.

        With `arguments`, by increasing numbers of blocks, only these blocks are read, by
        ``function(argument, block)``. The function is picklable.
        """
        if arguments is None:
            return list(self.stream(function))
        tasks = [(partial(function, one), [i]) for i, one in arguments.items()]
        _LOG.debug("%s of %d blocks", _name(function), len(tasks))
        return list(self._engine.derived(tasks).read())

    def stream(self, function: Callable[[Any], T]) -> Iterator[T]:
        """Yield what `gather` returns, where all results together may be large."""
        yield from self._engine.mapped(function).read()
        _LOG.debug("%s of %s blocks", _name(function), self._n_given)

    def places(self, rows: np.ndarray, sizes: Sequence[int] | None = None) -> dict[int, np.ndarray]:
        """Split increasing row numbers by block, counted from the first row of each, for `gather`.

        There is at least one block. With the `sizes` of blocks, others than rows are counted.
        """
        sizes = self.n_rows if sizes is None else sizes
        ends = np.cumsum(sizes)
        parts = np.split(rows, rows.searchsorted(ends[:-1]))
        found = {i: part - (ends[i] - sizes[i]) for i, part in enumerate(parts) if part.size}
        return found or {0: rows}

    def map(self, function: Callable[[Any], object]) -> Blocks:
        """Return blocks with the values ``function(block)``. They are kept if these blocks are."""
        return self._changed(self._engine.mapped(function), self.n_rows)

    def stored(self) -> Blocks:
        """Return the same blocks, for many reads."""
        return self if self.is_kept else self._changed(self._engine.stored(len(self)), self.n_rows)

    def recut(self, step: int) -> Blocks:
        """Return the same rows in blocks that begin at multiples of `step` rows, after `check`.

        If these blocks are kept, the new ones are kept instead.
        """
        pieces = pieces_of(self.n_rows, step)
        if not pieces or pieces == [[(i, slice(0, n))] for i, n in enumerate(self.n_rows)]:
            return self
        tasks = [
            (partial(_cut_out, [rows for _, rows in own]), [i for i, _ in own]) for own in pieces
        ]
        n_rows = [sum(rows.stop - rows.start for _, rows in own) for own in pieces]
        return self._changed(self._engine.derived(tasks), n_rows)

    def _changed(self, engine: Engine, n_rows: list[int]) -> Blocks:
        changed = Blocks(engine)
        changed.n_rows, changed._n_given = n_rows, self._n_given
        if self.is_kept:
            changed._keep()
        return changed

    def _keep(self) -> None:
        """Compute the blocks and keep them where they are."""
        if not self.is_kept:
            self._engine, self.is_kept = self._engine.kept(), True

    def _guard(self, fingerprints: Mapping[int, int | None]) -> None:
        """Keep the blocks of these numbers, compared with fingerprints unless none can change."""
        if self._engine.is_fixed:
            fingerprints = dict.fromkeys(fingerprints)
        known = fingerprints.items()
        tasks = [(partial(_unchanged, self._place(i), one), [i]) for i, one in known]
        self._engine, self.is_kept = self._engine.derived(tasks), False

    def _place(self, number: int) -> str:
        return f"block {number} of the rows" if self._engine.are_given else "the rows"


def for_workers(estimator: EstimatorT) -> EstimatorT:
    """Return a copy without the secrets of the driver: budgets and the seed."""
    alone = copy.copy(estimator)
    for name in {"budget", "random_state"} & vars(alone).keys():
        setattr(alone, name, None)
    return alone


def _read_first(empty: MatrixLike, function: Callable[[Block], object], block: Block) -> _FirstRead:
    lengths = [*map(n_rows, block.parts())]
    most = max(lengths)
    try:
        _check_columns(empty, block.X)
        if min(lengths) < most:
            raise ValueError(f"the collections have different numbers of rows here. {SAME_CHUNKS}")
        check_plain(*block.parts())
        found = function(block)
        return _FirstRead(most, sum(map(_size, block.parts())), _fingerprint(block), found, None)
    except (ValueError, TypeError) as problem:
        shown = public_error(problem)
        error = type(shown), str(shown)
    except Exception as problem:
        error = ValueError, f"its values cannot be checked, which ends in {type(problem).__name__}."
    return _FirstRead(most, 0, 0, None, error)


def _check_columns(empty: MatrixLike, X: MatrixLike) -> None:
    names, columns = frame_names(empty), frame_names(X)
    if columns != names:
        missing = [name for name in names if name not in columns]
        found = f"{missing} are not there" if missing else f"they are {columns}"
        raise ValueError(f"the columns of the dataframe are {names}; {found}.")
    if empty.shape[1:] != X.shape[1:]:
        raise ValueError("the number of columns differs from that of the whole collection.")


def _unchanged(place: str, known: int | None, block: Block) -> Block:
    """Return the block if it equals the one of the first read, by a fingerprint unless None."""
    if known is not None and _fingerprint(block) != known:
        raise ValueError(
            f"{place.capitalize()} changed between two reads, so the fit has no guarantee. Do not "
            "write to the data during a fit. For dask collections, call .persist() first."
        )
    return block


def _cut_out(rows: Sequence[slice | np.ndarray] | None, *blocks: Block) -> Block:
    """Return some rows of each block as one, or all rows."""
    cut = [
        [
            None if part is None else _some_rows(part, some)
            for part in (one.X, one.y, one.sample_weight, one.groups)
        ]
        for one, some in zip(blocks, rows or [slice(None)] * len(blocks), strict=True)
    ]
    return Block(*map(stacked, zip(*cut, strict=True)))


def _part(i: int, placed: tuple[Block, np.ndarray]) -> Block:
    """Return the rows of a block that the i-th new block gets."""
    block, places = placed
    return _cut_out([np.flatnonzero(places == i)], block)


def _n_rows_and_persons(block: Block) -> tuple[int, int]:
    n = n_rows(block.groups)
    return n, Persons.of(block.groups, n).n_persons


def _some_rows(part: MatrixLike, rows: slice | np.ndarray) -> MatrixLike:
    is_arrow = home_of(part) == "pyarrow" and not isinstance(rows, slice)
    return part.take(rows) if is_arrow else rows_of(part)[rows]


def _fingerprint(block: Block) -> int:
    buffers = (values for part in block.parts() for values in _arrays(part))
    return reduce(lambda found, values: zlib.crc32(values, found), buffers, 0)


def _arrays(part: MatrixLike) -> list[VectorLike]:
    """Return buffers that are equal if the parts are."""
    if hasattr(part, "iloc"):
        from pandas.util import hash_pandas_object

        return [hash_pandas_object(part, index=False).to_numpy()]
    if sparse.issparse(part):
        return [part.tocsr().data, part.tocsr().indices, part.tocsr().indptr]
    if home_of(part) == "pyarrow":
        columns = part.columns if is_frame(part) else [part]
        read = (values for column in columns for values in Column(column).read())
        return [one for values in read if values is not None for one in _arrays(values)]
    values = np.ascontiguousarray(part)
    if values.dtype.kind in "biufcmM":
        return [values.view(np.uint8)]
    return ["\0".join(map(str, values.ravel().tolist())).encode(errors="surrogatepass")]


def single_column(name: str, part: MatrixLike) -> MatrixLike:
    """Return a table of one column as that column, with a warning; all else as it is."""
    shape: Sequence[float] = part.shape if hasattr(type(part), "shape") else ()
    if len(shape) != 2 or shape[1] != 1:
        return part
    warnings.warn(
        f"{name} is a column vector where one column without a second axis is expected.",
        DataConversionWarning,
        stacklevel=2,
    )
    return part[part.columns[0]] if hasattr(type(part), "divisions") else rows_of(part)[:, 0]


def _size(part: MatrixLike) -> int:
    if hasattr(part, "memory_usage"):
        return int(np.sum(part.memory_usage(deep=True)))
    if sparse.issparse(part):
        return int(part.data.nbytes + part.indices.nbytes + part.indptr.nbytes)
    return int(getattr(part, "nbytes", 0))


def _name(function: Callable[..., object]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
