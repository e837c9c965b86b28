"""The adversarial instances against what 000 §5 says of them."""

from __future__ import annotations

import pytest

from penstock.engine import simulate
from penstock.model import InputError
from penstock.policies import REGISTRY, expand
from penstock.theory import bounds
from penstock.theory.adversaries import LAST_LISTED_FIRST, against, in_step, late_comer, one_behind, two_categories

EPSILON = 1e-6
sizes = pytest.mark.parametrize("m", [4, 6, 16])


@sizes
def test_example_1_leaves_the_late_comer_a_share(m):
    workload = late_comer(m, EPSILON)
    shared = simulate(workload, "fair-share")
    assert shared.min_yield == pytest.approx(1.0 / m, rel=1e-6)
    assert shared.applications[-1].yield_ == shared.min_yield
    best = simulate(workload, LAST_LISTED_FIRST)
    assert best.min_yield == pytest.approx(1.0 - EPSILON, rel=1e-9)
    assert bounds(workload).min_yield >= best.min_yield


@sizes
def test_example_2_as_printed(m):
    """E ≤ (1 + ε)/m with category B first, E' = (m/2 + 1)/(2m) with category A; utilization ε/m and (m − 2)/(4m)."""
    workload = two_categories(m, EPSILON)
    wrong, right = simulate(workload, "fcfs"), simulate(workload, LAST_LISTED_FIRST)
    assert wrong.efficiency == pytest.approx((1.0 + EPSILON) / m, rel=1e-9)
    assert wrong.utilization == pytest.approx(EPSILON / m, rel=1e-6)
    assert right.efficiency == pytest.approx((m / 2 + 1) / (2 * m), rel=1e-9)
    assert right.utilization == pytest.approx((m - 2) / (4 * m), rel=1e-9)
    assert wrong.min_yield == right.min_yield == 0.0
    assert simulate(workload, "fair-share").min_yield == pytest.approx(1.0 / m, rel=1e-9)


@sizes
@pytest.mark.parametrize("policy", expand(["sharing"]))
def test_example_2_against_any_strategy(policy, m):
    result = simulate(against(REGISTRY[policy], m, EPSILON), policy)
    assert result.efficiency <= (1.0 + EPSILON) / m * (1.0 + 1e-9)
    assert result.utilization <= EPSILON / m * (1.0 + 1e-6)


@sizes
@pytest.mark.parametrize("policy", ["fcfs", "set-10", "greedy-yield", "periodic-greedy-yield", "best-next-event"])
def test_example_3_serves_who_is_behind(policy, m):
    workload = one_behind(m, EPSILON)
    assert simulate(workload, policy).efficiency == pytest.approx(1.0 / m, rel=1e-9)
    waits = EPSILON * m * (m - 1) / 2
    assert simulate(workload, LAST_LISTED_FIRST).efficiency == pytest.approx(1.0 - waits / m, abs=m * EPSILON)


def test_example_4_in_step():
    """A cycle of work m − 1 and I/O 1 takes 2m − 1 in step, and m when staggered, after m − 1 of waiting."""
    m, cycles = 8, 45
    workload = in_step(m, cycles)
    staggered = simulate(workload, "fcfs")
    assert staggered.min_yield == pytest.approx(1.0 - (m - 1) / (m * cycles), rel=1e-9)
    whole, rest = divmod(m * cycles, 2 * m - 1)
    assert rest == 0
    assert simulate(workload, "fair-share").min_yield == pytest.approx(whole * m / (m * cycles), rel=1e-9)


@pytest.mark.parametrize(("make", "m"), [(late_comer, 1), (two_categories, 2), (two_categories, 5), (one_behind, 1)])
def test_too_few_applications(make, m):
    with pytest.raises(InputError, match=rf"^m: {m} applications do not make this instance; expected"):
        make(m, EPSILON)
