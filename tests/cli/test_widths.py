"""Tables at several widths of the terminal: no line is wider, and no name is broken inside."""

import json
import re
from pathlib import Path

import pytest

from penstock import Workload, read, write
from penstock.cli.main import main
from penstock.model import Application
from penstock.policies import REGISTRY, expand

Capture = pytest.CaptureFixture[str]
WIDTHS = (60, 80, 120)
LONG = "climate-model-with-a-long-name-42"
SPACED = "the climate model of the group on the third floor"


@pytest.fixture(scope="module")
def long_names(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with names that are hard to fit."""
    workload = read(demo)
    names = [LONG, SPACED, *(application.name for application in workload.applications[2:])]
    path = tmp_path_factory.mktemp("names") / "names.json"
    applications = []
    for name, application in zip(names, workload.applications, strict=True):
        fields = {field: getattr(application, field) for field in ("phases", "nodes", "release", "lead")}
        applications.append(Application(name, **fields))
    write(Workload(workload.platform, tuple(applications), workload.window), path)
    return path


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def lines(arguments: list[str], capsys: Capture, width: int) -> list[str]:
    """The lines that the command prints, none of them too wide."""
    assert main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    table = [line for line in printed if not re.match(r"[a-z]+: |I/O times", line)]  # the others are sentences
    assert max(map(len, (line.rstrip() for line in table))) <= width, table
    return printed


def first_words(printed: list[str]) -> set[str]:
    return {line.split("│")[0].split("  ")[0].strip() for line in printed}


def test_simulate(long_names: Path, capsys: Capture, width: int) -> None:
    printed = lines(["simulate", str(long_names), "--policy", "look-ahead-greedy-yield"], capsys, width)
    names = {application.name for application in read(long_names).applications} - {SPACED}
    assert {*names, "look-ahead-greedy-yield"} <= first_words(printed)
    assert "yield" in " ".join(printed)
    # A name with spaces may be wrapped at them.
    text = " ".join(" ".join(line.split("│")[0].split()) for line in printed)
    assert SPACED in text


@pytest.mark.parametrize("family", ["sharing", "static"])
def test_compare(demo: Path, capsys: Capture, width: int, family: str) -> None:
    printed = lines(["compare", str(demo), "--policy", family], capsys, width)
    assert {*expand([family]), "bound"} <= first_words(printed)
    heading = printed[0]
    assert "min-yield" in heading
    assert "efficiency" in heading
    left_out = next((line for line in printed if line.startswith("no room for: ")), "")
    shown = [column for column in ("gap", "utilization", "events", "time") if column in heading]
    assert all((column in heading) != (column in left_out) for column in ("gap", "utilization", "events", "time"))
    assert (len(shown) == 4) == (width == 120)


def test_policies(capsys: Capture, width: int) -> None:
    printed = lines(["policies"], capsys, width)
    assert set(REGISTRY) <= {line.split(" ")[0] for line in printed}
    # Words are whole: each word on the screen is one of those that the policies say.
    assert main(["policies", "--json"]) == 0
    said = json.dumps(json.loads(capsys.readouterr().out), ensure_ascii=False).replace('"', " ").replace(",", " ")
    known = {word.strip(".,;:()") for word in said.split()}
    words = {word.strip(".,;:()") for line in printed[1:] if not line.startswith("no room") for word in line.split()}
    assert words <= known | {"=", "nothing"} | {word for word in words if word.replace(".", "").isdigit()}


def test_bound(demo: Path, capsys: Capture, width: int) -> None:
    printed = lines(["bound", str(demo)], capsys, width)
    assert all(heading in printed[0] for heading in ("min-yield", "efficiency", "time"))


@pytest.mark.parametrize(
    "arguments", [["pack", "--compare"], ["pack"], ["delta", "--points", "3"]], ids=["packs", "one pack", "delta"]
)
def test_other_tables(arguments: list[str], tmp_path: Path, capsys: Capture, width: int) -> None:
    if arguments[0] == "pack":
        path = tmp_path / "w.json"
        small = ["--load=1", "--fewest=4", "--most=5", "--shortest=2", "--longest=3"]
        assert main(["generate", "packs", *small, "-o", str(path)]) == 0
        capsys.readouterr()
        arguments = ["pack", str(path), *arguments[1:]]
    assert lines(arguments, capsys, width)


@pytest.mark.parametrize("command", ["simulate", "place"])
def test_tables_of_io_resources(command: str, tmp_path: Path, capsys: Capture, width: int) -> None:
    path = str(tmp_path / "w.json")
    assert main(["generate", "distributed", "--load=0.5", "--applications=6", "--resources=4", "-o", path]) == 0
    capsys.readouterr()
    printed = lines([command, path], capsys, width)
    assert {application.name for application in read(path).applications} <= first_words(printed)


def test_a_name_wider_than_the_terminal_stays_whole(
    demo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    workload = read(demo)
    name = "x" * 90
    one = Application(name, workload.applications[0].phases, nodes=4)
    write(Workload(workload.platform, (one,), workload.window), tmp_path / "w.json")
    assert main(["simulate", str(tmp_path / "w.json")]) == 0
    printed = capsys.readouterr().out
    assert f"\n{name} " in printed
