"""Blocks of Dask collections: a read is one graph and one round trip, on any scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from scipy import sparse

from skdp.data import engine
from skdp.data.column import is_collection
from skdp.data.columns import is_frame
from skdp.data.engine import Block, Engine, Task, n_rows, rows_of
from skdp.support.types import MatrixLike

SAME_CHUNKS = (
    "Give them the same chunks, as rechunk of an array or repartition of a dataframe does."
)
_KEPT_SHARE = 0.5  # of the memory of a cluster's workers
Graph = dict[Hashable, Any]
"""Tasks and data of dask, by key."""


def empty_rows(X: MatrixLike) -> MatrixLike:
    """Return no rows, in memory, with the columns and types of a collection."""
    _check_kind("X", X)
    if hasattr(type(X), "divisions"):
        return X._meta
    shape = (0, *map(int, X.shape[1:]))
    if sparse.issparse(getattr(X, "_meta", None)):
        return sparse.csr_matrix(shape, dtype=X.dtype)
    return np.empty(shape, dtype=X.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class DaskBlocks(Engine):
    """Blocks on the threads of one machine, or on a cluster."""

    graph: Graph  # *private*
    keys: Sequence[Hashable]
    n_bytes: float = math.inf
    is_kept: bool = False
    is_fixed: bool = False
    are_given: ClassVar[bool] = True

    @classmethod
    def of(cls, parts: Mapping[str, MatrixLike]) -> DaskBlocks:
        """Return the blocks of X; y and weights are collections cut like it, or in memory.

        Nothing is computed, except unknown lengths of blocks if y or weights are in memory. The
        three `parts` have the names that messages call them by.
        """
        first = next(iter(parts))
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
            raise ValueError(f"{said} {SAME_CHUNKS}")
        blocks = [_new_key("block") for _ in keys[first]]
        absent = [None] * len(blocks)
        columns = (keys.get(name, absent) for name in parts)
        graph |= {key: (Block, *own) for key, *own in zip(blocks, *columns, strict=True)}
        return cls(graph, blocks, sum(map(_n_bytes, lazy.values())))

    def read(self) -> list[Any]:
        return list(_scheduler()(self.graph, self.keys))

    def mapped(self, function: Callable[[Any], object]) -> DaskBlocks:
        return self.derived([(function, [i]) for i in range(len(self.keys))])

    def derived(self, tasks: Sequence[Task]) -> DaskBlocks:
        new = {
            _new_key("block"): (function, *(self.keys[i] for i in numbers))
            for function, numbers in tasks
        }
        graph = self.graph
        if self.is_kept:  # the others need not be sent
            graph = {key: graph[key] for _, *keys in new.values() for key in keys}
        return DaskBlocks(graph | new, list(new))

    def kept(self) -> DaskBlocks:
        is_here = _client() is None  # a cluster computes lost blocks again
        values = _scheduler()(self.graph, self.keys, **({} if is_here else {"sync": False}))
        graph = dict(zip(self.keys, values, strict=True))
        return replace(self, graph=graph, is_kept=True, is_fixed=is_here)

    def room(self) -> float:
        client = _client()
        if client is None:
            return super().room()
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = (float(one["memory_limit"] or engine.KEPT_LOCALLY) for one in workers)
        return _KEPT_SHARE * sum(limits)


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
    return list(X.chunks[0]) if is_known else DaskBlocks(graph, keys).mapped(n_rows).read()


def _cut(
    name: str, part: MatrixLike, first: str, lengths: Sequence[int]
) -> tuple[Graph, list[Hashable]]:
    """Return data in memory as blocks of these lengths, by new keys."""
    if not hasattr(part, "__len__") or not np.ndim(part) or n_rows(part) != sum(lengths):
        raise ValueError(f"{name} must have as many rows as {first}.")
    rows = rows_of(part)
    ends = np.cumsum([0, *lengths])
    values: Graph = {_new_key(name): rows[start:stop] for start, stop in pairwise(ends)}
    return values, list(values)


def _n_bytes(collection: MatrixLike) -> float:
    """Return the size of a collection in bytes, or 0 if it is persisted."""
    graph = dict(collection.__dask_graph__())
    if all(_is_data(one) or type(one).__name__ == "Alias" for one in graph.values()):
        return 0.0
    size = math.nan if hasattr(type(collection), "divisions") else collection.nbytes
    return math.inf if math.isnan(size) else float(size)


def _is_data(value: object) -> bool:
    """Return whether a value of a graph is there where it is used: on a cluster a future."""
    from dask.core import istask

    if _client() is not None:
        return type(value).__name__ == "Future"
    return not istask(value)


def _scheduler() -> Callable[..., Any]:
    """Return the function that computes a graph: the one that is set, or threads."""
    import dask.threaded
    from dask.base import get_scheduler

    return get_scheduler() or dask.threaded.get


def _client() -> Any:
    """Return the client of the cluster that computes graphs, or None without a cluster."""
    client = getattr(_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _new_key(name: str) -> str:
    return f"{name}-{uuid4().hex}"
