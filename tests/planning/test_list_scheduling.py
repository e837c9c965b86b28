"""Conservative backfilling: places against the slow twin, and by hand."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.planning.jobs import Machine
from penstock.planning.list_scheduling import reserve
from tests.naive.profiles import examples
from tests.planning.instances import SENSIBILITIES, job_tables, table
from tests.planning.naive import NaiveList


def places(jobs, machine, now, running, queue, limit=None, *, whole=True):
    """Begin and whether at once, for the queue; `running` maps jobs to their predicted ends."""
    ends = np.array(list(running.values()), np.float64)
    chosen = np.array(list(running), np.int64)
    most = 1.0 if limit is None else limit
    answer = reserve(jobs, now, machine.nodes, most, chosen, ends, np.array(queue, np.int64), whole=whole)
    return list(zip(answer.begin.tolist(), answer.at_once.tolist(), strict=True))


@examples(300)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.data())
def test_places_equal_those_of_the_twin(instance, sensibility, data):
    jobs, machine = instance
    now = 4.0
    order = data.draw(st.permutations(range(len(jobs))))
    twin = NaiveList(jobs, machine, sensibility, depth=len(jobs))
    # What runs is what fits together, started up to 4 s ago: some should have ended by now.
    began: dict[int, float] = {}
    for job in order[: data.draw(st.integers(0, len(jobs)))]:
        if twin.room(job, list(began)):
            began[job] = data.draw(st.sampled_from([0.0, 1.5, 4.0]))
    queue = [job for job in order if job not in began]
    expected = twin.plan(now, queue, began)
    ends = {job: max(begin + float(jobs.seconds[job]), now) for job, begin in began.items()}
    limit = sensibility
    found = places(jobs, machine, now, ends, queue, limit)
    assert [at_once for _, at_once in found] == [expected[job][1] for job in queue]
    np.testing.assert_allclose([begin for begin, _ in found], [expected[job][0] for job in queue], rtol=0, atol=1e-8)
    short = places(jobs, machine, now, ends, queue, limit, whole=False)
    assert [at_once for _, at_once in short] == [at_once for _, at_once in found]


def test_a_short_job_goes_first_and_a_long_one_does_not() -> None:
    # Job 0 runs on 2 of 4 nodes until 10; job 1 needs all 4 and has the place at 10. Job 2 ends at 10 and may go first,
    # job 3 would end at 11 and may not: it comes after job 1.
    jobs = table([(2, 10.0, 0.0), (4, 5.0, 0.0), (2, 10.0, 0.0), (2, 11.0, 0.0)])
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1, 2]) == [(10.0, False), (0.0, True)]
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1, 3]) == [(10.0, False), (15.0, False)]


def test_bandwidth_is_reserved_like_nodes() -> None:
    # Loads of 0.6, 0.6 and 0.4: job 1 waits for job 0, job 2 fits beside it.
    jobs = table([(1, 10.0, 6.0), (1, 10.0, 6.0), (1, 10.0, 4.0)])
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1, 2]) == [(10.0, False), (0.0, True)]
    # With a limit of 2 all fit, and without a limit too.
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1, 2], 2.0) == [(0.0, True), (0.0, True)]
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1, 2], math.inf) == [(0.0, True), (0.0, True)]


def test_a_job_above_the_limit_has_the_link_for_itself() -> None:
    # With a limit of 0.5, job 0 (0.8) runs only where no other job with I/O does; job 2 has none and may be beside it.
    jobs = table([(1, 10.0, 8.0), (1, 4.0, 1.0), (1, 20.0, 0.0)])
    assert places(jobs, Machine(4, 1.0), 0.0, {1: 4.0}, [0, 2], 0.5) == [(4.0, False), (0.0, True)]
    assert places(jobs, Machine(4, 1.0), 0.0, {2: 20.0}, [0, 1], 0.5) == [(0.0, True), (10.0, False)]


def test_behind_a_job_that_should_have_ended_is_a_place_that_cannot_be_taken_yet() -> None:
    jobs = table([(4, 10.0, 0.0), (2, 5.0, 0.0)])
    assert places(jobs, Machine(4, 1.0), 12.0, {0: 12.0}, [1]) == [(12.0, False)]


def test_without_the_whole_plan_it_stops_when_the_machine_is_full() -> None:
    jobs = table([(4, 10.0, 0.0), (2, 5.0, 0.0)])
    ((begin, at_once),) = places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1], whole=False)
    assert math.isnan(begin)
    assert not at_once


def test_a_job_of_no_length_needs_only_its_instant() -> None:
    jobs = table([(4, 10.0, 0.0), (2, 0.0, 0.0), (2, 0.0, 0.0), (4, 0.0, 0.0)])
    assert places(jobs, Machine(4, 1.0), 0.0, {0: 10.0}, [1]) == [(10.0, False)]
    # Nobody may hold its nodes in that instant: job 2 runs until 10, job 1 has the instant, and job 3 would end at 11.
    others = table([(3, 4.0, 0.0), (4, 0.0, 0.0), (1, 10.0, 0.0), (3, 1.0, 0.0), (3, 2.0, 0.0)])
    assert places(others, Machine(4, 1.0), 8.0, {2: 10.0}, [1, 3, 4]) == [(10.0, False), (8.0, True), (10.0, False)]
    # Two of them share the nodes of an instant, the third has the next, and whoever takes time comes after that.
    assert places(jobs, Machine(4, 1.0), 0.0, {}, [1, 2, 3, 0]) == [(0.0, True), (0.0, True), (0.0, False), (0.0, False)]
