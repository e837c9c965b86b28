"""Schedulers against their definitions, at random moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.planning.schedulers import SCHEDULERS, KnownJobs, Moment, SchedulerSettings, heavy, scheduler_of
from tests.naive.profiles import examples

NODES = 8


@st.composite
def moments(draw: Any) -> Moment:
    """A machine of 8 nodes: some jobs run, of which some should have ended, others wait. Loads are sixteenths."""
    free, running, waiting = NODES, 0, draw(st.integers(0, 7))
    nodes = []
    for _ in range(draw(st.integers(0, 5))):
        size = draw(st.integers(1, NODES))
        if size <= free:
            free -= size
            running += 1
            nodes.append(size)
    nodes += draw(st.lists(st.integers(1, NODES), min_size=waiting, max_size=waiting))
    size = len(nodes)
    seconds = [float(draw(st.integers(1, 12))) for _ in range(size)]
    loads = [draw(st.sampled_from([0.0, 0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4])) for _ in range(size)]
    ends = [100.0 + draw(st.integers(0, 12)) for _ in range(running)]
    jobs = KnownJobs(
        submit=np.zeros(size),
        nodes=np.array(nodes, np.int64),
        seconds=np.array(seconds),
        load=np.array(loads),
        iteration=np.array(seconds),
        occupation=np.array(loads) * np.array(seconds),
        release=np.zeros(size),
    )
    numbers = np.arange(size)
    return Moment(100.0, free, numbers[running:], numbers[:running], np.array(ends), jobs, NODES)


Taken = list[tuple[float, float, int]]


def taken_by_running(moment: Moment) -> Taken:
    """From when, until when and how many nodes. Who should have ended has its nodes now, and for no time."""
    return [
        (moment.now, float(end), int(moment.jobs.nodes[job])) for job, end in zip(moment.running, moment.ends, strict=True)
    ]


def earliest(moment: Moment, taken: Taken, job: int) -> float:
    """The first date at which the nodes for a job are free for as long as it is requested."""
    length, nodes = float(moment.jobs.seconds[job]), int(moment.jobs.nodes[job])
    for begin in sorted({moment.now, *(end for _, end, _ in taken)}):
        dates = [begin, *(first for first, _, _ in taken if begin < first < begin + length)]
        if all(sum(size for first, last, size in taken if first <= at < last) + nodes <= NODES for at in dates):
            return begin
    raise AssertionError("it fits when all are gone")


def starts(name: str, moment: Moment, **settings: Any) -> list[int]:
    return list(scheduler_of(name, SchedulerSettings(**settings))[1](moment))


def place(moment: Moment, job: int) -> tuple[float, float, int]:
    return (moment.now, moment.now + float(moment.jobs.seconds[job]), int(moment.jobs.nodes[job]))


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
@examples(60)
@given(moment=moments())
def test_every_scheduler_starts_different_jobs_of_the_queue_within_the_free_nodes(name: str, moment: Moment) -> None:
    started = starts(name, moment)
    assert len(set(started)) == len(started)
    assert set(started) <= set(moment.queue.tolist())
    assert int(moment.jobs.nodes[started].sum()) <= moment.free
    if not len(moment.running) and len(moment.queue):
        assert started


@examples(300)
@given(moments())
def test_easy_delays_the_reservation_of_nobody_but_starts_whom_it_can(moment: Moment) -> None:
    started = starts("easy", moment)
    queue, taken, free = moment.queue.tolist(), taken_by_running(moment), moment.free
    while queue and int(moment.jobs.nodes[queue[0]]) <= free:  # first come, first served
        job = queue.pop(0)
        assert job in started
        taken.append(place(moment, job))
        free -= int(moment.jobs.nodes[job])
    if not queue:
        return
    head = queue.pop(0)
    assert head not in started
    reserved = earliest(moment, taken, head)
    for job in queue:
        harmless = earliest(moment, [*taken, place(moment, job)], head) <= reserved
        assert (job in started) == (harmless and int(moment.jobs.nodes[job]) <= free)
        if job in started:
            taken.append(place(moment, job))
            free -= int(moment.jobs.nodes[job])
    assert earliest(moment, taken, head) == reserved


@examples(300)
@given(moments())
def test_conservative_delays_the_reservation_of_nobody(moment: Moment) -> None:
    started = starts("conservative", moment)
    taken, free = taken_by_running(moment), moment.free
    for job in moment.queue.tolist():
        begin = earliest(moment, taken, job)
        now = begin == moment.now and int(moment.jobs.nodes[job]) <= free
        assert (job in started) == now
        taken.append((begin, begin + float(moment.jobs.seconds[job]), int(moment.jobs.nodes[job])))
        free -= int(moment.jobs.nodes[job]) if now else 0


@examples(300)
@given(moments(), st.sampled_from([0.25, 0.5, 1.0]))
def test_fcfs_and_list_start_the_first_of_the_queue_alone(moment: Moment, limit: float) -> None:
    jobs = moment.jobs
    for name in ("fcfs", "list"):
        started = starts(name, moment, limit=limit)
        assert started == moment.queue.tolist()[: len(started)]
        if len(started) < len(moment.queue):
            first = int(moment.queue[len(started)])
            there = [*moment.running.tolist(), *started]
            nodes = int(jobs.nodes[there].sum() + jobs.nodes[first])
            load = float(jobs.load[there].sum() + jobs.load[first])
            lone = not (jobs.load[there] > 0.0).any() or jobs.load[first] == 0.0
            assert nodes > NODES or (name == "list" and load > limit and not lone)


@examples(300)
@given(moments(), st.sampled_from([0.25, 0.5, 1.0]))
def test_two_group_starts_no_heavy_job_above_the_limit(moment: Moment, limit: float) -> None:
    jobs, there = moment.jobs, moment.running.tolist()
    many = heavy(jobs, NODES, limit)
    started = starts("two-group", moment, limit=limit)
    for job in started:
        load = float(jobs.load[there].sum())
        if many[job] and (jobs.load[there] > 0.0).any():
            assert load + jobs.load[job] <= limit
        there.append(job)
    if not many.any():  # without heavy jobs it is EASY
        assert started == starts("easy", moment)


def test_a_light_job_passes_a_heavy_one_that_waits() -> None:
    # 8 nodes, limit 1/2. Job 0 runs with a load of 1/2 until 110. Job 1, 1 node and 1/4, is heavy, above 1/16 a node: it
    # waits. Job 2 is light and ends before 110. Job 3 is light and ends later: of 1/2 then 1/4 is left, so it starts too.
    jobs = KnownJobs(
        submit=np.zeros(4),
        nodes=np.array([2, 1, 1, 1], np.int64),
        seconds=np.array([10.0, 10.0, 5.0, 20.0]),
        load=np.array([1 / 2, 1 / 4, 1 / 16, 1 / 16]),
        iteration=np.ones(4),
        occupation=np.ones(4),
        release=np.zeros(4),
    )
    moment = Moment(100.0, 6, np.array([1, 2, 3]), np.array([0]), np.array([110.0]), jobs, NODES)
    assert starts("two-group", moment, limit=0.5) == [2, 3]
    assert starts("easy", moment) == [1, 2, 3]
    # With a load of 1/2 itself it needs all of the limit at 110: nobody who does I/O may still run then.
    whole = moment._replace(jobs=KnownJobs(**{**vars(jobs), "load": np.array([1 / 2, 1 / 2, 1 / 16, 1 / 16])}))
    assert starts("two-group", whole, limit=0.5) == [2]


def test_the_depth_limits_whom_easy_looks_at() -> None:
    jobs = KnownJobs(
        submit=np.zeros(4),
        nodes=np.array([6, 8, 8, 2], np.int64),
        seconds=np.array([10.0, 10.0, 5.0, 5.0]),
        load=np.zeros(4),
        iteration=np.ones(4),
        occupation=np.zeros(4),
        release=np.zeros(4),
    )
    moment = Moment(100.0, 2, np.array([1, 2, 3]), np.array([0]), np.array([110.0]), jobs, NODES)
    assert starts("easy", moment) == [3]
    assert starts("easy", moment, depth=1) == []
    assert starts("easy", moment, depth=2) == [3]


def test_an_unknown_scheduler_is_refused_with_what_there_is() -> None:
    with pytest.raises(InputError, match="expected one of easy, conservative, fcfs"):
        scheduler_of("mine", SchedulerSettings())
    with pytest.raises(InputError, match="order"):
        scheduler_of("packs", SchedulerSettings(order="best"))
