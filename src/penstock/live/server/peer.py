"""One connection: lines in, messages to the server, replies out.

A peer speaks for one client, the one that it registered or proved to be, or for the operator. Its messages must come in the
order of their numbers. A wrong message gets an error and changes nothing. A peer that is wrong too often, sends too long a
line or does not read its replies is cut off; the server never waits for a peer that does not read. Token buckets limit the
messages a second of each connection, and of all connections of a user together: a peer that sends more is read later. What a
peer has sent before it closed the connection is handled, however late it is read.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sys
from collections import deque
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
    seq_of,
)
from penstock.live.server import wire
from penstock.live.server.admission import Bucket, Key
from penstock.live.server.wire import Wire

if TYPE_CHECKING:
    from penstock.live.core.clients import Client
    from penstock.live.server.server import Server


UNREAD_BYTES: Final = 65_536
"""A peer that leaves more replies than this unread is cut off."""
MOST_ERRORS: Final = 100
"""Wrong messages after which a connection is closed."""
INTRODUCTION_SECONDS: Final = 10.0
"""A peer must say who it is within this time."""
NO_UID: Final = -1
"""The uid of a peer over TCP: the token says that it may connect, not who it is."""


class Peer:
    """A connection of a client or of the operator.

    Args:
        server: Handles the messages.
        connection: The socket, just accepted.
        local: Whether it is the Unix socket.
    """

    def __init__(self, server: Server, connection: socket.socket, *, local: bool) -> None:
        self.server = server
        self.local = local
        self.uid = wire.peer_uid(connection) if local else NO_UID
        self.gids = wire.peer_gids(connection) if local and server.settings.group_weights else ()
        """Its groups, where some have weights."""
        self.user: Key = self.uid if local else str(connection.getpeername()[0])
        """Whose limits it shares: its uid, or over TCP its host."""
        self.client: Client | None = None
        """The client that it speaks for."""
        self.is_control = False
        self.version = VERSION
        """The version of the protocol that the peer speaks."""
        self._wire = Wire(connection, self._received, self._ended)
        self._lines = Lines()
        self._queue: deque[bytes] = deque()
        """Lines that have arrived and wait to be handled."""
        self._is_oversized = False
        self._is_held = False
        """Its token waits to be looked at."""
        self._is_over = False
        self._seq = 0
        self._errors = 0
        self._bucket = Bucket(server.settings.message_rate, server.clock.now())
        self._introduction: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(
            INTRODUCTION_SECONDS, self._must_be_known
        )
        reason = server.connections.add(self)
        if reason is None:
            self._wire.read()
        else:
            self.turn_away(reason)

    @property
    def is_operator(self) -> bool:
        """Whether this is whoever runs the coordinator, or root."""
        return self.local and self.uid in (0, os.getuid())

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"uid {self.uid}" if self.local else f"host {self.user}"

    def introduced(self) -> None:
        """The peer has said who it is."""
        self.server.connections.introduced(self)
        if self._introduction is not None:
            self._introduction.cancel()
            self._introduction = None

    def look(self) -> None:
        """Handle what has arrived by now."""
        self._wire.read()

    def say(self, message: Reply) -> None:
        """Send the reply `message`, or cut the peer off if it does not read earlier ones."""
        if self._is_over:
            return
        if self._wire.unsent > UNREAD_BYTES:
            self.server.connections.cut_off += 1
            self._wire.give_up_writing()
            return
        self._wire.write(encode(message))

    def hang_up(self) -> None:
        """Close the connection when all replies are sent, and soon in any case."""
        if not self._is_over:
            self._is_over = True
            self._wire.hang_up()

    def close(self) -> None:
        """Close the connection now."""
        self._is_over = True
        self._wire.close()

    def turn_away(self, reason: str) -> None:
        """Close the connection now, with this `reason`: there is no room for it."""
        self.server.connections.turned_away += 1
        self.server.logbook.refused(self, Error(DENIED, reason))
        self.say(Error(DENIED, reason))
        self.close()

    def _received(self, data: bytes) -> None:
        """Handle the lines that have arrived, then slow the peer down if it sends too many.

        Lines of a client are handled at once, those of a stranger may have to wait.
        """
        self.server.connections.slowed.discard(self)
        at_once, count = self.client is not None and not self._queue, 0
        try:
            for line in self._lines.feed(data):
                if at_once and not self._is_over:
                    self._hear(line)
                    count += 1
                else:
                    self._queue.append(line)
        except Oversized:
            self._is_oversized = True
        if self._queue:
            count += self._work()
        if self._is_over or self._is_held:
            return
        if self._is_oversized:
            self.say(Error(OVERSIZED, "a message is too long; expected at most 16384 bytes with its newline"))
            self.hang_up()
            return
        now = self.server.clock.now()
        own, shared = self._bucket.take(count, now), self.server.connections.bucket(self).take(count, now)
        if own > 0.0 or shared > 0.0:
            self._slow_down(max(own, shared))

    def _work(self) -> int:
        """Handle the lines that wait; how many were handled."""
        count, allowed = 0, self._allowance() if self.client is None else sys.maxsize
        while self._queue and not self._is_over:
            if count >= allowed and self.server.connections.is_stranger(self):
                break
            if not self.local and self.client is None and self._must_wait():
                break
            self._is_held = False
            count += 1
            self._hear(self._queue.popleft())
        return count

    def _allowance(self) -> int:
        """How many lines may be handled now: of a stranger as many as its user or host has left, and one in any case.

        Else a stranger could send without a limit by connecting again and again. Who registers with its first line does not
        wait for strangers of the same host.
        """
        connections = self.server.connections
        if not connections.is_stranger(self):
            return sys.maxsize
        return max(1, math.floor(connections.bucket(self).left(self.server.clock.now())) + 1)

    def _must_wait(self) -> bool:
        """Whether a message of a stranger must wait, because its host has sent wrong tokens."""
        connections = self.server.connections
        if self._is_held or not connections.is_stranger(self):
            return False
        delay = connections.guesses.delay(self.user, self.server.clock.now())
        if delay is None:
            self.turn_away("too many wrong tokens came from this host; try again later")
        elif delay > 0.0:
            self._is_held = True
            connections.hold(self)
            self._slow_down(delay)
        return delay is None or delay > 0.0

    def _slow_down(self, seconds: float) -> None:
        """Do not read for so long. It costs no lease: not the peer is silent then."""
        self._wire.pause(seconds)
        self.server.connections.slowed.add(self)

    def _ended(self) -> None:
        """The connection is gone, and all that came by it is handled."""
        self._is_over = True
        if self._introduction is not None:
            self._introduction.cancel()
        self.server.disconnected(self)

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
            seq = seq_of(line)
            self._seq = max(self._seq, seq)
            self._complain(Error(MALFORMED, f"{error}; expected one JSON message a line", seq))
        except Refused as error:
            self._complain(Error(error.code, str(error), seq))

    def _complain(self, error: Error) -> None:
        self.server.connections.refused += 1
        self.server.logbook.refused(self, error)
        self.say(error)
        self._errors += 1
        if self._errors >= MOST_ERRORS:
            self.hang_up()

    def _must_be_known(self) -> None:
        self.say(Error(DENIED, f"no introduction in {INTRODUCTION_SECONDS:g} s; expected a register or join message"))
        self.hang_up()
