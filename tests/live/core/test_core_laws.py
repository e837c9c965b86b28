"""Whatever happens in whatever order, the core's books stay true: events, late, missing and disordered answers, restarts.

The test keeps a ledger of its own: what each application may be using, by the grants it was sent and those it answered. A
higher grant counts from when it is sent, a lower one from when it is answered. That is to be the core's, and never above B.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.live.core.clients import NO_PLACE, Client
from penstock.live.core.core import Core
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    ForgetEvent,
    ForgetInstruction,
    GrantInstruction,
    InformEvent,
    JoinEvent,
    LeaveEvent,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
    YieldEvent,
)
from penstock.live.core.pending import FLOATS
from penstock.live.protocol import INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.live.server.journal import JournalEntry, Present, fold
from penstock.model import InputError
from penstock.policies import REGISTRY
from penstock.policies.view import COLUMNS, POLICY
from tests.naive.profiles import examples

LEASE = 10.0
KEEP = 35.0
B = 100.0
LIVE = [name for name, policy in REGISTRY.items() if policy.planner is None]
"""Policies that need no workload."""
SECONDS = st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0, 2.5, 5.0, LEASE - 1e-9, LEASE, 11.0, 40.0])
BYTES = st.sampled_from([1e-9, 1.0, 37.5, 1000.0, 1e9, 1e30])
CAPS = st.sampled_from([None, None, None, 5e-324, 1e-3, 20.0, 60.0, B, 1e30])
PRESENT = Present(0.0, 0.0, 0.0, "", B, "", "", 0)
ROOM = [name for name, column in COLUMNS.items() if column.filled == POLICY]
"""Columns whose contents mean nothing."""
PARTS = st.sampled_from([0.0, 0.25, 0.999999, 1.0, 3.0])


@dataclass
class Sent:
    """A grant for less that is not answered."""

    number: int
    rate: float
    latest: float
    """When it must be answered: a lease after it was sent, and for a pause the time of a round at the least rate above 0
    that the application may be keeping to."""


@dataclass
class KnownClient:
    """An application as the test knows it."""

    known: Client
    heard: float
    connected: bool = True
    operation: int = 0
    under_way: bool = False
    posted: bool = False
    """The coordinator knows of the operation that is under way, and it has its place."""
    using: float = 0.0
    unanswered: list[Sent] = field(default_factory=list)
    told: int = 0
    """The latest grant."""
    quiet_since: float = 0.0
    """When it posted, began or went on, or last said that it had moved more."""
    latest: tuple[int, float, float] = (0, 0.0, 0.0)
    """Operation, rate and date of that, if this coordinator sent it."""

    def withdraw(self) -> None:
        """It has no place any more."""
        self.posted, self.using, self.unanswered = False, 0.0, []


@settings(parent=examples(600), stateful_step_count=50)
class AnyEvents(RuleBasedStateMachine):
    """A core, its clients, and what a journal holds of it."""

    @initialize(
        policy=st.sampled_from([*LIVE, *["fair-share"] * len(LIVE)]),  # which takes from many to give to one
        caps=st.lists(st.sampled_from([20.0, 60.0, B, B]), min_size=1, max_size=4),
        at_once=st.sampled_from([True, True, False]),
        min_update_interval=st.sampled_from([0.0, 0.01, 2.0]),
    )
    def begin(self, policy: str, caps: list[float], at_once: bool, min_update_interval: float) -> None:
        self.now = 0.0
        self.policy = policy
        self.min_update_interval = min_update_interval
        self.at_once = at_once
        """Whether a decision follows every event, as where messages come one by one, or only when a rule says so."""
        self.core = self.new_core()
        self.clients: list[KnownClient] = []
        self.entries: list[bytes] = []
        for cap in caps:
            self.register(nodes=1, cap=cap, elapsed=0.0, part=0.0)
            self.enter(self.clients[-1], 1000.0, rounds=4, moved=0.0)

    def new_core(self) -> Core:
        return Core(
            self.policy,
            B,
            node_bandwidth=30.0,
            lease=LEASE,
            keep=KEEP,
            keep_most=4,
            min_update_interval=self.min_update_interval,
            now=self.now,
        )

    # Events

    @rule(nodes=st.sampled_from([1, 2, 2**53]), cap=CAPS, elapsed=st.sampled_from([0.0, 5.0, 1e30]), part=PARTS)
    @precondition(lambda self: len(self.clients) < 6)
    def register(self, nodes: int, cap: float | None, elapsed: float, part: float) -> None:
        def event() -> None:
            application = self.core.enter(
                self.now, RegisterEvent(f"job{nodes}", nodes=nodes, bandwidth=cap, elapsed=elapsed, progress=part * elapsed)
            )
            self.clients.append(KnownClient(application, self.now))

        refused = (part > 1.0 and elapsed > 0.0) or cap == 5e-324
        self.attempt(event, INVALID if refused else None)

    @rule(data=st.data(), volume=BYTES, rounds=st.sampled_from([1, 4, 2**53]), part=PARTS)
    def inform(self, data: st.DataObject, volume: float, rounds: int, part: float) -> None:
        client = self.some(data)
        if client is not None:
            self.enter(client, volume, rounds, part * volume)

    @rule(data=st.data(), steps=st.integers(1, 8))
    def live(self, data: st.DataObject, steps: int) -> None:
        """As applications do: one of them keeps to what it was told, ends its operation or begins one, and so on."""
        for _ in range(steps):
            client = self.some(data)
            if client is None:
                return
            if client.unanswered:
                self.keep_to(client, client.unanswered[-1])
            elif client.known.operation is None:
                self.enter(client, 1000.0, rounds=4, moved=0.0)
            elif client.using > 0.0:
                self.end(client, None)

    @rule(data=st.data(), part=PARTS)
    def inform_again(self, data: st.DataObject, part: float) -> None:
        """As who is back does."""
        client = self.some(data)
        if client is None or client.known.operation is None:
            return
        pending = client.known.operation
        client.posted, client.quiet_since = True, self.now
        self.attempt(
            lambda: self.core.enter(
                self.now, InformEvent(client.known, pending.number, pending.volume, 3, part * pending.volume)
            ),
            None,
            client,
        )

    @rule(data=st.data(), back=st.sampled_from([0, 1]), volume=st.sampled_from([0.0, 1.0]))
    def inform_wrongly(self, data: st.DataObject, back: int, volume: float) -> None:
        client = self.some(data)
        if client is None:
            return
        operation = client.known.last_operation + 1 - back
        pending = client.known.operation
        if pending is not None and pending.number == operation:
            self.attempt(
                lambda: self.core.enter(self.now, InformEvent(client.known, operation, pending.volume * 2.0 + 1.0)), INVALID
            )
        elif back:
            self.attempt(lambda: self.core.enter(self.now, InformEvent(client.known, operation, volume)), OUT_OF_ORDER)
        else:
            self.attempt(lambda: self.core.enter(self.now, InformEvent(client.known, operation, 5e-324 * volume)), INVALID)

    @rule(data=st.data(), part=PARTS, wrong=st.sampled_from([0, 0, 0, 1]))
    def report(self, data: st.DataObject, part: float, wrong: int) -> None:
        client = self.some(data)
        if client is None:
            return
        pending = client.known.operation
        number = client.known.last_operation + wrong
        moved = part * (pending.volume if pending else 1.0)
        refused = None if pending is not None and not wrong else UNEXPECTED
        if refused is None and pending is not None and moved > pending.moved:
            client.quiet_since = self.now
        self.attempt(lambda: self.core.enter(self.now, ReportEvent(client.known, number, moved)), refused, client)

    @rule(data=st.data(), skipped=st.sampled_from([0, 0, 1, 2]))
    def answer(self, data: st.DataObject, skipped: int) -> None:
        """Keep to one of the grants for less, not the first perhaps, and so to those before it."""
        client = self.some(data, lambda one: bool(one.unanswered))
        if client is None:
            return
        self.keep_to(client, client.unanswered[min(skipped, len(client.unanswered) - 1)])

    @rule(data=st.data(), ahead=st.sampled_from([-1, 0, 1, 2**53]))
    def answer_out_of_order(self, data: st.DataObject, ahead: int) -> None:
        """Answer what needs no answer, was answered before, or never came."""
        client = self.some(data, lambda one: not one.unanswered)
        if client is None:
            return
        grant = client.told + ahead
        refused = INVALID if ahead > 0 else None
        self.attempt(lambda: self.core.enter(self.now, YieldEvent(client.known, grant)), refused, client)

    @rule(data=st.data(), part=PARTS, wrong=st.sampled_from([0, 0, 0, 1]))
    def release(self, data: st.DataObject, part: float, wrong: int) -> None:
        client = self.some(data)
        if client is None:
            return
        pending = client.known.operation
        if pending is None or wrong:
            number = client.known.last_operation + wrong
            self.attempt(lambda: self.core.enter(self.now, ReleaseEvent(client.known, number)), UNEXPECTED)
        else:
            self.end(client, part * pending.volume if part else None)

    @rule(data=st.data())
    def beat(self, data: st.DataObject) -> None:
        client = self.some(data)
        if client is not None:
            self.attempt(lambda: self.core.enter(self.now, BeatEvent(client.known)), None, client)

    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        client = self.some(data)
        if client is not None:
            client.connected = False
            self.core.enter(self.now, DisconnectEvent(client.known))

    @rule(data=st.data(), same=st.booleans())
    def join(self, data: st.DataObject, same: bool) -> None:
        client = self.some(data, lambda one: not one.connected, connected=False)
        if client is None:
            return
        client.connected = True
        client.operation = max(client.operation, client.known.last_operation)
        if not same:
            client.under_way = False
            client.withdraw()
        at = client.known.operation.number if same and client.known.operation else 0
        self.attempt(lambda: self.core.enter(self.now, JoinEvent(client.known, at)), None, client)

    @rule(data=st.data(), as_it_wishes=st.booleans())
    def go(self, data: st.DataObject, as_it_wishes: bool) -> None:
        """An application leaves, or is forgotten."""
        client = self.some(data, connected=True if as_it_wishes else None)
        if client is None:
            return
        self.clients.remove(client)
        if as_it_wishes:
            self.core.enter(self.now, LeaveEvent(client.known))
        else:
            self.core.enter(self.now, ForgetEvent(client.known, "as told"))
            self.decide(told=client)

    @rule(policy=st.sampled_from([*LIVE, "no-such-policy", "periodic-johnson"]))
    def set_policy(self, policy: str) -> None:
        if policy in LIVE:
            self.policy = policy
            self.core.set_policy(self.now, policy)
            return
        before = snapshot(self.core)
        try:
            self.core.set_policy(self.now, policy)
        except InputError:
            assert snapshot(self.core) == before
        else:
            raise AssertionError("it was taken")

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        """As the server does: decide whenever the core wants to, and at the end."""
        end = self.now + seconds
        for _ in range(10_000):
            self.decide()
            date = self.core.next_date()
            assert date > self.now, "it is never done"
            if date > end:
                break
            self.now = date
        else:
            raise AssertionError("it does not come to an end")
        self.now = end
        self.decide()

    @rule(seconds=st.sampled_from([1e-6, 0.02, 3.0]))
    def come_late(self, seconds: float) -> None:
        """Nothing is decided for a while: the server was not given a processor."""
        self.now += seconds

    @rule()
    def decide_now(self) -> None:
        self.decide()

    @rule()
    def kill(self) -> None:
        """The coordinator dies, with all that is not written down, and is started again."""
        committed = fold([msgspec.msgpack.decode(entry, type=JournalEntry) for entry in self.entries])
        expected = copy.deepcopy(committed)
        self.core = self.new_core()
        self.core.restore(committed)
        assert [lasting(one) for one in self.core.registry.clients.values()] == [lasting(one) for one in expected]
        known = self.core.registry.clients
        self.clients = [client for client in self.clients if client.known.number in known]
        there = {client.known.number for client in self.clients}
        self.clients += [KnownClient(known[number], self.now) for number in known if number not in there]  # they have left
        for client in self.clients:
            client.known = known[client.known.number]
            assert client.using <= client.known.in_force * (1.0 + 1e-12)
            assert client.told <= client.known.grant_number
            client.connected, client.heard, client.unanswered = False, self.now, []
            client.using, client.told = client.known.in_force, client.known.grant_number
            client.under_way = client.known.operation is not None
            client.posted = client.known.place != NO_PLACE
            client.latest, client.quiet_since = (0, 0.0, 0.0), self.now
        self.decide()

    # Laws

    @invariant()
    def never_more_than_there_is(self) -> None:
        assert sum(client.using for client in self.clients) <= B * (1.0 + 1e-12)
        assert self.core.granted() <= B * (1.0 + 1e-12)
        assert self.core.decider.fault is None

    @invariant()
    def the_books_are_those_of_the_test(self) -> None:
        assert {client.known.number: client.known for client in self.clients} == self.core.registry.clients
        for client in self.clients:
            known = client.known
            assert self.core.registry.clients[known.number] is known
            assert (known.place != NO_PLACE) == client.posted
            assert known.in_force == client.using
            assert [number for number, *_ in known.unacknowledged] == [sent.number for sent in client.unanswered]
            assert known.connected == client.connected
            assert known.grant_number == client.told
            assert 0.0 <= known.done < math.inf
            assert self.core.progress(known) >= 0.0

    @invariant()
    def nothing_leaks(self) -> None:
        for client in self.clients:
            known = client.known
            if known.operation is None or known.place == NO_PLACE:
                assert known.place == NO_PLACE
                assert known.in_force == 0.0
                assert known.unacknowledged == []

    @invariant()
    def places_and_owners_agree(self) -> None:
        active = self.core.pending
        assert [owner.place for owner in active.owners] == list(range(active.size))
        placed = {number for number, one in self.core.registry.clients.items() if one.place != NO_PLACE}
        assert placed == {owner.number for owner in active.owners}
        for place, owner in enumerate(active.owners):
            at = {name: float(active.column(name)[place]) for name in FLOATS}
            assert owner.operation is not None
            assert at["rate"] == owner.in_force
            assert at["cap"] == owner.cap
            assert at["volume"] == owner.operation.volume
            assert 0.0 <= at["sent"] <= at["rate"] * (1.0 + 1e-12) <= owner.cap * (1.0 + 2e-12)
            assert 0.0 <= at["remaining"] <= at["volume"]

    def teardown(self) -> None:
        """Those who are left do as they are told: everybody has a turn, and nothing stays granted."""
        if not hasattr(self, "core"):
            return
        for client in self.clients:
            if client.connected and client.known.operation is not None and not client.posted:
                client.under_way = False
                self.attempt(
                    lambda one=client: self.core.enter(self.now, ReleaseEvent(one.known, one.known.last_operation)),
                    None,
                    client,
                )
        for _ in range(200):
            for client in [one for one in self.clients if one.connected]:
                self.core.enter(self.now, BeatEvent(client.known))
                client.heard = self.now
                if client.using > 0.0 and not client.unanswered:
                    client.under_way = False
                    client.withdraw()
                    self.core.enter(self.now, ReleaseEvent(client.known, client.known.last_operation))
                elif client.unanswered:
                    client.using = client.unanswered[-1].rate
                    self.core.enter(self.now, YieldEvent(client.known, client.unanswered[-1].number))
                    client.unanswered = []
            self.pass_time(LEASE / 4.0)
            if not any(client.posted for client in self.clients):
                break
        assert not any(client.under_way and client.posted for client in self.clients), "somebody never has a turn"
        assert self.core.granted() == 0.0

    # Parts of the above

    def some(self, data: st.DataObject, fits: Any = lambda _: True, connected: bool | None = True) -> KnownClient | None:
        """One of the clients, of those connected or not; None where there is none."""
        found = [one for one in self.clients if (connected is None or one.connected == connected) and fits(one)]
        return data.draw(st.sampled_from(found)) if found else None

    def enter(self, client: KnownClient, volume: float, rounds: int, moved: float) -> None:
        """It posts a new operation."""
        client.operation += 1
        client.withdraw()
        client.under_way = client.posted = True
        client.quiet_since = self.now
        self.attempt(
            lambda: self.core.enter(self.now, InformEvent(client.known, client.operation, volume, rounds, moved)),
            None,
            client,
        )

    def end(self, client: KnownClient, moved: float | None) -> None:
        """Its operation is over."""
        client.under_way = False
        client.withdraw()
        number = client.known.last_operation
        self.attempt(lambda: self.core.enter(self.now, ReleaseEvent(client.known, number, moved)), None, client)

    def keep_to(self, client: KnownClient, kept: Sent) -> None:
        """It keeps to the grant, and so to those before it; the same one, told again, needs no other answer."""
        later = [sent for sent in client.unanswered if sent.number > kept.number]
        client.unanswered = [sent for sent in later if sent.rate < kept.rate]
        client.using = kept.rate
        self.attempt(lambda: self.core.enter(self.now, YieldEvent(client.known, kept.number)), None, client)

    def attempt(self, event: Any, code: str | None, client: KnownClient | None = None) -> None:
        """Enter the event, which is to be refused with the code, if one is given; then nothing has changed."""
        before = snapshot(self.core) if code is not None else None
        if code is None:
            event()
        else:
            with pytest.raises(Refused) as refused:
                event()
            assert refused.value.code == code
            assert snapshot(self.core) == before
        if client is not None and code is None:
            client.heard = self.now
        if self.at_once and code is None:
            self.decide()

    def decide(self, told: KnownClient | None = None) -> None:
        """Decide, write down, tell: the ledger follows what the clients are told."""
        instructions = self.core.handle(self.now)
        core = self.core
        if core.registry.changed or instructions:
            full = len(self.entries) > 20
            entry = JournalEntry(PRESENT, *core.registry.unwritten(full=full), full)
            self.entries = [*([] if full else self.entries), msgspec.msgpack.encode(entry)]
            core.registry.mark_written()
            core.registry.ended.clear()
        by_number = {client.known.number: client for client in self.clients}
        if told is not None:
            by_number.setdefault(told.known.number, told)
        for instruction in (*instructions.forgets, *instructions.grants):
            note(f"{self.now}: {type(instruction).__name__} {instruction.client.number} {instruction}")
            client = by_number[instruction.client.number]
            assert client.connected, "who is not there cannot be told"
            if isinstance(instruction, GrantInstruction):
                self.granted(client, instruction)
            else:
                self.forgotten(client, instruction, as_told=client is told)
        self.clients = [client for client in self.clients if client.known.number in core.registry.clients]
        for client in self.clients:
            if not client.connected and client.heard + LEASE <= self.now:
                client.withdraw()
            assert not client.posted or client.heard + LEASE > self.now, "it is silent, and in the way"
            assert all(sent.latest > self.now for sent in client.unanswered if client.posted) or not client.connected
        self.check_owing()

    def check_owing(self) -> None:
        """Who is in the way longer than a lease and a round is sent away, whether connected or not."""
        for client in self.clients:
            if any(sent.latest <= self.now for sent in client.unanswered):
                assert not client.connected
                client.withdraw()

    def granted(self, client: KnownClient, grant: GrantInstruction) -> None:
        pending = client.known.operation
        assert pending is not None
        assert grant.operation == pending.number
        assert grant.number == client.told + 1
        assert 0.0 <= grant.rate <= client.known.cap * (1.0 + 1e-12)
        client.told = grant.number
        operation, rate, date = client.latest
        if operation == grant.operation and 0.0 < abs(grant.rate - rate) < 0.2 * rate and not client.unanswered:
            assert self.now >= date + self.min_update_interval
        client.latest = (grant.operation, grant.rate, self.now)
        if grant.rate < client.using:
            assert all(grant.rate <= sent.rate for sent in client.unanswered)
            slowest = min([client.using, *(sent.rate for sent in client.unanswered if sent.rate > 0.0)])
            a_round = pending.round_bytes / slowest if grant.rate == 0.0 else 0.0
            client.unanswered.append(Sent(grant.number, grant.rate, self.now + LEASE + a_round))
        else:
            assert not client.unanswered, "more is given to who has not yielded yet"
            if client.using <= 0.0 < grant.rate:
                client.quiet_since = self.now
            client.using = grant.rate

    def forgotten(self, client: KnownClient, forget: ForgetInstruction, as_told: bool) -> None:
        late = any(sent.latest <= self.now for sent in client.unanswered)
        silent = client.heard + LEASE <= self.now
        hangs = client.using > 0.0 and client.quiet_since + LEASE <= self.now
        assert as_told or late or silent or hangs, f"sent away too early: {forget.reason}"
        client.connected = False
        client.withdraw()


def test_every_grant_has_its_own_time_to_be_kept_to():
    """Two grants for less, the second a moment before the first had to be kept to: that is no reason to be sent away."""
    core = Core("fair-share", 100.0, lease=10.0)
    first = core.enter(0.0, RegisterEvent("first"))
    core.enter(0.0, InformEvent(first, 1, 1e6))
    core.handle(0.0)
    core.enter(0.0, InformEvent(core.enter(0.0, RegisterEvent("second")), 1, 1e6))
    assert [grant.rate for grant in core.handle(0.0).grants] == [0.0, 50.0]
    core.enter(9.9, InformEvent(core.enter(9.9, RegisterEvent("third")), 1, 1e6))
    assert core.handle(9.9).grants[1].rate == pytest.approx(100.0 / 3.0)
    core.enter(9.95, YieldEvent(first, 2))
    core.handle(10.0)
    assert first.in_force == 50.0
    assert first.connected
    core.enter(15.0, BeatEvent(first))
    core.handle(19.9)
    assert not first.connected


def lasting(application: Client) -> dict[str, Any]:
    """What outlives a restart."""
    passing = ("place", "connected", "last_heard", "unacknowledged", "awaits_grant", "unseen_since")
    return {name: value for name, value in msgspec.structs.asdict(application).items() if name not in passing}


def snapshot(core: Core) -> Any:
    """All that a refused event must leave as it was."""
    return copy.deepcopy(
        (
            core.now,
            core.events,
            core.decider.decisions,
            core.registry.completed,
            core.overruns,
            core.registry.next_number,
            core.registry.changed,
            core.registry.regranted,
            core.registry.departed,
            len(core.registry.ended),
            core.policy.name,
            core.next_date(),
            core.pending.changed,
            core.grants.due,
            core.grants.sent,
            core.decider.ticks,
            [client.number for client in core.grants.announced],
            len(core.places.forgets),
            {number: msgspec.structs.asdict(application) for number, application in core.registry.clients.items()},
            [owner.number for owner in core.pending.owners],
            [core.pending.column(name).tolist() for name in FLOATS if name not in ROOM],
            core.pending.turn.tolist(),
            core.leases.state(),
        )
    )


TestAnyEvents = AnyEvents.TestCase
