"""What the core answers: instructions to applications, or that an event cannot be.

The books of one application: who it is, what it has done, and what it is doing.

It works or has an operation pending; time between operations counts as work (000 §3). All dates are seconds of the
coordinator's own clock, which begins with its first start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import msgspec

from penstock.engine import books
from penstock.numeric.tolerances import INVARIANT, SAME_TIME_S


class Refused(Exception):
    """An event that cannot be; nothing has changed. `code` is one of the protocol's."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True)
class GrantInstruction:
    """Tell the application what it may use from now on, in bytes/s; 0 pauses it, more than 0 after that resumes it."""

    application: Client
    operation: int
    number: int
    rate: float


@dataclass(frozen=True)
class ForgetInstruction:
    """Tell the application, if it can be told, that it has lost its place."""

    application: Client
    reason: str


Instruction: TypeAlias = GrantInstruction | ForgetInstruction


NO_PLACE: Final = -1


class PendingOperation(msgspec.Struct, array_like=True):
    """An operation under way: `volume` bytes in so many `rounds`, posted at `posted`."""

    number: int
    volume: float
    rounds: int
    posted: float
    moved: float = 0.0
    """Bytes, as last reported or estimated."""

    @property
    def round_bytes(self) -> float:
        """What it moves between two chances to be paused."""
        return self.volume / self.rounds


class Reduction(NamedTuple):
    """A grant of less than before, and when it must be kept to at the latest."""

    number: int
    rate: float
    deadline: float


class Client(msgspec.Struct, array_like=True, eq=False):
    """An application as the coordinator knows it."""

    number: int
    job: str
    user: str
    uid: int
    key_digest: str
    """SHA-256 of the key that proves who it is when it comes back."""
    nodes: int
    wish: float
    """The most it can use by itself, in bytes/s."""
    cap: float
    """b_i in bytes/s: that, and no more than B."""
    registered: float
    release: float
    """τ_i."""
    done: float
    """Progress in seconds up to the last operation, or to `idle_since`."""
    idle_since: float
    """When its work phase began, or its operation was posted."""
    lead: float = 0.0
    """Seconds of the present work phase that belong to no iteration."""
    whole: float | None = None
    worked: float = 0.0
    since_operation: float = 0.0
    in_iterations: float = 0.0
    iterations: int = 0
    operations: int = 0
    moved: float = 0.0
    io_seconds: float = 0.0
    transfer_seconds: float = 0.0
    operation: PendingOperation | None = None
    last_operation: int = 0
    """The number of its latest operation."""
    grant_number: int = 0
    overruns: int = 0
    """Reports of more than its grants had allowed."""
    in_force: float = 0.0
    """Bytes/s that it may be using."""

    place: int = NO_PLACE
    """Where its operation is among the active ones."""
    connected: bool = True
    heard: float = 0.0
    """When it last gave a sign of life."""
    unkept: list[Reduction] = []
    """Grants, none higher than the one before, that it is not known to keep to yet."""
    unanswered: bool = False
    """It waits for an answer to an announcement."""

    def progress(self, now: float) -> float:
        """Seconds of its dedicated run done by now (000 eq. 6), its operation counted as of its last report."""
        if self.operation is None:
            return self.done + (now - self.idle_since)
        return self.done + self.operation.moved / self.cap

    def end_work(self, now: float) -> None:
        """It stops working, to do I/O."""
        seconds = now - self.idle_since
        counted = seconds - self.lead
        books.end_work(self, seconds)
        self.since_operation += counted if counted > SAME_TIME_S else 0.0
        self.lead = max(0.0, -counted)
        self.idle_since = now

    def end_operation(self, now: float, moved: float) -> None:
        """Its operation is over. Whatever it says that it moved, it has not progressed by more than the time it took."""
        assert self.operation is not None
        took = now - self.operation.posted
        alone = moved / self.cap
        if alone > took * (1.0 + INVARIANT) + SAME_TIME_S:
            alone = took
        books.end_operation(self, moved, alone, took)
        self.operation = None
        self.idle_since = now
