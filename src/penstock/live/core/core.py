"""The coordinator's deciding core: events in, instructions out. It has no clock, no socket and no file.

`Core.handle` applies all events of one date, asks the policy if one of them concerns it, and returns what to tell the
clients. As in the engine, all events of a date are applied before the policy is asked, and the policy is the same compiled
function. `Core.next_date` says when to call `handle` without an event: for a periodic decision, the end of a lease, or a
deferred update of a rate.

The core composes its parts: `registry` (the clients), `pending` (their operations), `turns` (whose turn a plan says it
is), `eligible` (which operations the policy sees), `decider` (the policy), `grants` (what clients are told), `reached` (the
rates that they reach), `penalties` (for clients that overrun), `leases` (dates by which clients must act) and `places` (how
clients get and lose their place among the pending operations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.engine.information import PREDICTED, TRUE, checked_information
from penstock.live.core.clients import NO_PLACE, Claims, Client, PendingOperation, Registry
from penstock.live.core.deciding import UNPLANNED, Decider, PlannedOrder, Turns
from penstock.live.core.eligible import Eligible
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    Event,
    ForgetEvent,
    GrantInstruction,
    InformEvent,
    Instructions,
    JoinEvent,
    LeaveEvent,
    Refusal,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
    WarnInstruction,
    YieldEvent,
)
from penstock.live.core.grants import Grants, Leases, ObservedOperations, ObservingGrants
from penstock.live.core.limits import NO_LIMITS, Limits, Penalties
from penstock.live.core.measuring import MeasuredBandwidth, Reached, ReachMeter
from penstock.live.core.pending import PendingOperations, prepare
from penstock.live.core.places import Places, check_new_operation, check_pending, check_registration
from penstock.live.protocol import INVALID
from penstock.model import Degradation, InputError, Workload
from penstock.policies.policy import Policy
from penstock.policies.registry import find
from penstock.policies.view import View

FALLBACK: Final = "fair-share"
"""The policy that replaces one that breaks its contract."""


class Core:
    """A pure state machine that shares the bandwidth among clients.

    Args:
        policy: The policy, or its name.
        bandwidth: B, in bytes/s.
        node_bandwidth: What one node can use, in bytes/s, for clients that do not say.
        lease: Seconds of silence after which a client loses its grant.
        keep: Seconds for which the books (the recorded progress) of a client are kept after it has lost its grant.
        keep_most: Largest number of such clients whose books are kept.
        min_update_interval: Seconds for which small changes of a rate are deferred.
        limits: What the site allows, whatever clients say; no limits by default.
        workload: The applications that will run, for policies that plan ahead.
        now: The present date, in seconds.
        degradation: What is left of B when several operations move; all of it if not given.
        measured: Measures B from what clients reach; then `bandwidth` is only its first value.
        observe: Decide and record, but grant every client all that it can use.
        predicted: Show policies what is learned of applications in place of what clients announce.

    Raises:
        InputError: If B is not above 0, or the policy needs a workload and has none.

    Example:
        >>> core = Core("fair-share", bandwidth=10.0)
        >>> a, b = core.handle(0.0, RegisterEvent("a"), RegisterEvent("b")).registered
        >>> told = core.handle(0.0, InformEvent(a, 1, volume=100.0), InformEvent(b, 1, volume=100.0))
        >>> [(grant.client.job, grant.rate) for grant in told.grants]
        [('a', 5.0), ('b', 5.0)]
    """

    def __init__(
        self,
        policy: Policy | str,
        bandwidth: float,
        *,
        node_bandwidth: float = math.inf,
        lease: float = 10.0,
        keep: float = 3600.0,
        keep_most: int = 10_000,
        min_update_interval: float = 0.0,
        limits: Limits = NO_LIMITS,
        workload: Workload | None = None,
        now: float = 0.0,
        degradation: Degradation | None = None,
        measured: MeasuredBandwidth | None = None,
        observe: bool = False,
        predicted: bool = False,
    ) -> None:
        if not 0.0 < bandwidth < math.inf:
            raise InputError("bandwidth", f"{bandwidth} is none; expected bytes/s above 0")
        self.bandwidth = float(bandwidth)
        self.node_bandwidth = node_bandwidth
        self.now = float(now)
        self.events = 0
        """Events handled so far."""
        self.overruns = 0
        """Reports of more bytes than grants had allowed."""
        self._predicted = predicted
        self._workload = workload
        self.registry = Registry()
        self.registry.predictor.for_policies = predicted
        self.observing = observe
        """The core decides and records, and holds nobody back."""
        self.measured = measured
        self.meter = ReachMeter()
        self.pending = ObservedOperations(degradation) if observe else PendingOperations(degradation)
        self.pending.hides = predicted
        self.reached = Reached(self.registry, self.pending)
        self.leases = Leases(lease, keep, keep_most)
        self.limits = limits
        self.eligible = Eligible(limits, lease)
        self.penalties = Penalties(limits, lease)
        self._warnings: list[WarnInstruction] = []
        grants = ObservingGrants if observe else Grants
        self.grants = grants(
            self.registry, self.pending, self.leases, self.bandwidth, min_update_interval, limits.longest_round
        )
        prepare(find(FALLBACK))
        chosen = find(policy) if isinstance(policy, str) else policy
        self.turns = Turns(self.registry, self.pending, self._order_of(chosen))
        prepare(chosen)
        self.places = Places(self.registry, self.pending, self.turns, self.leases, self.grants, self.eligible)
        self.decider = Decider(chosen, self.bandwidth, workload, self.now, self.eligible)
        self.turns.follow(self.turns.order)

    # The policy

    @property
    def policy(self) -> Policy:
        """The policy in use."""
        return self.decider.policy

    def set_policy(self, now: float, policy: Policy | str) -> None:
        """Share the bandwidth by this policy from now on.

        Raises:
            InputError: If the policy is unknown, or cannot serve the clients that are here.
        """
        chosen = find(policy) if isinstance(policy, str) else policy
        self._replace_policy(now, chosen)
        self.decider.chosen, self.decider.fault = chosen.name, None

    def set_bandwidth(self, bandwidth: float) -> None:
        """Share `bandwidth` bytes/s from now on. The next decision takes back what clients have above that."""
        self.bandwidth = float(bandwidth)
        self.decider.set_bandwidth(self.bandwidth)
        self.grants.set_bandwidth(self.bandwidth)
        for client in self.registry.clients.values():
            client.cap = min(client.max_rate, self.bandwidth)
            if client.place != NO_PLACE:
                self.pending.set_cap(client.place, client.usable)
            self.registry.changed.add(client.number)

    def plan(self, policy: Policy) -> PlannedOrder:
        """The order that the policy would plan; InputError if it cannot serve the clients that are here."""
        order = self._order_of(policy)
        self._check_served(policy, order)
        return order

    def _order_of(self, policy: Policy) -> PlannedOrder:
        checked_information(PREDICTED if self._predicted else TRUE, policy)
        return PlannedOrder(policy, self._workload, predicted=self._predicted)

    def _check_served(self, policy: Policy, order: PlannedOrder) -> None:
        if not order.only_planned:
            return
        unknown = next(iter(self._unplanned()), None)
        if unknown is not None:
            message = f"it serves the applications of its workload only, and {unknown.job!r} is not one of them"
            raise InputError(f"policy {policy.name}", message)

    def _unplanned(self) -> list[Client]:
        return [client for client in self.registry.clients.values() if self.turns.planned_name(client) == UNPLANNED]

    def _replace_policy(self, now: float, policy: Policy) -> None:
        order = self.plan(policy)
        prepare(policy)
        self.advance(now)
        self.decider.use(policy, now)
        self.turns.follow(order)

    # Events in, instructions out

    def handle(self, now: float, *events: Event) -> Instructions:
        """Apply the events, decide, and return what to tell the clients.

        Args:
            now: The date of the events, in seconds; must not be before `Core.now`.
            events: What happened, in order. A refused event changes nothing and does not keep others from being applied.

        Returns:
            Grants, clients to be told that they are forgotten, the events that were refused, new clients, and warnings. A
            core that observes also returns the grants that it withheld.
        """
        refusals: list[Refusal] = []
        registered: list[Client] = []
        for event in events:
            try:
                client = self.enter(now, event)
            except Refused as error:
                refusals.append(Refusal(event, error.code, str(error)))
            else:
                if isinstance(event, RegisterEvent):
                    registered.append(client)
        self.advance(now)
        if self.measured is not None and self.measured.bandwidth != self.bandwidth:
            self.set_bandwidth(self.measured.bandwidth)
        forgets = self.places.expire(self.now)
        if self.eligible.update(self.pending, self.now, self.policy) and self.turns.order.only_planned:
            self.turns.follow(self.turns.order)
        grants: list[GrantInstruction] = []
        stale = self.decider.tick(now) or self.pending.changed
        if stale or self.grants.due or self.now >= self.grants.next_update:
            if stale and self.pending.size:
                self._ask()
            self.pending.changed = False
            grants = self.grants.update(self.now)
        warnings, self._warnings = self._warnings, []
        return Instructions(forgets, grants, refusals, registered, warnings, self.grants.take_withheld())

    def enter(self, now: float, event: Event) -> Client:
        """Apply one event without deciding, for a caller that answers each message at once and decides once for many.

        Returns:
            The client that the event is about; of a `RegisterEvent`, the new one.

        Raises:
            Refused: If the event is not valid now; then nothing has changed.
        """
        client: Client = _HANDLERS[type(event)](self, now, event)
        return client

    def next_date(self) -> float:
        """The latest date for the next call of `handle`; infinite if only a new event can change anything."""
        tick = self.decider.next_tick() if self.pending.size else math.inf
        stalled = max(self.leases.grace_until, self.pending.first_stalled(self.now, self.leases.lease))
        turn = self.eligible.next_date(self.pending, self.now)
        return min(tick, stalled, turn, self.grants.next_update, self.leases.next_date())

    def advance(self, now: float) -> None:
        """Go on to the date `now` without an event; a date in the past changes nothing."""
        seconds = now - self.now
        if seconds > 0.0:
            self.pending.move(seconds, float(now))
            self.now = float(now)

    def restore(self, clients: Iterable[Client], departed: Iterable[str] = ()) -> list[Client]:
        """Restore clients from a journal; none of them is connected. Each keeps its grant for one lease from now on.

        Args:
            clients: The clients.
            departed: Jobs of the workload that have come and gone.

        Returns:
            The clients that the policy cannot serve, since it does not plan for them. Their books are kept; as long as this
            policy is in use, they cannot join.
        """
        for client in clients:
            self.places.restore(self.now, client, self.bandwidth)
        self.registry.departed.extend(departed)
        self.turns.follow(self.turns.order)
        return self._unplanned() if self.turns.order.only_planned else []

    # What others read

    def granted(self) -> float:
        """Bytes/s that all clients together may be using."""
        return float(self.pending.column("rate").sum())

    def progress(self, client: Client) -> float:
        """Seconds of its dedicated run that the client has completed (000 eq. 6); at most the seconds since its release."""
        in_place = client.place != NO_PLACE
        done = float(self.pending.column("progress")[client.place]) if in_place else client.progress(self.now)
        return min(done, max(0.0, self.now - client.release))

    def yield_of(self, client: Client) -> float:
        """y_i of the `client` at the present date; 1 at the instant of release."""
        elapsed = self.now - client.release
        return self.progress(client) / elapsed if elapsed > 0.0 else 1.0

    def view(self) -> View:
        """What the policy is shown at present."""
        return self.decider.view(self.pending, self.now, self.registry.completed)

    def check_registration(self, event: RegisterEvent) -> Claims:
        """The claims that the core accepts from a client that wants to register by `event`; Refused if it may not."""
        return check_registration(event, self.turns, self.policy.name, self.bandwidth, self.node_bandwidth, self.limits)

    # One method an event

    def _register(self, now: float, event: RegisterEvent) -> Client:
        claims = self.check_registration(event)
        self.advance(now)
        client = self.registry.add(now, event, claims, self.bandwidth)
        self.turns.claim(client)
        self.penalties.admit(now, client)
        self.turns.client_back(client)
        return self._note(now, client)

    def _join(self, now: float, event: JoinEvent) -> Client:
        client, order = event.client, self.turns.order
        if order.only_planned and self.turns.planned_name(client) == UNPLANNED:
            raise Refused(INVALID, f"{client.job!r} is not in the workload that the policy {self.policy.name} plans for")
        self.advance(now)
        if client.operation is not None and client.operation.number != event.operation:
            self.places.end_operation(self.now, client)
        client.connected = True
        client.gid = client.gid if event.gid is None else event.gid
        self.grants.due = True
        self.turns.client_back(client)
        self.leases.excuse(now, client)
        return self._note(now, client)

    def _inform(self, now: float, event: InformEvent) -> Client:
        client = event.client
        pending = client.operation
        if pending is not None and pending.number == event.operation:
            if event.volume != pending.volume:
                raise Refused(INVALID, f"operation {event.operation} has {pending.volume} bytes, not {event.volume}")
            self.advance(now)
        else:
            check_new_operation(event, self.turns, self.policy.name, self.bandwidth)
            self.advance(now)
            if pending is not None:
                self.places.end_operation(self.now, client)
            client.end_work(now)
            base = min(event.moved, event.volume)
            client.operation = PendingOperation(
                event.operation, event.volume, event.rounds, now, base, base, event.bandwidth, event.follows
            )
            client.last_operation = event.operation
        is_new = client.place == NO_PLACE
        factor = self.places.post(self.now, client, event.moved)
        self.reached.begin(client, is_new=is_new)
        self.grants.announce(client)
        return self._punish(self._note(now, client), factor)

    def _report(self, now: float, event: ReportEvent) -> Client:
        client, moved = event.client, event.moved
        operation = check_pending(client, event.operation)
        self.advance(now)
        here, factor = self.places.credit(self.now, client, moved)
        before, credited = operation.moved, operation.base + here
        self._hear(client, credited)
        operation.moved = credited
        if client.place != NO_PLACE:
            if moved > before:
                self.pending.set_progressed(client.place, self.now)
            self.pending.set_moved(client.place, operation.moved, self.now)
        return self._punish(self._note(now, client), factor)

    def _yield(self, now: float, event: YieldEvent) -> Client:
        client = event.client
        if event.grant > client.grant_number:
            raise Refused(INVALID, f"grant {event.grant} was never given; the latest is {client.grant_number}")
        self.advance(now)
        self.grants.acknowledge(self.now, client, event.grant)
        self.events += 1
        self.leases.renew(now, client)
        return client

    def _release(self, now: float, event: ReleaseEvent) -> Client:
        client, moved = event.client, event.moved
        operation = check_pending(client, event.operation)
        self.advance(now)
        here, factor = self.places.credit(self.now, client, operation.volume if moved is None else moved)
        self._hear(client, operation.base + here)
        self.places.end_operation(self.now, client, here)
        return self._punish(self._note(now, client), factor)

    def _leave(self, now: float, event: LeaveEvent) -> Client:
        self.advance(now)
        self.places.leave(self.now, event.client)
        return event.client

    def _forget(self, now: float, event: ForgetEvent) -> Client:
        self.advance(now)
        self.places.forget(self.now, event.client, event.reason)
        return event.client

    def _beat(self, now: float, event: BeatEvent) -> Client:
        self.leases.renew(now, event.client)
        return event.client

    def _disconnect(self, now: float, event: DisconnectEvent) -> Client:
        self.advance(now)
        client = event.client
        client.connected = False
        if client.unseen_since is None:
            client.unseen_since = client.last_heard
        return client

    # Steps of the above

    def _punish(self, client: Client, factor: float) -> Client:
        """Warn, limit or send away a client that has moved `factor` times what its grants allowed."""
        if factor <= 1.0 or self.observing:
            return client
        client.overruns += 1
        self.overruns += 1
        text = self.penalties.strike(self.now, client, factor)
        if text is not None and client.barred_until > self.now:
            self.places.send_away(self.now, client, text)
        elif text is not None:
            self._warnings.append(WarnInstruction(client, text))
            self.eligible.limit_new(self.pending, self.now, client)
        return client

    def _note(self, now: float, client: Client) -> Client:
        self.events += 1
        self.registry.changed.add(client.number)
        self.leases.renew(now, client)
        return client

    def _hear(self, client: Client, moved: float) -> None:
        """Learn from what a client says that it has moved of its operation."""
        more, allowed = self.reached.heard(client, moved)
        window = self.meter.heard(self.now, more, allowed)
        if window is not None and self.measured is not None:
            self.measured.learn(window)

    @property
    def warning(self) -> str | None:
        """A warning if clients reach far less than they are granted, else None."""
        return None if self.observing else self.meter.warning

    def _ask(self) -> None:
        """Have the policy write the targets; replace it if it breaks its contract."""
        decider, pending, completed = self.decider, self.pending, self.registry.completed
        decider.decisions += 1
        right = decider.ask(pending, self.now, completed)
        if right and self.eligible.serves_nobody(pending) and self.eligible.bring_all_back(pending):
            self.eligible.update(pending, self.now, self.policy)
            self.turns.follow(self.turns.order)
            right = decider.ask(pending, self.now, completed)
        if right:
            return
        fault = f"{decider.failure(pending, self.now, completed)}; going on with {FALLBACK}"
        self._replace_policy(self.now, find(FALLBACK))
        decider.fault = fault
        self._ask()


_HANDLERS: Final[dict[type, Callable[[Core, float, Any], Client]]] = {
    RegisterEvent: Core._register,
    JoinEvent: Core._join,
    InformEvent: Core._inform,
    ReportEvent: Core._report,
    YieldEvent: Core._yield,
    ReleaseEvent: Core._release,
    LeaveEvent: Core._leave,
    BeatEvent: Core._beat,
    DisconnectEvent: Core._disconnect,
    ForgetEvent: Core._forget,
}
