"""Single calls on a file: any object with `write`, `read` or `readinto`, or a file descriptor."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from penstock.live.client.errors import UsageError

_NO_BUFFER: Final = "{}: {} is no {}; expected bytes, or an array"


class StridedBytes:
    """The bytes of an array that is not in one piece, in the order of its elements; a slice of them is a copy."""

    def __init__(self, data: Any, view: memoryview) -> None:
        while view.ndim > 1 and len(data) == 1:  # a row is copied at a time: take rows that are not everything
            data, view = data[0], memoryview(data[0])
        self._data = data
        self._size = view.nbytes
        self._row = view.nbytes // len(data)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> memoryview:
        begin, end, _ = part.indices(self._size)
        first = begin // self._row
        rows = self._data[first : -(-end // self._row)]
        return memoryview(memoryview(rows).tobytes())[begin - first * self._row : end - first * self._row]


def data_of(data: Any) -> memoryview | StridedBytes:
    """The data as bytes: without a copy if they are in one piece, else copied slice by slice."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(_NO_BUFFER.format("write", type(data).__name__, "data")) from None
    if view.c_contiguous and view.nbytes:
        return view.cast("B")
    if not view.nbytes:
        return memoryview(b"")
    if isinstance(data, memoryview) and view.ndim > 1:  # of which Python takes no slices
        return memoryview(view.tobytes())
    return StridedBytes(data, view)


def buffer_of(buffer: Any) -> memoryview:
    """The buffer as bytes, without a copy; UsageError if it is not in one piece."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(_NO_BUFFER.format("readinto", type(buffer).__name__, "buffer")) from None
    if not view.c_contiguous:
        raise UsageError("readinto: the buffer is not in one piece; expected a contiguous one, to copy from afterwards")
    return view.cast("B") if view.nbytes else memoryview(b"")


def writer(file: Any, data: memoryview | StridedBytes) -> Callable[[int, int], int]:
    """A function that is given position and size, writes, and returns how many bytes it has written, at least one."""
    put = partial(os.write, file) if isinstance(file, int) else file.write

    def write(at: int, size: int) -> int:
        count: int | None = put(data[at : at + size])
        if count:
            return count
        if count is None and not isinstance(file, io.RawIOBase):
            return size
        raise OSError(errno.EIO, "the file takes no data; expected one that blocks until it does")

    return write


def read(file: Any, size: int) -> bytes:
    """Read at most `size` bytes; none only at the end of the file."""
    data = os.read(file, size) if isinstance(file, int) else file.read(size)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"read: the file gives {type(data).__name__}; expected a file opened in binary mode")
    return bytes(data)


def read_into(file: Any, data: memoryview) -> int:
    """Read into the buffer; how many bytes, 0 only at the end of the file."""
    count = os.readv(file, [data]) if isinstance(file, int) else file.readinto(data)
    if count is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    return int(count)
