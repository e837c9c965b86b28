"""The runner that all papers share."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from penstock.model import InputError
from penstock.papers.reproducing import CLAIMS, ClaimCheck, Drawing, Reproduction, Verdict, chosen

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


DRAWINGS = {
    "figure1": [Drawing("figure1", square, lambda: (1,)), Drawing("figure1-bold", square, lambda: (2,), {"bold": True})],
    "figure2": [Drawing("figure2", square, lambda: (3,))],
}


@pytest.fixture(autouse=True)
def nothing_drawn() -> None:
    drawn.clear()


def test_wanted_figures_are_drawn_and_claims_judged(tmp_path: Path) -> None:
    reproduction = Reproduction(tmp_path, "smoke")
    assert reproduction.run("A paper", ["figure1", CLAIMS], DRAWINGS, lambda: [VERDICT]) == [VERDICT]
    assert drawn == [(1, False), (2, True)]
    names = ["figure1-bold.png", "figure1-bold.svg", "figure1.png", "figure1.svg", "index.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    page = (tmp_path / "index.html").read_text()
    assert "<h1>A paper</h1>" in page
    assert "Figure 1: a square." in page  # the first paragraph of the docstring in one line, and no more
    assert "is a length" not in page
    assert "it holds" in page


def test_claims_are_judged_only_if_an_item_asks_for_it(tmp_path: Path) -> None:
    def judge() -> list[Verdict]:
        pytest.fail("nobody asked")

    assert Reproduction(tmp_path, "smoke").run("A paper", ["figure2"], DRAWINGS, judge) == []
    assert drawn == [(3, False)]
    judged = Reproduction(tmp_path, "smoke").run("A paper", ["figure2"], DRAWINGS, lambda: [VERDICT], judged=("figure2",))
    assert judged == [VERDICT]


def test_an_item_without_figures_makes_none(tmp_path: Path) -> None:
    assert Reproduction(tmp_path, "smoke").run("A paper", ["numbers"], DRAWINGS, lambda: [VERDICT]) == []
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_items_in_the_order_of_the_paper() -> None:
    known = ("table2", "figure2", CLAIMS)
    assert chosen([CLAIMS, "table2"], known) == ("table2", CLAIMS)
    assert chosen([], known) == known
    with pytest.raises(InputError, match=r"^item figure22: unknown; expected one of table2, .*; did you mean figure2\?$"):
        chosen(["figure22"], known)
