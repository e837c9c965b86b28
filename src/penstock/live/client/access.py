"""The one operation that an application has under way: who holds it, and what it has moved. Used inside the client only.

`Member` makes one `Access` and passes it to each `IO`. The holder of an operation is the `IO` that announced it, or the six
calls. An `IO` that is made inside a step of the six calls is a guest: it moves bytes of the step's operation, but only the
six calls end that operation.
"""

from __future__ import annotations

from typing import Final

from penstock.live.client.errors import UsageError
from penstock.live.client.levels import Announcement, Levels
from penstock.live.client.link import Link, log
from penstock.live.client.transfer import Gate, Operation

SIX_CALLS: Final = object()
"""Holds the operation that `inform` announced."""


BYPASSED: Final = (
    "penstock: nothing was moved through io in a block of {volume} bytes; counted as moved in one round"
    " (expected io.write, io.read or io.move, or io.done after I/O by other means)"
)


class Access:
    """The access of one application to the I/O system."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.gate = Gate(link.session)
        self.levels = Levels()
        self.closed = False
        """The application has left."""
        self._holder: object | None = None
        self._guest: object | None = None
        self._has_warned = False

    def check_open(self, call: str) -> None:
        """UsageError if the application has left; `call` is what it wanted."""
        if self.closed:
            raise UsageError(f"{call}: the job has left; expected a new Job")

    def holds(self, who: object) -> bool:
        """Whether this one may move bytes of the operation."""
        return who is self._holder or who is self._guest

    def begin(self, call: str, announced: Announcement, who: object) -> Operation:
        """Announce an operation that `who` holds; UsageError if there is one already."""
        self.check_open(call)
        with self.link.lock:
            if self._holder is not None:
                raise UsageError(f"{call}: an operation of this job is under way; expected its end first, or another Job")
            self._holder = who
            operation = self.link.session.begin(
                announced.volume,
                announced.rounds,
                self.link.clock(),
                follows=announced.follows,
                bandwidth=announced.bandwidth,
                store=announced.store,
            )
        self.link.send()
        return operation

    def begin_io(self, volume: int, rounds: int | None, who: object) -> Operation:
        """Announce an operation for an `IO`, or let it take part in the step that is under way."""
        self.check_open("io")
        announced = self.levels.announce_inside(volume, rounds)
        with self.link.lock:
            operation = self.link.session.operation
            if operation is not None and operation.stepping and self._guest is None:
                self._guest = who
                return operation
        return self.begin("io", announced, who)

    def settle(self, who: object) -> None:
        """Between two moves of an operation: start a pause that waits for that."""
        link = self.link
        with link.lock:
            if self.holds(who) and self.gate.settle(link.clock()):
                link.send()

    def moved_elsewhere(self, who: object, size: int, begun: float) -> bool:
        """Count bytes that the application has moved by other means since `begun`: a round, which ends now.

        Returns:
            Whether bytes are left of the announced volume.
        """
        with self.link.lock:
            operation, now = self.link.session.operation, self.link.clock()
            if operation is None or not self.holds(who):
                raise UsageError("io: the operation is closed; expected job.io(…) anew")
            self.gate.onward(operation, size, begun, now, 0, False)
            if not operation.stepping:
                self.link.session.round_ended(now)
        self.link.send()
        return operation.moved < operation.volume

    def bypassed(self, who: object, volume: int, begun: float) -> None:
        """A block ends in which nothing was moved through `who`: count the announced volume, and warn once."""
        if not self.holds(who) or not volume:
            return
        self.moved_elsewhere(who, volume, begun)
        if not self._has_warned and not self.link.session.disabled:
            self._has_warned = True
            log.warning(BYPASSED.format(volume=volume))

    def dismiss_guest(self) -> None:
        """The step ends: an `IO` that was made in it may move nothing more."""
        self._guest = None

    def end(self, who: object | None = None) -> None:
        """End the operation if `who` holds it; None ends it whoever does. A guest only goes."""
        with self.link.lock:
            if who is not None and who is self._guest:
                self._guest = None
                return
            if who is not None and who is not self._holder:
                return
            operation, self._holder, self._guest = self.link.session.operation, None, None
            self.levels.count(operation.moved if operation is not None else 0)
            self.gate.stop_waiting(self.link.clock())
            self.link.session.end()
        self.link.send()
