"""A trace as a stream of applications."""

import math
from pathlib import Path

import numpy as np
import pytest

from penstock.engine import simulate
from penstock.model import InputError
from penstock.model.application import IO, WORK
from penstock.model.files import read
from penstock.model.files import write as write_workload
from penstock.model.workload import volume
from penstock.workloads import Stream, Swf, io_load, stream
from tests.data import real
from tests.workloads.traces import line, write


def fractions(made: Stream) -> np.ndarray:
    """The part of each job's time alone that is I/O."""
    platform = made.workload.platform
    return np.array([volume(a) / a.cap(platform) / a.seconds_alone(a.cap(platform)) for a in made.workload.applications])


def test_the_run_time_is_that_of_the_job_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(1, 5, run=300, allocated=40), line(2, 25, run=70, allocated=400))
    made = stream(path, Swf(iterations=7, bandwidth=1e9, node_bandwidth=2e7), 1)
    platform = made.workload.platform
    assert (platform.bandwidth, platform.node_bandwidth, platform.nodes) == (1e9, 2e7, 100)
    assert made.workload.window is None
    for application, run, nodes, release in zip(made.workload.applications, (300, 70), (10, 100), (0, 20), strict=True):
        kinds, amounts = application.phases.kinds, application.phases.amounts
        assert np.array_equal(kinds, np.tile([WORK, IO], 7))
        assert np.array_equal(amounts, np.tile(amounts[:2], 7))
        assert (application.nodes, application.release) == (nodes, release)
        assert application.seconds_alone(application.cap(platform)) == pytest.approx(run)


def test_a_quarter_of_the_machine_fills_the_link_unless_said_otherwise(tmp_path: Path) -> None:
    made = stream(write(tmp_path / "a.swf", line(1, allocated=4), line(2, allocated=100)), Swf(), 1)
    caps = [application.cap(made.workload.platform) for application in made.workload.applications]
    assert caps == pytest.approx([0.04, 1.0])


def test_jobs_that_do_not_meet_end_when_the_trace_says(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(1, 0, run=30), line(2, 100, run=50), line(3, 200, run=10, allocated=400))
    result = simulate(stream(path, Swf(iterations=5), 3).workload, "fcfs", check=True)
    assert [application.end for application in result.applications] == pytest.approx([30.0, 150.0, 210.0])


def test_the_io_fraction_follows_its_law(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", *(line(number, number) for number in range(1, 2001)))
    drawn = fractions(stream(path, Swf(iterations=1), 1))
    # N(0.1, 0.1²) on [0, 0.9]: mean 0.1288, standard deviation 0.0794.
    assert 0.0 <= drawn.min() <= drawn.max() <= 0.9
    assert drawn.mean() == pytest.approx(0.1288, abs=5.0 * 0.08 / math.sqrt(2000))
    assert drawn.std() == pytest.approx(0.0794, abs=0.008)
    other = fractions(stream(path, Swf(iterations=1, io_fraction=0.5, io_sigma=0.2, io_most=0.6), 1))
    assert 0.0 <= other.min() <= other.max() <= 0.6
    assert other.max() > 0.59
    assert fractions(stream(path, Swf(iterations=1, io_fraction=0.3, io_sigma=0.0), 1)) == pytest.approx(0.3)


def test_the_same_seed_makes_the_same_stream_and_a_span_the_same_jobs(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", *(line(number, 10 * number) for number in range(1, 40)))
    whole = stream(path, Swf(), 5)
    assert whole.workload == stream(path, Swf(), 5).workload
    assert whole.workload != stream(path, Swf(), 6).workload
    part = stream(path, Swf(since="100 s", duration=50.0), 5).workload.applications
    assert [application.phases for application in part] == [a.phases for a in whole.workload.applications[10:15]]


def test_the_summary_counts_every_line(tmp_path: Path) -> None:
    made = stream(write(tmp_path / "a.swf", line(1, 9), "odd", line(2, 5), line(3, run=0)), Swf(), 1)
    assert list(made.summary()) == [
        "4 lines: 2 jobs kept, 2 left out",
        "  left out: 1 malformed, not 18 numbers (first: line 6)",
        "  left out: 1 with a run time of 0",
        "  kept: 1 out of order, sorted by release",
    ]


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    made = stream(write(tmp_path / "a.swf", line(1, 9), line(2, 5)), Swf(), 1)
    write_workload(made.workload, tmp_path / f"w.{suffix}")
    assert read(tmp_path / f"w.{suffix}") == made.workload


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "soon"}, "since: 'soon' is neither a date nor a time"),
        ({"duration": -1.0}, "duration: -1.0 is out of range; expected a number, 0 or more"),
        ({"release": "end"}, "release: 'end' is out of range; expected submit or start"),
        ({"iterations": 0}, "iterations: 0 is out of range; expected 1 or more"),
        ({"io_fraction": 0.95}, "io_fraction: 0.95 is out of range; expected 0 to io_most, 0.9"),
        ({"io_sigma": math.nan}, "io_sigma: nan is out of range"),
        ({"io_most": 1.1}, "io_most: 1.1 is out of range; expected a number from 0 to 1"),
        ({"nodes": -1}, "nodes: -1 is out of range; expected 1 or more, or 0 for what the trace says"),
        ({"cores_per_node": -1}, "cores_per_node: -1 is out of range"),
        ({"bandwidth": 0.0}, "bandwidth: 0.0 is out of range; expected bytes/s above 0"),
        ({"node_bandwidth": math.inf}, "node_bandwidth: inf is out of range"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Swf(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_more_phases_than_fit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(1), line(2))
    message = "iterations: 60000000 of 2 jobs make over 200,000,000 phases; expected fewer"
    with pytest.raises(InputError, match=message):
        stream(path, Swf(iterations=60_000_000), 1)


def test_a_month_of_a_real_trace() -> None:
    path = real("swf/theta_2022.swf")
    made = stream(path, Swf(since="2022-03-01", duration=30 * 86_400.0), 1)
    rows = np.loadtxt(path, comments=";")
    begin = 1_646_092_800  # 2022-03-01 in UTC; UnixStartTime is 0
    rows = rows[(rows[:, 1] >= begin) & (rows[:, 1] < begin + 30 * 86_400)]
    applications = made.workload.applications
    assert len(applications) == len(rows) > 1000
    assert sum(made.jobs.left_out.values()) == 23_911 - len(rows)
    assert [application.release for application in applications] == sorted(rows[:, 1] - begin)
    assert sorted(application.nodes for application in applications) == sorted(rows[:, 4])
    platform = made.workload.platform
    alone = sum(application.nodes * application.seconds_alone(application.cap(platform)) for application in applications)
    assert alone == pytest.approx(float(np.sum(rows[:, 3] * rows[:, 4])), rel=1e-9)
    assert 0.2 < io_load(made.workload) < 0.6
