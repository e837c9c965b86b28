"""One call of a file: any object with `write`, `read` or `readinto`, or the number of an open file."""

from __future__ import annotations

import errno
import io
import os
from typing import Any


def bytes_of(data: Any) -> memoryview:
    """The data as bytes, not copied."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"write: {type(data).__name__} is no data; expected bytes, or an array in one piece") from None
    return view.cast("B") if view.nbytes else memoryview(b"")


def write(file: Any, data: memoryview) -> int:
    """How much of it was written; some of it at least."""
    count = os.write(file, data) if isinstance(file, int) else file.write(data)
    if count is None:
        if isinstance(file, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "the file does not take data now; expected one that blocks")
        return len(data)
    if count <= 0:
        raise OSError(errno.EIO, "the file takes no data")
    return int(count)


def read(file: Any, size: int) -> bytes:
    """So many bytes at most, and none only at the end of the file."""
    data = os.read(file, size) if isinstance(file, int) else file.read(size)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"read: the file gives {type(data).__name__}; expected a file opened in binary mode")
    return bytes(data)


def read_into(file: Any, data: memoryview) -> int:
    """How much was read, and 0 only at the end of the file."""
    count = os.readv(file, [data]) if isinstance(file, int) else file.readinto(data)
    if count is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    return int(count)
