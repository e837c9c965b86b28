"""Packs one after the other on I/O nodes, and backfilling into running packs."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import simulate
from penstock.model import Platform, Workload
from penstock.planning.batch import schedule
from penstock.planning.jobs import Jobs, Machine, PredictedWorldFactory
from penstock.planning.pack_scheduling import run_packs
from penstock.planning.packs import ORDERS, make_packs
from penstock.planning.strategy import BatchStrategy
from penstock.policies import REGISTRY
from tests.naive.profiles import examples
from tests.planning.instances import SENSIBILITIES, batch, batches, job_tables, table, work
from tests.planning.naive import naive_stream

BOTH = [("work", 4.0), ("io", 4.0)]


def test_by_hand_one_pack() -> None:
    # Both post at 4; a has the link 4 to 8, b 8 to 12. T = 8 and V = 8: the load is 1, just within S.
    found = schedule(batch((1, BOTH), (1, BOTH), nodes=2), policy="fcfs")
    assert found.outcome.end.tolist() == [8.0, 12.0]
    assert found.stretch.tolist() == [1.0, 1.5]
    assert (found.makespan, found.predicted_makespan, found.packs_run) == (12.0, 8.0, 1)
    assert (found.max_stretch, found.mean_stretch, found.pack_stretch) == (1.5, 1.25, 1.5)
    # Of 24 node-seconds 16 are work and transfers, b loses 4, and the node of a is idle for 4.
    assert (found.capacity, found.executing, found.delayed, found.idle) == (24.0, 16.0, 4.0, 4.0)
    assert found.utilization == 16 / 24
    assert found.bandwidth_used == 8 / 12
    assert found.io_load == 1.0
    assert found.events == 4


def test_by_hand_two_packs() -> None:
    # With S = 0.5 each has its own pack: nobody waits for the link, and the machine is half empty.
    found = schedule(batch((1, BOTH), (1, BOTH), nodes=2), BatchStrategy("pack", 0.5), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 8.0]
    assert found.outcome.end.tolist() == [8.0, 16.0]
    assert (found.packs_run, found.pack_stretch, found.delayed, found.idle) == (2, 1.0, 0.0, 16.0)
    assert found.outcome.pack.tolist() == [0, 1]
    # On two I/O nodes they run side by side, each with the whole bandwidth of its own.
    found = schedule(batch((1, BOTH), (1, BOTH), nodes=2), BatchStrategy("pack", 0.5), io_nodes=2, policy="fcfs")
    assert found.outcome.end.tolist() == [8.0, 8.0]
    assert found.outcome.io_node.tolist() == [0, 1]
    assert (found.capacity, found.idle, found.bandwidth_used) == (32.0, 16.0, 0.5)


def test_by_hand_packs_of_an_io_node_run_in_the_order_of_nodes_used() -> None:
    # Packs by nodes: b with 3, then a with 2; on one I/O node b runs first although a is longer.
    found = schedule(batch((2, work(9.0)), (3, work(5.0))), policy="fcfs")
    assert found.outcome.start.tolist() == [5.0, 0.0]
    assert [pack.planned.jobs for pack in found.packs] == [(1,), (0,)]


def test_by_hand_packs_are_made_of_jobs_that_are_released() -> None:
    # At 0 there are a and c, which are a pack. b, which would be one with a, comes at 3 and waits for them.
    found = schedule(batch((2, work(9.0)), (2, work(5.0), 3.0), (1, work(4.0))), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 9.0, 0.0]
    assert found.waiting.tolist() == [0.0, 6.0, 0.0]
    assert found.predicted_makespan == 14.0
    assert [pack.jobs for pack in found.plan] == [(0, 2), (1,)]


def test_by_hand_packs_are_made_again_when_jobs_have_come() -> None:
    # At 0: a with 3 nodes, and b, for which there is no room. c and d come, and at 5 d, of more nodes, waits for b and c,
    # which fill the machine, too, and came before. The machine is idle from 12 to 20, when e comes.
    rows = ((3, work(5.0)), (2, work(4.0)), (2, work(1.0), 2.0), (4, work(3.0), 5.0), (1, work(1.0), 20.0))
    found = schedule(batch(*rows), policy="fcfs")
    assert [pack.planned.jobs for pack in found.packs] == [(0,), (1, 2), (3,), (4,)]
    assert found.outcome.start.tolist() == [0.0, 5.0, 5.0, 9.0, 20.0]
    assert [pack.number for pack in found.packs] == [0, 1, 2, 3]


def test_by_hand_ties_go_by_the_place_in_the_file_and_not_in_the_pack() -> None:
    # Both post at 1: first goes 1 to 2, long 2 to 4 and works until 9, although long is the first of the pack by length.
    jobs = batch((1, [("work", 1.0), ("io", 1.0)]), (1, [("work", 1.0), ("io", 2.0), ("work", 5.0)]), nodes=2)
    for order in ("max", "random"):
        found = schedule(jobs, BatchStrategy("pack", order=order), policy="fifo")
        assert (found.packs_run, found.outcome.end.tolist()) == (1, [2.0, 9.0])


FOUR = ((3, work(10.0)), (2, work(6.0)), (1, work(4.0)), (1, work(3.0)))


def test_by_hand_backfilling() -> None:
    # Packs a + c and b + d. When c ends at 4 there is a node for d, which ends at 7, before a does.
    plain = schedule(batch(*FOUR), policy="fcfs")
    assert plain.outcome.start.tolist() == [0.0, 10.0, 0.0, 10.0]
    filled = schedule(batch(*FOUR), BatchStrategy(backfill=True), policy="fcfs")
    assert filled.outcome.start.tolist() == [0.0, 10.0, 0.0, 4.0]
    assert filled.outcome.pack.tolist() == [0, 1, 0, 0]
    assert [pack.joined for pack in filled.packs] == [(3,), ()]
    assert filled.backfilled == 1
    # A job of 7 s would end at 11: it may not.
    late = schedule(batch(*FOUR[:3], (1, work(7.0))), BatchStrategy(backfill=True), policy="fcfs")
    assert late.backfilled == 0


def test_by_hand_backfilling_keeps_the_load_of_the_pack() -> None:
    # As above, with I/O: a + c move 6 of 10 bytes at S = 1, so d, for which c makes room at 5, may bring 4 and not 5.
    heavy = (3, [("work", 4.0), ("io", 6.0)])
    for volume, joins in ((4.0, True), (5.0, False)):
        light = (1, [("work", 5.0 - volume), ("io", volume)])
        found = schedule(batch(heavy, (2, work(6.0)), (1, work(5.0)), light), BatchStrategy(backfill=True), policy="fcfs")
        assert found.outcome.backfilled.tolist() == [False, False, False, joins]


def test_by_hand_who_would_end_too_late_may_not_join() -> None:
    # a has the link 2 to 8, so c, which asks for it at 3, ends at 9 and not at 4. For d, of 4 s, that is too late.
    a, c = [("work", 2.0), ("io", 6.0), ("work", 2.0)], [("work", 3.0), ("io", 1.0)]
    found = schedule(batch((2, a), (2, c), (2, work(4.0))), BatchStrategy(backfill=True), policy="fcfs")
    assert [pack.jobs for pack in found.plan] == [(0, 1), (2,)]
    assert found.outcome.end.tolist() == [10.0, 9.0, 14.0]
    # By prediction it could have joined.
    assert found.predicted_makespan == 10.0


def test_by_hand_a_pack_can_be_emptied() -> None:
    # b and c could not start beside a, but b can when d has ended, and then its own pack is gone.
    found = schedule(batch((3, work(10.0)), (1, work(4.0)), (1, work(6.0))), BatchStrategy(backfill=True), policy="fcfs")
    assert [pack.jobs for pack in found.plan] == [(0, 2), (1,)]
    assert found.outcome.start.tolist() == [0.0, 6.0, 0.0]
    assert (found.packs_run, len(found.plan)) == (1, 2)
    assert found.makespan == 10.0


def test_by_hand_a_job_joins_when_it_is_released() -> None:
    # d is released at 5, into the node that c left at 4; without backfilling it would wait for a.
    found = schedule(batch(*FOUR[:3], (1, work(3.0), 5.0)), BatchStrategy(backfill=True), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 10.0, 0.0, 5.0]


def test_the_depth_is_how_many_may_join() -> None:
    # a leaves one node, which d has until 1. Then b and c could both join, one after the other.
    jobs = batch((3, work(10.0)), (1, work(1.0)), (1, work(0.75)), (1, work(0.5)))
    starts = {}
    for depth in (1, 2):
        found = schedule(jobs, BatchStrategy(backfill=True, depth=depth), policy="fcfs")
        starts[depth] = found.outcome.start.tolist()
    assert starts == {1: [0.0, 0.0, 1.0, 10.0], 2: [0.0, 0.0, 1.0, 1.75]}


@pytest.mark.parametrize("policy", ["fair-share", "fcfs", "greedy-yield", "set-10"])
@examples(20)
@given(batches(released=False))
def test_one_pack_on_one_io_node_is_a_plain_run(policy, workload):
    everything = sum(application.nodes for application in workload.applications)
    found = schedule(workload, BatchStrategy("first-fit", order="random"), nodes=everything, policy=policy, trace=True)
    plain = simulate(Workload(Platform(workload.platform.bandwidth), workload.applications), policy, trace=True)
    assert found.packs_run == 1
    assert found.outcome.end.tolist() == [application.end for application in plain.applications]
    assert found.makespan == plain.makespan
    assert found.events == plain.events
    assert [column.tolist() for column in found.trace] == [column.tolist() for column in plain.trace]
    # From all jobs at 0 on, and with the same answer for the loss: stretch is one over the yield.
    alone = found.jobs.seconds > 0.0
    np.testing.assert_allclose(found.stretch[alone], 1.0 / plain.yields[alone], rtol=1e-9)


@examples(40)
@given(batches(released=False), st.sampled_from(SENSIBILITIES))
def test_stretch_does_not_depend_on_the_number_of_io_nodes(workload, sensibility):
    one, two, five = (schedule(workload, BatchStrategy("pack", sensibility), io_nodes=r, policy="fcfs") for r in (1, 2, 5))
    # The durations are bit for bit the same; the dates they are taken from are not.
    np.testing.assert_allclose(two.stretch, one.stretch, rtol=1e-9)
    np.testing.assert_allclose(five.stretch, one.stretch, rtol=1e-9)
    assert one.makespan >= two.makespan - 1e-9
    assert one.events == two.events == five.events


@examples(40)
@given(batches(), st.sampled_from([1, 3]))
def test_a_sensibility_without_end_is_first_fit(workload, io_nodes):
    found = schedule(workload, BatchStrategy("pack", math.inf), io_nodes=io_nodes)
    first_fit = schedule(workload, BatchStrategy("first-fit"), io_nodes=io_nodes)
    assert found.outcome.start.tolist() == first_fit.outcome.start.tolist()
    assert found.outcome.end.tolist() == first_fit.outcome.end.tolist()


@examples(100)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.integers(1, 3), st.sampled_from([1, 100]))
def test_by_prediction_backfilling_delays_nobody(instance, sensibility, io_nodes, depth):
    jobs, one = at_once(instance)
    machine = Machine(one.nodes, one.bandwidth, io_nodes)
    plain = run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility)
    filled = run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility, depth=depth)
    assert (filled.start <= plain.start + 1e-8).all()
    assert (filled.end <= plain.end + 1e-8).all()
    assert not plain.backfilled.any()


@examples(60)
@given(job_tables(), st.sampled_from(SENSIBILITIES))
def test_a_batch_is_planned_once(instance, sensibility):
    jobs, machine = at_once(instance)
    packs = make_packs(jobs, machine, sensibility)
    outcome = run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility)
    assert outcome.plan == list(packs) == [pack.planned for pack in outcome.packs]
    assert outcome.end.max() == pytest.approx(sum(pack.seconds for pack in packs))


@examples(150)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.sampled_from(ORDERS))
def test_packs_of_a_stream_equal_those_of_the_twin(instance, sensibility, order):
    jobs, machine = instance
    found = run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility, order=order)
    assert found.start.tolist() == naive_stream(jobs, machine, sensibility, order)


def test_by_hand_an_idle_io_node_starts_a_pack_that_is_made_when_another_one_ends() -> None:
    # I/O nodes of one node each. a runs 1 to 3 and b 2 to 4. c, released at 3 and of 0 s, is a candidate of a's pack alone.
    # a holds the node until its pack is over, so c gets a pack of its own then.
    rows = [(1, 2.0, 0.0, 1.0, 1.0), (1, 2.0, 0.0, 1.0, 2.0), (1, 0.0, 0.0, 1.0, 3.0)]
    for io_nodes in (2, 3):
        assert predicted(table(rows), Machine(1, 1.0, io_nodes), depth=1).start.tolist() == [1.0, 2.0, 3.0]
    # a runs 0 to 3 and b 1 to 4. c, released at 2, could join a's pack: it waits for its end even beside an idle I/O node.
    rows = [(1, 3.0, 0.0, 1.0, 0.0), (1, 3.0, 0.0, 1.0, 1.0), (1, 0.0, 0.0, 1.0, 2.0)]
    for io_nodes in (2, 3):
        assert predicted(table(rows), Machine(1, 1.0, io_nodes), depth=1).start.tolist() == [0.0, 1.0, 3.0]


@examples(200)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.integers(1, 3), st.sampled_from([0, 1, 100]))
def test_every_job_starts_and_no_io_node_is_idle_while_packs_wait(instance, sensibility, io_nodes, depth):
    jobs, one = instance
    found = predicted(jobs, Machine(one.nodes, one.bandwidth, io_nodes), sensibility=sensibility, depth=depth)
    assert np.isfinite(found.start).all()
    assert (found.start >= jobs.release).all()
    assert sorted(job for pack in found.packs for job in (*pack.planned.jobs, *pack.joined)) == list(range(len(jobs)))
    by_node = [sorted((pack.start, pack.end) for pack in found.packs if pack.io_node == k) for k in range(io_nodes)]
    for packs in by_node:
        assert all(first[1] <= second[0] for first, second in pairwise(packs))
    for job, start in enumerate(found.start):
        for date in {float(jobs.release[job]), *(end for packs in by_node for _, end in packs)}:
            if not jobs.release[job] <= date < start:
                continue
            running = [any(begin <= date < end for begin, end in packs) for packs in by_node]
            # Only a candidate of a running pack may wait beside an idle I/O node.
            assert all(running) or (depth and any(running))


def predicted(jobs, machine, *, sensibility=1.0, depth=0):
    return run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility, depth=depth)


@examples(200)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.integers(1, 3), st.sampled_from([0, 1, 100]))
def test_no_job_is_used_before_it_is_released(instance, sensibility, io_nodes, depth):
    # Without the jobs that are released from some date on, all that starts before that date is the same.
    jobs, one = instance
    machine = Machine(one.nodes, one.bandwidth, io_nodes)
    whole = run_packs(jobs, machine, PredictedWorldFactory(jobs), sensibility=sensibility, depth=depth)
    for date in sorted(set(jobs.release.tolist()))[1:]:
        there = np.flatnonzero(jobs.release < date)
        known = replace(jobs, **{field.name: chosen(getattr(jobs, field.name), there) for field in fields(jobs)})
        part = run_packs(known, machine, PredictedWorldFactory(known), sensibility=sensibility, depth=depth)
        before = whole.start[there] < date
        assert part.start[before].tolist() == whole.start[there][before].tolist()
        assert not (part.start[~before] < date).any()


def chosen(column, numbers):
    return tuple(column[number] for number in numbers) if isinstance(column, tuple) else column[numbers]


def at_once(instance):
    """The same jobs, all released at 0, on the same machine."""
    jobs, machine = instance
    return replace(jobs, release=np.zeros(len(jobs))), machine


def test_packs_run_under_every_policy() -> None:
    jobs = [(1, BOTH * 2), (2, [("work", 1.0), ("io", 2.0)] * 3), (1, work(5.0)), (3, [("io", 7.0)])]
    for name in REGISTRY:
        found = schedule(batch(*jobs), policy=name)
        assert found.policy == name
        assert found.jobs.seconds.max() <= found.makespan < 60.0


def test_jobs_of_a_workload_know_their_own_bandwidth() -> None:
    workload = Workload(Platform(1.0, 0.25, 4), batch((1, BOTH), (4, BOTH)).applications)
    # a moves 4 bytes at 0.25: 4 + 16 s; b at 1: 4 + 4 s.
    assert Jobs.of(workload, Machine.of(workload)).seconds.tolist() == [20.0, 8.0]
    found = schedule(workload, policy="fcfs")
    assert found.outcome.end.tolist() == [28.0, 8.0]
