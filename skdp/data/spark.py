"""Rows of Spark data frames: functions of blocks run there, and only their results come here.

Spark may return rows in another order whenever it computes them. So rows are spread over partitions
by a hash of their values, and sorted there. The order of all rows is then a function of the rows as
a multiset. It gives rows their numbers and nothing else: coins come from the fit's random source.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pickle import dumps, loads
from typing import Any

from skdp.data.arrow import ArrowBlocks
from skdp.data.batches import Batches, block_of, safely, with_names
from skdp.data.engine import Block, Engine, Task
from skdp.support.other_libraries import public_error

_NUMBERS = 2**22  # of a partition, about
_LAYOUT = "number bigint, value binary"  # of blocks in a data frame
_CHANGED = "The rows changed between two reads. Call .checkpoint() on the data frame first."


@dataclass(frozen=True, eq=False, repr=False)
class SparkRows(Batches):
    """*Private* rows of a Spark data frame, which is `read`, or a column of it."""

    read: Any
    has_order = False

    def blocks(self, columns: Sequence[Any]) -> Engine:
        names = [*columns[0], *filter(None, columns[1:])]
        frame = self.read.select([_comparable(self.read.schema[name]) for name in names])
        empty = self.schema.empty_table().select(names)
        (n_rows,) = safely(lambda: [frame.count()])
        if not n_rows:  # Spark may compute no partition of it
            return ArrowBlocks(lambda: [block_of(columns, empty)], is_fixed=True)
        n_partitions = 1 + n_rows * len(names) // _NUMBERS
        frame = frame.repartition(n_partitions, *frame.columns).sortWithinPartitions(*frame.columns)
        frame = frame.mapInArrow(partial(_numbered, partial(block_of, columns), empty), _LAYOUT)
        return SparkBlocks(frame.repartition(n_partitions, "number"))


class SparkBlocks(Engine):
    """Blocks as rows of a data frame: increasing numbers, and bytes. Errors are values, too."""

    n_bytes = 0.0  # kept at once, because Spark moves to disks what does not fit

    def __init__(self, frame: Any, numbers: list[int] | None = None, source: object = None) -> None:
        self.frame, self._source = frame, source  # what is kept for a source, stays while it lives
        self._numbers: list[int] = [] if numbers is None else numbers  # empty before a read

    def read(self) -> list[Any]:
        (table,) = safely(lambda: [self.frame.toArrow()])
        found = dict(zip(table["number"].to_pylist(), table["value"], strict=True))
        numbers = sorted(found)
        if (self._numbers or numbers) != numbers:
            raise ValueError(_CHANGED)
        self._numbers[:] = numbers
        return list(_values(found[number].as_buffer() for number in numbers))

    def mapped(self, function: Callable[[Any], object]) -> SparkBlocks:
        run = partial(_each, lambda i, part: _called(function, part[1]), None)
        return SparkBlocks(self.frame.mapInArrow(run, _LAYOUT), self._numbers, self)

    def derived(self, tasks: Sequence[Task]) -> SparkBlocks:
        uses: dict[int, list[tuple[int, int]]] = {}  # tasks of a block, and its places in them
        for i, (_, blocks) in enumerate(tasks):
            for place, block in enumerate(blocks):
                uses.setdefault(self._numbers[block], []).append((i, place))
        several = any(len(blocks) > 1 for _, blocks in tasks)
        job: Any = (lambda i, p: p) if several else (lambda i, p: _called(tasks[i][0], p[1]))
        frame = self.frame.where(self.frame["number"].isin([*uses]))
        frame = frame.mapInArrow(partial(_each, job, uses), _LAYOUT)
        if several:
            frame = frame.groupBy("number").applyInArrow(lambda b: _joined(tasks, b), _LAYOUT)
        return SparkBlocks(frame, list(range(len(tasks))), self)

    def kept(self) -> SparkBlocks:
        frame = self.frame.persist()
        list(safely(lambda: [frame.count()]))
        kept = SparkBlocks(frame, self._numbers)
        weakref.finalize(kept, frame.unpersist).atexit = False
        return kept


def _comparable(field: Any) -> Any:
    """Return a column in which equal values have equal bytes: −0.0 is 0.0, and NaN is one."""
    from pyspark.sql import functions as F

    name, kind = field.name, field.dataType.typeName()
    column = F.col("`" + name.replace("`", "``") + "`")
    if kind in ("float", "double"):
        column = (F.nanvl(column, F.lit(math.nan)) + 0.0).cast(kind)
    return column.cast("string").alias(name) if kind == "string" else column.alias(name)


def _numbered(block: Callable[[Any], Block], empty: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches of a partition as blocks, and one without rows if it is the first."""
    from pyspark import TaskContext

    i = TaskContext.get().partitionId()
    tables = (empty.from_batches([batch]).cast(empty.schema) for batch in batches)
    for number, table in enumerate(chain(tables, [] if i else [empty]), i << 32):
        yield _row(number, block(table))


def _each(function: Callable[..., object], uses: Any, rows: Iterable[Any]) -> Iterator[Any]:
    for batch in rows:
        for number, value in zip(batch["number"].to_pylist(), batch["value"], strict=True):
            for i, place in [(number, 0)] if uses is None else uses[number]:
                yield _row(i, function(i, (place, value.as_py())))


def _values(blocks: Iterable[Any]) -> Iterator[Any]:
    for value in map(loads, blocks):
        if isinstance(value, Exception):
            raise value
        yield value


def _called(function: Callable[..., object], *values: bytes) -> object:
    try:
        return function(*_values(values))
    except Exception as error:
        return public_error(error)


def _joined(tasks: Sequence[Task], parts: Any) -> Any:
    number = parts["number"][0].as_py()
    values = sorted(loads(part.as_py()) for part in parts["value"])
    result = _called(tasks[number][0], *(value for _, value in values))
    return parts.from_batches([_row(number, result)])


def _row(number: int, value: object) -> Any:
    import pyarrow as pa

    columns = [pa.array([number], pa.int64()), pa.array([dumps(value, protocol=5)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["number", "value"])


def in_spark(x: Any) -> Any:
    """Return a Spark data frame as rows in blocks, and a column as it is."""
    if not hasattr(type(x), "mapInArrow"):  # a column has all attributes
        return x
    (empty,) = safely(lambda: [x.limit(0).toArrow()])
    return with_names(SparkRows(x, empty.schema, []))
