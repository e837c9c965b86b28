"""Whole runs against the slow twin, and the laws they obey, on random workloads."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.engine import Run, dedicated
from penstock.policies import REGISTRY, find
from penstock.policies.policy import EXCLUSIVE, SHARING, STATIC
from tests.naive.compare import assert_feasible, assert_same_rates, assert_twins
from tests.naive.machine import NaiveRun
from tests.naive.profiles import examples
from tests.naive.strategies import suited, workloads

STATIC_ORDERS = [name for name, policy in REGISTRY.items() if policy.family == STATIC]
FAST = [n for n, p in REGISTRY.items() if not p.periodic and n not in ("best-next-event", *STATIC_ORDERS)]
periodic = pytest.mark.parametrize("name", [name for name, policy in REGISTRY.items() if policy.periodic])


def run(workload, policy, **options):
    """To the end, by way of every end of an application."""
    return Run(workload, policy, trace=True, check=True, **options).finish()


def check(workload, result, twin, **options):
    assert_feasible(workload, result)
    assume(not twin.doubtful)
    assert_twins(result, twin, **options)
    assert_same_rates(result, twin)


@pytest.mark.parametrize("name", [name for name in FAST if REGISTRY[name].family == SHARING])
@examples(80)
@given(workloads())
def test_equals_the_slow_twin(name, workload):
    check(workload, run(workload, name), NaiveRun(workload, name).run())


@pytest.mark.parametrize("name", [name for name in FAST if REGISTRY[name].order is not None])
@examples(24)
@given(workloads())
def test_where_no_order_is_kept_the_policy_equals_the_slow_twin(name, workload):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.engine.run.KEPT_FROM", len(workload.applications) + 1)
        found = run(workload, name)
    check(workload, found, NaiveRun(workload, name).run())


@pytest.mark.parametrize("name", [name for name in FAST if REGISTRY[name].family == EXCLUSIVE])
@examples(24)
@given(workloads())
def test_exclusive_access_equals_the_slow_twin(name, workload):
    check(workload, run(workload, name), NaiveRun(workload, name).run())


@pytest.mark.parametrize("name", [name for name in FAST if REGISTRY[name].family == SHARING or name == "fifo"])
@examples(20)
@given(workloads(coarse=True))
def test_rounds_and_degradation_equal_the_slow_twin(name, workload):
    check(workload, run(workload, name), NaiveRun(workload, name).run())


@pytest.mark.parametrize("name", STATIC_ORDERS)
@examples(24)
@given(workloads())
def test_static_orders_equal_the_slow_twin(name, workload):
    begun = suited(name, workload)
    check(begun, run(begun, name), NaiveRun(begun, name).run())


@periodic
@examples(24)
@given(workloads(window=True), st.sampled_from([0.25, 0.5, 1.0, 1.3, 7.0]))
def test_periodic_decisions_equal_the_slow_twin(name, workload, delta):
    check(workload, run(workload, find(f"{name}:delta={delta}")), NaiveRun(workload, name, delta=delta).run())


@periodic
@examples(20)
@given(workloads(window=True))
def test_the_default_period_equals_the_slow_twin(name, workload):
    delta = dedicated(workload).default_delta  # checked by itself in test_dedicated
    check(workload, run(workload, name), NaiveRun(workload, name, delta=delta).run())


@periodic
@examples(20)
@given(workloads(window=False, applications=4), st.sampled_from([0.5, 1.3]))
def test_periodic_decisions_to_completion_equal_the_slow_twin(name, workload, delta):
    engine = Run(workload, find(f"{name}:delta={delta}"), trace=True, check=True)
    ended: set[int] = set()
    while len(ended) < len(workload.applications):
        now = engine.advance()
        assert now
        ended.update(now)
    twin = NaiveRun(workload, name, delta=delta).run()
    tick = twin.end / delta if delta else 0.0
    twin.edge = twin.edge or math.isclose(tick, round(tick), abs_tol=1e-6)
    check(workload, engine.result(), twin)


@examples(20)
@given(workloads(applications=3, phases=4))
def test_best_next_event_equals_the_slow_twin(workload):
    name = "best-next-event"
    twin = NaiveRun(workload, name).run()
    # Whether a rate is 0 or 1e-17 is a matter of rounding here; what is moved is not.
    check(workload, run(workload, name), twin, split_waiting=False)
