"""Plans carried out: with the buffer of the plan nobody is slowed down (claim B1), with less somebody is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import check_plan, execute_plan, size
from penstock.engine import Buffering, Run
from penstock.engine.planned import Targets
from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.application import READ, WORK, WRITE
from penstock.workloads import Lanl, lanl
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples

modes = st.sampled_from(["static", "dynamic"])


def test_one_writer():
    plan = size(applications([("work", 4.0), ("write", 8.0), ("work", 1.0)]), "static")
    found = execute_plan(plan)
    assert found.end.tolist() == [7.0]
    assert found.stretch.tolist() == found.duration_stretch.tolist() == [1.0]
    assert (found.peak, found.drained) == (pytest.approx(4.0), pytest.approx(8.0))
    assert found.peaks.tolist() == pytest.approx([4.0])


@pytest.mark.parametrize(("share", "end"), [(4.0, 7.0), (2.0, 8.0), (1.0, 8.5), (0.0, 9.0)])
def test_a_smaller_share(share, end):
    # Full after share / 2 seconds, with 2 · share bytes emitted; the other 8 − 2 · share go at 2 bytes/s.
    plan = size(applications([("work", 4.0), ("write", 8.0), ("work", 1.0)]), "static")
    found = execute_plan(plan, np.array([share]))
    assert found.end.tolist() == pytest.approx([end])
    assert found.stretch.tolist() == pytest.approx([end / 7.0])
    assert found.peaks.tolist() == pytest.approx([share], abs=1e-6)


def test_a_reader_without_room():
    # 4 bytes should be there at 4. With a share of 1, one is: of 8 bytes 2 are taken in half a second, 6 come at 2 a second.
    plan = size(applications([("work", 4.0), ("read", 8.0), ("work", 1.0)]), "static")
    assert execute_plan(plan).end.tolist() == [7.0]
    found = execute_plan(plan, np.array([1.0]))
    assert found.end.tolist() == pytest.approx([4.0 + 0.5 + 3.0 + 1.0])
    assert found.max_stretch == pytest.approx(8.5 / 7.0)


def test_data_are_fetched_before_the_release():
    # From 11 to 13 it reads 8 bytes, of which 4 must be there at 11: 2 can be fetched since its release at 10.
    plan = size(applications(([("work", 1.0), ("read", 8.0)], {"release": 10.0})), "static")
    found = execute_plan(plan, check=True)
    assert found.end.tolist() == [13.0]
    assert found.peaks.tolist() == pytest.approx([4.0])
    assert found.peak == pytest.approx(plan.size)


def test_into_a_full_share_goes_what_leaves_it():
    # Between a write and a read of more than the share it is drained and prefetched into at the same time.
    phases = [("work", 1.0), ("write", 20.0), ("work", 4.0), ("read", 12.0)]
    plan = size(applications((phases, {"bandwidth": 4.0})), "static")
    for factor in (0.1, 0.5, 0.9):
        found = execute_plan(plan, factor * plan.shares, check=True)
        assert (found.peaks <= factor * plan.shares + 1e-6).all()
        assert found.max_stretch > 1.0


def test_a_delay_is_passed_on():
    # Without a buffer every write of 8 bytes takes 4 s and not 2: three of them make 6 s, whatever dates the plan has.
    phases = [("work", 10.0), ("write", 8.0)] * 3
    plan = size(applications((phases, {"release": 2.0})), "static")
    found = execute_plan(plan, np.array([0.0]))
    assert found.end.tolist() == pytest.approx([2.0 + 36.0 + 6.0])
    assert found.duration_stretch.tolist() == pytest.approx([42.0 / 36.0])
    assert found.stretch.tolist() == pytest.approx([44.0 / 38.0])


def test_all_get_less_where_they_want_too_much():
    # Two of 2 bytes/s write 8 bytes each from 4 on and have no shares: both want 2 bytes/s, have 1, and end at 12.
    rows = [([("work", 4.0), ("write", 8.0)], {"bandwidth": 2.0})] * 2
    plan = size(applications(*rows), "static")
    found = execute_plan(plan, np.zeros(2))
    assert found.end.tolist() == pytest.approx([12.0, 12.0])
    assert found.drained == pytest.approx(12.0)
    assert found.peak == pytest.approx(0.0, abs=1e-6)


@examples(250)
@given(st.booleans().flatmap(lambda inflow: workloads(inflow=inflow)), modes, st.booleans())
def test_the_plan_keeps_its_word(workload, mode, capped):
    """What holds by the independent check holds when the engine carries it out: nobody is delayed, nothing overflows."""
    plan = size(workload, mode, capped=capped)
    assume(plan.size is not None)
    assert check_plan(plan).holds
    found = execute_plan(plan, check=True)
    assert found.max_stretch < 1.0 + 1e-9
    assert found.end.tolist() == pytest.approx(plan.demand.least_end.tolist(), rel=1e-9, abs=1e-9)
    assert found.drained <= max(plan.demand.least_end.max(), *(flow.dates[-1] for flow in plan.written)) + 2e-5
    assert found.peak <= plan.size * (1.0 + 1e-6) + 1e-4
    assert (found.peaks <= plan.peaks + 1e-4).all()


@examples(80)
@given(workloads(most=3), st.floats(0.0, 0.9))
def test_nobody_is_ever_too_early(workload, factor):
    plan = size(workload, "static")
    assume(plan.size is not None)
    found = execute_plan(plan, factor * plan.shares, check=True)
    assert (found.end >= plan.demand.least_end * (1.0 - 1e-9)).all()
    assert (found.peaks <= factor * plan.shares + 1e-4).all()


CLOSE = [
    [([("work", 4.0), ("read", 8.0), ("work", 1e-6), ("read", 2.0)], 4.0), ([("work", 4.0000015), ("read", 4.0)], 1.0)],
    [
        ([("work", 4.0000022), ("write", 2.0), ("work", 2.0), ("read", 4.0)], 4.0),
        ([("work", 4.000003), ("write", 4.0), ("read", 2.0)], 4.0),
        ([("work", 4.0000015), ("read", 8.0), ("work", 1.3e-6), ("read", 4.0)], 1.0),
    ],
    [
        ([("work", 4.001003), ("read", 4.0), ("work", 1e-6), ("read", 2.0)], 2.0),
        ([("work", 4.0010022), ("write", 8.0), ("work", 1.3e-6), ("read", 2.0)], 2.0),
        ([("work", 4.001), ("read", 4.0), ("work", 2.0), ("read", 1e-6)], 2.0),
    ],
]


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("rows", CLOSE)
def test_dates_some_microseconds_apart(mode, rows):
    """Some are one event and some are not; nobody is delayed by more than that."""
    plan = size(applications(*((phases, {"bandwidth": speed}) for phases, speed in rows)), mode)
    found = execute_plan(plan)
    assert found.end.tolist() == pytest.approx(plan.demand.least_end.tolist(), abs=1e-5)
    assert check_plan(plan).holds


def with_reads(workload: Workload) -> Workload:
    """In the middle of each work phase a read of half a checkpoint."""
    made = []
    for application in workload.applications:
        work, volume = application.phases.amounts.reshape(-1, 2).T
        amounts = np.column_stack([work / 2.0, volume / 2.0, work / 2.0, volume]).ravel()
        kinds = np.tile(np.array([WORK, READ, WORK, WRITE], np.uint8), len(work))
        made.append(replace(application, phases=Phases(kinds, amounts)))
    return replace(workload, applications=tuple(made))


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("change", [lambda workload: workload, with_reads])
def test_a_thousand_operations(mode, change):
    """Rounding errors do not add up to delays."""
    workload = change(lanl(Lanl(0.4, 20.0, applications=12), 5).workload)
    plan = size(workload, mode)
    found = execute_plan(plan)
    assert found.max_stretch == pytest.approx(1.0, abs=1e-12)
    assert found.peak == pytest.approx(plan.size, rel=1e-7)
    assert check_plan(plan).holds


NONE = np.zeros(1), np.zeros(1)
PLACED = Workload(Platform(2.0, resources=2), (Application.of("a", [("write", 8.0)], curve={1: 1.0}),))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Run(PLACED, "best-effort", placement=[[0]], buffer=Buffering(pool=1.0), plan=Targets.of([NONE], [NONE])),
            "plan: it is one for buffers before a link; expected a buffer and no placement",
        ),
        (
            lambda: Run(applications([("write", 8.0)]), "best-effort", plan=Targets.of([NONE], [NONE])),
            "plan: it is one for buffers before a link; expected a buffer and no placement",
        ),
        (lambda: execute_plan(size(applications([("read", 8.0)]))), "plan: is infeasible; expected one with a size"),
        (
            lambda: execute_plan(size(applications([("write", 8.0)])), np.zeros(2)),
            "shares: do not fit the plan; expected one per application, for a static buffer",
        ),
        (
            lambda: execute_plan(size(applications([("write", 8.0)]), "dynamic"), np.zeros(1)),
            "shares: do not fit the plan; expected one per application, for a static buffer",
        ),
    ],
)
def test_what_cannot_be_carried_out(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message
