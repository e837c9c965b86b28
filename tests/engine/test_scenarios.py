"""Applications on I/O resources: against the slow twin, the engine of one link, and the paper's own way to simulate; closed
forms, laws, wrong input.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.engine import Run
from penstock.engine.machine import in_units, layout_of
from penstock.engine.scenarios import FIRST_END, INTERVALS, PATIENCE, STEADY, simulate_placement
from penstock.model import Application, InputError, Phases, Platform, PolicyFault, Workload, files
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from tests.naive.compare import assert_placed_twins, close
from tests.naive.machine import NaiveRun
from tests.naive.profiles import LONG, examples
from tests.naive.stepped import bandwidth_with, stepped
from tests.naive.strategies import placed_workloads
from tests.numeric.test_compiled import python

NAMES = [name for name, policy in REGISTRY.items() if policy.family != STATIC]
PLAIN = [name for name in NAMES if not REGISTRY[name].periodic and name != "best-next-event"]
PERIODIC = [name for name in NAMES if REGISTRY[name].periodic]
BY_WHAT_IS_LEFT = ("shortest-remaining", "longest-remaining", "johnson")
"""Policies that look at the whole chain: at this round of it, or at all the rounds that a file lists, with one lead."""

horizons = st.integers(1, 60).map(lambda quarters: quarters / 4.0)
intervals = st.sampled_from(INTERVALS)
periods = st.sampled_from([0.5, 1.3])


def applications(*chains, **common) -> tuple[Application, ...]:
    """a0, a1, … from (phases, options) or phases alone; one resource gives 1 byte/s unless told otherwise."""
    members = []
    for index, chain in enumerate(chains):
        phases, options = chain if isinstance(chain, tuple) else (chain, {})
        members.append(Application.of(f"a{index}", phases, **{"curve": {1: 1.0}, **common, **options}))
    return tuple(members)


def workload(*chains, resources=1, nodes=None, window=None, **common) -> Workload:
    return Workload(Platform(1.0, nodes=nodes, resources=resources), applications(*chains, **common), window)


def slowdowns(result):
    return [application.slowdown for application in result.applications]


def io_seconds(result):
    return [application.io_seconds for application in result.applications]


# ------------------------------------------------------------------ the slow twin


def check(placed, policy, horizon, interval, delta=None):
    """The run equals its slow twin, where no rounding error decides and nobody waits for ever."""
    load, placement = placed
    name = policy if delta is None else f"{policy}:delta={delta}"
    twin = NaiveRun(load, policy, placement=placement, repeat=True, horizon=horizon, interval=interval, delta=delta).run()
    assume(not twin.doubtful)
    assume(not twin.endless)
    result = simulate_placement(load, placement, name, horizon=horizon, interval=interval)
    if interval == STEADY and not result.valid:  # the engine is out of patience, where the twin goes on for longer
        assert result.duration == close(max(horizon, patience_of(load, placement)))
        assert twin.duration > result.duration * (1.0 - 1e-9)
        return
    assert_placed_twins(result, twin)
    for application, one, worked in zip(
        load.applications, result.applications, (a.worked for a in twin.applications), strict=True
    ):
        if application.release <= load.begin:
            assert one.io_seconds + worked == close(result.duration)


def patience_of(load, placement) -> float:
    """PATIENCE times the longest chain alone, from the beginning, times the most applications that share a resource."""
    alone = [
        load.start(application) - load.begin + application.seconds_alone(float(application.curve.upto(len(used))[-1]))
        for application, used in zip(load.applications, placement, strict=True)
    ]
    sharers = [sum(resource in used for used in placement) for resource in range(load.platform.resources)]
    return PATIENCE * max(sharers) * max(alone)


def test_a_transfer_in_tiny_gaps_outlasts_the_patience():
    """a1 repeats 0.0224 s of work and 18.9 s of I/O and interrupts a0, which needs 16.8 s: 750 such gaps, 14,146 s. The run
    stops after 10 · 2 · 18.9 s.
    """
    load = workload(
        ([("io", 42.52086473)], {"curve": {1: 2.536109}}), ([("work", 0.02235701), ("io", 3.7727654)], {"curve": {1: 0.2}})
    )
    result = simulate_placement(load, ((0,), (0,)), "interrupting", horizon=0.25)
    assert not result.valid
    assert result.duration == close(patience_of(load, ((0,), (0,))))
    assert result.duration == close(20.0 * (0.02235701 + 3.7727654 / 0.2))


@examples(53)
@given(placed_workloads(), horizons, intervals)
def test_equal_sharing_equals_the_slow_twin(placed, horizon, interval):
    check(placed, "best-effort", horizon, interval)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "best-effort"])
@examples(20)
@given(placed_workloads(), horizons, intervals)
def test_every_policy_equals_the_slow_twin(name, placed, horizon, interval):
    check(placed, name, horizon, interval)


@pytest.mark.parametrize("name", PERIODIC)
@examples(20)
@given(placed_workloads(), horizons, intervals, periods)
def test_periodic_decisions_equal_the_slow_twin(name, placed, horizon, interval, delta):
    check(placed, name, horizon, interval, delta)


def random_set(seed, count, resources, *, quarters=False) -> tuple[Workload, tuple[tuple[int, ...], ...]]:
    """Random applications and a random placement; phases take quarters of seconds alone, or else numbers without ties."""
    generator = np.random.default_rng(seed)

    def seconds(least, most):
        return int(generator.integers(4 * least, 4 * most)) / 4.0 if quarters else float(generator.uniform(least, most))

    members, placement = [], []
    for index in range(count):
        uses = generator.permutation(resources)[: int(generator.integers(1, resources + 1))].tolist()
        curve = {n: 2.0 ** int(generator.integers(-1, 3)) for n in range(1, resources + 1)}
        chain = []
        for _ in range(int(generator.integers(1, 4))):
            chain.append(("work", seconds(0.5, 5)))
            chain.append(("io", seconds(0.5, 4) * curve[len(uses)]))
        members.append(Application.of(f"a{index}", chain, curve=curve, lead=seconds(0, 2), nodes=index + 1))
        placement.append(tuple(uses))
    return Workload(Platform(1.0, resources=resources), tuple(members)), tuple(placement)


@pytest.mark.parametrize("seed", range(8))
def test_best_next_event_equals_the_slow_twin(seed):
    load, placement = random_set(seed, 3, 2)
    twin = NaiveRun(load, "best-next-event", placement=placement, repeat=True, horizon=4.0).run()
    assert not twin.doubtful
    assert_placed_twins(simulate_placement(load, placement, "best-next-event", horizon=4.0), twin)


# ------------------------------------------------------------------ the engine of one link


def on_one_link(load, policy, rounds):
    """The run of the chains, so many times over, on a link that gives one resource-second a second."""
    units = in_units(load, layout_of(load, [(0,)] * len(load.applications)))
    members = [replace(a, phases=Phases.of(list(a.phases) * rounds)) for a in units.applications]
    return Run(replace(units, applications=tuple(members)), policy)


def same_books(placed, link, load):
    for mine, other, application in zip(placed.applications, link.applications, load.applications, strict=True):
        assert mine.io_seconds == close(other.waiting + other.transferring)
        assert mine.transferred == close(other.transferred * bandwidth_with(application.curve.document(), 1))
        assert mine.operations == other.operations


def with_period(name, delta):
    return f"{name}:delta={delta}" if REGISTRY[name].periodic else name


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BY_WHAT_IS_LEFT])
@pytest.mark.parametrize("seed", range(6))
def test_one_resource_is_a_link(name, seed):
    load, placement = random_set(seed, 4, 1)
    policy = with_period(name, 0.9)
    result = simulate_placement(load, placement, policy, horizon=25.0)
    run = on_one_link(load, policy, rounds=2 + int(result.duration))  # no chain takes less than a second, alone or not
    while run.now < result.duration:
        assert run.advance(until=result.duration) == ()
    same_books(result, run.result(), load)
    assert result.events == run.result().events


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_one_resource_is_a_link_until_the_first_end(name, seed):
    load, placement = random_set(seed, 4, 1)
    policy = with_period(name, 0.9)
    result = simulate_placement(load, placement, policy, interval=FIRST_END)
    run = on_one_link(load, policy, rounds=1)
    assert len(run.advance()) == 1
    assert result.duration == close(run.now)
    same_books(result, run.result(), load)
    assert result.events == run.result().events


# ------------------------------------------------------------------ closed forms


@pytest.mark.parametrize("policy", NAMES)
def test_alone_it_pays_for_its_allocation_only(policy):
    # 2 s of work, then 6 bytes at b(2) = 3 bytes/s: 2 s; 5 times in 20 s. The best it could have is b(3) = 12 bytes/s.
    load = workload(([("work", 2.0), ("io", 6.0)], {"curve": {1: 1.5, 2: 3.0, 3: 12.0}, "nodes": 3}), resources=4, nodes=12)
    result = simulate_placement(load, [[3, 1]], policy, horizon=20.0)
    alone = result.applications[0]
    assert (alone.resources, alone.transferred, alone.io_seconds, alone.operations) == ((3, 1), 30.0, 10.0, 5)
    assert (alone.allocation_slowdown, alone.congestion_slowdown, alone.slowdown) == (4.0, 0.0, 4.0)
    assert (result.duration, result.valid, result.occupancy, result.spread) == (20.0, True, (0.0, 0.5, 0.0, 0.5), 0.5)
    # 3 of 12 nodes do not compute for half of the time.
    assert result.idle_time == 0.125


def test_two_in_lock_step():
    # Both work for 2 s and share the resource for 2 s.
    result = simulate_placement(workload(*[[("work", 2.0), ("io", 1.0)]] * 2), [[0], [0]], horizon=40.0)
    assert slowdowns(result) == [2.0, 2.0]
    assert (result.mean_slowdown, result.max_slowdown, result.mean_congestion_slowdown) == (2.0, 2.0, 1.0)
    assert (result.occupancy, result.idle_time) == ((0.5,), 0.5)
    assert [a.operations for a in result.applications] == [10, 10]
    # Postings and completions, those at 40 included.
    assert result.events == 40


def test_one_at_a_time_they_fall_out_of_step():
    # a0 transfers from 2 to 3, 5 to 6, 8 to 9, 11 to 12; a1 waits until 3, and after that is never in the way: from 3 to 4,
    # 6 to 7, 9 to 10, and posts at 12.
    result = simulate_placement(workload(*[[("work", 2.0), ("io", 1.0)]] * 2), [[0], [0]], "fifo", horizon=12.0)
    assert io_seconds(result) == [4.0, 4.0]
    assert slowdowns(result) == pytest.approx([1.0, 4.0 / 3.0], rel=1e-12)
    assert [a.operations for a in result.applications] == [4, 3]
    assert result.occupancy == pytest.approx((7.0 / 12.0,))


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("policy", ["best-effort", "fair-share"])
def test_identical_applications_that_only_transfer(count, policy):
    # Each has 1/k of the resource: 3 s alone take 3 k; b(2) = 5 b(1) would be best.
    load = workload(*[([("io", 6.0)], {"curve": {1: 2.0, 2: 10.0}})] * count, resources=2)
    result = simulate_placement(load, [[1]] * count, policy, horizon=100.0)
    assert result.mean_allocation_slowdown == 5.0
    assert [a.congestion_slowdown for a in result.applications] == pytest.approx([5.0 * (count - 1)] * count)
    assert result.occupancy == pytest.approx((0.0, 1.0))
    assert result.idle_time == pytest.approx(1.0)
    assert sum(a.transferred for a in result.applications) == pytest.approx(200.0)


def test_transfers_are_independent_and_the_last_one_counts():
    # 002 Fig. 4. a0 has 2 s to move on each of two resources, a1 has 1 s on the second. On the first a0 is alone and done at
    # 2; on the second both have a half until a1 is done at 2, then a0 the whole for the 1 s that it has left: done at 3.
    load = workload(([("io", 4.0), ("work", 7.0)], {"curve": {1: 1.0, 2: 2.0}}), [("io", 1.0), ("work", 8.0)], resources=2)
    result = simulate_placement(load, [[0, 1], [1]], horizon=10.0)
    assert io_seconds(result) == [3.0, 2.0]
    assert slowdowns(result) == [1.5, 2.0]
    assert result.occupancy == pytest.approx((0.2, 0.3))


def test_an_operation_under_way_counts_with_what_it_has_moved():
    # At 5 a0 has moved 1 s of its first operation and, since then, 4 s of 10 on the first resource and 2 s, a half, on the
    # second: (1 + 3) s of 2 bytes/s. a1 has moved 2 s since 1: its first operation and 1 s of the second.
    load = workload(
        ([("io", 2.0), ("io", 20.0)], {"curve": {1: 1.0, 2: 2.0}}), ([("io", 1.0), ("io", 50.0)], {"lead": 1.0}), resources=3
    )
    result = simulate_placement(load, [[0, 1], [1]], horizon=5.0)
    assert io_seconds(result) == [5.0, 4.0]
    assert [a.transferred for a in result.applications] == pytest.approx([8.0, 2.0])
    assert [a.operations for a in result.applications] == [1, 1]
    assert slowdowns(result) == [1.25, 2.0]


def test_the_interval_goes_on_to_the_end_of_the_slowest_first_operation():
    # a1 works for 8 s and then transfers for 1 s, shared with a0 all the time: done at 10.
    load = workload([("io", 2.0)], [("work", 8.0), ("io", 1.0), ("work", 90.0)])
    result = simulate_placement(load, [[0], [0]], horizon=3.0)
    assert (result.duration, result.valid, result.applications[1].operations) == (10.0, True, 1)
    assert io_seconds(result) == [10.0, 2.0]
    # Where the horizon is later, it ends there.
    assert simulate_placement(load, [[0], [0]], horizon=11.0).duration == 11.0
    # However late an application begins, it is waited for: 50 s to its release and 60 s of lead, then 1 s that it shares.
    late = workload([("io", 2.0)], ([("io", 1.0)], {"release": 50.0, "lead": 60.0}))
    assert simulate_placement(late, [[0], [0]], horizon=3.0).duration == 112.0


def test_the_interval_of_the_paper_ends_with_the_first_application():
    # a0 ends at 1 + 1 = 2; a1 has completed its first operation by then, a2 is still at work.
    chains = ([("work", 1.0), ("io", 1.0)], [("io", 0.5), ("work", 9.0)], [("work", 5.0), ("io", 1.0)])
    two = simulate_placement(workload(*chains[:2]), [[0], [0]], interval=FIRST_END)
    assert (two.duration, two.valid, io_seconds(two)) == (2.0, True, [1.0, 0.5])
    three = simulate_placement(workload(*chains), [[0], [0], [0]], interval=FIRST_END)
    assert (three.duration, three.valid) == (2.0, False)
    assert slowdowns(three) == [1.0, 1.0, None]
    assert three.mean_slowdown == 1.0
    assert three.to_dict()["applications"][2]["slowdown"] is None


def test_a_lead_is_worked_once():
    # 3 s of lead, then 1 s of work and 1 s of I/O, 3 times in 9 s.
    result = simulate_placement(workload(([("work", 1.0), ("io", 1.0)], {"lead": 3.0})), [[0]], horizon=9.0)
    assert (result.applications[0].operations, result.idle_time) == (3, pytest.approx(1.0 / 3.0))


def test_a_later_release_and_a_window():
    # Released at 4: until then the machine has nothing of it. 10 s from the begin: 1 s of work, 1 s of I/O, 3 times.
    late = ([("work", 1.0), ("io", 1.0)], {"release": 4.0})
    result = simulate_placement(workload(late, [("work", 10.0)]), [[0], [0]], horizon=10.0)
    assert io_seconds(result) == [3.0, 0.0]
    # In a window from 1 on, 10 s are until 11: 3 times, and the work of the fourth. An earlier release is a history.
    early = ([("work", 10.0)], {"release": -5.0, "progress": 2.0})
    result = simulate_placement(workload(late, early, window=(1.0, 5.0)), [[0], [0]], horizon=10.0)
    assert (result.duration, io_seconds(result)) == (10.0, [3.0, 0.0])


def test_a_history_enters_the_yield():
    # Both post at 0. a0 has done all of the 4 s since its release, a1 1 s of them: greedy-yield serves a1 first; fcfs serves
    # a0, which is listed first.
    chain = [("io", 1.0), ("work", 9.0)]
    load = workload((chain, {"progress": 4.0}), (chain, {"progress": 1.0}), window=(0.0, 1.0), release=-4.0)
    assert io_seconds(simulate_placement(load, [[0], [0]], "greedy-yield", horizon=9.0)) == [2.0, 1.0]
    assert io_seconds(simulate_placement(load, [[0], [0]], "fcfs", horizon=9.0)) == [1.0, 2.0]


@pytest.mark.parametrize(("policy", "seconds"), [("longest-remaining", [5.0, 3.0]), ("shortest-remaining", [6.0, 3.0])])
def test_what_is_left_is_of_this_round(policy, seconds):
    # At 20 a0 begins its fifth round of 5 s, and a1, just released, its first of 2 s. Whoever is served second is 1 s late;
    # they do not meet again before 25.
    load = workload([("io", 1.0), ("work", 4.0)], ([("io", 1.0), ("work", 1.0)], {"release": 20.0}))
    assert io_seconds(simulate_placement(load, [[0], [0]], policy, horizon=25.0)) == seconds


def test_transfer_time_is_the_mean_over_the_resources():
    # At 7 both ask for the second resource. a0 has transferred for 2 s, on two resources at once, a1 for 3 s: a0 is first.
    load = workload(
        ([("io", 2.0), ("work", 5.0), ("io", 1.0), ("work", 90.0)], {"curve": {1: 1.0, 2: 1.0}}),
        ([("io", 3.0), ("work", 2.0), ("io", 1.0), ("work", 90.0)], {"lead": 2.0}),
        resources=2,
    )
    assert io_seconds(simulate_placement(load, [[0, 1], [1]], "bandwidth-oriented", horizon=12.0)) == [3.0, 5.0]


def test_as_many_periodic_decisions_as_events():
    # 3 s of work and 1 s of I/O twice in 8 s: 4 events, so δ = 2 and 4 decisions, the last at 8.
    assert (
        simulate_placement(workload([("work", 3.0), ("io", 1.0)]), [[0]], "periodic-greedy-yield", horizon=8.0).events == 8
    )


@pytest.mark.parametrize("name", NAMES)
def test_without_any_transfer(name):
    result = simulate_placement(workload([("work", 1.0)], [("work", 2.0), ("io", 0.0)]), [[0], [0]], name, horizon=7.0)
    assert (result.duration, result.valid, result.events, result.occupancy) == (7.0, True, 0, (0.0,))
    assert slowdowns(result) == [None, None]
    assert (result.mean_slowdown, result.max_slowdown, result.mean_congestion_slowdown, result.idle_time) == (1, 1, 0, 0)


def test_only_those_that_transfer_count_in_the_means():
    result = simulate_placement(workload([("io", 1.0)], [("io", 1.0)], [("work", 1.0)]), [[0], [0], [0]], horizon=8.0)
    assert slowdowns(result) == [2.0, 2.0, None]
    assert (result.mean_slowdown, result.mean_allocation_slowdown, result.mean_congestion_slowdown) == (2.0, 1.0, 1.0)
    assert result.to_dict()["applications"][2]["congestion_slowdown"] is None


# ------------------------------------------------------------------ who waits for ever


def test_a_run_ends_although_somebody_waits_for_ever():
    # a0 asks again whenever it is done and is listed first. Equal sharing would have served a1's operation of 1 s within
    # 2 s.
    result = simulate_placement(workload([("io", 1.0)], [("io", 1.0)]), [[0], [0]], "lowest-id", horizon=5.0)
    assert (result.duration, result.valid, result.occupancy) == (2.0 * PATIENCE, False, (1.0,))
    assert slowdowns(result) == [1.0, math.inf]
    assert result.mean_congestion_slowdown == math.inf
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (document["mean_slowdown"], document["applications"][1]["slowdown"]) == (None, None)


@examples(20)
@given(st.lists(st.integers(1, 999), min_size=20, max_size=40), st.lists(st.integers(1, 999), min_size=6, max_size=12))
def test_what_ends_together_on_several_resources_is_one_event(volumes, dates):
    # a0 has both resources at all times, as it is listed first and asks again the moment that it is done. Were its
    # transfers to end one before the other, by the last bit of their dates, a1 would have the resource for an operation. The
    # others come to wait for the first resource, which makes its dates other sums than those of the second.
    both = {"curve": {1: 1.0, 2: 1.0}}
    load = workload(
        ([("io", volume / 700.0) for volume in volumes], both),
        ([("io", 5.0)], both),
        *[([("io", 1.0)], {"lead": date / 130.0}) for date in dates],
        resources=2,
    )
    result = simulate_placement(load, [[0, 1], [0, 1], *[[0]] * len(dates)], "lowest-id", interval=FIRST_END)
    assert result.applications[0].congestion_slowdown == pytest.approx(0.0, abs=1e-9)
    assert [application.transferred for application in result.applications[1:]] == [0.0] * (1 + len(dates))


# ------------------------------------------------------------------ laws


def bandwidths(load, placement):
    return [bandwidth_with(a.curve.document(), len(uses)) for a, uses in zip(load.applications, placement, strict=True)]


@examples(40)
@given(st.sampled_from(NAMES), placed_workloads(nice=False), st.sampled_from([3.7, 60.0]))
def test_what_every_run_obeys(name, placed, horizon):
    load, placement = placed
    result = simulate_placement(load, placement, name, horizon=horizon)
    assert result.duration >= horizon * (1.0 - 1e-12)
    assert all(0.0 <= part <= 1.0 + 1e-9 for part in (*result.occupancy, result.idle_time))
    for application, one, alone in zip(load.applications, result.applications, bandwidths(load, placement), strict=True):
        # Nobody is faster than alone, and nobody does I/O before it is released.
        assert one.transferred / alone <= one.io_seconds * (1.0 + 1e-9)
        assert one.io_seconds <= max(0.0, load.begin + result.duration - max(application.release, load.begin)) + 1e-9
        if one.slowdown is not None:
            assert one.congestion_slowdown >= 0.0
            assert one.slowdown >= one.allocation_slowdown >= 1.0
            if one.transferred > 0.0:
                best = max(bandwidth_with(application.curve.document(), n) for n in range(1, len(result.occupancy) + 1))
                assert one.slowdown == close(one.io_seconds / (one.transferred / best))
    nodes = np.array([application.nodes for application in load.applications])
    machine = load.platform.nodes or int(nodes.sum())
    assert result.idle_time * result.duration * machine == close(float(np.dot(nodes, io_seconds(result))))
    if name != "best-next-event":  # which may slow an operation down rather than let it complete
        # A resource that moves data gives all of its time.
        moved = [
            len(one.resources) * one.transferred / b for one, b in zip(result.applications, bandwidths(*placed), strict=True)
        ]
        assert sum(moved) == close(sum(result.occupancy) * result.duration)


@examples(33)
@given(placed_workloads(nice=False), horizons)
def test_who_does_no_io_works(placed, horizon):
    """What is not spent in I/O is the work up to the operation under way, or part of the work before the next one."""
    load, placement = placed
    load = replace(load, applications=tuple(replace(a, release=load.begin, progress=None) for a in load.applications))
    result = simulate_placement(load, placement, horizon=horizon)
    for application, one in zip(load.applications, result.applications, strict=True):
        worked = result.duration - one.io_seconds
        done, ahead, at = application.lead, application.lead, 0
        chain = list(application.phases)
        if not any(kind != "work" and amount > 0.0 for kind, amount in chain):
            assert worked == result.duration
            continue
        # Through the chain as often as it takes to the operation after those that are complete.
        operations = 0
        while True:
            kind, amount = chain[at % len(chain)]
            at += 1
            if kind == "work":
                ahead += amount
            elif amount > 0.0:
                operations += 1
                if operations > one.operations:
                    break
                done = ahead
        assert done - 1e-9 <= worked <= ahead + 1e-9


@pytest.mark.parametrize(
    ("name", "nice"), [("best-effort", False), ("set-10", False), ("fifo", True), ("stretch-oriented", True)]
)
@examples(20)
@given(st.data())
def test_the_numbers_of_the_resources_mean_nothing(name, nice, data):
    load, placement = data.draw(placed_workloads(nice=nice))
    order = data.draw(st.permutations(range(load.platform.resources)))
    straight = simulate_placement(load, placement, name, horizon=9.0)
    moved = simulate_placement(load, [[order[resource] for resource in uses] for uses in placement], name, horizon=9.0)
    assert [moved.occupancy[order[resource]] for resource in range(len(order))] == close(list(straight.occupancy))
    assert (moved.duration, moved.idle_time) == close((straight.duration, straight.idle_time))
    for mine, other in zip(moved.applications, straight.applications, strict=True):
        assert (mine.transferred, mine.io_seconds) == close((other.transferred, other.io_seconds))


def test_the_same_again_to_the_last_bit():
    load, placement = random_set(7, 12, 5)
    first, second = (simulate_placement(load, placement, "set-10", horizon=300.0).to_dict() for _ in range(2))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


# ------------------------------------------------------------------ the paper's way to simulate


def test_it_agrees_with_units_of_time_in_turn():
    """002 §V.B: applications that collide alternate, one unit of time each.

    Whoever alternates with k others has its turn up to k units late and ends that much earlier or later, and shifts the
    others: on 40 sets of 5 applications no sum of I/O times is off by more than 2 units for each operation of the set, and
    they are off by a fifth of a unit on average.
    """
    unit, errors = 1.0 / 128.0, []
    for seed in range(40):
        load, placement = random_set(seed, 5, 3, quarters=True)
        result = simulate_placement(load, placement, horizon=32.0)
        seconds, occupancy = stepped(load, placement, unit, round(result.duration / unit))
        operations = sum(application.operations for application in result.applications)
        for mine, other in zip(io_seconds(result), seconds, strict=True):
            assert mine == pytest.approx(other, abs=2.0 * unit * operations)
            errors.append(abs(mine - other) / (unit * operations))
        assert list(result.occupancy) == pytest.approx(occupancy, abs=2.0 * unit * operations / result.duration)
    assert np.mean(errors) < 0.2


# ------------------------------------------------------------------ wrong input

ONE = workload([("work", 1.0), ("io", 1.0)], [("io", 1.0)], resources=3)
WRONG = {
    "too few": ([[0]], r"^placement: 1 lists of resources; expected one for each of 2 applications$"),
    "too many": ([[0], [1], [2]], r"^placement: 3 lists of resources; expected one for each of 2 applications$"),
    "none": ([[0], []], r"^placement\[1\]: no I/O resource; expected at least 1$"),
    "twice": ([[2, 2], [0]], r"^placement\[0\]: \[2, 2\] are not different I/O resources; expected numbers from 0 to 2$"),
    "too large": ([[0], [3]], r"^placement\[1\]: \[3\] are not different I/O resources; expected numbers from 0 to 2$"),
    "negative": ([[-1], [0]], r"^placement\[0\]: \[-1\] are not different I/O resources; expected numbers from 0 to 2$"),
    "broken": (
        [[0], [1, 1.5]],
        r"^placement\[1\]: \[1, 1\.5\] are not different I/O resources; expected numbers from 0 to 2$",
    ),
    "words": ([["0"], [1]], r"^placement\[0\]: \['0'\] are not different I/O resources; expected numbers from 0 to 2$"),
}


@pytest.mark.parametrize(("placement", "text"), WRONG.values(), ids=WRONG)
def test_wrong_placements(placement, text):
    with pytest.raises(InputError, match=text):
        simulate_placement(ONE, placement)


def test_placements_of_other_kinds():
    rows = np.array([[0, 2], [1, 2]])
    assert simulate_placement(ONE, rows, horizon=5.0).applications[0].resources == (0, 2)


@pytest.mark.parametrize("name", [name for name, policy in REGISTRY.items() if policy.family == STATIC])
def test_static_orders_are_refused(name):
    with pytest.raises(InputError, match=f"^policy {name}: chains repeat without end; expected a policy without an order"):
        simulate_placement(ONE, [[0], [0]], name)


@pytest.mark.parametrize("horizon", [0.0, -1.0, math.inf, math.nan])
def test_wrong_horizons(horizon):
    with pytest.raises(InputError, match=r"^horizon: .* s are no horizon; expected a finite number of seconds above 0$"):
        simulate_placement(ONE, [[0], [0]], horizon=horizon)


def test_other_wrong_input():
    with pytest.raises(InputError, match=r"^interval: 'last' is unknown; expected steady or first-end$"):
        simulate_placement(ONE, [[0], [0]], interval="last")
    with pytest.raises(InputError, match=r"^policy fastest: unknown; expected one of fair-share, "):
        simulate_placement(ONE, [[0], [0]], "fastest")
    with pytest.raises(
        InputError, match=r"^platform: the key 'resources' is missing; expected the number of I/O resources$"
    ):
        simulate_placement(replace(ONE, platform=Platform(1.0)), [[0], [0]])
    plain = Workload(ONE.platform, (ONE.applications[0], replace(ONE.applications[1], curve=None)))
    with pytest.raises(InputError, match=r"^applications\[1\]: the key 'curve' is missing; expected \{\"1\": bytes/s"):
        simulate_placement(plain, [[0], [0]])


@pytest.mark.parametrize("interval", INTERVALS)
def test_a_chain_of_no_length_is_refused(interval):
    nothing = workload([("io", 1.0)], ([("work", 0.0), ("io", 0.0)], {"lead": 3.0}))
    with pytest.raises(InputError, match=r"^applications\[1\]: it neither works nor transfers; expected a chain that takes"):
        simulate_placement(nothing, [[0], [0]], interval=interval)


def test_a_chain_that_would_be_repeated_for_ever_is_refused():
    short = workload([("io", 1.0)], [("work", 1e-6), ("io", 1e-7)])
    with pytest.raises(
        InputError,
        match=r"^applications\[1\]: its chain of 1\.1e-06 s is too short to be repeated for 5000 s; expected a longer one$",
    ):
        simulate_placement(short, [[0], [0]])
    # The interval goes on to the end of a0's first operation.
    late = workload([("work", 1e12), ("io", 1.0)], [("io", 1.0)])
    with pytest.raises(InputError, match=r"^applications\[1\]: its chain of 1 s is too short to be repeated for 1e\+12 s"):
        simulate_placement(late, [[0], [0]])
    # To the first end there is nothing to repeat.
    assert simulate_placement(short, [[0], [0]], interval=FIRST_END).duration == pytest.approx(1.2e-6)
    assert simulate_placement(late, [[0], [0]], interval=FIRST_END).duration == 1.0


FAULTS = {
    "too much": ("rates[:] = 0.75", r"at 1\.0 s its rates on an I/O resource add up to 1\.5; expected at most 1\.0"),
    "above the cap": ("rates[:] = 1.25", r"at 0\.0 s it gave application 'a1' the rate 1\.25; expected 0 to its cap 1\.0"),
    "nothing written": (
        "pass",
        r"at 0\.0 s it gave application 'a1' no rate or one that is not a number; expected 0 to its cap 1\.0",
    ),
    "no bandwidth for anyone": (
        "rates[:] = 0.0",
        r"at 1\.0 s it gives no bandwidth to anyone and nothing else will happen; expected a rate above 0",
    ),
    "raising": (
        "rates[:] = 1.0\n    if len(rates) > 1:\n        raise ValueError('no\\nidea')",
        r"at 1\.0 s it failed with ValueError: no idea",
    ),
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's policy of this body."""
    monkeypatch.chdir(tmp_path)

    def write(body) -> str:
        (tmp_path / "mine.py").write_text(f"import numpy as np\ndef mine(view, rates):\n    {body}\n")
        return "./mine.py:mine"

    return write


@pytest.mark.parametrize(("body", "text"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_policy_is_stopped(own, body, text):
    # It is asked about resource 2 at 0, with a1 on it, and at 1 with both.
    with pytest.raises(PolicyFault, match=f"^policy ./mine.py:mine: {text}$"):
        simulate_placement(ONE, [[2], [2]], own(body))


def test_a_policy_that_gives_nothing_while_others_work(own):
    # a1 works on, so that something will always happen, and a0 waits. Equal sharing would have served it within 2 · 3 s.
    load = workload([("io", 1.0)], [("work", 3.0)])
    result = simulate_placement(load, [[0], [0]], own("rates[:] = 0.0"), horizon=2.0)
    assert (result.duration, result.valid, result.occupancy) == (2 * 3.0 * PATIENCE, False, (0.0,))


# ------------------------------------------------------------------ without the compiler

RESULTS = """
import json
from penstock.engine.scenarios import simulate_placement
from penstock.model import files
from penstock.numeric import compiled
load = files.read({path!r})
results = {{name: simulate_placement(load, {placement}, name, horizon={horizon}).to_dict() for name in {names}}}
print(json.dumps({{"jit": compiled.JIT, "results": results}}))
"""


@pytest.mark.long
def test_without_the_compiler_results_are_the_same(tmp_path):
    load, placement = random_set(5, 5, 3)
    files.write(load, tmp_path / "load.json")
    horizon = 40.0 if LONG else 8.0
    script = RESULTS.format(path=str(tmp_path / "load.json"), placement=placement, names=NAMES, horizon=horizon)
    plain, fast = (json.loads(python(script, NUMBA_DISABLE_JIT=switch)) for switch in ("1", "0"))
    assert (plain["jit"], fast["jit"]) == (False, True)
    for name in NAMES:
        mine, other = plain["results"][name], fast["results"][name]
        assert mine["events"] == other["events"]
        assert mine["occupancy"] == close(other["occupancy"])
        assert [a["io_seconds"] for a in mine["applications"]] == close([a["io_seconds"] for a in other["applications"]])
        assert [a["slowdown"] for a in mine["applications"]] == close([a["slowdown"] for a in other["applications"]])
