"""Arrow record batches on one machine, which are read from their source whenever they are needed.

What needs many passes is read from the source once, and then from a temporary file without a name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, islice
from pickle import PickleBuffer, dumps, loads
from shutil import disk_usage
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import Any

import numpy as np

from skdp.data.engine import Engine, Task

READ_AGAIN = (
    "Pass a pyarrow.dataset.Dataset, or a function that returns all record batches at each call. "
    "If the rows fit into memory, pass a pyarrow.Table, as reader.read_all() returns."
)
CHANGED = f"The rows changed between two reads, or can be read only once. {READ_AGAIN}"
_MOST_STORED = 0.5  # of the free space of the disk
_LARGEST = 2**30  # bytes of a value: systems read and write 2 GB at once at most
_ALIGNED = 64  # bytes, as BLAS may round by the place of an array


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
        self._n, self._values, self._has_room = n, values, True
        self._file: _File | None = None

    def every(self, step: int = 1, start: int = 0) -> Iterator[Any]:
        """Yield every `step`-th value."""
        if self._file is None:
            yield from islice(self._read(), start, None, step)
            return
        for place in self._file.places[start::step]:
            yield self._file.value(*place)

    def _read(self) -> Iterator[Any]:
        """Yield all values, and store them unless that failed in an earlier read."""
        file = _File() if self._has_room else None
        try:
            for value in self._values():
                self._has_room = file is not None and self._has_room and file.takes(value)
                if file is not None and self._has_room and len(file.places) == self._n:
                    self._file = file
                    weakref.finalize(self, file.close)
                yield value
        finally:
            if file is not None and self._file is not file:
                file.close()


class _File:
    """A file without a name, and where its values are."""

    def __init__(self) -> None:
        self._most, self._size, self._lock = 0.0, 0, Lock()  # bytes
        self.places: list[tuple[bytes, int, int, list[slice]]] = []
        self.close: Callable[[], object] = self.places.clear
        with suppress(OSError):
            self._most = _MOST_STORED * disk_usage(gettempdir()).free
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115
            self.close = self._file.close

    def takes(self, value: object) -> bool:
        """Write the buffers of a value, and return whether there was room for them."""
        found: list[PickleBuffer] = []
        with suppress(Exception):  # there is no file, it is full, or the value has no pickle
            head = dumps(value, protocol=5, buffer_callback=found.append)
            buffers = [one.raw() for one in found]
            ends = [0, *accumulate(-(-one.nbytes // _ALIGNED) * _ALIGNED for one in buffers)]
            start, self._size = self._size, self._size + ends[-1]
            if ends[-1] > _LARGEST or self._size > self._most:
                return False
            parts = [slice(k, k + one.nbytes) for one, k in zip(buffers, ends, strict=False)]
            for one, part in zip(buffers, parts, strict=True):
                self._file.seek(start + part.start)
                if self._file.write(one) != one.nbytes:
                    return False
            self._file.truncate(self._size)
            self.places.append((head, start, ends[-1], parts))
            return True
        return False

    def value(self, head: bytes, start: int, size: int, parts: Sequence[slice]) -> Any:
        """Return a value that was written."""
        held = np.empty(size + _ALIGNED, np.uint8)
        held = held[-held.ctypes.data % _ALIGNED :][:size]
        with self._lock:
            self._file.seek(start)
            n_read = self._file.readinto(held.data)
        assert n_read == size, "as many bytes were written, and they are few enough for one read"
        held.flags.writeable = False
        return loads(head, buffers=[held[part] for part in parts])
