"""Which lines become jobs: every line is kept or counted, once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.workloads.swf import Choice, SwfJobs, jobs_of, read_swf
from tests.data import real
from tests.workloads.traces import line, write


def chosen(path: str, **choice: object) -> SwfJobs:
    return jobs_of(read_swf(path), Choice(**choice), path)  # type: ignore[arg-type]


def test_release_run_time_and_nodes(tmp_path: Path) -> None:
    # 400 processors on 100 nodes: 4 a node.
    path = write(tmp_path / "a.swf", line(1, 50, run=7, allocated=8), line(2, 60, wait=30, run=9, allocated=9))
    jobs = chosen(path)
    assert jobs.names == ["job-1", "job-2"]
    assert jobs.releases.tolist() == [0.0, 10.0]
    assert jobs.seconds.tolist() == [7.0, 9.0]
    assert jobs.sizes.tolist() == [2, 3]
    assert (jobs.nodes, jobs.lines, jobs.left_out, jobs.put_right) == (100, 2, {}, {})
    started = chosen(path, release="start")
    assert started.releases.tolist() == [0.0, 30.0]


@pytest.mark.parametrize(
    ("header", "choice", "nodes", "size"),
    [
        ("; MaxNodes: 100\n; MaxProcs: 400\n", {}, 100, 3),
        ("; MaxNodes: 100\n; MaxProcs: 410\n", {}, 100, 2),  # 5 a node, the last one with fewer
        ("; MaxNodes: 100\n; MaxProcs: 400\n", {"cores_per_node": 1}, 100, 10),
        ("; MaxNodes: 100\n", {}, 100, 10),
        ("; MaxProcs: 93312\n", {}, 93_312, 10),
        ("; MaxProcs: 93312\n", {"cores_per_node": 16}, 5832, 1),
        ("; MaxNodes: 100\n; MaxProcs: 400\n", {"nodes": 50}, 50, 3),
        ("", {"nodes": 50}, 50, 10),
    ],
)
def test_the_machine(tmp_path: Path, header: str, choice: dict[str, int], nodes: int, size: int) -> None:
    jobs = chosen(write(tmp_path / "a.swf", line(allocated=10), header=header), **choice)
    assert jobs.nodes == nodes
    assert jobs.sizes.tolist() == [size]


def test_a_trace_that_does_not_tell_the_machine(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(), header="; MaxNodes: many\n; MaxProcs: -1\n")
    message = "the header has no MaxNodes and no MaxProcs; expected the nodes of the machine (--nodes)"
    with pytest.raises(InputError) as caught:
        chosen(path)
    assert str(caught.value) == f"{path}: {message}"


BAD = [
    ("1 2 3", "malformed, not 18 numbers (first: line 5)"),
    (line(status=2), "parts of jobs that are listed as a whole (status 2, 3 or 4)"),
    (line(status=4), "parts of jobs that are listed as a whole (status 2, 3 or 4)"),
    (line(submit=-1), "without a submit time"),
    (line(run=-1), "without a run time"),
    (line(run=0), "with a run time of 0"),
    (line(allocated=-1, requested=-1), "without processors, allocated or requested"),
    (line(allocated=0, requested=0), "without processors, allocated or requested"),
    (line(allocated=401), "larger than the machine of 100 nodes"),
    (line(allocated=-1, requested=401), "larger than the machine of 100 nodes"),
    (line(submit=-1, run=-1, allocated=-1, requested=-1), "without a submit time"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_a_line_that_cannot_be_used_is_counted_by_its_first_reason(tmp_path: Path, bad: str, reason: str) -> None:
    jobs = chosen(write(tmp_path / "a.swf", bad, line(2), bad, line(3)))
    assert jobs.left_out == {reason: 2}
    assert jobs.names == ["job-2", "job-3"]
    assert jobs.lines == 4


@pytest.mark.parametrize(("bad", "reason"), BAD[1:])
def test_a_trace_without_a_job_is_refused_in_one_line(tmp_path: Path, bad: str, reason: str) -> None:
    path = write(tmp_path / "a.swf", bad, "odd")
    with pytest.raises(InputError) as caught:
        chosen(path, since="10 s")
    counts = f"1 malformed, not 18 numbers (first: line 6), 1 {reason}"
    assert str(caught.value) == f"{path}: no job is left: {counts}; expected jobs with a run time and processors"


def test_a_wait_time_is_needed_only_for_the_start(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(1, wait=-1), line(2))
    assert chosen(path).left_out == {}
    assert chosen(path, release="start").left_out == {"without a wait time": 1}


def test_what_is_put_right(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.swf",
        line(1, 100),
        line(2, 50),
        line(2, 120),
        line(-1, 130),
        line(5, 90, allocated=-1, requested=12),
        line(6, 140, allocated=0, requested=4),
    )
    jobs = chosen(path)
    assert jobs.names == ["job-2", "job-5", "job-1", "line-7", "line-8", "job-6"]
    assert jobs.releases.tolist() == [0.0, 40.0, 50.0, 70.0, 80.0, 90.0]
    assert jobs.sizes.tolist() == [2, 3, 2, 2, 2, 1]
    assert jobs.places.tolist() == [1, 4, 0, 2, 3, 5]
    assert jobs.left_out == {}
    assert jobs.put_right == {
        "with the requested processors, as the allocated ones are unknown": 2,
        "out of order, sorted by release": 2,
        "with a job number that is missing or used before, renamed": 2,
    }


def test_failed_and_cancelled_jobs_that_ran_are_jobs(tmp_path: Path) -> None:
    jobs = chosen(write(tmp_path / "a.swf", line(1, status=0), line(2, status=5), line(3, status=-1)))
    assert len(jobs.names) == 3


@pytest.mark.parametrize(
    ("since", "duration", "names", "first"),
    [
        ("", 0.0, [1, 2, 3, 4], 0.0),
        ("", 100.0, [1], 0.0),
        ("100", 0.0, [2, 3, 4], 0.0),
        ("1 min", 100.0, [2], 40.0),
        ("50 s", 151.0, [2, 3], 50.0),
        ("2001-09-09T01:50:00", 0.0, [3, 4], 0.0),  # UnixStartTime + 200 s
        ("2001-09-09T03:50:01+02:00", 0.0, [4], 99.0),
        ("2001-09-09", 7000.0, [1, 2, 3, 4], 6400.0),
    ],
)
def test_a_span(tmp_path: Path, since: str, duration: float, names: list[int], first: float) -> None:
    # 1,000,000,000 s of Unix time are 2001-09-09T01:46:40.
    path = write(tmp_path / "a.swf", *(line(number, 100 * (number - 1)) for number in (1, 2, 3, 4)))
    jobs = chosen(path, since=since, duration=duration)
    assert jobs.names == [f"job-{number}" for number in names]
    assert jobs.releases[0] == pytest.approx(first)
    assert sum(jobs.left_out.values()) == 4 - len(names)


def test_a_span_begins_with_the_first_job_that_can_be_used(tmp_path: Path) -> None:
    jobs = chosen(write(tmp_path / "a.swf", line(1, 5, run=-1), line(2, 100), line(3, 150)), duration=50.0)
    assert jobs.names == ["job-2"]
    span = "outside the span (from 0 s to 50 s after the first release; the last is at 50 s)"
    assert jobs.left_out == {"without a run time": 1, span: 1}


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ("monday", "since: 'monday' is neither a date nor a time; expected 2022-03-01, 2022-03-01T12:00, or a time after"),
        ("-5 s", "since: '-5 s' is neither a date nor a time"),
        (
            "9000 s",
            "no job is left: 1 outside the span (from 9,000 s after the first release; the last is at 0 s); expected",
        ),
    ],
)
def test_spans_that_are_none(tmp_path: Path, since: str, message: str) -> None:
    path = write(tmp_path / "a.swf", line())
    with pytest.raises(InputError) as caught:
        chosen(path, since=since)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_date_needs_the_start_of_the_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(), header="; MaxNodes: 9\n")
    message = "the header has no UnixStartTime, so dates have no meaning; expected a time such as 10d"
    with pytest.raises(InputError) as caught:
        chosen(path, since="2022-03-01")
    assert str(caught.value) == f"{path}: {message}"


values = st.sampled_from([-1, 0, 1, 5, 399, 401])


@given(
    rows=st.lists(st.tuples(values, values, values, values, values, values, st.integers(-1, 5)) | st.none(), max_size=12),
    release=st.sampled_from(["submit", "start"]),
    since=st.sampled_from(["", "2 s"]),
)
def test_every_line_is_kept_or_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...] | None], release: str, since: str
) -> None:
    lines = ["junk" if row is None else line(*row) for row in rows]
    path = write(tmp_path_factory.mktemp("swf") / "a.swf", line(77, 1, run=3), *lines, line(78, 10**6))
    jobs = chosen(path, release=release, since=since)
    assert len(jobs.names) + sum(jobs.left_out.values()) == jobs.lines == len(rows) + 2
    assert len(set(jobs.names)) == len(jobs.names)
    assert np.all(np.diff(jobs.releases) >= 0.0)
    assert np.all(jobs.seconds > 0.0)
    assert np.all((jobs.sizes >= 1) & (jobs.sizes <= 100))


def test_real_traces() -> None:
    theta, curie = chosen(real("swf/theta_2022.swf")), chosen(real("swf/CEA-curie_sample.swf"), cores_per_node=16)
    assert (theta.nodes, len(theta.names), theta.left_out, theta.put_right) == (4360, 23_911, {}, {})
    assert (curie.nodes, len(curie.names), curie.left_out, curie.put_right) == (5832, 29_998, {}, {})
