"""A connected socket of the event loop. A `Wire` reads all data that have arrived before it reports the end.

A transport of asyncio drops unread data as soon as a write fails. So it loses the last messages of a client that sends them
and closes without reading its replies. When a write of a `Wire` fails, it goes on reading until nothing is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Final

READ_BYTES: Final = 16_384
"""Read at a time. With four times as much, each read takes 2.4 µs for 2.1: Python gets memory for all of it first."""
RECEIVE_BYTES: Final = 262_144
"""Size of the receive buffer in the kernel: of a peer that is read slowly, it must not hold messages of many minutes."""
FAREWELL_SECONDS: Final = 1.0
"""Time that a peer has to read the last reply."""

SO_PEERGROUPS: Final = 59
"""The option that tells the groups of a peer, which Python's `socket` does not name; not 59 on PA-RISC and SPARC."""
MOST_OPTION_BYTES: Final = 1024
"""What Python reads of an option at most."""


class Wire:
    """A connection.

    Args:
        connection: The connected socket.
        received: Called with the data that have arrived; with no data when reading goes on after a pause.
        ended: Called once, when nothing more can arrive and the socket is closed.
    """

    def __init__(self, connection: socket.socket, received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._socket = connection
        self._received = received
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._left_to_read: int | None = None
        """After a failed write: bytes to read at most before the end."""
        self._hung_up = self._at_end = False
        self._is_open = True
        self._timer: asyncio.TimerHandle | None = None
        connection.setblocking(False)
        self._fd = connection.fileno()
        self._loop.add_reader(self._fd, self.read)

    @property
    def unsent(self) -> int:
        """Bytes that the peer has not read yet, beyond what the kernel holds."""
        return len(self._unsent)

    @property
    def is_paused(self) -> bool:
        """Whether reading is paused."""
        return self._timer is not None and not self._hung_up

    def read(self) -> None:
        """Hand over what has arrived; at its end, end."""
        if not self._is_open or (self._timer is not None and self.is_paused):
            return
        try:
            data = self._socket.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            if self._left_to_read is not None:
                self._end()
            return
        except OSError:
            self._end()
            return
        if self._left_to_read is not None:
            self._left_to_read -= len(data)
            if self._left_to_read < 0:
                self._end()
                return
        if not data:
            self._end_when_sent()
        elif not self._hung_up:
            self._received(data)
            if self._left_to_read is not None:
                self._loop.call_soon(self.read)

    def pause(self, seconds: float) -> None:
        """Read nothing for so many `seconds`."""
        if self._is_open and not self._hung_up:
            self._loop.remove_reader(self._fd)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(seconds, self._read_on)

    def write(self, data: bytes) -> None:
        """Send the data, now or when the peer reads."""
        if not self._is_open or self._hung_up or self._left_to_read is not None:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.give_up_writing()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.add_writer(self._fd, self._write_on)

    def give_up_writing(self) -> None:
        """Write nothing more. Read what has arrived, then end."""
        if self._is_open and self._left_to_read is None:
            self._left_to_read = RECEIVE_BYTES
            self._unsent.clear()
            self._loop.remove_writer(self._fd)
            if self._hung_up:
                self._end()
            elif not self.is_paused:
                self._loop.call_soon(self.read)

    def hang_up(self) -> None:
        """End the connection when everything is sent and the peer has seen it, and soon in any case.

        What arrives from now on is dropped, but read: closing a socket with unread data destroys what the peer has not read.
        """
        if not self._is_open or self._hung_up:
            return
        self._hung_up = True
        if self._timer is not None:
            self._timer.cancel()
        self._loop.add_reader(self._fd, self.read)
        self._timer = self._loop.call_later(FAREWELL_SECONDS, self._end)
        if self._left_to_read is not None:
            self._end()
        elif not self._unsent:
            self._say_no_more()

    def close(self) -> None:
        """End the connection now."""
        self._end()

    def _read_on(self) -> None:
        self._timer = None
        self._loop.add_reader(self._fd, self.read)
        self._received(b"")
        self.read()  # at once, so that nobody finds the peer silent in between

    def _write_on(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.give_up_writing()
            return
        del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._fd)
            if self._at_end:
                self._end()
            elif self._hung_up:
                self._say_no_more()

    def _end_when_sent(self) -> None:
        """The peer sends no more, but may still read."""
        self._at_end = True
        self._loop.remove_reader(self._fd)
        if not self._unsent:
            self._end()
        elif not self._hung_up:
            self._hung_up = True
            self._timer = self._loop.call_later(FAREWELL_SECONDS, self._end)

    def _say_no_more(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def _end(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        if self._timer is not None:
            self._timer.cancel()
        self._socket.close()
        self._ended()


def peer_uid(connection: socket.socket) -> int:
    """The uid at the other end of `connection`, a Unix socket, from the kernel."""
    return _credentials(connection)[1]


def peer_gids(connection: socket.socket) -> tuple[int, ...]:
    """The gids at the other end of `connection`, a Unix socket, from the kernel: the effective one, then all others.

    Of a process with more than 256 groups, or on a kernel before 4.13, only the effective one.
    """
    gid = _credentials(connection)[2]
    try:
        others = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, MOST_OPTION_BYTES)
    except OSError:
        return (gid,)
    return (gid, *(number for (number,) in struct.iter_unpack("I", others)))


def _credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Process, uid and effective gid at the other end of `connection`."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, uid, gid = struct.unpack("3i", told)
    return int(process), int(uid), int(gid)
