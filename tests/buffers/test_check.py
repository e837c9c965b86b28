"""Plans that hold, and plans that do not: every constraint is seen to be broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.buffers import BufferPlan, Effort, Flow, check_plan, full_speed_timeline, size
from penstock.model import Buffer, InputError, Platform
from tests.buffers.instances import applications

# a writes from 4 to 6 at 4 bytes/s and lives until 12; b lives from 13 on and reads from 20 to 22; B is 2 bytes/s.
WORKLOAD = applications(
    ([("work", 4.0), ("write", 8.0), ("work", 6.0)], {}),
    ([("work", 7.0), ("read", 8.0)], {"release": 13.0}),
)


def lines(*points: tuple[float, float]) -> Flow:
    return Flow(*(np.array(column, float) for column in zip(*points, strict=True)))


WRITTEN, READ = lines((0, 0), (4, 0), (8, 8)), lines((0, 0), (18, 0), (22, 8))


def made(mode: str, written: Flow = WRITTEN, read: Flow = READ, size: float = 4.0) -> BufferPlan:
    """What a has written and b has read, and nothing else."""
    none = lines((0, 0))
    shares = np.array([4.0, 4.0]) if mode == "static" else None
    flows = {"written": (written, none), "read": (none, read)}
    return BufferPlan(full_speed_timeline(WORKLOAD), mode, "optimal", Effort(), size=size, shares=shares, **flows)


def broken(plan: BufferPlan) -> set[str]:
    return {excess.constraint for excess in check_plan(plan).excesses if not excess.holds}


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_plan_holds(mode):
    for plan in (made(mode), size(WORKLOAD, mode)):
        found = check_plan(plan)
        assert found.holds
        assert found.size == pytest.approx(plan.size) == pytest.approx(4.0)
        assert found.worst.holds
        assert broken(plan) == set()


FAST_WRITES = {"writes more than min(b, B_w)", "all write more than B_w", "all move more than B"}
FAST_READS = {"reads more than min(b, B_r)", "all read more than B_r", "all move more than B"}


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"size": 3.999}, {"more is taken than S"}),
        ({"written": lines((0, 0), (3.5, 0), (7.5, 8))}, {"written before it is there"}),
        ({"written": lines((0, 0), (4, 0), (6, 4), (8, 7.99))}, {"not all written"}),
        ({"written": lines((0, 0), (4, 0), (7, 6), (8, 5.9), (12, 8))}, {"writing falls"}),
        ({"written": lines((0, 0), (4, 0), (6, 4.2), (8, 8))}, FAST_WRITES),
        ({"written": lines((0, 0.1), (4, 0.1), (8, 8))}, {"not empty at first", "written before it is there"}),
        ({"read": lines((0, 0), (18.1, 0), (22.1, 8))}, {"not read in time"}),
        ({"read": lines((0, 0), (13, 0), (15, 3), (16, 2.9), (20, 4), (22, 8))}, {"reading falls"}),
        ({"read": lines((0, 0), (18, 0), (22, 8), (23, 8.2))}, {"not all read, or more"}),
        ({"read": lines((0, 0), (18.1, 0), (20, 4), (22, 8))}, FAST_READS),
    ],
)
def test_what_is_broken_is_seen(mode, change, expected):
    assert broken(made(mode, **change)) == expected


def test_a_share_that_is_too_small():
    plan = made("static")
    assert broken(replace(plan, shares=np.array([3.999, 4.0]))) == {"more content than S_k"}
    # One that is larger than needed takes more of the buffer.
    assert broken(replace(plan, shares=np.array([4.001, 4.0]))) == {"more is taken than S"}


def test_what_the_unborn_hold_counts():
    # In the buffer from 10 on, while a has its share: 4 + 2 at 12. In a dynamic buffer a's content is gone by then.
    early = lines((0, 0), (10, 0), (12, 2), (20, 4), (22, 8))
    assert check_plan(made("static", read=early)).size == pytest.approx(6.0)
    assert broken(made("static", read=early)) == {"more is taken than S"}
    assert broken(made("dynamic", read=early)) == set()


def test_what_the_dead_hold_counts():
    # The rest of a's data stays beyond its end at 12, and b's share comes at 13.
    slow = made("static", lines((0, 0), (4, 0), (6, 4), (12, 7), (14, 8)))
    found = check_plan(slow)
    assert found.size == pytest.approx(4.5)
    assert broken(slow) == {"more is taken than S"}


def test_directions_that_have_caps_of_their_own():
    workload = applications([("work", 4.0), ("write", 8.0), ("work", 6.0), ("read", 8.0)])
    plan = size(workload, "dynamic")
    narrow = replace(workload, platform=Platform(2.0, read_bandwidth=1.9, write_bandwidth=1.8))
    seen = broken(replace(plan, demand=replace(plan.demand, workload=narrow)))
    assert {"all write more than B_w", "all read more than B_r", "writes more than min(b, B_w)"} <= seen
    assert "all move more than B" not in seen
    slow = replace(workload, platform=Platform(2.0, buffer=Buffer(bandwidth=1.9)))
    assert broken(replace(plan, demand=replace(plan.demand, workload=slow))) == {"more flows in than B_BB"}


def test_there_must_be_a_plan():
    with pytest.raises(InputError) as caught:
        check_plan(size(applications([("read", 8.0)])))
    assert str(caught.value) == "plan: is infeasible; expected one with a size"
