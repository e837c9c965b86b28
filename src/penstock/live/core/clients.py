"""The clients by number, what has ended, and what the journal has yet to write.

A `Client` holds what each application is, what it has done and which operation it has pending.

A client either works or has an operation pending; the time between two operations counts as work (000 §3). Dates are seconds
of the coordinator's clock, which starts at 0 with the coordinator's first start. The journal stores these classes as arrays,
so the order of their fields is part of its format.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from penstock.engine import chain
from penstock.live.core.predicting import Known, Predictor
from penstock.live.core.recording import CompletedOperation
from penstock.numeric.tolerances import INVARIANT, SAME_TIME_S

if TYPE_CHECKING:
    from penstock.live.core.events import RegisterEvent

NO_PLACE: Final = -1
"""The `place` of a client without a row in the table of pending operations."""
NO_GROUP: Final = -1
"""The `gid` of a client that is not known to belong to a group with a weight."""
NEVER: Final = -math.inf
"""The date of what is not the case."""


class PendingOperation(msgspec.Struct, array_like=True):
    """An operation of `volume` bytes in `rounds` equal rounds (0: infinitely many), posted at the date `posted`."""

    number: int
    volume: float
    rounds: int
    posted: float
    moved: float = 0.0
    """Bytes, as last reported or estimated."""
    base: float = 0.0
    """Bytes of them that were moved before the operation was first posted here."""
    most: float | None = None
    """The most that the operation can use, in bytes/s, if the client has said so."""
    follows: float = 0.0
    """Bytes of the same I/O phase that the client will announce after the operation."""

    @property
    def round_bytes(self) -> float:
        """Bytes of one round; the client can be paused between two rounds."""
        return self.volume / self.rounds if self.rounds else 0.0


class Reduction(NamedTuple):
    """A grant that is lower than the one before, and the date by which the client must acknowledge it."""

    number: int
    rate: float
    deadline: float


def number_of_name(name: str, own: int) -> int:
    """A number by which policies know the user or group of this `name`; without a name one that belongs to client `own`."""
    if not name:
        return -2 - own
    return 2**33 + int.from_bytes(blake2b(name.encode(), digest_size=7).digest())


def number_of_gid(gid: int) -> int:
    """A number by which policies know the operating system's group `gid`; no user and no name has it."""
    return -(2**33) - gid


class Client(msgspec.Struct, array_like=True, eq=False):
    """A running application, as the coordinator knows it."""

    number: int
    job: str
    user: str
    uid: int
    key_digest: str
    """SHA-256 of the key that proves the client's identity when it reconnects."""
    nodes: int
    max_rate: float
    """The most that the client can use by itself, in bytes/s."""
    cap: float
    """b_i: the lower of `max_rate` and B, in bytes/s."""
    registered: float
    release: float
    """τ_i."""
    done: float
    """Progress in seconds at the end of the last operation, or at `idle_since`."""
    idle_since: float
    """When its work phase began, or its operation was posted."""
    lead: float = 0.0
    """Seconds of the current work phase that belong to no iteration."""
    dedicated_seconds: float | None = None
    """Length of its complete dedicated run, as announced; None if unknown."""
    worked: float = 0.0
    since_operation: float = 0.0
    in_iterations: float = 0.0
    iterations: int = 0
    operations: int = 0
    """Operations that have ended."""
    moved: float = 0.0
    io_seconds: float = 0.0
    transfer_seconds: float = 0.0
    operation: PendingOperation | None = None
    last_operation: int = 0
    """The number of its latest operation."""
    grant_number: int = 0
    """The number of its latest grant."""
    overruns: int = 0
    """Reports of more bytes than its grants had allowed."""
    in_force: float = 0.0
    """Upper limit of what the client may be using now, in bytes/s."""

    place: int = NO_PLACE
    """The row of its operation among the pending operations."""
    connected: bool = True
    last_heard: float = 0.0
    """When the client last gave a sign of life."""
    unacknowledged: list[Reduction] = []
    """Reduced grants that the client has not acknowledged, in the order sent: no rate is above the one before."""
    awaits_grant: bool = False
    """The client has announced an operation and has had no grant since."""

    unseen_since: float | None = None
    """When a client that is not connected was last heard of; None once it has said what it has moved meanwhile."""
    strikes: int = 0
    """Overruns that count against it now; see `penstock.live.core.limits`."""
    struck: float = NEVER
    """When the latest of them was."""
    lowered_to: float = 1.0
    """Part of its cap that it may use until `lowered_until`."""
    lowered_until: float = NEVER
    barred_until: float = NEVER
    """Its operations wait until then."""
    group: str = ""
    """The project or account that it belongs to, as it says."""
    known: Known = msgspec.field(default_factory=Known)
    """What has been learned of it."""
    gid: int = NO_GROUP
    """The group with a weight that it is known to belong to, whatever it says."""

    @property
    def usable(self) -> float:
        """The most that its pending operation can use, in bytes/s; without one, what the client can use."""
        most = None if self.operation is None else self.operation.most
        return self.cap if most is None else min(self.cap, most)

    @property
    def user_number(self) -> int:
        """The number of its user for policies: the uid, where the coordinator knows it, whatever the client claims."""
        return self.uid if self.uid >= 0 else number_of_name(self.user, self.number)

    def progress(self, now: float) -> float:
        """Seconds of its dedicated run done by now (000 eq. 6); a pending operation counts as last reported."""
        if self.operation is None:
            return self.done + (now - self.idle_since)
        alone = max(0.0, self.operation.moved - self.operation.base) / self.usable
        return self.done + min(alone, max(0.0, now - self.operation.posted))

    def end_work(self, now: float) -> None:
        """End the work phase at the date `now`: an operation is posted."""
        seconds = now - self.idle_since
        counted = seconds - self.lead
        chain.book_work(self, seconds)
        self.since_operation += counted if counted > SAME_TIME_S else 0.0
        self.lead = max(0.0, -counted)
        self.idle_since = now

    def end_operation(self, now: float, moved: float, together: Known) -> None:
        """End the pending operation at the date `now`; `moved` bytes of it were moved while it was pending here.

        Whatever the client reports, its progress is at most the time that the operation took. What is learned goes into what
        is known of the client and of all clients `together`.
        """
        assert self.operation is not None
        took = now - self.operation.posted
        alone = moved / self.usable
        if alone > took * (1.0 + INVARIANT) + SAME_TIME_S:
            alone = took
        if self.operation.base + moved > 0.0:
            chain.learn(self.known, together, self, self.operation.base + moved, alone)
        chain.book_operation(self, moved, alone, took)
        self.operation = None
        self.idle_since = now


class Claims(NamedTuple):
    """What counts of what a client claims when it registers: rates in bytes/s, times in seconds."""

    nodes: int
    max_rate: float
    elapsed: float
    progress: float


class Registry:
    """All clients that the coordinator knows, whether connected or not."""

    def __init__(self) -> None:
        self.clients: dict[int, Client] = {}
        self.predictor = Predictor()
        self.next_number = 1
        self.completed = 0
        """Operations that have ended so far."""
        self.departed: list[str] = []
        """Jobs of the workload file that have come and gone."""
        self.holders: dict[str, int] = {}
        """Numbers of the clients that have the planned names, by name; see `penstock.live.core.deciding.Turns`."""
        self.ended: list[CompletedOperation] = []
        """Operations and clients that have ended; the journal empties the list."""
        self.changed: set[int] = set()
        """Numbers of the clients whose books have changed since `mark_written`."""
        self.regranted: set[int] = set()
        """Numbers of the clients whose grants have changed since then."""

    def add(self, now: float, event: RegisterEvent, claims: Claims, bandwidth: float) -> Client:
        """Enter a new client at the date `now` under the next number, from its `event` and what counts of its `claims`.

        `bandwidth` is B, in bytes/s.
        """
        client = Client(
            number=self.next_number,
            job=event.job,
            user=event.user,
            uid=event.uid,
            key_digest=event.key_digest,
            nodes=claims.nodes,
            max_rate=claims.max_rate,
            cap=min(bandwidth, claims.max_rate),
            registered=now,
            release=now - claims.elapsed,
            done=claims.progress,
            idle_since=now,
            lead=event.lead,
            dedicated_seconds=event.dedicated_seconds,
            group=event.group,
            gid=event.gid,
        )
        self.restore(client)
        return client

    def restore(self, client: Client) -> None:
        """Enter a client that has a number."""
        self.clients[client.number] = client
        self.predictor.restored(client.known)
        self.next_number = max(self.next_number, client.number + 1)

    def remove(self, client: Client) -> None:
        """Drop the books of a client."""
        self.clients.pop(client.number, None)
        self.predictor.forget(client.number)
        self.changed.add(client.number)

    def end_operation(self, now: float, client: Client, moved: float) -> None:
        """End the pending operation of the `client` at the date `now`; `moved` bytes of it were moved here."""
        operation = client.operation
        assert operation is not None
        self._record(client, operation.posted, now, moved, operation.rounds)
        client.end_operation(now, moved, self.predictor.together)
        if operation.base + moved > 0.0:
            self.predictor.ended(client, operation.posted, now, operation.base + moved)
        self.completed += 1

    def record_leave(self, now: float, client: Client) -> None:
        """Record that the `client` has left at the date `now`."""
        self._record(client, now, now, 0.0, 1)

    def _record(self, client: Client, posted: float, end: float, volume: float, rounds: int) -> None:
        self.ended.append(
            CompletedOperation(  # in the order of its fields
                client.number, client.job, client.nodes, client.cap, client.registered, posted, end, volume, rounds
            )
        )

    def find(self, text: str) -> list[Client]:
        """The clients whose number or job name is `text`: first the one with the number, then the latest."""
        found = [client for client in self.clients.values() if text in (str(client.number), client.job)]
        return sorted(found, key=lambda client: (str(client.number) == text, client.number), reverse=True)

    def unwritten(self, *, full: bool = False) -> tuple[list[Client], list[int], dict[int, tuple[float, int]]]:
        """What the journal has to write.

        Args:
            full: Return all clients, not only those that have changed.

        Returns:
            The clients; the numbers of clients that are gone; and, for clients of which only the grants have changed, the
            rate in force in bytes/s and the number of the latest grant.
        """
        known = self.clients
        numbers = self.changed.union(known) if full else self.changed
        regranted = [known[number] for number in self.regranted - numbers if number in known]
        return (
            [known[number] for number in numbers if number in known],
            [number for number in numbers if number not in known],
            {client.number: (client.in_force, client.grant_number) for client in regranted},
        )

    def mark_written(self) -> None:
        """The journal has written everything, or does without."""
        self.changed.clear()
        self.regranted.clear()
