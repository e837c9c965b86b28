"""Where a coordinator listens, and how it tells systemd that it does.

Peers connect over a Unix socket, which one coordinator owns at a time, or over a TCP port. systemd is told when the
coordinator is ready, alive and stopping (the protocol of sd_notify); without systemd nothing is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from penstock.live.client.environment import Tcp, is_foreign, parse_address
from penstock.live.server.logbook import RareLog
from penstock.live.server.owned_files import LockFile
from penstock.live.server.wire import RECEIVE_BYTES
from penstock.model import InputError

BACKLOG: Final = 1024
AT_ONCE: Final = 64
"""Connections that are accepted before others are heard again."""
REST_SECONDS: Final = 1.0
"""After a failure to accept a connection."""
FOREIGN: Final = "{} belongs to another user; expected --socket PATH in a folder of yours, and PENSTOCK_SOCKET for clients"

Welcome: TypeAlias = Callable[[socket.socket], object]
"""Takes a connection that has just been accepted."""


class Listener:
    """Accepts connections at a socket. When the system has no room for one, it rests, so that it does not try all the time.

    Args:
        place: What it listens at, in words.
        listening: The socket, which is closed by `close`.
        welcome: Called with each new connection.
    """

    def __init__(self, place: str, listening: socket.socket, welcome: Welcome) -> None:
        self._place = place
        self._socket = listening
        self._welcome = welcome
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None
        self._limit = RareLog()
        listening.setblocking(False)
        listening.listen(BACKLOG)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Listen no more."""
        self._loop.remove_reader(self._socket)
        if self._rest is not None:
            self._rest.cancel()
        self._socket.close()

    def _accept(self) -> None:
        """Accept those that wait, then greet them: who connects again because it was answered waits for others."""
        for connection in list(self._waiting()):
            try:
                self._welcome(connection)
            except OSError:  # it is gone already
                connection.close()

    def _waiting(self) -> Iterator[socket.socket]:
        try:
            for _ in range(AT_ONCE):
                yield self._socket.accept()[0]
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            self._limit.warn("%s: cannot accept connections: %s", self._place, error.strerror)
            self._loop.remove_reader(self._socket)
            self._rest = self._loop.call_later(REST_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._rest = None
        self._loop.add_reader(self._socket, self._accept)


def listen_locally(path: Path, welcome: Welcome, stack: contextlib.AsyncExitStack) -> Listener:
    """Listen on the Unix socket `path` until the `stack` is unwound; `welcome` gets each connection.

    Every user may connect: the kernel tells who it is.
    """
    place = f"socket {path}"
    with one_line(place):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if is_foreign(path):
            raise InputError(place, FOREIGN.format(path.parent))
        lock = LockFile(f"{path}.lock", place, "listens there; expected one of its own, --socket PATH")
        stack.callback(lock.close)
        if path.is_socket():
            if _answers(path):
                raise InputError(place, "another coordinator listens there; expected one of its own, --socket PATH")
            path.unlink()  # left by a coordinator that died
        listening = socket.socket(socket.AF_UNIX)
        stack.callback(listening.close)
        listening.bind(str(path))
        path.chmod(0o666)
        ours = path.stat().st_ino
    stack.callback(_remove, path, ours)
    listener = Listener(place, listening, welcome)
    stack.callback(listener.close)
    return listener


def listen_remotely(text: str, welcome: Welcome, stack: contextlib.AsyncExitStack) -> None:
    """Listen on the TCP port in `text` until the `stack` is unwound, at all addresses of the host.

    `welcome` gets each connection.
    """
    where = tcp(text, "listen")
    place = f"listen {where}"

    def greet(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        welcome(connection)

    with one_line(place):
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, name in dict.fromkeys(found):
            listening = socket.socket(family, kind, protocol)
            stack.callback(listening.close)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.bind(name)
            stack.callback(Listener(place, listening, greet).close)


def tcp(text: str, place: str) -> Tcp:
    """Parse `text` as a TCP address, host:port; InputError, at `place`, if it is none."""
    where = parse_address(text)
    if not isinstance(where, Tcp):
        raise InputError(place, f"{text!r} is no TCP address; expected host:port")
    return where


@contextlib.contextmanager
def one_line(place: str) -> Iterator[None]:
    """Turn a failure to listen at `place` into an InputError of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(place, f"cannot be listened on: {error.strerror or error}") from None


def _answers(path: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        probe.connect(str(path))
        return True
    return False


def _remove(path: Path, inode: int) -> None:
    """Remove the socket, unless another coordinator has replaced it."""
    with contextlib.suppress(OSError):
        if os.stat(path).st_ino == inode:  # noqa: PTH116
            path.unlink()


def notify(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send systemd the state `text`, such as READY=1, at the socket in `environment`; returns whether it listens."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as peer:
        peer.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
        return True
    return False


def watchdog_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds within which systemd, by the `environment`, expects a sign of life of this process; 0 for never."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and for_us else 0.0


async def feed_watchdog() -> None:
    """Send systemd signs of life, twice as often as it expects, until cancelled."""
    seconds = watchdog_seconds()
    while seconds > 0.0:
        notify("WATCHDOG=1")
        await asyncio.sleep(seconds / 2.0)
