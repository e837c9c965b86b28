"""A small comparison with names that would break a careless page."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, Platform, Workload
from penstock.theory import Bounds

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


@pytest.fixture
def report_path(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
