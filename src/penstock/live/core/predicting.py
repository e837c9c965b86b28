"""What the coordinator learns of applications while they run, and the next I/O phase that it expects of each.

Policies are shown means over ended operations and iterations, which `penstock.engine.chain.learn` keeps up to date: a few
additions when an operation ends. People are shown the next phase: its volume, the period of the application with a
confidence (`penstock.numeric.periodicity`, as the importers find it), and when it is due. A period takes a millisecond to
find. So it is looked for only when somebody asks, and again only after further operations. Of each client the latest
`PHASES_KEPT` operations are kept, 1.2 KB.

What a client announces goes before what is learned. An announced volume is that of this operation, a learned one the mean of
others; the coordinator checks what is moved against it in any case. Learned values stand in for what nobody announces: the
nominal iterations of policies that plan an order, and the length of an application.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from penstock.numeric.periodicity import Period, dominant_period
from penstock.numeric.tolerances import FIRST_GUESS_S

if TYPE_CHECKING:
    from penstock.live.core.clients import Client

PHASES_KEPT: Final = 48
"""Operations of a client in which a period is looked for."""
MOST_SEARCHES: Final = 8
"""Clients for which one snapshot looks for a new period; the others are shown the last one found."""


class Known(msgspec.Struct, array_like=True):
    """What is known of an application: means over its ended operations and iterations (`penstock.engine.chain.learn`)."""

    operations: int = 0
    volume: float = 0.0
    """Bytes of an operation."""
    iterations: int = 0
    work: float = 0.0
    """Seconds of work of an iteration."""
    alone: float = 0.0
    """Seconds that its I/O takes alone."""


class Prediction(NamedTuple):
    """The I/O phase that is expected next: volumes in bytes, times in seconds; None for what is not known."""

    volume: float | None
    """Of the phase."""
    due: float | None
    """Until it is expected; 0 if it is overdue or under way."""
    period: float | None
    """From phase to phase: the dominant period, or without one the mean iteration."""
    confidence: float
    """Of the period, from 0 to 1; 0 if no period was found and `period` is a mean."""
    operations: int
    """Ended operations that this rests on."""


class Predictor:
    """Remembers the latest operations of each client, and predicts the next."""

    def __init__(self) -> None:
        self.together = Known(alone=FIRST_GUESS_S)
        """Means over the operations of all clients."""
        self._phases: dict[int, array[float]] = {}
        self._found: dict[int, tuple[int, Period | None]] = {}

    def ended(self, client: Client, posted: float, now: float, volume: float) -> None:
        """Remember an operation of the `client`: `volume` bytes, from the date `posted` to `now`."""
        kept = self._phases.setdefault(client.number, array("d"))
        kept.extend((posted, now, volume))
        if len(kept) > 3 * PHASES_KEPT:
            del kept[:3]

    def forget(self, number: int) -> None:
        """The client of this `number` is gone."""
        self._phases.pop(number, None)
        self._found.pop(number, None)

    def is_stale(self, client: Client) -> bool:
        """Whether the `client` has ended operations since its period was last looked for."""
        return self._found.get(client.number, (0, None))[0] != client.operations

    def predict(self, client: Client, now: float, *, search: bool = True) -> Prediction:
        """The phase that is expected of the `client` after the date `now`.

        Args:
            client: The client.
            now: The date.
            search: Look for a new period if operations have ended since; without it, use the last one found.
        """
        known = client.known
        if known.operations == 0:
            return Prediction(None, None, None, 0.0, 0)
        starts, ends, volumes = np.array(self._phases.get(client.number, ()), np.float64).reshape(-1, 3).T
        if search and self.is_stale(client):
            self._found[client.number] = client.operations, dominant_period(starts, volumes, ends)
        found = self._found.get(client.number, (0, None))[1]
        volume, period = known.volume, found.seconds if found is not None else None
        due = client.idle_since + known.work if known.iterations else None
        together = 1  # operations of a phase
        if period is not None and len(starts) > 1:
            together = max(1, round(period * (len(starts) - 1) / (starts[-1] - starts[0])))
        if together > 1 and period is not None:
            volume *= together
            due = float(starts[-min(together, len(starts))]) + period
        if period is None and known.iterations:
            period = known.work + known.alone
        left = None if due is None else max(0.0, due - now)
        confidence = found.confidence if found is not None else 0.0
        return Prediction(volume, 0.0 if client.operation is not None else left, period, confidence, known.operations)
