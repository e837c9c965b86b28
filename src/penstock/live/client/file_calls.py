"""Single calls on a file: any object with `write`, `read` or `readinto`, or a file descriptor."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any


def bytes_of(data: Any) -> memoryview:
    """The data as bytes, without a copy."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"write: {type(data).__name__} is no data; expected bytes, or an array in one piece") from None
    return view.cast("B") if view.nbytes else memoryview(b"")


def writer(file: Any, data: memoryview) -> Callable[[int, int], int]:
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
