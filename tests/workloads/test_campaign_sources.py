"""The workloads of 001 and 002 and traces in campaigns: a cell makes what its command writes."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from penstock import read
from penstock.campaign import SOURCES, Campaign, Cell
from penstock.cli.main import main
from penstock.model import InputError
from tests.workloads import curves
from tests.workloads.traces import line, write

SMALL = {"fewest": 3, "most": 6, "longest": 12}

CELLS: list[tuple[str, dict[str, Any], str]] = [
    ("bicolored", {}, "--case=general --fewest=2 --most=15 --law=uniform --seed=5 -o w.json"),
    (
        "bicolored",
        {"case": "uniform", "noise": 0.5, "most": 4},
        "--case=uniform --noise=0.5 --fewest=2 --most=4 --law=uniform --seed=5 -o w.json",
    ),
    ("jacobi", {"batches": 0.02}, "--batches=0.02 -o w.json"),
    (
        "packs",
        {"load": 2, "shortest": 5, **SMALL},
        "--load=2.0 --profile=binormal --variance=0.1 --fewest=3 --most=6 --shortest=5 --longest=12 --nodes=2048 --seed=5"
        " -o w.json",
    ),
    (
        "uniform",
        {"load": 0.4, "profile": "normal", "variance": 0.0, "shortest": 5, **SMALL},
        "--load=0.4 --profile=normal --variance=0.0 --fewest=3 --most=6 --shortest=5 --longest=12 --nodes=2048 --seed=5"
        " -o w.parquet",
    ),
    (
        "mira",
        {"load": 0.4, "bandwidth": "1e12", **SMALL},
        "--load=0.4 --profile=binormal --sigma=0.1 --fewest=3 --most=6 --shortest=10 --longest=12 --nodes=49152"
        " --bandwidth=1000000000000.0 --seed=5 -o w.json",
    ),
    (
        "mira",
        {"load": 0, "profile": "normal", **SMALL},
        "--load=0.0 --profile=normal --sigma=0.1 --fewest=3 --most=6 --shortest=10 --longest=12 --nodes=49152"
        " --bandwidth=240000000000.0 --seed=5 -o w.json",
    ),
    (
        "distributed",
        {"load": 0.5},
        "--load=0.5 --applications=40 --resources=20 --curves=io-nodes --statistic=mean --seed=5 -o w.json",
    ),
    (
        "distributed",
        {"load": "0.4", "applications": 7, "resources": 4, "curves": "osts"},
        "--load=0.4 --applications=7 --resources=4 --curves=osts --statistic=mean --seed=5 -o w.json",
    ),
    (
        "lanl",
        {"load": 0.5, "mtbf": 50, "applications": 3},
        "--load=0.5 --mtbf=50.0 --applications=3 --walltimes=printed --variability=0.15 --seed=5 -o w.parquet",
    ),
]


@pytest.mark.parametrize(("kind", "parameters", "options"), CELLS)
def test_a_cell_makes_what_its_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, parameters: dict[str, Any], options: str
) -> None:
    monkeypatch.chdir(tmp_path)
    cell = Cell(kind, parameters, 5, "fcfs")
    file = options.split()[-1]
    make, compute = cell.command().split(" && ")
    assert make == f"penstock generate {kind} {options}"
    assert compute == f"penstock simulate {file} --policy fcfs"
    assert main(shlex.split(make)[1:]) == 0
    (task,) = Campaign(kind, (cell,)).tasks
    assert task.workloads() == [read(file)]


def test_a_trace_is_a_workload_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "my trace.swf", line(1), line(2, 500))
    cell = Cell("swf", {"path": "my trace.swf", "iterations": 3, "since": "10 s", "duration": 9000}, 5, "fcfs")
    make, _ = cell.command().split(" && ")
    assert make == (
        f"penstock generate swf '{path}' '--since=10 s' --duration=9000.0 --release=submit --iterations=3 --io-fraction=0.1"
        " --io-sigma=0.1 --io-most=0.9 --bandwidth=1.0 --seed=5 -o w.parquet"
    )
    assert main(shlex.split(make)[1:]) == 0
    (task,) = Campaign("swf", (cell,)).tasks
    assert task.workloads() == [read("w.parquet")]
    # The same trace, however its path is written, is the same cell; another content is another one.
    assert Cell("swf", {**cell.parameters, "path": path}, 5, "fcfs").key == cell.key
    write(tmp_path / "my trace.swf", line(1), line(2, 501))
    with pytest.raises(InputError, match="the file has changed; expected the content with SHA-256"):
        task.workloads()
    assert Cell("swf", {"path": "my trace.swf", "iterations": 3}, 5, "fcfs").key != cell.key


def test_measured_curves_are_a_source_until_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = curves.small(tmp_path / "my curves.csv")
    cell = Cell("distributed", {"load": 0.5, "curves": "my curves.csv", "statistic": "best"}, 5, "fcfs")
    make, _ = cell.command().split(" && ")
    assert make == (
        f"penstock generate distributed --load=0.5 --applications=40 --resources=20 '--curves={path}' --statistic=best"
        " --seed=5 -o w.json"
    )
    assert main(shlex.split(make)[1:]) == 0
    (task,) = Campaign("distributed", (cell,)).tasks
    assert task.workloads() == [read("w.json")]
    assert Cell("distributed", {**cell.parameters, "curves": path}, 5, "fcfs").key == cell.key
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(curves.run(1, 12) + "\n")
    with pytest.raises(InputError, match="the file has changed; expected the content with SHA-256"):
        task.workloads()
    given = {"load": 0.5, "curves": path, "statistic": "best"}
    assert Cell("distributed", given, 5, "fcfs").key != cell.key


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("distributed", {}, "parameters.load: is missing; expected a value"),
        (
            "distributed",
            {"load": 2},
            "parameters.load: 2.0 makes 40 applications do I/O for 1 of their time; expected under 2",
        ),
        (
            "distributed",
            {"load": 1, "curves": "no"},
            "parameters.curves: 'no' is neither a family nor a file; expected io-nodes",
        ),
        (
            "distributed",
            {"load": 1, "statistic": "sum"},
            "parameters.statistic: 'sum' is out of range; expected mean, median",
        ),
        ("bicolored", {"case": "odd"}, "parameters.case: 'odd' is out of range; expected general or uniform"),
        ("packs", {}, "parameters.load: is missing; expected a value"),
        ("uniform", {"load": -1}, "parameters.load: -1.0 is out of range; expected a number above 0"),
        ("mira", {"load": 0.5, "colour": 1}, "parameters.colour: unknown; expected one of load, profile, sigma"),
        ("swf", {}, "parameters.path: is missing; expected a value"),
        ("swf", {"path": "none.swf"}, "parameters.path: "),
        ("swf", {"path": "none.swf", "since": "soon"}, "parameters.since: 'soon' is neither a date nor a time"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(kind: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Cell(kind, parameters, 0, "fcfs")
    assert message in str(caught.value)


def test_every_kind_is_a_source() -> None:
    assert {"bicolored", "jacobi", "packs", "uniform", "mira", "distributed", "lanl", "swf"} <= set(SOURCES)
