"""Arrow record batches on one machine, which are read from their source whenever they are needed.

What needs many passes is read from the source once, and then from a temporary file without a name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, islice
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap
from os import SEEK_END
from pickle import PickleBuffer, dumps, loads
from shutil import disk_usage
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any

from skdp.data.engine import Engine, Task

READ_AGAIN = (
    "Pass a pyarrow.dataset.Dataset, or a function that returns all record batches at each call. "
    "If the rows fit into memory, pass a pyarrow.Table, as reader.read_all() returns."
)
CHANGED = f"The rows changed between two reads, or can be read only once. {READ_AGAIN}"
_MOST_STORED = 0.5  # of the free space of the disk


class ArrowBlocks(Engine):
    """Blocks in this process. Each is computed when it is needed, and then forgotten."""

    may_end = True

    def __init__(self, blocks: Callable[[], Iterable[Any]], *, is_fixed: bool = False) -> None:
        self._blocks, self.is_fixed = blocks, is_fixed

    def read(self) -> Iterable[Any]:
        return self._blocks()

    def mapped(self, function: Callable[[Any], object]) -> ArrowBlocks:
        return ArrowBlocks(lambda: map(function, self._blocks()))

    def derived(self, tasks: Sequence[Task]) -> ArrowBlocks:
        return ArrowBlocks(lambda: _derived(self._blocks(), tasks))

    def shuffled(
        self, part: Callable[[int, Any], Any], join: Callable[..., Any], n: int, n_blocks: int
    ) -> ArrowBlocks:
        stored = Stored(
            n * n_blocks, lambda: (part(i, block) for block in self._blocks() for i in range(n))
        )
        return ArrowBlocks(lambda: (join(*stored.every(n, i)) for i in range(n)))

    def kept(self) -> ArrowBlocks:
        blocks = [*self._blocks()]
        return ArrowBlocks(lambda: blocks, is_fixed=True)

    def stored(self, n_blocks: int) -> ArrowBlocks:
        return ArrowBlocks(Stored(n_blocks, self._blocks).every)

    def room(self) -> float:
        return super().room() / 4.0  # files are read again quickly


def _derived(blocks: Iterable[Any], tasks: Sequence[Task]) -> Iterator[Any]:
    """Yield the results of tasks; blocks before the first one of a task are forgotten."""
    rest, here = enumerate(blocks), dict[int, Any]()
    for function, numbers in tasks:
        here = {i: block for i, block in here.items() if i >= numbers[0]}
        while numbers[-1] not in here:
            i, block = next(rest, (-1, None))
            if i < 0:
                raise ValueError(CHANGED)
            here |= {i: block} if i >= numbers[0] else {}
        yield function(*(here[i] for i in numbers))


class Stored:
    """*Private* values that are in a temporary file once all of them have been read.

    The file has no name, and the system removes it with this object. If the disk has no room for
    it, the values are computed for each read.
    """

    def __init__(self, n: int, values: Callable[[], Iterable[Any]]) -> None:
        self._n, self._values = n, values
        self._stored: list[Callable[[], Any]] = []

    def every(self, step: int = 1, start: int = 0) -> Iterator[Any]:
        """Yield every `step`-th value."""
        if not self._stored:
            yield from islice(self._read(), start, None, step)
            return
        for read in self._stored[start::step]:
            yield read()

    def _read(self) -> Iterator[Any]:
        stored: list[Callable[[], Any]] = []
        file, most = _temporary_file(self)
        for i, value in enumerate(self._values()):
            if file is not None and i == len(stored):  # all so far
                with suppress(OSError):
                    stored.append(_written(file, value, most))
            if len(stored) == self._n:
                self._stored = stored
            yield value


def _temporary_file(owner: object) -> tuple[IO[bytes] | None, float]:
    """Return a file that ends with its owner, and how many bytes it may have."""
    with suppress(OSError):
        file = TemporaryFile()  # noqa: SIM115
        weakref.finalize(owner, file.close)
        return file, _MOST_STORED * disk_usage(gettempdir()).free
    return None, 0.0


def _written(file: IO[bytes], value: object, most: float) -> Callable[[], Any]:
    """Write the buffers of a value; return a function that reads it."""
    found: list[PickleBuffer] = []
    head = dumps(value, protocol=5, buffer_callback=found.append)
    buffers = [one.raw() for one in found]
    start = -(-file.seek(0, SEEK_END) // ALLOCATIONGRANULARITY) * ALLOCATIONGRANULARITY
    ends = [0, *accumulate(-(-one.nbytes // 64) * 64 for one in buffers)]  # aligned for BLAS
    if start + ends[-1] > most:
        raise OSError
    for one, place in zip(buffers, ends, strict=False):
        file.seek(start + place)
        file.write(one)
    file.truncate(start + ends[-1])
    sizes = [slice(place, place + one.nbytes) for one, place in zip(buffers, ends, strict=False)]
    return partial(_mapped, file, head, start, ends[-1], sizes)


def _mapped(file: IO[bytes], head: bytes, start: int, size: int, parts: Sequence[slice]) -> Any:
    bytes_ = memoryview(
        mmap(file.fileno(), size, access=ACCESS_READ, offset=start) if size else b""
    )
    return loads(head, buffers=[bytes_[part] for part in parts])
