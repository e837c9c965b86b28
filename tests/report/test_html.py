import dataclasses
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.report import render, write_report
from penstock.report.html import payload
from penstock.theory import Bounds

TITLE = 'Tom & "Jerry" <b>$title</b>'


@pytest.fixture(scope="module")
def page(workload: Workload, results: list[Result]) -> str:
    return render(workload, results, TITLE)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._raw = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.text += data


def test_names_and_title_are_text(page: str, workload: Workload, results: list[Result]) -> None:
    named = dataclasses.replace(results[0], policy="<i onclick='x'>", ended_early=("<u>",))
    elements = Elements(render(workload, [named], TITLE))
    assert not {"img", "b", "i", "u"} & {tag for tag, _ in elements.found}
    assert not [key for _, attributes in elements.found for key in attributes if key.startswith("on")]
    assert {TITLE, "<i onclick='x'>"} <= {line.strip() for line in elements.text.splitlines()} | {
        attributes.get("data-value") for _, attributes in elements.found
    }
    assert sum(tag == "script" for tag, _ in Elements(page).found) == 2


def test_the_data_comes_back_out_of_the_page(page: str, workload: Workload, results: list[Result]) -> None:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block.group(1)) == payload(workload, results)


def test_nothing_is_loaded(page: str) -> None:
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "default-src 'none'" in page
    assert not re.findall(r"@import|url\(", page)
    loaded = [attributes.get(key) for _, attributes in Elements(page).found for key in ("src", "href") if key in attributes]
    assert loaded == ["data:,"]


def test_the_header_says_what_was_simulated(page: str) -> None:
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    assert facts[0] == ("applications", "5")
    assert facts[1] == ("window", "10 min")
    assert facts[3] == ("bandwidth", "1 GB/s")


def test_a_window_that_begins_later_says_when(workload: Workload, results: list[Result]) -> None:
    later = dataclasses.replace(workload, window=(60.0, 600.0))
    assert "<dt>window</dt><dd>9 min from 1 min</dd>" in render(later, results, "t")


def test_without_a_window_there_is_a_duration(workload: Workload, results: list[Result]) -> None:
    assert "<dt>duration, to the last end</dt>" in render(dataclasses.replace(workload, window=None), results, "t")


def test_the_best_of_each_objective_is_marked(workload: Workload, results: list[Result]) -> None:
    spread = [dataclasses.replace(result, min_yield=0.1 * index) for index, result in enumerate(results)]
    assert '<td data-value="0.2" class="best">' in render(workload, spread, "t")


def test_the_bound_has_a_row_a_note_and_a_line(workload: Workload, results: list[Result], bounds: Bounds) -> None:
    page = render(workload, results, "t", bounds)
    cells = '<td>0.9877</td><td class="to-bound"></td><td>0.9900</td><td class="to-bound"></td><td>–</td>'
    assert f'<tfoot><tr id="bound"><th scope="row">bound</th>{cells}<td>–</td><td>250 ms</td></tr></tfoot>' in page
    assert "Bound: an upper bound for any schedule, even one that knows the future." in page
    assert 'data-value="0.98765"' in page
    gaps = [0.98765 - results[0].min_yield, 0.99 - results[0].efficiency]
    assert all(f'<td data-value="{gap!r}" class="to-bound">{gap:.4f}</td>' in page for gap in gaps)


def test_every_row_has_a_cell_for_every_heading(workload: Workload, results: list[Result], bounds: Bounds) -> None:
    for page, columns in ((render(workload, results, "t"), 6), (render(workload, results, "t", bounds), 8)):
        table = page[page.index('<table id="policies">') : page.index("</table>")]
        rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        assert {len(re.findall(r"<t[hd][ >]", row)) for row in rows} == {columns}


def test_without_bounds_the_page_says_nothing_of_them(page: str) -> None:
    tags = [(tag, attributes) for tag, attributes in Elements(page).found]
    assert "tfoot" not in {tag for tag, _ in tags}
    assert not [attributes for _, attributes in tags if "bound" in (attributes.get("class") or "")]
    text = Elements(page).text
    assert "ound" not in text
    assert "gap" not in text.split()
    assert "engine time" in text


def test_applications_that_ended_early_are_named_once(workload: Workload, results: list[Result]) -> None:
    page = render(workload, results, "t")
    assert "not a steady state: short (under fair-share, fcfs, greedy-yield)." in page
    many = dataclasses.replace(results[0], ended_early=tuple(f"n{i}" for i in range(9)))
    assert "n5 and 3 more (under fair-share)" in render(workload, [many], "t")
    none = dataclasses.replace(results[0], ended_early=())
    assert "steady state" not in render(workload, [none], "t")


def test_no_results_are_refused(workload: Workload) -> None:
    with pytest.raises(ValueError, match="there are no results; expected at least one"):
        render(workload, [], "t")


def test_a_failure_leaves_the_old_file(report_path: Path, workload: Workload, results: list[Result]) -> None:
    report_path.write_text("old")
    with pytest.raises(ValueError, match="has no trace"):
        write_report(report_path, workload, [dataclasses.replace(results[0], trace=None)], "t")
    assert report_path.read_text() == "old"
    assert list(report_path.parent.iterdir()) == [report_path]


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path: Path, workload: Workload, results: list[Result]) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "no" / "report.html", workload, results, "t")


def test_a_title_that_has_no_utf_8_is_written(report_path: Path, workload: Workload, results: list[Result]) -> None:
    write_report(report_path, workload, results, "lone \ud800 surrogate")
    assert "lone &#55296; surrogate" in report_path.read_text(encoding="utf-8")


def test_importing_the_report_does_not_import_numba() -> None:
    code = "import sys, penstock.report.html, penstock.report.table; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_an_unknown_name_is_refused() -> None:
    import penstock.report

    named = {"applications_table", "bounds_table", "comparison_table", "measures_table", "render", "write_report"}
    assert set(dir(penstock.report)) == named
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        penstock.report.nothing  # noqa: B018


def test_a_page_of_resources_and_buffers(placed: Workload, placed_results: list[Result], bounds: Bounds) -> None:
    page = Elements(render(placed, placed_results, TITLE, bounds))
    assert "I/O resources" in page.text
    assert "mean slowdown" in page.text
    assert ("max stretch" in page.text) == ("buffer" in page.text) == (placed_results[0].buffer is not None)
    rows = [tag for tag, _ in page.found if tag in ("tr", "th", "td")]
    widths = [len(row.split()) for row in " ".join(rows).split("tr")[1:]]
    assert len(set(widths)) == 1  # the row of the bound too


def test_users_have_a_table_where_the_workload_names_them() -> None:
    """a and b share the link: each moves 1800 bytes in 3600 s, of which alone it takes half; b has two nodes."""
    chain = [("work", 3600.0), ("io", 1800.0)]
    members = (Application.of("a", chain, user="ann"), Application.of("b", chain, user="<b>", nodes=2))
    workload = Workload(Platform(1.0), members)
    result = simulate(workload, "fair-share", trace=True)
    shown = render(workload, [result], "users")
    section = shown[shown.index('<h2 id="users-heading">') : shown.index('id="timeline-heading"')]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in section.split("<tr>")[2:]]
    assert rows == [
        ["fair-share", "ann", "1", "0.7500", "1.00", "0.50", "0.50"],
        ["fair-share", "&lt;b&gt;", "1", "0.7500", "2.00", "1.00", "1.00"],
    ]
    without = Workload(Platform(1.0), tuple(dataclasses.replace(one, user=None) for one in members))
    assert "users-heading" not in render(without, [result], "users")
