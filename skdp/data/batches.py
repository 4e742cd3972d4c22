"""What users pass as rows in batches: datasets, their scanners, and functions of record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from skdp.data.arrow import CHANGED, READ_AGAIN, ArrowBlocks
from skdp.data.engine import Block, Engine
from skdp.support.types import MatrixLike

ONLY_ONCE = f"{{}} can be read only once, but rows are checked before they are used. {READ_AGAIN}"
_LEAST_ROWS = 2**14  # of a block: smaller batches are joined
_BATCH = 2**20  # numbers that are read from files at a time


@dataclass(frozen=True, eq=False, repr=False)
class Batches:
    """*Private* rows that are read in batches: a table of some columns, or one column by name."""

    read: Callable[[], Iterable[Any]]  # *private* record batches, all of them at each call
    schema: Any  # *public*
    names: list[str] | str  # *public*; of the columns that are used
    is_function: bool = False
    has_order: ClassVar[bool] = True  # *public*; whether results of rows may be in their order

    @property
    def columns(self) -> list[str]:
        return [self.names] if isinstance(self.names, str) else self.names

    def __getitem__(self, names: list[str] | str) -> Batches:
        return replace(self, names=names)

    def blocks(self, columns: Sequence[Any]) -> Engine:
        """Return blocks of some columns, with others by one name each, or None."""
        return ArrowBlocks(lambda: map(partial(block_of, columns), self.tables()))

    def tables(self) -> Iterator[Any]:
        """Yield all columns of the rows, as at least one table."""
        import pyarrow as pa

        held: list[Any] = []
        i, n_rows, n_held = -1, 0, 0
        for i, batch in enumerate(safely(self.read)):
            _check_batch(i, batch, self.schema)
            held, n_held = [*held, batch] if batch.num_rows else held, n_held + batch.num_rows
            if n_held >= _LEAST_ROWS:
                yield pa.Table.from_batches(held).combine_chunks()
                held, n_held, n_rows = [], 0, n_rows + n_held
        if i < 0 and self.is_function:
            raise ValueError(CHANGED)
        if held or not n_rows:
            yield pa.Table.from_batches(held, self.schema).combine_chunks()


def blocks_of(parts: Mapping[str, MatrixLike]) -> Engine:
    """Return the blocks of X; y and weights are columns of the same batches, or None."""
    (first, X), *others = parts.items()
    for name, part in others:
        if part is not None and getattr(part, "read", None) is not getattr(X, "read", X):
            said = f"of {first}, if one of both is read in batches."
            raise ValueError(f"{name} must be the name of a column {said}")
    engine: Engine = X.blocks([None if part is None else part.names for part in parts.values()])
    return engine


def block_of(columns: Sequence[Any], table: Any) -> Block:
    """Return some columns of a table, and others by one name each."""
    X, *others = columns
    return Block(table.select(X), *(name and table.column(name) for name in others))


def in_batches(x: Any) -> Batches:
    """Return a dataset, a scanner or a function of record batches as rows that are read."""
    if callable(x):
        rows = Batches(x, _first_schema(x), [], is_function=True)
    elif hasattr(x, "projected_schema"):
        rows = Batches(x.to_batches, x.projected_schema, [])
    else:
        rows = Batches(partial(x.to_batches, **_options(x)), x.schema, [])
    return with_names(rows)


def with_names(rows: Batches) -> Batches:
    """Return all columns, which must have different names."""
    names = rows.schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"several columns of the batches have the name {twice[0]!r}.")
    return rows[names]


def _options(dataset: Any) -> dict[str, Any]:
    """Return options by which little is read ahead; with threads it may be a gigabyte."""
    size = max(_BATCH // max(len(dataset.schema), 1), 2**10)
    options: dict[str, Any] = {"batch_size": size, "batch_readahead": 1, "fragment_readahead": 1}
    options["use_threads"] = False
    if type(getattr(dataset, "format", None)).__name__ == "ParquetFileFormat":
        from pyarrow.dataset import ParquetFragmentScanOptions

        streamed = ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        options["fragment_scan_options"] = streamed
    return options


def _first_schema(function: Callable[[], Iterable[Any]]) -> Any:
    first = next(safely(function), None)
    if first is None:
        raise ValueError("the function returned no record batch. Return one, even if it is empty.")
    _check_batch(0, first, getattr(first, "schema", None))
    return first.schema


def _check_batch(number: int, batch: Any, schema: Any) -> None:
    if type(batch).__name__ != "RecordBatch":
        raise ValueError(f"the function must return record batches, got a {type(batch).__name__}.")
    if not batch.schema.equals(schema):
        said = f"columns or types differ from those of the first batch, {schema.names}."
        raise ValueError(f"In batch {number} of the rows: {said}")


def safely(read: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Yield what is read, and replace errors, which could quote values."""
    try:
        yield from read()
        return
    except Exception as error:
        why, is_scanned = type(error).__name__, str(error) == "OneShotFragment was already scanned"
    if is_scanned:
        raise ValueError(ONLY_ONCE.format("a scanner of a reader"))
    raise ValueError(f"the rows cannot be read: {why}. Its message may quote private values.")
