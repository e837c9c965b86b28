"""`penstock.import_darshan`: folders of logs in parallel, one workload, by job, in time; the command says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from penstock.model import InputError
from tests.campaign.test_cluster import scheduler, worker
from tests.workloads.importers.logs import Log, backend

backend()  # skips the module without PyDarshan
Capture = pytest.CaptureFixture[str]
GB = 10**9


def written(job: int, start: float, volume: int, begin: float = 10.0, **more: object) -> Log:
    """A log of a job that writes for 10 s."""
    return Log(
        job_id=job,
        start=1_600_000_000.0 + start,
        dxt=[("DXT_POSIX", "/scratch/a", rank, f"n{rank}", [(begin, begin + 10.0, volume // 4)], []) for rank in range(4)],
        counters=[("POSIX", "/scratch/a", -1, {"BYTES_WRITTEN": volume})],
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three jobs, one of which ran two programs, one after the other; a log that is none, and one that ends the reader."""
    for name, log in {
        "a": written(1, 0.0, 4 * GB),
        "b": written(2, 50.0, 8 * GB),
        "c": written(2, 200.0, 2 * GB, begin=20.0, program="/home/alice/second"),
        "d": written(3, 30.0, 6 * GB),
    }.items():
        (tmp_path / "logs" / name).mkdir(parents=True)
        log.write(tmp_path / "logs" / name / f"{name}.darshan")
    (tmp_path / "logs/x.darshan").write_text("no log")
    cut = written(4, 0.0, GB).write(tmp_path / "whole").read_bytes()
    (tmp_path / "logs/y.darshan_partial").write_bytes(cut[:1400])
    (tmp_path / "logs/readme").write_text("not read")
    return tmp_path / "logs"


def test_a_folder_is_one_workload_by_job_in_time(folder: Path) -> None:
    result = penstock.import_darshan(folder, workers=2)
    assert [(one.name, one.release) for one in result.workload.applications] == [
        ("job-1", 0.0),
        ("job-3", 30.0),
        ("job-2", 50.0),
    ]
    assert list(result.workload.applications[2].phases) == [
        ("work", 10.0), ("write", 8e9), ("work", 150.0), ("write", 2e9), ("work", 70.0),
    ]  # fmt: skip
    assert result.counts == {"logs": 6, "jobs": 3, "from dxt": 4, "left out": 2}
    assert [Path(path).name for path, _ in result.failures] == ["x.darshan", "y.darshan_partial"]
    assert all(reason for _, reason in result.failures)
    # Jobs 1 and 3 write from 10 to 20 s and from 40 to 50 s, job 2 from 60 to 70 s: never together.
    assert result.workload.platform.bandwidth == 8e8
    assert result.workload.platform.nodes == 12
    assert penstock.simulate(result.workload, "fair-share").makespan == pytest.approx(300.0)


def test_a_cluster_reads_the_same(folder: Path, tmp_path: Path) -> None:
    (folder / "y.darshan_partial").unlink()  # it would end the cluster's worker
    here = penstock.import_darshan(folder, workers=1)
    with scheduler(tmp_path) as (address, _), worker(address, tmp_path / "w"):
        there = penstock.import_darshan(folder, dask=address)
    assert there.to_dict() == here.to_dict()
    assert there.workload == here.workload


def test_the_bandwidth_alone_and_of_the_machine(folder: Path, tmp_path: Path) -> None:
    log = folder / "b/b.darshan"
    assert penstock.import_darshan(log, alone=1.5).workload.applications[0].bandwidth == pytest.approx(1.2e9)
    given = penstock.import_darshan(log, bandwidth="2 GB/s", node_bandwidth=5e8, machine_nodes=64).workload.platform
    assert (given.bandwidth, given.node_bandwidth, given.nodes) == (2e9, 5e8, 64)
    machine = tmp_path / "machine.json"
    penstock.write(
        penstock.Workload(penstock.Platform(7e9, nodes=99), (penstock.Application.of("a", [("io", 1.0)]),)), machine
    )
    given = penstock.import_darshan(log, platform=machine, machine_nodes=50).workload.platform
    assert (given.bandwidth, given.nodes) == (7e9, 50)


def test_the_same_names_are_hidden_in_the_same_way(folder: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    first, second = (penstock.import_darshan(folder / name, anonymize=True, key=key) for name in ("a", "d"))
    assert first.jobs[0].user == second.jobs[0].user != "1000"
    told = json.dumps([first.to_dict(), penstock.import_darshan(folder, anonymize=True, key=key).to_dict()])
    assert "alice" not in told
    assert str(folder) not in told


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ("nothing", "nothing: does not exist; expected a Darshan log or a folder of logs"),
        ("empty", "empty: holds no logs; expected files whose names end in .darshan or .darshan_partial"),
        ("x.darshan", "x.darshan: invalid log file"),
        ([], "logs: there is none"),
    ],
)
def test_without_a_log_one_line(folder: Path, logs: str | list[str], message: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        penstock.import_darshan(folder / logs if isinstance(logs, str) else logs)


def test_the_command_writes_the_workload_and_says_what_was_read(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "w.json"
    assert main(["import", "darshan", str(folder), "-o", str(out)]) == 0
    assert penstock.read(out) == penstock.import_darshan(folder).workload
    printed, said = capsys.readouterr()
    assert printed == ""
    lines = said.splitlines()
    assert lines[:3] == ["6 logs, 3 jobs", "  from dxt: 4", "  left out: 2"]
    assert lines[3].startswith(f"  left out: {folder}/x.darshan: ")
    assert "in the phases: 0 B read, 20 GB written; in their sources: the same" in lines
    assert "  their counters: 0 B read, 20 GB written: the same" in lines
    assert any("beside other jobs" in line for line in lines)
    assert "platform: 800 MB/s is the most that the jobs reached together, a lower bound; --bandwidth sets it" in lines


def test_the_command_prints_json_with_the_difference_to_the_counters(tmp_path: Path, capsys: Capture) -> None:
    log = written(1, 0.0, 4 * GB)
    log.counters[0][3]["BYTES_WRITTEN"] += 5
    path = log.write(tmp_path / "a.darshan")
    assert main(["import", "darshan", str(path), "-o", str(tmp_path / "w.yaml"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["jobs"]
    assert (row["written"], row["source_written"], row["counted"]) == (4e9, 4e9, [0.0, 4e9 + 5])
    assert row["difference"] == {"counted": [0.0, -5.0]}
    assert (row["source"], row["phases"], row["nodes"]) == ("dxt", 1, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.darshan", "-o", "w.json"], "none.darshan: does not exist"),
        (["a.darshan", "-o", "w.csv"], "w.csv: cannot tell the format"),
        (["a.darshan", "-o", "no/w.json"], "no/w.json: cannot be written"),
        (["a.darshan", "-o", "-", "--json"], "json: the workload goes to standard output"),
        (["a.darshan", "-o", "w.json", "--gap", "soon"], "gap: 'soon' is not an amount"),
        (["a.darshan", "-o", "w.json", "--alone", "x"], "alone: 'x' is no factor"),
        (["a.darshan", "-o", "w.json", "--layer", "posix2"], "layer: 'posix2' is unknown"),
        (["a.darshan", "-o", "w.json", "--platform", "m.json"], "m.json: cannot be read"),
    ],
)
def test_wrong_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(1, 0.0, GB).write(tmp_path / "a.darshan")
    assert main(["import", "darshan", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "w.json").exists()
