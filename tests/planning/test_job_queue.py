"""List scheduling with a strict constraint on bandwidth: by hand, against its slow twin, and the law of its backfilling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Run
from penstock.planning.batch import EngineWorldFactory, schedule
from penstock.planning.job_queue import list_queue, run_list
from penstock.planning.jobs import Jobs, Machine, PredictedWorld, PredictedWorldFactory
from penstock.planning.list_scheduling import reserve
from penstock.planning.strategy import BatchStrategy
from penstock.policies import find
from tests.naive.profiles import examples
from tests.planning.instances import SENSIBILITIES, batch, batches, job_tables, table, work
from tests.planning.naive import NaiveList

depths = st.sampled_from([0, 1, 2, 100])


def predicted(jobs, machine, sensibility, depth=0):
    return run_list(list_queue(jobs, machine, sensibility=sensibility, depth=depth), jobs, PredictedWorldFactory(jobs))


def rows(outcome):
    columns = (outcome.start, outcome.end, outcome.backfilled)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def assert_same(found, expected):
    assert [row[2] for row in found] == [row[2] for row in expected]
    np.testing.assert_allclose([row[:2] for row in found], [row[:2] for row in expected], rtol=0, atol=1e-8)


@examples(150)
@given(job_tables(), st.sampled_from(SENSIBILITIES), depths)
def test_the_predicted_schedule_equals_that_of_the_twin(instance, sensibility, depth):
    jobs, machine = instance
    found = predicted(jobs, machine, sensibility, depth)
    world = PredictedWorld(jobs.seconds.tolist(), range(len(jobs)), jobs.begin)
    assert_same(rows(found), NaiveList(jobs, machine, sensibility, depth).run(world))


@examples(100)
@given(batches(nice=True), st.sampled_from(SENSIBILITIES), depths)
def test_the_schedule_in_the_engine_equals_that_of_the_twin(workload, sensibility, depth):
    # All numbers are quarters and transfers exclusive, so that all dates are exact.
    machine = Machine.of(workload)
    jobs = Jobs.of(workload, machine)
    worlds = EngineWorldFactory(workload, jobs, machine, find("fcfs"), trace=False)
    found = run_list(list_queue(jobs, machine, sensibility=sensibility, depth=depth), jobs, worlds)
    world = Run(workload, "fcfs", held=range(len(jobs)))
    assert_same(rows(found), NaiveList(jobs, machine, sensibility, depth).run(world))


class Witness(PredictedWorldFactory):
    """Compares the plan at each stop with the one before."""

    def __init__(self, jobs, queue, sensibility, depth) -> None:
        super().__init__(jobs)
        self.jobs, self.queue, self.sensibility, self.depth = jobs, queue, sensibility, depth
        self.promised: dict[int, float] = {}

    def open(self, *arguments):
        self.world = super().open(*arguments)
        return self.world

    def stopped(self, since, ended, last):
        seen = self.queue.moment(self.world.now)
        head = seen.queue[: self.depth]
        plan = reserve(self.jobs, seen.now, seen.machine, self.sensibility, seen.running, seen.ends, head)
        for job, begin in zip(head.tolist(), plan.begin.tolist(), strict=True):
            assert begin <= self.promised.get(job, math.inf) + 1e-9
            self.promised[job] = begin


@examples(150)
@given(job_tables(most=12), st.sampled_from(SENSIBILITIES), st.sampled_from([1, 3, 100]))
def test_backfilling_never_delays_whoever_has_a_place(instance, sensibility, depth):
    jobs, machine = instance
    queue = list_queue(jobs, machine, sensibility=sensibility, depth=depth)
    witness = Witness(jobs, queue, sensibility, depth)
    outcome = run_list(queue, jobs, witness)
    for job, begin in witness.promised.items():
        assert outcome.start[job] <= begin + 1e-9


@examples(60)
@given(job_tables(), st.sampled_from(SENSIBILITIES))
def test_a_depth_of_one_is_no_backfilling(instance, sensibility):
    jobs, machine = instance
    plain, one = (predicted(jobs, machine, sensibility, depth) for depth in (0, 1))
    assert not plain.backfilled.any()
    assert not one.backfilled.any()


THREE = ((2, work(10.0)), (4, work(5.0)), (2, work(10.0)))


@pytest.mark.parametrize(("backfill", "starts"), [(False, [0.0, 10.0, 15.0]), (True, [0.0, 10.0, 0.0])])
def test_by_hand_nodes(backfill: bool, starts: list[float]) -> None:
    # b needs all nodes and waits for a. In order, c waits for b; beside a it would end at 10 and delay nobody.
    found = schedule(batch(*THREE), BatchStrategy("list", backfill=backfill), policy="fcfs")
    assert found.outcome.start.tolist() == starts
    assert found.outcome.backfilled.tolist() == [False, False, backfill]
    assert found.backfilled == backfill
    assert found.makespan == found.predicted_makespan == starts[2] + 10.0 if not backfill else 15.0


def test_by_hand_a_job_that_would_delay_the_first_waits() -> None:
    found = schedule(batch(*THREE[:2], (2, work(11.0))), BatchStrategy("list", backfill=True), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 10.0, 15.0]


def test_by_hand_bandwidth() -> None:
    # Averages: a 4/8, b 6/8, c 2/8. a and b together have 1.25, so b waits until a ends; c fits beside either, after b.
    jobs = [(1, [("work", 8.0 - volume), ("io", volume)]) for volume in (4.0, 6.0, 2.0)]
    found = schedule(batch(*jobs), BatchStrategy("list"), policy="fcfs")
    # From 8 on b (work 2, I/O 6) and c (work 6, I/O 2): c posts at 14, when the link is still b's, until 16, and ends at 18.
    assert found.outcome.start.tolist() == [0.0, 8.0, 8.0]
    assert found.outcome.end.tolist() == [8.0, 16.0, 18.0]
    assert found.stretch.tolist() == [1.0, 1.0, 1.25]
    # Backfilled, c starts beside a: 0.75 at once, and by prediction both have ended when b starts.
    found = schedule(batch(*jobs), BatchStrategy("list", backfill=True), policy="fcfs")
    # a posts at 4 and c at 6; a has the link until 8, c until 10. b waits for a only: its 0.75 and c's 0.25 are 1.
    assert found.outcome.start.tolist() == [0.0, 8.0, 0.0]
    # b posts at 10 when the link has just become free.
    assert found.outcome.end.tolist() == [8.0, 16.0, 10.0]
    # Without a limit all start at once.
    found = schedule(batch(*jobs), BatchStrategy("list", math.inf), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 0.0, 0.0]


def test_by_hand_releases() -> None:
    # a runs 0 to 10 on all nodes. b comes at 2, c at 1: c is served first, at 10, and b beside it. d finds all idle.
    jobs = batch((4, work(10.0)), (2, work(3.0), 2.0), (2, work(4.0), 1.0), (1, work(1.0), 50.0))
    for backfill in (False, True):
        found = schedule(jobs, BatchStrategy("list", backfill=backfill), policy="fcfs")
        assert found.outcome.start.tolist() == [0.0, 10.0, 10.0, 50.0]
        assert found.waiting.tolist() == [0.0, 8.0, 9.0, 0.0]
        assert (found.max_waiting, found.mean_waiting) == (9.0, 4.25)


def test_by_hand_a_running_job_that_is_late_keeps_its_nodes() -> None:
    # a and b want the link from 4 on, b has it 8 to 12 and is late by 4 s. c needs both nodes: it starts at 12, not at 8.
    both = [("work", 4.0), ("io", 4.0)]
    jobs = batch((1, both), (1, both), (2, work(1.0)), (1, work(1.0)), nodes=2)
    found = schedule(jobs, BatchStrategy("list", backfill=True), policy="fcfs")
    # At 8, when a ends, b should end at once, so that c has the place at 8 and d, behind it, may not start.
    assert found.outcome.start.tolist() == [0.0, 0.0, 12.0, 13.0]
    assert found.predicted_makespan == 10.0


def test_the_depth_is_how_far_it_looks() -> None:
    # a holds half of the nodes, b needs all; c needs all too and d, third in the queue, would fit beside a.
    jobs = batch((2, work(10.0)), (4, work(1.0)), (4, work(1.0)), (2, work(5.0)))
    starts = [schedule(jobs, BatchStrategy("list", backfill=True, depth=depth)).outcome.start[3] for depth in (2, 3)]
    assert starts == [12.0, 0.0]


def test_a_job_that_takes_no_time() -> None:
    found = schedule(batch((4, [("work", 0.0)]), (4, work(2.0)), (1, [("io", 0.0)])), BatchStrategy("list"), policy="fcfs")
    assert found.outcome.start.tolist() == [0.0, 0.0, 2.0]
    assert found.outcome.end.tolist() == [0.0, 2.0, 2.0]
    assert found.stretch.tolist() == [1.0, 1.0, 1.0]


def test_nothing_waits_in_a_table_of_one() -> None:
    jobs = table([(1, 3.0, 1.0)])
    assert rows(predicted(jobs, Machine(1, 1.0), 1.0, 5)) == [(0.0, 3.0, False)]
