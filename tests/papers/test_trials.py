"""Experiments go on where they were, and say what they cannot do."""

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.model import InputError
from penstock.papers.trials import Experiment, run


@dataclass(frozen=True)
class Trial:
    seed: int
    folder: str


def measure(trial: Trial) -> dict[str, int]:
    """Leaves a trace of having been computed, once for each time."""
    with (Path(trial.folder) / f"computed-{trial.seed}").open("a") as file:
        file.write("x")
    return {"n": trial.seed}


def times(folder: Path, seed: int) -> int:
    return len((folder / f"computed-{seed}").read_text())


def test_an_experiment_goes_on_where_it_was(tmp_path: Path) -> None:
    trials = tuple(Trial(seed, str(tmp_path)) for seed in range(3))
    run(Experiment("e", trials[:2], measure), tmp_path, progress=False)
    with (tmp_path / "e.jsonl").open("a") as file:
        file.write('{"key": "cut sho')
    rows = run(Experiment("e", trials, measure), tmp_path, progress=False)
    assert [rows[trial] for trial in trials] == [{"n": 0}, {"n": 1}, {"n": 2}]
    run(Experiment("e", trials, measure), tmp_path, progress=False)
    assert [times(tmp_path, seed) for seed in range(3)] == [1, 1, 1], "a line after the one that was cut short counts"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    experiment = Experiment("e", (Trial(0, str(tmp_path)),), measure)
    with pytest.raises(InputError, match=r"cannot be written: Not a directory; the trials so far are kept$"):
        run(experiment, tmp_path / "file" / "folder", progress=False)


def test_what_is_no_row_is_computed_again(tmp_path: Path) -> None:
    trial = Trial(0, str(tmp_path))
    (tmp_path / "e.jsonl").write_text('{}\n[1]\n"x"\n')
    assert run(Experiment("e", (trial,), measure), tmp_path, progress=False) == {trial: {"n": 0}}


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "e.jsonl"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(InputError, match=r"e.jsonl: cannot be read: .*; expected rows of an experiment"):
        run(Experiment("e", (), measure), tmp_path, progress=False)


def test_rows_of_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"key": "k", "identity": {"penstock": "0"}, "row": {}}\n')
    with pytest.raises(InputError, match=r"e.jsonl: was computed by another version; expected an empty folder$"):
        run(Experiment("e", (), measure), tmp_path, progress=False)


INTERRUPTED_AT_ONCE = """
import multiprocessing.process, os, signal, sys
from pathlib import Path
from penstock.papers.trials import Experiment, run
from tests.papers.test_trials import Trial, measure

start = multiprocessing.process.BaseProcess.start
def interrupted(self):
    start(self)
    os.kill(os.getpid(), signal.SIGINT)
multiprocessing.process.BaseProcess.start = interrupted
run(Experiment("e", (Trial(0, sys.argv[1]), Trial(1, sys.argv[1])), measure), Path(sys.argv[1]), progress=False)
"""


def test_an_interrupt_while_processes_start_ends_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_AT_ONCE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
