"""Blocks of rows of Dask collections. Workers read them, and only results come to the driver.

A read is one graph and one round trip, on any scheduler. Blocks are read many times, so each read
checks that the recomputed values are the same as in the first read. The classes print no rows,
because workers log the arguments of tasks that fail.

Each round trip is a line of the log "skdp.blocks", at the level DEBUG: off by default, for tests
and benchmarks on public data. It is *not private*: the numbers of trips and of blocks that
samplers and minimizers read depend on the rows.
"""

from __future__ import annotations

import copy
import logging
import math
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from skdp.data.column import check_plain, is_collection
from skdp.data.columns import is_frame
from skdp.support.other_libraries import public_error
from skdp.support.types import MatrixLike, VectorLike

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

    Frames with different types become objects. Otherwise, if one block has a missing value, pandas
    would turn the integers of the column into floats, and round those above 2^53.
    """
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        kinds = {tuple(np.atleast_1d(part.dtypes)) for part in parts}
        return pd.concat(parts if len(kinds) == 1 else [part.astype(object) for part in parts])
    return (sparse.vstack if sparse.issparse(parts[0]) else np.concatenate)(parts)


_LOG = logging.getLogger("skdp.blocks")
_KEPT_LOCALLY = 2**30  # bytes of a collection that are kept in one machine's memory between reads
_KEPT_SHARE = 0.5  # of the memory of a cluster's workers
_UNKNOWN = math.inf
_SAME_CHUNKS = (
    "Give them the same chunks, as rechunk of an array or repartition of a dataframe does."
)
T = TypeVar("T")
EstimatorT = TypeVar("EstimatorT")
Graph = dict[Hashable, Any]
"""Tasks and data of dask, by key."""


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """*Private* consecutive rows as they came, with their targets and weights if there are any."""

    X: MatrixLike
    y: VectorLike = None
    sample_weight: VectorLike = None

    def parts(self) -> list[MatrixLike]:
        return [part for part in (self.X, self.y, self.sample_weight) if part is not None]


class _FirstRead(NamedTuple):
    """Facts of a block from the first read, and the result or error of its function."""

    n_rows: int
    n_bytes: int
    fingerprint: int
    found: Any
    error: tuple[type[Exception], str] | None


def empty_rows(X: MatrixLike) -> MatrixLike:
    """Return no rows, in memory, with the columns and types of a collection."""
    _check_kind("X", X)
    if hasattr(type(X), "divisions"):
        return X._meta
    shape = (0, *map(int, X.shape[1:]))
    if sparse.issparse(getattr(X, "_meta", None)):
        return sparse.csr_matrix(shape, dtype=X.dtype)
    return np.empty(shape, dtype=X.dtype)


class Blocks:
    """Blocks of rows of a dask array or dataframe, with their targets and weights.

    The graph and its `keys` are *private*. The `names` of columns, empty for arrays, and
    `n_columns`, None for one column without a second axis, are *public*. So is `n_bytes`, the size
    of what has to be computed, infinite if unknown.
    """

    def __init__(
        self,
        graph: Graph,
        keys: Sequence[Hashable],
        *,
        names: Sequence[Hashable] = (),
        n_columns: int | None = None,
        n_bytes: float = _UNKNOWN,
    ) -> None:
        self.names, self.n_columns = list(names), n_columns
        self.n_rows: list[int] = []  # of each block, since `check`; *private* if their sum is
        self.is_kept = False  # *public*; whether reads compute nothing anew
        self._graph, self._keys, self._n_bytes = dict(graph), list(keys), n_bytes
        self._n_given = len(self._keys)

    @classmethod
    def of(
        cls,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        parameters: Sequence[str] = ("X", "y", "sample_weight"),
    ) -> Blocks:
        """Return the blocks of X; y and weights are collections cut like it, or in memory.

        Nothing is computed, except unknown lengths of blocks if y or weights are in memory.
        Messages call the three by the names `parameters`.
        """
        first = parameters[0]
        parts = dict(zip(parameters, (X, y, sample_weight), strict=True))
        given = {name: part for name, part in parts.items() if part is not None}
        lazy = {name: by_rows(name, part) for name, part in given.items() if is_collection(part)}
        if first not in lazy:
            raise ValueError(
                f"{next(iter(lazy))} is a dask collection, but {first} is in memory. Pass both as "
                "dask collections, or call .compute() if the data fit into memory."
            )
        tasks = {name: _tasks(part) for name, part in lazy.items()}
        graph = {key: task for own, _ in tasks.values() for key, task in own.items()}
        keys = {name: own for name, (_, own) in tasks.items()}
        for name in given.keys() - lazy.keys():
            lengths = _lengths(lazy[first], graph, keys[first])
            values, keys[name] = _cut(name, given[name], first, lengths)
            graph |= values
        expected = len(keys[first])
        for name in (name for name, own in keys.items() if len(own) != expected):
            said = f"{first} has {expected} blocks of rows, and {name} {len(keys[name])}."
            raise ValueError(f"{said} {_SAME_CHUNKS}")
        blocks = [_new_key("block") for _ in keys[first]]
        absent = [None] * len(blocks)
        columns = (keys.get(name, absent) for name in parts)
        graph |= {key: (Block, *own) for key, *own in zip(blocks, *columns, strict=True)}
        n_columns = _n_columns(X)
        n_bytes = sum(map(_n_bytes, lazy.values()))
        return cls(graph, blocks, names=_names(X), n_columns=n_columns, n_bytes=n_bytes)

    def __len__(self) -> int:
        return len(self._keys)

    def check(self, function: Callable[[Block], T]) -> list[T]:
        """Return ``function(block)`` of each block that has rows: the first read of the data.

        If blocks raise errors, it raises the first one, with the number of the block in X.
        `function` raises ValueError or TypeError, of which `public_error` shows what is public, or
        another exception, whose type is shown. Blocks without rows are dropped, but not all blocks.
        """
        if fits := self._n_bytes <= _room():
            self._keep()
        first_read = partial(_read_first, self.names, self.n_columns, function)
        seen: list[_FirstRead] = self.gather(first_read)
        numbers = [i for i, one in enumerate(seen) if one.n_rows] or [0]
        for i in numbers:
            if (error := seen[i].error) is not None:
                kind, text = error
                raise kind(f"In block {i} of the rows: {text}")
        seen = [seen[i] for i in numbers]
        self.n_rows = [one.n_rows for one in seen]
        self._guard(numbers, [one.fingerprint for one in seen])
        if fits or sum(one.n_bytes for one in seen) <= _room():
            self._keep()
        return [one.found for one in seen]

    def gather(
        self, function: Callable[..., T], arguments: Mapping[int, object] | None = None
    ) -> list[T]:
        """Return ``function(block)`` of each block in order: one round trip.

        With `arguments`, by number of a block, only these blocks are read, in this order, by
        ``function(argument, block)``. The function is picklable.
        """
        if arguments is None:
            tasks = [(function, key) for key in self._keys]
        else:
            tasks = [(partial(function, one), self._keys[i]) for i, one in arguments.items()]
        results: list[Hashable] = [_new_key("result") for _ in tasks]
        n_read = self._n_given if arguments is None else len(tasks)
        _LOG.debug("%s of %d blocks", _name(function), n_read)
        graph = self._needed(task[1] for task in tasks) | dict(zip(results, tasks, strict=True))
        return list(_scheduler()(graph, results))

    def places(self, rows: np.ndarray) -> dict[int, np.ndarray]:
        """Split increasing row numbers by block, counted from the first row of each, for `gather`.

        There is at least one block.
        """
        ends = np.cumsum(self.n_rows)
        parts = np.split(rows, rows.searchsorted(ends[:-1]))
        found = {i: part - (ends[i] - self.n_rows[i]) for i, part in enumerate(parts) if part.size}
        return found or {0: rows}

    def map(self, function: Callable[[Any], object]) -> Blocks:
        """Return blocks with the values ``function(block)``. They are kept if these blocks are."""
        return self._changed([(function, own) for own in self._keys], "mapped", self.n_rows)

    def recut(self, step: int) -> Blocks:
        """Return the same rows in blocks that begin at multiples of `step` rows, after `check`.

        If these blocks are kept, the new ones are kept instead.
        """
        pieces = pieces_of(self.n_rows, step)
        if not pieces or pieces == [[(i, slice(0, n))] for i, n in enumerate(self.n_rows)]:
            return self
        tasks = [
            (partial(_cut_out, [rows for _, rows in own]), [self._keys[i] for i, _ in own])
            for own in pieces
        ]
        n_rows = [sum(rows.stop - rows.start for _, rows in own) for own in pieces]
        return self._changed(tasks, "cut", n_rows)

    def _changed(self, tasks: Sequence[object], name: str, n_rows: list[int]) -> Blocks:
        """Return the results of tasks as blocks."""
        keys = [_new_key(name) for _ in tasks]
        changed = Blocks(self._graph | dict(zip(keys, tasks, strict=True)), keys)
        changed.n_rows, changed._n_given = n_rows, self._n_given
        if self.is_kept:
            changed._keep()
        return changed

    def _keep(self) -> None:
        """Compute the blocks and keep them, on a cluster where they are."""
        if not self.is_kept:
            more = {} if _client() is None else {"sync": False}
            values = _scheduler()(self._needed(self._keys), self._keys, **more)
            self._graph, self.is_kept = dict(zip(self._keys, values, strict=True)), True

    def _guard(self, numbers: Sequence[int], fingerprints: Sequence[int]) -> None:
        """Compare the blocks with their fingerprints whenever they are computed again."""
        self._keys = [self._keys[i] for i in numbers]
        if self.is_kept and _client() is None:
            return
        self.is_kept = False
        guards = [partial(_unchanged, *known) for known in zip(numbers, fingerprints, strict=True)]
        guarded: list[Hashable] = [_new_key("guarded") for _ in guards]
        self._graph |= dict(zip(guarded, zip(guards, self._keys, strict=True), strict=True))
        self._keys = guarded

    def _needed(self, keys: Iterable[Hashable]) -> Graph:
        """Return the part of the graph that the blocks of these keys need."""
        return {key: self._graph[key] for key in keys} if self.is_kept else self._graph


def for_workers(estimator: EstimatorT) -> EstimatorT:
    """Return a copy without the secrets of the driver: budgets and the seed."""
    alone = copy.copy(estimator)
    for name in {"budget", "random_state"} & vars(alone).keys():
        setattr(alone, name, None)
    return alone


def _read_first(
    names: list[Hashable], n_columns: int | None, function: Callable[[Block], object], block: Block
) -> _FirstRead:
    lengths = [*map(_n_rows, block.parts())]
    n_rows = max(lengths)
    try:
        _check_columns(names, n_columns, block.X)
        if min(lengths) < n_rows:
            raise ValueError(f"the collections have different numbers of rows here. {_SAME_CHUNKS}")
        check_plain(*block.parts())
        found = function(block)
        return _FirstRead(n_rows, sum(map(_size, block.parts())), _fingerprint(block), found, None)
    except (ValueError, TypeError) as problem:
        shown = public_error(problem)
        error = type(shown), str(shown)
    except Exception as problem:
        error = ValueError, f"its values cannot be checked, which ends in {type(problem).__name__}."
    return _FirstRead(n_rows, 0, 0, None, error)


def _check_columns(names: list[Hashable], n_columns: int | None, X: MatrixLike) -> None:
    if is_frame(X) and (columns := list(X.columns)) != names:
        missing = [name for name in names if name not in columns]
        found = f"{missing} are not there" if missing else f"they are {columns}"
        raise ValueError(f"the columns of the dataframe are {names}; {found}.")
    if n_columns != (X.shape[1] if len(X.shape) > 1 else None):
        raise ValueError("the number of columns differs from that of the whole collection.")


def _unchanged(number: int, known: int, block: Block) -> Block:
    """Return the block if it equals the one of the first read."""
    if _fingerprint(block) != known:
        raise ValueError(
            f"Block {number} of the rows changed between two reads, so the fit has no guarantee. "
            "Its tasks return different results each time. Call .persist() on X and y first."
        )
    return block


def _cut_out(rows: Sequence[slice], blocks: Sequence[Block]) -> Block:
    """Return some rows of each block as one."""
    cut = [
        [
            None if part is None else _rows_of(part)[some]
            for part in (one.X, one.y, one.sample_weight)
        ]
        for one, some in zip(blocks, rows, strict=True)
    ]
    return Block(*map(stacked, zip(*cut, strict=True)))


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
    values = np.ascontiguousarray(part)
    if values.dtype.kind in "biufcmM":
        return [values.view(np.uint8)]
    return ["\0".join(map(str, values.ravel().tolist())).encode(errors="surrogatepass")]


def _check_kind(name: str, part: MatrixLike) -> None:
    if not (hasattr(type(part), "ndim") and part.ndim in (1, 2)):
        raise ValueError(
            f"{name} is a {type(part).__name__} of Dask: it must be a dask array or dataframe, or "
            "a column of one."
        )
    if not is_frame(part) and any(map(math.isnan, part.shape[1:])):
        raise ValueError(f"{name} is a dask array whose number of columns is not known.")


def by_rows(name: str, part: MatrixLike) -> MatrixLike:
    """Return a collection whose blocks are whole rows."""
    _check_kind(name, part)
    if is_frame(part) or part.ndim == 1:
        return part
    return part.rechunk({1: -1}) if part.numblocks[1] > 1 else part


def single_column(name: str, part: MatrixLike) -> MatrixLike:
    """Return a table of one column as that column, with a warning; all else as it is."""
    shape: Sequence[float] = getattr(part, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return part
    warnings.warn(
        f"{name} is a column vector where one column without a second axis is expected.",
        DataConversionWarning,
        stacklevel=2,
    )
    return part[part.columns[0]] if hasattr(type(part), "divisions") else _rows_of(part)[:, 0]


def _rows_of(part: MatrixLike) -> MatrixLike:
    return part.iloc if hasattr(part, "iloc") else part


def _names(X: MatrixLike) -> list[Hashable]:
    """Return the names of a frame's columns, or of a series; empty for arrays."""
    if is_frame(X):
        return list(X.columns)
    name = getattr(X, "name", None) if hasattr(type(X), "divisions") else None
    return [] if name is None else [name]


def _n_columns(X: MatrixLike) -> int | None:
    return None if X.ndim == 1 else len(X.columns) if is_frame(X) else int(X.shape[1])


def _n_rows(part: MatrixLike) -> int:
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)


def _tasks(collection: MatrixLike) -> tuple[Graph, list[Hashable]]:
    """Return the optimized graph of a collection, and the keys of its blocks."""
    import dask

    tasks = dict(collection.__dask_graph__())
    if hasattr(type(collection), "divisions"):
        best = collection.optimize()
    else:
        (best,) = dask.optimize(collection)  # which forgets futures
    futures = {key: task for key, task in tasks.items() if type(task).__name__ == "Future"}
    return futures | dict(best.__dask_graph__()), [*dask.core.flatten(best.__dask_keys__())]


def _lengths(X: MatrixLike, graph: Graph, keys: Sequence[Hashable]) -> list[int]:
    """Return the numbers of rows of the blocks of X, counted if they are not known."""
    is_known = not is_frame(X) and not math.isnan(X.shape[0])
    return list(X.chunks[0]) if is_known else Blocks(graph, keys).gather(_n_rows)


def _cut(
    name: str, part: MatrixLike, first: str, lengths: Sequence[int]
) -> tuple[Graph, list[Hashable]]:
    """Return data in memory as blocks of these lengths, by new keys."""
    if not hasattr(part, "__len__") or not np.ndim(part) or _n_rows(part) != sum(lengths):
        raise ValueError(f"{name} must have as many rows as {first}.")
    rows = _rows_of(part)
    ends = np.cumsum([0, *lengths])
    values: Graph = {_new_key(name): rows[start:stop] for start, stop in pairwise(ends)}
    return values, list(values)


def _n_bytes(collection: MatrixLike) -> float:
    """Return the size of a collection in bytes, or 0 if it is persisted."""
    graph = dict(collection.__dask_graph__())
    if all(_is_data(one) or type(one).__name__ == "Alias" for one in graph.values()):
        return 0.0
    size = math.nan if hasattr(type(collection), "divisions") else collection.nbytes
    return _UNKNOWN if math.isnan(size) else float(size)


def _size(part: MatrixLike) -> int:
    if hasattr(part, "memory_usage"):
        return int(np.sum(part.memory_usage(deep=True)))
    if sparse.issparse(part):
        return int(part.data.nbytes + part.indices.nbytes + part.indptr.nbytes)
    return int(getattr(part, "nbytes", 0))


def _is_data(value: object) -> bool:
    """Return whether a value of a graph is there where it is used: on a cluster a future."""
    from dask.core import istask

    if _client() is not None:
        return type(value).__name__ == "Future"
    return not istask(value)


def _room() -> float:
    """Return the number of bytes that may be kept between reads."""
    client = _client()
    if client is None:
        return float(_KEPT_LOCALLY)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return _KEPT_SHARE * sum(float(one["memory_limit"] or _KEPT_LOCALLY) for one in workers)


def _scheduler() -> Callable[..., Any]:
    """Return the function that computes a graph: the one that is set, or threads."""
    import dask.threaded
    from dask.base import get_scheduler

    return get_scheduler() or dask.threaded.get


def _client() -> Any:
    """Return the cluster's client that computes graphs, None if there is none."""
    client = getattr(_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _new_key(name: str) -> str:
    return f"{name}-{uuid4().hex}"


def _name(function: Callable[..., object]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
