"""What `penstock.advise` reads: a file of any kind, or a folder; failures are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock
from penstock.model import InputError
from tests.advise.machines import colliding, week
from tests.workloads.importers.outputs import SACCT
from tests.workloads.traces import line, write


def test_a_file_is_the_workload(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    penstock.write(week(jobs=12), path)
    one, other = (
        penstock.advise(path, policies=["fcfs"]).to_dict(),
        penstock.advise(week(jobs=12), policies=["fcfs"]).to_dict(),
    )
    assert one.pop("title") == "w.json"
    assert other.pop("title") == "workload"
    assert one == other
    assert "hides contention" not in str(one)


def test_a_folder_of_workload_files(tmp_path: Path) -> None:
    for name in ("a.json", "b.yaml"):
        penstock.write(colliding(), tmp_path / name)
    (tmp_path / "c.json").write_text('{"penstock": 1, "platform"')
    (tmp_path / ".hidden").write_text("not looked at")
    advice = penstock.advise(tmp_path, nodes=4)
    assert [one.name for one in advice.workload.applications] == ["a", "b", "a-2", "b-2"]
    notes = advice.to_dict()["notes"]
    assert notes[0] == "2 workload files, 4 jobs"
    assert notes[1].startswith("left out: ")
    assert "c.json" in notes[1]


def test_accounting_alone_or_in_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    made = penstock.import_slurm(str(path))
    for given in (path, tmp_path):
        advice = penstock.advise(given, trust=100.0)
        assert advice.workload == made.workload
        assert len(advice.found.notes) > 0
        # No bandwidth is given, so that the most that was reached stands for it; the first screen must say so.
        assert advice.found.guessed
        assert any("hides contention" in sentence for sentence in advice.found.summary())


def test_a_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "t.swf", line(1, submit=0, run=3600), line(2, submit=60, wait=0, run=3600))
    advice = penstock.advise(path)
    assert [one.recorded for one in advice.workload.applications] == [(10.0, 3600.0), (60.0, 3600.0)]
    assert advice.found.backtest.made_from == 2


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no files; expected workload files, Darshan logs or accounting"),
        ({"a.txt": SACCT, "b.txt": SACCT}, "holds 2 job lists"),
        ({"a.json": '{"penstock": 2}'}, "none of its 1 files can be read"),
    ],
)
def test_folders_that_say_nothing(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        penstock.advise(tmp_path)


def test_files_of_different_machines(tmp_path: Path) -> None:
    penstock.write(colliding(), tmp_path / "a.json")
    penstock.write(colliding(count=3), tmp_path / "b.json")
    with pytest.raises(InputError, match=r"another platform than a\.json"):
        penstock.advise(tmp_path)


def test_a_workload_without_nodes() -> None:
    jobs = penstock.Workload(penstock.Platform(1.0), colliding().applications)
    with pytest.raises(InputError, match=r"platform\.nodes: is not given"):
        penstock.advise(jobs)
    assert penstock.advise(jobs, nodes=2).found.backtest.status == "near"
