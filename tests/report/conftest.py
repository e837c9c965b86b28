"""A small comparison with names that would break a careless page."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, Buffer, Platform, Workload
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
def placed() -> Workload:
    """Three applications that write and read on some of three I/O resources, to their ends, beside a buffer."""
    chain = [("work", 5.0), ("write", 40.0), ("work", 8.0), ("read", 30.0)] * 3
    applications = [
        Application.of(name, chain, release=3.0 * index, curve={1: 4.0, 2: 6.0, 3: 7.0}, placement=used)
        for index, (name, used) in enumerate(zip("abc", ((0, 1), (1,), (0, 1, 2)), strict=True))
    ]
    return Workload(Platform(21.0, resources=3, buffer=Buffer(20.0)), tuple(applications))


@pytest.fixture(scope="session", params=[False, True], ids=["resources", "resources and buffer"])
def placed_results(placed: Workload, request: pytest.FixtureRequest) -> list[Result]:
    buffer = None if request.param else False
    options = {"placement": placed.placement, "buffer": buffer, "trace": True}
    return [simulate(placed, policy, **options) for policy in POLICIES]


@pytest.fixture(scope="session")
def bounds() -> Bounds:
    """Bounds above all results of the comparison; not those of the workload, since any will do for a page."""
    return Bounds(min_yield=0.98765, efficiency=0.99, seconds=0.25)


@pytest.fixture
def report_path(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
