"""Records of jobs become applications that take as long alone as the jobs did, and hold the same bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import dedicated, simulate
from penstock.model import InputError, Platform
from penstock.workloads.importers.job_records import (
    Bandwidths,
    IoPhases,
    JobRecord,
    application_of,
    by_job,
    most_together,
    workload_of,
)


def job(
    *phases: tuple[float, float, float, str], start: float = 1000.0, seconds: float = 100.0, **more: object
) -> JobRecord:
    return JobRecord("7", start, start + seconds, phases=IoPhases.of(phases), **more)  # type: ignore[arg-type]


def test_a_job_is_a_chain_of_work_and_io() -> None:
    # 10 s of work, 4 GB written in 10 s, 30 s, 2 GB read in 4 s, and what is left of 100 s.
    application = application_of(job((50.0, 54.0, 2e9, "read"), (10.0, 20.0, 4e9, "write")), 900.0)
    assert list(application.phases) == [("work", 10.0), ("write", 4e9), ("work", 30.0), ("read", 2e9), ("work", 46.0)]
    assert (application.release, application.read_bandwidth, application.write_bandwidth) == (100.0, 5e8, 4e8)


def test_a_long_phase_with_little_io_does_not_move_the_others() -> None:
    # 3 kB of log lines written from 0 to 100 s take 1 ms; the checkpoints stay at 20 s and 60 s.
    starts, ends, busy = np.array([0.0, 20.0, 60.0]), np.array([100.0, 30.0, 70.0]), np.array([0.001, 10.0, 10.0])
    phases = IoPhases(starts, ends, np.array([3e3, 1e9, 1e9]), np.array([True, True, True]), busy)
    chain = list(application_of(JobRecord("7", 0.0, 100.0, phases=phases), 0.0).phases)
    assert chain == [
        ("write", 3e3), ("work", pytest.approx(19.999)), ("write", 1e9), ("work", 30.0), ("write", 1e9), ("work", 30.0),
    ]  # fmt: skip


def test_overlapping_reads_and_writes_share_the_seconds_of_both() -> None:
    # From 0 to 10 and from 5 to 15: 15 s of I/O for 20 s of phases, so each counts three quarters of its time.
    application = application_of(job((0.0, 10.0, 3e9, "read"), (5.0, 15.0, 6e9, "write"), seconds=15.0), 1000.0)
    assert list(application.phases) == [("read", 3e9), ("write", 6e9)]
    assert (application.read_bandwidth, application.write_bandwidth) == pytest.approx((3e9 / 7.5, 6e9 / 7.5))


def test_idle_time_inside_a_phase_is_work() -> None:
    phases = IoPhases(np.array([0.0]), np.array([10.0]), np.array([4e9]), np.array([True]), np.array([4.0]))
    application = application_of(JobRecord("7", 0.0, 10.0, phases=phases), 0.0)
    assert list(application.phases) == [("write", 4e9), ("work", 6.0)]
    assert application.bandwidth == 1e9


def test_the_bandwidth_alone_is_a_factor_or_the_largest_seen() -> None:
    record = job((0.0, 10.0, 1e9, "write"), (50.0, 60.0, 3e9, "write"))
    assert application_of(record, 0.0).bandwidth == 2e8
    assert application_of(record, 0.0, Bandwidths.of("1.5")).bandwidth == pytest.approx(3e8)
    assert application_of(record, 0.0, Bandwidths.of("largest")).bandwidth == 3e8
    for wrong in ("fast", 0.0, "nan", -1.0):
        with pytest.raises(InputError, match="alone"):
            Bandwidths.of(wrong)


def test_a_workload_has_the_bandwidth_and_the_nodes_of_jobs_at_one_time() -> None:
    first = job((0.0, 10.0, 1e9, "write"), nodes=4)
    second = job((0.0, 20.0, 1e9, "read"), start=1005.0, nodes=8)
    later = job((0.0, 1.0, 1.2e8, "read"), start=1100.0, nodes=5)  # the first has ended
    assert most_together([first, second, later]) == pytest.approx(1.5e8)
    workload = workload_of([later, second, first])
    assert (workload.platform.bandwidth, workload.platform.nodes) == (pytest.approx(1.5e8), 13)
    assert [one.name for one in workload.applications] == ["job-7", "job-7-2", "job-7-3"]
    assert [one.release for one in workload.applications] == [0.0, 5.0, 100.0]


def test_a_job_without_io_is_work() -> None:
    workload = workload_of([job(seconds=60.0)])
    assert list(workload.applications[0].phases) == [("work", 60.0)]
    assert list(workload_of([job(seconds=0.0)]).applications[0].phases) == [("work", 0.0)]


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([(5.0, 4.0, 1.0, "read")], "ends before"),
        ([(0.0, 1.0, -1.0, "read")], "bytes"),
        ([(0.0, np.inf, 1.0, "read")], "ends"),
    ],
)
def test_wrong_phases_are_refused(phases: list[tuple[float, float, float, str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        IoPhases.of(phases)


spans = st.tuples(
    st.floats(0.0, 900.0),
    st.floats(0.01, 100.0),
    st.floats(1e3, 1e9),
    st.sampled_from(["read", "write"]),
    st.floats(0.1, 1.0),
)


@given(st.lists(spans, min_size=1, max_size=12))
def test_alone_a_job_takes_as_long_as_it_did_and_moves_its_bytes(rows: list[tuple[float, float, float, str, float]]) -> None:
    starts, lengths, volumes = (np.array([row[column] for row in rows]) for column in range(3))
    writes = np.array([row[3] == "write" for row in rows])
    phases = IoPhases(starts, starts + lengths, volumes, writes, lengths * [row[4] for row in rows])
    record = JobRecord("1", 0.0, 1000.0, phases=phases)
    workload = workload_of([record], Platform(1e15))
    (application,) = workload.applications
    moved = [sum(amount for kind, amount in application.phases if kind == way) for way in ("read", "write")]
    assert moved == pytest.approx(phases.total())
    assert simulate(workload, "fair-share").makespan == pytest.approx(1000.0, rel=1e-9)
    assert dedicated(workload).end == pytest.approx(1000.0, rel=1e-9)


def test_parts_of_a_job_are_one_job_in_time() -> None:
    first = job((0.0, 10.0, 1e9, "write"), nodes=4, ranks=8, user="7", source="dxt", source_bytes=(0.0, 1e9), files=("a",))
    second = job((5.0, 6.0, 2e9, "read"), start=1200.0, nodes=2, ranks=16, user="7", source="counters", counted=(2e9, 1.0))
    (made,) = by_job([second, first])
    assert list(made.phases) == [(0.0, 10.0, 1e9, "write"), (205.0, 206.0, 2e9, "read")]
    assert (made.start, made.end, made.nodes, made.ranks) == (1000.0, 1300.0, 4, 16)
    assert (made.source, made.counted, made.files) == ("dxt", (2e9, 1.0), ("a",))


def test_another_user_or_another_day_is_another_job() -> None:
    first, other = job(user="7"), job(start=1200.0, user="8")
    later = job(start=1100.0 + 2 * 86_400.0, user="7")  # the id of a process comes again
    assert [len(by_job(records)) for records in ([first, other], [first, later], [first, job(start=1150.0, user="7")])] == [
        2,
        2,
        1,
    ]
