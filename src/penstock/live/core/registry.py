"""Who is here and what each is at: the books of all applications, their operations under way, their leases.

How these change together is here; when, and what applications are told, is the `penstock.live.core.core`'s.
"""

from __future__ import annotations

import math

from penstock.engine.books import mean_iteration
from penstock.live.core.clients import NO_PLACE, Client, ForgetInstruction, Instruction
from penstock.live.core.grants import Leases
from penstock.live.core.pending import PendingOperations
from penstock.live.core.planned_order import PlannedOrder
from penstock.live.core.recording import CompletedOperation
from penstock.model import InputError


class Registry:
    """The applications by number: B in bytes/s, dates and the lease in seconds."""

    _expected: PlannedOrder
    """What is known ahead; by `_plan`."""

    def __init__(self, bandwidth: float, leases: Leases, now: float) -> None:
        if not 0.0 < bandwidth < math.inf:
            raise InputError("bandwidth", f"{bandwidth} is none; expected bytes/s above 0")
        self.bandwidth = float(bandwidth)
        self.now = float(now)
        self.events = 0
        self.completed = 0
        self.changed: set[int] = set()
        """Numbers of the applications whose books have changed since they were `written` down."""
        self.regranted: set[int] = set()
        """Numbers of those whose grants have; likewise."""
        self.passages: list[CompletedOperation] = []
        """Operations and applications that have ended; whoever writes them down empties it."""
        self.applications: dict[int, Client] = {}
        self.departed: list[str] = []
        """Jobs of the workload, known ahead, that have come and gone."""
        self.active = PendingOperations()
        self.leases = leases
        self.next_number = 1
        self._stale = False
        """Something has happened that the policy is to know of."""
        self._settled = False
        """All that is to be told is told, unless the policy changes its mind."""
        self._out: list[Instruction] = []

    def advance(self, now: float) -> None:
        """Go on to a date, though nothing happens; one that is past is now."""
        seconds = now - self.now
        if seconds > 0.0:
            self.active.move(seconds)
            self.now = float(now)

    def granted(self) -> float:
        """Bytes/s that applications may be using in all."""
        return float(self.active.column("rate").sum())

    def progress(self, application: Client) -> float:
        """Seconds of its dedicated run that the application has done by the present date (000 eq. 6)."""
        if application.place != NO_PLACE:
            return float(self.active.column("progress")[application.place])
        return application.progress(self.now)

    def yield_of(self, application: Client) -> float:
        """y_i at the present date; 1 at the instant of release."""
        elapsed = self.now - application.release
        return self.progress(application) / elapsed if elapsed > 0.0 else 1.0

    def unwritten(self, *, whole: bool = False) -> tuple[list[Client], list[int], dict[int, tuple[float, int]]]:
        """The applications that have changed, or all; the numbers of those that are no more; and of those where only grants
        have changed, what is in force and the number of the latest grant.
        """
        known = self.applications
        numbers = self.changed.union(known) if whole else self.changed
        regranted = [known[number] for number in self.regranted - numbers if number in known]
        return (
            [known[number] for number in numbers if number in known],
            [number for number in numbers if number not in known],
            {one.number: (one.in_force, one.grant_number) for one in regranted},
        )

    def written(self) -> None:
        """All of that is written down, or need not be."""
        self.changed.clear()
        self.regranted.clear()

    def _restore(self, application: Client) -> None:
        placed = application.place != NO_PLACE
        application.connected = False
        application.place = NO_PLACE
        application.unkept = []
        application.cap = min(application.wish, self.bandwidth)
        self.applications[application.number] = application
        self.next_number = max(self.next_number, application.number + 1)
        self.leases.alive(self.now, application)
        if application.operation is not None and placed:
            in_force = application.in_force
            self._enter(application, application.operation.moved)
            self._put_in_force(application, in_force)
            self.active.set_sent(application.place, in_force, self.now)

    def _note(self, now: float, application: Client) -> None:
        self.events += 1
        self.changed.add(application.number)
        self.leases.alive(now, application)

    def _enter(self, application: Client, moved: float) -> None:
        """Put its operation among the active ones, or bring what is known of it up to date."""
        operation = application.operation
        assert operation is not None
        operation.moved = min(moved, operation.volume)
        application.unanswered = True
        self._settled = False
        if application.place != NO_PLACE:
            allowed = self.active.column("allowed")
            allowed[application.place] = max(moved, allowed[application.place])
            self.active.set_progressed(application.place, self.now)
            self.active.set_moved(application.place, operation.moved)
            return
        position = self._expected.position(application.job)
        whole = application.whole if application.whole is not None else self._expected.whole(application.job)
        self.active.post(
            application,
            operation.moved,
            application=position if position is not None else self._expected.size + application.number,
            turn=self._turn(application),
            cap=application.cap,
            volume=operation.volume,
            posted=operation.posted,
            release=application.release,
            nodes=application.nodes,
            done=application.done,
            round=operation.round_bytes,
            progressed=self.now,
            mean_iteration=mean_iteration(application),
            whole=whole,
            rank=self._expected.rank(application.job),
            transferring=application.transfer_seconds,
        )
        self._stale = True

    def _withdraw(self, application: Client) -> None:
        """Take its operation from the active ones; what it may have used is free."""
        if application.place != NO_PLACE:
            assert application.operation is not None
            place = application.place
            moved = self.active.column("volume")[place] - self.active.column("remaining")[place]
            application.operation.moved = float(moved)
            application.transfer_seconds = float(self.active.column("transferring")[place])
            self.active.remove(application)
            self._stale = True
        application.in_force = 0.0
        application.unkept = []
        self.leases.settled(application)

    def _end(self, application: Client, moved: float) -> None:
        operation = application.operation
        assert operation is not None
        self._withdraw(application)
        self._record(application, operation.posted, moved, operation.rounds)
        application.end_operation(self.now, moved)
        self.completed += 1
        if self._expected.only_planned:
            self._expected.done(application.job, application.operations - 1, application.operations)
            self._number_turns()

    def _record(self, application: Client, begin: float, volume: float, rounds: int) -> None:
        self.passages.append(
            CompletedOperation(
                application=application.number,
                job=application.job,
                nodes=application.nodes,
                cap=application.cap,
                registered=application.registered,
                begin=begin,
                end=self.now,
                volume=volume,
                rounds=rounds,
            )
        )

    def _send_away(self, application: Client, reason: str) -> None:
        self._withdraw(application)
        self._skip(application)
        self.leases.away(self.now, application)
        self.changed.add(application.number)
        if application.connected:
            application.connected = False
            self._out.append(ForgetInstruction(application, reason))

    def _forget(self, application: Client) -> None:
        self._skip(application)
        self.applications.pop(application.number, None)
        self.leases.forget(application)
        self.changed.add(application.number)

    def _skip(self, application: Client) -> None:
        """Nobody is to wait for the turns of an application that is gone; when all are, the plan begins anew."""
        if self._expected.position(application.job) is not None and application.job not in self.departed:
            self.departed.append(application.job)
            if len(self.departed) == self._expected.size:
                self.departed.clear()
            self._plan(self._expected)

    def _return(self, application: Client) -> None:
        """One that was gone is back: its turns are to be waited for."""
        if application.job in self.departed:
            self.departed.remove(application.job)
            self._plan(self._expected)

    def _plan(self, expected: PlannedOrder) -> None:
        """Go by this plan, from what is done of it on."""
        self._expected = expected
        expected.begin()
        for application in self.applications.values():
            expected.done(application.job, 0, application.operations)
        for job in self.departed:
            expected.departed(job)
        for place, owner in enumerate(self.active.owners):
            self.active.column("rank")[place] = expected.rank(owner.job)
        self._number_turns()

    def _turn(self, application: Client) -> int:
        """The turn of its pending operation, counted like completed operations; −1 if it is in no plan."""
        turn = self._expected.turn(application.job, application.operations)
        return self.completed + turn if turn >= 0 else -1

    def _number_turns(self) -> None:
        for place, owner in enumerate(self.active.owners):
            self.active.turn[place] = self._turn(owner)
        self._stale = True

    def _put_in_force(self, application: Client, rate: float) -> None:
        """So much it may be using from now on; nobody moved anything while it had to wait."""
        if application.place != NO_PLACE:
            if application.in_force <= 0.0 < rate:
                self.active.set_progressed(application.place, self.now)
            self.active.set_rate(application.place, rate)
        application.in_force = rate
        self.regranted.add(application.number)
