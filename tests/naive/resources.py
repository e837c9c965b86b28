"""Applications on I/O resources (002 §III) in plain Python and in bytes: look at everything at every event.

An operation of v bytes over n resources is n transfers of v / n bytes; alone on its resource each moves b(n) / n bytes/s,
and a share of the resource's time moves that share of it. The policy of a resource is shown seconds of its time: what a
transfer would still take alone, a cap of 1 and a link of 1; progress, release and nodes are the application's. It is asked
when a transfer on its resource begins or ends, or periodically. Chains repeat, the lead does not.

A transfer is complete when at most 1e-12 of it is left, or what it moves in 1e-14 of the largest date so far: those that end
together on several resources do.

`stepped` is the time-based simulator of 002 §V.B.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.model import Application, Phases, Platform, Workload
from penstock.policies import REGISTRY
from tests.naive.policies import DEFAULTS, TWINS, Active, Scene, doubtful

COMPLETE = 1e-12
DATES_KNOWN_TO = 1e-14
CONTINUOUS = ("best-effort", "fair-share")
"""Policies for which it does not matter which of two events at nearly one date comes first."""
MOST_DATES = 1500
"""A run that goes on for longer is given up."""


def bandwidth_with(curve: Mapping[str, float], count: int) -> float:
    """Linear between measured counts, constant beyond the last."""
    points = sorted((int(key), rate) for key, rate in curve.items())
    for (low, slow), (high, fast) in pairwise(points):
        if low <= count <= high:
            return slow + (fast - slow) * (count - low) / (high - low)
    return points[-1][1]


@dataclass
class Transfer:
    """The part of an operation that goes over one resource."""

    left: float
    """Bytes."""
    moved: float = 0.0
    """Bytes; what is left knows a small beginning less well."""
    share: float = 0.0
    """Of the resource's time."""
    serving: float = 0.0
    """Seconds with some of it."""
    complete: bool = False


@dataclass
class Member:
    """One application on its way."""

    index: int
    application: Application
    chain: list[tuple[str, float]]
    uses: tuple[int, ...]
    bandwidth: float
    best: float
    done: float
    """Progress since its release without the operation under way."""
    work_begin: float
    work_length: float
    status: str = "work"
    phase: int = -1  # −1 is the lead
    whole: float = 0.0
    volume: float = 0.0
    posted: float = 0.0
    transfers: dict[int, Transfer] = field(default_factory=dict)
    transferring: float = 0.0
    worked: float = 0.0
    moved: float = 0.0
    io_seconds: float = 0.0
    operations: int = 0
    first_end: float | None = None
    work_since: float = 0.0
    any_work: bool = False
    iterations: list[float] = field(default_factory=list)

    @property
    def does_io(self) -> bool:
        return any(kind != "work" and amount > 0.0 for kind, amount in self.chain)

    @property
    def chain_seconds(self) -> float:
        return sum(amount if kind == "work" else amount / self.bandwidth for kind, amount in self.chain)

    @property
    def moved_now(self) -> float:
        """Bytes of the operation under way."""
        return sum(transfer.moved for transfer in self.transfers.values())

    @property
    def progress(self) -> float:
        return self.done + self.moved_now / self.bandwidth

    @property
    def omega(self) -> float:
        return sum(self.iterations) / len(self.iterations) if self.iterations else 0.0


@dataclass
class NaivePlaced:
    """What is measured on [begin, begin + duration]."""

    duration: float
    valid: bool
    transferred: list[float]
    io_seconds: list[float]
    operations: list[int]
    allocation_slowdowns: list[float | None]
    slowdowns: list[float | None]
    worked: list[float]
    """Seconds of work, what is under way included."""
    occupancy: list[float]
    idle_time: float
    events: int
    doubtful: bool
    """A tie was met that a rounding error decides."""
    edge: bool
    """Something else happens within 1e-9 s of the end of the interval: on either side of it."""
    endless: bool
    """It was given up: somebody may never complete an operation."""


class NaivePlacement:
    def __init__(
        self,
        workload: Workload,
        placement: Sequence[Sequence[int]],
        policy: str,
        *,
        horizon: float,
        interval: str = "steady",
        delta: float | None = None,
    ) -> None:
        self.workload, self.policy = workload, policy
        self.horizon, self.interval, self.delta = horizon, interval, delta
        self.begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
        self.now = self.begin
        self.size = workload.platform.resources
        self.busy = [0.0] * self.size
        self.ticks = self.posted = self.completed = 0
        self.doubtful = self.edge = self.endless = False
        self.touched: set[int] = set()
        self.members = [self.member(i, a, tuple(placement[i])) for i, a in enumerate(workload.applications)]
        self.ranks = self.planned()

    def member(self, index: int, application: Application, uses: tuple[int, ...]) -> Member:
        curve = application.curve.document()
        start = max(application.release, self.begin)
        history = application.progress if application.progress is not None else start - application.release
        best = max(bandwidth_with(curve, n) for n in range(1, self.size + 1))
        at = bandwidth_with(curve, len(uses))
        member = Member(index, application, list(application.phases), uses, at, best, history, start, application.lead)
        member.whole = history + application.lead + member.chain_seconds
        return member

    def planned(self) -> list[float]:
        """The order that the policy plans; plans have twins of their own where they are made."""
        applications = []
        for m in self.members:
            chain = [(kind, amount if kind == "work" else amount / m.bandwidth) for kind, amount in m.chain]
            couple = m.application.nominal and (m.application.nominal[0], m.application.nominal[1] / m.bandwidth)
            applications.append(replace(m.application, phases=Phases.of(chain), bandwidth=None, nominal=couple))
        rank = REGISTRY[self.policy].plan(Workload(Platform(1.0), tuple(applications), self.workload.window)).rank
        return [0.0] * len(applications) if rank is None else rank.tolist()

    def run(self) -> NaivePlaced:
        dates = 0
        self.apply_events()
        while not self.over() and not self.endless:
            for resource in sorted(self.touched):
                self.share(resource)
            self.touched.clear()
            date, tick = self.next_date()
            dates += 1
            if date == math.inf or dates > MOST_DATES:
                self.endless = True
                break
            self.move(date)
            self.now = date
            self.apply_events()
            if tick:
                self.ticks += 1
                self.touched.update(r for r in range(self.size) if self.active(r))
        return self.measured()

    def over(self) -> bool:
        if self.interval == "first-end":
            return any(m.first_end is not None for m in self.members)
        return self.now >= self.begin + self.horizon and self.valid

    @property
    def valid(self) -> bool:
        """Every application that does I/O has completed an operation."""
        return all(m.operations > 0 for m in self.members if m.does_io)

    def active(self, resource: int) -> list[Member]:
        return [m for m in self.members if resource in m.transfers and not m.transfers[resource].complete]

    def share(self, resource: int) -> None:
        active = self.active(resource)
        if not active:
            return
        views = []
        for m in active:
            transfer = m.transfers[resource]
            alone = m.bandwidth / len(m.uses)
            views.append(
                Active(
                    m.index,
                    transfer.left / alone,
                    1.0,
                    m.posted,
                    m.progress,
                    m.application.release,
                    m.application.nodes,
                    m.omega,
                    volume=m.volume / m.bandwidth,
                    rate=transfer.share,
                    transferring=m.transferring + transfer.serving,
                    whole=m.whole,
                    rank=self.ranks[m.index],
                )
            )
        scene = Scene(views, self.now, 1.0, math.inf, DEFAULTS.get(self.policy, 0.0), completed=self.completed)
        self.doubtful = self.doubtful or doubtful(self.policy, scene)
        shares = TWINS[self.policy](scene)
        for m in active:
            m.transfers[resource].share = shares[m.index]

    def next_date(self) -> tuple[float, bool]:
        dates = {m.index: m.work_begin + m.work_length for m in self.members if m.status == "work"}
        for m in self.members:
            alone = m.bandwidth / len(m.uses)
            under_way = [t for t in m.transfers.values() if not t.complete and t.share > 0.0]
            if under_way:
                dates[m.index] = min(self.now + t.left / (t.share * alone) for t in under_way)
        tick = self.begin + (self.ticks + 1) * self.delta if self.delta else math.inf
        others = [tick]
        if self.interval == "steady" and self.now < self.begin + self.horizon:
            others.append(self.begin + self.horizon)
        date = min([*dates.values(), *others])
        after = [other - date for other in [*dates.values(), *others]]
        if self.policy not in CONTINUOUS and any(0.0 < seconds <= 1e-9 for seconds in after):
            self.doubtful = True
        # Whether what belongs to the interval, if it ends here, is a matter of rounding.
        self.edge = date - self.now <= 1e-9 or sum(seconds <= 1e-9 for seconds in after) > 1
        return date, tick == date

    def move(self, date: float) -> None:
        seconds = date - self.now
        for resource in range(self.size):
            served = [m.transfers[resource] for m in self.active(resource)]
            if any(transfer.share > 0.0 for transfer in served):
                self.busy[resource] += seconds
        for m in self.members:
            alone = m.bandwidth / len(m.uses)
            for transfer in m.transfers.values():
                if not transfer.complete and transfer.share > 0.0:
                    moved = min(transfer.left, transfer.share * alone * seconds)
                    transfer.left -= moved
                    transfer.moved += moved
                    transfer.serving += seconds
                    # When the date of its own completion rounds up to no step at all, the rest is gone.
                    if self.now + transfer.left / (transfer.share * alone) <= self.now:
                        transfer.left = 0.0

    def apply_events(self) -> None:
        """Everything that happens now."""
        for m in self.members:
            for resource, transfer in m.transfers.items():
                known_to = COMPLETE * m.volume + DATES_KNOWN_TO * (abs(self.now) + abs(self.begin)) * m.bandwidth
                if not transfer.complete and transfer.left <= known_to / len(m.uses):
                    transfer.left, transfer.moved, transfer.complete = 0.0, m.volume / len(m.uses), True
                    self.touched.add(resource)
            if m.transfers and all(transfer.complete for transfer in m.transfers.values()):
                self.complete(m)
            while m.status == "work" and m.work_begin + m.work_length <= self.now:
                self.end_work(m)

    def complete(self, m: Member) -> None:
        alone = m.volume / m.bandwidth
        m.done += alone
        m.moved += m.volume
        m.io_seconds += self.now - m.posted
        m.transferring += sum(transfer.serving for transfer in m.transfers.values()) / len(m.transfers)
        if m.any_work:
            m.iterations.append(m.work_since + alone)
        m.work_since = 0.0
        m.transfers, m.volume = {}, 0.0
        m.operations += 1
        self.completed += 1
        self.next_phase(m)

    def end_work(self, m: Member) -> None:
        m.worked += m.work_length
        m.done += m.work_length
        if m.phase >= 0:
            m.work_since += m.work_length
            m.any_work = m.any_work or m.work_length > 0.0
        self.next_phase(m)

    def next_phase(self, m: Member) -> None:
        while True:
            m.phase += 1
            if m.phase == len(m.chain):
                m.first_end = self.now if m.first_end is None else m.first_end
                m.phase = 0
                m.whole += m.chain_seconds
            kind, amount = m.chain[m.phase]
            if kind == "work":
                m.status, m.work_begin, m.work_length = "work", self.now, amount
                return
            if amount > 0.0:
                m.status, m.posted, m.volume = "io", self.now, amount
                m.transfers = {resource: Transfer(amount / len(m.uses)) for resource in m.uses}
                self.touched.update(m.uses)
                self.posted += 1
                return

    def measured(self) -> NaivePlaced:
        """002 §III.C.2 at the present date, what is under way included."""
        duration = self.now - self.begin
        moved = [m.moved + m.moved_now for m in self.members]
        spent = [m.io_seconds + (self.now - m.posted if m.status == "io" else 0.0) for m in self.members]
        worked = [m.worked + (max(0.0, self.now - m.work_begin) if m.status == "work" else 0.0) for m in self.members]
        slowdowns: list[float | None] = []
        for m, volume, seconds in zip(self.members, moved, spent, strict=True):
            if volume == 0.0:
                slowdowns.append(math.inf if seconds > 0.0 else None)
            else:
                slowdowns.append(seconds / (volume / m.best))
        nodes = [m.application.nodes for m in self.members]
        machine = self.workload.platform.nodes or sum(nodes)
        return NaivePlaced(
            duration=duration,
            valid=self.valid,
            transferred=moved,
            io_seconds=spent,
            operations=[m.operations for m in self.members],
            allocation_slowdowns=[
                m.best / m.bandwidth if slowdown is not None else None
                for m, slowdown in zip(self.members, slowdowns, strict=True)
            ],
            slowdowns=slowdowns,
            worked=worked,
            occupancy=[busy / duration for busy in self.busy],
            idle_time=sum(n * s for n, s in zip(nodes, spent, strict=True)) / (duration * machine),
            events=self.posted + self.completed + self.ticks,
            doubtful=self.doubtful,
            edge=self.edge,
            endless=self.endless,
        )


def stepped(
    workload: Workload, placement: Sequence[Sequence[int]], unit: float, steps: int
) -> tuple[list[float], list[float]]:
    """(seconds in I/O of each application, occupancy of each resource) of the simulator of 002 §V.B.

    At each unit of time every application computes or does I/O; those that collide on a resource alternate, one unit each.
    All amounts of time are whole numbers of units.
    """
    queues: list[deque[int]] = [deque() for _ in range(workload.platform.resources)]
    chains, left, at, io_steps = [], [], [], []
    for application, uses in zip(workload.applications, placement, strict=True):
        bandwidth = bandwidth_with(application.curve.document(), len(uses))
        seconds = [(kind, amount if kind == "work" else amount / bandwidth) for kind, amount in application.phases]
        chain = [(kind, round(amount / unit)) for kind, amount in seconds]
        assert all(units * unit == amount for (_, units), (_, amount) in zip(chain, seconds, strict=True))
        chains.append(chain)
        at.append(-1)
        left.append({-1: round(application.lead / unit)})  # units left by resource; −1 is its own processors
        io_steps.append(0)
    busy = [0] * len(queues)
    for _ in range(steps):
        for i, chain in enumerate(chains):
            while not any(left[i].values()):
                at[i] = (at[i] + 1) % len(chain)
                kind, units = chain[at[i]]
                left[i] = {-1: units} if kind == "work" else dict.fromkeys(placement[i], units)
                if kind != "work" and units > 0:
                    for resource in placement[i]:
                        queues[resource].append(i)
            if -1 in left[i]:
                left[i][-1] -= 1
            else:
                io_steps[i] += 1
        for resource, queue in enumerate(queues):
            if queue:
                busy[resource] += 1
                served = queue.popleft()
                left[served][resource] -= 1
                if left[served][resource] > 0:
                    queue.append(served)
    return [count * unit for count in io_steps], [count / steps for count in busy]
