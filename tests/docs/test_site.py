"""The built site, opened from its files in a real browser without a network."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

SHAPE = """() => {
    const width = document.documentElement.clientWidth;
    const scrolls = element => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
    const boxed = element => { for (let e = element.parentElement; e; e = e.parentElement) if (scrolls(e)) return true; };
    const out = element => element.getBoundingClientRect().right > width + 1;
    return {
        width: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth),
        cut: [...document.querySelectorAll('.rst-content *')]
            .filter(element => out(element) && !scrolls(element) && !boxed(element))
            .map(element => element.outerHTML.slice(0, 80)),
        tables: [...document.querySelectorAll('table')].filter(table => !boxed(table)).length,
        code: [...document.querySelectorAll('pre')].filter(code => !scrolls(code) && !boxed(code)).length,
    };
}"""


@pytest.fixture(params=[1300, 400])
def width(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def context(browser: Browser, width: int) -> Iterator[BrowserContext]:
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page whose complaints, and requests for anything but files, fail the test."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: complaints.append(f"{page.url}: {request.url}"))
    yield page
    assert complaints == []


def test_nothing_is_cut_off_on_any_page(site: Path, page: Page, width: int) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    wrong = {}
    for path in pages:
        page.goto(path.as_uri())
        shape = page.evaluate(SHAPE)
        if shape != {"width": width, "cut": [], "tables": 0, "code": 0}:
            wrong[path.relative_to(site).as_posix()] = shape
    assert wrong == {}


NAMES = "codes => codes.filter(code => code.textContent.length <= 24).map(code => code.getClientRects().length)"


def test_short_names_are_not_broken_and_drawings_have_no_gaps(site: Path, page: Page) -> None:
    page.goto((site / "campaigns.html").as_uri())
    assert set(page.locator(".rst-content p > code").evaluate_all(NAMES)) == {1}
    page.goto((site / "architecture.html").as_uri())
    lines = page.locator("pre", has_text="┌").locator("code")
    assert lines.evaluate("code => parseFloat(getComputedStyle(code).lineHeight)") <= 16.0


@pytest.mark.parametrize("name", ["renamed.html", "api.html", "install.html", "commands.html"])
def test_tables_of_long_names_fit(site: Path, page: Page, name: str) -> None:
    """Names of modules and options are broken at their dots and underscores, so that no table scrolls."""
    page.goto((site / name).as_uri())
    boxes = page.locator(".table-box").evaluate_all("boxes => boxes.map(box => box.scrollWidth - box.clientWidth)")
    assert boxes
    assert max(boxes) <= 0


def test_the_search_box_of_a_page_finds_look_ahead(site: Path, page: Page, width: int) -> None:
    page.goto((site / "policies/beyond.html").as_uri())
    if width < 768:
        page.locator("[data-toggle=wy-nav-top]").first.click()
    page.locator("#rtd-search-form input").fill("look-ahead")
    page.locator("#rtd-search-form input").press("Enter")
    page.wait_for_selector("#mkdocs-search-results article")
    found = page.locator("#mkdocs-search-results article")
    assert "look-ahead" in found.first.inner_text()
    assert any("policies.html" in link for link in found.locator("a").evaluate_all("all => all.map(a => a.href)"))
    found.first.locator("a").click()
    page.wait_for_load_state()
    assert "search.html" not in page.url


def test_search_needs_every_word_and_says_what_it_found(site: Path, page: Page) -> None:
    page.goto((site / "search.html").as_uri())
    page.wait_for_selector("#mkdocs-search-results .count")
    assert page.locator(".count").inner_text() == "Type a word or several."
    page.locator("#mkdocs-search-query").fill("nosuchword look-ahead")
    assert page.locator(".count").inner_text() == "Nothing found."
    page.locator("#mkdocs-search-query").fill("<b>glossary")
    assert page.locator(".count").inner_text() == "Nothing found."
    page.locator("#mkdocs-search-query").fill("glossary")
    assert page.locator("#mkdocs-search-results article a").first.inner_text() == "Glossary"


def test_the_navigation_is_grouped(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    groups = page.locator(".wy-menu-vertical .caption-text").all_text_contents()
    assert groups == ["Start", "Tutorials", "Guides", "Papers", "Reference"]


def test_links_lead_to_files_and_headings_that_exist(site: Path) -> None:
    """Within the site, from every page and the navigation; MkDocs checks the Markdown links only."""
    pages = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {path: set(re.findall(r' id="([^"]+)"', text)) for path, text in pages.items()}
    missing = []
    for path, text in pages.items():
        for link in set(re.findall(r' (?:href|src)="([^"]+)"', text)):
            target, _, anchor = html.unescape(link).partition("#")
            if ":" in target:
                continue
            found = (path.parent / target).resolve() if target else path
            if not found.is_file() or (anchor and anchor not in anchors[found]):
                missing.append(f"{path.relative_to(site.resolve())}: {link}")
    assert missing == []
