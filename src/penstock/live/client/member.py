"""What `Job` and `AsyncJob` have in common: everything that does not wait.

The six calls of CALCioM (003 §III.C) for one application:

| call | |
|---|---|
| `prepare` | pushes what is known about the next I/O onto a stack; inner levels override outer ones |
| `inform` | announces the operation that the stack describes or, if it is announced, that its next step starts |
| `check` | tells whether the step may access the I/O system now |
| `wait` | waits until it may |
| `release` | ends a step and reports progress; a pause starts here |
| `complete` | pops a level off the stack and ends the operation if it was announced at that level or below |

Without `prepare`, `inform(volume=…)` … `release()` is an operation of one step.
"""

from __future__ import annotations

import math
import os
import time
import weakref
from collections import ChainMap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.live.client import address as addresses
from penstock.live.client.errors import UsageError
from penstock.live.client.link import Link
from penstock.live.client.registration import identify
from penstock.live.client.session import Session
from penstock.live.client.transfer import Gate, Operation, check_integer, rounds_of

DISABLE: Final = "PENSTOCK_DISABLE"
PATIENCE: Final = "PENSTOCK_PATIENCE"
DEFAULT_PATIENCE: Final = 5.0
SHORTLY: Final = 0.2
"""Seconds that a program which ends without `leave` waits for the coordinator."""
SIX_CALLS: Final = object()
"""Owns the operation that `inform` announced."""


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


def _patience(told: float | None) -> float:
    try:
        value = float(os.environ.get(PATIENCE) or DEFAULT_PATIENCE) if told is None else float(told)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        shown = told if told is not None else os.environ[PATIENCE]
        raise UsageError(f"patience {shown!r} is out of range; expected a finite number of seconds, 0 or more")
    return value


def disabled() -> bool:
    """Whether ``PENSTOCK_DISABLE`` switches coordination off."""
    return os.environ.get(DISABLE, "") not in ("", "0")


class Member:
    """An application and its coordinator; `Job` and `AsyncJob` add the calls that wait."""

    def __init__(
        self,
        name: str | None = None,
        *,
        nodes: int | None = None,
        bandwidth: float | None = None,
        lead: float = 0.0,
        whole: float | None = None,
        address: str | Path | addresses.Address | None = None,
        token_file: str | Path | None = None,
        patience: float | None = None,
    ) -> None:
        identity = identify(name, nodes, bandwidth=bandwidth, lead=lead, whole=whole)
        self.name = identity.job
        off = disabled()
        self._patience = 0.0 if off else _patience(patience)
        where = addresses.Unix(Path("/")) if off else addresses.find(address)
        token = "" if off else addresses.find_token(token_file, where)
        session = Session(identity, self._patience, time.monotonic(), where=str(where), token=token)
        self._link = Link(session, where)
        self._gate = Gate(session)
        self._levels: list[dict[str, Any]] = []
        self._level: int | None = None
        """How deep the stack was when `inform` announced the operation."""
        self._stepping = False
        self._io: object | None = None
        self._closed = False
        if off:
            self._link.abandon()
        else:
            self._link.start()
            weakref.finalize(self, Link.leave, self._link, SHORTLY)

    @property
    def state(self) -> Membership:
        """How the job is doing now."""
        with self._link.lock:
            session, now = self._link.session, self._link.clock()
            return Membership(
                coordinated=session.registered and not session.uncoordinated(now),
                rate=session.rate(now),
                waited=self._gate.waited(now),
                moved=self._gate.moved,
                application=session.application,
                policy=session.policy,
            )

    def prepare(self, **information: Any) -> None:
        """Push what is known about the next I/O: `volume` (bytes), `rounds`, `files`, or anything else."""
        self._open("prepare")
        self._described(ChainMap(information, *reversed(self._levels)), needed=False)
        self._levels.append(information)

    def inform(self, **information: Any) -> None:
        """Announce the operation that the stack and these values describe, or that its next step starts."""
        self._open("inform")
        if self._stepping:
            raise UsageError("inform: the step informed of before is not released; expected release() first")
        if self._level is None:
            volume, rounds = self._described(ChainMap(information, *reversed(self._levels)), needed=True)
            self._begin("inform", volume, rounds, SIX_CALLS)
            self._level = len(self._levels)
        self._stepping = True

    def check(self) -> bool:
        """Whether the announced step may access the I/O system now."""
        self._step("check")
        with self._link.lock:
            turn = self._turn()
            self._gate.stop_waiting(self._link.clock())
            return turn

    def release(self, moved: int | None = None) -> None:
        """End the step, which has moved `moved` bytes. Default: a round, or everything if it is the only step."""
        self._step("release")
        with self._link.lock:
            operation, now = self._link.session.operation, self._link.clock()
            assert operation is not None
            if moved is None:
                rest = max(0, operation.volume - operation.moved)
                moved = rest if self._level == 0 else int(min(operation.boundary - operation.moved, rest))
            check_integer("moved", moved, 0)
            self._gate.stop_waiting(now)
            operation.advance(moved)
            self._gate.moved += moved
            self._link.session.round_ended(now)
        self._stepping = False
        if self._level == 0:
            self._end()
        self._link.send()

    def complete(self) -> None:
        """Pop a level off the stack, and end the operation if it was announced at this level or below."""
        self._open("complete")
        if not self._levels:
            raise UsageError("complete: nothing is prepared; expected prepare(…) first")
        if self._level is not None and self._level >= len(self._levels):
            self._end()
        self._levels.pop()

    def _turn(self) -> bool:
        """Whether the step may access now; if so it is in a round. Call with the lock."""
        operation = self._link.session.operation
        turn = self._gate.turn(self._link.clock())
        if turn and operation is not None:
            operation.in_round = True
        return turn

    def _described(self, told: ChainMap[str, Any], *, needed: bool) -> tuple[int, int]:
        volume, rounds = told.get("volume"), told.get("rounds", told.get("files"))
        if volume is None:
            if needed:
                raise UsageError("inform: no volume; expected prepare(volume=…) or inform(volume=…)")
            volume = 0
        return volume, rounds_of(volume, rounds)

    def _open(self, call: str) -> None:
        if self._closed:
            raise UsageError(f"{call}: the job has left; expected a new Job")

    def _step(self, call: str) -> None:
        self._open(call)
        if not self._stepping:
            raise UsageError(f"{call}: no step is informed of; expected inform() first")

    def _begin(self, call: str, volume: int, rounds: int, by: object) -> Operation:
        self._open(call)
        with self._link.lock:
            if self._io is not None:
                raise UsageError(f"{call}: an operation of this job is under way; expected its end first, or another Job")
            self._io = by
            operation = self._link.session.begin(volume, rounds, self._link.clock())
        self._link.send()
        return operation

    def _settle(self, by: object) -> None:
        """Between two moves of an operation: start a pause that waits for that."""
        link = self._link
        with link.lock:
            if self._io is by and self._gate.settle(link.clock()):
                link.send()

    def _end(self) -> None:
        """End the operation, if there is one."""
        with self._link.lock:
            self._io = self._level = None
            self._stepping = False
            self._gate.stop_waiting(self._link.clock())
            self._link.session.end()
        self._link.send()

    def _farewell(self) -> float:
        """Close the job; the seconds that leaving may take."""
        self._closed = True
        self._end()
        return max(SHORTLY, min(self._patience, 1.0))
