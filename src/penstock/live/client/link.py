"""The connections to a coordinator: an application's, and an operator's.

An application has a `Link`: a thread that owns the socket and reconnects when it is lost. Only this thread reads the socket
and watches the time. The application's threads take `lock` to change the session, wait on `changed` for the coordinator, and
call `send` when there is something to send; what the socket does not take at once, the thread sends.

An operator's question or command is one connection of its own (`ask_coordinator`).
"""

from __future__ import annotations

import errno
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
from pathlib import Path
from typing import Any, Final

from penstock.live.client.environment import Address, Unix, check_owner, default_socket, find_token, printable
from penstock.live.client.environment import parse_address as parse
from penstock.live.client.errors import AddressError, CoordinatorError
from penstock.live.client.session import Session
from penstock.live.protocol import VERSION, Answer, Control, Error, Lines, Malformed, Oversized, decode_reply, encode

FIRST_RETRY: Final = 0.05
LAST_RETRY: Final = 1.0
CONNECTING: Final = 2.0
"""Seconds that making a connection may take."""
CHUNK: Final = 65536
ABSENT: Final = (FileNotFoundError, NotADirectoryError, PermissionError, ConnectionRefusedError)
"""Errors that say at once that there is nothing to connect to, or nothing that this user may connect to."""

log: Final = logging.getLogger("penstock.client")
_links: Final[weakref.WeakSet[Link]] = weakref.WeakSet()


class Link:
    """Runs a session over a socket, from `start` to `leave`.

    Args:
        session: The application.
        address: Where the coordinator is.
        clock: Gives dates in seconds that never go back.
        token_file: A file with the token of a coordinator over TCP.
        is_default: Neither argument nor environment gave the address.
    """

    def __init__(
        self,
        session: Session,
        address: Address,
        clock: Callable[[], float] = time.monotonic,
        *,
        token_file: str | Path | None = None,
        is_default: bool = False,
    ) -> None:
        self.session = session
        self.address = address
        """Where it connects: the address that it was given, then those that the coordinator tells, in turn."""
        self.clock = clock
        self._first = address
        self._token_file = token_file
        self._is_default = is_default
        """The address is the default one, which depends on who listens: look again until one was found."""
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.listeners: set[Callable[[], None]] = set()
        """Called by the thread when something changes."""
        self._finished = threading.Event()
        self._deadline = math.inf
        self._retry = FIRST_RETRY
        self._sockets: list[socket.socket] = []
        """The two ends of a socket pair that wakes the thread and, while there is one, the connection."""
        self._out = b""
        """Bytes that the connection has not taken yet."""
        self._sending = False
        self._sleeps_until = math.inf
        """When the thread wakes up by itself."""
        self._thread = threading.Thread(target=self._run, name="penstock", daemon=True)
        self._aside = 0
        """The process in which a preloaded library stands aside for this link; 0: none."""

    def start(self) -> None:
        """Start the thread, which connects."""
        self._sockets = list(socket.socketpair())
        for end in self._sockets:
            end.setblocking(False)
        _links.add(self)
        self._aside = os.getpid()
        _stand_aside(True)
        self._thread.start()

    def send(self) -> None:
        """Send what there is, as far as the socket takes it; wake the thread if it would wake up too late."""
        with self.lock:
            with suppress(OSError):  # the thread notices that the connection is lost
                self._send()
            is_late = bool(self._out) or self._over() or self._due() < self._sleeps_until
        if is_late:
            self._wake()

    def _due(self) -> float:
        return min(self.session.due(self.clock()), self._deadline)

    def _send(self) -> None:
        """Send as far as the socket takes it, unless a signal handler has interrupted another `_send`."""
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
        except BaseException:  # an interrupt: how much was sent is not known, so reconnect
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
        """End the operation and the application; wait for the coordinator for `seconds` at most."""
        if self.session.disabled or self._finished.is_set():
            return
        self.begin_leaving(seconds)
        if threading.current_thread() is not self._thread:
            self._finished.wait(seconds)
        self.speak()

    def begin_leaving(self, seconds: float) -> None:
        """End the operation and the application without waiting; the thread ends at most so many `seconds` later."""
        with self.lock:
            self.session.leave()
            self._deadline = min(self._deadline, self.clock() + seconds)
        self.send()
        if self._aside == os.getpid():  # in a forked child it does not stand aside
            _stand_aside(False)
        self._aside = 0

    @property
    def finished(self) -> bool:
        """Whether the thread has ended."""
        return self.session.disabled or self._finished.is_set()

    def speak(self) -> None:
        """Log the session's notices."""
        with self.lock:
            notices, self.session.notices = self.session.notices, []
        for level, text in notices:
            log.log(level, text)

    def abandon(self) -> None:
        """Go on without a coordinator. A forked child does: the connection and the thread are its parent's."""
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
        """Connect and exchange messages until the connection ends; the seconds to wait, at least, before the next one."""
        absent = broken = False
        try:
            with self._connect() as connection:
                try:
                    with self.lock:
                        self._sockets.append(connection)
                        self.session.connect(self.clock())
                    wish, why = self._converse(connection), "hung up"
                finally:
                    with self.lock:  # so that no thread sends on a closed socket
                        del self._sockets[2:]
                        self._out = b""
        except (OSError, Malformed, Oversized) as error:
            wish, why, absent, broken = 0.0, _reason(error), isinstance(error, ABSENT), True
        with self.lock:
            now = self.clock()
            self.session.lost(why, now, absent=absent)
            if broken or self.session.uncoordinated(now):
                self._look_elsewhere()
        self._tell()
        return wish

    def _look_elsewhere(self) -> None:
        """Connect next to the address that follows the present one, of those that the coordinator has told."""
        if self._is_default and self.session.application is None:
            self._first = self.address = Unix(default_socket())
            self.session.look_at(printable(str(self.address)), "")
        known = list(dict.fromkeys([self._first, *_usable(self.session.addresses)]))
        if len(known) == 1 and self.address == self._first:
            return
        place = known.index(self.address) + 1 if self.address in known else 0
        self.address = known[place % len(known)]
        try:
            token = find_token(self._token_file, self.address)
        except AddressError:  # the file cannot be used any more, or is none of this user's: the coordinator says no
            token = ""
        self.session.look_at(printable(str(self.address)), token)

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
                if session.check_patience(now):
                    self._tell()
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
        """Wait for data, room for data (if writing), a call of `_wake` or the time; whether there are data."""
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
        """Wait before the next connection, but notice when patience ends."""
        until = self.clock() + seconds
        while not self._over():
            with self.lock:
                now = self.clock()
                self.session.check_patience(now)
                self._sleeps_until = max(now + 0.001, min(until, self.session.due(now)))
            self.speak()
            if now >= until:
                return
            self._listen(None, False, self._sleeps_until - now)


def _stand_aside(on: bool) -> None:
    """Have libpenstock-posix, if it is preloaded, only count bytes of this process: they must not wait for two turns."""
    if "libpenstock-posix" not in os.environ.get("LD_PRELOAD", ""):
        return
    import ctypes

    tell = getattr(ctypes.CDLL(None), "penstock_posix_stand_aside", None)
    if tell is not None:
        tell(int(on))


def _usable(texts: tuple[str, ...]) -> list[Address]:
    """The addresses in these texts; what is none is left out."""
    found: list[Address] = []
    for text in texts:
        with suppress(AddressError):
            found.append(parse(text))
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return "what it says is no message"


def _abandon_all() -> None:
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)


TIMEOUT_SECONDS: Final = 10.0


def ask_coordinator(path: Path, command: str, argument: str = "", timeout: float = TIMEOUT_SECONDS) -> Any:
    """Send a command to the coordinator.

    Args:
        path: Its Unix socket.
        command: The command, such as ``state`` (`penstock.live.server.control.COMMANDS`).
        argument: The argument of the command.
        timeout: Seconds to wait for the answer.

    Returns:
        The answer, as JSON gives it.

    Raises:
        CoordinatorError: If no coordinator answers, or it refuses.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(str(path))
            connection.sendall(encode(Control(1, VERSION, command, argument)))
            line = connection.makefile("rb").readline()
            if not line.endswith(b"\n"):
                raise ConnectionResetError(errno.ECONNRESET, "it hung up")
            reply = decode_reply(line)
    except Malformed as error:
        raise CoordinatorError(
            f"what listens at {path} is no coordinator ({error}); expected one of penstock serve"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise CoordinatorError(f"no coordinator answers at {path} ({reason}); start one with penstock serve") from None
    if isinstance(reply, Error):
        raise CoordinatorError(reply.text)
    assert isinstance(reply, Answer)
    return reply.body
