"""What holds of every schedule, whatever the strategy."""

from __future__ import annotations

import math

import numpy as np

from penstock.planning.schedule import Schedule
from tests.naive.compare import close


def assert_lawful(schedule: Schedule) -> None:
    outcome, jobs, machine = schedule.outcome, schedule.jobs, schedule.machine
    assert np.isfinite(outcome.start).all()
    assert (outcome.start >= jobs.release).all()
    assert (outcome.end - outcome.start >= jobs.seconds - 1e-9).all()
    assert ((outcome.io_node >= 0) & (outcome.io_node < machine.io_nodes)).all()
    for io_node in range(machine.io_nodes):
        _assert_room(schedule, np.flatnonzero(outcome.io_node == io_node))
    if schedule.plan:
        _assert_packs(schedule)
    else:
        assert (outcome.pack == -1).all()
        assert not schedule.packs
    _assert_accounts(schedule)


def _assert_room(schedule: Schedule, mine: np.ndarray) -> None:
    """At every start there are nodes and, in a list, bandwidth for all that run then."""
    outcome, jobs = schedule.outcome, schedule.jobs
    limit = schedule.sensibility * (1 + 1e-9)
    for start in outcome.start[mine]:
        there = [job for job in mine if outcome.start[job] <= start < outcome.end[job]]
        assert sum(jobs.nodes[there]) <= schedule.machine.nodes
        loads = [jobs.load[job] for job in there if jobs.load[job] > 0.0]
        if schedule.strategy.mapping == "list":
            assert len(loads) <= 1 or math.fsum(loads) <= limit


def _assert_packs(schedule: Schedule) -> None:
    outcome, jobs, machine = schedule.outcome, schedule.jobs, schedule.machine
    members = [job for pack in schedule.packs for job in (*pack.planned.jobs, *pack.joined)]
    assert sorted(members) == list(range(len(jobs)))
    planned = sorted(job for pack in schedule.plan for job in pack.jobs)
    # Jobs that are released while a pack runs may join it and so are in no plan.
    assert planned == sorted(set(planned))
    assert len(planned) == len(jobs) or (schedule.strategy.backfill and jobs.release.max() > jobs.begin)
    numbers = [pack.number for pack in schedule.packs]
    assert numbers == sorted(set(numbers))
    last = dict.fromkeys(range(machine.io_nodes), -math.inf)
    for pack in schedule.packs:
        planned = list(pack.planned.jobs)
        assert pack.start >= last[pack.io_node]
        last[pack.io_node] = pack.end
        assert (outcome.start[planned] == pack.start).all()
        assert max(outcome.end[[*planned, *pack.joined]]) == pack.end
        assert (outcome.pack[[*planned, *pack.joined]] == pack.number).all()
        for job in pack.joined:
            assert outcome.backfilled[job]
            assert outcome.start[job] + jobs.seconds[job] <= pack.start + pack.planned.seconds + 1e-6
        occupation = pack.planned.occupation + sum(jobs.occupation[list(pack.joined)])
        limit = schedule.sensibility * pack.planned.seconds
        assert len(planned) == 1 or math.isinf(schedule.sensibility) or occupation <= limit * (1 + 1e-9)


def _assert_accounts(schedule: Schedule) -> None:
    jobs = schedule.jobs
    assert schedule.executing + schedule.delayed + schedule.idle == close(schedule.capacity)
    assert schedule.executing == close(sum(jobs.nodes * jobs.seconds))
    assert schedule.max_stretch >= schedule.mean_stretch >= 1 - 1e-9
    assert schedule.makespan == schedule.end - min(jobs.release)
    done = schedule.progress
    assert (np.diff(done.date) >= 0.0).all()
    assert (np.diff(done.executed) >= -1e-9).all()
    assert done.executed[-1] == close(schedule.executing)
    assert done.moved[-1] == close(sum(jobs.volume))
    assert done.date[-1] == close(schedule.end)
    line = schedule.over_time(7)
    assert line.utilization[-1] == close(schedule.utilization)
    assert (line.nodes <= 1 + 1e-9).all()
    assert (line.window_utilization <= 1 + 1e-9).all()
    assert (line.window_bandwidth <= 1 + 1e-6).all()
