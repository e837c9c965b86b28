"""What the coordinator learns of applications while they run, and the next I/O phase that it expects of each.

Policies are shown means over ended operations and iterations, which `penstock.engine.chain.learn` keeps up to date: a few
additions when an operation ends. People are shown the next phase: its volume, the period of the application with a
confidence (`penstock.numeric.periodicity`, as the importers find it), and when it is due. A period takes half a millisecond
to find. So it is looked for only when somebody asks, and again only after further operations. Where policies are shown
predictions in place of what clients announce, it is looked for at the same counts of operations as in a simulation
(`penstock.engine.chain.search_is_due`): it says how many operations make a phase, and so how long an iteration is. Of each
client the latest `KEPT` operations are kept, 1.2 KB.

What a client announces goes before what is learned. An announced volume is that of this operation, a learned one the mean of
others; the coordinator checks what is moved against it in any case. Learned values stand in for what nobody announces: the
nominal iterations of policies that plan an order, and the length of an application.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from penstock.engine.chain import KEPT, search_is_due
from penstock.numeric.arrays import Floats
from penstock.numeric.periodicity import Period, period_of_latest
from penstock.numeric.tolerances import FIRST_GUESS_S

if TYPE_CHECKING:
    from penstock.live.core.clients import Client

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
    per_phase: int = 1
    """Operations in a period, by the latest search for policies; an iteration that they are shown has so many."""
    searched: int = 0
    """Operations that had ended then."""


class Prediction(NamedTuple):
    """The I/O phase that is expected next: volumes in bytes, times in seconds; None for what is not known."""

    volume: float | None = None
    """Of the phase."""
    due: float | None = None
    """Until it is expected; 0 if it is overdue or under way."""
    period: float | None = None
    """From phase to phase: the dominant period, or without one the mean iteration."""
    confidence: float = 0.0
    """Of the period, from 0 to 1; 0 if no period was found and `period` is a mean."""
    operations: int = 0
    """Ended operations that this rests on."""


class _Search(NamedTuple):
    """What the latest search for the period of a client has found."""

    number: int = 0
    """The search was so manieth of all."""
    operations: int = 0
    """Operations of the client that had ended."""
    period: Period | None = None
    together: int = 1
    """Operations in a period."""


class Predictor:
    """Remembers the latest operations of each client, and predicts the next."""

    def __init__(self) -> None:
        self.for_policies = False
        """Policies are shown what is predicted: look for periods as the simulator does, without being asked."""
        self.together = Known(alone=FIRST_GUESS_S)
        """Means over the operations of all clients."""
        self._latest: dict[int, array[float]] = {}
        """Of each client: date posted, date ended and bytes of its latest operations, in a row."""
        self._searches: dict[int, _Search] = {}
        self._searched = 0

    def restored(self, known: Known) -> None:
        """Count a client that is there again, of which so much is `known`, among all clients."""
        if known.iterations:
            all_together = self.together
            all_together.operations += known.iterations
            all_together.alone += (known.alone - all_together.alone) * known.iterations / all_together.operations

    def ended(self, client: Client, posted: float, now: float, volume: float) -> None:
        """Remember an operation of the `client`: `volume` bytes, from the date `posted` to `now`."""
        latest = self._latest.get(client.number)
        if latest is None:
            latest = self._latest[client.number] = array("d")
        latest.extend((posted, now, volume))
        if len(latest) > 3 * KEPT:
            del latest[:3]
        known = client.known
        complete = len(latest) == 3 * min(known.operations, KEPT)  # a restart has forgotten them
        if self.for_policies and complete and search_is_due(known.operations, known.searched):
            known.searched = known.operations
            known.per_phase = period_of_latest(_rows(latest))[1]

    def forget(self, number: int) -> None:
        """The client of this `number` is gone."""
        self._latest.pop(number, None)
        self._searches.pop(number, None)

    def to_search(self, clients: Iterable[Client]) -> set[int]:
        """The numbers of those `clients` whose periods are to be looked for now: those that have waited longest."""
        stale = [client.number for client in clients if self._is_stale(client)]
        return set(heapq.nsmallest(MOST_SEARCHES, stale, key=lambda number: self._found(number).number))

    def predict(self, client: Client, now: float, *, search: bool = True) -> Prediction:
        """The phase that is expected of the `client` after the date `now`.

        Args:
            client: The client.
            now: The date.
            search: Look for a new period if operations have ended since; without it, use the last one found.
        """
        known = client.known
        if known.operations == 0:
            return Prediction()
        if search and self._is_stale(client):
            self._search(client)
        found = self._found(client.number)
        return Prediction(
            volume=known.volume * found.together,
            due=self._due(client, now, found),
            period=_mean_iteration(known) if found.period is None else found.period.seconds,
            confidence=0.0 if found.period is None else found.period.confidence,
            operations=known.operations,
        )

    def _found(self, number: int) -> _Search:
        return self._searches.get(number, _NOT_SEARCHED)

    def _is_stale(self, client: Client) -> bool:
        """Whether the `client` has ended operations since its period was last looked for."""
        return self._found(client.number).operations != client.operations

    def _search(self, client: Client) -> None:
        latest = self._latest.get(client.number)
        period, together = (None, 1) if latest is None else period_of_latest(_rows(latest))
        self._searched += 1
        self._searches[client.number] = _Search(self._searched, client.operations, period, together)

    def _due(self, client: Client, now: float, found: _Search) -> float | None:
        """Seconds until the next phase: a mean work after the last one, or a period after the operation before it."""
        if client.operation is not None:
            return 0.0
        if found.period is not None and found.together > 1:
            due = self._latest[client.number][-3 * found.together] + found.period.seconds
        elif client.known.iterations:
            due = client.idle_since + client.known.work
        else:
            return None
        return max(0.0, due - now)


_NOT_SEARCHED: Final = _Search()


def _mean_iteration(known: Known) -> float | None:
    return known.work + known.alone if known.iterations else None


def _rows(latest: array[float]) -> Floats:
    return np.array(latest, np.float64).reshape(-1, 3)
