"""The bounds are passed by no optimum and by no policy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import simulate
from penstock.model import Application, Buffer, InputError, Platform, Workload
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from penstock.theory import bounds, optimum
from tests.naive.combinations import Combination, combinations
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


SHARING = ("fair-share", "fcfs", "greedy-yield", "best-effort")


def with_a_pool(combination: Combination) -> Workload:
    """Its workload, with its buffers as one pool of the platform."""
    workload = combination.workload
    if not combination.tier:
        return workload
    size = min(sum(size for size, _ in combination.spaces), 1e6)
    buffer = replace(workload.platform.buffer or Buffer(), size=size)
    return replace(workload, platform=replace(workload.platform, buffer=buffer))


@examples(600)
@given(combinations(repeat=False, policies=SHARING))
def test_no_policy_passes_them_on_resources_beside_buffers_with_rounds_degradation_and_limits(combination):
    workload, placement = with_a_pool(combination), combination.placement
    bound = bounds(workload, placement=placement)
    result = simulate(workload, combination.name, placement=placement)
    assert result.min_yield <= bound.min_yield + 1e-9
    assert result.efficiency <= bound.efficiency + 1e-9


def two(platform: Platform, **options: object) -> Workload:
    """Two applications that do I/O of 10 bytes at once, A reads and B writes."""
    a = Application.of("a", [("read", 10.0)], **options)
    b = Application.of("b", [("write", 10.0)], **options)
    return Workload(platform, (a, b))


def test_a_limit_of_one_direction_slows_down_who_is_alone_too():
    # A takes 10 s alone and B 5 s. While B writes at 1.5, A reads at 0.5: B ends at 20/3, A at 40/3, both at a yield of 3/4.
    assert bounds(two(Platform(2.0, read_bandwidth=1.0))).min_yield >= 0.75


def test_a_buffer_leaves_room_for_what_the_link_does_not_carry():
    without, half, all_of_it = (bounds(two(Platform(1.0, buffer=Buffer(size)))).min_yield for size in (0.0, 2.5, 5.0))
    assert without == pytest.approx(0.5, abs=1e-8)
    # 20 bytes, of which 2 · 2.5 may be in the buffer, at the begin or at the end.
    assert half == pytest.approx(10.0 / 15.0, abs=1e-8)
    assert all_of_it == 1.0


def test_every_resource_is_a_link_of_its_own():
    placed = two(Platform(1.0, resources=3), curve={1: 1.0, 2: 2.0})
    apart, together, in_part = (bounds(placed, placement=p) for p in (((0,), (1,)), ((1,), (1,)), ((0, 1), (1, 2))))
    assert apart.min_yield == 1.0
    assert together.min_yield == pytest.approx(0.5, abs=1e-8)
    assert in_part.min_yield == pytest.approx(0.5, abs=1e-8)
    assert bounds(two(placed.platform, curve={1: 1.0}, placement=[2])).min_yield == pytest.approx(0.5, abs=1e-8)
    with pytest.raises(InputError, match="placement: not given, and the applications share 3 I/O resources; expected"):
        bounds(placed)


def test_an_operation_may_be_further_on_one_resource_than_on_another():
    # A writes on both resources, B on the second, for 10 s alone, in a window of 10 s. Of the second one A has x seconds
    # and B the rest: A comes to (10 + x) / 2, the mean of its two transfers, B to 10 − x.
    a = Application.of("a", [("write", 10.0)], curve={1: 1.0, 2: 1.0}, placement=[0, 1])
    b = Application.of("b", [("write", 10.0)], curve={1: 1.0}, placement=[1])
    bound = bounds(Workload(Platform(2.0, resources=2), (a, b), (0.0, 10.0)))
    assert bound.min_yield == pytest.approx(2.0 / 3.0, abs=1e-8)
    assert bound.efficiency == pytest.approx(0.75)
