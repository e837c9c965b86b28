"""Random events on the core, lies and silence among them, with a ledger of its own that is checked after every event.

``python -m tests.live.core.campaign --events 10000000 --seed 1`` is the long form; the tests run a short one.

The ledger knows what each client may be using from what it was told and what it has answered: a higher grant counts from
when it is sent, a lower one from when it is answered, and nothing counts from when a client has lost its place or its
operation has ended. It is kept without the core's own books, and must agree with them. After every event:

- the sum of what all may be using is at most B, and no client may use more than its cap;
- the core's own sum of grants in force is that of the ledger;
- a sign of life or a decision never brings the clock back, and the next date lies ahead.

Now and then everything is compared: places, owners and progress; and a restart must find the same clients.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from penstock.live.core.clients import NO_PLACE, Client
from penstock.live.core.core import Core
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    Event,
    ForgetEvent,
    InformEvent,
    Instructions,
    JoinEvent,
    LeaveEvent,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
    YieldEvent,
)
from penstock.live.core.limits import Limits
from penstock.live.core.recording import as_workload
from penstock.policies import REGISTRY

B = 1000.0
LEASE = 10.0
MOST_CLIENTS = 12
SLACK = 1.0 + 1e-9
POLICIES = tuple(name for name, policy in REGISTRY.items() if policy.planner is None)
AMOUNTS = (0.0, 1e-9, 1.0, 50.0, 500.0, 3000.0, 1e6, 1e21, 1e30)
KINDS = (
    *(("post", 10), ("report", 14), ("answer", 22), ("release", 8), ("beat", 8), ("lie", 4), ("time", 22)),
    *(("register", 4), ("leave", 2), ("disconnect", 2), ("join", 3), ("forget", 1), ("policy", 0.2), ("restart", 0.1)),
)


class Lower(NamedTuple):
    """A lower grant that a client has not answered."""

    number: int
    rate: float
    latest: float
    """The date by which it must."""
    first: float
    """The same, as it was before the client came back from anywhere."""


class Known:
    """What one client may be using, by what it was told and what it has said."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.using = 0.0
        self.unanswered: list[Lower] = []
        self.announced = False
        """It has announced an operation and waits for the answer."""
        self.told = 0
        self.quiet_since = 0.0
        """When it last said that it had moved more, or could begin to."""

    def clear(self) -> None:
        self.using, self.unanswered = 0.0, []

    def put_off(self, date: float, a_round: float = 0.0) -> None:
        """It may not have had what it was told: it has until the date, at most two leases and a round more than at first."""
        self.unanswered = [
            lower._replace(latest=max(lower.latest, min(date, lower.first + 2.0 * LEASE + a_round)))
            for lower in self.unanswered
        ]


class Campaign:
    """A core and the ledger of what its clients were told."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.limits = Limits(
            longest_turn=self.random.choice([math.inf, 20.0, 3.0]),
            longest_round=self.random.choice([math.inf, 5.0]),
            least_reached=self.random.choice([0.0, 0.05]),
            max_elapsed_claim=self.random.choice([math.inf, 0.0]),
            max_nodes=self.random.choice([math.inf, 64]),
            share_by=self.random.choice(["application", "user"]),
            lowered_after=self.random.choice([0, 2]),
            barred_after=self.random.choice([0, 4]),
            penalty=self.random.choice([5.0, 60.0]),
        )
        self.policy = self.random.choice(POLICIES)
        self.interval = self.random.choice([0.0, 0.02])
        self.now = 0.0
        self.core = self._core()
        self.known: dict[int, Known] = {}
        self.counts: Counter[str] = Counter()
        self.highest = 0.0

    def _core(self) -> Core:
        return Core(
            self.policy,
            B,
            node_bandwidth=50.0,
            lease=LEASE,
            keep=60.0,
            keep_most=6,
            min_update_interval=self.interval,
            limits=self.limits,
            now=self.now,
        )

    def run(self, events: int) -> None:
        """Have so many events happen, and check the laws after each."""
        kinds, weights = zip(*KINDS, strict=True)
        drawn = self.random.choices(kinds, weights, k=events)
        for number, kind in enumerate(drawn):
            self.counts[kind] += 1
            getattr(self, f"_{kind}")()
            self._check()
            if number % 1000 == 999:
                self._check_all()

    # Events

    def _some(self, connected: bool = True) -> Known | None:
        found = [one for one in self.known.values() if one.client.connected == connected]
        return self.random.choice(found) if found else None

    def _enter(self, event: Event, known: Known | None = None) -> Client | None:
        """Enter an event and decide, as the server does for a message that comes alone."""
        try:
            client = self.core.enter(self.now, event)
        except Refused:
            self.counts["refused"] += 1
            client = None
        else:
            if known is not None:
                known.announced = known.announced or isinstance(event, InformEvent)
            if known is not None and isinstance(event, YieldEvent):
                self._answered(known, event.grant)
            elif known is not None and (client.operation is None or client.place == NO_PLACE):
                known.clear()
        self._decide()
        return client

    def _decide(self) -> None:
        instructions = self.core.handle(self.now)
        self._told(instructions)
        self.core.registry.mark_written()
        if len(self.core.registry.ended) > 2000:
            as_workload(self.core.registry.ended, B)
            self.core.registry.ended.clear()

    def _told(self, instructions: Instructions) -> None:
        for forget in instructions.forgets:
            self.counts["sent away"] += 1
            if forget.client.number in self.known:
                self.known[forget.client.number].clear()
        self.counts["warnings"] += len(instructions.warnings)
        self.known = {number: one for number, one in self.known.items() if number in self.core.registry.clients}
        for one in self.known.values():
            if one.using > 0.0 and not one.client.connected and one.client.place == NO_PLACE:
                late = any(lower.latest <= self.now for lower in one.unanswered)
                silent = one.client.last_heard + LEASE <= self.now
                assert late or silent or one.quiet_since + LEASE <= self.now, "it has lost its place too early"
                one.clear()
        for grant in instructions.grants:
            self.counts["grants"] += 1
            one = self.known[grant.client.number]
            assert grant.number == one.told + 1
            one.told = grant.number
            answers, one.announced = one.announced, False
            if grant.rate < one.using:
                a_round = self._round(one, grant.rate)
                latest = self.now + LEASE + a_round
                if answers:
                    one.put_off(latest, a_round)
                one.unanswered.append(Lower(grant.number, grant.rate, latest, latest))
            else:
                assert not one.unanswered, "more is given to one that has not yielded"
                one.quiet_since = self.now if one.using <= 0.0 else one.quiet_since
                one.using = grant.rate
        for one in self.known.values():
            assert not any(lower.latest <= self.now for lower in one.unanswered), "it is in the way for too long"

    def _round(self, one: Known, rate: float) -> float:
        """Seconds that a client may go on with its round before a pause."""
        if rate > 0.0 or one.client.operation is None:
            return 0.0
        slowest = min([one.using, *(lower.rate for lower in one.unanswered if lower.rate > 0.0)])
        return min(self.limits.longest_round, one.client.operation.round_bytes / slowest)

    def _answered(self, one: Known, number: int) -> None:
        kept = [lower.rate for lower in one.unanswered if lower.number <= number]
        if kept:
            one.using = kept[-1]
            one.unanswered = [lower for lower in one.unanswered if lower.rate < kept[-1]]

    def _register(self) -> None:
        if len(self.known) >= MOST_CLIENTS:
            return
        draw = self.random
        elapsed = draw.choice([0.0, 0.0, 30.0, 1e6])
        event = RegisterEvent(
            draw.choice(["a", "b", "a (1)", "名"]),
            nodes=draw.choice([1, 4, 64, 2**53]),
            uid=draw.choice([-1, 1, 2, 3]),
            bandwidth=draw.choice([None, 20.0, 400.0, B, 1e18]),
            elapsed=elapsed,
            progress=draw.choice([None, 0.0, elapsed]),
        )
        client = self._enter(event)
        if client is not None:
            self.known[client.number] = Known(client)

    def _post(self) -> None:
        one = self._some()
        if one is not None and one.client.operation is None:
            volume = self.random.choice(AMOUNTS[3:6])
            rounds = self.random.choice([1, 10, 1000])
            self._enter(InformEvent(one.client, one.client.last_operation + 1, volume, rounds), one)

    def _report(self) -> None:
        one = self._some()
        if one is not None and one.client.operation is not None:
            operation = one.client.operation
            moved = operation.moved + one.using * self.random.choice([0.0, 0.1, 1.0, 1.0, 2.0])
            self._enter(ReportEvent(one.client, operation.number, moved), one)

    def _answer(self) -> None:
        found = [one for one in self.known.values() if one.unanswered and one.client.connected]
        if found:
            one = self.random.choice(found)
            self._enter(YieldEvent(one.client, self.random.choice(one.unanswered).number), one)

    def _release(self) -> None:
        one = self._some()
        if one is not None and one.client.operation is not None and one.using > 0.0:
            one.clear()
            self._enter(ReleaseEvent(one.client, one.client.operation.number), one)

    def _beat(self) -> None:
        for one in [one for one in self.known.values() if one.client.connected]:
            if self.random.random() < 0.9:
                self.core.enter(self.now, BeatEvent(one.client))

    def _lie(self) -> None:
        """What no client of ours would say."""
        one = self._some()
        if one is None:
            return
        amount, other = self.random.choice(AMOUNTS), self.random.choice(AMOUNTS)
        last, rounds = one.client.last_operation, self.random.choice([1, 7, 2**53])
        pending = one.client.operation
        again = InformEvent(one.client, last, pending.volume, rounds, amount) if pending else BeatEvent(one.client)
        lies: list[Event] = [
            InformEvent(one.client, last + 1, amount, rounds, other),
            InformEvent(one.client, last, amount, rounds, other),
            again,
            ReportEvent(one.client, last, amount),
            ReleaseEvent(one.client, last, amount),
            YieldEvent(one.client, one.told + self.random.choice([-1, 0, 1, 2**53])),
            JoinEvent(one.client, self.random.choice([0, last, last + 1])),
        ]
        lie = self.random.choice(lies)
        before = one.client.operation
        number = before.number if before is not None else 0
        client = None
        try:
            client = self.core.enter(self.now, lie)
        except Refused:
            self.counts["refused"] += 1
        if client is not None:
            one.announced = one.announced or isinstance(lie, InformEvent)
            if isinstance(lie, JoinEvent):
                one.put_off(self.now + LEASE)
            if isinstance(lie, YieldEvent):
                self._answered(one, lie.grant)
            elif number and (client.operation is None or client.operation.number != number):
                one.clear()
        self._decide()

    def _time(self) -> None:
        """Time passes; the core is called at each date that it asks for.

        What it decides may make something due at the same date: an operation that has nothing left to move, for instance.
        """
        end = self.now + self.random.choice([1e-6, 0.01, 0.2, 1.0, 1.0, 3.0, 11.0 if self.random.random() < 0.2 else 0.5])
        due_again = 0
        for _ in range(100_000):
            date = self.core.next_date()
            due_again = due_again + 1 if date <= self.now else 0
            assert due_again <= MOST_CLIENTS, "it is never done"
            if date > end:
                break
            self.now = max(self.now, date)
            self._decide()
            self._check()
        else:
            raise AssertionError("it does not come to an end")
        self.now = end
        self._decide()

    def _leave(self) -> None:
        one = self._some()
        if one is not None:
            del self.known[one.client.number]
            self._enter(LeaveEvent(one.client))

    def _forget(self) -> None:
        one = self._some()
        if one is not None:
            del self.known[one.client.number]
            self._enter(ForgetEvent(one.client, "as told"))

    def _disconnect(self) -> None:
        one = self._some()
        if one is not None:
            self._enter(DisconnectEvent(one.client), one)

    def _join(self) -> None:
        one = self._some(connected=False)
        if one is None:
            return
        operation = one.client.operation
        same = operation is not None and self.random.random() < 0.7
        if not same:
            one.clear()
        one.put_off(self.now + LEASE)
        self._enter(JoinEvent(one.client, operation.number if same and operation is not None else 0), one)
        if same and operation is not None and one.client.operation is operation:
            moved = operation.moved + self.random.choice([0.0, 1.0, 1e9])
            self._enter(InformEvent(one.client, operation.number, operation.volume, operation.rounds, moved), one)

    def _policy(self) -> None:
        self.policy = self.random.choice(POLICIES)
        self.core.set_policy(self.now, self.policy)
        self._decide()

    def _restart(self) -> None:
        """The coordinator dies and reads its journal."""
        packed = msgspec.msgpack.encode(list(self.core.registry.clients.values()))
        following = self.core.registry.next_number
        clients = msgspec.msgpack.decode(packed, type=list[Client])
        self.core = self._core()
        self.core.registry.next_number = following
        assert self.core.restore(clients) == []
        for client in clients:
            one = self.known[client.number]
            assert one.told == client.grant_number
            assert one.using == client.in_force
            one.client, one.unanswered = client, []
        self._decide()

    # Laws

    def _check(self) -> None:
        total = sum(one.using for one in self.known.values())
        self.highest = max(self.highest, total)
        assert total <= B * SLACK, f"{total} is granted of {B}"
        assert abs(self.core.granted() - total) <= 1e-9 * B
        assert self.core.now <= self.now
        assert self.core.decider.fault is None

    def _check_all(self) -> None:
        core = self.core
        assert {number: one.client for number, one in self.known.items()} == core.registry.clients
        for place, owner in enumerate(core.pending.owners):
            assert owner.place == place
            assert self.known[owner.number].using == owner.in_force <= owner.cap * SLACK
        for one in self.known.values():
            client = one.client
            elapsed = self.now - client.release
            assert 0.0 <= core.progress(client) <= elapsed * SLACK + 1e-9
            assert 0.0 <= core.yield_of(client) <= SLACK
            assert client.moved <= client.cap * (self.now - client.registered) * 3.0 + 2.0 * client.cap * client.operations
        wanted: Any = sum(core.pending.column("target"))
        assert wanted <= B * SLACK


def main() -> None:
    """Run a campaign and print what happened."""
    parser = argparse.ArgumentParser(description="Random events on the coordinator's core, checked against a ledger.")
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N", help="how many (default: 1000000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first of the seeds (default: 1)")
    parser.add_argument("--each", type=int, default=20_000, metavar="N", help="events for each seed (default: 20000)")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    highest, begun = 0.0, time.perf_counter()
    for number in range(-(-options.events // options.each)):
        campaign = Campaign(options.seed + number)
        campaign.run(options.each)
        counts += campaign.counts
        highest = max(highest, campaign.highest)
    seconds = time.perf_counter() - begun
    happened = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    sys.stdout.write(
        f"{number + 1} seeds of {options.each:,} events in {seconds:.0f} s: every law held\n"
        f"most that was granted at once: {highest:g} of {B:g}\n{happened}\n"
    )


if __name__ == "__main__":
    main()
