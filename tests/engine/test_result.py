"""What a result says, against numbers found by hand and against the traces of random runs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given

from penstock.engine import Buffering, Result, simulate
from penstock.engine.scenarios import replay
from penstock.model import Application, Buffer, Platform, Workload
from tests.engine.test_combinations import run
from tests.naive.combinations import Combination, combinations
from tests.naive.machine import NaiveRun
from tests.naive.profiles import examples


def as_json(result: Result) -> dict:
    """What ``--json`` prints, as a program reads it."""
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_two_in_a_row_on_a_link():
    # B = 10. Both post at 2 s. fcfs takes the lower position first: a moves 40 bytes in [2, 6], b 20 bytes in [6, 8].
    workload = Workload(
        Platform(10.0, nodes=4),
        (
            Application.of("a", [("work", 2.0), ("io", 40.0)], nodes=1, bandwidth=10.0),
            Application.of("b", [("work", 1.0), ("io", 20.0)], nodes=3, release=1.0, bandwidth=10.0),
        ),
    )
    result = simulate(workload, "fcfs")
    found = as_json(result)
    a, b = found["applications"]
    # Alone a ends at 2 + 4 and b at 1 + 1 + 2.
    assert [(one["release"], one["earliest_end"], one["end"]) for one in (a, b)] == [(0.0, 6.0, 6.0), (1.0, 4.0, 8.0)]
    # By dates 6/6 and 8/4, by durations 6/6 and (8 − 1)/(4 − 1).
    assert (a["stretch_by_dates"], a["stretch_by_durations"]) == (1.0, 1.0)
    assert (b["stretch_by_dates"], b["stretch_by_durations"]) == (2.0, pytest.approx(7 / 3))
    assert (found["mean_stretch_by_dates"], found["max_stretch_by_dates"]) == (1.5, 2.0)
    assert (found["mean_stretch_by_durations"], found["max_stretch_by_durations"]) == pytest.approx((5 / 3, 7 / 3))
    # b is in I/O for 6 s, of which it needs 2: ρ = 3. A link has nothing to allocate: ρ_io = 1.
    assert (a["allocation_slowdown"], a["congestion_slowdown"], a["slowdown"]) == (1.0, 0.0, 1.0)
    assert (b["allocation_slowdown"], b["congestion_slowdown"], b["slowdown"]) == (1.0, 2.0, 3.0)
    assert (found["mean_allocation_slowdown"], found["mean_congestion_slowdown"]) == (1.0, 1.0)
    # One node for 4 s and three for 6 s, of 4 nodes for 8 s.
    assert (found["idle_node_seconds"], found["idle_time"]) == (22.0, 22.0 / 32.0)
    # b, with 3 nodes, has them for 7 s, of which it waits for 4. Both run at one time from 1 to 6.
    assert (found["lost_node_hours"], found["most_nodes"]) == (12.0 / 3600.0, 4)
    assert found["running_efficiency"] == 1.0 - 12.0 / (6.0 + 21.0)
    # The link is used for 6 of 8 s, and then fully.
    assert (found["occupancy"], found["store_utilization"]) == ([0.75], [0.75])
    assert "buffer" not in found
    assert "buffer" not in a


@pytest.mark.parametrize("policy", ["fair-share", "fcfs", "greedy-yield"])
def test_a_link_that_one_application_cannot_fill(policy):
    # 8 bytes at 4 bytes/s take 2 of 4 s; the link could carry 40 bytes meanwhile.
    slow = Application.of("a", [("work", 2.0), ("io", 8.0)], bandwidth=4.0)
    found = simulate(Workload(Platform(10.0), (slow,)), policy)
    assert (found.occupancy, found.store_utilization) == ((0.5,), (0.2,))


def two_resources(*, end: float | None, **platform) -> Workload:
    """a needs 2 s of each of two resources (8 bytes at 4 bytes/s), b 3 s of the second one (3 bytes at 1 byte/s)."""
    return Workload(
        Platform(2.0, resources=2, **platform),
        (
            Application.of("a", [("read", 8.0)], curve={1: 3.0, 2: 4.0}, placement=(0, 1)),
            Application.of("b", [("write", 3.0)], curve={1: 1.0, 2: 1.5}, placement=(1,)),
        ),
        None if end is None else (0.0, end),
    )


@pytest.mark.parametrize(
    ("end", "carried", "busy", "moved"),
    [
        # On resource 1 they share: a's transfer is complete at 4, when b has 1 s left. On resource 0 a is alone, to 2.
        (1.0, (1.0, 1.0), (1.0, 1.0), (3.0, 0.5)),
        (3.0, (2.0, 3.0), (2.0, 3.0), (7.0, 1.5)),
        (4.5, (2.0, 4.5), (2.0, 4.5), (8.0, 2.5)),
        (None, (2.0, 5.0), (2.0, 5.0), (8.0, 3.0)),
    ],
)
def test_two_resources_while_an_operation_is_under_way(end, carried, busy, moved):
    workload = two_resources(end=end)
    found = simulate(workload, "best-effort", placement=workload.placement)
    assert found.store_utilization == pytest.approx(tuple(seconds / found.duration for seconds in carried))
    assert found.occupancy == pytest.approx(tuple(seconds / found.duration for seconds in busy))
    assert [one.transferred for one in found.applications] == pytest.approx(moved)


def test_the_two_parts_of_a_slowdown():
    workload = two_resources(end=None)
    found = as_json(simulate(workload, "best-effort", placement=workload.placement))
    a, b = found["applications"]
    # a has its best number and takes 4 s in place of 2. b takes 5 s, 3 s alone, and 2 s alone on two resources.
    assert (a["allocation_slowdown"], a["congestion_slowdown"]) == pytest.approx((1.0, 1.0))
    assert (b["allocation_slowdown"], b["congestion_slowdown"]) == pytest.approx((1.5, 1.0))
    for one, slowdown in ((a, 2.0), (b, 2.5)):
        assert one["slowdown"] == pytest.approx(slowdown)
        assert one["slowdown"] == one["allocation_slowdown"] + one["congestion_slowdown"]
    assert (found["mean_allocation_slowdown"], found["mean_congestion_slowdown"]) == pytest.approx((1.25, 1.0))
    assert found["mean_slowdown"] == pytest.approx(found["mean_allocation_slowdown"] + found["mean_congestion_slowdown"])


def test_a_resource_that_carries_half_of_it():
    # Reads have half of the time of a resource: on resource 0, which is busy for 3 s, a moves half of that.
    workload = two_resources(end=3.0, read_bandwidth=1.0)
    found = simulate(workload, "best-effort", placement=workload.placement)
    assert (found.occupancy[0], found.store_utilization[0]) == pytest.approx((1.0, 0.5))


def test_a_burst_by_way_of_a_share():
    # 100 bytes at 50 bytes/s from date 1, B = 10: the share of 30 bytes is full at 1.75, then 10 bytes/s go past it. At
    # the end, 1 + (100 − 30)/10 = 8, 30 bytes are left, which are drained at 11. Alone it takes 2 s.
    burst = Workload(Platform(10.0), (Application.of("a", [("work", 1.0), ("write", 100.0)], bandwidth=50.0),))
    found = as_json(replay(burst, [30.0]))
    (a,) = found["applications"]
    assert (a["earliest_end"], a["end"]) == pytest.approx((3.0, 8.0))
    assert (a["stretch_by_dates"], a["slowdown"]) == pytest.approx((8 / 3, 3.5))
    way = {"direct_written": 70.0, "drained": 30.0, "direct_read": 0.0, "prefetched": 0.0, "share": 30.0, "peak": 30.0}
    assert a["buffer"] == pytest.approx(way)
    assert (found["buffer"]["size"], found["buffer"]["peak"]) == pytest.approx((30.0, 30.0))
    # The link is full from 1 to 11.
    assert (found["occupancy"], found["store_utilization"]) == ([pytest.approx(10 / 11)], [pytest.approx(10 / 11)])


def test_the_most_that_all_shares_hold_at_a_time():
    # 20 bytes at 20 bytes/s, B = 4: 16 bytes are in the share at the end of the write, and drained 4 s later. The second
    # application writes when the share of the first is empty again.
    first, second = ([("work", date), ("write", 20.0)] for date in (1.0, 11.0))
    applications = (Application.of("a", first, bandwidth=20.0), Application.of("b", second, bandwidth=20.0))
    both = Workload(Platform(4.0), applications)
    traced, plain = replay(both, [18.0, math.inf], trace=True), replay(both, [18.0, 18.0])
    assert list(traced.buffer.peaks) == pytest.approx([16.0, 16.0])
    assert traced.buffer.peak == pytest.approx(16.0)
    assert (plain.buffer.size, plain.buffer.peak) == (36.0, None)
    found = as_json(traced)
    assert (found["buffer"]["size"], found["buffer"]["shares"]) == (None, [18.0, None])
    assert [one["buffer"]["share"] for one in found["applications"]] == [18.0, None]


def test_a_pool_in_a_window():
    # b = 4, B = 1. In [0, 1] the reader fetches 1 byte ahead at B. In [1, 2] both have B/2: it fetches 1/2 byte, and of the
    # 4 bytes that the writer writes 1/2 goes past the pool and 7/2 into it.
    applications = (
        Application.of("writer", [("work", 1.0), ("write", 8.0)], bandwidth=4.0),
        Application.of("reader", [("work", 9.0), ("read", 8.0)], bandwidth=4.0),
    )
    workload = Workload(Platform(1.0, buffer=Buffer(100.0)), applications, (0.0, 2.0))
    result = simulate(workload, "best-effort", trace=True, check=True)
    found = as_json(result)
    writer, reader = found["applications"]
    assert writer["buffer"] == pytest.approx({"direct_written": 0.5, "drained": 0.0, "direct_read": 0.0, "prefetched": 0.0})
    assert reader["buffer"] == pytest.approx({"direct_written": 0.0, "drained": 0.0, "direct_read": 0.0, "prefetched": 1.5})
    assert found["buffer"]["peak"] == pytest.approx(3.5 + 1.5)
    assert writer["end"] is writer["stretch_by_dates"] is writer["stretch_by_durations"] is None
    assert found["mean_stretch_by_dates"] is found["mean_stretch_by_durations"] is None
    assert (found["occupancy"], found["store_utilization"]) == ([1.0], [pytest.approx(1.0)])


def test_only_waiting_is_an_infinite_slowdown_and_null():
    applications = tuple(Application.of(name, [("io", 100.0)], bandwidth=1.0) for name in "ab")
    found = as_json(simulate(Workload(Platform(1.0), applications, (0.0, 3.0)), "fcfs"))
    assert [one["congestion_slowdown"] for one in found["applications"]] == [0.0, None]
    assert (found["mean_slowdown"], found["mean_congestion_slowdown"]) == (None, None)
    assert found["mean_allocation_slowdown"] == 1.0


def test_the_result_of_no_time():
    found = as_json(simulate(Workload(Platform(1.0), (Application.of("a", [("work", 0.0)]),)), "fcfs"))
    assert (found["occupancy"], found["store_utilization"], found["idle_node_seconds"]) == ([0.0], [0.0], 0.0)
    assert (found["mean_stretch_by_dates"], found["max_stretch_by_durations"]) == (1.0, 1.0)


def units_of(case: Combination) -> list[float]:
    """Bytes of a unit on one store, for each application: a byte, or a second of one of the resources it uses."""
    if case.placement is None:
        return [1.0] * len(case.workload.applications)
    pairs = zip(case.workload.applications, case.placement, strict=True)
    return [one.curve.upto(len(used))[-1] / len(used) for one, used in pairs]


@examples(200)
@given(combinations())
def test_what_a_trace_adds_up_to(case):
    assume(not NaiveRun(case.workload, case.policy, **case.options).run().endless)
    result = run(case)
    trace, units = result.trace, np.array(units_of(case))
    moved = (trace.end - trace.begin) * trace.rate / units[trace.application]
    carried = np.bincount(trace.store, moved, minlength=len(result.occupancy))
    could = result.duration * (case.workload.platform.bandwidth if case.placement is None else 1.0)
    assume(could > 0.0)
    assert result.store_utilization == pytest.approx(tuple(carried / could), rel=1e-9, abs=1e-9)
    for use, occupancy in zip(result.store_utilization, result.occupancy, strict=True):
        assert use <= occupancy + 1e-9
    for one in result.applications:
        if one.slowdown is not None:
            assert one.slowdown == one.allocation_slowdown + one.congestion_slowdown
    assert_ways(result)


def assert_ways(result: Result) -> None:
    """What an application wrote went past the buffer, was drained or is still there; what it read likewise."""
    if result.buffer is None:
        assert all(one.buffer is None for one in result.applications)
        return
    fill = result.buffer.fill
    for index, one in enumerate(result.applications):
        own = np.flatnonzero(fill.application == index)
        outgoing, incoming = (float(column[own[-1]]) if len(own) else 0.0 for column in (fill.outgoing, fill.incoming))
        written = one.buffer.direct_written + one.buffer.drained + outgoing
        read = one.buffer.direct_read + one.buffer.prefetched - incoming
        assert written + read == pytest.approx(one.transferred, rel=1e-7, abs=1e-7)
        assert (one.buffer.peak is None) == (result.buffer.shares is None)
    assert result.buffer.peak <= result.buffer.size * (1.0 + 1e-9) + 1e-9
    assert result.buffer.peak <= float(result.buffer.peaks.sum()) + 1e-9


def test_a_buffer_is_given_or_none():
    alone = Workload(Platform(1.0, buffer=Buffer(5.0)), (Application.of("a", [("write", 2.0)], bandwidth=1.0),))
    assert simulate(alone, "fcfs", buffer=False).applications[0].buffer is None
    assert simulate(alone, "fcfs", buffer=Buffering(shares=[3.0])).applications[0].buffer.share == 3.0
