"""How much one peer may ask for: messages a second, by token buckets.

One connection: lines in, messages to the server, answers out; nobody waits for a peer that does not read.

A peer speaks for one application, the one that it registered or proved to be, and for no other; or it asks questions as
whoever runs the coordinator. Messages must come in the order of their numbers. What is wrong gets an error and changes
nothing; a peer that is wrong too often, sends too long a line or does not read its answers is cut off.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Final

from penstock.live.core.clients import Refused
from penstock.live.protocol import (
    DENIED,
    MALFORMED,
    OUT_OF_ORDER,
    OVERSIZED,
    Error,
    Lines,
    Malformed,
    Oversized,
    Reply,
    decode_request,
    encode,
)

if TYPE_CHECKING:
    from penstock.live.core.clients import Client
    from penstock.live.server.server import Server


class Bucket:
    """Tokens that come at `rate` a second, up to those of one second."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._then = now

    def take(self, count: int, now: float) -> float:
        """Take so many tokens; returns the seconds until what was taken has come in, 0 if it has."""
        self._tokens = min(self._rate, self._tokens + (now - self._then) * self._rate) - count
        self._then = now
        return max(0.0, -self._tokens / self._rate)


UNREAD_BYTES: Final = 65_536
"""A peer that leaves more answers than this unread is cut off."""
MOST_ERRORS: Final = 100
INTRODUCTION_SECONDS: Final = 10.0
"""A peer must say who it is in that time."""
FAREWELL_SECONDS: Final = 1.0
"""So long a peer may take to read the last words."""
NOBODY: Final = -1
"""The uid of whoever comes over TCP: the token says that it may, not who it is."""


class Peer(asyncio.Protocol):
    """A connection to an application or to whoever runs the coordinator."""

    def __init__(self, server: Server, *, local: bool) -> None:
        self.server = server
        self.local = local
        self.uid = NOBODY
        self.user: int | str = NOBODY
        """Whose limits it shares: those of its uid, over TCP those of its host."""
        self.application: Client | None = None
        self.is_control = False
        self._transport: asyncio.Transport | None = None
        self._lines = Lines()
        self._seq = 0
        self._errors = 0
        self._bucket = Bucket(server.settings.message_rate, server.clock.now())
        self._introduction: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connects."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self.local:
            self.uid = self.user = _uid(transport.get_extra_info("socket"))
        else:
            self.user = str(transport.get_extra_info("peername")[0])
        if not self.server.admit(self):
            self.say(Error(DENIED, "too many connections of this user; expected fewer"))
            self.hang_up()
            return
        self._introduction = asyncio.get_running_loop().call_later(INTRODUCTION_SECONDS, self._must_be_known)

    def data_received(self, data: bytes) -> None:
        """Lines arrive."""
        count = 0
        try:
            for line in self._lines.feed(data):
                count += 1
                self._hear(line)
                if self._transport is None:
                    return
        except Oversized:
            self.say(Error(OVERSIZED, "a message is too long; expected at most 16384 bytes with its newline"))
            self.hang_up()
            return
        now = self.server.clock.now()
        wait = max(self._bucket.take(count, now), self.server.bucket(self.user).take(count, now))
        if wait > 0.0 and self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(wait, self._read_on)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection is gone."""
        self._transport = None
        if self._introduction is not None:
            self._introduction.cancel()
        self.server.gone(self)

    def introduced(self) -> None:
        """It has said who it is."""
        if self._introduction is not None:
            self._introduction.cancel()
            self._introduction = None

    def say(self, message: Reply) -> None:
        """Send a message, or cut the peer off if it does not read what it was sent before."""
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size() > UNREAD_BYTES:
            self.server.cut_off += 1
            self._transport.abort()
            self._transport = None
            return
        self._transport.write(encode(message))

    def hang_up(self) -> None:
        """Close the connection when what was said is sent, and soon in any case."""
        if self._transport is not None:
            self._transport.close()
            asyncio.get_running_loop().call_later(FAREWELL_SECONDS, self._transport.abort)
            self._transport = None

    def _hear(self, line: bytes) -> None:
        seq = 0
        try:
            message = decode_request(line)
            seq = message.seq
            if seq <= self._seq:
                raise Refused(OUT_OF_ORDER, f"seq {seq} comes after {self._seq}; expected a higher number")
            self._seq = seq
            self.server.handle(self, message)
        except Malformed as error:
            self._complain(Error(MALFORMED, f"{error}; expected one JSON message a line"))
        except Refused as error:
            self._complain(Error(error.code, str(error), seq))

    def _complain(self, error: Error) -> None:
        self.server.refused += 1
        self.say(error)
        self._errors += 1
        if self._errors >= MOST_ERRORS:
            self.hang_up()

    def _must_be_known(self) -> None:
        self.say(Error(DENIED, f"no introduction in {INTRODUCTION_SECONDS:g} s; expected a register or join message"))
        self.hang_up()

    def _read_on(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()


def _uid(connection: socket.socket) -> int:
    """Who is at the other end of a Unix socket, by the kernel."""
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(uid)
