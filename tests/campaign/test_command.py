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


CURVED = {"phases": [["work", 3], ["write", 4], ["read", 2]], "curve": {"1": 2, "2": 3}, "write_bandwidth": 2}


def files_of(folder: Path, **kinds: tuple[dict[str, object], dict[str, object]]) -> Path:
    """A campaign of workload files, each with its platform and what its two applications have."""
    for name, (platform, more) in kinds.items():
        applications = [{**CURVED, **more} for _ in range(2)]
        document = {"penstock": 1, "platform": {"bandwidth": 6, **platform}, "applications": applications}
        (folder / f"{name}.json").write_text(json.dumps(document))
    paths = [str(folder / f"{name}.json") for name in kinds]
    file = folder / "files.yaml"
    file.write_text(f"campaign: files\nworkload: file\nparameters: {{path: {json.dumps(paths)}}}\npolicies: [fcfs, bound]\n")
    return file


BUFFER = {"size": 3}
OWN, FOUND = ({"resources": 2}, {"placement": [1]}), ({"resources": 2, "buffer": BUFFER}, {})
DEFAULT = "placement: tcpu, greedy-clairvoyant (default; --allocation, --placement choose others)"


def test_the_placement_is_named(tmp_path: Path, capsys: Capture) -> None:
    options = ["--out", str(tmp_path / "one"), "--workers", "1"]
    assert main(["campaign", str(files_of(tmp_path, found=FOUND)), *options]) == 0
    assert DEFAULT in capsys.readouterr().out.splitlines()
    both = str(files_of(tmp_path, own=OWN, found=FOUND, link=({"buffer": BUFFER}, {})))
    options[1] = str(tmp_path / "two")
    assert main(["campaign", both, *options]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("placement")]
    assert said == ["placement: from the file, 2 rows", f"{DEFAULT}, 2 rows"]
    assert main(["campaign", both, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["placements"] == [
        {"source": "file", "allocation": None, "placement": None, "rows": 2},
        {"source": "default", "allocation": "tcpu", "placement": "greedy-clairvoyant", "rows": 2},
    ]


@pytest.mark.parametrize("written", [False, True])
def test_others_can_be_chosen(tmp_path: Path, capsys: Capture, written: bool) -> None:
    file = files_of(tmp_path, own=OWN, found=FOUND)
    options = ["--allocation", "static", "--placement", "random"]
    if written:
        file.write_text(f"{file.read_text()}allocation: static\nplacement: random\n")
        options = []
    assert main(["campaign", str(file), *options, "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert "placement: static, random" in captured.out.splitlines()
    assert "applications[].placement" in captured.err
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert {row["placement"] for row in rows} == {"static + random"}
    assert all(row["command"].endswith(" --allocation static --placement random") for row in rows)
    for row in rows[:2]:
        assert main([*row["command"].split()[1:], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["min_yield"] == row["min_yield"]
    other = [str(file), "--allocation", "mckp", *(["--placement", "random"] if not written else [])]
    assert main(["campaign", *other, "--out", str(tmp_path / "out")]) == 2  # MCKP places by itself
    assert main(["campaign", str(file), "--allocation", "n-sys", "--out", str(tmp_path / "out")]) == 2
    assert "holds another campaign" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("", ["--allocation", "most"], "penstock: allocation most: unknown; expected one of random, static"),
        ("", ["--placement", "left"], "penstock: placement left: unknown; expected one of random"),
        ("allocation: most", [], "files.yaml: allocation most: unknown; expected one of random, static"),
        ("placement: [0]", [], "files.yaml: placement: [0] is no name; expected one that `penstock place` knows"),
    ],
)
def test_unknown_heuristics_are_refused(
    tmp_path: Path, capsys: Capture, lines: str, options: list[str], message: str
) -> None:
    file = files_of(tmp_path, own=OWN)
    file.write_text(f"{file.read_text()}{lines}\n")
    assert main(["campaign", str(file), *options, "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr().err
    assert message in captured
    assert captured.count("\n") == 1


def test_a_field_that_one_file_makes_use_of_is_not_said_to_be_useless(tmp_path: Path, capsys: Capture) -> None:
    file = files_of(tmp_path, own=OWN, found=FOUND)
    assert main(["campaign", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    said = f"note: campaign does not use applications[].write_bandwidth (in {tmp_path / 'own.json'})"
    assert said in capsys.readouterr().err.splitlines()


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
