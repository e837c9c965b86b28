"""Jobs on a machine: small machines solved by hand, laws, and what is refused or counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.machine_run import MachineRun
from penstock.planning.operation import MachineSettings, operate


def job(name: str, phases: Sequence[Any], nodes: int = 1, **fields: Any) -> Application:
    return Application.of(name, phases, nodes=nodes, **fields)


def run(jobs: Sequence[Application], platform: Platform, **settings: Any) -> MachineRun:
    return operate(Workload(platform, tuple(jobs)), MachineSettings(**settings), check=True)


def dates(done: MachineRun) -> dict[str, tuple[float, float]]:
    jobs = done.jobs_run
    return {name: (start, end) for name, start, end in zip(jobs.names, jobs.start.tolist(), jobs.end.tolist(), strict=True)}


QUEUE = (
    # On 4 nodes; c and d come while b waits for a. d fits beside a, but is requested for longer than a still runs.
    job("a", [("work", 10.0)], 3, submit=0.0, requested=10.0),
    job("b", [("work", 5.0)], 4, submit=1.0, requested=5.0),
    job("c", [("work", 6.0)], 1, submit=2.0, requested=6.0),
    job("d", [("work", 3.0)], 1, submit=3.0, requested=20.0),
)


@pytest.mark.parametrize(
    ("scheduler", "starts"),
    [
        # Nobody overtakes b: it starts when a ends, at 10; c and d behind it at 15.
        ("fcfs", [0.0, 10.0, 15.0, 15.0]),
        # b is reserved for 10. c ends by 8, so it starts at once. d would take a node of b until 23.
        ("easy", [0.0, 10.0, 2.0, 15.0]),
        # As easy: behind b, the first place of d is at 15.
        ("conservative", [0.0, 10.0, 2.0, 15.0]),
    ],
)
def test_a_queue_by_hand(scheduler: str, starts: list[float]) -> None:
    done = run(QUEUE, Platform(1.0, nodes=4), scheduler=scheduler)
    assert done.jobs_run.start.tolist() == starts
    assert done.jobs_run.end.tolist() == [
        start + length for start, length in zip(starts, (10.0, 5.0, 6.0, 3.0), strict=True)
    ]
    assert done.backfilled == (0 if scheduler == "fcfs" else 1)


def test_easy_may_delay_a_job_behind_the_head_and_conservative_does_not() -> None:
    # 4 nodes. a has 2 until 10, so b (3) is reserved for 10, and c (4) for 20. d (1) lasts until 33: EASY starts it, because
    # b leaves a node, and c waits for it. With a reservation for c, the first place of d is behind c.
    jobs = [
        job("a", [("work", 10.0)], 2, submit=0.0, requested=10.0),
        job("b", [("work", 10.0)], 3, submit=1.0, requested=10.0),
        job("c", [("work", 10.0)], 4, submit=2.0, requested=10.0),
        job("d", [("work", 30.0)], 1, submit=3.0, requested=30.0),
    ]
    easy = dates(run(jobs, Platform(1.0, nodes=4)))
    assert easy == {"a": (0.0, 10.0), "b": (10.0, 20.0), "c": (33.0, 43.0), "d": (3.0, 33.0)}
    conservative = dates(run(jobs, Platform(1.0, nodes=4), scheduler="conservative"))
    assert conservative == {"a": (0.0, 10.0), "b": (10.0, 20.0), "c": (20.0, 30.0), "d": (30.0, 60.0)}


def test_node_hours_of_two_jobs_that_share_a_link() -> None:
    # Both work for 2 s and then share the link for 8 s; alone 4 s would do. Of 5 nodes one is idle.
    jobs = [job(name, [("work", 2.0), ("write", 4.0)], 2) for name in "ab"]
    done = run(jobs, Platform(1.0, nodes=5))
    assert dates(done) == {"a": (0.0, 10.0), "b": (0.0, 10.0)}
    hours = [done.computing, done.transferring, done.delayed, done.idle, done.node_hours]
    assert hours == pytest.approx([8 / 3600, 16 / 3600, 16 / 3600, 10 / 3600, 50 / 3600])
    assert (done.mean_slowdown, done.bandwidth_used) == pytest.approx((10.0 / 6.0, 0.8))
    exclusive = run(jobs, Platform(1.0, nodes=5), policy="fifo")
    assert dates(exclusive) == {"a": (0.0, 6.0), "b": (0.0, 10.0)}


def test_a_job_is_placed_where_the_running_jobs_load_least() -> None:
    # Two OSTs of 1 byte/s. a and b get one each. When c comes, a has gone: c gets OST 0. d finds b on OST 1, which writes
    # for 16 of 20 s, and c on OST 0, which writes for 1 of 10 s.
    jobs = [
        job("a", [("work", 2.0), ("write", 2.0)], submit=0.0),
        job("b", [("work", 4.0), ("write", 16.0)], submit=0.0),
        job("c", [("work", 9.0), ("write", 1.0)], submit=5.0),
        job("d", [("work", 1.0), ("write", 1.0)], submit=6.0),
    ]
    done = run(jobs, Platform(2.0, nodes=4, resources=2), allocation=1)
    assert done.jobs_run.resources == ((0,), (1,), (0,), (0,))
    # d writes from 7 to 8, c from 14 to 15: nobody is in anybody's way.
    assert dates(done) == {"a": (0.0, 4.0), "b": (0.0, 20.0), "c": (5.0, 15.0), "d": (6.0, 8.0)}
    in_turn = run(jobs, Platform(2.0, nodes=4, resources=2), allocation=1, placement="in-turn")
    assert in_turn.jobs_run.resources == ((0,), (1,), (0,), (1,))
    assert dates(in_turn)["d"] == (6.0, 9.0)  # d shares OST 1 with b and takes 2 s for its byte


def test_list_and_two_group_wait_for_the_load() -> None:
    # The link carries 1; a and b write half of their time alone, c never. The limit is 0.8: b waits for a, c does not.
    half = [("work", 5.0), ("write", 5.0)]
    jobs = [job("a", half), job("b", half), job("c", [("work", 3.0)])]
    machine = Platform(1.0, nodes=4)
    assert run(jobs, machine).jobs_run.start.tolist() == [0.0, 0.0, 0.0]
    assert run(jobs, machine, scheduler="list", limit=0.8).jobs_run.start.tolist() == [0.0, 10.0, 10.0]
    assert run(jobs, machine, scheduler="list-backfill", limit=0.8).jobs_run.start.tolist() == [0.0, 10.0, 0.0]
    # On a machine of 4 nodes a job of 1 node is heavy from a load of 0.2 on; of 0.1 it is light and never waits.
    light = job("d", [("write", 1.0), ("work", 9.0)])
    assert run([*jobs, light], machine, scheduler="two-group", limit=0.8).jobs_run.start.tolist() == [0.0, 10.0, 0.0, 0.0]


def test_a_job_that_takes_longer_than_requested_runs_to_its_end_and_is_counted() -> None:
    jobs = [job("a", [("work", 10.0)], 2, requested=4.0), job("b", [("work", 1.0)], 2, submit=1.0, requested=1.0)]
    done = run(jobs, Platform(1.0, nodes=2))
    assert dates(done) == {"a": (0.0, 10.0), "b": (10.0, 11.0)}
    assert done.ran_over == 1
    assert any(note.startswith("1 of 2 jobs take longer than requested") for note in done.notes)


def test_recorded_starts_are_replayed_as_far_as_there_are_nodes() -> None:
    jobs = [
        job("a", [("work", 10.0)], 2, submit=0.0, release=5.0),
        job("b", [("work", 10.0)], 2, submit=0.0, release=1.0),
        job("c", [("work", 10.0)], 1, submit=0.0, release=7.0),
    ]
    done = run(jobs, Platform(1.0, nodes=3), scheduler="recorded")
    assert done.jobs_run.start.tolist() == [11.0, 1.0, 7.0]


def test_what_cannot_be_operated_is_refused() -> None:
    jobs = [job("a", [("work", 10.0)], 2)]
    with pytest.raises(InputError, match=r"platform\.nodes"):
        run(jobs, Platform(1.0))
    with pytest.raises(InputError, match="2 nodes on a platform of 1"):
        run(jobs, Platform(1.0, nodes=1))
    with pytest.raises(InputError, match="did you mean easy"):
        run(jobs, Platform(1.0, nodes=2), scheduler="eazy")
    with pytest.raises(InputError, match="placement"):
        run(jobs, Platform(1.0, nodes=2), placement="anywhere")
    with pytest.raises(InputError, match="starts none of 1 jobs"):
        run(jobs, Platform(1.0, nodes=2), scheduler=lambda moment: [])
    with pytest.raises(InputError, match=r"starts jobs of 4 nodes where 2 are free"):
        run([*jobs, *(dataclasses.replace(one, name="b") for one in jobs)], Platform(1.0, nodes=2), scheduler=_all)


def _all(moment: Any) -> list[int]:
    queue: list[int] = moment.queue.tolist()
    return queue


def test_the_accounts_add_up_and_nobody_starts_before_its_submission() -> None:
    random = np.random.default_rng(1)
    jobs = [
        job(
            f"j{index}",
            [("work", random.uniform(0, 50)), ("write", random.uniform(0, 90)), ("read", random.uniform(0, 9))],
            int(random.integers(1, 9)),
            submit=float(random.uniform(0, 300)),
            requested=float(random.uniform(20, 200)),
        )
        for index in range(60)
    ]
    for resources in (None, 5):
        platform = Platform(10.0, node_bandwidth=0.8, nodes=16, resources=resources)
        for scheduler in ("easy", "conservative", "fcfs", "list", "list-backfill", "two-group"):
            done = run(jobs, platform, scheduler=scheduler, policy="due-yield")
            used = done.computing + done.transferring + done.delayed + done.idle
            assert used == pytest.approx(done.node_hours)
            assert (done.jobs_run.wait >= 0.0).all()
            line = done.over_time()
            assert (line.nodes <= 1.0 + 1e-9).all()
            assert (line.bandwidth <= 1.0 + 1e-9).all()
            assert (line.executed <= line.nodes + 1e-9).all()
            assert float(line.nodes.mean()) * done.node_hours == pytest.approx(done.node_hours - done.idle)
            assert float(line.executed.mean()) == pytest.approx(done.utilization)
            assert float(line.bandwidth.mean()) == pytest.approx(done.bandwidth_used)
