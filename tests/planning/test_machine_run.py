"""The measures of a machine run: the steady state against its definition, users, use over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Application, Platform, Workload
from penstock.planning.machine_run import steady_interval
from penstock.planning.operation import operate
from tests.naive.profiles import examples


def naive_left_out(values: list[float]) -> set[int]:
    """All numbers of first entries whose removal gives the smallest standard error of the mean, to rounding."""
    errors = [float(np.var(values[first:]) / (len(values) - first)) for first in range(len(values) // 2 + 1)]
    return {first for first, error in enumerate(errors) if error <= min(errors) + 1e-12}


@examples(200)
@given(st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=2, max_size=40))
def test_the_steady_interval_leaves_out_what_mser_does(values: list[float]) -> None:
    found = steady_interval(np.array(values))
    first, last = naive_left_out(values), naive_left_out(values[::-1])
    half = len(values) // 2
    if found is None:
        assert half in first or half in last or max(first) + max(last) >= len(values)
    else:
        assert found[0] in first
        assert len(values) - found[1] in last
        assert found[0] < half
        assert len(values) - found[1] < half


def test_a_series_that_only_rises_has_no_steady_state() -> None:
    assert steady_interval(np.arange(40.0) ** 3) is None
    assert steady_interval(np.full(40, 0.5)) == (0, 40)


def test_users_and_use_over_time() -> None:
    # 4 nodes for 10 s. ann has 2 for 10 s and 1 for 5 s, bob 1 for 5 s after that: 20, 5 and 5 node-seconds.
    jobs = (
        Application.of("a", [("work", 10.0)], nodes=2, user="ann", group="x"),
        Application.of("b", [("work", 5.0)], user="ann"),
        Application.of("c", [("work", 5.0)], submit=5.0, user="bob", group="x"),
    )
    done = operate(Workload(Platform(1.0, nodes=4), jobs))
    hours = {row["user"]: row["node_hours"] * 3600.0 for row in done.by_user()}
    assert hours == pytest.approx({"ann": 25.0, "bob": 5.0})
    assert {row["group"]: row["jobs"] for row in done.by_user("groups")} == {"x": 2, None: 1}
    line = done.over_time(4)
    assert line.date.tolist() == [2.5, 5.0, 7.5, 10.0]
    assert line.nodes.tolist() == pytest.approx([0.75] * 4)
    assert line.executed.tolist() == pytest.approx([0.75] * 4)
    assert done.idle * 3600.0 == pytest.approx(10.0)
