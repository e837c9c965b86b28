"""What no schedule can pass, on its own and beside the policies."""

import json
from pathlib import Path

import pytest
from rich.console import Console

import penstock
from penstock import read
from penstock.cli import bound, output
from penstock.cli.main import main, parser
from penstock.cli.output import watch
from penstock.theory.link_demand import PIECES

Capture = pytest.CaptureFixture[str]
POLICIES = ("fair-share", "fcfs", "greedy-yield")


@pytest.fixture(scope="module")
def known(demo: Path) -> penstock.Bounds:
    return penstock.bounds(read(demo))


def numbers(bounds: penstock.Bounds) -> tuple[float, float]:
    return bounds.min_yield, bounds.efficiency


def lines(text: str) -> list[list[str]]:
    """The cells of a printed table, a list a line."""
    rows = (line for line in text.splitlines() if "│" in line or "┃" in line)
    return [[cell.strip() for cell in row.replace("┃", "│").split("│")] for row in rows]


def test_bound_prints_a_table(demo: Path, capsys: Capture, known: penstock.Bounds) -> None:
    assert main(["bound", str(demo)]) == 0
    head, row = lines(capsys.readouterr().out)
    assert head == ["min-yield", "efficiency", "time"]
    assert row[:2] == [f"{value:.4f}" for value in numbers(known)]
    assert row[2].endswith("s")


def test_bound_prints_and_writes_json(demo: Path, tmp_path: Path, capsys: Capture, known: penstock.Bounds) -> None:
    assert main(["bound", str(demo), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["min_yield", "efficiency", "seconds"]
    assert (document["min_yield"], document["efficiency"]) == numbers(known)
    assert document["seconds"] > 0.0
    out = tmp_path / "bound.json"
    assert main(["bound", str(demo), "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text())["min_yield"] == known.min_yield


def test_more_pieces_make_the_bound_no_higher(demo: Path, capsys: Capture) -> None:
    found = []
    for pieces in ("1", "8", "32"):
        assert main(["bound", str(demo), "--json", "--pieces", pieces]) == 0
        found.append(json.loads(capsys.readouterr().out)["min_yield"])
    assert found[0] > found[1] > found[2]


def test_the_pieces_of_the_help_are_the_default(demo: Path) -> None:
    assert parser().parse_args(["bound", str(demo)]).pieces == PIECES
    assert bound.MOST_PIECES >= PIECES


def test_the_help_says_what_a_bound_is(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["bound", "--help"])
    assert "no schedule, even one that knows the future, has more." in " ".join(capsys.readouterr().out.split())


def test_compare_has_the_bound_in_its_last_row(demo: Path, capsys: Capture, known: penstock.Bounds) -> None:
    assert main(["compare", str(demo), "--policy", *POLICIES]) == 0
    head, *rows, last = lines(capsys.readouterr().out)
    assert head == ["policy", "lost node-hours", "min-yield", "gap", "efficiency", "gap", "utilization", "events", "time"]
    assert [row[0] for row in rows] == list(POLICIES)
    lowest, efficiency = (f"{value:.4f}" for value in numbers(known))
    assert last[:8] == ["bound", "–", lowest, "", efficiency, "", "–", "–"]
    for row in rows:
        result = penstock.simulate(read(demo), row[0])
        assert row[3] == f"{known.min_yield - result.min_yield:.4f}"
        assert row[5] == f"{known.efficiency - result.efficiency:.4f}"


def test_compare_gives_bounds_and_gaps_as_json(demo: Path, capsys: Capture, known: penstock.Bounds) -> None:
    assert main(["compare", str(demo), "--policy", *POLICIES, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"bounds", "runs", "baseline", "recommendation"}
    assert set(document["bounds"]) == {"min_yield", "efficiency", "seconds"}
    assert document["bounds"]["min_yield"] == known.min_yield
    for run in document["runs"]:
        assert run["gap"] == {
            "min_yield": known.min_yield - run["min_yield"],
            "efficiency": known.efficiency - run["efficiency"],
        }
        assert min(run["gap"].values()) > -1e-9


def test_compare_without_a_bound(demo: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.api.comparing.found_bounds", lambda *_, **__: pytest.fail("it was computed"))
    arguments = ["compare", str(demo), "--policy", "fcfs", "--no-bound"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bounds"] is None
    assert document["runs"][0]["gap"] is None
    report = tmp_path / "report.html"
    assert main([*arguments, "--html", str(report)]) == 0
    assert "gap" not in lines(capsys.readouterr().out)[0]
    assert 'id="bound"' not in report.read_text(encoding="utf-8")


def test_the_report_of_compare_has_the_bound(demo: Path, tmp_path: Path, known: penstock.Bounds) -> None:
    report = tmp_path / "report.html"
    assert main(["compare", str(demo), "--policy", "fcfs", "--html", str(report)]) == 0
    page = report.read_text(encoding="utf-8")
    assert f'<tr id="bound"><th scope="row">bound</th><td>{known.min_yield:.4f}</td>' in page


@pytest.mark.parametrize(("width", "last"), [(120, "time"), (80, "utilization")])
def test_the_table_fits_the_terminal(
    demo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int, last: str
) -> None:
    monkeypatch.setattr(output, "console", lambda: Console(width=width))
    assert main(["compare", str(demo)]) == 0
    out = capsys.readouterr().out
    head, *rows = lines(out)
    assert head[-1] == last
    assert [row[0] for row in rows] == [*penstock.policies.expand(["sharing"]), "bound"]
    table, sentence = out.split("recommendation: ")
    assert max(map(len, table.splitlines())) <= width
    assert sentence.count("\n") == 1  # the terminal wraps it
    assert "…" not in out


def test_a_terminal_says_that_the_bound_is_under_way(
    demo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, known: penstock.Bounds
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert numbers(penstock.bounds(demo, watch=watch)) == numbers(known)
    assert "bound …" in capsys.readouterr().err
