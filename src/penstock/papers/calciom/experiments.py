"""The pairs of applications of 003 §II and §IV.

The text has their processes and volumes, and neither how fast the file systems were nor what a process can use alone. Here:

- every file system carries 1 GB/s: factors and the shapes of graphs do not depend on it, seconds do;
- a process on Grid'5000 can use 6/344 of the file system, so that 8 of them beside 336 see a sixth of the bandwidth they
  have alone, as §II.E says; from that, what becomes of other sizes is predicted;
- on Surveyor 2,048 cores fill the file system, and 1,024 can use 0.6 of it: they interfere less than expected (Figures 7 (b)
  and 12), by how much is not in the text;
- 2,048 cores that write a strided pattern communicate for 0.4 of the time of the operation alone, in 16 rounds (Figure 8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.theory.interference import Pair, Times, Writer

BANDWIDTH: Final = 1e9
MB: Final = 1e6
PROCESS: Final = 6.0 / 344.0
"""Part of Grid'5000's file system that a process can use."""
SMALL_CAP: Final = 0.6
"""Part of Surveyor's file system that 1,024 cores can use."""
COMMUNICATION: Final = 0.4
"""Part of the time alone of a strided operation that needs no bandwidth."""
ROUNDS: Final = 16
SPLITS: Final = ((744, 24), (720, 48), (672, 96), (576, 192), (384, 384))
"""Cores of A and of B, 768 together (Figures 6 and 9)."""
FILES: Final = 4


@dataclass(frozen=True)
class CalciomScale:
    """How much is run: values of dt in a graph, random pairs for general claims, values of dt in a live graph."""

    points: int
    pairs: int
    live: int


SCALES: Final[Mapping[str, CalciomScale]] = {
    "smoke": CalciomScale(31, 20, 2),
    "quick": CalciomScale(121, 200, 5),
    "paper": CalciomScale(601, 2000, 13),
}


def equal() -> Pair:
    """Figure 2: 336 processes each, 16 MB per process."""
    writer = Writer(336 * 16 * MB, 336)
    return Pair(writer, writer, BANDWIDTH)


def split(a: int, b: int, volume: float = 8 * MB) -> Pair:
    """Figures 4, 6 and 9: two applications on Grid'5000, of `a` and of `b` processes, with `volume` bytes per process."""
    return Pair(Writer(a * volume, a), Writer(b * volume, b), BANDWIDTH, PROCESS * BANDWIDTH)


def large() -> Pair:
    """Figure 7 (a): 2,048 cores each, 32 MB per process."""
    writer = Writer(2048 * 32 * MB, 2048)
    return Pair(writer, writer, BANDWIDTH)


def small() -> Pair:
    """Figures 7 (b) and 12: 1,024 cores each, 32 MB per process, which do not fill the file system."""
    writer = Writer(1024 * 32 * MB, 1024, bandwidth=SMALL_CAP * BANDWIDTH)
    return Pair(writer, writer, BANDWIDTH)


def files(rounds: int | None = None) -> Pair:
    """Figures 10 and 11: 2,048 cores each; A writes four files of 4 MB per process, and B one.

    A writes in so many `rounds`, and B in one; with None both can be interrupted at any time.
    """
    size = 2048 * 4 * MB
    return Pair(Writer(FILES * size, 2048, rounds), Writer(size, 2048, None if rounds is None else 1), BANDWIDTH)


def range_of(pair: Pair, scale: CalciomScale, *, after: bool = False) -> list[float]:
    """Dates dt, in seconds, over which the two meet and a little beyond.

    `pair` are the two, `scale` says how many dates, and `after` asks only for those after A's posting.
    """
    alone = pair.alone()
    begin = 0.0 if after else -1.25 * alone.b
    return [float(dt) for dt in np.linspace(begin, 1.25 * alone.a, scale.points)]


@dataclass(frozen=True)
class Collective:
    """Two equal applications that write by collective buffering (Figure 8): rounds of communication and of writing.

    `seconds` alone, of which the part COMMUNICATION needs no bandwidth.
    """

    seconds: float = 2048 * 16 * MB / BANDWIDTH / (1.0 - COMMUNICATION)

    def application(self, name: str, release: float) -> Application:
        """An application that begins at `release`, in seconds; communication is work between the writes of an operation.

        `name` is its name.
        """
        one = [
            ("work", COMMUNICATION * self.seconds / ROUNDS),
            ("write", (1.0 - COMMUNICATION) * self.seconds * BANDWIDTH / ROUNDS),
        ]
        return Application.of(name, one * ROUNDS, nodes=2048, release=release)

    def interfering(self, dt: float) -> tuple[Times, Times]:
        """Seconds of I/O of A and B, and of these the seconds of writing.

        B begins `dt` seconds after A.
        """
        members = (self.application("A", 0.0), self.application("B", dt))
        done = simulate(Workload(Platform(BANDWIDTH), members), "interfering").applications
        times = [float(one.end or 0.0) - member.release for one, member in zip(done, members, strict=True)]
        return Times(*times), Times(*(one.waiting + one.transferring for one in done))

    def serializing(self, dt: float) -> Times:
        """Seconds of I/O if whoever comes second waits for the other's whole operation, communication included.

        B begins `dt` seconds after A.
        """
        second = self.seconds + max(0.0, self.seconds - abs(dt))
        return Times(second, self.seconds) if dt < 0.0 else Times(self.seconds, second)
