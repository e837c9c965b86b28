"""What `Job` and `AsyncJob` have in common: everything that does not wait.

The six calls of CALCioM (003 §III.C) for one application:

| call | |
|---|---|
| `prepare` | pushes what is known about the next I/O onto a stack; an inner level is a part of the outer one |
| `inform` | announces the operation that the stack describes or, if it is announced, that its next step starts |
| `check` | tells whether the step may access the I/O system now |
| `wait` | waits until it may |
| `release` | ends a step and reports progress; a pause starts here |
| `complete` | pops a level off the stack and ends the operation if it was announced at that level or below |

Without `prepare`, `inform(volume=…)` … `release()` is an operation of one step. `penstock.live.client.access` says how
levels compose.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.live.client.access import SIX_CALLS, Access
from penstock.live.client.environment import Address, Identity, Place, disabled, find_place, identify, printable
from penstock.live.client.errors import UsageError
from penstock.live.client.link import Link, log
from penstock.live.client.outstanding import Question
from penstock.live.client.session import Session
from penstock.live.client.transfer import Operation, check_integer, rounds_of

SHORTLY: Final = 0.2
"""Seconds that a program which ends without `leave` waits for the coordinator."""


@dataclass(frozen=True)
class Membership:
    """How a job is doing at one moment. `coordinated` says whether a coordinator paces it now."""

    coordinated: bool
    rate: float
    """Bytes/s that it may use now: 0 while it waits, infinite if nothing limits it."""
    waited: float
    """Seconds for which it has waited so far."""
    moved: int
    """Bytes moved so far."""
    application: int | None
    """Its number at the coordinator."""
    policy: str
    """The coordinator's policy; empty before it is registered."""
    observing: bool = False
    """The coordinator only observes: it holds nobody back."""


class Member:
    """An application and its coordinator; `Job` and `AsyncJob` add the calls that wait.

    Args:
        name: The job; None for Slurm's, or the program's name.
        nodes: Number of nodes; None for Slurm's, or 1.
        bandwidth: The most that the application can use, in bytes/s; None for no limit.
        lead: Seconds from now on that belong to no iteration, such as a start-up.
        whole: Seconds of its complete run with the I/O system to itself; None if unknown.
        address: Where the coordinator is; None for the environment's.
        token_file: A file with the token of a coordinator over TCP.
        patience: Seconds to wait for a coordinator that does not answer; None for the environment's.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        nodes: int | None = None,
        bandwidth: float | None = None,
        lead: float = 0.0,
        whole: float | None = None,
        address: str | Path | Address | None = None,
        token_file: str | Path | None = None,
        patience: float | None = None,
    ) -> None:
        identity = identify(name, nodes, bandwidth=bandwidth, lead=lead, whole=whole)
        self.name = identity.job
        place = Place(problem="disabled") if disabled() else find_place(address, token_file, patience)
        self._patience = place.patience
        self._link = _linked(identity, place, token_file)
        self._access = Access(self._link)
        self._level: int | None = None
        """How deep the stack was when `inform` announced the operation."""
        self._outer = 0
        """Bytes that outer levels had to move after that operation."""
        self._step_from = 0
        """Bytes of the operation that were moved when the step began."""
        if not self._link.finished:
            weakref.finalize(self, Link.leave, self._link, SHORTLY)

    @property
    def state(self) -> Membership:
        """How the job is doing now."""
        with self._link.lock:
            session, gate, now = self._link.session, self._access.gate, self._link.clock()
            return Membership(
                coordinated=session.registered and not session.uncoordinated(now),
                rate=session.rate(now),
                waited=gate.waited(now),
                moved=gate.moved,
                application=session.application,
                policy=session.policy,
                observing=session.observing,
            )

    def prepare(self, **information: Any) -> None:
        """Push what is known about the next I/O.

        An inner level describes one part of the level around it, so outer and inner announcements count together.

        Args:
            **information: What is known. The coordinator is told `volume` (bytes), `rounds`, `files` (each of so many
                rounds), `bandwidth` (the most that the I/O can use, in bytes/s), `store` (the name of the store that it
                uses) and `follows` (bytes of the same I/O phase that come after this level). Other names are kept for
                the application and not sent.

        Raises:
            UsageError: If a value is out of range.
        """
        self._access.check_open("prepare")
        self._access.levels.push(information)

    def inform(self, **information: Any) -> None:
        """Announce the operation that the stack and the values of `information` describe, or that its next step starts.

        When the operation of an inner level is moved completely and the outer levels have more to move, the next inform
        announces the next part.
        """
        access, operation = self._access, self._link.session.operation
        access.check_open("inform")
        if self._stepping:
            raise UsageError("inform: the step informed of before is not released; expected release() first")
        is_done = operation is not None and operation.moved >= operation.volume and self._level == len(access.levels)
        if self._level is not None and is_done and self._outer > 0:
            self._end()
        if self._level is None:
            announced = access.levels.announce(information)
            access.begin("inform", announced, SIX_CALLS)
            self._level, self._outer = len(access.levels), announced.outer
        with self._link.lock:
            operation = self._operation()
            self._step_from = operation.moved
            operation.begin_step()

    def check(self) -> bool:
        """Whether the announced step may access the I/O system now."""
        self._step("check")
        with self._link.lock:
            turn = self._turn()
            self._access.gate.stop_waiting(self._link.clock())
            return turn

    def release(self, moved: int | None = None) -> None:
        """End the step.

        Args:
            moved: Bytes that the step has moved in all. Default: what went through `io` in this step, if anything; else a
                round, or everything if it is the only step.
        """
        self._step("release")
        if moved is not None:
            check_integer("moved", moved, 0)
        with self._link.lock:
            operation, gate, now = self._operation(), self._access.gate, self._link.clock()
            rest = self._rest_of_step(operation) if moved is None else moved - (operation.moved - self._step_from)
            gate.stop_waiting(now)
            operation.end_step()
            self._access.dismiss_guest()
            operation.advance(max(0, rest))
            gate.moved += max(0, rest)
            self._link.session.round_ended(now)
        if self._level == 0:
            self._end()
        self._link.send()

    def _rest_of_step(self, operation: Operation) -> int:
        """Bytes that the step has moved by other means than `io`, if the application does not say."""
        if operation.moved > self._step_from:
            return 0
        rest = max(0, operation.volume - operation.moved)
        return rest if self._level == 0 else int(min(operation.boundary - operation.moved, rest))

    def complete(self) -> None:
        """Pop a level off the stack, and end the operation if it was announced at this level or below."""
        levels = self._access.levels
        self._access.check_open("complete")
        if not levels:
            raise UsageError("complete: nothing is prepared; expected prepare(…) first")
        if self._level is not None and self._level >= len(levels):
            self._end()
        levels.pop()

    def _check_question(self, volume: int, rounds: int) -> None:
        self._access.check_open("ask")
        check_integer("volume", volume, 0)
        check_integer("rounds", rounds, 1)

    def _question(self, volume: int, rounds: int) -> Question:
        """Send a question about an operation. Call with the lock."""
        question = self._link.session.ask(volume, rounds_of(volume, rounds))
        self._link.send()
        return question

    def _turn(self) -> bool:
        """Whether the step may access now; if so it is in a round. Call with the lock."""
        operation = self._link.session.operation
        turn = self._access.gate.turn(self._link.clock())
        if turn and operation is not None:
            operation.in_round = True
        return turn

    @property
    def _stepping(self) -> bool:
        operation = self._link.session.operation
        return self._level is not None and operation is not None and operation.stepping

    def _operation(self) -> Operation:
        operation = self._link.session.operation
        assert operation is not None
        return operation

    def _step(self, call: str) -> None:
        self._access.check_open(call)
        if not self._stepping:
            raise UsageError(f"{call}: no step is informed of; expected inform() first")

    def _end(self) -> None:
        """End the operation, if there is one."""
        self._level = None
        self._access.end()

    def _farewell(self) -> float:
        """Close the job; the seconds that leaving may take."""
        self._access.closed = True
        self._end()
        return max(SHORTLY, min(self._patience, 1.0))


def _linked(identity: Identity, place: Place, token_file: str | Path | None) -> Link:
    """A link to the place, which connects; or one that never does, with a notice why."""
    where = printable(str(place.address))
    session = Session(identity, place.patience, time.monotonic(), where=where, token=place.token)
    link = Link(session, place.address, token_file=token_file, is_default=place.is_default)
    problem = place.problem
    if not problem:
        try:
            link.start()
        except (OSError, RuntimeError) as error:  # no file descriptor or no thread left
            problem = " ".join(str(error).split())
    if problem:
        link.abandon()
        if not disabled():
            log.warning(f"penstock: {printable(problem)}; going on uncoordinated")
    return link
