"""Help, tables and sentences at several widths of the terminal: no line is wider, and no name is broken inside."""

import argparse
import json
import re
import sys
from pathlib import Path

import pytest

from penstock import Platform, Workload, read, write
from penstock.cli.main import main, parser
from penstock.cli.output import say
from penstock.model import Application
from penstock.policies import REGISTRY, expand
from tests.cli.test_parser import commands

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
    monkeypatch.setattr("penstock.cli.output.terminal_width", lambda stream: request.param)
    return int(request.param)


def lines(arguments: list[str], capsys: Capture, width: int) -> list[str]:
    """The lines that the command prints, none of them too wide."""
    assert main(arguments) == 0
    captured = capsys.readouterr()
    said = [line.rstrip() for line in (captured.out + captured.err).splitlines()]
    # The names of files stay whole; what the engine says while it compiles is an event, as of a log.
    assert not [line for line in said if len(line) > width and not re.match(r"results: |penstock: compiling", line)]
    return captured.out.splitlines()


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


@pytest.mark.parametrize("command", ["machine", "advise", "groups", "buffer"])
def test_tables_of_a_job_list(command: str, tmp_path: Path, capsys: Capture, width: int) -> None:
    jobs = tuple(
        Application.of(f"{name}-of-the-third-floor", [("work", 600.0), ("write", 2e12)], nodes=nodes, user=f"user-{name}")
        for name, nodes in (("climate", 48), ("plasma", 16), ("genomics", 32))
    )
    write(Workload(Platform(bandwidth="10 GB/s", nodes=64), jobs), tmp_path / "w.json")
    assert lines([command, str(tmp_path / "w.json")], capsys, width)


def test_tables_of_a_campaign(tmp_path: Path, capsys: Capture, width: int) -> None:
    grid = {
        "campaign": "widths",
        "workload": "synthetic",
        "parameters": {"pressure": 0.5, "applications": 3, "small": 1, "horizon": 20_000},
        "seeds": [0],
        "policies": ["fair-share", "look-ahead-greedy-yield"],
    }
    (tmp_path / "c.yaml").write_text(json.dumps(grid))
    arguments = ["campaign", str(tmp_path / "c.yaml"), "--out", str(tmp_path / "out"), "--workers", "1"]
    printed = lines([*arguments, "--summary-by", "policy"], capsys, width)
    assert {"fair-share", "look-ahead-greedy-yield"} <= first_words(printed)
    assert "min-yield" in printed[0]


@pytest.mark.parametrize("command", ["simulate", "place"])
def test_tables_of_io_resources(command: str, tmp_path: Path, capsys: Capture, width: int) -> None:
    path = str(tmp_path / "w.json")
    assert main(["generate", "distributed", "--load=0.5", "--applications=6", "--resources=4", "-o", path]) == 0
    capsys.readouterr()
    printed = lines([command, path], capsys, width)
    assert {application.name for application in read(path).applications} <= first_words(printed)


def test_help(capsys: Capture, width: int) -> None:
    """The help of every command: no line is wider, and names with hyphens and options with values stay whole."""
    known = {name for family in ("sharing", "static") for name in expand([family])} | {"best-bdw", "least-loaded"}
    for command in commands(parser()):
        text = command.format_help()
        assert max(map(len, text.splitlines())) <= width, command.prog
        broken = re.findall(r"(\S+-)\n *(\S+)", text)
        assert not [name for name in known for start, end in broken if f"{start}{end}".startswith(name)], command.prog
        usage = text.split("\n\n")[0]
        assert usage.startswith(f"usage: {command.prog} [-h]")
        assert not re.search(r" -o *\n", usage)
        given = [action for action in command._actions if action.option_strings and action.help is not argparse.SUPPRESS]
        assert all(action.option_strings[0] in usage for action in given), command.prog


def test_sentences_are_wrapped_on_a_terminal_only(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "  a sentence with best-next-event in it, and with more words than a narrow terminal has room for"
    say(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr("penstock.cli.output.terminal_width", lambda stream: 30)
    say(text, sys.stderr)
    said = capsys.readouterr().err.splitlines()
    assert " ".join(line.strip() for line in said) == text.strip()
    assert all(line.startswith("  ") and len(line) <= 30 for line in said)
    assert "  best-next-event in it, and" in said


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
