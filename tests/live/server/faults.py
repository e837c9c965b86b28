"""The fault campaign: real processes that write real files while they, the coordinator, their connections and clocks fail.

    python -m tests.live.server.faults --seconds 600 --seed 3 [--every 1.5] [--tcp] [--policy fifo] [--json]

A coordinator with a short lease and a small B, and applications that each write a file in operations of V bytes through a
proxy of their own. Faults come at random and overlap; every kind comes once before chance alone decides. Checked are, all
along, that what is granted is never more than B, in the coordinator's state, in its journal and in a ledger that reads what
passes over the connections (`tests.live.server.ledger`); at every restart, that it
knows its applications and their progress; at the end, every byte, every wait, and that nothing stays granted.

**How long an application may wait** (have no rate above 0) in one operation. Without faults it waits for those before it,
(n − 1)·V/B seconds of transfers; one of them that is gone is waited for through its lease and a round of it; and should the
coordinator not answer, `patience` seconds. A fault adds to that, for whom it meets and in the seconds `lease + patience`
after it:

- the coordinator dies or stands still, or the connection of the application does: `patience` until it goes on by itself, and
  when that is over a lease, until which those who do not come back keep what they had;
- another one dies, stands still or loses its connection: its lease and a round, and its transfer anew, V/B;
- the application itself stands still: that time;
- a clock steps: nothing.

Each of these needs some process to run, so the longest time that the campaign itself was kept from running is added for
each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock.live.client.errors import CoordinatorError
from tests.live.server.ledger import Ledger
from tests.live.server.program import Task, check
from tests.live.server.proxy import Place, Proxy
from tests.live.server.serving import Program, Serving, environment

KILL, KILL_COORDINATOR, STALL, STALL_COORDINATOR, CUT, HOLD_UP, STEP = (
    "clients killed",
    "coordinators killed",
    "clients stalled",
    "coordinators stalled",
    "connections cut",
    "connections held up",
    "clock steps",
)
OFTEN = {KILL: 8, KILL_COORDINATOR: 2, STALL: 6, STALL_COORDINATOR: 2, CUT: 12, HOLD_UP: 5, STEP: 5}
"""How often each kind comes, in parts."""
SETTLING = 240.0
"""Seconds in which everybody is coordinated again after the last fault, and has ended after it is told to; a client that
gives up a dead connection takes 5, and tries again after 1; the rest is for a machine that others use too."""


@dataclass(frozen=True)
class Plan:
    """What is done: until `faults` faults have happened, some of each kind, `least` processes have been killed and as many
    stalled or cut off, and `seconds` have passed. Rates in bytes/s."""

    seed: int = 3
    faults: int = 0
    least: int = 0
    seconds: float = 0.0
    applications: int = 4
    bandwidth: float = 1e6
    lease: float = 1.0
    patience: tuple[float, ...] = (0.7, 3.0)
    """Seconds of the applications, in turn: shorter and longer than what most faults take."""
    volume: int = 131_072
    rounds: int = 8
    pause: float = 0.3
    every: float = 0.12
    """Seconds between two faults, on average."""
    policy: str = "fair-share"
    tcp: bool = False

    def patience_of(self, index: int) -> float:
        """Of the application of that number."""
        return self.patience[index % len(self.patience)]


@dataclass(frozen=True)
class Fault:
    """What failed, whose it was (−1: the coordinator's, or all), and from when to when."""

    kind: str
    whose: int
    begun: float
    ended: float


@dataclass
class Outcome:
    """What has come of it."""

    plan: Plan
    faults: dict[str, int]
    seconds: float
    operations: int
    coordinated: int
    bytes_checked: int
    restarts_compared: int
    samples: int
    most_granted: float
    """The most that was ever granted, as a part of B."""
    messages: int
    sums: int
    most_by_ledger: float
    """The same by the campaign's own ledger, after every message."""
    longest_wait: float
    its_bound: float
    nearest: float
    """The largest wait as a part of its bound."""
    lag: float

    def table(self) -> str:
        """For people."""
        rows = [
            *self.faults.items(),
            ("faults", sum(self.faults.values())),
            ("seconds", f"{self.seconds:.0f}"),
            ("operations", self.operations),
            ("of these coordinated to the end", self.coordinated),
            ("bytes checked", self.bytes_checked),
            ("restarts compared", self.restarts_compared),
            ("samples of what is granted", self.samples),
            ("most granted / B", f"{self.most_granted:.6f}"),
            ("messages in the ledger", self.messages),
            ("sums in the ledger", self.sums),
            ("most granted / B by the ledger", f"{self.most_by_ledger:.6f}"),
            ("longest wait", f"{self.longest_wait:.2f} s, at most {self.its_bound:.2f} s"),
            ("nearest to its bound", f"{self.nearest:.0%}"),
            ("campaign kept from running", f"{self.lag:.3f} s at most"),
        ]
        return "\n".join(f"{name:<32} {value}" for name, value in rows)


class Sampler:
    """Asks a coordinator all along what is granted, and reads its journal; and sees how late it comes to run itself."""

    def __init__(self, serving: Serving, bandwidth: float) -> None:
        self._serving = serving
        self._bandwidth = bandwidth
        self.samples = 0
        self.most = 0.0
        self.lag = 0.0
        self.wrong: list[str] = []
        self._done = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._ask, self._read, self._doze)]

    def __enter__(self) -> Sampler:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        while not self._done.wait(0.05):
            try:
                state = self._serving.state(timeout=0.5)
            except CoordinatorError:
                continue  # it is dead or stands still
            self._see("state", state["granted"])
            self._see("sum of rates", sum(one["rate"] for one in state["applications"]))

    def _read(self) -> None:
        while not self._done.wait(0.03):
            _, applications = self._serving.written()
            self._see("journal", sum(one.in_force for one in applications))

    def _doze(self) -> None:
        then = time.monotonic()
        while not self._done.wait(0.01):
            now = time.monotonic()
            self.lag, then = max(self.lag, now - then - 0.01), now

    def _see(self, what: str, granted: float) -> None:
        self.samples += 1
        self.most = max(self.most, granted / self._bandwidth)
        if granted > self._bandwidth * (1.0 + 1e-9):
            self.wrong.append(f"{what}: {granted} bytes/s are granted of {self._bandwidth}")


class Campaign:
    """The processes, and what is done to them."""

    def __init__(self, plan: Plan, folder: Path, stack: ExitStack) -> None:
        self.plan = plan
        self.folder = folder
        self.draw = random.Random(plan.seed)
        self.faults: list[Fault] = []
        self.compared = 0
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._busy: set[int] = set()
        """Applications, and −1 for the coordinator, that are down or stand still."""
        self._held_up: set[int] = set()
        self._owed = list(OFTEN)
        """Kinds that have not come yet. However few faults are planned, all of these are tried until they are possible."""
        self.draw.shuffle(self._owed)
        self._steps: list[tuple[float, float]] = []
        self._starting = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        self._clock = (folder / "clock").open("w+b", buffering=0)
        stack.callback(self._clock.close)
        self._step(0.0)
        stepping = str(Path(__file__).parent / "stepping")
        plain = environment()
        path = os.pathsep.join([stepping, plain["PYTHONPATH"]])
        self._environment = {**plain, "PYTHONPATH": path, "PENSTOCK_TEST_CLOCK": str(folder / "clock")}
        options = ["--bandwidth", f"{plan.bandwidth:.0f} B/s", "--lease", f"{plan.lease:g} s", "--policy", plan.policy]
        target: Place = folder / "penstock.sock"
        token = None
        if plan.tcp:
            token = folder / "token"
            token.touch(mode=0o600)
            token.write_text(f"{self.draw.getrandbits(128):032x}")
            target = ("127.0.0.1", _free_port())
            options += ["--listen", f"{target[0]}:{target[1]}", "--token-file", str(token)]
        self.serving = stack.enter_context(Serving(folder, *options, environment=self._environment))
        self.ledger = Ledger(plan.bandwidth, plan.lease)
        self.proxies = [
            stack.enter_context(Proxy(("127.0.0.1", 0) if plan.tcp else folder / f"proxy{index}", target, self.ledger))
            for index in range(plan.applications)
        ]
        self.programs = [self._program(index, proxy, token) for index, proxy in enumerate(self.proxies)]
        for program in self.programs:
            stack.enter_context(program)

    def _program(self, index: int, proxy: Proxy, token: Path | None) -> Program:
        plan, name = self.plan, f"application{index}"
        task = Task(
            address=proxy.address,
            name=name,
            path=str(self.folder / name),
            seed=plan.seed,
            operations=sys.maxsize,
            volume=plan.volume,
            rounds=plan.rounds,
            pause=plan.pause,
            patience=plan.patience_of(index),
            token_file=str(token) if token else None,
            stop=str(self.folder / "stop"),
        )
        return Program(task, self.folder / f"{name}.log", self._environment)

    # What happens

    def run(self) -> None:
        """Let faults happen until the plan is fulfilled, and all that hangs come to its end."""
        self._await_operations(0.0)
        begun = following = time.monotonic()
        while True:
            enough = len(self.faults) >= self.plan.faults and not self._owed and self._has_least()
            over = enough and following >= begun + self.plan.seconds
            if over and not self._later:
                break
            if self._later and (over or self._later[0][0] <= following):
                due, _, act = heappop(self._later)
                time.sleep(max(0.0, due - time.monotonic()))
                act()
            else:
                time.sleep(max(0.0, following - time.monotonic()))
                self._fail()
                following = time.monotonic() + self.draw.expovariate(1.0 / self.plan.every)
        self._await_operations(time.monotonic())

    def _has_least(self) -> bool:
        kinds = Counter(fault.kind for fault in self.faults)
        disturbed = kinds[STALL] + kinds[STALL_COORDINATOR] + kinds[CUT]
        return min(kinds[KILL] + kinds[KILL_COORDINATOR], disturbed) >= self.plan.least

    def finish(self) -> None:
        """Have everybody end; nothing stays granted when the leases of the dead are over."""
        (self.folder / "stop").touch()
        for program in self.programs:
            assert program.wait(SETTLING) == 0, program.log.read_text()[-2000:]
            assert program.told[-1]["what"] == "end"
        for state in self._states(time.monotonic() + SETTLING):
            if state["granted"] == 0.0:
                break
        assert state["granted"] == 0.0, state
        for one in state["applications"]:
            assert one["state"] == "away", one
            assert one["rate"] == 0.0, one
        assert state["fault"] is None
        assert state["journal_failure"] is None

    def _states(self, end: float) -> Iterator[dict[str, Any]]:
        """The coordinator's state, again at the end of every lease."""
        yield self.serving.state()
        while time.monotonic() < end:
            time.sleep(self.plan.lease / 2.0)
            yield self.serving.state()

    def _await_operations(self, since: float) -> None:
        """Wait until everybody has been through an operation that began later, coordinated to its end."""
        for program in self.programs:

            def is_well(one: dict[str, Any]) -> bool:
                return one["what"] == "operation" and one["coordinated"] and one["begun"] >= since

            with program.news:
                well = program.news.wait_for(lambda told=program.told, well=is_well: any(map(well, told)), SETTLING)
            assert well, f"{program.task.name} is not coordinated any more: {program.log.read_text()[-2000:]}"

    # Faults

    def _fail(self) -> None:
        """One fault, if it is possible now, of a kind that is still owed or, when none is, of a random one."""
        kinds = list(OFTEN)
        kind = self._owed[0] if self._owed else self.draw.choices(kinds, [OFTEN[kind] for kind in kinds])[0]
        whose = -1 if kind in (KILL_COORDINATOR, STALL_COORDINATOR, STEP) else self.draw.randrange(len(self.programs))
        is_free = whose not in self._busy if kind not in (CUT, HOLD_UP) else whose not in self._held_up
        if kind == STEP or is_free:
            getattr(self, _DOING[kind])(whose)
            self._owed = [one for one in self._owed if one != kind]

    def _kill(self, whose: int) -> None:
        """Inside its turn: after a round that is not the last, if there is one soon."""
        program = self.programs[whose]
        program.await_news(lambda one: one["what"] == "round" and one["round"] < self.plan.rounds - 1, self.plan.lease / 2.0)
        begun = time.monotonic()
        program.kill()
        self._busy.add(whose)
        self._after(self.draw.uniform(0.0, 0.4), lambda: self._bring_back(whose, begun))

    def _bring_back(self, whose: int, begun: float) -> None:
        self.programs[whose].start()
        self._busy.discard(whose)
        self._happened(KILL, whose, begun)

    def _kill_coordinator(self, whose: int) -> None:
        """It is compared with what it was before when it is back, and the dates say how long that took."""
        before = self.serving.state()
        self.serving.state()  # when this is answered, all that the first one showed is written down
        begun = time.monotonic()
        self.serving.kill()
        self.ledger.killed(time.monotonic())
        self._busy.add(whose)
        self._after(self.draw.choice((0.0, 0.0, 0.3, 1.5)), lambda: self._restart(before, begun))

    def _restart(self, before: dict[str, Any], begun: float) -> None:
        """In a thread of its own: a start takes seconds, and faults of others go on meanwhile."""
        self.ledger.restarted(time.monotonic())
        self._await_restart(self._starting.submit(self._start_again, before), begun)

    def _start_again(self, before: dict[str, Any]) -> None:
        self.serving.start()
        compare(before, self.serving.state())
        self.compared += 1

    def _await_restart(self, restart: Future[None], begun: float) -> None:
        if not restart.done():
            self._after(0.05, lambda: self._await_restart(restart, begun))
            return
        restart.result()
        self._busy.discard(-1)
        self._happened(KILL_COORDINATOR, -1, begun)

    def _stall(self, whose: int) -> None:
        self._stop(STALL, whose, self.programs[whose].process.pid)

    def _stall_coordinator(self, whose: int) -> None:
        self._stop(STALL_COORDINATOR, whose, self.serving.pid)

    def _stop(self, kind: str, whose: int, pid: int) -> None:
        """Shorter and longer than patience and lease."""
        begun = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        self._busy.add(whose)

        def go_on() -> None:
            os.kill(pid, signal.SIGCONT)
            self._busy.discard(whose)
            self._happened(kind, whose, begun)

        self._after(self.draw.choice((0.1, 0.4, 1.6)) * self.plan.lease, go_on)

    def _cut(self, whose: int) -> None:
        self.proxies[whose].cut()
        self._happened(CUT, whose, time.monotonic())

    def _hold_up(self, whose: int) -> None:
        begun = time.monotonic()
        self.proxies[whose].hold_up()
        self._held_up.add(whose)

        def let_pass() -> None:
            self.proxies[whose].let_pass()
            self._held_up.discard(whose)
            self._happened(HOLD_UP, whose, begun)

        self._after(self.draw.choice((0.1, 0.8, 1.6)) * self.plan.lease, let_pass)

    def _step_clock(self, whose: int) -> None:
        """By seconds, hours or years, to and fro."""
        self._step(self.draw.choice((-1.0, 1.0)) * self.draw.choice((0.5, 30.0, 3600.0, 1e8)))
        self._happened(STEP, whose, time.monotonic())

    def _step(self, off: float) -> None:
        self._clock.seek(0)
        self._clock.write(struct.pack("d", off))
        self._steps.append((time.monotonic(), off))

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        heappush(self._later, (time.monotonic() + seconds, next(self._order), act))

    def _happened(self, kind: str, whose: int, begun: float) -> None:
        self.faults.append(Fault(kind, whose, begun, time.monotonic()))
        if len(self.faults) % 250 == 0:
            counts = Counter(fault.kind for fault in self.faults)
            sys.stderr.write(f"faults: {', '.join(f'{count} {name}' for name, count in counts.items())}\n")

    # What is checked at the end

    def waits(self, lag: float) -> list[tuple[float, float]]:
        """The wait in every operation, and the most that it may be."""
        return [
            (one["waited"], self._bound(index, one["begun"], one["at"], lag))
            for index, program in enumerate(self.programs)
            for one in program.told
            if one["what"] == "operation"
        ]

    def _bound(self, whose: int, begun: float, ended: float, lag: float) -> float:
        """As derived at the head of this module."""
        plan, patience = self.plan, self.plan.patience_of(whose)
        transfer, a_round = plan.volume / plan.bandwidth, plan.volume / plan.rounds / plan.bandwidth
        bound = patience + plan.lease + a_round + (plan.applications - 1) * transfer + lag
        for fault in self.faults:
            if fault.begun > ended or fault.ended + plan.lease + patience < begun or fault.kind == STEP:
                continue
            if fault.whose in (-1, whose):
                bound += patience + plan.lease + lag
            else:
                bound += plan.lease + a_round + transfer + lag
            if fault.whose == whose and fault.kind == STALL:
                bound += fault.ended - fault.begun
        return bound

    def check_clocks(self) -> None:
        """The processes saw the steps: the wall clocks that they wrote down are off by what they were set to then."""
        present, _ = self.serving.written()
        assert present is not None
        seen = [(one["at"], one["wall"]) for program in self.programs for one in program.told if one["what"] == "start"]
        right = time.time() - time.monotonic()
        for at, wall in [*seen, (present.monotonic, present.wall)]:
            before = [off for date, off in self._steps if date <= at - 1.0][-1:]
            near = [off for date, off in self._steps if at - 1.0 < date < at + 1.0]
            assert any(abs(wall - at - right - off) < 1.0 for off in before + near), (wall - at - right, before, near)


_DOING = {
    KILL: "_kill",
    KILL_COORDINATOR: "_kill_coordinator",
    STALL: "_stall",
    STALL_COORDINATOR: "_stall_coordinator",
    CUT: "_cut",
    HOLD_UP: "_hold_up",
    STEP: "_step_clock",
}


def compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    """A coordinator that was killed knows what it knew, and has gone on counting time; rates in bytes/s, times in seconds.

    Who works progresses by the time it was away. Who has an operation is known to be as far as it last reported, so that
    the transfer under way may be counted anew, or have gone on, at any speed, where it is back already.
    """
    away = after["now"] - before["now"]
    assert away >= 0.0
    assert after["policy"] == before["policy"]
    known = {one["application"]: one for one in after["applications"]}
    for old in before["applications"]:
        new = known[old["application"]]
        assert (new["job"], new["bandwidth"]) == (old["job"], old["bandwidth"])
        assert new["operations"] >= old["operations"]
        assert new["transferred"] >= old["transferred"]
        assert abs(new["elapsed"] - old["elapsed"] - away) < 1e-6 * max(1.0, new["elapsed"])
        pending = [one["pending"] for one in (old, new) if one["pending"]]
        transfer = max((one["volume"] / old["bandwidth"] for one in pending), default=0.0)
        if not pending and new["operations"] == old["operations"]:
            assert abs(new["yield"] * new["elapsed"] - old["progress"] - away) < 1e-6 * max(1.0, new["elapsed"])
        assert old["progress"] - transfer - 1e-6 <= new["progress"] <= old["progress"] + away + transfer + 1e-6, (old, new)


def check_file(program: Program) -> int:
    """Every byte of its file, which holds all operations that it told of; how many bytes that is."""
    size, volume = check(program.task), program.task.volume
    latest = max(one["operation"] for one in program.told if one["what"] == "operation")
    assert size % volume == 0
    assert size >= (latest + 1) * volume
    return size


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def _campaign(plan: Plan) -> Iterator[tuple[Campaign, Sampler]]:
    with TemporaryDirectory() as name, ExitStack() as stack:
        campaign = Campaign(plan, Path(name), stack)
        yield campaign, stack.enter_context(Sampler(campaign.serving, plan.bandwidth))


def run(plan: Plan) -> Outcome:
    """Carry out the plan; AssertionError if anything is not as it should be."""
    begun = time.monotonic()
    with _campaign(plan) as (campaign, sampler):
        campaign.run()
        campaign.finish()
        bytes_checked = sum(map(check_file, campaign.programs))
        campaign.check_clocks()
    ledger, above = campaign.ledger, campaign.ledger.wrong(sampler.lag)
    assert not sampler.wrong, sampler.wrong[:5]
    assert not above, f"{len(above)} sums are above B: {above[:5]}"
    waits = campaign.waits(sampler.lag)
    longest, its_bound = max(waits)
    late = [(wait, bound) for wait, bound in waits if wait > bound]
    assert not late, f"{len(late)} waits are longer than they may be: {late[:5]}"
    operations = [one for program in campaign.programs for one in program.told if one["what"] == "operation"]
    kinds = Counter(fault.kind for fault in campaign.faults)
    return Outcome(
        plan=plan,
        faults={kind: kinds[kind] for kind in OFTEN},
        seconds=time.monotonic() - begun,
        operations=len(operations),
        coordinated=sum(one["coordinated"] for one in operations),
        bytes_checked=bytes_checked,
        restarts_compared=campaign.compared,
        samples=sampler.samples,
        most_granted=sampler.most,
        messages=ledger.messages,
        sums=ledger.checks,
        most_by_ledger=ledger.most(sampler.lag),
        longest_wait=longest,
        its_bound=its_bound,
        nearest=max(wait / bound for wait, bound in waits),
        lag=sampler.lag,
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.server.faults", description="Run the fault campaign.")
    parser.add_argument("--seconds", type=float, default=600.0, help="at least (default: 600)")
    parser.add_argument("--least", type=int, default=Plan.least, help="at least so many kills, and stalls and cuts")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--every", type=float, default=Plan.every, help="seconds between two faults, on average")
    parser.add_argument("--policy", default=Plan.policy)
    parser.add_argument("--applications", type=int, default=Plan.applications)
    parser.add_argument("--tcp", action="store_true", help="over TCP with a token")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    options = parser.parse_args()
    told = {name: value for name, value in vars(options).items() if name != "json"}
    outcome = run(Plan(**told))
    sys.stdout.write((json.dumps(asdict(outcome), indent=1) if options.json else outcome.table()) + "\n")


if __name__ == "__main__":
    main()
