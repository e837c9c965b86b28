"""A whole run in plain Python: look at everything at every event, find all rates anew from nothing but the state.

One link or several I/O resources, with or without a tier of burst buffers. An application has one strand on each store it
uses: on the link it counts bytes, on a resource seconds of the resource's time. A policy is asked about one store at a time.

Numbers are fractions, so that ties are ties; they are cut at 160 binary places when they are kept, and what is below 2^-110
is nothing. Only policies are shown floats. Times within `DATES_KNOWN_TO` of the date are the date.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from penstock.model import Application, Phases, Platform, Workload
from penstock.policies import REGISTRY
from penstock.policies.order import ServiceOrder
from tests.naive.policies import DEFAULTS, TWINS, Active, Scene, doubtful

Number = Any  # a Fraction, or the float inf
ZERO = Fraction(0)
COMPLETE = Fraction(1, 10**12)
"""An operation of which this part is left is complete."""
DATES_KNOWN_TO = Fraction(1, 10**14)
"""What happens within this part of the largest date so far happens at once."""
NEARLY = Fraction(1, 10**9)
"""Dates that are different, but by less than so many seconds, may change places by rounding."""
CONTINUOUS = ("best-effort", "fair-share")
"""Policies for which it does not matter which of two events at nearly one date comes first."""
MOST_DATES = 1500
"""A run without an end that goes on for longer is given up."""
GRAIN = 2**160
NOTHING = Fraction(1, 2**100)
"""Seconds or bytes; more than all that is cut off in a run."""
WRITE, READ = "write", "read"


def exact(value: float) -> Number:
    return value if math.isinf(value) else Fraction(value)


def cut(value: Number) -> Number:
    """The number as it is kept."""
    if isinstance(value, float):
        return value
    kept = Fraction(round(value * GRAIN), GRAIN)
    return kept if abs(kept) >= Fraction(1, 2**110) else ZERO


def max_min(wanted: list[Number], budget: Number) -> list[Number]:
    """Equal parts of the budget, but nobody more than wanted; what someone leaves goes to the others."""
    given: list[Number] = [ZERO] * len(wanted)
    open_ones = list(range(len(wanted)))
    left = budget
    while open_ones:
        part = left / len(open_ones)
        modest = [i for i in open_ones if wanted[i] <= part]
        if not modest:
            for i in open_ones:
                given[i] = part
            break
        for i in modest:
            given[i] = wanted[i]
            left = left - wanted[i]
            open_ones.remove(i)
    return given


def between_counts(points: dict[str, float], count: int) -> Fraction:
    """Linear between measured counts, constant beyond the last."""
    known = sorted((int(key), Fraction(value)) for key, value in points.items())
    for (low, first), (high, second) in pairwise(known):
        if low <= count <= high:
            return first + (second - first) * (count - low) / (high - low)
    return known[-1][1]


class Segment(NamedTuple):
    """A transfer in a store at one rate."""

    application: int
    begin: float
    end: float
    rate: float
    """Bytes/s."""
    store: int
    direction: str


class Content(NamedTuple):
    """What an application has in the buffer, bytes, and its rates from a date on, bytes/s."""

    q: float
    p: float
    x: float
    y: float
    inflow: float
    """Into the buffer, by writing and by prefetching."""


@dataclass(eq=False)
class Space:
    """A pool, or the share of one application."""

    capacity: Number
    level: Number
    """The output at which draining begins, bytes."""
    full: bool = False
    draining: bool = False
    members: list[Strand] = field(default_factory=list)
    peak: Fraction = ZERO
    nearly_full: Number = ZERO
    """What it lacks when it is filled at once, by the rates of the last step."""
    nearly_level: Number = ZERO

    @property
    def fill(self) -> Fraction:
        return sum(((s.q + s.p) * s.size for s in self.members), ZERO)

    @property
    def output(self) -> Fraction:
        return sum((s.q * s.size for s in self.members), ZERO)

    @property
    def rise(self) -> Fraction:
        """How fast it fills, bytes/s."""
        return sum((sum(s.growth) * s.size for s in self.members), ZERO)

    @property
    def output_rise(self) -> Fraction:
        return sum((s.growth[0] * s.size for s in self.members), ZERO)


@dataclass(eq=False)
class Strand:
    """The part of an application on one store."""

    member: Member
    store: int
    size: Fraction
    """Bytes of a unit."""
    space: Space | None = None
    left: Fraction = ZERO
    """Units of its part of the operation under way."""
    serving: Fraction = ZERO
    """Seconds of the operation under way in which data move for the application."""
    linked: Fraction = ZERO
    """Seconds with something to or from the I/O system."""
    q: Fraction = ZERO
    p: Fraction = ZERO
    unfetched: list[list[Any]] = field(default_factory=list)
    """[(time round, phase), units] of the reads still to fetch, in order."""
    x: Fraction = ZERO
    y: Fraction = ZERO
    inflow: Fraction = ZERO
    paused_later: set[str] = field(default_factory=set)
    """The directions in which it goes on to the end of its round."""
    write_volume: Fraction = ZERO
    write_posted: Fraction = ZERO
    read_posted: Fraction = ZERO
    direct_written: Fraction = ZERO
    drained: Fraction = ZERO
    direct_read: Fraction = ZERO
    prefetched: Fraction = ZERO

    @property
    def doing(self) -> str:
        """As the application, but `over` when its own part of an operation is."""
        does = self.member.doing
        return "over" if does in (WRITE, READ) and self.left == 0 else does

    @property
    def emission(self) -> Fraction:
        """How fast the application writes."""
        return self.x + self.inflow

    @property
    def consumption(self) -> Fraction:
        """How fast the application reads."""
        return self.member.speed[READ] if self.p > 0 else self.y

    @property
    def growth(self) -> tuple[Fraction, Fraction]:
        """How fast q and p grow."""
        if self.space is None:
            return ZERO, ZERO
        q = self.inflow if self.doing == WRITE else -self.x
        return q, self.y - (self.consumption if self.doing == READ else 0)

    def rate(self, direction: str) -> Fraction:
        return self.x if direction == WRITE else self.y


@dataclass(eq=False)
class Member:
    """One application on its way."""

    index: int
    application: Application
    phases: list[tuple[str, Fraction]]
    """Seconds of work, or units on each strand."""
    speed: dict[str, Fraction]
    """How fast it moves a unit of each strand when nothing is in its way."""
    cap: dict[str, Fraction]
    """How fast a store moves a unit for it at most."""
    start: Fraction
    history: Fraction
    bandwidth: Fraction | None = None
    """Of its curve with its resources."""
    best: Fraction | None = None
    strands: list[Strand] = field(default_factory=list)
    doing: str = "held"
    time_round: int = 0
    phase: int = -1  # −1 is the lead
    work_begin: Fraction = ZERO
    work_length: Fraction = ZERO
    posted: Fraction = ZERO
    done: Fraction = ZERO
    """Progress since its release without what is under way."""
    whole: Fraction = ZERO
    worked: Fraction = ZERO
    moved: dict[str, Fraction] = field(default_factory=lambda: {READ: ZERO, WRITE: ZERO})
    """Units of each strand in completed operations."""
    asked_for: Fraction = ZERO
    """Units of each strand in posted operations."""
    io_seconds: Fraction = ZERO
    transferring: Fraction = ZERO
    operations: int = 0
    end: Fraction | None = None
    first_end: Fraction | None = None
    work_since: Fraction = ZERO
    any_work: bool = False
    iterations: list[Fraction] = field(default_factory=list)

    @property
    def release(self) -> Fraction:
        return Fraction(self.application.release)

    @property
    def in_operation(self) -> bool:
        return self.doing in (WRITE, READ)

    @property
    def amount(self) -> Fraction:
        """Of the phase it is in."""
        return self.phases[self.phase][1]

    def alone(self, kind: str, amount: Fraction) -> Fraction:
        """Dedicated seconds of a phase."""
        return amount if kind == "work" else amount / self.speed[kind]

    @property
    def chain_alone(self) -> Fraction:
        return sum((self.alone(kind, amount) for kind, amount in self.phases), ZERO)

    @property
    def moved_now(self) -> Fraction:
        """Units of the operation under way, the mean of the strands."""
        if not self.in_operation:
            return ZERO
        return sum((self.amount - s.left for s in self.strands), ZERO) / len(self.strands)

    def work_under_way(self, now: Fraction) -> Fraction:
        return min(max(ZERO, now - self.work_begin), self.work_length) if self.doing == "work" else ZERO

    def progress(self, now: Fraction) -> Fraction:
        if self.in_operation:
            return self.done + self.moved_now / self.speed[self.doing]
        return self.done + self.work_under_way(now)

    def seconds_here(self, begin: Fraction, now: Fraction) -> float:
        """From its start to its end, within the run."""
        return float(max(ZERO, (now if self.end is None else self.end) - max(self.release, begin)))

    @property
    def omega(self) -> Fraction:
        """Mean of the completed iterations, with those before the chain."""
        number, seconds = self.application.past or (0, 0.0)
        ended = number + len(self.iterations)
        return (number * exact(seconds) + sum(self.iterations, ZERO)) / ended if ended else ZERO

    @property
    def does_io(self) -> bool:
        return any(kind != "work" and amount > 0 for kind, amount in self.phases)


Flow = tuple[Strand, str]
"""A transfer in a store: who, and in which direction."""


@dataclass
class NaiveApplication:
    """What an application did, in seconds and bytes."""

    end: float | None
    first_end: float | None
    """With repetition: when it came to the end of its chain for the first time."""
    progress: float
    yield_: float
    worked: float
    transferred: float
    written: float
    read: float
    posted: float
    """Bytes of all operations that it began."""
    remaining: float
    """Bytes of the one under way that are not moved yet."""
    io_seconds: float
    waiting: float
    transferring: float
    operations: int
    earliest: float
    """C_min: its end if nothing slowed it down."""
    allocation_slowdown: float | None
    congestion_slowdown: float | None
    slowdown: float | None
    direct_written: float
    drained: float
    direct_read: float
    prefetched: float
    q: float
    p: float


@dataclass
class NaiveResult:
    """What came of a run."""

    begin: float
    end: float
    duration: float
    applications: list[NaiveApplication]
    yields: list[float]
    min_yield: float
    efficiency: float
    utilization: float
    makespan: float | None
    valid: bool
    """Every application that does I/O has completed an operation."""
    occupancy: list[float]
    """Of each store: the part of the time with a transfer at some rate."""
    idle_time: float
    peaks: list[float]
    """The most bytes in each space."""
    posted: int
    completed: int
    ticks: int
    trace: list[Segment]
    history: list[tuple[float, list[Content]]]
    doubtful: bool
    """A rounding error decides somewhere."""
    edge: bool
    """Something else happens within 1e-9 s of the end: on either side of it."""
    endless: bool
    """It was given up: somebody may never complete an operation."""

    @property
    def events(self) -> int:
        """Without a tier, all that is counted."""
        return self.posted + self.completed + self.ticks


class NaiveRun:
    """One run of one workload under one policy.

    `placement` has the resources of each application; without it there is one link. `pool` or `shares` are the burst buffers
    (or a pool of the size that the platform gives). An `interval`, with its `horizon`, takes the place of the window's end:
    "steady" ends at the horizon, when everybody has completed an operation, "first-end" at the first end of a chain.
    """

    def __init__(
        self,
        workload: Workload,
        policy: str | None,
        *,
        delta: float | None = None,
        rates: Callable[[Scene], dict[int, float]] | None = None,
        placement: Sequence[Sequence[int]] | None = None,
        pool: float | None = None,
        shares: Sequence[float] | None = None,
        threshold: float = 0.0,
        capped: bool = False,
        repeat: bool = False,
        to_the_end: bool = False,
        horizon: float | None = None,
        interval: str | None = None,
    ) -> None:
        platform = workload.platform
        self.workload, self.policy, self.repeat = workload, policy or "best-effort", repeat
        self.rates_function = rates or TWINS[self.policy]
        self.delta = exact(delta) if delta else None
        self.capped = capped
        self.begin = exact(workload.window[0] if workload.window else min(a.release for a in workload.applications))
        self.interval = interval or ("steady" if horizon is not None else None)
        self.horizon = exact(horizon) if horizon is not None else math.inf
        ends = workload.window is not None and not to_the_end and self.interval is None
        self.limit: Number = exact(workload.window[1]) if ends and workload.window else math.inf
        assert not repeat or self.interval or self.limit < math.inf, "it would go on for ever"
        self.window_end = math.inf if repeat else float(self.limit)

        total = exact(platform.bandwidth)
        limits = {"total": total, WRITE: exact(platform.write_limit), READ: exact(platform.read_limit)}
        if placement is not None:
            limits = {key: value / total for key, value in limits.items()}
        self.limits = limits
        self.stores = range(1 if placement is None else platform.resources or 0)
        given = platform.degradation
        self.degradation = None
        if given is not None:
            points = {"1": 1.0, **given.document()}
            self.degradation = [between_counts(points, k) for k in range(1, 99)]

        if pool is None and shares is None and platform.buffer is not None:
            pool = platform.buffer.size
        self.tier = pool is not None or shares is not None
        own_limits = min(limits[WRITE], limits[READ]) < limits["total"]
        self.told_apart = (WRITE, READ) if self.tier or own_limits else ()
        """Directions whose limits hold by themselves."""
        sizes = list(shares) if shares is not None else [pool] if pool is not None else []
        part = exact(threshold)
        self.spaces = [Space(exact(size), part * exact(size) if threshold > 0 else ZERO) for size in sizes]
        bounded = platform.buffer is not None and platform.buffer.bandwidth is not None
        self.B_BB: Number = exact(platform.buffer.bandwidth) if bounded else math.inf  # type: ignore[union-attr]

        self.members = [self.member(i, a, placement) for i, a in enumerate(workload.applications)]
        for member in self.members:
            for strand in member.strands:
                if self.tier:
                    strand.space = self.spaces[member.index if shares is not None else 0]
                    strand.space.members.append(strand)
        self.strands = [strand for member in self.members for strand in member.strands]
        self.plan(placement)

        self.now = self.begin
        self.slack = ZERO
        self.rates_then: dict[Strand, tuple[str, Fraction, Fraction]] = {}
        self.posted = self.completed = self.ticks = 0
        self.stale: set[int] = set(self.stores)
        self.touched: set[Strand] = set()
        self.held_back: list[Strand] = []
        self.busy = [ZERO for _ in self.stores]
        self.trace: list[Segment] = []
        self.history: list[tuple[float, list[Content]]] = []
        self.doubtful = self.edge = self.endless = False

    def member(self, index: int, application: Application, placement: Sequence[Sequence[int]] | None) -> Member:
        platform, names = self.workload.platform, {READ: "read_bandwidth", WRITE: "write_bandwidth"}
        cap, speed = {}, {}
        bandwidth = best = None
        size = Fraction(1)
        uses: Sequence[int] = (0,)
        if placement is None:
            own = {READ: exact(application.read_speed(platform)), WRITE: exact(application.write_speed(platform))}
        else:
            uses = placement[index]
            curve = application.curve.document()  # type: ignore[union-attr]
            bandwidth = between_counts(curve, len(uses))
            best = max(between_counts(curve, n) for n in range(1, len(self.stores) + 1))
            size = bandwidth / len(uses)
            told = {d: getattr(application, name) or application.bandwidth for d, name in names.items()}
            own = {d: exact(rate) / bandwidth if rate and self.tier else Fraction(1) for d, rate in told.items()}
        for direction in (READ, WRITE):
            cap[direction] = min(own[direction], self.limits[direction], self.limits["total"])
            speed[direction] = own[direction] if self.tier and not self.capped else cap[direction]
        phases = []
        for kind, given in application.phases:
            amount = cut(exact(given) if kind == "work" or bandwidth is None else exact(given) / bandwidth)
            phases.append((WRITE if kind == "io" else kind, amount))
        start = max(exact(application.release), self.begin)
        history = start - exact(application.release)
        if application.progress is not None:
            history = exact(application.progress)
        member = Member(index, application, phases, speed, cap, start, history, bandwidth, best)
        member.done = history
        member.whole = history + exact(application.lead) + member.chain_alone
        for store in uses:
            strand = Strand(member, store, size)
            reads = [(i, amount) for i, (kind, amount) in enumerate(phases) if kind == READ and amount > 0]
            strand.unfetched = [[(0, i), amount] for i, amount in reads] if self.tier else []
            strand.read_posted = start
            member.strands.append(strand)
        return member

    def plan(self, placement: Sequence[Sequence[int]] | None) -> None:
        """The order that the policy plans; plans have twins of their own where they are made."""
        workload = self.workload
        if placement is not None:
            applications = []
            for m in self.members:
                b, couple = float(m.bandwidth or 1), m.application.nominal
                chain = [(k, v if k == "work" else v / b) for k, v in m.application.phases]
                couple = couple and (couple[0], couple[1] / b)
                applications.append(replace(m.application, phases=Phases.of(chain), bandwidth=None, nominal=couple))
            workload = Workload(Platform(1.0), tuple(applications), workload.window)
        plan = REGISTRY[self.policy].plan(workload) if self.policy in REGISTRY else ServiceOrder()
        self.ranks = [0.0] * len(self.members) if plan.rank is None else plan.rank.tolist()
        self.turns: list[list[int]] = []
        if plan.turns is not None:
            lengths = [len(application.phases) for application in workload.applications]
            cuts = [sum(lengths[:index]) for index in range(len(lengths) + 1)]
            of_phases = [plan.turns.tolist()[begin:end] for begin, end in pairwise(cuts)]
            self.turns = [[turn for turn in turns if turn >= 0] for turns in of_phases]

    # Time.

    def run(self) -> NaiveResult:
        dates = 0
        for space in self.spaces:
            space.full = space.capacity == 0
            space.draining = space.level == 0
        self.events()
        self.stale = set(self.stores)
        while not self.over():
            if self.stale:
                self.set_rates()
            self.remember()
            waits = self.waits()
            wait = min(seconds for _, seconds in waits)
            dates += 1
            assert wait < math.inf, "nobody has bandwidth, and nothing else will happen"
            if dates > (MOST_DATES if self.repeat else 20 * MOST_DATES):
                self.endless = True
                break
            self.look_around(waits, wait)
            self.step(wait)
        for strand in self.strands:
            strand.x = strand.y = strand.inflow = ZERO
        self.remember()
        return self.result()

    def over(self) -> bool:
        if self.interval == "first-end":
            return any(m.first_end is not None for m in self.members)
        if self.interval == "steady":
            return self.now >= self.begin + self.horizon and self.valid
        if self.limit < math.inf:
            return self.now >= self.limit
        return all(m.doing == "ended" for m in self.members) and all(s.q == 0 for s in self.strands)

    @property
    def valid(self) -> bool:
        return all(m.operations > 0 for m in self.members if m.does_io)

    @property
    def next_tick(self) -> Number:
        return math.inf if self.delta is None else self.begin + (self.ticks + 1) * self.delta

    @property
    def last_date(self) -> Number:
        """Where the run stops, or may."""
        if self.interval == "steady" and self.now < self.begin + self.horizon:
            return self.begin + self.horizon
        return self.limit

    def waits(self) -> list[tuple[Any, Number]]:
        """Seconds to anything that changes a rate or a measure, and whose it is."""
        waits: list[tuple[Any, Number]] = [("tick", self.next_tick - self.now), ("last", self.last_date - self.now)]
        for m in self.members:
            if m.doing == "held":
                waits.append((m.index, m.start - self.now))
            if m.doing == "work":
                waits.append((m.index, m.work_begin + m.work_length - self.now))
            waits += [(m.index, seconds) for s in m.strands for seconds in self.waits_of(s)]
        for number, space in enumerate(self.spaces):
            if not space.full and space.rise > 0:
                waits.append((("space", number), (space.capacity - space.fill) / space.rise))
            if not space.draining and space.output_rise > 0:
                waits.append((("space", number), (space.level - space.output) / space.output_rise))
        return [(whose, max(seconds, ZERO)) for whose, seconds in waits]

    def waits_of(self, s: Strand) -> list[Number]:
        waits = []
        faster = s.member.speed[READ] - s.y
        if s.doing == WRITE and s.emission > 0:
            waits.append(s.left / s.emission)
        if s.doing != WRITE and s.x > 0:
            waits.append(s.q / s.x)
        if s.doing == READ and s.consumption > 0:
            waits.append(s.left / s.consumption)
        if s.doing == READ and s.p > 0 and faster > 0:
            waits.append(s.p / faster)
        if self.tier and s.y > 0:
            waits.append(s.unfetched[0][1] / s.y)
        waits += [self.left_of_round((s, direction)) / s.rate(direction) for direction in s.paused_later]
        return waits

    def look_around(self, waits: list[tuple[Any, Number]], wait: Number) -> None:
        """Whether the order of what comes next is a matter of rounding, and whether the end of the run is."""
        known_to = DATES_KNOWN_TO * (abs(self.now + wait) + abs(self.begin)) / 4
        near = [(whose, seconds - wait) for whose, seconds in waits if seconds - wait <= NEARLY]
        if self.policy not in CONTINUOUS and any(after > known_to for whose, after in near if whose != "last"):
            self.doubtful = True
        last = self.last_date - self.now
        if self.interval is not None:
            self.edge = wait <= NEARLY or len({whose for whose, _ in near}) > 1
        elif last < math.inf and any(abs(seconds - last) <= NEARLY for whose, seconds in waits if whose != "last"):
            self.edge = True

    def step(self, wait: Fraction) -> None:
        """On by so many seconds, and all that happens then."""
        self.move(wait)
        at_limit = self.now >= self.limit
        self.slack = NOTHING if at_limit else NOTHING + DATES_KNOWN_TO * (abs(self.now) + abs(self.begin))
        self.settle()
        for s in self.strands:
            if any(not self.inside_a_round((s, direction)) for direction in s.paused_later):
                self.stale.add(s.store)
        if self.next_tick <= self.now + self.slack:
            self.ticks += 1
            self.stale.update(store for store in self.stores if self.tier or self.flows(store))
            for space in self.spaces:
                space.full = space.fill >= space.capacity - space.nearly_full
        self.events()

    def move(self, seconds: Fraction) -> None:
        before, self.now = self.now, cut(self.now + seconds)
        for store in self.stores:
            flows = self.flows(store)
            if any(s.rate(direction) > 0 for s, direction in flows):
                self.busy[store] += seconds
            for s, direction in flows if float(before) < float(self.now) else []:
                rate = float(s.rate(direction) * s.size)
                self.trace.append(Segment(s.member.index, float(before), float(self.now), rate, store, direction))
        # What they are doing, and how fast, until now.
        moves = [(s, s.doing, s.growth, s.emission, s.consumption) for s in self.strands]
        for space in self.spaces:
            space.nearly_full, space.nearly_level = max(ZERO, space.rise), max(ZERO, space.output_rise)
        for s, doing, (grown_q, grown_p), emission, consumption in moves:
            if s.x > 0 or s.y > 0:
                s.linked = cut(s.linked + seconds)
            if doing == WRITE:
                s.left = cut(s.left - emission * seconds)
                s.direct_written = cut(s.direct_written + s.x * seconds)
            else:
                s.drained = cut(s.drained + s.x * seconds)
            if doing == READ:
                s.left = cut(s.left - consumption * seconds)
                s.direct_read = cut(s.direct_read + s.y * seconds)
            else:
                s.prefetched = cut(s.prefetched + s.y * seconds)
            if (doing == WRITE and emission > 0) or (doing == READ and consumption > 0):
                s.serving = cut(s.serving + seconds)
            if self.tier and s.y > 0:
                s.unfetched[0][1] = cut(s.unfetched[0][1] - s.y * seconds)
            s.q, s.p = cut(s.q + grown_q * seconds), cut(s.p + grown_p * seconds)
        self.rates_then = {s: (doing, emission, consumption) for s, doing, _, emission, consumption in moves}
        for space in self.spaces:
            space.peak = max(space.peak, space.fill)

    def settle(self) -> None:
        """What is over but for a rounding error is over."""
        for space in self.spaces:
            space.nearly_full = space.nearly_full * self.slack + NOTHING
            space.nearly_level = space.nearly_level * self.slack + NOTHING
        for s in self.strands:
            doing, emission, consumption = self.rates_then[s]
            if doing == READ and consumption > s.y:
                self.settle_prefetched(s)
            if self.tier and s.unfetched and s.unfetched[0][1] > 0:
                self.settle_fetching(s, doing)
            if doing in (WRITE, READ) and s.left > 0:
                self.settle_operation(s, doing, emission if doing == WRITE else consumption)
            if doing != WRITE and s.x > 0:
                self.settle_draining(s)
            little = any(0 < content <= NEARLY * volume for content, volume in ((s.q, s.write_volume), (s.p, 1)))
            self.doubtful = self.doubtful or (little and self.policy not in CONTINUOUS)

    def settle_prefetched(self, s: Strand) -> None:
        """Prefetched data that are used up in a read."""
        if s.p <= (s.member.speed[READ] - s.y) * self.slack:
            s.left -= min(s.left, s.p)
            s.p = ZERO
            self.touch(s)

    def settle_fetching(self, s: Strand, doing: str) -> None:
        """The last data of a read that are fetched are at the application, or in the buffer."""
        (_, phase), rest = s.unfetched[0]
        whole = s.member.phases[phase][1]
        self.doubt_about(rest, whole)
        if rest > max(COMPLETE * whole, s.y * self.slack):
            return
        s.unfetched[0][1] = ZERO
        if doing == READ:
            s.direct_read += rest
        else:
            s.prefetched += rest
        if doing == READ and s.p == 0:
            s.left -= min(s.left, rest)
        else:
            s.p += rest

    def settle_operation(self, s: Strand, doing: str, rate: Fraction) -> None:
        """The last of an operation."""
        self.doubt_about(s.left, s.member.amount)
        if s.left > max(COMPLETE * s.member.amount, rate * self.slack):
            return
        if doing == WRITE:
            s.direct_written += s.left
        elif not self.tier:
            s.direct_read += s.left
        else:
            s.p = max(ZERO, s.p - s.left)
        s.left = ZERO

    def settle_draining(self, s: Strand) -> None:
        """The last output that is drained."""
        if s.q > 0:
            self.doubt_about(s.q, s.write_volume)
        if s.q <= max(COMPLETE * s.write_volume, s.x * self.slack):
            s.drained += s.q
            s.q = ZERO
            self.touch(s)
            if s.space is not None and s.space.level > 0 and s.space.output == 0:
                s.space.draining = False

    def doubt_about(self, rest: Fraction, volume: Fraction) -> None:
        """Whether so little is left that rounding decides if it is anything."""
        if COMPLETE / 10 <= rest / volume <= COMPLETE * 10:
            self.doubtful = True

    # Events.

    def touch(self, s: Strand) -> None:
        """Something happened to the strand: its store is asked."""
        self.touched.add(s)
        self.stale.add(s.store)

    def events(self) -> None:
        """Everything that happens now."""
        date = self.now + self.slack
        for m in self.members:
            if m.doing == "held" and m.start <= date:
                m.doing, m.work_begin, m.work_length = "work", m.start, exact(m.application.lead)
                for s in m.strands:
                    if s.space is not None and s.unfetched and s.space.capacity > 0:
                        self.stale.add(s.store)
        for m in self.members:
            for s in m.strands:
                self.fetched(s)
                if m.in_operation and s.left == 0:
                    self.part_over(s)
            while True:
                if m.doing == "work" and m.work_begin + m.work_length <= date:
                    self.end_work(m)
                elif m.in_operation and all(s.left == 0 for s in m.strands):
                    self.end_operation(m)
                else:
                    break
        for space in self.spaces:
            self.see(space)
        self.touched.clear()

    def see(self, space: Space) -> None:
        """Whether the output reaches the level, and whether there is room."""
        lacks, room = space.level - space.output, space.capacity - space.fill
        if not space.draining and space.nearly_level < lacks < math.inf and lacks <= NEARLY * space.level:
            self.doubtful = True
        if self.policy not in CONTINUOUS and space.nearly_full < room < math.inf and room <= NEARLY * space.capacity:
            self.doubtful = True
        if not space.draining and lacks <= space.nearly_level:
            space.draining = True
            for s in space.members:
                if s.q > 0:
                    self.touch(s)
        if any(s in self.touched for s in space.members):
            space.full = room <= space.nearly_full
        elif not space.full and room <= space.nearly_full:
            space.full = True
            self.stale.update(self.stores)

    def fetched(self, s: Strand) -> None:
        """All data of a read are fetched: the next one is another operation, which has not had the store."""
        if s.unfetched and s.unfetched[0][1] == 0:
            (time_round, phase), _ = s.unfetched.pop(0)
            if self.repeat:
                s.unfetched.append([(time_round + 1, phase), s.member.phases[phase][1]])
            s.read_posted, s.y = self.now, ZERO
            self.touch(s)

    def part_over(self, s: Strand) -> None:
        """The strand has no more of the operation, for now or for the first time."""
        if self.rates_then[s][0] in (WRITE, READ):
            self.touch(s)
            if not self.tier:
                s.x = s.y = ZERO

    def end_operation(self, m: Member) -> None:
        kind, amount = m.phases[m.phase]
        alone = m.alone(kind, amount)
        m.done += alone
        m.moved[kind] += amount
        m.io_seconds += self.now - m.posted
        m.transferring += sum((s.serving for s in m.strands), ZERO) / len(m.strands)
        if m.any_work:
            m.iterations.append(m.work_since + alone)
        m.work_since = ZERO
        m.operations += 1
        self.completed += 1
        for s in m.strands:
            s.serving = ZERO
            self.touched.add(s)
            if self.tier:
                self.touch(s)
        self.next_phase(m)

    def end_work(self, m: Member) -> None:
        m.worked += m.work_length
        m.done += m.work_length
        if m.phase >= 0:
            m.work_since += m.work_length
            m.any_work = m.any_work or m.work_length > 0
        self.next_phase(m)

    def next_phase(self, m: Member) -> None:
        while True:
            m.phase += 1
            if m.phase == len(m.phases):
                m.first_end = self.now if m.first_end is None else m.first_end
                if not self.repeat:
                    m.doing, m.end = "ended", self.now
                    for s in m.strands:
                        if s.q > 0:
                            self.touch(s)
                    return
                m.phase = 0
                m.time_round += 1
                m.whole += m.chain_alone
            kind, amount = m.phases[m.phase]
            if kind == "work":
                m.doing, m.work_begin, m.work_length = "work", self.now, amount
                return
            if amount > 0:
                m.doing, m.posted = kind, self.now
                m.asked_for += amount
                self.posted += 1
                for s in m.strands:
                    self.post(s, kind, amount)
                return

    def post(self, s: Strand, kind: str, amount: Fraction) -> None:
        s.left, s.serving = amount, ZERO
        if kind == WRITE:
            s.write_posted, s.write_volume = self.now, s.q + amount
            if s.q == 0:
                s.x = ZERO  # it is another operation that had the store
        if not self.tier:
            s.y, s.read_posted = ZERO, self.now
        elif kind == READ and s.unfetched and s.unfetched[0] == [(s.member.time_round, s.member.phase), amount]:
            s.read_posted = self.now
        self.touch(s)

    # Transfers in a store.

    def write_active(self, s: Strand) -> bool:
        if s.doing == WRITE:
            return True
        return s.space is not None and s.q > 0 and (s.space.draining or s.doing == "ended")

    def read_active(self, s: Strand) -> bool:
        if s.space is None:
            return s.doing == READ
        if not s.unfetched or s.doing in ("held", "ended"):
            return False
        if s.doing == READ:
            return True
        if s.space.capacity == 0:
            return False
        return not s.space.full or any(self.frees_room(other) for other in s.space.members)

    def frees_room(self, s: Strand) -> bool:
        return (s.doing != WRITE and self.write_active(s)) or (s.doing == READ and s.p > 0)

    def flows(self, store: int) -> list[Flow]:
        """The active transfers of the store, in the order of the applications."""
        flows = []
        for s in self.strands:
            if s.store == store:
                flows += [(s, READ)] if self.read_active(s) else []
                flows += [(s, WRITE)] if self.write_active(s) else []
        return flows

    def remaining(self, flow: Flow) -> Fraction:
        s, direction = flow
        if not self.tier:
            return s.left
        if direction == READ:
            return s.unfetched[0][1]
        return s.q + (s.left if s.doing == WRITE else ZERO)

    def volume(self, flow: Flow) -> Fraction:
        s, direction = flow
        if not self.tier:
            return s.member.amount
        return s.write_volume if direction == WRITE else s.member.phases[s.unfetched[0][0][1]][1]

    # Rounds.

    def in_its_operation(self, flow: Flow) -> bool:
        """Whether the transfer is of the operation that the application is in."""
        s, direction = flow
        if s.doing != direction:
            return False
        if self.tier and direction == READ:
            return s.unfetched[0][0] == (s.member.time_round, s.member.phase)
        return True

    def rounds_done(self, flow: Flow) -> Fraction:
        return (1 - self.remaining(flow) / self.volume(flow)) * (flow[0].member.application.rounds or 0)

    def inside_a_round(self, flow: Flow) -> bool:
        if flow[0].member.application.rounds is None or not self.in_its_operation(flow):
            return False
        done = self.rounds_done(flow)
        away = abs(done - round(done))
        if NEARLY / 2 <= away <= 2 * NEARLY:
            self.doubtful = True
        return away > NEARLY

    def left_of_round(self, flow: Flow) -> Fraction:
        """Units to the end of the present round."""
        done = self.rounds_done(flow)
        ahead = math.ceil(done - NEARLY) - done
        return max(ZERO, ahead) * self.volume(flow) / flow[0].member.application.rounds

    # Rates.

    def set_rates(self) -> None:
        """Ask about the stores where something happened, and with a tier about all, as they share its room."""
        stores = list(self.stores) if self.tier else sorted(self.stale)
        self.stale = set()
        before: dict[Flow, Fraction] = {}
        for s in self.strands:
            if s.store in stores:
                before[s, WRITE], before[s, READ] = s.x, ZERO if s in self.held_back else s.y
                s.x = s.y = s.inflow = ZERO
                s.paused_later = set()
        for store in stores:
            self.share(store, [], before)
        if not self.tier:
            return
        held_back = more = self.divide_room()
        asked = 1
        while more and (asked < 2 or any(self.blocked(store, held_back) for store in stores)):
            for store in stores:
                self.share(store, held_back, before)
            more = [s for s in self.divide_room() if s not in held_back]
            held_back = held_back + more
            asked += 1
        self.held_back = held_back

    def blocked(self, store: int, held_back: list[Strand]) -> bool:
        """Whether nothing moves on the store although not all who could use it are held back."""
        flows = self.flows(store)
        moving = any((s.x if direction == WRITE else s.y) > 0 for s, direction in flows)
        return not moving and any(direction == WRITE or s not in held_back for s, direction in flows)

    def share(self, store: int, held_back: list[Strand], before: dict[Flow, Fraction]) -> None:
        """Divide a store between all, or each direction's limit in it; prefetches that are held back keep what they have."""
        back = [s for s in held_back if s.store == store]
        taken = sum((s.y for s in back), ZERO)
        flows = [(s, direction) for s, direction in self.flows(store) if direction == WRITE or s not in back]
        writers, readers = ([flow for flow in flows if flow[1] == direction] for direction in (WRITE, READ))
        total = self.limits["total"] - taken
        write, read = min(self.limits[WRITE], total), self.limits[READ] - taken
        given: dict[Flow, Fraction] = {}

        def divide(flows: list[Flow], budget: Fraction) -> Fraction:
            given.update(self.ask(flows, budget, before))
            return sum((given[flow] for flow in flows), ZERO)

        def sum_of(flows: list[Flow]) -> Fraction:
            return sum((given[flow] for flow in flows), ZERO)

        if writers and readers and write + read > total:
            divide(flows, total)
            if self.above(sum_of(writers), write):
                written = divide(writers, write)
                divide(readers, min(read, total - written))
            elif self.above(sum_of(readers), read):
                got = divide(readers, read)
                divide(writers, min(write, total - got))
        else:
            written = divide(writers, write) if writers else ZERO
            if readers:
                divide(readers, min(read, total - written))
        given = self.carried(flows, given, before, {"total": total, WRITE: write, READ: read})
        given = self.degraded(given, back)
        for (s, direction), rate in given.items():
            if 0 < rate < self.limits["total"] / 10**12 and self.policy != "best-next-event":
                self.doubtful = True
            if direction == WRITE:
                s.x = cut(rate)
            else:
                s.y = cut(rate)

    def above(self, rates: Fraction, limit: Fraction) -> bool:
        allowed = limit * (1 + COMPLETE)
        if abs(rates - allowed) <= limit * COMPLETE / 10:
            self.doubtful = True
        return rates > allowed

    def ask(self, flows: list[Flow], budget: Fraction, before: dict[Flow, Fraction]) -> dict[Flow, Fraction]:
        """What the policy gives to these of so much."""
        if budget <= self.limits["total"] / 10**12:
            return dict.fromkeys(flows, ZERO)
        caps = {flow: min(flow[0].member.cap[flow[1]], budget) for flow in flows}
        if self.policy == "best-effort":
            return dict(zip(flows, max_min([caps[flow] for flow in flows], budget), strict=True))
        views = [self.view(flow, caps[flow], before[flow]) for flow in flows]
        scene = Scene(
            views,
            float(self.now),
            float(budget),
            self.window_end,
            DEFAULTS.get(self.policy, 0.0),
            completed=self.completed,
            degradation=[float(part) for part in self.degradation] if self.degradation else None,
        )
        self.doubtful = self.doubtful or doubtful(self.policy, scene) or self.doubtful_plan(scene)
        given = self.rates_function(scene)
        rates = {flow: given[view.index] for flow, view in zip(flows, views, strict=True)}
        if self.degradation and any(0.0 < rate < 1e-12 * float(budget) for rate in rates.values()):
            self.doubtful = True  # how many move is a matter of rounding
        return {flow: caps[flow] if rate >= float(caps[flow]) else exact(rate) for flow, rate in rates.items()}

    def doubtful_plan(self, scene: Scene) -> bool:
        """Whether rounding decides on plans that are equally good: with numbers that are not round it may.

        The twin of the policy knows round numbers by the bandwidth; three times all bytes are the same scene without.
        """
        numbers = [scene.now, scene.bandwidth]
        numbers += [n for a in scene.active for n in (a.remaining, a.cap, a.volume, a.posted)]
        if self.policy != "coordinating" or all(n * 2**20 == round(n * 2**20) for n in numbers):
            return False
        active = [replace(a, remaining=3.0 * a.remaining, cap=3.0 * a.cap, volume=3.0 * a.volume) for a in scene.active]
        return doubtful(self.policy, replace(scene, active=active, bandwidth=3.0 * scene.bandwidth))

    def view(self, flow: Flow, cap: Fraction, rate: Fraction) -> Active:
        s, direction = flow
        m = s.member
        if self.tier:
            transferring = sum((strand.linked for strand in m.strands), ZERO) / len(m.strands)
            posted = s.write_posted if direction == WRITE else s.read_posted
        else:
            transferring, posted = m.transferring + s.serving, m.posted
        return Active(
            index=2 * m.index + (direction == WRITE) if self.tier else m.index,
            remaining=float(self.remaining(flow)),
            cap=float(cap),
            posted=float(posted),
            progress=float(m.progress(self.now)),
            release=m.application.release,
            nodes=m.application.nodes,
            omega=float(m.omega),
            volume=float(self.volume(flow)),
            rate=float(rate),
            transferring=float(transferring),
            whole=float(m.whole),
            rank=self.ranks[m.index],
            turn=self.turns[m.index][m.operations] if self.turns else -1,
            rounds=float(m.application.rounds or 0) if self.in_its_operation(flow) else 0.0,
            weight=1.0 if m.application.weight is None else m.application.weight,
            user=self.owner("user", m.index),
            group=self.owner("group", m.index),
        )

    def owner(self, which: str, index: int) -> int:
        """The first application of the same user or group; one that names none is by itself."""
        owners = [getattr(one, which) for one in self.workload.applications]
        return index if owners[index] is None else owners.index(owners[index])

    def carried(
        self, flows: list[Flow], given: dict[Flow, Fraction], before: dict[Flow, Fraction], limits: dict[str, Fraction]
    ) -> dict[Flow, Fraction]:
        """What moves of what the policy gives: nobody is paused inside a round.

        Such a transfer goes on as it was; nobody new begins; the others have what is left at most, of their direction where
        directions are told apart, and of the store.
        """
        staying = [flow for flow in flows if before[flow] > 0 and given[flow] == 0 and self.inside_a_round(flow)]
        for s, direction in flows:
            s.paused_later.discard(direction)
        for s, direction in staying:
            s.paused_later.add(direction)
        if not staying:
            return given
        others = [flow for flow in flows if flow not in staying and before[flow] > 0 and given[flow] > 0]
        rates = dict.fromkeys(flows, ZERO) | {flow: before[flow] for flow in staying}
        rates |= {flow: given[flow] for flow in others}
        for which in (*self.told_apart, "total"):
            left = limits[which] - sum((before[flow] for flow in staying if which in (flow[1], "total")), ZERO)
            lowered = [flow for flow in others if which in (flow[1], "total")]
            wanted = sum((rates[flow] for flow in lowered), ZERO)
            if wanted > left:
                rates |= {flow: rates[flow] * max(ZERO, left) / wanted for flow in lowered}
        return rates

    def degraded(self, given: dict[Flow, Fraction], back: list[Strand]) -> dict[Flow, Fraction]:
        """k transfers have d(k) of the store at most; prefetches that are held back keep what they have."""
        moving = sum(rate > 0 for rate in given.values()) + sum(s.y > 0 for s in back)
        wanted = sum(given.values(), ZERO)
        if self.degradation is None or wanted == 0:
            return given
        allowed = self.degradation[moving - 1] * self.limits["total"] - sum((s.y for s in back), ZERO)
        part = min(Fraction(1), max(ZERO, allowed) / wanted)
        return {flow: part * rate for flow, rate in given.items()}

    # The room in the buffers.

    def divide_room(self) -> list[Strand]:
        """What writers send into the buffer; returns the prefetches that are held back, lowered to what they can have."""
        freed = {}
        for space in self.spaces:
            freed[space] = sum((s.x * s.size for s in space.members if s.doing != WRITE), ZERO)
            drawing = [s for s in space.members if s.doing == READ and s.p > 0]
            freed[space] += sum(((s.member.speed[READ] - s.y) * s.size for s in drawing), ZERO)
        sending = [s for s in self.strands if s.doing == WRITE]
        wanted = [(s.member.speed[WRITE] - s.x) * s.size for s in sending]
        for s, given in zip(sending, self.divide_inflow(sending, wanted, freed, self.B_BB), strict=True):
            s.inflow = cut(given / s.size)
        prefetching = [s for s in self.strands if s.doing != READ and s.y > 0]
        wanted = [s.y * s.size for s in prefetching]
        left = self.B_BB - sum((s.inflow * s.size for s in sending), ZERO)
        held_back = []
        for s, asked, given in zip(prefetching, wanted, self.divide_inflow(prefetching, wanted, freed, left), strict=True):
            s.y = cut(given / s.size) if given < asked else s.y
            if COMPLETE / 10 <= (asked - given) / asked <= COMPLETE * 10:
                self.doubtful = True
            if asked - given > COMPLETE * asked:
                held_back.append(s)
        return held_back

    def divide_inflow(
        self, strands: list[Strand], wanted: list[Fraction], freed: dict[Space, Fraction], bound: Number
    ) -> list[Fraction]:
        """Into full spaces no more than falls free, into all together no more than the bound; equally, in bytes/s."""
        given = list(wanted)
        for space in self.spaces:
            if space.full:
                places = [i for i, s in enumerate(strands) if s.space is space]
                parts = max_min([wanted[i] for i in places], max(ZERO, freed[space]))
                for i, part in zip(places, parts, strict=True):
                    given[i] = part
        if sum(given) > bound:
            given = max_min(given, max(ZERO, bound))
        for s, part in zip(strands, given, strict=True):
            freed[s.space] -= part  # type: ignore[index]
        return given

    # What came of it.

    def remember(self) -> None:
        rows = []
        for m in self.members:
            sums = [ZERO] * 5
            for s in m.strands:
                inflow = s.inflow if s.doing == WRITE else ZERO
                inflow += s.y if self.tier and s.doing != READ else ZERO
                for place, value in enumerate((s.q, s.p, s.x, s.y, inflow)):
                    sums[place] += value * s.size
            rows.append(Content(*map(float, sums)))
        self.history.append((float(self.now), rows))

    def result(self) -> NaiveResult:
        applications = [self.result_of(m) for m in self.members]
        ends = [m.end for m in self.members if m.end is not None]
        all_ended = len(ends) == len(self.members)
        until = max(ends) if all_ended and self.limit == math.inf else self.now
        nodes = [m.application.nodes for m in self.members]
        node_seconds = float(sum(nodes) * (until - self.begin))
        gained = sum(n * float(m.progress(self.now) - m.history) for n, m in zip(nodes, self.members, strict=True))
        worked = sum(n * a.worked for n, a in zip(nodes, applications, strict=True))
        duration = float(self.now - self.begin)
        machine = self.workload.platform.nodes or sum(nodes)
        held = sum(n * m.seconds_here(self.begin, self.now) for n, m in zip(nodes, self.members, strict=True))
        spent = sum(n * a.io_seconds for n, a in zip(nodes, applications, strict=True))
        if self.delta is not None and self.limit == math.inf and self.interval is None:
            # Whether a tick at the end belongs to the run is a matter of rounding.
            ticks = (self.now - self.begin) / self.delta
            self.edge = self.edge or abs(ticks - round(ticks)) * self.delta <= 1000 * NEARLY
        return NaiveResult(
            begin=float(self.begin),
            end=float(self.now),
            duration=duration,
            applications=applications,
            yields=[a.yield_ for a in applications],
            min_yield=min(a.yield_ for a in applications),
            efficiency=gained / node_seconds if node_seconds > 0.0 else 1.0,
            utilization=worked / node_seconds if node_seconds > 0.0 else 1.0,
            makespan=float(max(ends) - self.begin) if all_ended else None,
            valid=self.valid,
            occupancy=[float(busy) / duration if duration > 0.0 else 0.0 for busy in self.busy],
            idle_time=spent / max(held, duration * machine) if duration > 0.0 else 0.0,
            peaks=[float(space.peak) for space in self.spaces],
            posted=self.posted,
            completed=self.completed,
            ticks=self.ticks,
            trace=self.trace,
            history=self.history,
            doubtful=self.doubtful,
            edge=self.edge,
            endless=self.endless,
        )

    def result_of(self, m: Member) -> NaiveApplication:
        size, count = m.strands[0].size, len(m.strands)
        moved, spent, serving = dict(m.moved), m.io_seconds, m.transferring
        if m.in_operation:
            moved[m.doing] += m.moved_now
            spent += self.now - m.posted
            serving += sum((s.serving for s in m.strands), ZERO) / count
        units, alone = sum(moved.values()), sum(moved[d] / m.speed[d] for d in (READ, WRITE))
        progress, elapsed = m.progress(self.now), (self.now if m.end is None else m.end) - m.release
        allocation = congestion = None
        if m.bandwidth is not None and m.best is not None and spent > 0:
            allocation = float(m.best / m.bandwidth)
            congestion = max(0.0, allocation * float(spent / alone - 1)) if alone > 0 else math.inf

        def total(name: str) -> float:
            return float(sum((getattr(s, name) for s in m.strands), ZERO) * size)

        return NaiveApplication(
            end=None if m.end is None else float(m.end),
            first_end=None if m.first_end is None else float(m.first_end),
            progress=float(progress),
            yield_=float(progress / elapsed) if elapsed > 0 else 1.0,
            worked=float(m.worked + m.work_under_way(self.now)),
            transferred=float(units * size * count),
            written=float(moved[WRITE] * size * count),
            read=float(moved[READ] * size * count),
            posted=float(m.asked_for * size * count),
            remaining=float((m.asked_for - units) * size * count),
            io_seconds=float(spent),
            waiting=float(spent - serving),
            transferring=float(serving),
            operations=m.operations,
            earliest=float(m.start + exact(m.application.lead) + m.chain_alone),
            allocation_slowdown=allocation,
            congestion_slowdown=congestion,
            slowdown=None if allocation is None or congestion is None else allocation + congestion,
            direct_written=total("direct_written"),
            drained=total("drained"),
            direct_read=total("direct_read"),
            prefetched=total("prefetched"),
            q=total("q"),
            p=total("p"),
        )
