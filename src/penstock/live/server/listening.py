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
from typing import Final

from penstock.live.client import address
from penstock.model import InputError

BACKLOG: Final = 1024


async def listen_locally(path: Path, peer: Callable[[], asyncio.Protocol], stack: contextlib.AsyncExitStack) -> None:
    """Listen on a Unix socket until the stack is unwound. Every user may connect: the kernel tells who it is."""
    with one_line(f"socket {path}"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        address.check_owner(address.Unix(path))
        if path.is_socket():
            if _answers(path):
                raise InputError(
                    f"socket {path}", "another coordinator listens there; expected one of its own, --socket PATH"
                )
            path.unlink()  # left by a coordinator that died
        server = await asyncio.get_running_loop().create_unix_server(peer, str(path), backlog=BACKLOG)
        path.chmod(0o666)
        ours = path.stat().st_ino
    stack.callback(_remove, path, ours)
    stack.callback(server.close)


async def listen_remotely(text: str, peer: Callable[[], asyncio.Protocol], stack: contextlib.AsyncExitStack) -> None:
    """Listen on a TCP port until the stack is unwound."""
    where = tcp(text, "listen")
    with one_line(f"listen {where}"):
        server = await asyncio.get_running_loop().create_server(peer, where.host, where.port, backlog=BACKLOG)
    stack.callback(server.close)


def tcp(text: str, place: str) -> address.Tcp:
    """Parse a TCP address, host:port; InputError if it is none."""
    where = address.parse(text)
    if not isinstance(where, address.Tcp):
        raise InputError(place, f"{text!r} is no TCP address; expected host:port")
    return where


@contextlib.contextmanager
def one_line(place: str) -> Iterator[None]:
    """Turn a failure to listen into an InputError of one line."""
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
    """Send systemd a state such as READY=1; returns whether it listens."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as peer:
        peer.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
        return True
    return False


def watchdog_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds within which systemd expects a sign of life of this process; 0 for never."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and for_us else 0.0


async def feed_watchdog() -> None:
    """Send systemd signs of life, twice as often as it expects, until cancelled."""
    seconds = watchdog_seconds()
    while seconds > 0.0:
        notify("WATCHDOG=1")
        await asyncio.sleep(seconds / 2.0)
