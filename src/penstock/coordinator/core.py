"""The coordinator's deciding core: events in, instructions out; it has no clock, no socket and no file.

Every event comes with its date, in seconds. It is entered at once (`register`, `inform`, `report`, `yielded`, `release`,
`leave`, `lost`, `join`); then `decide` asks the policy, if anything happened that it should know of, and returns what the
applications are to be told. All that happens at one date is entered before the policy is asked, as in the engine, and the
policy is the same compiled function. `next_date` says when `decide` must be called though nothing happens: for a periodic
policy, or because a lease ends.

An application that is silent for a lease, or does not keep to a lower grant in that time and the time of one round, loses
its place: nobody waits for it any longer. Its books are kept, and it may come back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from penstock.client.protocol import INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.coordinator import granting
from penstock.coordinator.active import Active
from penstock.coordinator.application import NO_PLACE, Application, Lower, Operation
from penstock.coordinator.expected import Expected
from penstock.coordinator.leases import Leases
from penstock.engine.dedicated import dedicated
from penstock.engine.slots import SLACK
from penstock.model import InputError, Workload
from penstock.policies.asking import ask, prepare
from penstock.policies.guard import failure
from penstock.policies.naming import find
from penstock.policies.policy import Policy

FALLBACK: Final = "fair-share"
"""What goes on when a policy breaks its contract."""
DELTA_SECONDS: Final = 1.0
"""Between the decisions of a periodic policy that was given no period and no workload."""
LEAST_CAP: Final = 1e-12
"""The part of B that an application must be able to use at least; with less, times are no numbers any more."""
OVERRUN: Final = 1.05
"""An application that has moved more than this times what its grants allowed, and a round, has overrun."""


class Refused(Exception):
    """An event that cannot be; nothing has changed. `code` is one of the protocol's."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True)
class Grant:
    """Tell the application what it may use from now on, in bytes/s; 0 pauses it, more than 0 after that resumes it."""

    application: Application
    operation: int
    number: int
    rate: float


@dataclass(frozen=True)
class Forget:
    """Tell the application, if it can be told, that it has lost its place."""

    application: Application
    reason: str


Instruction: TypeAlias = Grant | Forget


class Core:
    """The state of the coordinator: B in bytes/s, a lease in seconds, and what it knows of each application."""

    def __init__(
        self,
        policy: Policy | str,
        bandwidth: float,
        *,
        node_bandwidth: float = math.inf,
        lease: float = 10.0,
        keep: float = 3600.0,
        keep_most: int = 10_000,
        workload: Workload | None = None,
        now: float = 0.0,
    ) -> None:
        if not 0.0 < bandwidth < math.inf:
            raise InputError("bandwidth", f"{bandwidth} is none; expected bytes/s above 0")
        self.bandwidth = bandwidth
        self.node_bandwidth = node_bandwidth
        self.now = now
        self.events = 0
        self.decisions = 0
        self.grants = 0
        self.completed = 0
        self.overruns = 0
        self.fault: str | None = None
        """Why the policy was replaced by fair-share, if it was."""
        self.changed: set[int] = set()
        """Numbers of the applications whose books have changed; whoever writes them down empties it."""
        self.applications: dict[int, Application] = {}
        self.active = Active()
        self.leases = Leases(lease, keep, keep_most)
        self._workload = workload
        self._window_end = workload.window[1] if workload is not None and workload.window else math.inf
        self._origin = now
        self.next_number = 1
        self._stale = False
        self._settled = False
        self._out: list[Instruction] = []
        self._unanswered: list[Application] = []
        self.set_policy(now, policy)

    def set_policy(self, now: float, policy: Policy | str) -> None:
        """Share the bandwidth by this policy from now on; InputError if it cannot be."""
        chosen = find(policy) if isinstance(policy, str) else policy
        expected = Expected(chosen, self._workload)
        if expected.only_planned:
            unknown = next((a for a in self.applications.values() if expected.position(a.job) is None), None)
            if unknown is not None:
                message = f"it serves the applications of its workload only, and {unknown.job!r} is not one of them"
                raise InputError(f"policy {chosen.name}", message)
        prepare(chosen)
        self.advance(now)
        self.policy, self._expected, self.fault = chosen, expected, None
        self._delta, self._ticks = 0.0, 0
        if chosen.periodic:
            by_workload = dedicated(self._workload).default_delta if self._workload else 0.0
            self._delta = chosen.delta or by_workload or DELTA_SECONDS
            self._ticks = self._ticks_by(now)
        for place, owner in enumerate(self.active.owners):
            self.active.column("rank")[place] = expected.rank(owner.job)
        self._number_turns()
        self._stale = True

    # What happens

    def register(
        self,
        now: float,
        job: str,
        *,
        nodes: int = 1,
        user: str = "",
        uid: int = -1,
        key_digest: str = "",
        bandwidth: float | None = None,
        elapsed: float = 0.0,
        progress: float | None = None,
        lead: float = 0.0,
        whole: float | None = None,
    ) -> Application:
        """An application comes; the arguments are those of the protocol's message."""
        if self._expected.only_planned and self._expected.position(job) is None:
            raise Refused(INVALID, f"{job!r} is not in the workload that the policy {self.policy.name} plans for")
        cap = min(self.bandwidth, bandwidth if bandwidth is not None else nodes * self.node_bandwidth)
        if not cap > LEAST_CAP * self.bandwidth:
            raise Refused(INVALID, f"bandwidth {bandwidth} of {job!r} is next to none; expected bytes/s above 0")
        if progress is not None and progress > elapsed * (1.0 + 1e-9):
            raise Refused(INVALID, f"{job!r} has progressed {progress} s in {elapsed} s; expected no more than that")
        self.advance(now)
        application = Application(
            number=self.next_number,
            job=job,
            user=user,
            uid=uid,
            key_digest=key_digest,
            nodes=nodes,
            cap=cap,
            release=now - elapsed,
            done=elapsed if progress is None else progress,
            idle_since=now,
            lead=lead,
            whole=whole,
        )
        self.next_number += 1
        self.applications[application.number] = application
        self._note(now, application)
        return application

    def alive(self, now: float, application: Application) -> None:
        """A sign of life: the lease is renewed."""
        self.leases.alive(now, application)

    def inform(
        self, now: float, application: Application, operation: int, volume: float, rounds: int = 1, moved: float = 0.0
    ) -> None:
        """The application posts an operation, or is back at the one it was at."""
        pending = application.operation
        if pending is not None and pending.number == operation:
            self._check(volume == pending.volume, INVALID, f"operation {operation} has {pending.volume} bytes, not {volume}")
            self.advance(now)
        else:
            last = application.last_operation
            self._check(
                operation > last, OUT_OF_ORDER, f"operation {operation} comes after {last}; expected a higher number"
            )
            self._check(volume > 0.0, INVALID, f"operation {operation} has no volume; expected bytes above 0")
            turn = self._expected.turn(application.job, application.operations + (pending is not None))
            planned = turn >= 0 or not self._expected.only_planned
            self._check(
                planned, INVALID, f"no further operation of {application.job!r} is in the plan of {self.policy.name}"
            )
            self.advance(now)
            if pending is not None:
                self._end(application, pending.volume)
            application.end_work(now)
            application.operation = Operation(operation, volume, rounds, now)
            application.last_operation = operation
        self._enter(application, moved)
        self._unanswered.append(application)
        self._note(now, application)

    def report(self, now: float, application: Application, operation: int, moved: float) -> None:
        """The application tells how far its operation has come."""
        pending = self._pending(application, operation)
        self.advance(now)
        pending.moved = min(moved, pending.volume)
        if application.place != NO_PLACE:
            if moved > OVERRUN * self.active.column("allowed")[application.place] + pending.round_bytes:
                application.overruns += 1
                self.overruns += 1
            self.active.set_moved(application.place, pending.moved)
        self._note(now, application)

    def yielded(self, now: float, application: Application, grant: int) -> None:
        """The application keeps to this grant, and so to those before it, from now on."""
        number = application.grant_number
        self._check(grant <= number, INVALID, f"grant {grant} was never given; the latest is {number}")
        self.advance(now)
        kept = [sent.rate for sent in application.unkept if sent.number <= grant]
        if kept:
            application.unkept = [sent for sent in application.unkept if sent.rate < kept[-1]]  # told twice, kept to once
            self._put_in_force(application, kept[-1])
            self._settled = False
            self.leases.settled(application)
            if application.unkept:
                self.leases.owe(application, application.unkept[0].deadline)
        self.events += 1
        self.leases.alive(now, application)

    def release(self, now: float, application: Application, operation: int, moved: float | None = None) -> None:
        """The operation is over; all of it is moved unless told."""
        pending = self._pending(application, operation)
        self.advance(now)
        self._end(application, pending.volume if moved is None else min(moved, pending.volume))
        self._note(now, application)

    def leave(self, now: float, application: Application) -> None:
        """The application ends."""
        self.advance(now)
        self._withdraw(application)
        self._forget(application)

    def advance(self, now: float) -> None:
        """Go on to a date, though nothing happens; one that is past is now."""
        seconds = now - self.now
        if seconds > 0.0:
            self.active.move(seconds)
            self.now = now

    def forget(self, now: float, application: Application, reason: str) -> None:
        """Have the application lose its place; if it lives, it may register anew."""
        self.advance(now)
        self._send_away(application, reason)
        self._forget(application)

    def lost(self, now: float, application: Application) -> None:
        """Its connection is gone; it keeps its place until its lease ends, or it comes back."""
        self.advance(now)
        application.connected = False

    def join(self, now: float, application: Application, operation: int) -> None:
        """The application is back; `operation` is what it is at, 0 for none."""
        self.advance(now)
        pending = application.operation
        if pending is not None and pending.number != operation:
            self._end(application, pending.volume)
        application.connected = True
        self._settled = False
        self._note(now, application)

    def restore(self, application: Application) -> None:
        """An application out of a journal: away, with what it may be using, until a lease from now ends."""
        application.connected = False
        application.place = NO_PLACE
        application.unkept = []
        application.cap = min(application.cap, self.bandwidth)
        self.applications[application.number] = application
        self.next_number = max(self.next_number, application.number + 1)
        self.leases.alive(self.now, application)
        if application.operation is not None:
            in_force = application.in_force
            self._enter(application, application.operation.moved)
            self._put_in_force(application, in_force)
            self.active.column("sent")[application.place] = in_force

    # What is to be told

    def decide(self, now: float) -> list[Instruction]:
        """What the applications are to be told after all that was entered by now."""
        self.advance(now)
        self._expire()
        if self._delta > 0.0:
            ticks = self._ticks_by(now)
            self._stale = self._stale or ticks > self._ticks
            self._ticks = ticks
        if not self._stale and self._settled:
            out, self._out = self._out, []
            return out
        if self._stale and self.active.size:
            self._ask()
        self._stale, self._settled = False, True
        granting.lower(self.active, self._send)
        granting.higher(self.active, self.bandwidth, self._send)
        for application in self._unanswered:
            if application.place != NO_PLACE and application.connected and application.unanswered:
                self._send(application, float(self.active.column("sent")[application.place]))
        self._unanswered.clear()
        out, self._out = self._out, []
        return out

    def next_date(self) -> float:
        """When `decide` is to be called at the latest; infinite while only an event can matter."""
        tick = self._origin + (self._ticks + 1) * self._delta if self._delta > 0.0 and self.active.size else math.inf
        return min(tick, self.leases.next_date())

    def granted(self) -> float:
        """Bytes/s that applications may be using in all; never above the bandwidth."""
        return float(self.active.column("rate").sum())

    def progress(self, application: Application) -> float:
        """Seconds of its dedicated run that the application has done by the present date (000 eq. 6)."""
        if application.place != NO_PLACE:
            return float(self.active.column("progress")[application.place])
        return application.progress(self.now)

    def yield_of(self, application: Application) -> float:
        """y_i at the present date; 1 at the instant of release."""
        elapsed = self.now - application.release
        return self.progress(application) / elapsed if elapsed > 0.0 else 1.0

    # Parts of the above

    def _check(self, holds: bool, code: str, text: str) -> None:
        if not holds:
            raise Refused(code, text)

    def _note(self, now: float, application: Application) -> None:
        self.events += 1
        self.changed.add(application.number)
        self.leases.alive(now, application)

    def _pending(self, application: Application, operation: int) -> Operation:
        pending = application.operation
        if pending is None or pending.number != operation:
            has = f"it is at operation {pending.number}" if pending else "it has none under way"
            raise Refused(UNEXPECTED, f"operation {operation} of {application.job!r} is not under way; {has}")
        return pending

    def _ticks_by(self, now: float) -> int:
        """How many periodic decisions have fallen due; a tick is due at its date to the last bit."""
        ticks = math.floor((now - self._origin) / self._delta)
        return ticks + (self._origin + (ticks + 1) * self._delta <= now)

    def _enter(self, application: Application, moved: float) -> None:
        """Put its operation among the active ones, or bring what is known of it up to date."""
        operation = application.operation
        assert operation is not None
        operation.moved = min(moved, operation.volume)
        application.unanswered = True
        self._settled = False
        if application.place != NO_PLACE:
            allowed = self.active.column("allowed")
            allowed[application.place] = max(moved, allowed[application.place])
            self.active.set_moved(application.place, operation.moved)
            return
        position = self._expected.position(application.job)
        whole = application.whole if application.whole is not None else self._expected.whole(application.job)
        self.active.post(
            application,
            index=position if position is not None else self._expected.size + application.number,
            turn=self._expected.turn(application.job, application.operations),
            moved=operation.moved,
            cap=application.cap,
            volume=operation.volume,
            posted=operation.posted,
            release=application.release,
            nodes=application.nodes,
            done=application.done,
            mean_iteration=application.mean_iteration,
            whole=whole,
            rank=self._expected.rank(application.job),
            transferring=application.transfer_seconds,
        )
        self._stale = True

    def _withdraw(self, application: Application) -> None:
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

    def _end(self, application: Application, moved: float) -> None:
        self._withdraw(application)
        application.end_operation(self.now, moved)
        self.completed += 1

    def _expire(self) -> None:
        """Send away whoever is silent or does not yield, forget whoever is away for too long."""
        for application in self.leases.late(self.now):
            sent = application.unkept[0]
            self._send_away(application, f"it did not keep to grant {sent.number} of {sent.rate:g} bytes/s in time")
        for application in self.leases.silent(self.now):
            self._send_away(application, f"it gave no sign of life for {self.leases.lease:g} s")
        for application in self.leases.outdated(self.now):
            self._forget(application)

    def _send_away(self, application: Application, reason: str) -> None:
        self._withdraw(application)
        self._skip(application)
        self.leases.away(self.now, application)
        self.changed.add(application.number)
        if application.connected:
            application.connected = False
            self._out.append(Forget(application, reason))

    def _forget(self, application: Application) -> None:
        self._skip(application)
        self.applications.pop(application.number, None)
        self.leases.forget(application)
        self.changed.add(application.number)

    def _skip(self, application: Application) -> None:
        """Nobody is to wait for the turns of an application that is gone."""
        if self._expected.skip(application.job, application.operations):
            self._number_turns()

    def _number_turns(self) -> None:
        for place, owner in enumerate(self.active.owners):
            self.active.turn[place] = self._expected.turn(owner.job, owner.operations)
        self._stale = True

    def _put_in_force(self, application: Application, rate: float) -> None:
        application.in_force = rate
        if application.place != NO_PLACE:
            self.active.column("rate")[application.place] = rate

    def _send(self, application: Application, rate: float) -> None:
        """Grant the rate. A lower one is in force when it is kept to, by the end of a round and a lease at the latest."""
        operation = application.operation
        assert operation is not None
        application.grant_number += 1
        application.unanswered = False
        if rate < application.in_force:
            slowest = next((sent.rate for sent in reversed(application.unkept) if sent.rate > 0.0), application.in_force)
            a_round = operation.round_bytes / slowest if rate == 0.0 else 0.0
            deadline = self.now + self.leases.lease + a_round
            application.unkept.append(Lower(application.grant_number, rate, deadline))
            self.leases.owe(application, deadline)
        else:
            self._put_in_force(application, rate)
        self.active.column("sent")[application.place] = rate
        self.grants += 1
        self._out.append(Grant(application, operation.number, application.grant_number, rate))

    def _ask(self) -> None:
        """Have the policy write the targets; one that breaks its contract is replaced."""
        active = self.active
        self.decisions += 1
        view = active.view(self.now, self.bandwidth, self._window_end, self.policy.value, self.completed)
        rates = np.empty(active.size)
        ask(self.policy, view, rates)
        cap = active.column("cap")
        fits = bool(np.all((rates >= 0.0) & (rates <= cap * (1.0 + SLACK)))) and rates.sum() <= self.bandwidth * (
            1.0 + SLACK
        )
        if fits:
            np.minimum(rates, cap, out=active.column("target"))
            return
        reason = failure(self.policy.rates, view) or f"it gave rates that no link carries, {rates.tolist()[:8]}"
        fault = f"policy {self.policy.name}: {reason}; going on with {FALLBACK}"
        self.set_policy(self.now, FALLBACK)
        self.fault = fault
        self._ask()
