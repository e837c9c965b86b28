"""The engine in plain Python: look at everything at every event.

All that happens at one date is applied before the policy is asked; the policy is asked after a posting, a completion or a
periodic tick, and not when work follows work. An operation is complete when at most 1e-12 of its volume is left.

Of what the policy gives, k transfers together have d(k)·B at most. A decision that would pause a transfer inside a round
waits: the transfer goes on as it was, nobody new begins, the others have what is left at most, and at the end of the round
the policy is asked again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.model import Application, Workload
from penstock.policies import REGISTRY
from penstock.policies.plan import Plan
from tests.naive.coordinating import degraded
from tests.naive.policies import DEFAULTS, TWINS, Active, Scene, doubtful

COMPLETE = 1e-12


@dataclass
class Chain:
    """One application on its way."""

    index: int
    application: Application
    cap: float
    done: float  # seconds of progress since release, history included, without the pending operation
    status: str = "work"
    phase: int = -1  # −1 is the lead
    work_begin: float = 0.0
    work_length: float = 0.0
    remaining: float = 0.0
    volume: float = 0.0
    rate: float = 0.0
    posted: float = 0.0
    worked: float = 0.0
    transferred: float = 0.0
    waiting: float = 0.0
    transferring: float = 0.0
    operations: int = 0
    end: float | None = None
    held: bool = False
    start_progress: float = 0.0
    # ω: mean of (work since the last completed operation + volume / cap) over the completed operations
    work_since: float = 0.0
    any_work: bool = False
    iterations: list[float] = field(default_factory=list)

    @property
    def whole(self) -> float:
        """Progress at the end: what is done, and the dedicated time of all phases to come."""
        left = [amount if kind == "work" else amount / self.cap for kind, amount in list(self.application.phases)]
        return self.start_progress + self.application.lead + sum(left)

    @property
    def progress(self) -> float:
        return self.done + (self.volume - self.remaining) / self.cap

    @property
    def rounds_done(self) -> float:
        return (self.volume - self.remaining) / self.volume * (self.application.rounds or 0)

    @property
    def inside_a_round(self) -> bool:
        return abs(self.rounds_done - round(self.rounds_done)) > 1e-9

    @property
    def left_of_round(self) -> float:
        """Bytes to the end of the present round."""
        ahead = math.ceil(self.rounds_done - 1e-9) - self.rounds_done
        return max(0.0, ahead) * self.volume / (self.application.rounds or 1)

    @property
    def omega(self) -> float:
        return sum(self.iterations) / len(self.iterations) if self.iterations else 0.0


@dataclass
class NaiveResult:
    yields: list[float]
    chains: list[Chain]
    end: float
    min_yield: float
    efficiency: float
    utilization: float
    makespan: float | None
    operations_posted: int
    operations_completed: int
    ticks: int
    trace: list[tuple[int, float, float, float]]
    doubtful: bool
    """A tie was met that a rounding error decides."""
    edge: bool
    """Something happens within 1e-9 of the end of the window, or of the last end: on either side of it."""


class NaiveRun:
    def __init__(
        self,
        workload: Workload,
        policy: str,
        *,
        delta: float | None = None,
        rates: Callable[[Scene], dict[int, float]] | None = None,
    ) -> None:
        self.workload = workload
        self.policy = policy
        self.rates_function = rates or TWINS[policy]
        self.bandwidth = workload.platform.bandwidth
        self.window_end = workload.window[1] if workload.window else math.inf
        self.begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
        self.delta = delta
        given = workload.platform.degradation
        self.degradation = [given_part(given.document(), k) for k in range(1, 99)] if given else None
        self.now = self.begin
        self.ticks = self.posted = self.completed = 0
        self.doubtful = self.edge = False
        self.trace: list[tuple[int, float, float, float]] = []
        self.chains = []
        for index, application in enumerate(workload.applications):
            start = max(application.release, self.begin)
            history = application.progress if application.progress is not None else start - application.release
            chain = Chain(index, application, application.cap(workload.platform), history)
            chain.work_begin, chain.work_length, chain.start_progress = start, application.lead, history
            self.chains.append(chain)
        self.histories = [chain.done for chain in self.chains]
        # What a policy plans is compared with its own twins where it is made; here it is executed.
        plan = REGISTRY[policy].plan(workload) if policy in REGISTRY else Plan()
        self.ranks = [0.0] * len(self.chains) if plan.rank is None else plan.rank.tolist()
        self.turns: list[list[int]] = []
        if plan.turns is not None:
            lengths = [len(application.phases) for application in workload.applications]
            cuts = [sum(lengths[:index]) for index in range(len(lengths) + 1)]
            of_phases = [plan.turns.tolist()[begin:end] for begin, end in pairwise(cuts)]
            self.turns = [[turn for turn in turns if turn >= 0] for turns in of_phases]

    def run(self) -> NaiveResult:
        rates: dict[int, float] = {}
        ask = self.apply_events(rates)
        while not self.over():
            active = [c for c in self.chains if c.status == "io"]
            if ask:
                rates = self.carried(active, self.ask(active)) if active else {}
                for c in active:
                    c.rate = rates[c.index]
            date, tick = self.next_date(active, rates)
            assert date < math.inf, "starved"
            self.move(active, rates, date)
            self.now = date
            round_ended = any(c.held and not c.inside_a_round for c in active)
            ask = self.apply_events(rates) or round_ended
            if tick:
                self.ticks += 1
                ask = True
        return self.result()

    def over(self) -> bool:
        return self.now >= self.window_end or (self.window_end == math.inf and all(c.status == "ended" for c in self.chains))

    def ask(self, active: list[Chain]) -> dict[int, float]:
        views = [
            Active(
                c.index,
                c.remaining,
                c.cap,
                c.posted,
                c.progress,
                c.application.release,
                c.application.nodes,
                c.omega,
                volume=c.volume,
                rate=c.rate,
                transferring=c.transferring,
                whole=c.whole,
                rank=self.ranks[c.index],
                turn=self.turns[c.index][c.operations] if self.turns else -1,
            )
            for c in active
        ]
        self.scene = scene = Scene(
            views,
            self.now,
            self.bandwidth,
            self.window_end,
            DEFAULTS.get(self.policy, 0.0),
            completed=self.completed,
            degradation=self.degradation,
        )
        self.doubtful = self.doubtful or doubtful(self.policy, scene)
        return self.rates_function(scene)

    def carried(self, active: list[Chain], given: dict[int, float]) -> dict[int, float]:
        """What moves of what the policy gives; `rate` still has what moved before."""
        for c in active:
            c.held = c.rate > 0.0 and given[c.index] == 0.0 and c.inside_a_round
        if any(c.held for c in active):
            left = self.bandwidth - sum(c.rate for c in active if c.held)
            wanted = {c.index: given[c.index] for c in active if not c.held and c.rate > 0.0}
            part = min(1.0, max(0.0, left) / sum(wanted.values())) if sum(wanted.values()) > 0.0 else 0.0
            given = {c.index: c.rate if c.held else part * wanted.get(c.index, 0.0) for c in active}
        return degraded(given, self.scene)

    def next_date(self, active: list[Chain], rates: dict[int, float]) -> tuple[float, bool]:
        dates = [c.work_begin + c.work_length for c in self.chains if c.status == "work"]
        dates += [self.now + c.remaining / rates[c.index] for c in active if rates[c.index] > 0.0]
        dates += [self.now + c.left_of_round / rates[c.index] for c in active if c.held]
        tick = self.begin + (self.ticks + 1) * self.delta if self.delta else math.inf
        last = self.window_end
        self.edge = self.edge or any(abs(d - last) <= 1e-9 for d in [*dates, tick])
        date = min([*dates, tick, last])
        return date, tick == date

    def move(self, active: list[Chain], rates: dict[int, float], date: float) -> None:
        seconds = date - self.now
        for c in active:
            rate = rates[c.index]
            moved = min(c.remaining, rate * seconds)
            c.remaining -= moved
            c.transferred += moved
            if rate > 0.0:
                c.transferring += seconds
                # When the date of its own completion rounds up to no step at all, the rest is gone.
                if self.now + c.remaining / rate <= self.now:
                    c.remaining = 0.0
            else:
                c.waiting += seconds
            if seconds > 0.0:
                self.trace.append((c.index, self.now, date, rate))

    def apply_events(self, rates: dict[int, float]) -> bool:
        """Everything that happens now; whether an operation was posted or completed."""
        before = (self.posted, self.completed)
        for c in self.chains:
            if c.status == "io" and c.remaining <= COMPLETE * c.volume:
                self.complete(c)
            while c.status == "work" and c.work_begin + c.work_length <= self.now:
                self.end_work(c)
        return (self.posted, self.completed) != before

    def complete(self, c: Chain) -> None:
        c.transferred += c.remaining
        c.done += c.volume / c.cap
        if c.any_work:
            c.iterations.append(c.work_since + c.volume / c.cap)
        c.work_since = 0.0
        c.remaining = c.volume = 0.0
        c.operations += 1
        self.completed += 1
        self.next_phase(c)

    def end_work(self, c: Chain) -> None:
        c.worked += c.work_length
        c.done += c.work_length
        if c.phase >= 0:
            c.work_since += c.work_length
            c.any_work = c.any_work or c.work_length > 0.0
        self.next_phase(c)

    def next_phase(self, c: Chain) -> None:
        phases = list(c.application.phases)
        while True:
            c.phase += 1
            if c.phase == len(phases):
                c.status, c.end = "ended", self.now
                return
            kind, amount = phases[c.phase]
            if kind == "work":
                c.status, c.work_begin, c.work_length = "work", self.now, amount
                return
            if amount > 0.0:
                c.status, c.posted, c.rate = "io", self.now, 0.0
                c.volume = c.remaining = amount
                self.posted += 1
                return

    def result(self) -> NaiveResult:
        """000 eq. 6, 8, 9 and 10 at the present date."""
        yields, gained, worked = [], [], []
        for c, history in zip(self.chains, self.histories, strict=True):
            under_way = 0.0
            if c.status == "work":
                under_way = min(max(0.0, self.now - c.work_begin), c.work_length)
            c.worked += under_way
            c.done += under_way
            if c.status == "work":
                c.work_begin, c.work_length = self.now, c.work_length - under_way
            until = c.end if c.end is not None else self.now
            elapsed = until - c.application.release
            yields.append(c.progress / elapsed if elapsed > 0.0 else 1.0)
            gained.append(c.progress - history)
            worked.append(c.worked)
        nodes = [c.application.nodes for c in self.chains]
        total = sum(nodes) * (self.now - self.begin)
        ends = [c.end for c in self.chains]
        return NaiveResult(
            yields=yields,
            chains=self.chains,
            end=self.now,
            min_yield=min(yields),
            efficiency=sum(p * x for p, x in zip(nodes, gained, strict=True)) / total if total > 0.0 else 1.0,
            utilization=sum(p * x for p, x in zip(nodes, worked, strict=True)) / total if total > 0.0 else 1.0,
            makespan=None if None in ends else max(ends) - self.begin,
            operations_posted=self.posted,
            operations_completed=self.completed,
            ticks=self.ticks,
            trace=self.trace,
            doubtful=self.doubtful,
            edge=self.edge,
        )


def given_part(points: dict[str, float], count: int) -> float:
    """Linear between measured counts, all with one transfer, constant beyond the last."""
    known = [(1, 1.0), *((int(key), part) for key, part in points.items())]
    for (low, more), (high, less) in pairwise(known):
        if low <= count <= high:
            return more + (less - more) * (count - low) / (high - low)
    return known[-1][1]


def dedicated(workload: Workload) -> tuple[float, int, float]:
    """(volume moved, operations begun, end) if each application were alone on the platform (000 §3.2.2)."""
    begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
    end = workload.window[1] if workload.window else None
    runs = []
    for application in workload.applications:
        cap = application.cap(workload.platform)
        now = max(application.release, begin) + application.lead
        transfers = []
        for kind, amount in application.phases:
            if kind == "work":
                now += amount
            elif amount > 0.0:
                transfers.append((now, now + amount / cap, cap))
                now += amount / cap
        runs.append((transfers, now))
    if end is None:
        end = max(now for _, now in runs)
    volume, operations = 0.0, 0
    for transfers, _ in runs:
        for start, stop, cap in transfers:
            if start < end:
                operations += 1
                volume += (min(stop, end) - start) * cap
    return volume, operations, end
