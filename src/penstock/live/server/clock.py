"""The coordinator's clock, which goes on over restarts.

The clock counts seconds since the coordinator's first start. The system's monotonic clock goes on while the coordinator
restarts, but not while the machine does; the wall clock tells how long the machine was down. While the coordinator runs, a
step of the wall clock changes nothing.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path


def boot_id() -> str:
    """Identifies this boot of the machine; empty where the system does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@dataclass(frozen=True)
class Mark:
    """One instant on three clocks, in seconds: the coordinator's, the monotonic clock of a boot, and the wall clock."""

    now: float
    monotonic: float
    wall: float
    boot: str


class Clock:
    """Seconds since the coordinator's first start.

    Args:
        mark: An instant to go on from; None to start at 0.
    """

    def __init__(self, mark: Mark | None = None) -> None:
        present = Mark(0.0, time.monotonic(), time.time(), boot_id())
        self._boot = present.boot
        if mark is None:
            self._offset = -present.monotonic
        elif mark.boot == present.boot and present.monotonic >= mark.monotonic:
            self._offset = mark.now - mark.monotonic
        else:
            self._offset = mark.now + max(0.0, present.wall - mark.wall) - present.monotonic

    def now(self) -> float:
        """Seconds since the first start."""
        return time.monotonic() + self._offset

    def mark(self) -> Mark:
        """The present instant."""
        monotonic = time.monotonic()
        return Mark(monotonic + self._offset, monotonic, time.time(), self._boot)
