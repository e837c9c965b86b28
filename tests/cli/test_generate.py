"""``penstock generate`` for the workloads of 001, 002 and 004 and for traces, as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import read
from penstock.cli.main import main
from penstock.model import Workload
from penstock.workloads import (
    FAMILIES,
    Bicolored,
    Distributed,
    Jacobi,
    Lanl,
    Mira,
    Packs,
    Swf,
    Uniform,
    bicolored,
    curve_source,
    distributed,
    io_load,
    io_weight,
    jacobi,
    lanl,
    mira,
    stream,
    uniform,
)
from penstock.workloads.distributed import load_with_one
from tests.workloads.curves import small
from tests.workloads.traces import line, write

Capture = pytest.CaptureFixture[str]

KINDS: list[tuple[list[str], Callable[[], Workload]]] = [
    (["bicolored"], lambda: bicolored(Bicolored(), 1)),
    (
        ["bicolored", "--case", "uniform", "--nu", "0.2", "--fewest=3", "--most=4", "--seed=7"],
        lambda: bicolored(Bicolored("uniform", 0.2, 3, 4), 7),
    ),
    (["jacobi"], lambda: jacobi(Jacobi())),
    (["jacobi", "--batches", "0.5"], lambda: jacobi(Jacobi(0.5))),
    (["packs", "--load", "2"], lambda: uniform(Packs(2.0), 1).workload),
    (
        ["uniform", "--alpha-gen=0.4", "--profile=normal", "--variance=0.05", "--longest=1100", "--most=110", "--seed=3"],
        lambda: uniform(Uniform(0.4, "normal", 0.05, most=110, longest=1100), 3).workload,
    ),
    (["mira", "--load=0.4"], lambda: mira(Mira(0.4), 1).workload),
    (
        ["mira", "--load=0.4", "--profile=normal", "--sigma=0.05", "--nodes=8192", "--bandwidth=1 TB/s", "--shortest=20"],
        lambda: mira(Mira(0.4, "normal", 0.05, nodes=8192, bandwidth=1e12, shortest=20), 1).workload,
    ),
]


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize("number", range(len(KINDS)))
def test_the_file_holds_what_the_generator_makes(tmp_path: Path, capsys: Capture, number: int, suffix: str) -> None:
    arguments, make = KINDS[number]
    path = tmp_path / f"w.{suffix}"
    assert main(["generate", *arguments, "-o", str(path)]) == 0
    workload = make()
    assert read(path) == workload
    captured = capsys.readouterr()
    assert captured.out == ""
    measures = f"I/O weight W {io_weight(workload):.3f}, I/O load α {io_load(workload):.3f}"
    assert captured.err.splitlines()[-1] == f"{len(workload.applications)} applications: {measures}"


def test_a_batch_says_how_it_was_drawn(tmp_path: Path, capsys: Capture) -> None:
    assert main(["generate", "mira", "--load=0.4", "--nodes=4096", "-o", str(tmp_path / "w.json")]) == 0
    said = capsys.readouterr().err.splitlines()
    batch = mira(Mira(0.4, nodes=4096), 1)
    assert batch.clipped > 0
    assert said[0] == batch.summary()
    assert len(said) == 2


def test_checkpointing_applications(tmp_path: Path, capsys: Capture) -> None:
    options = ["--load=0.8", "--mtbf=50", "--applications=4", "--walltimes=apex", "--variability=0.1", "--seed=3"]
    assert main(["generate", "lanl", *options, "-o", str(tmp_path / "w.parquet")]) == 0
    drawn = lanl(Lanl(0.8, 50.0, 4, "apex", 0.1), 3)
    assert read(tmp_path / "w.parquet") == drawn.workload
    assert capsys.readouterr().err.splitlines()[0] == drawn.summary()


def test_standard_output_is_the_workload_alone(capsys: Capture) -> None:
    assert main(["generate", "bicolored", "-o", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(len(application["nominal"]) == 2 for application in document["applications"])


def test_application_sets(tmp_path: Path, capsys: Capture) -> None:
    mine, path = small(tmp_path / "mine.csv"), tmp_path / "w.json"
    sets = [
        (["--load=0.5"], distributed(Distributed(0.5), FAMILIES["io-nodes"], 1), "built-in family of I/O-node curves"),
        (
            ["--theta=0.4", "--applications=10", "--resources=8", "--curves=osts", "--seed=3"],
            distributed(Distributed(0.4, 10, 8), FAMILIES["osts"], 3),
            "OST curves: a stand-in, b(n) = b(1)·n^α, not measured",
        ),
        (
            ["--load=1.5", "--curves", mine, "--statistic=best"],
            distributed(Distributed(1.5), curve_source(mine, "best"), 1),
            "2 measured curves of mine.csv (best)",
        ),
    ]
    for arguments, workload, label in sets:
        assert main(["generate", "distributed", *arguments, "-o", str(path)]) == 0
        assert read(path) == workload
        captured = capsys.readouterr()
        assert captured.out == ""
        curves, measures = captured.err.splitlines()
        assert curves == f"curves: {label}"
        assert measures.startswith(
            f"{len(workload.applications)} applications, {workload.platform.resources} I/O resources: "
        )
        asked = arguments[0].split("=")[1]
        assert f"I/O load with one each {load_with_one(workload):.3f} (asked for {asked} on average)" in measures


def test_a_trace(tmp_path: Path, capsys: Capture) -> None:
    trace = write(tmp_path / "a.swf", line(1, 0), line(2, 3600), "odd", line(3, 86_400), line(4, 90_000, run=-1))
    arguments = ["--from", "1h", "--duration=2 d", "--iterations=9", "--io-fraction=0.3", "--io-sigma=0.01", "--io-most=0.5"]
    arguments += ["--nodes=50", "--cores-per-node=2", "--bandwidth=10 GB/s", "--node-bandwidth=1 GB/s", "--release=start"]
    path = tmp_path / "w.parquet"
    assert main(["generate", "swf", trace, *arguments, "--seed=4", "-o", str(path)]) == 0
    parameters = Swf("1h", 172_800.0, "start", 50, 2, 9, 0.3, 0.01, 0.5, 1e10, 1e9)
    made = stream(trace, parameters, 4)
    assert read(path) == made.workload
    load = f"2 applications: I/O load α {io_load(made.workload):.3f}"
    assert capsys.readouterr().err.splitlines() == [*made.summary(), load]
    assert "5 lines: 2 jobs kept, 3 left out" in made.summary()


def test_a_trace_by_date(tmp_path: Path) -> None:
    trace = write(tmp_path / "a.swf", line(1, 0), line(2, 7000))
    assert main(["generate", "swf", trace, "--since=2001-09-09T03:00", "-o", str(tmp_path / "w.json")]) == 0
    (application,) = read(tmp_path / "w.json").applications
    assert application.name == "job-2"
    assert application.release == 7000 - 4400  # UnixStartTime is 01:46:40


def wrong_lines(folder: Path) -> list[tuple[list[str], str]]:
    """Command lines that are wrong, each with what its one line must say."""
    trace = write(folder / "a.swf", line())
    broken = write(folder / "broken.swf", "1 2 3", header="")
    without = write(folder / "without.swf", line(), header="")
    return [
        (["bicolored", "--case", "odd"], "case: 'odd' is out of range; expected general or uniform"),
        (["bicolored", "--noise", "x"], "argument --noise/--nu: 'x' is not a number; expected a number"),
        (["jacobi", "--batches", "0"], "batches: 0.0 is out of range; expected a number above 0"),
        (["jacobi", "--seed", "1"], "unrecognized arguments: --seed 1"),
        (["packs"], "the following arguments are required: --load/--alpha-gen"),
        (["packs", "--load", "0"], "load: 0.0 is out of range; expected a number above 0"),
        (["uniform", "--load", "1", "--most", "7"], "most: 7 is out of range; expected 100 or more, the value of fewest"),
        (["mira", "--load", "0.05"], "load: 0.05 is out of range; expected 0.129 to 0.871 with binormal"),
        (["mira", "--load", "0.5", "--bandwidth", "1 GB"], "'1 GB' has the unknown unit 'GB'; expected one of B/s"),
        (["distributed"], "the following arguments are required: --load/--theta"),
        (["distributed", "--load=2"], "load: 2.0 makes 40 applications do I/O for 1 of their time; expected under 2"),
        (["distributed", "--load=1", "--applications=0"], "applications: 0 is out of range; expected 1 to 480, as there"),
        (
            ["distributed", "--load=1", "--curves=no"],
            "curves: 'no' is neither a family nor a file; expected io-nodes, osts or",
        ),
        (["distributed", "--load=1", f"--curves={trace}"], "a.swf: there is neither a column 'forwarders' nor one such as"),
        (["distributed", "--load=1", "--statistic=sum"], "statistic: 'sum' is out of range; expected mean, median, best"),
        (["lanl"], "the following arguments are required: --load"),
        (["lanl", "--load", "0.5", "--walltimes", "x"], "walltimes: 'x' is out of range; expected printed or apex"),
        (["swf"], "the following arguments are required: TRACE"),
        (["swf", str(folder / "none.swf")], "none.swf: cannot be read: No such file or directory; expected an SWF file"),
        (["swf", broken], "none of its 1 lines is a job (line 1: '1 2 3'); expected lines of 18 numbers"),
        (["swf", without], "the header has no MaxNodes and no MaxProcs; expected the nodes of the machine (--nodes)"),
        (["swf", trace, "--from", "soon"], "since: 'soon' is neither a date nor a time; expected 2022-03-01"),
        (["swf", trace, "--from", "9h"], "no job is left: 1 outside the span (from 32,400 s after the first release"),
        (["swf", trace, "--duration", "2 moons"], "'2 moons' has the unknown unit 'moons'; expected one of"),
        (["swf", trace, "--io-fraction", "2"], "io_fraction: 2.0 is out of range; expected 0 to io_most, 0.9"),
    ]


@pytest.mark.parametrize("number", range(25))
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, capsys: Capture, number: int) -> None:
    cases = wrong_lines(tmp_path)
    assert len(cases) == 25
    arguments, message = cases[number]
    before = sorted(tmp_path.iterdir())
    try:
        code: object = main(["generate", *arguments, "-o", str(tmp_path / "w.json")])
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == before
