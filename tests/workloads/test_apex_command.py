"""``penstock generate apex`` as a user calls it."""

import re
from pathlib import Path

import pytest

from penstock import read
from penstock.cli.main import main
from penstock.engine import dedicated
from penstock.workloads import windows

Capture = pytest.CaptureFixture[str]
TRILAB = ["generate", "apex", "--workload", "trilab"]


@pytest.mark.parametrize("suffix", ["json", "yaml", "parquet"])
def test_a_file_for_each_window(tmp_path: Path, capsys: Capture, suffix: str) -> None:
    folder = tmp_path / "new" / "windows"
    options = ["--machine", "M_2", "--seed", "4", "--count", "3", "--format", suffix]
    assert main([*TRILAB, *options, "-o", str(folder)]) == 0
    expected = windows("trilab", "M_2", 4, 3)
    assert sorted(path.name for path in folder.iterdir()) == [f"window-0{number}.{suffix}" for number in range(3)]
    assert tuple(read(folder / f"window-0{number}.{suffix}") for number in range(3)) == expected
    said = capsys.readouterr().out
    match = re.fullmatch(r"3 windows in (.*): on average (.*) applications, (.*) s, pressure (.*)\n", said)
    assert match is not None
    assert match[1] == str(folder)
    assert float(match[2]) == pytest.approx(sum(len(window.applications) for window in expected) / 3, abs=0.05)
    assert float(match[3]) == pytest.approx(sum(run.end - run.begin for run in map(dedicated, expected)) / 3, abs=0.5)
    assert float(match[4]) == pytest.approx(sum(run.pressure for run in map(dedicated, expected)) / 3, abs=5e-4)


def test_nothing_is_overwritten(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "notes.txt").write_text("kept")
    assert main([*TRILAB, "--count", "2", "-o", str(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 3
    capsys.readouterr()
    for options in (["--seed", "2"], ["--format", "parquet"]):
        assert main([*TRILAB, *options, "-o", str(tmp_path)]) == 2
        expected = f"penstock: {tmp_path}: already holds window-00.json; expected a new or empty folder\n"
        assert capsys.readouterr().err == expected
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_all_windows_or_none(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.model import InputError, files

    write = files.write

    def full(workload: object, path: Path) -> None:
        if path.name == "window-01.json":
            raise InputError(str(path), "cannot be written: No space left on device")
        write(workload, path)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "write", full)
    assert main([*TRILAB, "--count", "3", "-o", str(tmp_path)]) == 2
    assert "window-01.json: cannot be written: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def wrong_lines(folder: Path) -> list[tuple[list[str], str]]:
    """Command lines that are wrong, each with what its one line must say."""
    file = folder / "file"
    file.write_text("kept")
    new = str(folder / "new")
    apex = ["generate", "apex"]
    machines = ", ".join(f"M_{step}" for step in range(1, 11))
    return [
        ([*apex, "-o", new], "the following arguments are required: --workload"),
        (TRILAB, "the following arguments are required: -o/--output"),
        ([*apex, "--workload", "lanl", "-o", new], "workload: 'lanl' is unknown; expected one of nersc, trilab"),
        ([*TRILAB, "--machine", "M_11", "-o", new], f"machine: 'M_11' is unknown; expected one of cielo, {machines}"),
        ([*TRILAB, "--count", "0", "-o", new], "count: 0 is out of range; expected 1 or more"),
        ([*TRILAB, "--seed", "-1", "-o", new], "'-1' is not a seed; expected a whole number, 0 or more"),
        ([*TRILAB, "--format", "csv", "-o", new], "argument --format: invalid choice: 'csv'"),
        ([*TRILAB, "-o", "-"], "-: is not a folder; expected a new or empty one for the windows"),
        ([*TRILAB, "-o", str(file)], f"{file}: is not a folder; expected a new or empty one for the windows"),
        ([*TRILAB, "-o", str(file / "new")], f"{file / 'new'}: cannot be written: Not a directory"),
    ]


@pytest.mark.parametrize("number", range(10))
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, capsys: Capture, number: int) -> None:
    cases = wrong_lines(tmp_path)
    assert len(cases) == 10
    arguments, message = cases[number]
    try:
        code: object = main(arguments)
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
