"""The page of figures and claims: complete, escaped, offline."""

from pathlib import Path

from penstock.papers.verdicts import ClaimCheck, Verdict
from penstock.report.figures import Picture, render_page, write_page

VERDICTS = [
    Verdict("X1", "§1 <here>", "a & b", (ClaimCheck("over 1", "2", True), ClaimCheck("under 1", "<2>", False))),
    Verdict("X2", "§2", "c", (ClaimCheck("0", "0", True),)),
    Verdict("X3", "§3", "d", (ClaimCheck("0", "1", False),)),
    Verdict("X4", "§4", "e", (ClaimCheck("0", "no data", None),)),
]


def test_claims_and_figures_are_on_the_page_escaped() -> None:
    page = render_page(
        "Title <1>",
        "Scale: smoke.",
        [Picture("figure2", 'Of "yields"', b"<svg/>")],
        [verdict.to_dict() for verdict in VERDICTS],
    )
    assert "<h1>Title &lt;1&gt;</h1>" in page
    assert "a &amp; b (§1 &lt;here&gt;)" in page
    assert "under 1: &lt;2&gt;" in page
    assert [page.count(f">{word}</td>") for word in ("holds", "in part", "fails", "not measured", "undecided")] == [1] * 5
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in page
    assert "Of &quot;yields&quot;" in page
    assert "http" not in page


def test_without_claims_there_is_no_table(tmp_path: Path) -> None:
    write_page(tmp_path / "new" / "index.html", "T", "S", [], [])
    assert "Claims" not in (tmp_path / "new" / "index.html").read_text(encoding="utf-8")
