"""What the README and the tutorials show is what happens: their commands run, and print what the pages say."""

from pathlib import Path

import pytest

from tests.docs import sample_machine
from tests.docs.consoles import ROOT, matches, run_page

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/tutorials").glob("*.md"))]

FILES = {"your-machine": sample_machine.make}
"""Pages that begin with files which are not in them, and what makes those."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_says(page: Path, tmp_path: Path) -> None:
    FILES.get(page.stem, lambda _: None)(tmp_path / "work")
    wrong = run_page(page, tmp_path / "work")
    told = [f"$ {command}\n--- the page\n{expected}--- printed\n{printed}" for command, (expected, printed) in wrong.items()]
    assert not wrong, "\n".join([*told, "PENSTOCK_UPDATE_DOCS=1 writes what is printed into the page"])


def test_every_page_shows_commands() -> None:
    assert [page.stem for page in PAGES if "```console\n$ " not in page.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a 1\n", "a 1\n", True),
        ("a 1\n", "a 2\n", False),
        ("a …\n", "a 2\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nb\n", False),
        ("", "", True),
        ("", "a\n", False),
        ("a │   1\n━━╇━━━\n", "a │ 1\n━━╇━\n", True),
        ("a (1.0)\n", "a (1x0)\n", False),
    ],
)
def test_an_ellipsis_stands_for_any_text(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) == same
