"""The APEX workloads of 000 §6.3: schedules of three months of NERSC or TRILAB jobs on Cielo or one of its scaled
versions, and their steady-state windows.

Tables. 000 prints no table of jobs but refers to figure 3 of the APEX workflows report (its [19]). The values here come
from a transcription of that figure, not from the report itself. They agree with what 000's text says: GTS 16,512 cores
for 48 hours, CESM 8,000 for 10 days, a SkySurvey pipeline 24 for 4 hours, TRILAB 4,096 to 32,768 cores and 64 hours or
more. 000 does not say how a line of the table becomes a job; this module reads it as follows.

- A job is one line: `cores` cores for `hours` hours, one application with one chain. The 100 and 300 runs of the
  ensembles DakotaA and DakotaS share that one job. If each were an application, a window on Cielo would hold hundreds of
  them, where 000's authors saw 12.
- ALS is one job of 4 h (eight pipelines of half an hour, one after the other). SkySurvey is one job of 8 h on 384 cores
  (sixteen pipelines of 24 cores side by side, twice 4 h). Both read once at their beginning and write once at their end.
- Shares count within the workload: 000 gives SkySurvey 12 % of NERSC's core-hours, which is its 0.06 of the 0.482
  listed.

Schedules. 000 §6.3.1 says: applications are picked at random and placed first fit until the schedule follows the
distribution of the table and represents at least three months of machine use. They read their input at their beginning,
write a checkpoint every hour and their output at their end. Of each schedule the 20 longest windows in which no
application joins or leaves are kept, with τ_i = T_begin. This module adds:

- A class has target = share · nodes · T / (walltime · job nodes) jobs, the shares taken within the workload. The next
  job is of a class drawn with weight max(0, target − placed). Its cores and its walltime are N(v, 0.1 v), raised to 0.95
  v.
- T begins at 90 days and grows by a day whenever every class has its jobs, up to 180. The schedule is complete when
  every class is within 10 % of its target and the jobs use the whole machine for 90 days.
- The walltime is the time in dedicated mode, I/O included. An hour of work, not of time, lies between two checkpoints.
- The rest of a work phase that T_begin cuts is `lead`, which belongs to no iteration of ω, as in the synthetic traces of
  §6.2. Three other starts are options: "cut" counts that rest as the work of an iteration, "fresh" begins the chain of
  every application anew at T_begin, and "history" is lead with the iterations that ended before T_begin in ω (`past`). A
  transfer that T_begin cuts goes on with what is left of it, except under fresh.
- Windows end with the last start. After it the machine only runs empty; on NERSC those windows, of a few applications,
  would be most of the 20.
"""

from __future__ import annotations

import math
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Phases, Platform, Workload, parse_units
from penstock.model.application import READ, WORK, WRITE
from penstock.renamed import old_names
from penstock.workloads.first_fit import FreeNodes
from penstock.workloads.parameters import parameter, require

__getattr__ = old_names(__name__, Job="ApexJob", Schedule="ApexSchedule")

GIB: Final = 2.0**30
CORES_A_NODE: Final = 16
NODE_MEMORY: Final = 32.0 * GIB
"""Bytes of memory of one node, of Cielo and of all its successors."""
NODE_BANDWIDTH: Final = 1.2 * GIB
"""b in bytes/s, of Cielo and of all its successors."""
CIELO_NODES: Final = 8894
CIELO_BANDWIDTH: Final = 200.0 * GIB
"""B of Cielo's parallel file system, in bytes/s."""
DOUBLING: Final = 10
"""α of 000 §6.3.1: the number of steps in which the number of cores doubles."""


@dataclass(frozen=True)
class JobClass:
    """A line of the table: the jobs of one code.

    Attributes:
        name: The name of the code.
        share: Its part of the core-hours.
        hours: Mean walltime, in hours.
        cores: Mean number of cores.
        input: Bytes read at the beginning, as a fraction of the memory of the job's nodes.
        output: Bytes written at the end, likewise.
        checkpoint: Bytes of each checkpoint, likewise.
        ensemble: The number of runs in the job, which are not distinguished.

    """

    name: str
    share: float
    hours: float
    cores: int
    input: float
    output: float
    checkpoint: float
    ensemble: int = 1


TRILAB: Final = (
    JobClass("EAP", 0.20, 262.4, 16384, 0.03, 1.05, 0.30),
    JobClass("LAP", 0.02, 64.0, 4096, 0.05, 3.2, 0.75),
    JobClass("Silverton", 0.05, 128.0, 32768, 0.0, 0.43, 2.1),
    JobClass("VPIC", 0.03, 157.2, 30000, 0.05, 2.7, 0.1875),
    JobClass("DakotaA", 0.03, 100.0, 8192, 0.05, 0.085, 0.002, ensemble=100),
    JobClass("DakotaS", 0.03, 100.0, 4096, 0.005, 0.0204, 0.30, ensemble=300),
)
NERSC: Final = (
    JobClass("ALS", 0.001, 4.0, 100, 0.3165, 1.0629, 0.0),
    JobClass("CESM", 0.06, 240.0, 8000, 0.0, 10.2795, 0.32),
    JobClass("GTS", 0.06, 48.0, 16512, 0.0, 0.1478, 0.67),
    JobClass("HipMer", 0.001, 4.0, 960, 0.6583, 0.3434, 0.0),
    JobClass("Materials", 0.19, 41.7, 2400, 0.0, 0.2708, 0.50),
    JobClass("MILC", 0.11, 6.0, 4096, 0.7388, 0.7388, 0.0),
    JobClass("SkySurvey", 0.06, 8.0, 384, 0.0879, 0.0269, 0.0),
)
CLASSES: Final = MappingProxyType({"nersc": NERSC, "trilab": TRILAB})
"""The classes of each workload."""


@dataclass(frozen=True)
class ApexMachine:
    """A machine of `nodes` nodes, each as one of Cielo, whose file system has `bandwidth` bytes/s."""

    name: str
    nodes: int
    bandwidth: float

    def __post_init__(self) -> None:
        parse_units.count(self.nodes, "machine.nodes", "nodes")
        parse_units.bandwidth(self.bandwidth, "machine.bandwidth")

    @property
    def platform(self) -> Platform:
        """The machine as applications see it: b_i = min(nodes · 1.2, B) GiB/s."""
        return Platform(self.bandwidth, NODE_BANDWIDTH, self.nodes)


def scaled(step: int) -> ApexMachine:
    """M_t of 000 §6.3.1 for t = `step`: 2^(t/α) times Cielo's cores and 2^(t/α) / t times its bandwidth, α = 10.

    The factor of the bandwidth has no value at t = 0, where the machine is Cielo itself, with factor 1. Cores grow as the
    bandwidth does except for 1/t, so the I/O pressure of a workload grows about as t.
    """
    growth = 2.0 ** (step / DOUBLING)
    name = f"M_{step}" if step else "cielo"
    return ApexMachine(name, round(CIELO_NODES * growth), CIELO_BANDWIDTH * growth / max(step, 1))


MACHINES: Final = MappingProxyType({machine.name: machine for machine in map(scaled, range(DOUBLING + 1))})
"""Cielo and its successors M_1 to M_10, by name."""


def classes(workload: str) -> tuple[JobClass, ...]:
    """The classes of the workload of that name; raises InputError with the known names if there is none."""
    if workload not in CLASSES:
        raise InputError("workload", f"{workload!r} is unknown; expected one of {', '.join(CLASSES)}")
    return CLASSES[workload]


def find_machine(name: str) -> ApexMachine:
    """The machine of that name, where M_0 is Cielo; raises InputError with the known names if there is none."""
    machine = MACHINES.get("cielo" if name == "M_0" else name)
    if machine is None:
        raise InputError("machine", f"{name!r} is unknown; expected one of {', '.join(MACHINES)}")
    return machine


def nodes_of(cores: float) -> int:
    """The nodes that `cores` cores take."""
    return math.ceil(cores / CORES_A_NODE)


HOUR: Final = 3600.0
DAY: Final = 86400.0
SHORTEST_DAYS: Final = 90
LONGEST_DAYS: Final = 180
TOLERANCE: Final = 0.1
"""How far a class may be from its target, relative to it."""
SPREAD: Final = 0.1
"""Standard deviation of cores and walltime, relative to their mean."""
FLOOR: Final = 0.95
"""The least cores and walltime of a job, relative to their mean."""
CHECKPOINT_PERIOD: Final = HOUR
"""Seconds of work before each checkpoint."""
LEAD: Final = "lead"
CUT: Final = "cut"
FRESH: Final = "fresh"
HISTORY: Final = "history"
STARTS: Final = (LEAD, CUT, FRESH, HISTORY)
"""How applications enter a window."""


@dataclass(frozen=True)
class ApexWindows:
    """Which steady-state windows are taken (000 §6.3.1): `count` windows of a `workload` on a `machine`."""

    workload: str = parameter("nersc or trilab")
    machine: str = parameter("cielo, or one of its scaled versions M_1 to M_10", "cielo")
    count: int = parameter("how many windows, the longest first", 20)
    start: str = parameter("how applications enter a window: lead, cut, fresh or history", LEAD)

    def __post_init__(self) -> None:
        classes(self.workload)
        object.__setattr__(self, "machine", find_machine(self.machine).name)
        require(self.count >= 1, "count", self.count, "1 or more")
        require(self.start in STARTS, "start", self.start, ", ".join(STARTS))


@dataclass(frozen=True, slots=True)
class ApexJob:
    """A job of class `kind` on `nodes` nodes from `start` to `end`, in seconds from the beginning of its schedule."""

    kind: JobClass
    nodes: int
    start: float
    end: float


@dataclass(frozen=True)
class ApexSchedule:
    """The jobs of `workload` on `machine` in the order in which they were placed.

    `days` is the T of the targets: every class has its share of the core-hours of T within 10 %, in numbers of jobs.
    """

    workload: str
    machine: ApexMachine
    days: int
    jobs: tuple[ApexJob, ...]

    def targets(self) -> dict[str, float]:
        """The number of jobs that each class should have."""
        kinds = classes(self.workload)
        return dict(zip((kind.name for kind in kinds), _targets(kinds, self.machine, self.days), strict=True))


def schedule(workload: str, machine: str | ApexMachine, seed: int) -> ApexSchedule:
    """Make a first-fit schedule of three months of jobs. The 34,000 jobs of NERSC on M_10 take under a second.

    Args:
        workload: nersc or trilab.
        machine: cielo, M_1 … M_10, or a machine of your own.
        seed: The same seed gives the same schedule.

    Raises:
        InputError: A name is unknown, or the machine is too small for the jobs.

    Example:
        >>> made = schedule("trilab", "cielo", seed=1)
        >>> made.days >= 90, {job.kind.name for job in made.jobs} == set(made.targets())
        (True, True)

    """
    kinds = classes(workload)
    machine = find_machine(machine) if isinstance(machine, str) else machine
    random = np.random.default_rng(seed)
    free = FreeNodes(machine.nodes)
    since = dict.fromkeys(kinds, 0.0)  # no job of the class fits before
    placed = [0] * len(kinds)
    jobs: list[ApexJob] = []
    used = 0.0
    for days in range(SHORTEST_DAYS, LONGEST_DAYS + 1):
        targets = _targets(kinds, machine, days)
        while not (used >= SHORTEST_DAYS * DAY * machine.nodes and _within(placed, targets)):
            index = _draw_class(placed, targets, random)
            if index is None:
                break
            job = _place(kinds[index], machine, free, since, random)
            placed[index] += 1
            used += job.nodes * (job.end - job.start)
            jobs.append(job)
        else:
            return ApexSchedule(workload, machine, days, tuple(jobs))
    most = f"{LONGEST_DAYS} days of {workload} on {machine.nodes} nodes"
    raise InputError("machine", f"{most} do not reach the shares of its classes; expected a larger machine")


def windows(
    workload: str, machine: str | ApexMachine, seed: int, count: int = 20, start: str = LEAD
) -> tuple[Workload, ...]:
    """Make the longest windows of a schedule in which no job starts or ends (000 §6.3.1).

    The applications of a window are the jobs that run throughout. They are released when it begins and do the rest of their
    chains in dedicated mode. Times are seconds from the beginning of the schedule.

    Args:
        workload: nersc or trilab.
        machine: cielo, M_1 … M_10, or a machine of your own.
        seed: The same seed gives the same windows.
        count: How many windows.
        start: How applications enter a window. With "lead", the rest of a work phase that T_begin cuts belongs to no
            iteration; with "cut" it does; with "fresh" every chain begins at T_begin.

    Returns:
        The windows, the longest first; of equal ones the earlier first.

    Raises:
        InputError: As for `schedule`.

    Example:
        >>> longest, second = windows("trilab", "cielo", seed=1, count=2)
        >>> longest.window[1] - longest.window[0] >= second.window[1] - second.window[0]
        True

    """
    parse_units.count(count, "count", "windows")
    require(start in STARTS, "start", start, ", ".join(STARTS))
    plan = schedule(workload, machine, seed)
    starts = np.array([job.start for job in plan.jobs])
    ends = np.array([job.end for job in plan.jobs])
    events = np.unique(np.concatenate([starts, ends[ends < starts.max()]]))
    longest = np.argsort(-np.diff(events), kind="stable")[:count]
    return tuple(_window(plan, starts, ends, float(events[k]), float(events[k + 1]), start) for k in longest)


def chain(kind: JobClass, nodes: int, seconds: float, machine: ApexMachine) -> Phases:
    """The phases of a job: input, (an hour of work, checkpoint)…, work, output.

    Args:
        kind: the class of the job, which says how much it reads and writes.
        nodes: how many nodes it has.
        seconds: how long it takes in dedicated mode.
        machine: where it runs.

    Raises:
        InputError: if it cannot move its data in that time.
    """
    memory = nodes * NODE_MEMORY
    cap = machine.platform.cap(nodes)
    between = seconds - (kind.input + kind.output) * memory / cap
    if between < 0.0:
        raise InputError("machine", f"{kind.name} cannot move its data in {seconds:.0f} s; expected more bandwidth")
    period = CHECKPOINT_PERIOD + kind.checkpoint * memory / cap
    checkpoints = int(between // period) if kind.checkpoint > 0.0 else 0
    pairs = [(READ, kind.input * memory)] if kind.input > 0.0 else []
    pairs += [(WORK, CHECKPOINT_PERIOD), (WRITE, kind.checkpoint * memory)] * checkpoints
    pairs += [(WORK, between - checkpoints * period), (WRITE, kind.output * memory)]
    kinds, amounts = zip(*pairs, strict=True)
    return Phases(np.array(kinds, np.uint8), np.array(amounts))


def _targets(kinds: tuple[JobClass, ...], machine: ApexMachine, days: int) -> list[float]:
    """How many jobs of each class make up its share of all core-hours in `days` days."""
    shares = sum(kind.share for kind in kinds)
    node_seconds = machine.nodes * days * DAY / shares
    return [kind.share * node_seconds / (kind.hours * HOUR * nodes_of(kind.cores)) for kind in kinds]


def _within(placed: list[int], targets: list[float]) -> bool:
    return all(abs(count - target) <= TOLERANCE * target for count, target in zip(placed, targets, strict=True))


def _draw_class(placed: list[int], targets: list[float], random: np.random.Generator) -> int | None:
    """The index of a class, drawn with weight max(0, target − placed); None when every class has its jobs."""
    sums = list(accumulate(max(0.0, target - count) for count, target in zip(placed, targets, strict=True)))
    if sums[-1] == 0.0:
        return None
    return bisect(sums, sums[-1] * random.random(), hi=len(sums) - 1)


def _place(
    kind: JobClass, machine: ApexMachine, free: FreeNodes, since: dict[JobClass, float], random: np.random.Generator
) -> ApexJob:
    """Draw a job of the class and give it its nodes.

    Three draws in ten are raised to the floor, so one job in ten is the smallest and the shortest of its class. No later job
    of the class fits before it, so its start bounds theirs. Without that bound NERSC on Cielo takes 18 times as long.
    """
    least_nodes, least_seconds = nodes_of(FLOOR * kind.cores), FLOOR * kind.hours * HOUR
    nodes = max(least_nodes, nodes_of(random.normal(kind.cores, SPREAD * kind.cores)))
    seconds = max(least_seconds, random.normal(kind.hours * HOUR, SPREAD * kind.hours * HOUR))
    if nodes > machine.nodes:
        raise InputError("machine", f"{machine.nodes} nodes are too few for {kind.name}; expected {nodes} or more")
    start = free.first_fit(nodes, seconds, since[kind])
    if nodes == least_nodes and seconds == least_seconds:
        since[kind] = start
    free.take(nodes, start, start + seconds)
    return ApexJob(kind, nodes, start, start + seconds)


def _window(
    plan: ApexSchedule, starts: NDArray[np.float64], ends: NDArray[np.float64], begin: float, end: float, start: str
) -> Workload:
    """The workload of the jobs that run from `begin` to `end`."""
    running = np.flatnonzero((starts <= begin) & (ends >= end))
    applications = (_application(plan.jobs[k], int(k), plan.machine, (begin, end), start) for k in running)
    return Workload(plan.machine.platform, tuple(applications), (begin, end))


def _application(job: ApexJob, number: int, machine: ApexMachine, window: tuple[float, float], start: str) -> Application:
    """What job `number` does from the beginning of the window on.

    A job that ends with the window works a second longer, so that rounding does not end it inside.
    """
    begin, end = window
    phases = chain(job.kind, job.nodes, job.end - job.start, machine)
    durations = phases.dedicated_seconds(machine.platform.cap(job.nodes))
    done = 0.0 if start == FRESH else begin - job.start
    left = np.minimum(np.cumsum(durations) - done, durations)
    kept = left > 0.0
    kinds, amounts = phases.kinds[kept], phases.amounts[kept] * (left[kept] / durations[kept])
    missing = end - begin + 1.0 - float(left[kept].sum())
    if missing > 0.0:
        kinds, amounts = np.append(kinds, np.uint8(WORK)), np.append(amounts, missing)
    lead = 0.0
    if start in (LEAD, HISTORY) and kinds[0] == WORK and left[kept][0] < durations[kept][0]:
        lead, kinds, amounts = float(amounts[0]), kinds[1:], amounts[1:]
    past = _past(phases.kinds, durations, done) if start == HISTORY else None
    name = f"{job.kind.name}-{number}"
    return Application(name, Phases(kinds, amounts), nodes=job.nodes, release=begin, lead=lead, past=past)


def _past(kinds: NDArray[np.uint8], durations: NDArray[np.float64], done: float) -> tuple[int, float] | None:
    """The number and the mean seconds of the iterations, work and I/O after it, that have ended; None if none has."""
    ends = np.cumsum(durations)
    begun = int(np.argmax(kinds == WORK))
    over = np.flatnonzero((kinds != WORK) & (ends <= done) & (np.arange(len(kinds)) > begun))
    if not len(over):
        return None
    begin = float(ends[begun] - durations[begun])
    return len(over), (float(ends[over[-1]]) - begin) / len(over)
