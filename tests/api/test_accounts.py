"""`penstock.import_slurm` and `penstock.import_swf`: what they make, count, refuse and hide."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import penstock
from penstock.model import InputError, Platform
from penstock.workloads.importers.anonymize import Anonymizer
from tests.workloads.importers.logs import Log
from tests.workloads.importers.outputs import row, step, write
from tests.workloads.traces import line
from tests.workloads.traces import write as write_trace


@pytest.fixture
def sacct(tmp_path: Path) -> str:
    """Two jobs with bytes, one of another user without, and one that waits."""
    return write(
        tmp_path / "sacct.txt",
        row("1"),
        step("1.0", 2_000_000, 8_000_000),
        row("2", JobName="genome", User="bob", NNodes="4", Start="2026-03-02T10:30:00", End="2026-03-02T11:30:00"),
        step("2.0", 6_000_000, 0),
        row("3", JobName="climate_2", Start="2026-03-02T12:00:00", Timelimit="UNLIMITED"),
        row("4", State="PENDING", Start="Unknown", End="Unknown", Elapsed="00:00:00"),
    )


def test_a_workload_of_accounting(sacct: str) -> None:
    made = penstock.import_slurm(sacct, time_zone="UTC")
    one, two, three = made.workload.applications
    assert [application.name for application in (one, two, three)] == ["climate-1", "genome-2", "climate_2-3"]
    assert (one.nodes, one.release, one.submit, one.requested) == (2, 0.0, -3600.0, 7200.0)
    assert (one.user, one.group, one.source) == ("ann", "physics", "accounting")
    assert (two.release, two.user) == (1800.0, "bob")
    assert (three.source, three.requested) == ("model", None)
    # The nearest job is the first one of the same user, as large and as long.
    assert list(three.phases) == list(one.phases)
    platform = made.workload.platform
    assert platform.nodes == 6
    # A tenth of an hour for the I/O of each: 10 MB and 6 MB in 360 s. Their iterations of 360 s begin together, with reads.
    assert platform.bandwidth == pytest.approx(10e6 / 360.0 + 6e6 / 360.0)
    assert made.counts["jobs kept"] == 3
    assert f"{10 / 26:.1%} of the I/O rests on a model" in made.notes
    for application, record in zip((one, two, three), made.jobs, strict=True):
        assert application.seconds_alone(application.cap(platform)) == pytest.approx(record.end - record.start)


def test_the_machine_that_is_given(sacct: str, tmp_path: Path) -> None:
    made = penstock.import_slurm(sacct, bandwidth="1 GB/s", node_bandwidth="10 MB/s", machine_nodes=3)
    assert made.workload.platform == Platform(1e9, 1e7, 3)
    assert made.counts["left out, larger than the machine of 3 nodes"] == 1
    assert not [note for note in made.notes if note.startswith("platform")]
    assert [note for note in penstock.import_slurm(sacct).notes if note.startswith("platform")] == [
        "platform: 44.4 kB/s is the most that the jobs reached together, a lower bound; --bandwidth sets it",
        "platform: 6 nodes, the most that the jobs had at one time; --machine-nodes",
    ]
    # Two nodes at 10 MB/s: the 10 MB of the first job take half a second of its hour.
    assert made.jobs[0].phases.seconds.sum() == pytest.approx(0.5)
    file = tmp_path / "machine.json"
    penstock.write(made.workload, file)
    same = penstock.import_slurm(sacct, platform=file)
    assert same.workload.platform == made.workload.platform
    assert [one.phases for one in same.workload.applications] == [one.phases for one in made.workload.applications]


def test_logs_give_their_jobs_their_io(sacct: str, tmp_path: Path) -> None:
    """Job 1 has a log of single operations, which began 5 s after it; a log has no job, another cannot be read."""
    start = 1_772_445_600.0  # 10 o'clock UTC on the second of March
    writes = [(10.0, 20.0, 4_000_000), (1000.0, 1010.0, 4_000_000)]
    dxt = [("DXT_POSIX", "/scratch/a", 0, "n1", writes, [(0.0, 2.0, 1_000_000)])]
    folder = tmp_path / "logs"
    folder.mkdir()
    Log(job_id=1, start=start + 5.0, seconds=2000.0, dxt=dxt).write(folder / "one.darshan")
    Log(job_id=77, start=start, seconds=100.0, dxt=dxt).write(folder / "other.darshan")
    (folder / "wrong.darshan").write_text("no log")
    made = penstock.import_slurm(sacct, darshan=folder, time_zone="UTC", gap=10.0, progress=False)
    assert made.counts["logs joined with their jobs"] == 1
    assert made.counts["left out, logs of jobs that are not listed"] == 1
    assert [Path(file).name for file, _ in made.failures] == ["wrong.darshan"]
    assert [record.source for record in made.jobs] == ["dxt", "accounting", "model"]
    assert list(made.jobs[0].phases) == [
        (5.0, 7.0, 1_000_000.0, "read"),
        (15.0, 25.0, 4_000_000.0, "write"),
        (1005.0, 1015.0, 4_000_000.0, "write"),
    ]
    # Job 3 is like job 1, which has a log, and as large and long; 9 MB each of 24 MB.
    assert list(made.jobs[2].phases) == list(made.jobs[0].phases)
    assert f"{9 / 24:.1%} of the I/O rests on a model" in made.notes
    application = made.workload.applications[0]
    assert list(application.phases)[:4] == [("work", 5.0), ("read", 1e6), ("work", 8.0), ("write", 4e6)]
    assert (application.user, application.requested, application.source) == ("ann", 7200.0, "dxt")
    # A clock that is read an hour off is noticed, and put right.
    moved = penstock.import_slurm(sacct, darshan=folder, time_zone="Asia/Tokyo", gap=10.0, progress=False)
    assert any("is the time zone right?" in note for note in moved.notes)
    assert list(moved.jobs[0].phases) == list(made.jobs[0].phases)


def test_released_when_submitted(sacct: str) -> None:
    made = penstock.import_slurm(sacct, release="submit", time_zone="UTC")
    assert [application.release for application in made.workload.applications] == [0.0, 0.0, 0.0]
    assert penstock.import_slurm(sacct, without_log="leave-out").counts["left out, without a log or counters"] == 1


def test_alone_a_job_is_faster(sacct: str) -> None:
    one, two = (penstock.import_slurm(sacct, alone=alone).workload.applications[0] for alone in (1, "2.5"))
    assert two.bandwidth == pytest.approx(2.5 * (one.bandwidth or 0.0))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"bandwidth": "fast"}, "bandwidth: 'fast' is not an amount"),
        ({"machine_nodes": 0}, "nodes: 0 is not a number of nodes"),
        ({"platform": "no.json"}, "no.json: cannot be read"),
        ({"darshan": "no/logs"}, "no/logs: does not exist; expected a Darshan log or a folder of logs"),
        ({"release": "later"}, "release: 'later' is unknown; expected one of start, submit"),
        ({"alone": "slow"}, "alone: 'slow' is no factor; expected a number above 0, or largest"),
        ({"without_log": "guess"}, "without_log: 'guess' is out of range; expected model or none or leave-out"),
        ({"io_fraction": 2.0}, "io_fraction: 2.0 is out of range"),
        ({"seed": -1}, "seed: -1 is no seed"),
        ({"machine_nodes": 1}, "no job is left"),
    ],
)
def test_wrong_options(sacct: str, options: dict[str, object], error: str) -> None:
    with pytest.raises(InputError) as caught:
        penstock.import_slurm(sacct, **options)  # type: ignore[arg-type]
    assert error in str(caught.value)


def test_the_summary_and_the_json_say_the_same(sacct: str) -> None:
    made = penstock.import_slurm(sacct, time_zone="UTC")
    lines = list(made.summary())
    assert lines[0] == "6 lines, 3 jobs kept"
    assert "  left out, waiting: 1" in lines
    assert "in the phases: 10 MB read, 16 MB written; in their sources: the same" in lines
    assert "  counters of Slurm (of 2 jobs): 8 MB read, 8 MB written: the same" in lines
    document = json.loads(json.dumps(made.to_dict()))
    assert document["counts"]["left out, waiting"] == 1
    assert [job["source"] for job in document["jobs"]] == ["accounting", "accounting", "model"]
    assert document["jobs"][2]["notes"] == ["I/O like that of job-1 (distance 0.0)"]
    assert [job["name"] for job in made.tables()["jobs"]] == ["climate-1", "genome-2", "climate_2-3"]


def test_private_data_stay_private(sacct: str, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    with Path(sacct).open("a") as file:
        file.write(row("5", User="eve", Start="eve's date") + "\n")
    made = penstock.import_slurm(sacct, anonymize=True, key=key)
    hide = Anonymizer.from_file(key).hide
    first = made.workload.applications[0]
    assert (first.user, first.group) == (hide("user", "ann"), hide("group", "physics"))
    assert first.name == f"{hide('program', 'climate')}-1"
    penstock.write(made.workload, tmp_path / "a.json")
    shown = (tmp_path / "a.json").read_text() + json.dumps(made.to_dict()) + "\n".join(made.summary())
    for private in ("ann", "bob", "eve", "physics", "climate", "genome"):
        assert private not in shown.replace("cannot", "")
    plain = penstock.import_slurm(sacct).workload
    assert [one.phases for one in made.workload.applications] == [one.phases for one in plain.applications]


def test_a_trace_is_what_generate_makes(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.swf", line(1, 50), line(2, 60, wait=30, run=9), line(3, run=0))
    made = penstock.import_swf(path, seed=4, iterations=3, bandwidth="2 GB/s")
    assert made.workload == penstock.generate("swf", path=path, seed=4, iterations=3, bandwidth="2 GB/s")
    one = made.workload.applications[0]
    assert (one.user, one.group, one.requested, one.source) == ("user-4", "group-2", 3600.0, "drawn")
    assert made.counts == {"lines": 3, "jobs kept": 2, "left out, with a run time of 0": 1}
    started = penstock.import_swf(path, release="start").workload.applications
    assert [(each.release, each.submit) for each in started] == [(0.0, -10.0), (30.0, 0.0)]
    with pytest.raises(InputError, match="did you mean iterations"):
        penstock.import_swf(path, iteration=3)


def test_users_of_a_trace_are_hidden_alike(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    path = write_trace(tmp_path / "a.swf", line(1, 50))
    plain, hidden = (penstock.import_swf(path, anonymize=hide, key=key).workload.applications[0] for hide in (False, True))
    hide = Anonymizer.from_file(key).hide
    assert hidden == replace(plain, user=hide("user", "user-4"), group=hide("group", "group-2"))


def test_a_trace_with_logs(tmp_path: Path) -> None:
    """Job 1 has a log; job 2, of the same user, is twice as long on twice the nodes."""
    path = write_trace(tmp_path / "a.swf", line(1, 0, wait=10, run=100), line(2, 50, wait=0, run=200, allocated=16))
    dxt = [("DXT_POSIX", "/scratch/a", 0, "n1", [(10.0, 20.0, 4_000_000)], [])]
    Log(job_id=1, start=1_000_000_010.0, seconds=100.0, dxt=dxt).write(tmp_path / "one.darshan")
    made = penstock.import_swf(path, darshan=tmp_path / "one.darshan", release="start", progress=False)
    one, two = made.workload.applications
    assert (one.source, one.release, one.submit, one.user, one.requested) == ("dxt", 0.0, -10.0, "user-4", 3600.0)
    assert list(one.phases) == [("work", 10.0), ("write", 4e6), ("work", 80.0)]
    assert (two.source, list(two.phases)) == ("model", [("work", 20.0), ("write", 1.6e7), ("work", 160.0)])
    assert made.workload.platform.nodes == 100
    assert made.counts["with the I/O of the nearest job"] == 1
    assert "80.0% of the I/O rests on a model" in made.notes
    undated = write_trace(tmp_path / "b.swf", line(1), header="; MaxNodes: 100\n")
    with pytest.raises(InputError, match="the header has no UnixStartTime; expected it, as logs are joined by job and date"):
        penstock.import_swf(undated, darshan=tmp_path / "one.darshan", progress=False)
