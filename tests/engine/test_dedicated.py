"""What applications would do alone, against a plain loop, and the measures that follow from it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from penstock.engine import dedicated, simulate
from penstock.model import Application, Platform, Workload
from tests.naive import dedicated as naive
from tests.naive.compare import close
from tests.naive.profiles import examples
from tests.naive.strategies import workloads


@examples(200)
@given(workloads())
def test_equals_a_plain_loop(workload):
    volume, operations, end = naive.dedicated(workload)
    found = dedicated(workload)
    assert found.volume == close(volume)
    assert found.end == close(end)
    assert found.pressure == close(
        volume / (workload.platform.bandwidth * (end - found.begin)) if end > found.begin else 0.0
    )
    # An operation that would begin on the very end of the window counts or not by the last bit of a sum.
    assume(naive.dedicated(_longer(workload, 1e-9))[1] == naive.dedicated(_longer(workload, -1e-9))[1])
    assert found.operations == operations
    assert found.default_delta == close((end - found.begin) / (2 * operations) if operations else 0.0)


def _longer(workload, seconds):
    if workload.window is None or workload.window[1] + seconds <= workload.window[0]:
        return workload
    window = (workload.window[0], workload.window[1] + seconds)
    return Workload(workload.platform, workload.applications, window)


def test_by_hand():
    # Window [0, 10], B = 2. a: cap 2, work 3, 4 bytes (3 to 5), work 4, 4 bytes (9 to 11, half of it inside): 2
    # begun, 6 bytes. b: cap 1, released at 6, 8 bytes from 6 on, 4 of them inside: 1 begun. V = 10, W = 10 / (2 ·
    # 10), E = 2 · 3, δ = 10 / 6.
    a = Application.of("a", [("work", 3), ("io", 4), ("work", 4), ("io", 4)])
    b = Application.of("b", [("io", 8), ("io", 1)], release=6.0, bandwidth=1.0)
    workload = Workload(Platform(2.0), (a, b), (0.0, 10.0))
    found = dedicated(workload)
    assert (found.volume, found.operations, found.pressure) == (10.0, 3, 0.5)
    assert found.default_delta == pytest.approx(10 / 6)
    assert simulate(workload, "fcfs").pressure == 0.5


def test_without_a_window_it_ends_with_the_last_dedicated_end():
    # a: 1 to 6; b: 0 to 3: begin 0, end 6; 5 + 3 bytes in 6 s.
    a = Application.of("a", [("io", 5)], release=1.0)
    b = Application.of("b", [("io", 3)])
    found = dedicated(Workload(Platform(1.0), (a, b)))
    assert (found.begin, found.end, found.volume, found.operations) == (0.0, 6.0, 8.0, 2)
    assert found.pressure == pytest.approx(8 / 6)
    assert found.default_delta == pytest.approx(6 / 4)


def test_no_operation_no_period():
    found = dedicated(Workload(Platform(1.0), (Application.of("a", [("work", 5), ("io", 0)]),)))
    assert (found.operations, found.default_delta, found.pressure) == (0, 0.0, 0.0)
