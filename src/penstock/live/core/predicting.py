"""Learn from the operations of running applications, and predict the next I/O phase of each.

Policies see means over ended operations and iterations. `penstock.engine.chain.learn` updates these means with a few
additions when an operation ends. Users see the next phase: its volume, when it is due, and the period of the application
with a confidence (`penstock.numeric.periodicity`; importers use the same search). To find a period takes half a millisecond.
So the coordinator searches only when somebody asks, and again only if operations have ended since. With
`--information predicted` policies see predictions in place of what clients announce. Then the coordinator also searches at
the same counts of operations as a simulation (`penstock.engine.chain.search_is_due`): the period says how many operations
make a phase, and so how long an iteration is. The coordinator keeps the latest `KEPT` operations of each client, 1.2 KB.

Without `--information predicted`, announced values take precedence over learned ones: an announced volume is exact for this
operation, a learned one is a mean of earlier operations. The coordinator checks the bytes that move against the announced
volume in any case. Learned values replace values that no client announces: the nominal iterations of policies that plan an
order, and the length of an application.
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
"""The most clients for which one snapshot searches for a period; for the others it shows the last period found."""


class Known(msgspec.Struct, array_like=True):
    """Means over the ended operations and iterations of an application (`penstock.engine.chain.learn`)."""

    operations: int = 0
    volume: float = 0.0
    """Mean bytes of an operation."""
    iterations: int = 0
    work: float = 0.0
    """Mean seconds of work of an iteration."""
    alone: float = 0.0
    """Mean seconds that the I/O of an iteration takes alone."""
    per_phase: int = 1
    """Operations in a period, by the latest search for policies; an iteration that policies see has so many."""
    searched: int = 0
    """Operations that had ended at the latest search for policies."""


class Prediction(NamedTuple):
    """The next I/O phase that is expected: volume in bytes, times in seconds; None for an unknown value."""

    volume: float | None = None
    """Bytes of the phase."""
    due: float | None = None
    """Seconds until the phase is expected to begin; 0 if it is overdue or under way."""
    period: float | None = None
    """Seconds from phase to phase: the dominant period, or without one the mean iteration."""
    confidence: float = 0.0
    """Confidence of the period, from 0 to 1; 0 if no period was found and `period` is the mean iteration."""
    operations: int = 0
    """Number of ended operations on which the prediction rests."""


class _Search(NamedTuple):
    """The result of the latest search for the period of a client."""

    number: int = 0
    """The number of the search, counted over all clients; 0 before the first search."""
    operations: int = 0
    """Operations of the client that had ended at the search."""
    period: Period | None = None
    together: int = 1
    """Operations in a period."""


class Predictor:
    """Keeps the latest operations of each client, and predicts the next phase."""

    def __init__(self) -> None:
        self.for_policies = False
        """Whether policies see predictions: then search for periods when the simulator would, without being asked."""
        self.together = Known(alone=FIRST_GUESS_S)
        """Means over the operations of all clients."""
        self._latest: dict[int, array[float]] = {}
        """For each client, three numbers for each of its latest operations: date posted, date ended, bytes."""
        self._searches: dict[int, _Search] = {}
        self._searched = 0

    def restored(self, known: Known) -> None:
        """Add the means in `known`, of a client that returns after a restart, to the means over all clients."""
        if known.iterations:
            all_together = self.together
            all_together.operations += known.iterations
            all_together.alone += (known.alone - all_together.alone) * known.iterations / all_together.operations

    def ended(self, client: Client, posted: float, now: float, volume: float) -> None:
        """Keep an ended operation of the `client`: `volume` bytes, from the date `posted` to `now`."""
        latest = self._latest.get(client.number)
        if latest is None:
            latest = self._latest[client.number] = array("d")
        latest.extend((posted, now, volume))
        if len(latest) > 3 * KEPT:
            del latest[:3]
        known = client.known
        complete = len(latest) == 3 * min(known.operations, KEPT)  # a restart forgets them
        if self.for_policies and complete and search_is_due(known.operations, known.searched):
            known.searched = known.operations
            known.per_phase = period_of_latest(_rows(latest))[1]

    def forget(self, number: int) -> None:
        """Forget the client with this `number`, which has left."""
        self._latest.pop(number, None)
        self._searches.pop(number, None)

    def to_search(self, clients: Iterable[Client]) -> set[int]:
        """The numbers of the `clients` to search for a period now: those whose latest search is the longest ago."""
        stale = [client.number for client in clients if self._is_stale(client)]
        return set(heapq.nsmallest(MOST_SEARCHES, stale, key=lambda number: self._found(number).number))

    def predict(self, client: Client, now: float, *, search: bool = True) -> Prediction:
        """Predict the next phase of the `client` after the date `now`.

        Args:
            client: The client.
            now: The date.
            search: Search for a new period if operations have ended since the latest search; if False, use the last result.
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
        """Whether operations of the `client` have ended since the latest search for its period."""
        return self._found(client.number).operations != client.operations

    def _search(self, client: Client) -> None:
        latest = self._latest.get(client.number)
        period, together = (None, 1) if latest is None else period_of_latest(_rows(latest))
        self._searched += 1
        self._searches[client.number] = _Search(self._searched, client.operations, period, together)

    def _due(self, client: Client, now: float, found: _Search) -> float | None:
        """Seconds from the date `now` until the next phase of the `client`; None if nothing says when.

        If a period with several operations was `found`, the phase is due one period after the first operation of the latest
        phase was posted. Else it is due when the mean work of an iteration has passed since the end of the last operation.
        """
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
