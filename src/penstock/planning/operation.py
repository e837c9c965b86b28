"""Jobs on a whole machine in one run: submitted, waiting, started on nodes, placed on I/O resources, doing I/O, ending.

`operate` wires a batch scheduler, an allocation and a placement, a buffer and a sharing policy into one run of the engine.
The scheduler decides at every submission and every end of a job. A job that starts is given some I/O resources, by default
those that the running jobs load least. When the job ends, its load is taken from them. A job loads each of its resources by
the part of its time alone in which it occupies the resource: its bytes over what the resource carries, or with exclusive
access the time of its transfers.

Some ten thousand batch decisions are made in Python. Between them the engine handles millions of I/O events.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from penstock.engine import Buffering, Run
from penstock.engine.run import prepare
from penstock.model import Application, InputError, Workload
from penstock.model.application import WORK
from penstock.model.platform import Curve
from penstock.numeric.arrays import Floats, Ints, ratio
from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.planning.job_queue import JobQueue
from penstock.planning.jobs import Progress, Readings
from penstock.planning.machine_run import MachineRun, RunOfJobs
from penstock.planning.placement.allocation import AT_STARTS, Characteristics, find_allocation
from penstock.planning.schedulers import (
    RECORDED,
    SCHEDULERS,
    KnownJobs,
    SchedulerLike,
    SchedulerSettings,
    compiled_choose,
    scheduler_of,
)
from penstock.policies import Policy, find
from penstock.policies.policy import EXCLUSIVE, STATIC

DEFAULT_SCHEDULER: Final = "easy"
DEFAULT_SHARING: Final = "fair-share"
"""The policy of a machine without coordination: everybody transfers, in proportion to nodes or bandwidths."""
DEFAULT_ALLOCATION: Final = "best-bdw"
PLACEMENTS: Final = ("least-loaded", "in-turn", "random", "file")
"""How the resources of a job are chosen when it starts."""


@dataclass(frozen=True)
class MachineSettings:
    """How a machine is operated.

    Args:
        scheduler: a name of `penstock.planning.schedulers.SCHEDULERS`, or a function of a `Moment`.
        policy: shares the bandwidth, by name or as an object.
        allocation: how many I/O resources a job gets: a name of `penstock place` that decides for each job by itself
            (``static``, ``best-bdw``, ``n-sys``, ``random``), a number, "all", a number for each job, or ``tcpu`` or
            ``mckp``, which find the number of each job that starts from this job and those that run.
        placement: which I/O resources it gets: ``least-loaded``, ``in-turn``, ``random``, or ``file``, as the file says.
        buffer: the burst buffer; the platform's by default, False for none.
        limit: the I/O load that I/O-aware schedulers keep to.
        depth: waiting jobs that backfilling looks at.
        order: how jobs are put into packs.
        kill: end a job when it has had its nodes for the time that it requested; jobs that requested none are not ended.
        seed: for random allocation and placement.

    Raises:
        InputError: for a value that has no meaning.
    """

    scheduler: SchedulerLike = DEFAULT_SCHEDULER
    policy: Policy | str = DEFAULT_SHARING
    allocation: str | int | tuple[int, ...] = DEFAULT_ALLOCATION
    placement: str = "least-loaded"
    buffer: Buffering | Literal[False] | None = None
    limit: float = 1.0
    depth: int | None = None
    order: str = "max"
    kill: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.allocation, str) and self.allocation.isdecimal():
            object.__setattr__(self, "allocation", int(self.allocation))
        if self.placement not in PLACEMENTS:
            raise InputError("placement", f"{self.placement!r} is unknown; expected one of {', '.join(PLACEMENTS)}")
        if not self.limit > 0.0:
            raise InputError("limit", f"{self.limit!r} is no limit of the I/O load; expected a number above 0")
        if self.depth is not None and self.depth < 1:
            raise InputError("depth", f"{self.depth!r} is no depth of backfilling; expected 1 or more jobs")
        self._refuse_unused()

    def _refuse_unused(self) -> None:
        """Refuse settings that the scheduler does not use."""
        kind = SCHEDULERS.get(self.scheduler) if isinstance(self.scheduler, str) else None
        if kind is None:
            return
        place = f"scheduler {kind.name}"
        if self.depth is not None and not kind.backfills:
            raise InputError(place, f"does not backfill jobs one by one; expected no depth ({self.depth})")
        if self.limit != 1.0 and not kind.limited:
            raise InputError(place, f"does not look at the I/O load; expected no limit ({self.limit:g})")
        if self.order != "max" and not kind.name.startswith("packs"):
            raise InputError("order", f"{self.order} is for packs; expected the scheduler packs or packs-backfill")

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not the default, for JSON."""
        plain = MachineSettings()
        names = ("allocation", "placement", "limit", "depth", "order", "kill", "seed")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(plain, name)}


def operate(
    workload: Workload,
    settings: MachineSettings | None = None,
    *,
    trace: bool = False,
    check: bool = False,
    progress: Callable[[float], None] | None = None,
) -> MachineRun:
    """Run the applications of a workload as jobs on its platform, from the first submission to the last end.

    Args:
        workload: the jobs, and a platform with a number of nodes; no window. A job is submitted at its `submit`, or at its
            release if it has none.
        settings: scheduler, policy, allocation and placement, buffer; by default `MachineSettings()`.
        trace: record the rates.
        check: check the invariants of the engine after every event.
        progress: called with the part of the jobs that have ended, from 0 to 1.

    Returns:
        When each job ran, and where the node-hours went.

    Raises:
        InputError: for a job larger than the machine, a workload with a window, and settings that exclude each other.

    Example:
        The machine has 4 nodes. Job a has 3 nodes and runs for 10 s; b has 4 and waits for a; c has 1 and is backfilled.

        >>> from penstock.model import Application, Platform, Workload
        >>> jobs = [Application.of(name, [("work", seconds)], nodes=nodes)
        ...         for name, nodes, seconds in (("a", 3, 10.0), ("b", 4, 10.0), ("c", 1, 5.0))]
        >>> done = operate(Workload(Platform(1.0, nodes=4), tuple(jobs)))
        >>> done.jobs_run.start.tolist(), done.backfilled
        ([0.0, 10.0, 0.0], 1)
    """
    return _Operation(workload, settings or MachineSettings(), trace=trace, check=check, progress=progress).run()


def at_full_speed(workload: Workload, scheduler: str) -> Workload:
    """The jobs of a `workload` released when a `scheduler` would start them if all I/O ran at full speed.

    Raises:
        InputError: the scheduler is unknown, or the machine has no number of nodes.
    """
    platform, members = workload.platform, workload.applications
    plenty = (1.0 + len(members)) * max([platform.bandwidth, *(one.write_speed(platform) for one in members)])
    free = replace(
        platform, bandwidth=plenty, read_bandwidth=None, write_bandwidth=None, resources=None, buffer=None, degradation=None
    )
    run = operate(Workload(free, members), MachineSettings(scheduler=scheduler))
    starts = run.jobs_run.start.tolist()
    jobs = tuple(replace(one, release=date, submit=None) for one, date in zip(members, starts, strict=True))
    return replace(workload, applications=jobs)


def _machine_nodes(workload: Workload) -> int:
    """The nodes of the machine; refuses a workload that cannot be operated."""
    if workload.window is not None:
        raise InputError("window", "jobs run to their ends; expected a workload without a window")
    if workload.platform.nodes is None:
        raise InputError("platform.nodes", "is not given; expected the number of nodes of the machine")
    return workload.platform.nodes


def has_buffer(workload: Workload, settings: MachineSettings) -> bool:
    """Whether the jobs of the `workload` go through a burst buffer under these `settings`."""
    platform = workload.platform
    return settings.buffer is not False and (
        settings.buffer is not None or (platform.buffer is not None and platform.buffer.size is not None)
    )


def _submitted(application: Application) -> float:
    return application.release if application.submit is None else application.submit


def _as_submitted(application: Application) -> Application:
    """The application as the engine gets it: it starts with no progress, and its I/O resources are chosen at its start."""
    date = _submitted(application)
    plain = application.progress is None and application.placement is None and application.share is None
    if plain and application.release == date:
        return application
    return replace(application, release=date, progress=None, placement=None, share=None)


class _Operation:
    """One run of a machine; the world in which the jobs of its queue run."""

    def __init__(
        self,
        workload: Workload,
        settings: MachineSettings,
        *,
        trace: bool,
        check: bool,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._begun = time.perf_counter()
        self._nodes = _machine_nodes(workload)
        self._given, self._settings = workload.applications, settings
        if settings.kill and has_buffer(workload, settings):
            raise InputError(
                "kill", "what a killed job has in the buffer has no meaning; expected no buffer (--buffer none)"
            )
        self._policy = find(settings.policy) if isinstance(settings.policy, str) else settings.policy
        if self._policy.family == STATIC:
            raise InputError(f"policy {self._policy.name}", "its order is fixed at the start, and jobs start later")
        chosen = SchedulerSettings(settings.limit, settings.depth, settings.order)
        self._name, scheduler = scheduler_of(settings.scheduler, chosen)
        size = len(self._given)
        self._workload = Workload(workload.platform, tuple(map(_as_submitted, self._given)))
        counts = _counts(workload, settings)
        compiled_choose()
        prepare(self._policy, size)
        self._run = Run(
            self._workload,
            self._policy,
            placement=None if counts is not None else False,
            counts=None if counts is None else counts.tolist(),
            buffer=settings.buffer,
            held=range(size),
            stoppable=settings.kill,
            trace=trace,
            check=check,
        )
        self._columns = _Columns.of(self._workload, self._run, self._policy)
        self._placer = None if counts is None else _Placer(workload, self._columns, counts, settings)
        self._requested = np.array(
            [
                alone if one.requested is None else one.requested
                for one, alone in zip(self._given, self._columns.alone, strict=True)
            ]
        )
        self._submit = np.array([one.release for one in self._workload.applications])
        leads = np.array([one.lead for one in self._given])
        self._known = KnownJobs(
            submit=self._submit,
            nodes=self._columns.nodes,
            seconds=self._requested,
            load=self._columns.load,
            iteration=(self._columns.alone - leads) / np.maximum(1, self._run.chains.operations),
            occupation=self._columns.load * self._columns.alone,
            release=np.array([one.started for one in self._given]),
        )
        self._report, self._traced = progress, trace
        self._killed, self._kill_at = np.zeros(size, np.bool_), np.full(size, math.inf)
        self._ended = 0
        wakes = self._known.release if self._name == RECORDED else None
        self._queue = JobQueue(self._known, self._nodes, self._name, scheduler, wakes)
        self._meter = _Meter(self._run, self._columns, float(self._submit.min()))

    def run(self) -> MachineRun:
        """Run all jobs to their ends."""
        self._queue.run(self, self._stopped)
        return self._result()

    @property
    def now(self) -> float:
        """The date in seconds."""
        return self._run.now

    def start(self, index: int) -> None:
        """Start the job number `index` now, on I/O resources that are chosen now."""
        if self._settings.kill and self._given[index].requested is not None:
            self._kill_at[index] = self.now + self._requested[index]
        if self._placer is None:
            self._run.start(index)
            return
        used = self._placer.place(index, self._queue.running)
        self._run.start(index, used)
        if self._placer.together:
            self._columns.place_on(index, len(used), self._run)
        self._placer.enter(index)

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`, and return the numbers of the ended jobs."""
        ended = (*self._run.advance(min(until, self._next_kill())), *self._killing())
        for job in ended:
            self._meter.ended(job)
            if self._placer is not None:
                self._placer.leave(job)
        return ended

    def _stopped(self, ended: int, last: bool) -> None:
        """Read the meter and report progress."""
        self._ended += ended
        self._meter.read(self._queue.running, last=last)
        if self._report is not None:
            self._report(self._ended / len(self._given))

    def _next_kill(self) -> float:
        """The next date at which a job is to be ended; only jobs whose time was requested are."""
        return min(self._kill_at[self._queue.running], default=math.inf) if self._settings.kill else math.inf

    def _killing(self) -> Iterator[int]:
        """End the jobs whose time is over."""
        if not self._settings.kill:
            return
        for job in [job for job in self._queue.running if self._kill_at[job] <= self.now and not self._run.has_ended(job)]:
            self._run.stop(job)
            self._killed[job] = True
            yield job

    def _result(self) -> MachineRun:
        done = self._run.accounts()
        jobs = RunOfJobs(
            names=tuple(one.name for one in self._given),
            users=tuple(one.user for one in self._given),
            groups=tuple(one.group for one in self._given),
            nodes=self._columns.nodes,
            submit=self._submit,
            requested=self._requested,
            asked=np.array([one.requested is not None for one in self._given]),
            alone=self._columns.alone,
            volume=done["transferred"],
            start=self._queue.start,
            end=self._queue.end,
            worked=done["worked"],
            transferring=done["progress"] - done["worked"],
            resources=None if self._placer is None else tuple(self._placer.places),
            backfilled=self._queue.backfilled,
            killed=self._killed,
        )
        carried = self._columns.seconds_of(jobs.resources, self._run, jobs.volume)
        return MachineRun(
            scheduler=self._name,
            policy=self._policy.name,
            nodes=self._nodes,
            stores=self._run.layout.stores,
            jobs_run=jobs,
            progress=self._meter.progress(),
            store_seconds=carried,
            notes=tuple(self._notes(jobs, carried)),
            events=self._run.events,
            engine_seconds=self._run.computing_seconds,
            seconds=time.perf_counter() - self._begun,
            settings=self._settings.given,
            trace=self._run.result().trace if self._traced else None,
        )

    def _notes(self, jobs: RunOfJobs, carried: Floats) -> Iterator[str]:
        """What a reader of the figures must know, counted."""
        total = f"of {len(jobs):,} jobs"
        counted = (
            (np.diff(self._submit) < 0.0, "come after jobs submitted later; they are taken in the order of submission"),
            (
                ~jobs.asked,
                "have no requested time; they are planned with their time alone",
            ),
            (self._columns.alone > self._requested * (1.0 + SAME_AMOUNT), "take longer than requested even alone"),
            (jobs.ran_over & ~jobs.killed, "had their nodes for longer than requested, to their ends"),
            (jobs.killed, "were ended at their requested time"),
            (self._columns.load == 0.0, "have no I/O"),
            (self._columns.alone == 0.0, "take no time; their slowdown is 1"),
        )
        for which, what in counted:
            count = int(np.count_nonzero(which))
            if count:
                yield f"{count:,} {total} {what}"
        users = sum(one.user is None for one in self._given)
        if 0 < users < len(jobs):
            yield f"{users:,} {total} have no user"
        released = sum(one.submit is not None and one.release > one.submit for one in self._given)
        if released and self._name != RECORDED:
            yield f"{released:,} {total} are released after their submission; only the scheduler recorded goes by that"
        unused = int(np.count_nonzero(carried == 0.0)) if jobs.resources is not None else 0
        if unused:
            yield f"{unused:,} of {len(carried):,} I/O resources carried nothing"


@dataclass(frozen=True, eq=False)
class _Columns:
    """The jobs as columns: seconds, and units of the engine by store."""

    nodes: Ints
    work: Floats
    """Seconds of work, lead included."""
    alone: Floats
    """Seconds alone."""
    volume: Floats
    """Bytes."""
    occupies: Floats
    """Part of the time of each of its stores that it occupies on average, alone."""
    per_byte: Floats
    """Seconds of all stores that a byte of it takes at their full rate."""
    load: Floats
    """Part of the I/O system that it occupies on average, alone."""
    capacity: float
    """Units/s of a store."""
    exclusive: bool
    """Whether a transfer has its stores for itself, however slow it is."""

    @classmethod
    def of(cls, workload: Workload, run: Run, policy: Policy) -> _Columns:
        """The columns of the jobs of a `run`."""
        chains, layout = run.chains, run.layout
        io = chains.kinds != WORK
        first = chains.first[:-1]
        units = np.add.reduceat(np.where(io, chains.amounts, 0.0), first)
        seconds = np.add.reduceat(np.where(io, chains.seconds, 0.0), first)
        alone = chains.cycle + np.array([one.lead for one in workload.applications])
        exclusive = policy.family == EXCLUSIVE
        occupies = ratio(seconds if exclusive else units / layout.limits[0], alone, 0.0)
        per_byte = layout.counts / layout.bytes / (layout.limits[0] * layout.stores)
        nodes = np.array([one.nodes for one in workload.applications], np.int64)
        load = occupies * layout.counts / layout.stores
        volume = units * layout.bytes
        return cls(nodes, alone - seconds, alone, volume, occupies, per_byte, load, layout.limits[0], exclusive)

    def place_on(self, job: int, count: int, run: Run) -> None:
        """Record that a `job` uses `count` I/O resources of a `run`, in place of what was assumed before its start."""
        each, self.alone[job] = float(run.layout.bytes[job]), run.seconds_alone(job)
        busy = self.alone[job] - self.work[job] if self.exclusive else self.volume[job] / each / self.capacity
        self.occupies[job] = busy / self.alone[job] if self.alone[job] > 0.0 else 0.0
        self.per_byte[job] = count / each / (self.capacity * run.layout.stores)

    def seconds_of(self, places: Sequence[Sequence[int]] | None, run: Run, moved: Floats) -> Floats:
        """Seconds at full rate that each store of a `run` carried, of jobs that `moved` so many bytes."""
        seconds = moved / run.layout.bytes / self.capacity
        if places is None:
            return np.array([seconds.sum()])
        counts = [len(used) for used in places]
        where = np.fromiter((resource for used in places for resource in used), np.int64, sum(counts))
        carried: Floats = np.bincount(where, np.repeat(seconds, counts), minlength=run.layout.stores).astype(np.float64)
        return carried


def _counts(workload: Workload, settings: MachineSettings) -> Ints | None:
    """How many I/O resources each job is allotted; None on one link."""
    if workload.platform.resources is None:
        for name in ("allocation", "placement"):
            if name in settings.given:
                raise InputError(name, f"{settings.given[name]}, but all share one link; expected platform.resources")
        return None
    size, members = workload.platform.resources or 1, workload.applications
    if settings.placement == "file":
        missing = next((index for index, one in enumerate(members) if one.placement is None), None)
        if missing is not None:
            raise InputError(f"applications[{missing}]", "the key 'placement' is missing; expected it for placement file")
        return np.array([len(one.placement or ()) for one in members], np.int64)
    if settings.allocation == "all":
        return np.full(len(members), size, np.int64)
    given = settings.allocation
    if not isinstance(given, str):
        counts = np.array(given if isinstance(given, tuple) else [given] * len(members), np.int64)
        if len(counts) != len(members):
            raise InputError("allocation", f"{len(counts)} numbers for {len(members)} jobs; expected one for each")
        wrong = counts[(counts < 1) | (counts > size)]
        if len(wrong):
            raise InputError("allocation", f"{wrong[0]} I/O resources of {size}; expected 1 to {size}")
        return counts
    if given in AT_STARTS:
        return np.full(len(members), size, np.int64)
    return find_allocation(given).counts(_characteristics(workload), np.random.default_rng(settings.seed))


def _characteristics(workload: Workload) -> Characteristics:
    """The jobs as allocations know them, with a curve for each."""
    return Characteristics.of(workload, [curve_on(one, workload) for one in workload.applications])


def curve_on(application: Application, workload: Workload) -> Curve:
    """The curve of an `application` of the `workload`; without one, each resource carries B/N up to its own bandwidth."""
    if application.curve is not None:
        return application.curve
    platform = workload.platform
    size, cap = platform.resources or 1, application.cap(platform)
    each = platform.bandwidth / size
    enough = min(size, max(1, math.ceil(cap / each * (1.0 - SAME_AMOUNT))))
    counts = sorted({1, max(1, enough - 1), enough})
    return Curve(tuple(counts), tuple(min(cap, count * each) for count in counts))


class _Placer:
    """Chooses the I/O resources of jobs that start: how many, unless that is known before, and which."""

    def __init__(self, workload: Workload, columns: _Columns, counts: Ints, settings: MachineSettings) -> None:
        self.places: list[tuple[int, ...]] = [()] * len(counts)
        self._allot = None if settings.placement == "file" else AT_STARTS.get(str(settings.allocation))
        self.together = self._allot is not None
        self._given = workload.applications
        self._counts, self._columns = counts, columns
        self._known = _characteristics(workload) if self.together else None
        self._rule = settings.placement
        self._load = np.zeros(workload.platform.resources or 1)
        self._random = np.random.default_rng(settings.seed)
        self._next = 0

    def place(self, job: int, running: Sequence[int]) -> tuple[int, ...]:
        """Choose the resources of a job that starts now beside others that are `running`."""
        count = int(self._counts[job])
        if self._known is not None and self._allot is not None:
            count = int(self._allot(self._known.some([*running, job]))[-1])
        self.places[job] = used = tuple(sorted(self._choose(job, count)))
        return used

    def enter(self, job: int) -> None:
        """Add the load of a job, which has been placed."""
        self._load[list(self.places[job])] += self._columns.occupies[job]

    def leave(self, job: int) -> None:
        """Subtract the load of a job that ends now."""
        self._load[list(self.places[job])] -= self._columns.occupies[job]

    def _choose(self, job: int, count: int) -> list[int]:
        size = len(self._load)
        if self._rule == "file":
            return list(self._given[job].placement or ())
        if self._rule == "in-turn":
            chosen = [(self._next + step) % size for step in range(count)]
            self._next = (self._next + count) % size
            return chosen
        if self._rule == "random":
            drawn: list[int] = self._random.choice(size, count, replace=False).tolist()
            return drawn
        # Loads are sums that come and go: what differs by less than a part in 10^9 of a resource is equal.
        least: list[int] = np.argsort(np.round(self._load, 9), kind="stable")[:count].tolist()
        return least


class _Meter:
    """Reads what all jobs have done and moved whenever the run stops."""

    def __init__(self, run: Run, columns: _Columns, begin: float) -> None:
        self._run, self._columns = run, columns
        self._readings = Readings(begin)
        self._done = np.zeros(2)

    def ended(self, job: int) -> None:
        """Enter a job that has ended."""
        self._done += self._sums(np.array([job]))

    def read(self, running: Sequence[int], *, last: bool) -> None:
        """Take a reading now, with these jobs `running`; the `last` one is always taken."""
        if self._readings.due(last=last):
            executed, moved = self._done + self._sums(np.array(running, np.int64))
            self._readings.add(self._run.now, float(executed), float(moved))

    def _sums(self, jobs: Ints) -> Floats:
        """Node-seconds executed by the jobs, and seconds of all the bandwidth that they used."""
        done = self._run.accounts(jobs)
        return np.array(
            [
                (self._columns.nodes[jobs] * done["progress"]).sum(),
                (done["transferred"] * self._columns.per_byte[jobs]).sum(),
            ]
        )

    def progress(self) -> Progress:
        """All readings."""
        return self._readings.progress()
