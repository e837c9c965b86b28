"""The coordinator's deciding core: events in, instructions out; it has no clock, no socket and no file.

Every event comes with its date, in seconds. It is entered at once (`register`, `inform`, `report`, `yielded`, `release`,
`leave`, `lost`, `join`); then `decide` asks the policy, if anything happened that it should know of, and returns what the
applications are to be told. All that happens at one date is entered before the policy is asked, as in the engine, and the
policy is the same compiled function. `next_date` says when `decide` must be called though nothing happens: for a periodic
policy, because a lease ends, or because somebody is spared a small change no more.

An application that is silent for a lease, or does not keep to a lower grant in that time and the time of one round, loses
its place: nobody waits for it any longer. Its books are kept, and it may come back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from penstock.engine.dedicated import dedicated
from penstock.engine.state import BANDWIDTH, COMPLETED, NOW
from penstock.live.core import grants
from penstock.live.core.clients import NO_PLACE, Client, GrantInstruction, Instruction, PendingOperation, Reduction, Refused
from penstock.live.core.grants import Leases
from penstock.live.core.pending import PendingOperations, prepare
from penstock.live.core.planned_order import PlannedOrder
from penstock.live.core.registry import Registry
from penstock.live.protocol import INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import INVARIANT, LEAST_CAP, LEAST_VOLUME_BYTES
from penstock.policies.guard import failure
from penstock.policies.policy import Policy
from penstock.policies.registry import find
from penstock.policies.view import MOMENT, ROW, View

FALLBACK: Final = "fair-share"
"""What goes on when a policy breaks its contract."""
DELTA_SECONDS: Final = 1.0
"""Between the decisions of a periodic policy that was given no period and no workload."""


class Core(Registry):
    """The roster, a policy, and what they make of each event."""

    policy: Policy
    chosen: str
    """The policy that somebody wants, though another may go on in its place."""

    def __init__(
        self,
        policy: Policy | str,
        bandwidth: float,
        *,
        node_bandwidth: float = math.inf,
        lease: float = 10.0,
        keep: float = 3600.0,
        keep_most: int = 10_000,
        calm: float = 0.0,
        workload: Workload | None = None,
        now: float = 0.0,
    ) -> None:
        super().__init__(bandwidth, Leases(lease, keep, keep_most), now)
        self.node_bandwidth = node_bandwidth
        self.decisions = 0
        self.grants = 0
        self.overruns = 0
        self.fault: str | None = None
        """Why the policy was replaced by fair-share, if it was."""
        prepare(find(FALLBACK))
        self._workload = workload
        self._moment = np.zeros(len(MOMENT))
        """What is the same for all operations, as the policy sees it."""
        self._moment[BANDWIDTH] = bandwidth
        self._moment[ROW["window_end"]] = workload.window[1] if workload is not None and workload.window else math.inf
        self._calm = calm
        self._calm_until = math.inf
        """When somebody is to be told what he was spared so far."""
        self._origin = now
        self._unanswered: list[Client] = []
        self.set_policy(now, policy)

    def set_policy(self, now: float, policy: Policy | str) -> None:
        """Share the bandwidth by this policy from now on; InputError if it cannot be."""
        chosen = find(policy) if isinstance(policy, str) else policy
        self._replace_policy(now, chosen)
        self.chosen, self.fault = chosen.name, None

    def plan_of(self, policy: Policy) -> PlannedOrder:
        """What the policy would plan for those who are here; InputError if it cannot serve them."""
        expected = PlannedOrder(policy, self._workload)
        self._check_served(policy, expected)
        return expected

    def _check_served(self, policy: Policy, expected: PlannedOrder) -> None:
        if not expected.only_planned:
            return
        unknown = next((a for a in self.applications.values() if expected.position(a.job) is None), None)
        if unknown is not None:
            message = f"it serves the applications of its workload only, and {unknown.job!r} is not one of them"
            raise InputError(f"policy {policy.name}", message)

    def _replace_policy(self, now: float, policy: Policy) -> None:
        expected = self.plan_of(policy)
        prepare(policy)
        self.advance(now)
        self.policy = policy
        self._moment[ROW["parameter"]] = policy.value
        self._delta, self._ticks = 0.0, 0
        if policy.periodic:
            by_workload = dedicated(self._workload).default_delta if self._workload else 0.0
            self._delta = policy.delta or by_workload or DELTA_SECONDS
            self._ticks = self._ticks_by(now)
        self._plan(expected)

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
    ) -> Client:
        """An application comes; the arguments are those of the protocol's message."""
        wish = self.check_newcomer(job, user, nodes, bandwidth, elapsed, progress)
        self.advance(now)
        application = Client(
            number=self.next_number,
            job=job,
            user=user,
            uid=uid,
            key_digest=key_digest,
            nodes=nodes,
            wish=wish,
            cap=min(self.bandwidth, wish),
            registered=now,
            release=now - elapsed,
            done=elapsed if progress is None else progress,
            idle_since=now,
            lead=lead,
            whole=whole,
        )
        self.next_number += 1
        self.applications[application.number] = application
        self._return(application)
        self._note(now, application)
        return application

    def check_newcomer(
        self, job: str, user: str, nodes: int, bandwidth: float | None, elapsed: float, progress: float | None
    ) -> float:
        """The most that an application which wants to register can use, in bytes/s; Refused if it cannot be."""
        if not (job.isprintable() and user.isprintable()):
            raise Refused(INVALID, f"{job!r} of {user!r} cannot be printed; expected letters, digits and signs")
        if self._expected.only_planned and self._expected.position(job) is None:
            raise Refused(INVALID, f"{job!r} is not in the workload that the policy {self.policy.name} plans for")
        wish = bandwidth if bandwidth is not None else nodes * self.node_bandwidth
        if not wish > LEAST_CAP * self.bandwidth:
            raise Refused(INVALID, f"bandwidth {bandwidth} of {job!r} is next to none; expected bytes/s above 0")
        if progress is not None and not progress <= elapsed * (1.0 + INVARIANT):
            raise Refused(INVALID, f"{job!r} has progressed {progress} s in {elapsed} s; expected no more than that")
        return wish

    def alive(self, now: float, application: Client) -> None:
        """A sign of life: the lease is renewed."""
        self.leases.alive(now, application)

    def inform(
        self, now: float, application: Client, operation: int, volume: float, rounds: int = 1, moved: float = 0.0
    ) -> None:
        """The application posts an operation, or is back at the one it was at."""
        pending = application.operation
        if pending is not None and pending.number == operation:
            if volume != pending.volume:
                raise Refused(INVALID, f"operation {operation} has {pending.volume} bytes, not {volume}")
            self.advance(now)
        else:
            last = application.last_operation
            if operation <= last:
                raise Refused(OUT_OF_ORDER, f"operation {operation} comes after {last}; expected a higher number")
            if not volume >= LEAST_VOLUME_BYTES:
                raise Refused(INVALID, f"operation {operation} has no volume; expected bytes above 0")
            if self._expected.only_planned:
                self._check_planned(application)
            self.advance(now)
            if pending is not None:
                self._end(application, pending.volume)
            application.end_work(now)
            application.operation = PendingOperation(operation, volume, rounds, now)
            application.last_operation = operation
        self._enter(application, moved)
        self._unanswered.append(application)
        self._note(now, application)

    def report(self, now: float, application: Client, operation: int, moved: float) -> None:
        """The application tells how far its operation has come."""
        pending = self._pending(application, operation)
        self.advance(now)
        before, pending.moved = pending.moved, min(moved, pending.volume)
        place = application.place
        if place != NO_PLACE:
            if moved > before:
                self.active.set_progressed(place, self.now)
            if self.active.overruns(place, moved):
                application.overruns += 1
                self.overruns += 1
            self.active.set_moved(place, pending.moved)
        self._note(now, application)

    def yielded(self, now: float, application: Client, grant: int) -> None:
        """The application keeps to this grant, and so to those before it, from now on."""
        number = application.grant_number
        if grant > number:
            raise Refused(INVALID, f"grant {grant} was never given; the latest is {number}")
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

    def release(self, now: float, application: Client, operation: int, moved: float | None = None) -> None:
        """The operation is over; all of it is moved unless told."""
        pending = self._pending(application, operation)
        self.advance(now)
        self._end(application, pending.volume if moved is None else min(moved, pending.volume))
        self._note(now, application)

    def leave(self, now: float, application: Client) -> None:
        """The application ends."""
        self.advance(now)
        self._withdraw(application)
        self._record(application, now, 0.0, 1)
        self._forget(application)

    def forget(self, now: float, application: Client, reason: str) -> None:
        """Have the application lose its place; if it lives, it may register anew."""
        self.advance(now)
        self._send_away(application, reason)
        self._forget(application)

    def lost(self, now: float, application: Client) -> None:
        """Its connection is gone; it keeps its place until its lease ends, or it comes back."""
        self.advance(now)
        application.connected = False

    def join(self, now: float, application: Client, operation: int) -> None:
        """The application is back; `operation` is what it is at, 0 for none."""
        self.advance(now)
        pending = application.operation
        if pending is not None and pending.number != operation:
            self._end(application, pending.volume)
        application.connected = True
        self._settled = False
        self._return(application)
        self._note(now, application)

    def restore(self, applications: Iterable[Client], departed: Iterable[str] = ()) -> None:
        """Applications out of a journal, all away: those that had a place have it, and what they may be using, until a lease
        from now ends.
        """
        for application in applications:
            self._restore(application)
        self.departed.extend(departed)
        self._check_served(self.policy, self._expected)
        self._plan(self._expected)

    # What is to be told

    def decide(self, now: float) -> list[Instruction]:
        """What the applications are to be told after all that was entered by now."""
        self.advance(now)
        self._expire()
        if self._delta > 0.0:
            ticks = self._ticks_by(now)
            self._stale = self._stale or ticks > self._ticks
            self._ticks = ticks
        if self._stale or not self._settled or self.now >= self._calm_until:
            if self._stale and self.active.size:
                self._ask()
            self._stale, self._settled = False, True
            self._grant()
        out, self._out = self._out, []
        return out

    def next_date(self) -> float:
        """When `decide` is to be called at the latest; infinite while only an event can matter."""
        tick = self._origin + (self._ticks + 1) * self._delta if self._delta > 0.0 and self.active.size else math.inf
        stuck = self.active.stuck_from(self.now, self.leases.lease)
        return min(tick, stuck, self._calm_until, self.leases.next_date())

    def view(self) -> View:
        """What the policy is shown at present."""
        return self.active.view(self._moment_at(self.now))

    def ask(self, active: PendingOperations, now: float) -> bool:
        """Have the policy write the targets of these operations as at this date; whether caps and link can carry them."""
        return active.ask(self.policy, self._moment_at(now))

    # Parts of the above

    def _moment_at(self, now: float) -> Floats:
        self._moment[NOW], self._moment[COMPLETED] = now, self.completed
        return self._moment

    def _check_planned(self, application: Client) -> None:
        """Refuse an operation more than the plan of a policy has."""
        ahead = application.operations + (application.operation is not None)
        if self._expected.turn(application.job, ahead) < 0:
            raise Refused(INVALID, f"no further operation of {application.job!r} is in the plan of {self.policy.name}")

    def _pending(self, application: Client, operation: int) -> PendingOperation:
        pending = application.operation
        if pending is None or pending.number != operation:
            has = f"it is at operation {pending.number}" if pending else "it has none under way"
            raise Refused(UNEXPECTED, f"operation {operation} of {application.job!r} is not under way; {has}")
        return pending

    def _ticks_by(self, now: float) -> int:
        """How many periodic decisions have fallen due; a tick is due at its date to the last bit."""
        ticks = math.floor((now - self._origin) / self._delta)
        return ticks + (self._origin + (ticks + 1) * self._delta <= now)

    def _expire(self) -> None:
        """Send away whoever is silent or does not yield, forget whoever is away for too long."""
        for application in self.leases.late(self.now):
            sent = application.unkept[0]
            self._send_away(application, f"it did not keep to grant {sent.number} of {sent.rate:g} bytes/s in time")
        for application in self.leases.silent(self.now):
            self._send_away(application, f"it gave no sign of life for {self.leases.lease:g} s")
        if self.active.stuck_from(self.now, self.leases.lease) <= self.now:
            for place in reversed(self.active.stuck(self.now, self.leases.lease)):
                owner = self.active.owners[place]
                silence = self.now - float(self.active.column("progressed")[place])
                self._send_away(
                    owner, f"it has moved nothing for {silence:.3g} s, though it was granted all it wanted to move"
                )
        for application in self.leases.outdated(self.now):
            self._forget(application)

    def _grant(self) -> None:
        """Send what there is to send; who waits to begin is told first."""
        active, now, calm = self.active, self.now, self._calm
        raised = grants.higher(active, now, calm, self.bandwidth, self._send)
        for application in self._unanswered:
            if application.place != NO_PLACE and application.connected and application.unanswered:
                self._send(application, float(active.column("sent")[application.place]))
        self._unanswered.clear()
        self._calm_until = max(now + calm / 4.0, min(raised, grants.lower(active, now, calm, self._send)))

    def _send(self, application: Client, rate: float) -> None:
        """Grant the rate. A lower one is in force when it is kept to, by the end of a round and a lease at the latest."""
        operation = application.operation
        assert operation is not None
        application.grant_number += 1
        application.unanswered = False
        if rate < application.in_force:
            slowest = next((sent.rate for sent in reversed(application.unkept) if sent.rate > 0.0), application.in_force)
            a_round = operation.round_bytes / slowest if rate == 0.0 else 0.0
            deadline = self.now + self.leases.lease + a_round
            application.unkept.append(Reduction(application.grant_number, rate, deadline))
            self.regranted.add(application.number)
            self.leases.owe(application, deadline)
        else:
            self._put_in_force(application, rate)
        self.active.set_sent(application.place, rate, self.now)
        self.grants += 1
        self._out.append(GrantInstruction(application, operation.number, application.grant_number, rate))

    def _ask(self) -> None:
        """Have the policy write the targets; one that breaks its contract is replaced."""
        self.decisions += 1
        if self.ask(self.active, self.now):
            return
        rates, view = self.active.column("target").tolist(), self.view()
        reason = failure(self.policy.rates, view) or f"it gave rates that no link carries, {rates[:8]}"
        fault = f"policy {self.policy.name}: {reason}; going on with {FALLBACK}"
        self._replace_policy(self.now, find(FALLBACK))
        self.fault = fault
        self._ask()
