"""The replay beside a burst buffer in plain Python, in exact fractions: look at everything at every event.

From 004 §3 and §7 and the readings. For each application: q bytes written and waiting in the buffer, p bytes prefetched and
waiting there. At every event all rates are found anew, from nothing but the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from penstock.model import Application, Workload
from penstock.policies import REGISTRY
from tests.naive.policies import DEFAULTS, TWINS, Active, Scene, doubtful

Number = Any  # a Fraction, or the float inf


def exact(value: float) -> Number:
    return value if math.isinf(value) else Fraction(value)


def max_min(wanted: list[Number], budget: Number) -> list[Number]:
    """Equal parts of the budget, but nobody more than wanted; what someone leaves goes to the others."""
    given: list[Number] = [Fraction(0)] * len(wanted)
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


@dataclass(eq=False)
class App:
    index: int
    application: Application
    b_w: Number
    b_r: Number
    space: Space
    phases: list[tuple[str, Fraction]]
    release: Fraction
    doing: str = "held"
    phase: int = -1  # −1 is the lead
    left: Fraction = Fraction(0)  # seconds of work, or bytes
    q: Fraction = Fraction(0)
    p: Fraction = Fraction(0)
    unfetched: list[list[Any]] = field(default_factory=list)  # [phase, bytes] of the reads still to fetch, in order
    x: Fraction = Fraction(0)  # to the I/O system
    y: Fraction = Fraction(0)  # from the I/O system
    inflow: Fraction = Fraction(0)
    end: Fraction | None = None
    direct_written: Fraction = Fraction(0)
    drained: Fraction = Fraction(0)
    direct_read: Fraction = Fraction(0)
    prefetched: Fraction = Fraction(0)
    # What policies are shown.
    done: Fraction = Fraction(0)
    write_posted: Fraction = Fraction(0)
    write_volume: Fraction = Fraction(0)
    read_posted: Fraction = Fraction(0)
    transferring: Fraction = Fraction(0)
    work_since: Fraction = Fraction(0)
    any_work: bool = False
    iterations: list[Fraction] = field(default_factory=list)

    @property
    def emission(self) -> Fraction:
        """How fast it writes."""
        return self.x + self.inflow

    @property
    def consumption(self) -> Fraction:
        """How fast it reads."""
        return self.b_r if self.p > 0 else self.y

    @property
    def alone(self) -> Fraction:
        own = {"work": Fraction(1), "read": self.b_r}
        return exact(self.application.lead) + sum(amount / own.get(kind, self.b_w) for kind, amount in self.phases)

    @property
    def progress(self) -> Fraction:
        if self.doing in ("held", "ended"):
            return self.done
        amount = exact(self.application.lead) if self.phase < 0 else self.phases[self.phase][1]
        speed = {"work": Fraction(1), "read": self.b_r, "write": self.b_w}[self.doing]
        return self.done + (amount - self.left) / speed


@dataclass
class Space:
    capacity: Number
    level: Number
    full: bool = False
    draining: bool = False
    members: list[App] = field(default_factory=list)

    @property
    def fill(self) -> Fraction:
        return sum((a.q + a.p for a in self.members), Fraction(0))

    @property
    def output(self) -> Fraction:
        return sum((a.q for a in self.members), Fraction(0))


class NaiveReplay:
    def __init__(
        self,
        workload: Workload,
        *,
        shares: list[float] | None = None,
        pool: float | None = None,
        policy: str | None = None,
        threshold: float = 0.0,
        capped: bool = False,
        delta: float | None = None,
    ) -> None:
        platform = workload.platform
        self.policy = policy
        self.B = exact(platform.bandwidth)
        self.B_w, self.B_r = exact(platform.write_limit), exact(platform.read_limit)
        self.B_BB = math.inf
        if platform.buffer is not None and platform.buffer.bandwidth is not None:
            self.B_BB = exact(platform.buffer.bandwidth)
        sizes = [pool] if shares is None else shares
        self.spaces = [Space(exact(s), exact(threshold) * exact(s) if threshold > 0 else Fraction(0)) for s in sizes]
        self.apps = []
        for index, application in enumerate(workload.applications):
            b_w, b_r = exact(application.write_speed(platform)), exact(application.read_speed(platform))
            if capped:
                b_w, b_r = min(b_w, self.B_w), min(b_r, self.B_r)
            space = self.spaces[index if shares is not None else 0]
            phases = [("write" if kind == "io" else kind, exact(amount)) for kind, amount in application.phases]
            app = App(index, application, b_w, b_r, space, phases, exact(application.release))
            app.left = app.release
            app.unfetched = [[i, amount] for i, (kind, amount) in enumerate(phases) if kind == "read" and amount > 0]
            app.read_posted = app.release
            space.members.append(app)
            self.apps.append(app)
        self.now = self.origin = exact(workload.window[0]) if workload.window else min(app.release for app in self.apps)
        self.delta = None if delta is None else exact(delta)
        self.ticks = 0
        self.completed = 0
        self.doubtful = False
        self.ask = True
        self.touched: set[int] = set()
        self.held: list[App] = []  # prefetches for which there is not room enough
        self.history: list[tuple[float, list[tuple[float, float, float, float]]]] = []
        plan = REGISTRY[policy].plan(workload) if policy else None
        self.ranks = [0.0] * len(self.apps) if plan is None or plan.rank is None else plan.rank.tolist()

    # Time.

    def run(self) -> NaiveReplay:
        for s in self.spaces:
            s.full = s.capacity == 0
            s.draining = s.level == 0
        self.events()
        while True:
            if self.ask:
                self.set_rates()
            self.history.append((float(self.now), [tuple(map(float, (a.q, a.p, a.x, a.y))) for a in self.apps]))
            if all(a.doing == "ended" and a.q == 0 for a in self.apps):
                return self
            wait = min(self.waits())
            tick = math.inf if self.delta is None else self.origin + (self.ticks + 1) * self.delta - self.now
            assert min(wait, tick) < math.inf, "starved"
            self.ask = False
            self.move(min(wait, tick))
            if tick <= wait:
                self.ticks += 1
                self.ask = True
                for s in self.spaces:
                    s.full = s.fill >= s.capacity
            self.events()

    def waits(self) -> list[Number]:
        """Seconds to anything that changes a rate."""
        waits: list[Number] = [math.inf]
        for a in self.apps:
            if a.doing == "held":
                waits.append(a.release - self.now)
            if a.doing == "work":
                waits.append(a.left)
            if a.doing == "write" and a.emission > 0:
                waits.append(a.left / a.emission)
            if a.doing != "write" and a.x > 0:
                waits.append(a.q / a.x)
            if a.doing == "read" and a.consumption > 0:
                waits.append(a.left / a.consumption)
            if a.doing == "read" and a.p > 0 and a.b_r > a.y:
                waits.append(a.p / (a.b_r - a.y))
            if a.y > 0:
                waits.append(a.unfetched[0][1] / a.y)
        for s in self.spaces:
            rise = sum((self.growth(a)[0] + self.growth(a)[1] for a in s.members), Fraction(0))
            if not s.full and rise > 0:
                waits.append((s.capacity - s.fill) / rise)
            rise = sum((self.growth(a)[0] for a in s.members), Fraction(0))
            if not s.draining and rise > 0:
                waits.append((s.level - s.output) / rise)
        return waits

    def growth(self, a: App) -> tuple[Fraction, Fraction]:
        """How fast q and p grow."""
        q = a.inflow if a.doing == "write" else -a.x
        if a.doing == "read":
            return q, a.y - a.consumption
        return q, a.y

    def move(self, seconds: Fraction) -> None:
        self.now += seconds
        for a in self.apps:
            if a.x > 0 or a.y > 0:
                a.transferring += seconds
            grown_q, grown_p = self.growth(a)
            if a.doing == "work":
                a.left -= seconds
            if a.doing == "write":
                a.left -= a.emission * seconds
                a.direct_written += a.x * seconds
            else:
                a.drained += a.x * seconds
            if a.doing == "read":
                a.left -= a.consumption * seconds
                a.direct_read += a.y * seconds
            else:
                a.prefetched += a.y * seconds
            if a.y > 0:
                a.unfetched[0][1] -= a.y * seconds
            was_p = a.p
            a.q += grown_q * seconds
            a.p += grown_p * seconds
            if a.doing == "read" and was_p > 0 and a.p == 0:
                self.touch(a)
        for a in self.apps:
            if a.doing != "write" and a.x > 0 and a.q == 0:
                self.drained(a)

    # Events.

    def touch(self, a: App) -> None:
        """Something happened to the application: the policy is asked."""
        self.touched.add(a.index)
        self.ask = True

    def drained(self, a: App) -> None:
        self.touch(a)
        if a.space.level > 0 and a.space.output == 0:
            a.space.draining = False

    def events(self) -> None:
        for a in self.apps:
            if a.doing == "held" and a.release <= self.now:
                a.doing, a.left = "work", exact(a.application.lead)
                self.ask = self.ask or bool(a.unfetched and a.space.capacity > 0)
        for a in self.apps:
            self.fetched(a)
            while a.doing not in ("held", "ended") and a.left == 0:
                if a.doing == "work":
                    self.end_work(a)
                else:
                    self.end_operation(a)
        for s in self.spaces:
            self.see(s)
        self.touched.clear()

    def see(self, s: Space) -> None:
        """Whether the output reaches the level, and whether there is room."""
        if not s.draining and s.output >= s.level:
            s.draining = True
            for a in s.members:
                if a.q > 0:
                    self.touch(a)
        if any(a.index in self.touched for a in s.members):
            s.full = s.fill >= s.capacity
        elif not s.full and s.fill >= s.capacity:
            s.full = True
            self.ask = True

    def fetched(self, a: App) -> None:
        """All data of a read are fetched: the next one is another operation, which has not had the link."""
        if a.unfetched and a.unfetched[0][1] == 0:
            a.unfetched.pop(0)
            a.read_posted, a.y = self.now, Fraction(0)
            self.touch(a)

    def end_operation(self, a: App) -> None:
        amount = a.phases[a.phase][1]
        seconds = amount / (a.b_r if a.doing == "read" else a.b_w)
        a.done += seconds
        if a.any_work:
            a.iterations.append(a.work_since + seconds)
        a.work_since = Fraction(0)
        self.completed += 1
        self.touch(a)
        self.next_phase(a)

    def end_work(self, a: App) -> None:
        amount = exact(a.application.lead) if a.phase < 0 else a.phases[a.phase][1]
        a.done += amount
        if a.phase >= 0:
            a.work_since += amount
            a.any_work = a.any_work or amount > 0
        self.next_phase(a)

    def next_phase(self, a: App) -> None:
        while True:
            a.phase += 1
            if a.phase == len(a.phases):
                a.doing, a.end = "ended", self.now
                if a.q > 0:
                    self.touch(a)
                return
            kind, amount = a.phases[a.phase]
            if kind == "work" or amount > 0:
                a.doing, a.left = kind, amount
                if kind == "write":
                    a.write_posted, a.write_volume = self.now, a.q + amount
                    if a.q == 0:
                        a.x = Fraction(0)  # it is another operation that had the link
                if kind == "read" and a.unfetched and a.unfetched[0] == [a.phase, amount]:
                    a.read_posted = self.now
                if kind != "work":
                    self.touch(a)
                return

    # Rates.

    def set_rates(self) -> None:
        before = {(a.index, "w"): a.x for a in self.apps}
        before |= {(a.index, "r"): Fraction(0) if a in self.held else a.y for a in self.apps}
        for a in self.apps:
            a.x = a.y = a.inflow = Fraction(0)
        writers = [a for a in self.apps if self.write_active(a)]
        readers = [a for a in self.apps if self.read_active(a)]
        self.share(writers, readers, Fraction(0), before)
        self.held = self.divide_room(writers)
        if self.held:
            rest = [a for a in readers if a not in self.held]
            self.share(writers, rest, sum((a.y for a in self.held), Fraction(0)), before)
            self.held += self.divide_room(writers)

    def write_active(self, a: App) -> bool:
        return a.doing == "write" or (a.q > 0 and (a.space.draining or a.doing == "ended"))

    def read_active(self, a: App) -> bool:
        if not a.unfetched or a.doing in ("held", "ended"):
            return False
        if a.doing == "read":
            return True
        if a.space.capacity == 0:
            return False
        return not a.space.full or any(self.frees_room(b) for b in a.space.members)

    def frees_room(self, a: App) -> bool:
        return (a.doing != "write" and self.write_active(a)) or (a.doing == "read" and a.p > 0)

    def share(self, writers: list[App], readers: list[App], held: Fraction, before: dict) -> None:
        """Divide B between all, or each direction's limit in it, with what prefetches that are held back use taken off."""
        total = self.B - held
        write, read = min(self.B_w, total), self.B_r - held
        if writers and readers and write + read > total:
            self.divide(writers, readers, total, before)
            if sum(a.x for a in writers) > write * (1 + Fraction(1, 10**12)):
                self.divide(writers, [], write, before)
                self.divide([], readers, min(read, total - sum(a.x for a in writers)), before)
            elif sum(a.y for a in readers) > read * (1 + Fraction(1, 10**12)):
                self.divide([], readers, read, before)
                self.divide(writers, [], min(write, total - sum(a.y for a in readers)), before)
            return
        if writers:
            self.divide(writers, [], write, before)
        if readers:
            self.divide([], readers, min(read, total - sum(a.x for a in writers)), before)

    def divide(self, writers: list[App], readers: list[App], budget: Fraction, before: dict) -> None:
        flows = [(a, "w", min(a.b_w, self.B_w, budget)) for a in writers]
        flows += [(a, "r", min(a.b_r, self.B_r, budget)) for a in readers]
        if budget <= self.B / 10**12:
            rates = [Fraction(0)] * len(flows)
        elif self.policy is None:
            rates = max_min([cap for _, _, cap in flows], budget)
        else:
            rates = self.ask_policy(flows, budget, before)
        for (a, direction, _), rate in zip(flows, rates, strict=True):
            if direction == "w":
                a.x = rate
            else:
                a.y = rate

    def ask_policy(self, flows: list[tuple[App, str, Fraction]], budget: Fraction, before: dict) -> list[Fraction]:
        views = []
        for a, direction, cap in flows:
            writes = direction == "w"
            remaining = a.q + (a.left if a.doing == "write" else 0) if writes else a.unfetched[0][1]
            volume = a.write_volume if writes else a.phases[a.unfetched[0][0]][1]
            views.append(
                Active(
                    index=2 * a.index + writes,
                    remaining=float(remaining),
                    cap=float(cap),
                    posted=round(float(a.write_posted if writes else a.read_posted), 9),
                    progress=float(a.progress),
                    release=float(a.release),
                    nodes=a.application.nodes,
                    omega=float(sum(a.iterations) / len(a.iterations)) if a.iterations else 0.0,
                    volume=float(volume),
                    rate=float(before[a.index, direction]),
                    transferring=float(a.transferring),
                    whole=float(a.alone),
                    rank=self.ranks[a.index],
                )
            )
        name = str(self.policy)
        scene = Scene(views, float(self.now), float(budget), math.inf, DEFAULTS.get(name, 0.0), completed=self.completed)
        self.doubtful = self.doubtful or doubtful(name, scene)
        rates: Callable[[Scene], dict[int, float]] = TWINS[name]
        given = rates(scene)
        return [exact(given[view.index]) for view in views]

    def divide_room(self, writers: list[App]) -> list[App]:
        """What writers send into the buffer, and which prefetches are held back."""
        freed = {}
        for s in self.spaces:
            freed[id(s)] = sum((a.x for a in s.members if a.doing != "write"), Fraction(0))
            freed[id(s)] += sum((a.b_r - a.y for a in s.members if a.doing == "read" and a.p > 0), Fraction(0))
        sending = [a for a in writers if a.doing == "write"]
        self.divide_inflow(sending, [a.b_w - a.x for a in sending], "inflow", freed, self.B_BB)
        prefetching = [a for a in self.apps if a.doing != "read" and a.y > 0]
        asked = [a.y for a in prefetching]
        left = self.B_BB - sum(a.inflow for a in sending)
        self.divide_inflow(prefetching, asked, "y", freed, left)
        return [a for a, wanted in zip(prefetching, asked, strict=True) if a.y < wanted]

    def divide_inflow(self, apps: list[App], wanted: list[Fraction], name: str, freed: dict, bound: Number) -> None:
        """Into full spaces no more than falls free, into all together no more than the bound; equally."""
        for s in self.spaces:
            if s.full:
                places = [i for i, a in enumerate(apps) if a.space is s]
                for i, given in zip(places, max_min([wanted[i] for i in places], freed[id(s)]), strict=True):
                    wanted = [*wanted[:i], given, *wanted[i + 1 :]]
        if sum(wanted) > bound:
            wanted = max_min(wanted, bound)
        for a, given in zip(apps, wanted, strict=True):
            setattr(a, name, given)
            freed[id(a.space)] -= given
