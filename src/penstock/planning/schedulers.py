"""Batch schedulers of a whole machine: which of the waiting jobs start now, from what is known now.

A scheduler is one function of a `Moment`: the nodes that are free, the queue in the order of submission, the running jobs
with their predicted ends. It returns the jobs that start. It knows of each job its nodes, the wall time that its user
requested and the average load of its I/O, as monitoring of former runs tells it. It never knows a job that is not submitted.

A running job is predicted to end at its start plus the requested time, or now if it should have ended.

- `fcfs`: the first job of the queue starts when its nodes are free; no job overtakes it.
- `easy`: the first job that does not fit gets a reservation, the earliest date by predicted ends. A later job starts now if
  its nodes are free and it does not delay this reservation: it is predicted to end before, or needs no node of it (EASY).
- `conservative`: every job, in order, gets the earliest reservation that delays none before it (`list_scheduling`).
- `list`: as `fcfs`, and the loads of the running jobs add up to at most the limit; `list-backfill` is `conservative` with
  this limit.
- `two-group`: as `easy`, where heavy jobs wait as long as the load would exceed the limit. A job is heavy if its load is
  above its part of the limit by nodes. The others are light: if all nodes ran them, the load would not exceed the limit. So
  they never wait for I/O, but to keep the reservation of a heavy one.

- `packs`: when nothing runs, packs are made of all jobs that wait (`packs.make_packs`, T being the requested time), and the
  first of them starts, that with most nodes. Where no job has come since, the packs that were made before go on. With
  `packs-backfill` a job joins the running pack if its nodes are free, it is
  predicted to end before the pack, and the pack with it keeps to the limit; jobs of the other packs come first.

The load of a job is the part of the I/O system that it occupies on average, alone. A job without I/O has none, and one that
has the I/O system for itself may exceed the limit.

Cost of a decision with q queued and r running jobs: r log r + q for `easy`, `fcfs`, `list` and `two-group`, and
depth · (r + depth) for the conservative ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.model import InputError
from penstock.model.errors import nearest
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel, kernel
from penstock.numeric.tolerances import SAME_AMOUNT, SAME_TIME_S
from penstock.planning.list_scheduling import reserve
from penstock.planning.packs import ORDERS, compiled_make_packs, fits_load, longest_first
from penstock.planning.strategy import DEFAULT_DEPTH

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KnownJobs:
    """What a scheduler knows of the jobs, one entry each in the order of the workload."""

    submit: Floats
    nodes: Ints
    seconds: Floats
    """Wall time requested."""
    load: Floats
    """Part of the I/O system that it occupies on average, alone."""
    iteration: Floats
    """Mean seconds of an iteration, alone; all its time without I/O."""
    occupation: Floats
    """Seconds for which all its I/O, alone, would occupy the I/O system."""
    release: Floats
    """When it was recorded to start, else its release; for `recorded`."""


class Moment(NamedTuple):
    """What a scheduler sees when it is asked."""

    now: float
    free: int
    """Nodes."""
    queue: Ints
    """The jobs that are submitted and wait, in the order of submission."""
    running: Ints
    ends: Floats
    """Predicted ends of the running jobs, now or later."""
    jobs: KnownJobs
    """All jobs, by number; those that are not in the queue and do not run are none of its business."""
    machine: int
    """Nodes of the machine."""


Scheduler: TypeAlias = Callable[[Moment], Sequence[int]]
"""Returns the jobs that start now, in this order."""


@dataclass(frozen=True)
class SchedulerSettings:
    """Settings of schedulers; each uses those that concern it.

    Args:
        limit: the load of running jobs that I/O-aware schedulers keep to, 1 for all of the I/O system.
        depth: waiting jobs that backfilling looks at; by default 100 for conservative backfilling, all for EASY.
        order: how jobs are put into packs: `max`, `random` or `char`.
    """

    limit: float = 1.0
    depth: int | None = None
    order: str = "max"


@dataclass(frozen=True)
class SchedulerKind:
    """A scheduler in the registry: `make` makes it from the settings."""

    name: str
    make: Callable[[SchedulerSettings], Scheduler]
    summary: str
    limited: bool = False
    """Whether it looks at I/O, and so uses the limit."""
    backfills: bool = False
    """Whether it uses the depth."""


@inlined_kernel
def _room(free: int, load: float, with_io: int, nodes: int, own: float, is_limited: bool, limit: float) -> bool:
    """Whether a job of so many nodes and its own load fits beside running jobs."""
    if nodes > free:
        return False
    return bool(not is_limited or own == 0.0 or with_io == 0 or load + own <= limit * (1.0 + SAME_AMOUNT))


class _Reservation(NamedTuple):
    """Of the first job that waits: its predicted start, and the nodes and load that are left beside it then."""

    start: float
    spare: int
    load: float


@inlined_kernel
def _reservation(
    free: int,
    load: float,
    with_io: int,
    limit: float,
    head: int,
    order: Ints,
    dates: Floats,
    members: Ints,
    nodes: Ints,
    loads: Floats,
    is_limited: Flags,
) -> _Reservation:
    """Find the first predicted end, of the `members` in this `order`, after which the job `head` fits."""
    start = np.inf
    for k in range(len(order)):
        if dates[order[k]] > start + SAME_TIME_S:
            break
        job = members[order[k]]
        free += nodes[job]
        with_io -= loads[job] > 0.0
        load = max(0.0, load - loads[job]) if with_io > 0 else 0.0
        if start == np.inf and _room(free, load, with_io, nodes[head], loads[head], is_limited[head], limit):
            start = dates[order[k]]
    spare = limit * (1.0 + SAME_AMOUNT) - loads[head] - load if is_limited[head] and loads[head] > 0.0 else np.inf
    return _Reservation(start, free - nodes[head], spare)


def _choose(
    now: float,
    free: int,
    limit: float,
    depth: int,
    running: Ints,
    ends: Floats,
    queue: Ints,
    nodes: Ints,
    seconds: Floats,
    loads: Floats,
    is_limited: Flags,
    chosen: Flags,
) -> None:
    """Mark the jobs of the queue that start now: the first ones while they fit, then up to `depth` others behind the head.

    The last array takes the result.
    """
    load, with_io = 0.0, 0
    for job in running:
        load += loads[job]
        with_io += loads[job] > 0.0
    chosen[:] = False
    head = 0
    while head < len(queue):
        job = queue[head]
        if not _room(free, load, with_io, nodes[job], loads[job], is_limited[job], limit):
            break
        chosen[head] = True
        free, load, with_io = free - nodes[job], load + loads[job], with_io + (loads[job] > 0.0)
        head += 1
    if depth == 0 or head + 1 >= len(queue):
        return
    dates, members = np.concatenate((ends, now + seconds[queue[:head]])), np.concatenate((running, queue[:head]))
    order = np.argsort(dates, kind="mergesort")
    kept = _reservation(free, load, with_io, limit, queue[head], order, dates, members, nodes, loads, is_limited)
    spare, load_spare = kept.spare, kept.load
    for place in range(head + 1, min(len(queue), head + 1 + depth)):
        job = queue[place]
        if not _room(free, load, with_io, nodes[job], loads[job], is_limited[job], limit):
            continue
        lasts = now + seconds[job] > kept.start + SAME_TIME_S
        if lasts and (nodes[job] > spare or (loads[job] > 0.0 and loads[job] > load_spare)):
            continue
        chosen[place] = True
        free, load, with_io = free - nodes[job], load + loads[job], with_io + (loads[job] > 0.0)
        if lasts:
            spare, load_spare = spare - nodes[job], load_spare - loads[job]


@cache
def compiled_choose() -> Callable[..., None]:
    """`_choose`, compiled."""
    floats, ints, flags = types.float64[::1], types.int64[::1], types.boolean[::1]
    whole, real = types.int64, types.float64
    arguments: tuple[Any, ...] = (real, whole, real, whole, ints, floats, ints, ints, floats, floats, flags, flags)
    return kernel(_choose, types.void(*arguments), "the batch scheduler")


def _in_order(settings: SchedulerSettings, which: Callable[[Moment], Flags] | None, depth: int | None = None) -> Scheduler:
    """First come, first served, with up to `depth` jobs that may be backfilled; `which` jobs keep to the limit."""
    looked_at = settings.depth if depth is None else depth
    most = np.iinfo(np.int64).max // 2 if looked_at is None else looked_at
    kept: list[tuple[KnownJobs, Flags]] = []

    def starting(moment: Moment) -> Sequence[int]:
        jobs = moment.jobs
        chosen = np.empty(len(moment.queue), np.bool_)
        if not kept or kept[0][0] is not jobs:  # found once for all decisions: there are as many as jobs
            kept[:] = [(jobs, np.zeros(len(jobs.nodes), np.bool_) if which is None else which(moment))]
        is_limited = kept[0][1]
        arguments = (moment.running, moment.ends, moment.queue, jobs.nodes, jobs.seconds, jobs.load, is_limited, chosen)
        compiled_choose()(moment.now, moment.free, settings.limit, most, *arguments)
        started: list[int] = moment.queue[chosen].tolist()
        return started

    return starting


def _reserved(settings: SchedulerSettings, *, limited: bool) -> Scheduler:
    """Conservative backfilling; `limited` jobs keep to the limit."""
    depth = DEFAULT_DEPTH if settings.depth is None else settings.depth

    def starting(moment: Moment) -> Sequence[int]:
        jobs = moment.jobs
        planned = jobs if limited else replace(jobs, load=np.zeros(len(jobs.load)))
        running, ends, queue, started = moment.running, moment.ends, moment.queue, []
        while len(queue):
            head = queue[:depth]
            places = (moment.now, moment.machine, settings.limit, running, ends, head)
            more = head[reserve(planned, *places, whole=False).at_once]
            started += more.tolist()
            if not len(more) or len(queue) <= depth:  # no further job has come within the depth
                break
            running, ends = np.concatenate([running, more]), np.concatenate([ends, moment.now + jobs.seconds[more]])
            queue = queue[~np.isin(queue, more)]
        return started

    return starting


def _with_io(moment: Moment) -> Flags:
    return moment.jobs.load > 0.0


def heavy(jobs: KnownJobs, machine: int, limit: float) -> Flags:
    """Which of the `jobs` load the I/O system with more than their part, by nodes of the `machine`, of the `limit`."""
    return jobs.load > limit * jobs.nodes / machine * (1.0 + SAME_AMOUNT)


def recorded(moment: Moment) -> Sequence[int]:
    """Each job at its recorded start, if its nodes are free by then; `moment` has the recorded starts as releases."""
    free, started = moment.free, []
    due = moment.queue[moment.jobs.release[moment.queue] <= moment.now]
    for job in due[np.argsort(moment.jobs.release[due], kind="stable")].tolist():
        if moment.jobs.nodes[job] <= free:
            free -= int(moment.jobs.nodes[job])
            started.append(job)
    return started


class _Packs:
    """The running pack, and the packs that wait, in order; made again when nothing runs and further jobs have come."""

    def __init__(self, settings: SchedulerSettings, *, backfills: bool) -> None:
        if settings.order not in ORDERS:
            raise InputError("order", f"{settings.order!r} is unknown; expected one of {', '.join(ORDERS)}")
        self._settings, self._backfills = settings, backfills
        self._packs: list[list[int]] = []
        self._end = self._seconds = self._occupation = 0.0

    def __call__(self, moment: Moment) -> Sequence[int]:
        if not len(moment.queue):
            return []
        started = [] if len(moment.running) else self._next_pack(moment)
        return started + (self._joining(moment, started) if self._backfills else [])

    def _next_pack(self, moment: Moment) -> list[int]:
        """The jobs of the next pack that have not joined an earlier one."""
        jobs, waiting = moment.jobs, set(moment.queue.tolist())
        left = ([job for job in pack if job in waiting] for pack in self._packs)
        self._packs = [pack for pack in left if pack]
        if waiting.difference(*self._packs):
            self._packs = self._made(moment)
        chosen = self._packs.pop(0)
        self._seconds = float(jobs.seconds[chosen].max())
        self._end, self._occupation = moment.now + self._seconds, float(jobs.occupation[chosen].sum())
        return chosen

    def _made(self, moment: Moment) -> list[list[int]]:
        """Packs of all jobs that wait, in the order in which they run."""
        jobs, queue = moment.jobs, np.sort(moment.queue)
        if self._settings.order != "random":
            queue = longest_first(queue, jobs.seconds if self._settings.order == "max" else jobs.iteration)
        pack_of, place = np.full(len(jobs.nodes), -1, np.int64), np.full(len(jobs.nodes), -1, np.int64)
        columns = (jobs.nodes, jobs.seconds, jobs.occupation)
        count = compiled_make_packs()(queue, *columns, moment.machine, self._settings.limit, pack_of, place)
        packs: list[list[int]] = [[] for _ in range(count)]
        for job in queue.tolist():
            packs[pack_of[job]].append(job)
        return [packs[pack] for pack in place[:count].tolist()]

    def _joining(self, moment: Moment, started: list[int]) -> list[int]:
        """The jobs that join the running pack now, of which `started` are only starting."""
        jobs, free = moment.jobs, moment.free - int(moment.jobs.nodes[started].sum())
        waiting = set(moment.queue.tolist()).difference(started)
        planned = [job for pack in self._packs for job in pack if job in waiting]
        later = waiting.difference(planned)
        joining = []
        for job in [*planned, *(job for job in moment.queue.tolist() if job in later)]:
            occupation = self._occupation + float(jobs.occupation[job])
            in_time = moment.now + float(jobs.seconds[job]) <= self._end + SAME_TIME_S
            if in_time and jobs.nodes[job] <= free and fits_load(occupation, self._seconds, self._settings.limit):
                joining.append(job)
                free -= int(jobs.nodes[job])
                self._occupation = occupation
        return joining


RECORDED: Final = "recorded"
SCHEDULERS: Final = {
    kind.name: kind
    for kind in (
        SchedulerKind(
            "easy", lambda given: _in_order(given, None), "first come, first served, with EASY backfilling", False, True
        ),
        SchedulerKind(
            "conservative", lambda given: _reserved(given, limited=False), "with a reservation for every job", False, True
        ),
        SchedulerKind("fcfs", lambda given: _in_order(given, None, 0), "first come, first served; nobody overtakes"),
        SchedulerKind(
            "list", lambda given: _in_order(given, _with_io, 0), "as fcfs, within the limit of the I/O load", True
        ),
        SchedulerKind(
            "list-backfill", lambda given: _reserved(given, limited=True), "as conservative, within that limit", True, True
        ),
        SchedulerKind(
            "two-group",
            lambda given: _in_order(given, lambda moment: heavy(moment.jobs, moment.machine, given.limit)),
            "as easy; jobs with much I/O wait as long as the load would exceed the limit",
            True,
            True,
        ),
        SchedulerKind(
            "packs", lambda given: _Packs(given, backfills=False), "packs of the jobs that wait, one after the other", True
        ),
        SchedulerKind(
            "packs-backfill",
            lambda given: _Packs(given, backfills=True),
            "packs that other jobs join if they delay nobody",
            True,
        ),
        SchedulerKind(RECORDED, lambda _: recorded, "at the recorded starts, else the releases, if the nodes are free"),
    )
}
"""The schedulers by name; a new one takes a function and a line here."""
SchedulerLike: TypeAlias = str | Scheduler


def scheduler_of(given: SchedulerLike, settings: SchedulerSettings) -> tuple[str, Scheduler]:
    """The name and the function of a scheduler.

    Args:
        given: a name of the registry, or a function of a `Moment` of your own.
        settings: the settings that it is made with.

    Raises:
        InputError: for an unknown name.
    """
    if callable(given):
        return getattr(given, "__name__", "own"), given
    if given not in SCHEDULERS:
        meant = nearest(given, list(SCHEDULERS))
        instead = f"did you mean {meant}?" if meant else f"expected one of {', '.join(SCHEDULERS)}"
        raise InputError("scheduler", f"{given!r} is unknown; {instead}")
    return given, SCHEDULERS[given].make(settings)
