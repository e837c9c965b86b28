"""``penstock campaign`` as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.main import main

Capture = pytest.CaptureFixture[str]

FILE = """
campaign: tiny
workload: synthetic
parameters: {pressure: [0.5, 0.9], applications: 4, small: 1, horizon: 2e4}
seeds: {first: 0, count: 2}
policies: [fair-share, fcfs]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(FILE)
    return path


def test_the_command_prints_a_summary(file: Path, capsys: Capture) -> None:
    out = file.parent / "out"
    assert main(["campaign", str(file), "--out", str(out), "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert "fair-share" in captured.out
    assert captured.out.endswith(f"results: {out}/results.parquet\n")
    assert main(["campaign", str(file), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    table = pq.read_table(out / "results.parquet")
    assert (document["campaign"], document["cells"], document["rows"]) == ("tiny", 8, 8)
    assert document["failures"] == []
    assert [policy["policy"] for policy in document["policies"]] == ["fair-share", "fcfs"]
    assert document["policies"][1]["min_yield"] == pytest.approx(table["min_yield"].to_numpy()[1::2].mean(), rel=1e-15)


def test_failed_cells_are_said_and_make_exit_code_1(file: Path, capsys: Capture) -> None:
    file.write_text(FILE.replace("[0.5, 0.9]", "[2, 3, 4, 5, 6]"))  # 4 applications can make a pressure below 4
    assert main(["campaign", str(file), "--out", str(file.parent / "out")]) == 1
    out = capsys.readouterr().out
    said = [line for line in out.splitlines() if line.startswith("failed: ")]
    assert len(said) == 4
    assert said[0].startswith("failed: penstock generate synthetic --pressure=4.0 ")
    assert said[0].endswith("w.json --policy fair-share: pressure: 4.0 needs more than 4 applications")
    assert said[3] == "failed: 9 more, in the column error"


def test_what_files_say_and_no_run_uses_is_named_once(tmp_path: Path, capsys: Capture) -> None:
    for name, more in {"a": {}, "b": {"directory": "/b"}, "c": {"directory": "/c", "best_count": 3}}.items():
        application = {**more, "phases": [["io", 1]]}
        document = {"penstock": 1, "platform": {"bandwidth": 1}, "applications": [application]}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    paths = [str(tmp_path / f"{name}.json") for name in "abc"]
    file = tmp_path / "files.yaml"
    file.write_text(f"campaign: files\nworkload: file\nparameters: {{path: {json.dumps(paths)}}}\npolicies: [fcfs]\n")
    assert main(["campaign", str(file), "--out", str(tmp_path / "out"), "--workers", "1", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["failures"] == []
    said = [line for line in captured.err.splitlines() if "compiling" not in line]
    assert said == ["note: campaign does not use applications[].directory, applications[].best_count"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "out", "--workers", "0"], "workers: 0 is out of range; expected a whole number, 1 or more"),
        (["--out", "out", "--workers", "1", "--dask", "x"], "argument --dask: not allowed with argument --workers"),
        ([], "the following arguments are required: --out"),
        (["--out", "tiny.yaml"], "tiny.yaml: cannot be written: File exists; expected a folder to write to"),
        (["--out", "."], ".: holds other files and no campaign; expected a new or an empty folder"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(file.parent)
    try:
        code: object = main(["campaign", "tiny.yaml", *arguments])
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert file.read_text() == FILE


def test_a_terminal_gets_a_bar_and_a_pipe_does_not(file: Path) -> None:
    command = [sys.executable, "-m", "penstock", "campaign", str(file), "--out"]
    piped = subprocess.run([*command, str(file.parent / "a")], capture_output=True, text=True, timeout=300, check=True)
    assert not [line for line in piped.stderr.splitlines() if "compiling" not in line]
    shown = subprocess.run(
        ["script", "-qec", " ".join([*command, str(file.parent / "b")]), "/dev/null"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "tiny" in shown.stdout
    assert "8/8" in shown.stdout
    assert "left" in shown.stdout
