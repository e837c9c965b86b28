"""The connection of an application with its coordinator: a thread that holds the socket, and comes back when it is lost.

The thread alone reads the socket and looks after time. The application's threads take `lock` for what they do to the
session, wait for `changed` for what the coordinator does, and `send` when there is something to send: what the socket does
not take at once, the thread sends.
"""

from __future__ import annotations

import logging
import math
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from penstock.live.client.address import Address, Unix, check_owner
from penstock.live.client.session import Session
from penstock.live.protocol import Lines, Malformed, Oversized, decode_reply, encode

FIRST_RETRY: Final = 0.05
LAST_RETRY: Final = 1.0
CONNECTING: Final = 2.0
"""Seconds a connection may take."""
CHUNK: Final = 65536

log: Final = logging.getLogger("penstock.client")
_links: Final[weakref.WeakSet[Link]] = weakref.WeakSet()


class Link:
    """Drives a session over a socket from `start` to `leave`."""

    def __init__(self, session: Session, address: Address, clock: Callable[[], float] = time.monotonic) -> None:
        self.session = session
        self.address = address
        self.clock = clock
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.listeners: set[Callable[[], None]] = set()
        """Called by the thread when something changes."""
        self._finished = threading.Event()
        self._deadline = math.inf
        self._retry = FIRST_RETRY
        self._sockets: list[socket.socket] = []
        """Bell, ear and, while there is one, the connection."""
        self._out = b""
        """What the connection has not taken yet."""
        self._sending = False
        self._sleeps_until = math.inf
        """When the thread looks again by itself."""
        self._thread = threading.Thread(target=self._run, name="penstock", daemon=True)

    def start(self) -> None:
        """Begin to connect."""
        self._sockets = list(socket.socketpair())
        for end in self._sockets:
            end.setblocking(False)
        _links.add(self)
        self._thread.start()

    def send(self) -> None:
        """There is something to send: send it at once, as far as can be; wake the thread if it would look too late."""
        with self.lock:
            with suppress(OSError):  # where the connection is lost, the thread will see
                self._send()
            is_late = bool(self._out) or self._over() or self._due() < self._sleeps_until
        if is_late:
            self._wake()

    def _due(self) -> float:
        return min(self.session.due(self.clock()), self._deadline)

    def _send(self) -> None:
        """As far as the connection takes it; not from a signal's handler that came in between."""
        if self._sending:
            return
        self._sending = True
        try:
            while len(self._sockets) > 2:
                self._out = self._out or b"".join(map(encode, self.session.send(self.clock())))
                if not self._out:
                    return
                self._out = self._out[self._sockets[2].send(self._out) :]
        except BlockingIOError:
            return
        except OSError:
            raise
        except BaseException:  # an interrupt: nobody knows what was sent, so begin anew
            self.session.hang_up = 0.0
            self._wake()
            raise
        finally:
            self._sending = False

    def _wake(self) -> None:
        if self._sockets:
            with suppress(OSError):
                self._sockets[0].send(b"!")

    def leave(self, seconds: float) -> None:
        """End the operation and the application, waiting no longer than this for the coordinator."""
        if self.session.disabled or self._finished.is_set():
            return
        self.begin_leaving(seconds)
        if threading.current_thread() is not self._thread:
            self._finished.wait(seconds)
        self.speak()

    def begin_leaving(self, seconds: float) -> None:
        """The same, without waiting."""
        with self.lock:
            self.session.leave()
            self._deadline = min(self._deadline, self.clock() + seconds)
        self.send()

    @property
    def finished(self) -> bool:
        """Whether the thread has ended."""
        return self.session.disabled or self._finished.is_set()

    def speak(self) -> None:
        """Tell people what there is to tell."""
        with self.lock:
            notices, self.session.notices = self.session.notices, []
        for level, text in notices:
            log.log(level, text)

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's, and there is no thread."""
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.session.disable(self.clock())
        self._finished = threading.Event()
        self._finished.set()
        for held in self._sockets:
            held.close()
        self._sockets, self._out = [], b""

    def _run(self) -> None:
        try:
            while not self._over():
                wish = self._converse_once()
                self.speak()
                self._rest(max(self._retry, wish))
                self._retry = min(2.0 * self._retry, LAST_RETRY)
        finally:
            with self.lock:
                if not self.session.leaving:  # something that nobody foresaw: on without the coordinator
                    self.session.disable(self.clock())
            self._finished.set()
            self._tell()
            for end in self._sockets:
                end.close()

    def _over(self) -> bool:
        session = self.session
        return session.leaving and (session.left or not session.connected or self.clock() >= self._deadline)

    def _converse_once(self) -> float:
        """Connect and talk until the connection ends; seconds to stay away, at least."""
        try:
            with self._connect() as connection:
                try:
                    with self.lock:
                        self._sockets.append(connection)
                        self.session.connect(self.clock())
                    wish, why = self._converse(connection), "hung up"
                finally:
                    with self.lock:  # nobody sends on a socket that is closed
                        del self._sockets[2:]
                        self._out = b""
        except (OSError, Malformed, Oversized) as error:
            wish, why = 0.0, _reason(error)
        with self.lock:
            self.session.lost(why, self.clock())
        self._tell()
        return wish

    def _connect(self) -> socket.socket:
        check_owner(self.address)
        if isinstance(self.address, Unix):
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.settimeout(CONNECTING)
                made.connect(str(self.address))
            except OSError:
                made.close()
                raise
        else:
            made = socket.create_connection((self.address.host, self.address.port), CONNECTING)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setblocking(False)
        return made

    def _converse(self, connection: socket.socket) -> float:
        lines = Lines()
        while True:
            with self.lock:
                session, now = self.session, self.clock()
                session.look(now)
                wish = session.hang_up
                if wish is None:
                    self._send()
                unsent = bool(self._out)
                self._sleeps_until = max(self._due(), now + (0.1 if unsent else 0.001))
            self.speak()
            if self._over():
                return 0.0
            if wish is not None:
                return wish
            if self._listen(connection, unsent, self._sleeps_until - now):
                self._hear(connection, lines)

    def _listen(self, connection: socket.socket | None, writing: bool, seconds: float) -> bool:
        """Wait for one of: data, room for data (if writing), a call to wake, the time; whether it is data."""
        ear = self._sockets[1]
        poll = select.poll()
        poll.register(ear, select.POLLIN)
        if connection is not None:
            poll.register(connection, select.POLLIN | (select.POLLOUT if writing else 0))
        ready = dict(poll.poll(math.ceil(min(seconds, 60.0) * 1000.0)))
        if ear.fileno() in ready:
            with suppress(BlockingIOError):
                ear.recv(CHUNK)
        return connection is not None and bool(ready.get(connection.fileno(), 0) & ~select.POLLOUT)

    def _hear(self, connection: socket.socket, lines: Lines) -> None:
        data = connection.recv(CHUNK)
        if not data:
            raise ConnectionResetError(0, "connection closed")
        for line in lines.feed(data):
            message = decode_reply(line)
            with self.lock:
                self.session.receive(message, self.clock())
                if self.session.registered:
                    self._retry = FIRST_RETRY
        self._tell()

    def _tell(self) -> None:
        with self.lock:
            self.changed.notify_all()
        for listener in list(self.listeners):
            listener()

    def _rest(self, seconds: float) -> None:
        """Stay away for so long, but see when patience ends."""
        until = self.clock() + seconds
        while not self._over():
            with self.lock:
                now = self.clock()
                self.session.look(now)
                self._sleeps_until = max(now + 0.001, min(until, self.session.due(now)))
            self.speak()
            if now >= until:
                return
            self._listen(None, False, self._sleeps_until - now)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return "what it says is no message"


def _abandon_all() -> None:
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)
