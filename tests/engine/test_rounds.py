"""Interruption between rounds only, and links that carry less when they are shared, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.buffers.timeline import full_speed_timeline
from penstock.engine import Run, simulate
from penstock.engine.scenarios import replay
from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.jobs import Machine
from tests.naive.compare import assert_twins
from tests.naive.machine import NaiveRun


def run(policy, *members, **platform):
    """Ends of applications (posting date, volume, options) on a link of bandwidth 1."""
    applications = [
        Application.of(f"a{index}", [("io", volume)], release=date, **options)
        for index, (date, volume, options) in enumerate(members)
    ]
    result = simulate(Workload(Platform(1.0, **platform), tuple(applications)), policy, check=True, trace=True)
    return [application.end for application in result.applications]


def test_an_interruption_waits_for_the_end_of_a_file():
    # Four files of 1 s. B posts at 1.5 and has the link when the second file is done, from 2 to 3; A ends at 5.
    assert run("interrupting", (0.0, 4.0, {"rounds": 4}), (1.5, 1.0, {})) == pytest.approx([5.0, 3.0])
    # In the last file there is nothing to wait for but the end.
    assert run("interrupting", (0.0, 4.0, {"rounds": 4}), (3.5, 1.0, {})) == pytest.approx([4.0, 5.0])
    # Between two files it need not wait.
    assert run("interrupting", (0.0, 4.0, {"rounds": 4}), (2.0, 1.0, {})) == pytest.approx([5.0, 3.0])
    # One round is the whole operation.
    assert run("interrupting", (0.0, 4.0, {"rounds": 1}), (1.5, 1.0, {})) == pytest.approx([4.0, 5.0])


def test_many_rounds_are_a_fine_grain():
    fine = run("interrupting", (0.0, 4.0, {}), (1.5, 1.0, {}))
    for rounds in (10**6, 10**9, 10**12, 2**53 - 1):
        assert run("interrupting", (0.0, 4.0, {"rounds": rounds}), (1.5, 1.0, {})) == pytest.approx(fine, abs=1e-5)
        assert run("interrupting", (0.0, 4.0, {"rounds": rounds}), (1.1, 1.0, {})) == pytest.approx([5.0, 2.1], abs=1e-5)


def test_rounds_do_not_matter_where_nothing_is_paused():
    members = ((0.0, 4.0, {"rounds": 3}), (1.0, 2.0, {"rounds": 7}))
    for policy in ("fair-share", "interfering", "best-effort", "fifo"):
        assert run(policy, *members) == run(policy, *((date, volume, {}) for date, volume, _ in members))


def test_two_inside_their_rounds():
    # a0 and a1 (caps 1/2) move; a2 is to have the link alone from 1 on. a0's only round of 2 bytes ends at 4, a1's second
    # half begins at 2: a1 stops there, a0 goes on at 1/2, and a2, who takes their places, begins at 4.
    members = ((0.0, 2.0, {"bandwidth": 0.5, "rounds": 1}), (0.0, 2.0, {"bandwidth": 0.5, "rounds": 2}), (1.0, 1.0, {}))
    # greedy-com at 1: a2 takes 1 s, the others 3 s: a2 first.
    assert run("greedy-com", *members) == pytest.approx([4.0, 7.0, 5.0])


def test_a_round_end_is_no_event():
    applications = (
        Application.of("a", [("io", 4.0)], rounds=4),
        Application.of("b", [("io", 1.0)], release=1.5),
    )
    result = simulate(Workload(Platform(1.0), applications), "interrupting", check=True)
    # Two postings and two completions; asked at 0, at 1.5, at the end of the round and when b ends.
    assert (result.events, result.decisions) == (4, 4)


def test_a_run_stopped_inside_a_round_goes_on():
    applications = (
        Application.of("a", [("io", 4.0)], rounds=4),
        Application.of("b", [("io", 1.0)], release=1.5),
    )
    run = Run(Workload(Platform(1.0), applications), "interrupting", check=True)
    for date in (1.6, 1.75, 2.0, 2.5):
        run.advance(date)
    assert [a.end for a in run.finish().applications] == pytest.approx([5.0, 3.0])


def test_degradation_is_what_several_lose():
    # Two transfers of 2 bytes together have 0.8: they end at 5; one after the other at 2 and 4.
    members = ((0.0, 2.0, {}), (0.0, 2.0, {}))
    for policy in ("fair-share", "interfering", "best-effort"):
        assert run(policy, *members, degradation={2: 0.8}) == pytest.approx([5.0, 5.0])
    assert run("serializing", *members, degradation={2: 0.8}) == pytest.approx([2.0, 4.0])


def test_degradation_leaves_alone_what_does_not_fill_the_link():
    # Caps of 0.4: 0.8 in all is what two can have.
    members = ((0.0, 2.0, {"bandwidth": 0.4}), (0.0, 2.0, {"bandwidth": 0.4}))
    assert run("fcfs", *members, degradation={2: 0.8}) == pytest.approx([5.0, 5.0])
    # In proportion where they ask for more: 0.6 and 0.4 of 1 become 0.3 and 0.2 of 0.5, until the first has moved 3 at 10.
    members = ((0.0, 3.0, {"bandwidth": 0.6}), (0.0, 3.0, {}))
    assert run("fcfs", *members, degradation={2: 0.5}) == pytest.approx([10.0, 11.0])


def test_degradation_between_measured_counts():
    # d(4) = 0.84 (001 §I.A.4, use case B): d(2) is a third of the way there.
    members = ((0.0, 1.0, {}), (0.0, 1.0, {}))
    assert run("best-effort", *members, degradation={4: 0.84}) == pytest.approx([2.0 / (1.0 - 0.16 / 3)] * 2)


def test_one_io_resource_has_rounds_and_degrades_as_a_link_does():
    one = Application.of("a", [("io", 4.0)], curve={1: 1.0}, rounds=4)
    other = Application.of("b", [("io", 1.0)], curve={1: 1.0}, release=1.5)
    workload = Workload(Platform(1.0, resources=1), (one, other))
    assert list(simulate(workload, "interrupting", placement=((0,), (0,)), check=True).ends) == pytest.approx([5.0, 3.0])
    two = (replace(one, rounds=None), replace(other, release=0.0, phases=one.phases))
    degraded = Workload(Platform(1.0, resources=1, degradation={2: 0.5}), two)
    assert list(simulate(degraded, "best-effort", placement=((0,), (0,)), check=True).ends) == pytest.approx([16.0, 16.0])


def test_a_full_buffer_does_not_break_rounds():
    # A share of 0: both write straight to the link. B posts at 1.5 and has it when the second file is done.
    one, other = Application.of("a", [("io", 4.0)], rounds=4), Application.of("b", [("io", 1.0)], release=1.5)
    found = replay(Workload(Platform(1.0), (one, other)), [0.0, 0.0], policy="interrupting", check=True)
    assert list(found.ends) == pytest.approx([5.0, 3.0])
    # With room for all nobody is held up, whatever the rounds: A writes 4 bytes at 2 bytes/s, then B 1 byte.
    fast = tuple(replace(member, bandwidth=2.0) for member in (one, other))
    assert list(replay(Workload(Platform(1.0), fast), pool=10.0, check=True).ends) == pytest.approx([2.0, 2.0])


def test_plans_refuse_what_they_do_not_know():
    plain = Application.of("a", [("work", 1.0), ("io", 1.0)])
    with pytest.raises(
        InputError, match=r"^platform\.degradation: the program that sizes a buffer knows no degradation; exp"
    ):
        full_speed_timeline(Workload(Platform(1.0, degradation={2: 0.5}), (plain,)))


def test_an_io_node_of_a_batch_degrades_too():
    workload = Workload(Platform(1.0, nodes=8, degradation={2: 0.5}), (Application.of("a", [("io", 1.0)]),))
    assert Machine.of(workload).platform(workload).degradation == workload.platform.degradation


def test_reads_and_writes_share_what_a_round_leaves():
    """At 9.5 a0 is to pause inside its only round: a1, which reads, and a3 and a4, which write, share 5 of 10 alike."""
    chains = {
        "a0": ([("work", 1.0), ("io", 30.0)], {"nodes": 5, "release": 5.0, "rounds": 1}),
        "a1": (
            [("work", 2.0), ("io", 1.5), ("read", 0.25), ("write", 1.5), ("read", 2.0), ("io", 8.0)],
            {"release": -4.25, "bandwidth": 0.5, "progress": 0.0},
        ),
        "a2": (
            [("work", 2.0), ("io", 1.0), ("work", 0.5), ("io", 0.25)],
            {"nodes": 4, "release": 7.5, "bandwidth": 2.0, "rounds": 3},
        ),
        "a3": (
            [("read", 1.0), ("read", 0.5), ("write", 2.0), ("read", 1.0), ("io", 2.0)],
            {"nodes": 4, "release": -6.0, "bandwidth": 0.5, "progress": 2.0},
        ),
        "a4": ([("work", 0.25), ("io", 8.0), ("work", 0.25), ("io", 1.5)], {"nodes": 7, "release": 8.0}),
    }
    applications = tuple(Application.of(name, chain, **options) for name, (chain, options) in chains.items())
    workload = Workload(Platform(10.0, node_bandwidth=1.0), applications, (-2.0, 14.25))
    result = simulate(workload, "due-yield", check=True, trace=True)
    rates = {row[0]: row[3] for row in zip(*(column.tolist() for column in result.trace[:4]), strict=True) if row[1] == 9.5}
    assert [rates[1], rates[3], rates[4]] == pytest.approx([5.0 * 0.5 / 8.0, 5.0 * 0.5 / 8.0, 5.0 * 7.0 / 8.0])
    assert_twins(result, NaiveRun(workload, "due-yield").run())
