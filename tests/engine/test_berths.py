"""Applications that are placed when they start run as those that are placed before; and applications that are stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Buffering, Run
from penstock.engine.result import Result
from penstock.model import Application, InputError, Platform, Workload
from tests.naive.compare import close
from tests.naive.profiles import examples

RESOURCES = 4


def placed_at_start(
    workload: Workload, placement: Sequence[Sequence[int]], counts: Sequence[int], policy: str, **options: Any
) -> Result:
    """Run the applications, each started at its release on its resources."""
    size = len(workload.applications)
    run = Run(workload, policy, held=range(size), counts=counts, check=True, **options)
    for index in sorted(range(size), key=lambda index: workload.applications[index].release):
        while run.advance(until=workload.applications[index].release):
            pass
        run.start(index, placement[index])
    return run.finish()


@st.composite
def streams(draw: Any) -> tuple[Workload, list[list[int]], list[int]]:
    """Applications with curves, their resources, and how many of these were reserved: from as many as needed to all."""
    applications, placement, reserved = [], [], []
    for index in range(draw(st.integers(1, 25))):
        chain = [
            (draw(st.sampled_from(["work", "io", "read", "write"])), draw(st.floats(0.1, 9.0)))
            for _ in range(draw(st.integers(1, 5)))
        ]
        release = draw(st.integers(0, 480)) / 16
        curve = {1: 1.0, 2: draw(st.floats(0.5, 3.0)), 4: draw(st.floats(0.5, 4.0))}
        applications.append(Application.of(f"a{index}", chain, release=release, curve=curve, nodes=draw(st.integers(1, 4))))
        used = draw(st.lists(st.integers(0, RESOURCES - 1), min_size=1, max_size=3, unique=True))
        placement.append(sorted(used))
        reserved.append(draw(st.sampled_from([len(used), RESOURCES])))
    reads = draw(st.sampled_from([None, 2.0]))
    return Workload(Platform(4.0, resources=RESOURCES, read_bandwidth=reads), tuple(applications)), placement, reserved


@examples(120)
@given(streams(), st.sampled_from(["fair-share", "best-effort", "fcfs", "due-yield"]), st.sampled_from([None, 5.0]))
def test_placed_at_the_start_is_as_placed_before(
    stream: tuple[Workload, list[list[int]], list[int]], policy: str, pool: float | None
) -> None:
    workload, placement, reserved = stream
    buffer = None if pool is None else Buffering(pool=pool)
    before = Run(workload, policy, placement=placement, buffer=buffer, check=True).finish()
    at_start = placed_at_start(workload, placement, reserved, policy, buffer=buffer)
    for one, other in zip(at_start.applications, before.applications, strict=True):
        assert one.end == close(other.end)
        assert one.resources == other.resources
        assert one.transferred == close(other.transferred)
        assert (one.allocation_slowdown is None) == (other.allocation_slowdown is None)
        assert (one.allocation_slowdown or 0.0) == close(other.allocation_slowdown or 0.0)
    assert list(at_start.store_utilization) == [close(part) for part in before.store_utilization]
    assert list(at_start.occupancy) == [close(part) for part in before.occupancy]


def test_more_applications_than_berths_come_and_go() -> None:
    """A store has room for 16 at the begin; 100 write at once, on both resources."""
    members = tuple(Application.of(f"a{index}", [("write", 1.0)], curve={1: 1.0, 2: 2.0}) for index in range(100))
    run = Run(Workload(Platform(2.0, resources=2), members), "fair-share", held=range(100), counts=[2] * 100, check=True)
    for index in range(100):
        run.start(index, (0, 1))
    assert run.finish().ends.tolist() == pytest.approx([50.0] * 100)


def test_without_a_curve_a_resource_carries_its_part_and_an_application_takes_what_it_can() -> None:
    # Two resources of 2 bytes/s. a can use 1 byte/s of its one: 8 bytes in 8 s, and b beside it gets the other 1 of 2.
    a = Application.of("a", [("write", 8.0)], bandwidth=1.0)
    b = Application.of("b", [("write", 8.0)], bandwidth=2.0)
    workload = Workload(Platform(4.0, resources=2), (a, b))
    ends = placed_at_start(workload, [(0,), (0,)], [1, 1], "best-effort").ends.tolist()
    assert ends == pytest.approx([8.0, 8.0])
    # Apart, b has its own resource; on both of them it would have 1 byte/s of each.
    assert placed_at_start(workload, [(0,), (1,)], [1, 1], "best-effort").ends.tolist() == pytest.approx([8.0, 4.0])
    assert placed_at_start(workload, [(0,), (0, 1)], [1, 2], "best-effort").ends.tolist() == pytest.approx([8.0, 4.0])


def test_a_run_with_counts_refuses_what_it_cannot_place() -> None:
    members = tuple(Application.of(name, [("write", 1.0)]) for name in "ab")
    workload = Workload(Platform(2.0, resources=2), members)
    with pytest.raises(InputError, match="all held"):
        Run(workload, "fcfs", held={0}, counts=[1, 1])
    with pytest.raises(InputError, match="from 1 to 2"):
        Run(workload, "fcfs", held={0, 1}, counts=[1, 3])
    run = Run(workload, "fcfs", held={0, 1}, counts=[1, 1])
    for resources in ((), (2,), (0, 0), (0, 1)):
        with pytest.raises(InputError, match="1 to 1 different numbers below 2"):
            run.start(0, resources)
    with pytest.raises(InputError, match="the run has counts"):
        run.start(0)


@pytest.mark.parametrize("placed", [False, True])
def test_a_stopped_application_leaves_its_bandwidth_and_keeps_what_it_has_done(placed: bool) -> None:
    # a and b share 2 bytes/s. a is stopped at 3 with 3 of 10 bytes; b has 3 then, and moves its other 7 in 3.5 s.
    members = tuple(Application.of(name, [("write", 10.0), ("work", 1.0)]) for name in "ab")
    workload = Workload(Platform(2.0, resources=1 if placed else None), members)
    if placed:
        run = Run(workload, "best-effort", held={0, 1}, counts=[1, 1], stoppable=True, trace=True, check=True)
        run.start(0, (0,))
        run.start(1, (0,))
    else:
        run = Run(workload, "best-effort", stoppable=True, trace=True, check=True)
    run.advance(3.0)
    run.stop(0)
    result = run.finish()
    assert result.ends.tolist() == pytest.approx([3.0, 7.5])
    assert [one.transferred for one in result.applications] == pytest.approx([3.0, 10.0])
    assert result.trace is not None
    mine = result.trace.application == 0
    moved = float(((result.trace.end - result.trace.begin) * result.trace.rate)[mine].sum())
    assert moved == pytest.approx(3.0)
    with pytest.raises(InputError, match="does not run"):
        run.stop(0)


def test_an_application_can_be_stopped_while_it_works() -> None:
    chains = ([("work", 4.0)], [("work", 9.0)], [("work", 6.0), ("write", 1.0)])
    members = tuple(Application.of(f"a{index}", chain) for index, chain in enumerate(chains))
    run = Run(Workload(Platform(1.0), members), "fair-share", stoppable=True)
    assert run.advance() == (0,)
    run.stop(1)
    result = run.finish()
    assert result.ends.tolist() == [4.0, 4.0, 7.0]
    assert [one.worked for one in result.applications] == [4.0, 4.0, 6.0]
    with pytest.raises(InputError, match="expected no buffer"):
        Run(Workload(Platform(1.0), members), "fair-share", stoppable=True, buffer=Buffering(pool=1.0))


def test_accounts_of_some_are_those_of_all() -> None:
    members = tuple(Application.of(f"a{index}", [("work", float(index)), ("write", 3.0)]) for index in range(5))
    run = Run(Workload(Platform(1.0), members), "fair-share")
    run.advance(4.0)
    everything, some = run.accounts(), run.accounts(np.array([3, 1]))
    for name, values in everything.items():
        assert some[name].tolist() == values[[3, 1]].tolist()
