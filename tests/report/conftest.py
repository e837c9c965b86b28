"""A small comparison with names that would break a careless page, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, Platform, Workload
from penstock.theory import Bounds

if TYPE_CHECKING:
    from playwright.sync_api import Browser

POLICIES = ("fair-share", "fcfs", "greedy-yield")
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def workload() -> Workload:
    """Five applications that together want more than B, one of which ends early."""
    names = (HOSTILE, "</script><script>alert(2)</script>", "a & \"b\" 'c'", "größe-π-🙂")
    applications = [
        Application.of(name, [("work", 20.0 + 7 * index), ("io", 2e9 * (index + 1))] * 40, nodes=4 + index)
        for index, name in enumerate(names)
    ]
    applications.append(Application.of("short", [("work", 30.0), ("io", 1e9)], nodes=2))
    return Workload(Platform(1e9, 0.2e9), tuple(applications), (0.0, 600.0))


@pytest.fixture(scope="session")
def results(workload: Workload) -> list[Result]:
    return [simulate(workload, policy, trace=True) for policy in POLICIES]


@pytest.fixture(scope="session")
def bounds() -> Bounds:
    """Bounds above all results of the comparison; not those of the workload, since any will do for a page."""
    return Bounds(min_yield=0.98765, efficiency=0.99, seconds=0.25)


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser; without one the test is skipped, or fails where PENSTOCK_REQUIRE_ALL says that all must run."""
    path = _chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        reason = "needs chromium and playwright"
        if os.environ.get("PENSTOCK_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def report_path(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
