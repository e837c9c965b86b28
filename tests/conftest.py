"""Settings of all tests, and the real parts that some of them use."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.naive.profiles import HUNT, PHASES, is_long
from tests.slurm import Slurm, missing, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A shell starts background jobs with SIGINT ignored. Tests interrupt themselves and their programs, as from a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines differ in speed, so no example has a deadline. The examples are the same in every run, so that a change is judged
# by what it changes; PENSTOCK_HUNT=1 draws new ones. A failure is reported at once; PENSTOCK_SHRINK=1 looks for a small one.
settings.register_profile("penstock", deadline=None, derandomize=not HUNT, phases=PHASES)
settings.load_profile("penstock")

# The parent of the xdist workers has loaded readline, which sets these to 80 and 24 where there is no terminal.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-long` runs again with all its examples."""
    for item in items:
        if is_long(getattr(item, "function", None)):
            item.add_marker("long")


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """A private Slurm of two nodes; where that cannot be, the test is skipped, or fails if PENSTOCK_REQUIRE_ALL is set."""
    require_slurm(missing())
    with running(nodes=2) as started:
        yield started


@pytest.fixture(scope="module")
def slurm_with_accounting() -> Iterator[Slurm]:
    """A private Slurm of two nodes with slurmdbd and its database."""
    require_slurm(missing(accounting=True))
    with running(nodes=2, accounting=True) as started:
        yield started


def require_slurm(reason: str | None) -> None:
    """Skip the test if there is a reason why Slurm cannot run here; fail where all must run."""
    if reason is not None:
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser; without one the test is skipped, or fails where PENSTOCK_REQUIRE_ALL says that all must run.

    It is gone after each module: while it is there an event loop counts as running, and tests of others could start none.
    """
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
