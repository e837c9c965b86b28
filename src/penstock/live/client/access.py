"""The operation that an application has under way, and the levels of an I/O stack that describe it.

Used inside the client only.

`prepare` pushes a level, `complete` pops it (003 §III.C). A level describes some bytes and the parts in which they move:
`files`, `rounds` of each file, or both. An inner level describes one part of the level around it. So every level counts:

- An operation has the volume of the innermost level; if that level gives none, its share of the level around it.
- The operation has as many rounds as the innermost level has parts: `files` times `rounds`.
- `follows` is the number of bytes that the outer levels still have to move after the operation, plus those that a level says
  will follow. If an outer level gives no volume, all its parts are taken to be as large as the inner level.

Bytes that are moved count on all levels that are on the stack at that time.

`Member` makes one `Access` and passes it to each `IO`. The holder of an operation is the `IO` that announced it, or the six
calls. An `IO` that is made inside a step of the six calls is a guest: it moves bytes of the step's operation, but only the
six calls end that operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.live.client.environment import MOST_RATE, NAME_CHARACTERS
from penstock.live.client.errors import UsageError
from penstock.live.client.link import Link, log
from penstock.live.client.transfer import Gate, Operation, check_integer, rounds_of

SENT: Final = ("volume", "rounds", "files", "bandwidth", "store", "follows")
"""Values that the coordinator is told about; a level may hold others, which stay with the application."""


@dataclass(frozen=True)
class Announcement:
    """An operation as the stack describes it."""

    volume: int
    """Bytes."""
    rounds: int
    outer: int = 0
    """Bytes that the outer levels have still to move after it."""
    after: int = 0
    """Bytes that the application said would follow."""
    bandwidth: float | None = None
    """The most that it can use, in bytes/s."""
    store: str = ""

    @property
    def follows(self) -> int:
        """Bytes of the same I/O phase that come after it."""
        return self.outer + self.after


@dataclass(frozen=True)
class _Level:
    told: Mapping[str, Any]
    moved: int = 0

    @property
    def parts(self) -> int:
        return int(self.told.get("files", 1)) * int(self.told.get("rounds", 1))


class Levels:
    """The stack of one application."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def __len__(self) -> int:
        return len(self._levels)

    def push(self, told: Mapping[str, Any]) -> None:
        """Add an inner level with the values `told`; UsageError if one of them is out of range."""
        _check(told)
        self._levels.append(_Level(dict(told)))

    def pop(self) -> None:
        """Remove the innermost level."""
        self._levels.pop()

    def count(self, moved: int) -> None:
        """Count bytes that were moved."""
        self._levels = [_Level(level.told, level.moved + moved) for level in self._levels]

    def announce(self, told: Mapping[str, Any]) -> Announcement:
        """The operation that the innermost level describes, with the values `told` beside its own."""
        _check(told)
        inner = self._levels[-1] if self._levels else _Level({})
        return _announced([*self._levels[:-1], _Level({**inner.told, **told}, inner.moved)])

    def announce_inside(self, volume: int, rounds: int | None) -> Announcement:
        """An operation of `volume` bytes in `rounds` rounds, as a level of its own."""
        if not self._levels:  # what is prepared costs nothing where nothing is: 15 µs an operation
            return Announcement(volume, rounds_of(volume, rounds))
        told = {"volume": volume} if rounds is None else {"volume": volume, "rounds": rounds}
        _check(told)
        return _announced([*self._levels, _Level(told)])


def _announced(levels: list[_Level]) -> Announcement:
    sizes, inner = _sizes(levels), levels[-1]
    size = sizes[-1]
    if size is None:
        raise UsageError("inform: no volume; expected prepare(volume=…) or inform(volume=…)")
    volume = size - inner.moved if size > inner.moved else size
    split = "rounds" in inner.told or "files" in inner.told
    left = [known - level.moved for known, level in zip(sizes[:-1], levels[:-1], strict=True) if known is not None]
    return Announcement(
        volume,
        rounds_of(volume, max(1, -(-inner.parts * volume // size)) if split and size else None),
        outer=max(0, max(left, default=0) - volume),
        after=sum(level.told.get("follows", 0) for level in levels),
        bandwidth=_innermost(levels, "bandwidth"),
        store=_innermost(levels, "store") or "",
    )


def _sizes(levels: list[_Level]) -> list[int | None]:
    """Bytes of each level: its own, else its share of the level around it, else those of its parts; None if unknown."""
    sizes: list[int | None] = []
    share: int | None = None
    for level in levels:
        size = level.told.get("volume", share)
        sizes.append(size)
        if size is not None:
            part, left = -(-size // level.parts), size - level.moved
            share = min(part, left) if left > 0 else part
    for k in reversed(range(len(levels) - 1)):
        inner = sizes[k + 1]
        if sizes[k] is None and inner is not None:
            sizes[k] = levels[k].parts * inner
    return sizes


def _innermost(levels: list[_Level], key: str) -> Any:
    return next((level.told[key] for level in reversed(levels) if level.told.get(key) is not None), None)


def _check(told: Mapping[str, Any]) -> None:
    for key, least in (("volume", 0), ("rounds", 1), ("files", 1), ("follows", 0)):
        if key in told:
            check_integer(key, told[key], least)
    rate, store = told.get("bandwidth"), told.get("store")
    if rate is not None and not (isinstance(rate, int | float) and 0.0 < rate <= MOST_RATE):
        raise UsageError(f"bandwidth {rate!r} is out of range; expected bytes per second, above 0 and at most {MOST_RATE:g}")
    if store is not None and not (isinstance(store, str) and len(store) <= NAME_CHARACTERS):
        raise UsageError(f"store {store!r} is no name; expected text of at most {NAME_CHARACTERS} characters")


SIX_CALLS: Final = object()
"""Holds the operation that `inform` announced."""


BYPASSED: Final = (
    "penstock: nothing was moved through io in a block of {volume} bytes; counted as moved in one round"
    " (expected io.write, io.read or io.move, or io.done after I/O by other means)"
)


class Access:
    """The access of one application to the I/O system.

    Args:
        link: The connection to the coordinator.
    """

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
        """Whether `who` may move bytes of the operation."""
        return who is self._holder or who is self._guest

    def begin(self, call: str, announced: Announcement, who: object) -> Operation:
        """Announce, for `call`, the operation `announced`, which `who` holds; UsageError if there is one already."""
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
        """Announce `volume` bytes in `rounds` rounds for the `IO` `who`, or let it take part in the present step."""
        self.check_open("io")
        announced = self.levels.announce_inside(volume, rounds)
        with self.link.lock:
            operation = self.link.session.operation
            if operation is not None and operation.stepping and self._guest is None:
                self._guest = who
                return operation
        return self.begin("io", announced, who)

    def settle(self, who: object) -> None:
        """Between two moves of an operation that `who` holds: start a pause that waits for that."""
        link = self.link
        with link.lock:
            if self.holds(who) and self.gate.settle(link.clock()):
                link.send()

    def moved_elsewhere(self, who: object, size: int, begun: float) -> bool:
        """Count `size` bytes that `who` has moved by other means since `begun`: a round, which ends now.

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
        """Count the announced `volume` where a block, since `begun`, moved nothing through `who`; warn once."""
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
