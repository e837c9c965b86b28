"""One connection, and the limits of each user: lines in, messages to the server, replies out.

A peer speaks for one client, the one that it registered or proved to be, or for the operator. Its messages must come in the
order of their numbers. A wrong message gets an error and changes nothing. A peer that is wrong too often, sends too long a
line or does not read its replies is cut off; the server never waits for a peer that does not read. Token buckets limit the
messages a second of each connection, and of all connections of a user together.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Final

from penstock.live.core.events import Refused
from penstock.live.protocol import (
    DENIED,
    MALFORMED,
    OUT_OF_ORDER,
    OVERSIZED,
    VERSION,
    Error,
    Lines,
    Malformed,
    Oversized,
    Reply,
    decode_request,
    encode,
)

if TYPE_CHECKING:
    from penstock.live.core.registry import Client
    from penstock.live.server.journal import Clock
    from penstock.live.server.server import Server
    from penstock.live.server.settings import ServerSettings


UNREAD_BYTES: Final = 65_536
"""A peer that leaves more replies than this unread is cut off."""
MOST_ERRORS: Final = 100
"""Wrong messages after which a connection is closed."""
INTRODUCTION_SECONDS: Final = 10.0
"""A peer must say who it is within this time."""
FAREWELL_SECONDS: Final = 1.0
"""Time that a peer has to read the last reply."""
EXTRA_CONNECTIONS: Final = 64
"""Connections of a user beyond those of its clients: for peers that are about to register, and for questions."""
NO_UID: Final = -1
"""The uid of a peer over TCP: the token says that it may connect, not who it is."""


class Bucket:
    """A token bucket: `rate` tokens a second, at most those of one second."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._then = now

    def take(self, count: int, now: float) -> float:
        """Take so many tokens; returns the seconds until the bucket has them, 0 if it has them now."""
        self._tokens = min(self._rate, self._tokens + (now - self._then) * self._rate) - count
        self._then = now
        return max(0.0, -self._tokens / self._rate)


class Connections:
    """All connections, and what they share: the limits of each user, and counts of misbehaviour."""

    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        self.peers: set[Peer] = set()
        self.refused = 0
        """Wrong messages so far."""
        self.cut_off = 0
        """Peers so far that did not read their replies."""
        self._settings = settings
        self._clock = clock
        self._counts: Counter[int | str] = Counter()
        self._buckets: dict[int | str, Bucket] = {}

    def add(self, peer: Peer) -> bool:
        """Enter a new connection; whether its user may have one more."""
        self.peers.add(peer)
        self._counts[peer.user] += 1
        return self._counts[peer.user] <= self._settings.max_applications_per_user + EXTRA_CONNECTIONS

    def remove(self, peer: Peer) -> None:
        """Drop a connection that has ended."""
        self.peers.discard(peer)
        self._counts[peer.user] -= 1
        if self._counts[peer.user] <= 0:
            del self._counts[peer.user]
            self._buckets.pop(peer.user, None)

    def bucket(self, user: int | str) -> Bucket:
        """The messages that all connections of a user together may send."""
        if user not in self._buckets:
            self._buckets[user] = Bucket(self._settings.message_rate_per_user, self._clock.now())
        return self._buckets[user]


class Peer(asyncio.Protocol):
    """A connection of a client or of the operator."""

    def __init__(self, server: Server, *, local: bool) -> None:
        self.server = server
        self.local = local
        self.uid = NO_UID
        self.user: int | str = NO_UID
        """Whose limits it shares: its uid, or over TCP its host."""
        self.client: Client | None = None
        """The client that it speaks for."""
        self.is_control = False
        self.version = VERSION
        """The version of the protocol that the peer speaks."""
        self._transport: asyncio.Transport | None = None
        self._lines = Lines()
        self._seq = 0
        self._errors = 0
        self._bucket = Bucket(server.settings.message_rate, server.clock.now())
        self._introduction: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer connects."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self.local:
            self.uid = self.user = _uid(transport.get_extra_info("socket"))
        else:
            self.user = str(transport.get_extra_info("peername")[0])
        if not self.server.connections.add(self):
            self.say(Error(DENIED, "too many connections of this user; expected fewer"))
            self.hang_up()
            return
        self._introduction = asyncio.get_running_loop().call_later(INTRODUCTION_SECONDS, self._must_be_known)

    def data_received(self, data: bytes) -> None:
        """Lines arrive: handle each, then slow the peer down if it sends too many."""
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
        wait = max(self._bucket.take(count, now), self.server.connections.bucket(self.user).take(count, now))
        if wait > 0.0 and self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(wait, self._read_on)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection is gone."""
        self._transport = None
        if self._introduction is not None:
            self._introduction.cancel()
        self.server.disconnected(self)

    def introduced(self) -> None:
        """The peer has said who it is."""
        if self._introduction is not None:
            self._introduction.cancel()
            self._introduction = None

    def say(self, message: Reply) -> None:
        """Send a reply, or cut the peer off if it does not read earlier ones."""
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size() > UNREAD_BYTES:
            self.server.connections.cut_off += 1
            self._transport.abort()
            self._transport = None
            return
        self._transport.write(encode(message))

    def hang_up(self) -> None:
        """Close the connection when all replies are sent, and soon in any case."""
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
        self.server.connections.refused += 1
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
    """The uid at the other end of a Unix socket, from the kernel."""
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(uid)
