"""``penstock pack`` as a user calls it."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rich.console import Console

from penstock import read
from penstock.cli import output, pack
from penstock.cli.main import main, parser
from penstock.planning.batch import schedule
from penstock.planning.schedule import MEASURES
from penstock.planning.strategy import COMPARED, DEFAULT_DEPTH, DEFAULT_POLICY, BatchStrategy, baseline, comparison

Capture = pytest.CaptureFixture[str]

JOBS = [
    # name, nodes, release, work, volume, iterations
    ("ocean", 4, 0, 6, 4, 4),
    ("plasma", 2, 0, 9, 1, 3),
    ("galaxy", 3, 0, 2, 3, 5),
    ("protein", 1, 0, 5, 0, 4),
    ("weather", 2, 12, 3, 2, 4),
    ("[bold]odd[/bold] $name$", 1, 0, 0, 0, 1),
]


def written(path: Path, jobs=JOBS, platform=None, **more) -> str:
    applications = [
        {
            "name": name,
            "nodes": nodes,
            "release": release,
            "phases": [{"repeat": count, "phases": [["work", work], ["io", volume]]}],
        }
        for name, nodes, release, work, volume, count in jobs
    ]
    platform = platform or {"bandwidth": 1, "nodes": 6}
    path.write_text(json.dumps({"penstock": 1, "platform": platform, "applications": applications, **more}))
    return str(path)


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    return written(tmp_path / "jobs.json")


def cells(text: str) -> list[list[str]]:
    """The cells of the printed tables, a list a line."""
    rows = (line for line in text.splitlines() if "│" in line or "┃" in line)
    return [[cell.strip() for cell in row.replace("┃", "│").split("│")] for row in rows]


def without_times(document: dict) -> dict:
    beside = dict.fromkeys(("baseline", "recommendation"))
    return {**document, "seconds": None, "engine_seconds": None, **beside}


def test_pack_prints_the_plan_and_the_measures(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--policy", "fcfs"]) == 0
    captured = capsys.readouterr()
    found = schedule(read(jobs), policy="fcfs")
    rows = cells(captured.out)
    assert rows[0] == ["pack", "I/O node", "jobs", "nodes", "I/O load", "predicted", "start", "took", "max stretch", "who"]
    packs = rows[1 : 1 + len(found.packs)]
    for row, run in zip(packs, found.packs, strict=True):
        assert row[0] == str(run.number + 1)
        assert row[3:5] == [str(run.planned.nodes), f"{run.planned.load:.3f}"]
        assert found.jobs.names[run.planned.jobs[0]] in row[9]
    measures = dict(row for row in rows[1 + len(found.packs) :] if len(row) == 2)
    assert measures["pack S=1 max"] == "fcfs"
    assert measures["packs"] == str(len(found.packs))
    assert measures["largest stretch"] == f"{found.max_stretch:.3f}"
    assert float(measures["nodes executing"]) + float(measures["nodes delayed"]) + float(
        measures["nodes idle"]
    ) == pytest.approx(1.0, abs=1e-3)
    assert "note: 2 of 6 jobs have no I/O\n" in captured.out
    assert "note: 1 of 6 jobs take no time; their stretch is 1\n" in captured.out
    assert "note: 1 of 6 jobs are released later than the first; packs are made again as jobs come\n" in captured.out


def test_pack_prints_the_jobs_of_a_list(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--mapping", "list", "--backfill"]) == 0
    out = capsys.readouterr().out
    head, *rows = cells(out)
    assert head[:4] == ["job", "nodes", "I/O load", "predicted"]
    assert {row[0] for row in rows[:6]} == {name for name, *_ in JOBS}
    assert "list S=1 + backfill" in out
    assert "packs are made" not in out


@pytest.mark.parametrize("options", [["--compare"], ["--backfill"], ["--mapping", "list", "--backfill"]])
def test_the_tables_fit_the_terminal(
    jobs: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    assert main(["pack", jobs, *options]) == 0
    wide = cells(capsys.readouterr().out)[0]
    monkeypatch.setattr(output, "console", lambda: Console(width=80))
    assert main(["pack", jobs, *options]) == 0
    out = capsys.readouterr().out
    narrow = cells(out)[0]
    assert set(narrow) < set(wide)
    assert {"makespan"} <= set(narrow) or {"took", "nodes"} <= set(narrow)
    assert max(len(line) for line in out.splitlines() if not line.startswith(("note", "recommendation"))) <= 80
    assert "…" not in out


def test_long_tables_are_cut(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "MOST_ROWS", 2)
    many = written(tmp_path / "many.json", [(f"j{i}", 4, 0, 1 + i, 1, 1) for i in range(5)])
    assert main(["pack", many]) == 0
    assert "the first 2 of 5 packs" in capsys.readouterr().out
    assert main(["pack", many, "--mapping", "list"]) == 0
    assert "the first 2 of 5 jobs to start" in capsys.readouterr().out


def test_pack_prints_and_writes_json(jobs: str, tmp_path: Path, capsys: Capture) -> None:
    options = ["--sensibility", "alpha", "--order", "char", "--backfill", "--depth", "7", "--io-nodes", "2", "--nodes", "8"]
    assert main(["pack", jobs, *options, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(MEASURES) <= set(document)
    assert document["policy"] == DEFAULT_POLICY
    assert document["machine"] == {"io_nodes": 2, "nodes": 8, "bandwidth": 1.0}
    strategy = BatchStrategy("pack", "alpha", "char", backfill=True, depth=7)
    expected = schedule(read(jobs), strategy, nodes=8, io_nodes=2).to_dict()
    assert without_times(document) == without_times(json.loads(json.dumps(expected)))
    out = tmp_path / "out.json"
    assert main(["pack", jobs, *options, "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert without_times(json.loads(out.read_text())) == without_times(document)


def test_compare_runs_all_strategies(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--compare"]) == 0
    out = capsys.readouterr().out
    head, *rows = cells(out)
    assert head[:5] == ["strategy", "policy", "lost node-hours", "kept idle", "packs"]
    # The best few, by node-hours lost to I/O and kept idle, and at last the baseline.
    assert len(rows) == pack.MOST_COMPARED + 1
    assert rows[-1][:2] == ["list S=inf + backfill (baseline)", "fair-share"]
    costs = [float(row[2].replace(",", "")) + float(row[3].replace(",", "")) for row in rows[:-1]]
    assert costs == sorted(costs)
    assert "recommendation: " in out
    assert main(["pack", jobs, "--compare", "--io-nodes", "2", "--policy", "fcfs"]) == 0
    out = capsys.readouterr().out
    assert {row[0] for row in cells(out)[1:-1]} == {strategy.label for strategy in comparison(2)}
    assert "note: list scheduling is left out: it is for one I/O node\n" in out
    assert main(["pack", jobs, "--compare", "--json", "--depth", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    runs = document["runs"]
    labels = [strategy.label for strategy in comparison()]
    assert [run["strategy"]["label"] for run in runs] == labels * len(COMPARED)
    assert list(dict.fromkeys(run["policy"] for run in runs)) == list(COMPARED)
    assert {run["strategy"]["depth"] for run in runs} == {None, 3}
    beside = next(run for run in runs if (run["strategy"]["label"], run["policy"]) == (labels[-1], "fair-share"))
    assert document["baseline"]["lost_node_hours"] == beside["lost_node_hours"]


def test_a_schedule_stands_beside_the_baseline(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    usual = schedule(read(jobs), baseline(), policy="fair-share")
    assert document["baseline"]["strategy"] == "list S=inf + backfill"
    assert document["baseline"]["lost_node_hours"] == pytest.approx(usual.lost_node_hours)
    assert document["lost_node_hours"] == pytest.approx(document["delayed"] / 3600.0)
    assert document["recommendation"].count("; this assumes that ") == 1
    assert main(["pack", jobs, "--policy", "fcfs", "fifo"]) == 2
    assert "policy: 2 policies for one schedule; expected one, or compare too" in capsys.readouterr().err


def test_together_uses_what_the_platform_has(tmp_path: Path, capsys: Capture) -> None:
    jobs = [("a", 1, 0, 1800, 1800, 1), ("b", 3, 0, 1800, 1800, 1)]
    platform = {"bandwidth": 2, "nodes": 6, "resources": 2, "buffer": {"size": 0}}
    file = written(tmp_path / "jobs.json", jobs, platform)
    assert main(["pack", file, "--policy", "fair-share", "--together", "2", "--json"]) == 0
    shown = capsys.readouterr()
    # Each takes both resources, 900 s for its I/O, and as much more where both do: a quarter of an hour on 4 nodes.
    assert json.loads(shown.out)["together"]["lost_node_hours"] == pytest.approx(1.0)
    assert "does not use" not in shown.err
    assert main(["pack", file, "--json"]) == 0
    assert "note: pack does not use platform.resources, platform.buffer.size" in capsys.readouterr().err
    assert main(["pack", file, "--together", "2", "--io-nodes", "2"]) == 2
    expected = (
        "together: looks at the 2 I/O resources of the platform, and 2 I/O nodes have a link each; expected 1 I/O node"
    )
    assert expected in capsys.readouterr().err


def test_jobs_that_should_not_run_together(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--together", "3"]) == 0
    out = capsys.readouterr().out
    assert "not together" in out
    assert "node-hours saved" in out
    assert main(["pack", jobs, "--together", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["together"]
    assert (len(found["pairs"]), len(found["leave_one_out"])) == (3, 3)
    assert main(["pack", jobs, "--together", "1"]) == 2
    assert "together: 1 jobs and 5 starts; expected 2 jobs or more" in capsys.readouterr().err


def test_a_lone_job_above_the_sensibility_is_said(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--sensibility", "0.2"]) == 0
    assert "packs are one job with more I/O load than the sensibility" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_a_gantt_is_drawn(jobs: str, tmp_path: Path, capsys: Capture, kind: str) -> None:
    out = tmp_path / f"gantt.{kind}"
    assert main(["pack", jobs, "--json", "--gantt", str(out)]) == 0
    assert f"gantt: {out}" in capsys.readouterr().err
    if kind == "png":
        assert out.read_bytes().startswith(b"\x89PNG")
    elif kind == "svg":
        assert ElementTree.fromstring(out.read_text()).tag.endswith("svg")
    else:
        page = out.read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "jobs.json" in page
        assert "data:image/svg+xml;base64," in page


def test_a_large_batch_is_drawn_without_its_transfers(
    jobs: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.api.packing.MOST_TRACED", 3)
    asked = []
    monkeypatch.setattr(
        "penstock.api.packing.schedule",
        lambda *things, **options: asked.append(options["trace"]) or schedule(*things, **options),
    )
    out = tmp_path / "gantt.svg"
    assert main(["pack", jobs, "--json", "--gantt", str(out)]) == 0
    assert asked == [False, False]
    assert out.exists()


def test_a_terminal_says_which_strategy_is_under_way(jobs: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["pack", jobs, "--compare", "--json"]) == 0
    said = capsys.readouterr().err
    assert f"{comparison()[-1].label}, fifo, " in said
    assert ", 100% …" in said


def test_the_defaults_of_the_help(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["pack", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert f"waiting jobs that backfilling looks at (default: {DEFAULT_DEPTH})" in text
    assert parser().parse_args(["pack", "w.json"]).io_nodes == 1


def wrong_lines(folder: Path) -> list[tuple[list[str], str]]:
    """Command lines that are wrong, each with what its one line must say."""
    good = written(folder / "good.json")
    bare = written(folder / "bare.json", platform={"bandwidth": 1})
    window = written(folder / "window.json", window=[0, 99])
    empty = written(folder / "empty.json", [("a", 1, 0, 1, 1, 0)])
    return [
        ([good, "--nodes", "3"], "applications[0].nodes: 4 nodes where an I/O node has 3; expected at most 3"),
        ([good, "--nodes", "2"], "applications[0].nodes: 4 nodes where an I/O node has 2 (2 jobs are too large); expected"),
        ([good, "--nodes", "0"], "nodes: 0 is not a number of nodes; expected a whole number, 1 or more"),
        ([good, "--nodes", "few"], "argument --nodes: invalid int value: 'few'"),
        ([good, "--io-nodes", "0"], "io-nodes: 0 is not a number of I/O nodes; expected a whole number, 1 or more"),
        ([good, "--compare", "--io-nodes", "-1"], "io-nodes: -1 is not a number of I/O nodes; expected a whole number"),
        (
            [good, "--mapping", "list", "--io-nodes", "2"],
            "io-nodes: list scheduling is for one I/O node, not for 2; expected 1",
        ),
        ([good, "--mapping", "bin"], "mapping: 'bin' is unknown; expected one of pack, first-fit, list"),
        ([good, "--sensibility", "0"], "sensibility: '0' is no sensibility; expected a number above 0, alpha or inf"),
        ([good, "--sensibility=-1"], "sensibility: '-1' is no sensibility; expected a number above 0, alpha or inf"),
        ([good, "--sensibility", "nan"], "sensibility: 'nan' is no sensibility; expected a number above 0, alpha or inf"),
        ([good, "--order", "up"], "order: 'up' is unknown; expected one of max, random, char"),
        ([good, "--backfill", "--depth", "0"], "depth: 0 is not a number of jobs; expected a whole number, 1 or more"),
        ([good, "--depth", "5"], "--depth is how far backfilling looks; expected --backfill too"),
        ([good, "--mapping", "list", "--order", "max"], "--order is for packs, and a list goes by release; leave one out"),
        ([good, "--mapping", "first-fit", "--sensibility", "1"], "first-fit ignores I/O and has no sensibility"),
        ([good, "--compare", "--mapping", "pack"], "--mapping is for one strategy, and --compare runs all of them"),
        ([good, "--compare", "--gantt", "g.svg"], "--gantt is for one strategy, and --compare runs all of them"),
        ([good, "--gantt", str(folder / "g.pdf")], "cannot tell the format from '.pdf'; expected one of .svg, .png, .html"),
        ([good, "--gantt", str(folder / "no" / "g.svg")], "cannot be written: No such file or directory"),
        ([good, "--policy", "best"], "policy best: unknown; expected one of fair-share"),
        ([bare], "nodes: the platform of the workload has no number of nodes; expected one there or --nodes P"),
        ([window], "window: jobs are planned to their ends; expected a workload without a window"),
        ([empty], "repeat: 0 is not a number of repetitions; expected a whole number, 1 or more"),
        ([], "the following arguments are required: FILE"),
    ]


@pytest.mark.parametrize("number", range(25))
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, capsys: Capture, number: int) -> None:
    cases = wrong_lines(tmp_path)
    assert len(cases) == 25
    before = sorted(tmp_path.iterdir())
    arguments, message = cases[number]
    try:
        code: object = main(["pack", *arguments])
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    # Only what cannot be written is seen after the work, which may have to be compiled.
    said = [line for line in captured.err.splitlines() if "compiling" not in line or "cannot be written" not in message]
    assert len(said) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_is_compiled_for_what_is_refused(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing in the cache, too."""
    asked: list[object] = []
    monkeypatch.setattr("penstock.planning.batch._compile", lambda *arguments: asked.append(arguments))
    window = written(tmp_path / "window.json", window=[0, 99])
    large = [written(tmp_path / "w.json"), "--nodes", "3"]
    listed = [written(tmp_path / "w.json"), "--mapping", "list", "--io-nodes", "2"]
    static = [written(tmp_path / "w.json"), "--policy", "periodic-fifo", "--backfill"]
    for arguments in ([window], large, listed, static):
        assert main(["pack", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert asked == []


def test_an_infinite_sensibility_is_allowed(jobs: str, capsys: Capture) -> None:
    assert main(["pack", jobs, "--sensibility", "inf", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["strategy"]["sensibility"] == "inf"
    assert main(["pack", jobs, "--mapping", "first-fit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == document["jobs"]


def test_the_documentation_shows_what_is_printed(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/packs.md").read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in block.split("$ penstock ")[1:]:
            command, *shown = part.rstrip().splitlines()
            assert main(command.split()) == 0
            printed = [row[: len(cells(shown[0])[0])] for row in cells(capsys.readouterr().out)] if shown else []
            assert cells("\n".join(shown)) == printed[: len(cells("\n".join(shown)))]
    assert (tmp_path / "packs.png").exists()
