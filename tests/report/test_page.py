"""The report in a real browser, without a network."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, Platform, Workload
from penstock.report import html as payload_module
from penstock.report import write_report
from penstock.theory import Bounds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<img src=x onerror=alert(1)>"


class Visit:
    """A page that was opened from its file, with all that it asked for and complained about."""

    def __init__(self, browser: Browser, path: Path, **options: object) -> None:
        self.context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def pixels(self, selector: str) -> str:
        self.settle()
        return self.page.evaluate("selector => document.querySelector(selector).toDataURL()", selector)

    def axis(self) -> list[str]:
        self.settle()
        return self.page.locator("#timeline .axis").first.locator("span").all_inner_texts()

    def column(self, index: int) -> list[float]:
        cells = self.page.locator(f"#policies tbody tr > :nth-child({index + 1})")
        return cells.evaluate_all("cells => cells.map(cell => Number(cell.dataset.value))")

    def over(self, selector: str, x: float, y: float) -> None:
        """Point at a place of an element, given in parts of its size."""
        self.page.locator(selector).scroll_into_view_if_needed()
        box = self.page.locator(selector).bounding_box()
        self.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        self.settle()


@pytest.fixture
def visit(browser: Browser, report_path: Path, workload: Workload, results: list[Result]) -> Iterator[Visit]:
    write_report(report_path, workload, results, "A <comparison>")
    visit = Visit(browser, report_path)
    yield visit
    assert visit.complaints == []
    assert visit.requests == [report_path.as_uri()]
    visit.context.close()


def test_the_page_opens(visit: Visit) -> None:
    assert visit.page.title() == "A <comparison>"
    assert visit.page.locator("#policies tbody tr").count() == 3
    assert visit.page.locator("#policy option").all_inner_texts() == ["fair-share", "fcfs", "greedy-yield"]
    assert visit.axis()[-1] == "10 min"


def test_names_are_shown_as_text(visit: Visit, workload: Workload) -> None:
    names = visit.page.locator("#row-names .name").all_text_contents()
    assert names == [application.name for application in workload.applications]
    assert visit.page.locator("img").count() == 0
    assert visit.page.locator("script").count() == 2


def test_a_heading_sorts(visit: Visit) -> None:
    heading = visit.page.locator("#policies thead button", has_text="min-yield")
    heading.click()
    assert visit.column(1) == sorted(visit.column(1), reverse=True)
    heading.press("Enter")
    assert visit.column(1) == sorted(visit.column(1))
    assert visit.page.locator("th[aria-sort]").all_inner_texts() == ["min-yield"]
    visit.page.locator("#policies thead button", has_text="policy").click()
    assert visit.page.locator("#policies tbody th").all_inner_texts() == ["fair-share", "fcfs", "greedy-yield"]


def test_another_policy_changes_the_timeline(visit: Visit) -> None:
    rows, use = visit.pixels("#gantt"), visit.pixels("#use")
    visit.page.select_option("#policy", label="fcfs")
    assert visit.pixels("#gantt") != rows
    assert visit.pixels("#use") != use
    assert visit.page.locator("tr.selected th").inner_text() == "fcfs"
    visit.page.locator("#policies tbody button", has_text="fair-share").click()
    assert visit.pixels("#gantt") == rows


def test_zoom_and_move(visit: Visit) -> None:
    whole, drawn = visit.axis(), visit.pixels("#gantt")
    visit.page.click("[data-view=in]")
    zoomed = visit.axis()
    assert zoomed != whole
    assert visit.page.locator("#range").inner_text() == "2 min 30 s – 7 min 30 s (5 min)"
    visit.page.click("[data-view=right]")
    assert visit.axis() != zoomed
    visit.page.click("[data-view=reset]")
    assert visit.axis() == whole
    assert visit.pixels("#gantt") == drawn


def test_the_wheel_zooms_where_the_pointer_is_and_dragging_moves(visit: Visit) -> None:
    visit.over("#gantt", 0.0, 0.5)
    visit.page.mouse.wheel(0, -400)
    visit.page.wait_for_function("document.querySelector('#range').value.startsWith('0 s – ')")
    before = visit.axis()
    visit.over("#gantt", 0.8, 0.5)
    visit.page.mouse.down()
    visit.over("#gantt", 0.3, 0.5)
    visit.page.mouse.up()
    assert visit.axis() != before


def test_keys_zoom_and_move(visit: Visit) -> None:
    whole = visit.axis()
    visit.page.focus("#gantt")
    visit.page.keyboard.press("+")
    zoomed = visit.axis()
    visit.page.keyboard.press("ArrowRight")
    assert len({tuple(whole), tuple(zoomed), tuple(visit.axis())}) == 3
    visit.page.keyboard.press("0")
    assert visit.axis() == whole


def test_pointing_at_a_row_names_the_application(visit: Visit) -> None:
    tip = visit.page.locator("#tip")
    assert tip.is_hidden()
    visit.over("#gantt", 0.01, 0.1)  # 6 s after the begin, the first row: in its first work phase of 20 s
    assert tip.inner_text().splitlines() == [HOSTILE, "working", "0 s – 20 s (20 s)"]
    visit.over("#gantt", 0.035, 0.1)  # 21 s: alone on the link, at its cap of 4 nodes
    assert tip.inner_text().splitlines()[1] == "transferring at 800 MB/s, 100 % of what it can use"
    visit.over("#gantt", 0.95, 0.9)  # the last row is "short"
    assert tip.inner_text().splitlines() == ["short", "ended"]
    visit.over("#use", 0.035, 0.5)
    assert tip.inner_text().splitlines()[1] == "800 MB/s, 80 % of all"
    visit.page.mouse.move(2, 2)
    assert tip.is_hidden()


def test_pointing_at_a_dot_follows_the_application(visit: Visit, results: list[Result]) -> None:
    lowest = min(results[0].applications, key=lambda application: application.yield_)
    before = visit.pixels("#yield-dots")
    place = visit.page.evaluate(
        """name => {
            const data = JSON.parse(document.querySelector('#data').textContent);
            const index = data.applications.findIndex(application => application.name === name);
            const low = Number(document.querySelector('#yields .axis span').textContent);
            const width = document.querySelector('#yield-dots').clientWidth;
            return (10 + (data.policies[0].yields[index] - low) / (1 - low) * (width - 20)) / width;
        }""",
        lowest.name,
    )
    visit.over("#yield-dots", place, 1 / 6)
    lines = visit.page.locator("#tip").inner_text().splitlines()
    assert lines[0] == lowest.name
    assert f"{lowest.yield_:.4f}" in lines
    assert visit.pixels("#yield-dots") != before


def test_the_yields_are_there_as_numbers(visit: Visit, results: list[Result]) -> None:
    visit.page.click("#numbers summary")
    visit.page.wait_for_selector("#numbers td")
    shown = visit.page.locator("#numbers tbody tr").first.locator("td").all_inner_texts()
    assert shown == [f"{result.applications[0].yield_:.4f}" for result in results]


def test_rows_can_be_ordered_by_yield(visit: Visit, results: list[Result]) -> None:
    visit.page.select_option("#order", "yield")
    names = visit.page.locator("#row-names .name").all_text_contents()
    assert names == [a.name for a in sorted(results[0].applications, key=lambda application: application.yield_)]


def test_paper_and_darkness_have_their_own_colours(visit: Visit) -> None:
    light = visit.pixels("#gantt")
    visit.page.emulate_media(color_scheme="dark")
    assert visit.pixels("#gantt") != light
    visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--card')") == "#ffffff"
    visit.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    visit.page.emulate_media(color_scheme="light")
    assert visit.pixels("#gantt") == light


@pytest.fixture
def bounded(
    browser: Browser, report_path: Path, workload: Workload, results: list[Result], bounds: Bounds
) -> Iterator[Visit]:
    write_report(report_path, workload, results, "t", bounds)
    visit = Visit(browser, report_path)
    yield visit
    assert visit.complaints == []
    assert visit.requests == [report_path.as_uri()]
    visit.context.close()


def test_the_bound_stays_last_while_policies_are_sorted(bounded: Visit) -> None:
    names = bounded.page.locator("#policies tr > th[scope=row]")
    seen = set()
    for index in range(8):
        heading = bounded.page.locator("#policies thead button").nth(index)
        for _ in range(2):
            heading.click()
            *policies, last = names.all_inner_texts()
            assert last == "bound"
            assert sorted(policies) == ["fair-share", "fcfs", "greedy-yield"]
            seen.add(tuple(policies))
    assert len(seen) > 1
    row, table = bounded.page.locator("#bound").bounding_box(), bounded.page.locator("#policies").bounding_box()
    assert row["y"] + row["height"] == pytest.approx(table["y"] + table["height"], abs=1.0)


def test_the_smallest_gap_is_sorted_first(bounded: Visit) -> None:
    heading = bounded.page.get_by_role("button", name="gap to the bound in min-yield")
    assert heading.inner_text() == "gap"
    heading.click()
    assert bounded.column(2) == sorted(bounded.column(2))
    assert bounded.column(1) == sorted(bounded.column(1), reverse=True)
    heading.click()
    assert bounded.column(2) == sorted(bounded.column(2), reverse=True)


def test_the_gaps_are_the_bound_less_the_values(bounded: Visit, results: list[Result], bounds: Bounds) -> None:
    assert bounded.column(2) == [bounds.min_yield - result.min_yield for result in results]
    assert bounded.column(4) == [bounds.efficiency - result.efficiency for result in results]
    shown = bounded.page.locator("#policies tbody tr").first.locator("td.to-bound").all_inner_texts()
    assert shown == [f"{bounded.column(2)[0]:.4f}", f"{bounded.column(4)[0]:.4f}"]
    assert bounded.page.locator("#bound > *").all_inner_texts()[:6] == ["bound", "0.9877", "", "0.9900", "", "–"]


LINE = """() => {
    const line = document.querySelector('#yields .bound');
    const canvas = document.querySelector('#yield-dots').getBoundingClientRect();
    const [box, label] = [line.getBoundingClientRect(), line.firstElementChild.getBoundingClientRect()];
    const low = Number(document.querySelector('#yields .axis span').textContent);
    const at = 10 + (Number(line.dataset.value) - low) / (1 - low) * (canvas.width - 20);
    return {
        off: (box.left + box.right) / 2 - canvas.left - at,
        top: box.top - canvas.top,
        bottom: box.bottom - canvas.bottom,
        label: line.textContent,
        left: label.left - canvas.left,
        right: canvas.right - label.right,
        above: canvas.top - label.bottom,
    };
}"""


@pytest.mark.parametrize("width", [1280, 420])
def test_a_line_marks_the_bound_in_the_yields(bounded: Visit, width: int) -> None:
    bounded.page.set_viewport_size({"width": width, "height": 900})
    bounded.settle()
    assert bounded.page.locator("#yields .bound").is_visible()
    line = bounded.page.evaluate(LINE)
    assert line["off"] == pytest.approx(0.0, abs=1.0)
    assert line["top"] <= 0.0
    assert line["bottom"] == pytest.approx(0.0, abs=1.0)
    assert line["label"] == "bound on the min-yield 0.9877"
    assert min(line["left"], line["right"], line["above"]) >= 0.0


@pytest.mark.parametrize("lowest", [0.0, 0.3, 1.0])
def test_the_label_of_the_line_stays_inside(
    browser: Browser, report_path: Path, workload: Workload, results: list[Result], lowest: float
) -> None:
    low = [dataclasses.replace(result.applications[0], yield_=0.0) for result in results]
    slow = [
        dataclasses.replace(result, applications=(first, *result.applications[1:]))
        for result, first in zip(results, low, strict=True)
    ]
    write_report(report_path, workload, slow, "t", Bounds(lowest, 1.0, 0.1))
    visit = Visit(browser, report_path)
    line = visit.page.evaluate(LINE)
    assert line["off"] == pytest.approx(0.0, abs=1.0)
    assert min(line["left"], line["right"]) >= 0.0
    assert visit.complaints == []
    visit.context.close()


def test_a_dot_under_the_line_can_be_pointed_at(bounded: Visit) -> None:
    line = bounded.page.locator("#yields .bound")
    assert line.evaluate("line => getComputedStyle(line).pointerEvents") == "none"


def test_without_bounds_there_is_no_row_and_no_line(visit: Visit) -> None:
    assert visit.page.locator("#bound, tfoot, .bound, .to-bound, .bounded").count() == 0
    assert visit.page.locator("#policies thead th").count() == 6


def test_a_canvas_has_all_pixels_of_a_fine_screen(
    browser: Browser, report_path: Path, workload: Workload, results: list[Result]
) -> None:
    write_report(report_path, workload, results, "t")
    visit = Visit(browser, report_path, device_scale_factor=2)
    assert visit.page.evaluate("(({width, clientWidth}) => width / clientWidth)(document.querySelector('#gantt'))") == 2
    visit.context.close()


def test_means_and_many_applications_say_so(browser: Browser, report_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_module, "MOST_SEGMENTS", 0)
    applications = tuple(Application.of(f"a{i}", [("work", 5.0), ("io", 10.0 + i)] * 30) for i in range(120))
    workload = Workload(Platform(100.0), applications, (0.0, 1200.0))
    write_report(report_path, workload, [simulate(workload, "fcfs", trace=True)], "t")
    visit = Visit(browser, report_path)
    legend = visit.page.locator("#legend").inner_text()
    assert "drawn as means over 1 s" in legend
    assert "100 of 120 applications, those with the lowest yields under fcfs" in legend
    assert visit.page.locator("#row-names .name").count() == 100
    visit.page.locator("#row-names .row").first.scroll_into_view_if_needed()
    box = visit.page.locator("#gantt").bounding_box()
    visit.page.mouse.move(box["x"] + 300, box["y"] + 5)
    lines = visit.page.locator("#tip").inner_text().splitlines()
    assert lines[0].startswith("a")
    assert lines[1].startswith("mean rate ")
    assert lines[2].startswith("waiting ")
    assert visit.complaints == []
    visit.context.close()
