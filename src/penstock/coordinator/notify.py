"""A word to systemd: ready, alive, stopping (the protocol of sd_notify); nothing where it does not listen."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping


def notify(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send a state such as READY=1; returns whether anybody was there to be told."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as peer:
        peer.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
        return True
    return False


def watchdog_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """How often systemd wants to hear of this process; 0 for never."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and for_us else 0.0
