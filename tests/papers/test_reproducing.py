"""The runner that all papers share."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.campaign import Campaign, Cell
from penstock.cli.main import main
from penstock.model import InputError
from penstock.papers.catalogue import PAPERS, reproduce
from penstock.papers.drawing import mark_blank
from penstock.papers.reproducing import CLAIMS, Claim, Drawing, Paper, Reproduction, from_campaign, from_scale, from_trials
from penstock.papers.trials import Experiment
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, counted, together
from penstock.report.figures import encoded

VERDICT = Verdict("X1", "§1", "it holds", (ClaimCheck("1 is 1", "1", True),))
drawn: list[tuple[int, bool]] = []


def square(side: int, *, bold: bool = False) -> Figure:
    """Figure 1: a
    square.

    `side` is a length.
    """
    drawn.append((side, bold))
    figure = Figure()
    figure.subplots().plot([0, side, side, 0, 0], [0, 0, side, side, 0])
    return figure


def empty() -> Figure:
    """Figure 2: nothing but a line across."""
    figure = Figure()
    figure.subplots().axhline(1.0)
    return figure


@dataclass(frozen=True)
class Trial:
    number: int


def doubled(trial: Trial) -> dict[str, int]:
    """What a trial gives."""
    return {"n": 2 * trial.number}


PAPER = Paper(
    "paper",
    "A paper",
    {"smoke": 3, "quick": 4},
    {
        "side": from_scale(),
        "none": lambda _: None,
        "runs": from_campaign(lambda _: Campaign("runs", (Cell("demo", {}, 1, "fcfs"),))),
        "rows": from_trials(lambda size: Experiment("rows", tuple(Trial(n) for n in range(size)), doubled)),
    },
    {
        "figure1": [Drawing("figure1", square, ("side",)), Drawing("figure1-bold", square, ("side",), {"bold": True})],
        "figure2": [Drawing("figure2", empty)],
        "figure3": [Drawing("figure3", square, ("none",))],
        "text": [Drawing("text", lambda side: f"side {side}", ("side",))],
    },
    (Claim(lambda: VERDICT, (), ("figure2", CLAIMS)), Claim(lambda _: pytest.fail("no data"), ("none",))),
    {"figure3": "there are no data; expected some"},
)


@pytest.fixture(autouse=True)
def nothing_drawn() -> None:
    drawn.clear()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_panel_without_data_says_so() -> None:
    figure = Figure()
    full, blank, off = figure.subplots(1, 3)
    full.plot([0, 1], [0, 1])
    blank.axhline(1.0)
    off.set_axis_off()
    mark_blank(figure, "no data at scale smoke")
    assert [[text.get_text() for text in panel.texts] for panel in (full, blank, off)] == [
        [],
        ["no data at scale smoke"],
        [],
    ]


def test_a_logarithmic_figure_without_data_can_be_drawn() -> None:
    figure = Figure()
    figure.subplots().set_yscale("log")
    mark_blank(figure, "no data")
    assert b"no data" in encoded(figure, "svg")


def test_wanted_figures_are_drawn_and_claims_judged(tmp_path: Path) -> None:
    assert Reproduction(PAPER, tmp_path, "smoke").run(["figure1", CLAIMS]) == [VERDICT]
    assert drawn == [(3, False), (3, True)]
    files = ["claims.md", "figure1-bold.png", "figure1-bold.svg", "figure1.png", "figure1.svg", "index.html", "page.json"]
    assert names(tmp_path) == files
    rows = (tmp_path / "claims.md").read_text().splitlines()
    assert rows[2:] == ["| paper, smoke | X1, §1 | it holds | yes: 1 is 1: 1 | holds |"]
    page = (tmp_path / "index.html").read_text()
    assert "<h1>A paper</h1>" in page
    assert "Figure 1: a square." in page  # the first paragraph of the docstring in one line, and no more
    assert "is a length" not in page
    assert "it holds" in page


def test_a_later_run_adds_to_the_page(tmp_path: Path) -> None:
    Reproduction(PAPER, tmp_path, "quick").run(["figure2"])
    assert Reproduction(PAPER, tmp_path, "smoke").run(["figure1"]) == []
    page = (tmp_path / "index.html").read_text()
    assert page.index('id="figure1"') < page.index('id="figure2"')
    assert "nothing but a line across. Scale: quick." in page
    assert "it holds" in page
    (tmp_path / "page.json").write_text("[]")
    with pytest.raises(InputError, match=r"page.json: cannot be read: .*; expected what an earlier run wrote"):
        Reproduction(PAPER, tmp_path, "smoke").run(["figure1"])


def test_a_figure_without_data_says_so(tmp_path: Path) -> None:
    Reproduction(PAPER, tmp_path, "smoke").run(["figure1", "figure2"])
    assert "no data at scale smoke" in (tmp_path / "figure2.svg").read_text()
    assert "no data" not in (tmp_path / "figure1.svg").read_text()


def test_an_item_without_data(tmp_path: Path) -> None:
    Reproduction(PAPER, tmp_path, "smoke").run()
    assert not (tmp_path / "figure3.png").exists()
    assert (tmp_path / "text.md").read_text() == "side 3"
    with pytest.raises(InputError, match=r"^item figure3: there are no data; expected some$"):
        Reproduction(PAPER, tmp_path, "smoke").run(["figure3"])


def test_items_in_the_order_of_the_paper() -> None:
    assert PAPER.chosen([CLAIMS, "figure1"]) == ("figure1", CLAIMS)
    assert PAPER.chosen([]) == ("figure1", "figure2", "figure3", "text", CLAIMS)
    with pytest.raises(InputError, match=r"^item figure22: unknown; expected one of figure1, .*; did you mean figure2\?$"):
        PAPER.chosen(["figure22"])


def test_data_are_got_once_and_a_users_policy_is_added(tmp_path: Path) -> None:
    run = Reproduction(PAPER, tmp_path, "smoke", policies=("fair-share", "fcfs"), progress=False)
    results = run.get("runs")
    assert results is run.get("runs")
    assert sorted(results.table["policy"].to_pylist()) == ["fair-share", "fcfs"]
    assert results.compared(("fcfs",)) == ("fcfs", "fair-share")
    plain = Reproduction(PAPER, tmp_path, "smoke", progress=False).get("runs")  # the same folder, without it
    assert plain.table["policy"].to_pylist() == ["fcfs"]
    with pytest.raises(InputError, match="no-such-policy"):
        Reproduction(PAPER, tmp_path, "smoke", policies=("no-such-policy",)).get("runs")


def test_means_are_over_seeds() -> None:
    assert Estimate.of([1.0, 2.0, 3.0, 4.0]).error == pytest.approx(np.sqrt(5.0 / 3.0) / 2.0)
    assert Estimate.of([2.0]).above() is None, "one value has no error"
    assert Estimate(0.004, 0.005).above() is None
    assert (Estimate(0.006, 0.005).above(), Estimate(0.006, 0.005).below()) == (True, False)
    assert Estimate(0.5, 0.1).inside(0.0, 1.0) is True
    assert Estimate(0.95, 0.1).inside(0.0, 1.0) is None
    assert Estimate(1.5, 0.1).inside(0.0, 1.0) is False
    assert (together([]), together([None, False])) == (None, False)


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        ((True, True), "holds"),
        ((True, False), "in part"),
        ((True, None), "in part"),
        ((False, None), "fails"),
        ((None, None), "not measured"),
        ((), "not measured"),
    ],
)
def test_verdicts(outcomes: tuple[bool | None, ...], word: str) -> None:
    verdict = Verdict("X", "", "", tuple(ClaimCheck("", "", outcome) for outcome in outcomes))
    assert verdict.word == word
    assert counted([verdict, VERDICT]).count("1 ") + counted([verdict, VERDICT]).count("2 ") >= 1


def test_the_command_fails_where_a_claim_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for outcome, code in ((False, 1), (None, 0), (True, 0)):
        verdict = Verdict("X1", "§1", "it holds", (ClaimCheck("1 is 1", "2", outcome),))
        monkeypatch.setitem(PAPERS, "dash", Paper("dash", "", {"smoke": 1}, {}, {}, (Claim(lambda v=verdict: v),)))
        arguments = ["reproduce", "dash", "--scale", "smoke", "--out", str(tmp_path)]
        assert main([*arguments, "--check"]) == code
        assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "X1 (§1) not measured: it holds\n    undecided 1 is 1: 2\n" in shown
    assert "1 claims: 0 hold, 0 in part, 1 fail, 0 not measured" in shown
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()]
    failing = [row for row in rows if row[:3] == ["dash", "X1", "fails"]]
    assert failing == [["dash", "X1", "fails", "0/1/0", "it holds"]] * 2, "one check, which says no"
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"][0]["paper"] == "dash"


def test_all_papers_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PAPERS:
        monkeypatch.setitem(PAPERS, name, Paper(name, name, {"smoke": 1}, {}, {}, (Claim(lambda: VERDICT),)))
    found = reproduce("all", tmp_path, scale="smoke")
    assert list(found) == ["revisiting", "dash", "distributed", "calciom", "buffers"]
    assert names(tmp_path) == sorted([*found, "claims.md"])
    rows = (tmp_path / "claims.md").read_text().splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}, smoke" for name in found]
    with pytest.raises(InputError, match="item figure2: is an item of one paper; expected none with all"):
        reproduce("all", tmp_path, ["figure2"], "smoke")
    with pytest.raises(InputError, match=r"paper dahs: unknown; expected one of .*; did you mean dash"):
        reproduce("dahs", tmp_path)
