"""Jobs that should not run together: by hand, and against runs made one by one."""

import dataclasses

import pytest

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.together import jobs_together

CHAIN = [("work", 1800.0), ("io", 1800.0)]


def workload(*rows, nodes: int = 9) -> Workload:
    """Jobs from rows of nodes and phases, named a, b, …, on a link of 1 byte/s."""
    jobs = tuple(Application.of("abcdef"[k], phases, nodes=count) for k, (count, phases) in enumerate(rows))
    return Workload(Platform(1.0, nodes=nodes), jobs)


def test_a_pair_by_hand() -> None:
    # Both transfer from half an hour on, at half the speed each: half an hour more, on 1 and on 3 nodes. c does no I/O.
    found = jobs_together(workload((1, CHAIN), (3, CHAIN), (2, [("work", 3600.0)])), most=3, starts=1)
    assert found.matrix() == {"a": {"b": 2.0, "c": 0.0}, "b": {"a": 2.0, "c": 0.0}, "c": {"a": 0.0, "b": 0.0}}
    assert (found.pairs[0].first, found.pairs[0].second) == (0, 1)
    # Without a or b nobody is delayed; without c nothing changes.
    assert found.left_out == ((0, 2.0), (1, 2.0), (2, 0.0))
    assert found.lost == 2.0


def test_starts_are_random_and_have_an_interval() -> None:
    found = jobs_together(workload((1, CHAIN), (1, CHAIN)), starts=6)
    (pair,) = found.pairs
    # Half an hour each if both start at one time, less if the second starts later, nothing half an iteration later.
    assert 0.0 < pair.lost.mean < 1.0
    assert pair.lost.half > 0.0
    assert jobs_together(workload((1, CHAIN), (1, CHAIN)), starts=6).pairs == found.pairs
    assert jobs_together(workload((1, CHAIN), (1, CHAIN)), starts=6, seed=1).pairs != found.pairs


def test_only_jobs_with_most_io_are_looked_at() -> None:
    short = [("work", 3400.0), ("io", 200.0)]
    jobs = workload((1, short), (1, CHAIN), (2, CHAIN), (1, short))
    found = jobs_together(jobs, most=2, starts=1)
    assert [job for job, _ in found.left_out] == [2, 1] or [job for job, _ in found.left_out] == [1, 2]
    whole = simulate(jobs, "fair-share").lost_node_hours
    assert found.lost == pytest.approx(whole)
    for job, cost in found.left_out:
        others = tuple(one for k, one in enumerate(jobs.applications) if k != job)
        assert cost == pytest.approx(whole - simulate(Workload(jobs.platform, others), "fair-share").lost_node_hours)


def test_jobs_start_when_there_are_nodes() -> None:
    # On 3 nodes a, b and c run one after the other, and nobody meets anybody.
    found = jobs_together(workload((2, CHAIN), (2, CHAIN), (2, CHAIN), nodes=3), starts=1)
    assert found.lost == 0.0
    assert {cost for _, cost in found.left_out} == {0.0}
    assert found.pairs[0].lost.mean == 2.0


def test_dates_of_submission_do_not_part_a_pair() -> None:
    # Submitted hours apart: nobody meets in the run with all. Alone on the machine both start when the pair says.
    jobs = workload((1, CHAIN), (3, CHAIN))
    later = tuple(dataclasses.replace(one, submit=36_000.0 * k) for k, one in enumerate(jobs.applications))
    found = jobs_together(Workload(jobs.platform, later), starts=1)
    assert found.lost == 0.0
    assert found.pairs == jobs_together(jobs, starts=1).pairs
    assert found.pairs[0].lost.mean == 2.0


def test_too_few_are_refused() -> None:
    with pytest.raises(InputError, match="together: 1 jobs and 5 starts; expected 2 jobs or more and 1 start or more"):
        jobs_together(workload((1, CHAIN), (1, CHAIN)), most=1)
    with pytest.raises(InputError, match="nodes: the platform of the workload has no number of nodes"):
        jobs_together(Workload(Platform(1.0), workload((1, CHAIN), (1, CHAIN)).applications))
