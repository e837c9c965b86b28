"""What is known of applications before they run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.policies import find
from penstock.policies.order import in_sequence, nominal

LINK = Platform(2.0)
CHAIN = [("work", 3.0), ("io", 0.0), ("work", 1.0), ("io", 4.0), ("work", 2.0), ("io", 8.0)]


def test_means_over_the_chain_and_the_nominal_couple():
    plain = Application.of("a", CHAIN, lead=5.0)
    known = Application.of("b", CHAIN, lead=5.0, nominal=(7.0, 1.0))
    silent = Application.of("c", [("work", 6.0)])
    found = nominal(Workload(LINK, (plain, known, silent)))
    assert found.operations.tolist() == [2, 2, 0]
    # The lead of 5 s is work of two iterations (readings: it counts in the total).
    assert found.work.tolist() == [5.5, 9.5, 6.0]
    assert found.io.tolist() == [3.0, 0.5, 0.0]
    assert found.first_work.tolist() == [9.0, 12.0, 6.0]


def test_reads_and_writes_have_bandwidths_of_their_own():
    """Writes at 2, reads at 0.5 and, by the platform's limit, at 1: (4 / 2 + 3 / 0.5) / 2 and (4 / 2 + 3 / 1) / 2."""
    chain = [("write", 4.0), ("work", 2.0), ("read", 3.0)]
    slow = Application.of("a", chain, read_bandwidth=0.5)
    found = nominal(Workload(Platform(2.0, read_bandwidth=1.0), (slow, Application.of("b", chain))))
    assert found.io.tolist() == [4.0, 2.5]


def test_periodic_fifo_goes_by_the_first_request_and_johnson_by_the_couple():
    first = Application.of("late", [("work", 5.0), ("io", 2.0), ("work", 0.1), ("io", 3.0)])
    second = Application.of("early", [("work", 1.0), ("io", 2.0), ("work", 9.0), ("io", 2.0)])
    workload = Workload(LINK, (first, second))
    assert find("periodic-fifo").plan(workload).turns.tolist() == [-1, 1, -1, 3, -1, 0, -1, 2]
    assert find("johnson").plan(workload).rank.tolist() == [0.0, 1.0]


def test_the_lead_is_work_of_the_nominal_values():
    """The couples are (2, 4) and, with the lead, (7, 2): A comes first. A: 2 to 6 and 9 to 13, L in between."""
    chain = Application.of("A", [("work", 2.0), ("io", 4.0)] * 2)
    late = Application.of("L", [("work", 1.0), ("io", 2.0)], lead=6.0)
    assert simulate(Workload(Platform(1.0), (chain, late)), "periodic-johnson").makespan == 13.0
    # Totals: 2 · (2 + 4) = 12 and 6 + 1 + 2 = 9; with the lead of 10 they are 12 and 13, and L comes first: 11 to 13.
    later = replace(late, lead=10.0)
    turns = find("periodic-most-remain").plan(Workload(Platform(1.0), (chain, late))).turns
    assert turns.tolist() == [-1, 0, -1, 2, -1, 1]
    turns = find("periodic-most-remain").plan(Workload(Platform(1.0), (chain, later))).turns
    assert turns.tolist() == [-1, 1, -1, 2, -1, 0]
    # Of the longest jobs, that with the most work is the last of its block: work 2 and, with the lead, 1 + 6 / 1.
    pair = Workload(Platform(1.0), (late, Application.of("M", [("work", 2.0), ("io", 1.0)])))
    assert find("hierarchical-round-robin").plan(pair).turns.tolist() == [-1, 1, -1, 0]


def test_equal_ranks_of_johnson_go_by_the_earlier_posting():
    """All couples are (1, 1). A posts at 1 and moves till 2, B till 3; then C, waiting since 1, and not A."""
    chain = [("work", 1.0), ("io", 1.0)]
    trio = [Application.of(name, chain * count) for name, count in (("A", 2), ("B", 1), ("C", 1))]
    found = simulate(Workload(Platform(1.0), tuple(trio)), "johnson", check=True)
    assert [one.end for one in found.applications] == [5.0, 3.0, 4.0]


def test_a_sequence_gives_every_operation_its_turn():
    workload = Workload(LINK, (Application.of("a", CHAIN), Application.of("b", [("io", 1.0)])))
    assert in_sequence(workload, [1, 0, 0]).turns.tolist() == [-1, -1, -1, 1, -1, 2, 0]


def test_static_orders_need_everybody_at_the_begin():
    late = Workload(LINK, (Application.of("a", CHAIN), Application.of("b", CHAIN, release=1.0)))
    with pytest.raises(
        InputError, match=r"^policy periodic-johnson: applications\[1\] is released after the start, at 1.0 s"
    ):
        simulate(late, "periodic-johnson")
