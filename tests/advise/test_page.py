"""The page in a real browser, without a network, on a desk and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.advise.page import render_advice, write_advice
from penstock.api.advising import AdviceResult
from penstock.model import Application, Platform, Workload
from tests.advise.machines import CHAIN, colliding, peaceful, week

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<img src=x onerror=alert(1)>"
SIZES = {"desk": (1300, 900), "telephone": (400, 800)}


@pytest.fixture(scope="module")
def advice() -> AdviceResult:
    return penstock.advise(week(resources=4), policies=["due-yield", "fcfs"])


@pytest.fixture(params=list(SIZES))
def page(browser: Browser, advice: AdviceResult, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    path = tmp_path / "advice.html"
    write_advice(path, advice.found)
    width, height = SIZES[request.param]
    context = browser.new_context(offline=True, viewport={"width": width, "height": height})
    opened = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: requests.append(asked.url))
    opened.goto(path.as_uri())
    yield opened
    assert complaints == []
    assert requests == [path.as_uri()]  # it loads nothing else
    context.close()


def test_the_page_is_as_wide_as_the_window(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_first_screen_has_the_answer(page: Page, advice: AdviceResult) -> None:
    assert page.locator("h1").inner_text() == advice.found.headline
    box = page.locator("h1").bounding_box()
    last = page.locator(".summary p").last.bounding_box()
    assert box is not None
    assert last is not None
    assert last["y"] + last["height"] < page.viewport_size["height"]
    cards = page.locator(".cards li")
    assert cards.count() == 4
    assert "node-hours" in cards.first.inner_text()


def test_a_card_leads_to_its_numbers(page: Page) -> None:
    page.locator(".cards a").nth(2).click()
    assert page.url.endswith("#buffer")
    box = page.locator("#buffer").bounding_box()
    assert box is not None
    assert -1.0 < box["y"] < page.viewport_size["height"]  # a browser scrolls by whole pixels


def test_every_drawing_has_its_numbers_as_a_table(page: Page) -> None:
    for section in page.locator("section:has(svg)").all():
        assert section.locator("table").count() >= 1
    page.locator("#seen summary").click()
    assert page.locator("#seen details table").is_visible()


def test_bars_are_as_long_as_their_numbers(page: Page) -> None:
    rows = page.locator("#seen table").nth(1).locator("tbody tr")
    widths = [float(row.locator("rect").get_attribute("width").rstrip("%")) for row in rows.all()]
    assert widths[0] == 100.0
    assert widths == sorted(widths, reverse=True)


def test_a_page_that_recommends_nothing(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "far.html"
    penstock.advise(colliding(recorded=1000.0)).write_html(path)
    context = browser.new_context(offline=True)
    opened = context.new_page()
    opened.goto(path.as_uri())
    assert opened.locator("h1").inner_text().startswith("Nothing can be recommended")
    assert opened.locator(".cards").count() == 0
    assert opened.locator("section").evaluate_all("all => all.map(one => one.id)") == ["backtest", "seen", "limits"]
    context.close()


def test_names_are_text() -> None:
    jobs = tuple(Application.of(name, CHAIN, user=HOSTILE) for name in (HOSTILE, "</style>&"))
    text = render_advice(penstock.advise(Workload(Platform(1.0, nodes=2), jobs)).found)
    assert "<img" not in text
    assert text.count("</style>") == 1
    assert "&lt;img" in text


def test_nothing_to_gain_is_a_page_too(tmp_path: Path) -> None:
    path = tmp_path / "calm.html"
    penstock.advise(peaceful()).write_html(path)
    assert "Nothing is to be gained" in path.read_text()
    assert "http" not in path.read_text().replace("http-equiv", "")


def test_metadata_and_iops_are_named(advice: AdviceResult) -> None:
    text = render_advice(advice.found)
    assert "What is not modelled" in text
    assert "Metadata" in text
    assert "IOPS" in text
