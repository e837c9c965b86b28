"""Exclusive access by hand: one at a time, to the end of the operation, in the order that the policy says."""

from __future__ import annotations

import pytest

from penstock.engine import Run, simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.policies import REGISTRY, expand, find


def workload(*chains, **options) -> Workload:
    return Workload(Platform(1.0, **options), tuple(Application.of(f"a{i}", chain) for i, chain in enumerate(chains)))


def ends(result) -> list[float]:
    return [application.end for application in result.applications]


BUSY = workload(
    [("io", 4.0), ("work", 1.0)],  # has the link first: it asks first, and is listed first
    [("work", 1.0), ("io", 3.0), ("work", 9.0)],
    [("work", 2.0), ("io", 1.0)],
    [("work", 3.0), ("io", 2.0), ("work", 2.0), ("io", 1.0)],
)
"""When the link falls free at 4, operations of 3, 1 and 2 s wait, posted at 1, 2 and 3; 12, 1 and 5 s are left to do."""


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("fifo", (1, 2, 3)),
        ("lowest-id", (1, 2, 3)),
        ("longest-io", (1, 3, 2)),
        ("shortest-io", (2, 3, 1)),
        ("shortest-remaining", (2, 3, 1)),
        ("longest-remaining", (1, 3, 2)),
        ("most-remain", (1, 3, 2)),
    ],
)
def test_who_is_next(policy, order):
    result = simulate(BUSY, policy, trace=True, check=True)
    rows = zip(result.trace.application.tolist(), result.trace.begin.tolist(), result.trace.rate.tolist(), strict=True)
    served = [who for who, begin, rate in sorted(rows, key=lambda row: row[1]) if rate > 0.0 and begin >= 4.0]
    assert tuple(dict.fromkeys(served)) == order


def test_nobody_is_interrupted():
    # a1 is shorter and asks at 1, but a0 has the link until 10.
    result = simulate(workload([("io", 10.0)], [("work", 1.0), ("io", 1.0)]), "shortest-io", check=True)
    assert ends(result) == [10.0, 11.0]
    assert ends(simulate(workload([("io", 10.0)], [("work", 1.0), ("io", 1.0)]), "greedy-com")) == [11.0, 2.0]


def test_one_at_a_time_also_where_caps_are_low():
    # Caps of 1/2: fcfs serves both at once, fifo one after the other.
    chains = ([("io", 1.0)], [("io", 1.0)])
    assert ends(simulate(workload(*chains, node_bandwidth=0.5), "fifo", check=True)) == [2.0, 4.0]
    assert ends(simulate(workload(*chains, node_bandwidth=0.5), "fcfs", check=True)) == [2.0, 2.0]


def test_bandwidth_and_stretch_oriented():
    # At 6 the link falls free. a1 has worked for 2 and moved 2: stretch 1.5. a2 has worked for 3, moved nothing: stretch 2.
    chains = (
        [("work", 2.0), ("io", 4.0)],
        [("io", 2.0), ("work", 2.0), ("io", 1.0)],
        [("work", 3.0), ("io", 1.0)],
    )
    for policy in ("bandwidth-oriented", "stretch-oriented"):
        assert ends(simulate(workload(*chains), policy, check=True)) == [6.0, 8.0, 7.0]


def test_johnson_goes_by_nominal_couples():
    # Couples (5, 1), (1, 3), (2, 4): a ≤ b first by a, so 1, 2; then 0. All wait when the link falls free at 9.
    chain = [("work", 1.0), ("io", 1.0)]
    couples = [(5.0, 1.0), (1.0, 3.0), (2.0, 4.0)]
    applications = [Application.of("first", [("io", 9.0)], nominal=(0.0, 9.0))]
    applications += [Application.of(f"a{i}", chain, nominal=couple) for i, couple in enumerate(couples)]
    assert ends(simulate(Workload(Platform(1.0), tuple(applications)), "johnson", check=True)) == [9.0, 12.0, 10.0, 11.0]


def test_figure_ii_3():
    jobs = [[("work", 2.5), ("io", 1.0)] * count for count in (4, 4, 2, 2, 1)]
    assert simulate(workload(*jobs), "hierarchical-round-robin", check=True).makespan == 16.0


def test_the_link_waits_for_its_turn():
    # The order is 0, 1, 0, 1 by the first requests; a1's work takes long, and a0 waits for it though the link is free.
    result = simulate(
        workload([("work", 1.0), ("io", 1.0), ("work", 1.0), ("io", 1.0)], [("work", 5.0), ("io", 1.0)]), "periodic-fifo"
    )
    assert ends(result) == [7.0, 6.0]


def test_best_effort_shares_equally_up_to_the_caps():
    # Caps 1/4 and 1: B/2 each would be too much for the first, and the second has the rest.
    apps = (Application.of("thin", [("io", 1.0)], bandwidth=0.25), Application.of("wide", [("io", 3.0)]))
    assert ends(simulate(Workload(Platform(1.0), apps), "best-effort", check=True)) == [4.0, 4.0]


def test_static_orders_refuse_held_applications():
    with pytest.raises(
        InputError, match=r"^policy periodic-fifo: applications start later; its fixed order needs all at the start"
    ):
        Run(BUSY, "periodic-fifo", held={1})


def test_families():
    assert expand(["static", "fifo", "static"]) == [*(n for n, p in REGISTRY.items() if p.family == "static"), "fifo"]
    assert expand(["all"]) == list(REGISTRY)
    assert find("most-remain") is REGISTRY["longest-remaining"]
