"""The bounds are passed by no optimum and by no policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from penstock.theory import bounds, optimum
from tests.naive.optimum import FLOOR, optimal_efficiency, optimal_min_yield
from tests.naive.profiles import examples
from tests.naive.strategies import workloads
from tests.theory.small import crowds, small, tiny


@examples(400)
@given(small())
def test_they_are_never_below_the_optimum(workload):
    bound, best = bounds(workload), optimum(workload)
    assert bound.min_yield >= best.min_yield - 1e-9
    assert bound.efficiency >= best.efficiency - 1e-9


@examples(60)
@given(tiny(caps=True))
def test_they_are_never_below_a_yield_with_caps(workload):
    best = optimal_min_yield(workload)
    for pieces in (1, 8):
        assert max(FLOOR, bounds(workload, pieces).min_yield) >= best - 1e-8


@examples(60)
@given(tiny(caps=True))
def test_they_are_never_below_an_efficiency_with_caps(workload):
    best = optimal_efficiency(workload)
    for pieces in (1, 8):
        assert bounds(workload, pieces).efficiency >= best - 1e-8


@examples(120)
@given(st.one_of(workloads(), crowds(5, 4), crowds(5, 4, caps=True)))
def test_no_policy_passes_them(workload):
    bound = bounds(workload)
    for name, policy in REGISTRY.items():
        if policy.family == STATIC and any(a.release > workload.begin for a in workload.applications):
            continue  # an order fixed beforehand needs all applications at the begin
        result = simulate(workload, name)
        assert result.min_yield <= bound.min_yield + 1e-9, name
        assert result.efficiency <= bound.efficiency + 1e-9, name


def test_they_take_an_efficiency_from_one_schedule_and_a_yield_from_another():
    # Two operations of 2 s at once in a window of 2 s, on 1 and 3 nodes: half each, or all for the larger.
    a0, a1 = (Application.of(f"a{nodes}", [("io", 2.0)], nodes=nodes) for nodes in (1, 3))
    bound = bounds(Workload(Platform(1.0), (a0, a1), (0.0, 2.0)))
    assert bound.min_yield == pytest.approx(0.5, abs=1e-8)
    assert bound.efficiency == pytest.approx(0.75)
    assert bound.seconds > 0.0


def test_without_input_and_output_nothing_is_lost():
    idle = Workload(Platform(1.0), (Application.of("a0", [("work", 3.0)]), Application.of("a1", [("io", 0.0)])))
    bound = bounds(idle)
    # a1 ends at once, and its node is idle for 3 s.
    assert (bound.min_yield, bound.efficiency) == (1.0, 0.5)
