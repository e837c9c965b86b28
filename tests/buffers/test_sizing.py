"""Sizes against closed forms, against the whole linear program without any short cut, and against laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import check_plan, execute_plan, full_speed_timeline, largest_backlog, size
from penstock.buffers.timeline import FullSpeedTimeline
from penstock.model import Application, Buffer, InputError, Phases, Platform, Workload
from tests.buffers import naive
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples

MODES = ("static", "dynamic")
modes = st.sampled_from(MODES)


def near(value):
    return pytest.approx(value, rel=1e-6, abs=1e-5)


def write(seconds: float = 2.0, work: float = 4.0):
    """Work, and a write of so many seconds at 4 bytes/s, of which the file system takes 2."""
    return [("work", work), ("write", 4.0 * seconds)]


def read(seconds: float = 2.0, work: float = 4.0):
    return [("work", work), ("read", 4.0 * seconds)]


# ------------------------------------------------------------------ closed forms


@pytest.mark.parametrize("mode", MODES)
def test_one_writer(mode):
    # 8 bytes come in 2 s, and the file system takes 4 of them: 4 are left, and drain in 2 s more.
    plan = size(applications(write()), mode)
    assert (plan.status, plan.size) == ("optimal", pytest.approx(4.0))
    assert plan.effort.rows == plan.effort.columns == plan.effort.iterations == 0  # alone it needs no program
    assert plan.peaks.tolist() == [pytest.approx(4.0)]
    assert plan.written[0].dates.tolist() == [0.0, 4.0, 6.0, 8.0]
    assert plan.written[0].amounts.tolist() == pytest.approx([0.0, 0.0, 4.0, 8.0])
    if mode == "static":
        assert plan.shares.tolist() == [pytest.approx(4.0)]
    else:
        assert plan.shares is None


@pytest.mark.parametrize("mode", MODES)
def test_two_writers_at_once(mode):
    # 16 bytes come in 2 s, 4 of them go: 12 are left. No partition can be smaller, and an even one is as good.
    plan = size(applications(write(), write()), mode)
    assert plan.size == pytest.approx(12.0)
    if mode == "static":
        assert plan.shares.sum() == pytest.approx(12.0)


def test_two_writers_one_after_the_other():
    # Alone each leaves 4. The second begins at 6, with 4 bytes of the first still there: 4 + 8 − 4 = 8 bytes at 8.
    workload = applications([*write(), ("work", 9.0)], [*write(work=6.0), ("work", 9.0)])
    assert size(workload, "dynamic").size == pytest.approx(8.0)
    # Apart: while a writes it has the file system for itself, S_a ≥ 4. From 6 to 8, of 4 bytes x go from a and 4 − x
    # from b: S_b ≥ 8 − (4 − x). With x = 0, S = 4 + 4: a waits.
    plan = size(workload, "static")
    assert plan.shares.tolist() == pytest.approx([4.0, 4.0])
    assert plan.size == pytest.approx(8.0)


@pytest.mark.parametrize("mode", MODES)
def test_an_application_no_faster_than_the_file_system_needs_nothing(mode):
    plan = size(applications((write(), {"bandwidth": 2.0})), mode)
    assert plan.size == 0.0
    assert plan.peaks.tolist() == [0.0]
    assert plan.effort.rows == 0
    assert check_plan(plan).holds


def test_contention_alone():
    # Two of 2 bytes/s each write 4 bytes from 4 to 6: 8 come and 4 go.
    workload = applications((write(1.0), {"bandwidth": 2.0}), (write(1.0), {"bandwidth": 2.0}))
    assert size(workload, "dynamic").size == size(workload, "static").size == pytest.approx(4.0)
    # Capped applications of any speed are like these.
    fast = applications(write(1.0), write(1.0))
    assert size(fast, "static", capped=True).size == pytest.approx(4.0)
    assert size(fast, "static").size == pytest.approx(8.0 - 2.0)


def test_shares_do_not_add_up_where_one_starts_when_another_ends():
    first = [*write(), ("work", 2.0)]  # its content is gone at 8, when it ends
    for start, expected in ((8.0, 4.0), (8.0 + 5e-7, 4.0), (8.0 - 5e-7, 4.0), (7.5, 8.0)):
        plan = size(applications(first, (write(), {"release": start})), "static")
        assert plan.shares.tolist() == pytest.approx([4.0, 4.0])
        assert plan.size == pytest.approx(expected)


def test_what_the_dead_leave_counts():
    # a ends at 6 and leaves 4 bytes, which drain until 8. b lives from 6 on with a share of 4.
    workload = applications(write(), (write(), {"release": 6.0}))
    assert size(workload, "static").size == pytest.approx(8.0)
    assert size(workload, "dynamic").size == pytest.approx(4.0)


def test_one_reader():
    # 8 bytes are taken in 2 s, of which the file system gives 4 then: 4 must be there before.
    for mode in MODES:
        plan = size(applications(read()), mode)
        assert plan.size == pytest.approx(4.0)
        assert plan.read[0].at(np.array([0.0, 4.0, 6.0])).tolist() == pytest.approx([0.0, 4.0, 8.0])
    assert size(applications(read()), "static").shares.tolist() == [pytest.approx(4.0)]


@pytest.mark.parametrize(("end", "expected"), [(10.0, 8.0), (9.0, 6.0), (8.0, 4.0)])
def test_what_the_unborn_prefetch_counts(end, expected):
    # b reads from 10 on, at its release, and needs 4 bytes before, from 8 on. a writes from 1 to 3 and has a share of 4
    # until it ends: at 10 it meets all 4 bytes, at 9 the 2 that must be there then, at 8 none.
    first, second = [*write(work=1.0), ("work", end - 3.0)], ([("read", 8.0)], {"release": 10.0})
    assert size(applications(first, second), "dynamic").size == pytest.approx(4.0)
    assert size(applications(first, second), "static").size == pytest.approx(expected)


def test_reads_and_writes_of_one_application():
    # A write from 4 to 6, a read from 9 to 11. If y bytes are prefetched before 4, there are y + 4 at 6. Of the 6 bytes that
    # go until 9 then 4 − y are read and y + 2 written: 4 + (2 − y) are there at 9. With y = 1 both are 5.
    phases = [*write(), *read(work=3.0)]
    for mode in MODES:
        assert size(applications(phases), mode).size == pytest.approx(5.0)
    # Apart, with 2 bytes/s for each direction, 4 are enough: what is written is gone at 8, and 4 are there at 9.
    apart = applications(phases, bandwidth=4.0, read_bandwidth=2.0, write_bandwidth=2.0)
    assert size(apart, "static").size == pytest.approx(4.0)


def test_load_above_1_is_told_and_sized():
    # Both write all the time, together at twice B: of 80 bytes 40 are left.
    rows = [([("write", 40.0)], {"bandwidth": 2.0})] * 2
    plan = size(applications(*rows), "static")
    assert plan.size == pytest.approx(40.0)
    assert plan.demand.load == pytest.approx(2.0)
    assert plan.warnings == (
        "applications that run together move 2.000 of the bandwidth on average: the file system cannot keep up, and the "
        "buffer must hold the difference",
    )
    assert size(applications(write()), "static").warnings == ()


def test_who_never_writes_has_no_share():
    plan = size(applications(write(), [("work", 9.0)], ([("work", 9.0), ("read", 2.0)], {"bandwidth": 1.0})), "static")
    assert plan.shares.tolist() == pytest.approx([4.0, 0.0, 0.0])
    assert plan.shares[1] == plan.shares[2] == 0.0


@pytest.mark.parametrize("mode", MODES)
def test_nothing_to_do(mode):
    plan = size(applications([("work", 0.0)], [("write", 0.0)]), mode)
    assert (plan.status, plan.size) == ("optimal", 0.0)
    assert check_plan(plan).holds
    assert execute_plan(plan).max_stretch == 1.0


def test_the_clock_starts_with_the_window():
    phases = [("work", 4.0), ("read", 8.0)]
    application = Application.of("a", phases, release=10.0, bandwidth=4.0)
    later = Workload(Platform(2.0), (application,), window=(10.0, 11.0))
    assert size(later, "dynamic").size == pytest.approx(4.0)
    assert execute_plan(size(later, "dynamic")).end.tolist() == [16.0]  # behind the end of the window
    # With a read at 11 only 2 bytes can be there in time, without a window 22.
    early = replace(application, phases=Phases.of([("work", 1.0), ("read", 8.0)]))
    assert size(replace(later, applications=(early,)), "dynamic").status == "infeasible"
    assert size(Workload(Platform(2.0), (early,)), "dynamic").size == pytest.approx(4.0)


# ------------------------------------------------------------------ against the whole program


def compare(workload: Workload, mode: str, capped: bool = False) -> None:
    plan = size(workload, mode, capped=capped)
    expected = naive.least_size(workload, mode == "static", capped)
    if expected is None:
        assert plan.status == "infeasible"
        assert plan.obstacle is not None
        assert plan.size is plan.shares is plan.peaks is plan.filling is None
        return
    assert plan.status == "optimal", plan.obstacle
    assert plan.size == near(expected)
    found = check_plan(plan)
    assert found.holds, found.worst
    assert found.size == near(plan.size)
    assert plan.effort.gap < 1e-7
    assert max(plan.effort.primal_residual, plan.effort.dual_residual) < 1e-7


@examples(300)
@given(workloads(), modes, st.booleans())
def test_reads_and_writes_against_the_whole_program(workload, mode, capped):
    compare(workload, mode, capped)


@examples(160)
@given(workloads(reads=False), modes)
def test_writes_against_the_whole_program(workload, mode):
    compare(workload, mode)


@examples(160)
@given(workloads(inflow=True, most=3), modes)
def test_a_limited_inflow_against_the_whole_program(workload, mode):
    compare(workload, mode)


@examples(120)
@given(workloads(most=3))
def test_shares_have_the_smallest_sum(workload):
    plan = size(workload, "static")
    assume(plan.size is not None)
    assert plan.shares.sum() == near(naive.least_sum_of_shares(workload, plan.size * (1.0 + 1e-7) + 1e-7))


# ------------------------------------------------------------------ laws


@examples(160)
@given(workloads(most=5))
def test_a_static_buffer_is_no_smaller_than_a_dynamic_one(workload):
    static, dynamic = (size(workload, mode) for mode in MODES)
    assert static.status == dynamic.status
    if static.size is not None:
        assert static.size >= dynamic.size * (1.0 - 1e-7) - 1e-6
        assert dynamic.size >= largest_backlog(dynamic.demand).size * (1.0 - 1e-7) - 1e-6
        # A share is enough for what the application needs for itself, and no more than the buffer.
        assert (static.shares <= static.size * (1.0 + 1e-7)).all()


@examples(120)
@given(workloads(most=4, reads=False))
def test_a_dynamic_buffer_for_writes_is_the_largest_backlog(workload):
    plan = size(workload, "dynamic")
    assert plan.size == near(largest_backlog(plan.demand).size)


@examples(50)
@given(workloads(most=4), modes)
def test_one_more_application_never_lowers_the_size(workload, mode):
    assume(len(workload.applications) > 1)
    whole = size(workload, mode)
    fewer = size(replace(workload, applications=workload.applications[:-1]), mode)
    if whole.size is not None:
        assert fewer.size is not None
        assert whole.size >= fewer.size * (1.0 - 1e-7) - 1e-6


def scaled(workload: Workload, amounts: float, rates: float) -> Workload:
    """All volumes times `amounts`, all bandwidths times `rates`: dates are times amounts / rates."""
    seconds = amounts / rates
    platform = workload.platform
    fields = ("bandwidth", "read_bandwidth", "write_bandwidth")
    made = []
    for application in workload.applications:
        phases = application.phases
        factors = np.where(phases.kinds == 0, seconds, amounts)
        made.append(
            replace(
                application,
                phases=Phases(phases.kinds, phases.amounts * factors),
                release=application.release * seconds,
                lead=application.lead * seconds,
                **{f: getattr(application, f) * rates for f in fields if getattr(application, f) is not None},
            )
        )
    limits = {f: getattr(platform, f) * rates for f in fields if getattr(platform, f) is not None}
    return Workload(replace(platform, **limits), tuple(made))


@examples(40)
@given(workloads(most=4), modes, st.sampled_from([1e-3, 1.0, 1e9, 1.6e11]), st.sampled_from([0.5, 1.0, 256.0]))
def test_sizes_scale_with_volumes(workload, mode, amounts, rates):
    rates *= amounts
    plain, large = size(workload, mode), size(scaled(workload, amounts, rates), mode)
    assert plain.status == large.status
    if plain.size is not None:
        assert large.size == pytest.approx(amounts * plain.size, rel=1e-6, abs=1e-5 * amounts)


@examples(60)
@given(workloads(most=4), modes, st.integers(0, 5))
def test_dates_that_are_one_event(workload, mode, seed):
    """A microsecond more or less here and there changes sizes by what moves in it."""
    random = np.random.default_rng(seed)
    moved = tuple(
        replace(application, release=application.release + float(random.uniform(0.0, 2e-7)))
        for application in workload.applications
    )
    plain, shifted = size(workload, mode), size(replace(workload, applications=moved), mode)
    assume(plain.size is not None and shifted.size is not None)  # a read that can just be in time may no longer be
    assert shifted.size == pytest.approx(plain.size, rel=1e-5, abs=1e-4)
    assert check_plan(shifted).holds


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shift", [-9e-7, -3e-7, 0.0, 3e-7, 9e-7])
def test_what_just_fits_still_does_where_dates_are_rounded(mode, shift):
    # a reads at all of B from the clock's 0 to 5, and b starts within a microsecond of its end.
    first, second = ([("read", 10.0), ("work", 9.0)], {"bandwidth": 2.0}), (write(), {"release": 5.0 + shift})
    plan = size(applications(first, second), mode)
    assert plan.status == "optimal"
    assert plan.size == pytest.approx(4.0, abs=1e-5)
    assert check_plan(plan).holds
    assert execute_plan(plan).max_stretch == pytest.approx(1.0, abs=1e-6)


# ------------------------------------------------------------------ what is wrong, or cannot be


def test_a_read_that_cannot_be_in_time():
    # From 1 on 4 bytes/s are wanted; 2 bytes are there at 1 and 2 more come every second: gone at 2, 2 are missing at 3.
    # b's second read begins at 9 and has all it needs.
    late = [("work", 1.0), ("read", 0.0), ("read", 8.0), ("work", 20.0), ("write", 1.0)]
    plan = size(applications(([("work", 30.0)], {}), late), "static")
    assert plan.status == "infeasible"
    obstacle = plan.obstacle
    assert (obstacle.application, obstacle.phase, obstacle.read) == ("b", 2, 1)
    assert (obstacle.date, obstacle.missing) == (pytest.approx(2.0), pytest.approx(2.0))
    assert obstacle.message == (
        "b: read 1 (phases[2]) cannot be in time: from date 2 on more must have been read than 2 bytes/s give; 2 bytes are "
        "missing at the worst moment"
    )
    assert plan.to_dict()["obstacle"]["application"] == "b"
    assert plan.to_dict()["size"] is None


def test_the_last_read_to_begin_is_blamed():
    # a reads 16 bytes from 8 to 12, and could; b's read from 11 on is one too many: 12 + 4·1 … of 22 + 2·1.
    first, second = [("work", 8.0), ("read", 16.0)], [("work", 5.0), ("read", 2.0), ("work", 5.5), ("read", 20.0)]
    obstacle = size(applications(first, second), "dynamic").obstacle
    assert (obstacle.application, obstacle.phase, obstacle.read) == ("b", 3, 2)


def test_a_buffer_too_slow_to_be_filled():
    # The writer brings 4 bytes/s from 4 on, and the file system takes 2: the buffer must take 2.
    plan = size(applications(write(), buffer=Buffer(bandwidth=1.5)), "static")
    assert plan.status == "infeasible"
    assert plan.obstacle.message == "the buffer takes 1.5 bytes/s, too few from date 4 on; expected at least 2"
    assert (plan.obstacle.needed, plan.obstacle.application) == (pytest.approx(2.0), None)
    assert size(applications(write(), buffer=Buffer(bandwidth=2.0)), "static").size == pytest.approx(4.0)


def test_a_large_buffer_too_slow_to_be_filled():
    # The same in terabytes: what a buffer takes in a second is a small part of an operation, and no zero.
    row = ([("work", 4.0), ("write", 8e13)], {"bandwidth": 4e13})
    plan = size(applications(row, bandwidth=2e13, buffer=Buffer(bandwidth=1.5e13)), "dynamic")
    assert plan.obstacle.message == "the buffer takes 1.5e+13 bytes/s, too few from date 4 on; expected at least 2e+13"
    assert size(applications(row, bandwidth=2e13, buffer=Buffer(bandwidth=2e13)), "dynamic").size == pytest.approx(4e13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: size(applications(write()), "elastic"), "mode: 'elastic' is unknown; expected static or dynamic"),
        (
            lambda: size(applications(write(), (write(), {"release": -1.0}))),
            "applications[1].release: -1.0 is before the clock's start; expected 0.0 or later",
        ),
        (
            lambda: size(replace(applications((write(), {"release": 3.0})), window=(5.0, 9.0))),
            "applications[0].release: 3.0 is before the clock's start; expected 5.0 or later",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_line(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_a_plan_belongs_to_its_demand():
    plan = size(applications(write()), "static", capped=True)
    assert isinstance(plan.demand, FullSpeedTimeline)
    assert plan.demand.capped
    assert plan.demand.least_end.tolist() == full_speed_timeline(plan.workload, capped=True).least_end.tolist() == [8.0]
