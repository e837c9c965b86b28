"""Whole replays against the slow twin, and the laws they obey, on random workloads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given

from penstock.engine import Buffering, dedicated, simulate
from penstock.engine import Result as Replay
from penstock.engine.scenarios import replay
from penstock.model import Application, Platform, Workload
from penstock.policies import REGISTRY, find
from penstock.policies.policy import STATIC
from tests.engine.instances import Case, cases, from_date_0
from tests.naive.compare import close
from tests.naive.machine import NaiveResult, NaiveRun
from tests.naive.profiles import examples

DYNAMIC = [name for name, policy in REGISTRY.items() if policy.family != STATIC]
VOLUMES = ("direct_written", "drained", "direct_read", "prefetched")


def run(case: Case, **options) -> Replay:
    return replay(case.workload, **case.options, **options, trace=True, check=True)


def twin_of(case: Case, **options) -> NaiveResult:
    return NaiveRun(case.workload, options.pop("policy", "best-effort"), **case.options, **options, to_the_end=True).run()


def assert_twins(found: Replay, twin: NaiveResult) -> None:
    assert list(found.ends) == close([app.end for app in twin.applications])
    assert found.end == close(twin.end)
    assert list(found.earliest) == close([app.earliest for app in twin.applications])
    for name in VOLUMES:
        assert list(getattr(found.buffer, name)) == close([getattr(app, name) for app in twin.applications])
    dates = np.array([date for date, _ in twin.history])
    for index in range(len(twin.applications)):
        content = [float(rows[index].q + rows[index].p) for _, rows in twin.history]
        assert found.buffer.fill.content(index, dates) == pytest.approx(content, rel=1e-7, abs=1e-7)


@examples(120)
@given(cases())
def test_equals_the_slow_twin(case):
    assert_twins(run(case), twin_of(case))


@examples(60)
@given(cases(applications=6, kinds=("work", "write")))
def test_writes_alone_equal_the_slow_twin(case):
    assert_twins(run(case), twin_of(case))


@pytest.mark.parametrize("name", ["fair-share", "fcfs", "greedy-yield", "set-10", "fifo", "longest-remaining", "johnson"])
@examples(20)
@given(cases())
def test_policies_equal_the_slow_twin(name, case):
    twin = twin_of(case, policy=name)
    assume(not twin.doubtful)
    assert_twins(run(case, policy=name), twin)


@examples(20)
@given(cases())
def test_periodic_decisions_equal_the_slow_twin(case):
    name = "periodic-greedy-yield"
    twin = twin_of(case, policy=name, delta=1.3)
    assume(not twin.doubtful)
    assert_twins(run(case, policy=find(f"{name}:delta=1.3")), twin)


@pytest.mark.parametrize("name", DYNAMIC)
@examples(20)
@given(cases())
def test_every_policy_that_can_be_asked_again_obeys_the_laws(name, case):
    assert_laws(case.workload, run(case, policy=name))


@examples(40)
@given(cases(applications=6))
def test_laws(case):
    found = run(case)
    assert_laws(case.workload, found)
    phases = sum(len(application.phases) for application in case.workload.applications)
    # A phase begins and ends, data come to an end after it, and each of these may be followed by a full space or a level.
    assert found.events <= 10 * phases


def assert_laws(workload: Workload, found: Replay) -> None:
    """Conservation, limits and room, from the trace and the totals alone."""
    platform, fill = workload.platform, found.buffer.fill
    size = len(workload.applications)
    dates = fill.dates
    write, read, content = (np.zeros((size, len(dates))) for _ in range(3))
    grown_out, grown_in = np.zeros((size, len(dates))), np.zeros((size, len(dates)))
    for index, application in enumerate(workload.applications):
        own = fill.rows(np.flatnonzero(fill.application == index))
        phases = list(application.phases)
        written = sum(amount for kind, amount in phases if kind in ("io", "write"))
        got = sum(amount for kind, amount in phases if kind == "read")
        assert found.buffer.direct_written[index] + found.buffer.drained[index] == close(written)
        assert found.buffer.direct_read[index] + found.buffer.prefetched[index] == close(got)
        assert found.ends[index] >= found.earliest[index] * (1.0 - 1e-12)
        if not len(own.date):
            assert written == got == 0.0
            continue
        assert own.write_rate[-1] == own.read_rate[-1] == 0.0
        assert own.outgoing[-1] == own.incoming[-1] == 0.0
        lengths = np.diff(own.date, append=own.date[-1])
        assert lengths @ own.write_rate == close(written)
        assert lengths @ own.read_rate == close(got)
        place = np.searchsorted(own.date, dates, "right") - 1
        write[index] = np.where(place >= 0, own.write_rate[place], 0.0)
        read[index] = np.where(place >= 0, own.read_rate[place], 0.0)
        content[index] = fill.content(index, dates)
        grown_out[index, :-1] = np.diff(np.interp(dates, own.date, own.outgoing))
        grown_in[index, :-1] = np.diff(np.interp(dates, own.date, own.incoming))
        assert write[index].max() <= min(application.write_speed(platform), platform.write_limit) * (1 + 1e-12)
        assert read[index].max() <= min(application.read_speed(platform), platform.read_limit) * (1 + 1e-12)
    if not len(dates):
        return
    assert write.sum(axis=0).max() <= platform.write_limit * (1.0 + 1e-9)
    assert read.sum(axis=0).max() <= platform.read_limit * (1.0 + 1e-9)
    assert (write + read).sum(axis=0).max() <= platform.bandwidth * (1.0 + 1e-9)
    assert content.min() >= -1e-9
    spaces = found.buffer.shares if found.buffer.shares is not None else np.array([found.buffer.pool])
    held = content if found.buffer.shares is not None else content.sum(axis=0, keepdims=True)
    assert np.all(held.max(axis=1) <= spaces * (1.0 + 1e-9) + 1e-9)
    assert held.max(axis=1) == pytest.approx(found.buffer.peaks, rel=1e-9, abs=1e-9)
    if platform.buffer is not None:
        inflow = np.maximum(grown_out, 0.0).sum(axis=0) + np.maximum(grown_in, 0.0).sum(axis=0)
        seconds = np.diff(dates, append=dates[-1])
        assert np.all(inflow <= platform.buffer.bandwidth * seconds * (1.0 + 1e-9) + 1e-9)


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("shared", [True, False])
@examples(20)
@given(from_date_0())
def test_no_buffer_is_the_engine(name, shared, workload):
    size = len(workload.applications)
    found = replay(workload, policy=name, capped=True, **({"pool": 0.0} if shared else {"shares": np.zeros(size)}))
    known = simulate(workload, name)
    if known.events != found.events or list(found.ends) != close([application.end for application in known.applications]):
        twin = NaiveRun(workload, name, delta=dedicated(workload).default_delta if REGISTRY[name].periodic else None).run()
        assume(not twin.doubtful)  # the two add up in different orders
    assert list(found.ends) == close([application.end for application in known.applications])
    assert found.events == known.events
    assert found.end == close(max(found.ends))
    assert np.all(found.buffer.drained == 0.0)


@examples(20)
@given(cases(kinds=("work", "write")))
def test_with_room_for_all_nobody_is_slowed_down(case):
    workload = case.workload
    if workload.platform.buffer is not None:
        return
    size = len(workload.applications)
    for room in ({"shares": np.full(size, math.inf)}, {"pool": math.inf}):
        found = replay(workload, **room, check=True)
        assert found.stretches == pytest.approx(np.ones(size), rel=1e-12)
        assert found.duration_stretches == pytest.approx(np.ones(size), rel=1e-9)
        # As much room as is ever used is as good.
        as_used = {"shares": found.buffer.peaks} if "shares" in room else {"pool": float(found.buffer.peaks[0])}
        assert list(replay(workload, **as_used, check=True).ends) == close(list(found.ends))


BLOCKED = {
    "fcfs": (1.0, [(0.0, "write 1, write 1, read 1"), (0.0, "work 1, write 1, read 1"), (0.0, "write 1")]),
    "greedy-com": (4.0, [(1.0, "write 3, read 2"), (1.0, "write 2"), (2.0, "write 2, read 1")]),
}


@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("resources", [None, 2])
def test_prefetches_before_a_full_pool_do_not_keep_others_from_draining(name, resources):
    # The pool is full of output. By their order two prefetches come first, and neither has room; until the policy is asked
    # about those that drain alone, nobody moves, and nobody makes room.
    pool, rows = BLOCKED[name]
    members = []
    for who, (release, text) in zip("abc", rows, strict=True):
        chain = [(kind, float(amount)) for kind, amount in (phase.split() for phase in text.split(", "))]
        members.append(Application.of(who, chain, release=release, curve=None if resources is None else {1: 1.0}))
    workload = Workload(Platform(1.0, resources=resources), tuple(members))
    placement = None if resources is None else [(1,)] * 3
    found = simulate(workload, name, placement=placement, buffer=Buffering(pool=pool), check=True)
    twin = NaiveRun(workload, name, placement=placement, pool=pool, to_the_end=True).run()
    assert list(found.ends) == close([app.end for app in twin.applications])
    written, read = (
        sum(amount for one in members for kind, amount in one.phases if kind == which) for which in ("write", "read")
    )
    assert (found.buffer.direct_written + found.buffer.drained).sum() == close(written)
    assert (found.buffer.direct_read + found.buffer.prefetched).sum() == close(read)
