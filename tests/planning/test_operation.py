"""Jobs on a machine: small machines solved by hand, laws, and what is refused or counted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.batch import schedule
from penstock.planning.machine_run import MachineRun
from penstock.planning.operation import MachineSettings, operate
from penstock.planning.strategy import BatchStrategy
from tests.naive.compare import close
from tests.naive.profiles import examples
from tests.naive.whole_machine import NaiveMachine
from tests.planning.instances import batches


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


def test_a_job_without_a_requested_time_exceeds_none() -> None:
    # Both are delayed by 4 s; a was requested for its time alone, of b nothing is known.
    chain = [("work", 2.0), ("write", 4.0)]
    done = run([job("a", chain, requested=6.0), job("b", chain)], Platform(1.0, nodes=2))
    assert dates(done) == {"a": (0.0, 10.0), "b": (0.0, 10.0)}
    assert done.ran_over == 1
    assert "1 of 2 jobs had their nodes for longer than requested, to their ends" in done.notes


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


@st.composite
def machines(draw: Any) -> Workload:
    """A small machine, and jobs with submissions that are rarely at the end of another job."""
    nodes = draw(st.integers(2, 6))
    resources = draw(st.sampled_from([None, None, 2, 3]))
    node_bandwidth = draw(st.sampled_from([None, 0.5, 1.0, 3.0]))
    jobs = []
    for index in range(draw(st.integers(2, 9))):
        chain: list[tuple[str, float]] = []
        for _ in range(draw(st.integers(1, 3))):
            chain.append(("work", draw(st.integers(0, 12)) / 2))
            chain.append((draw(st.sampled_from(["io", "read", "write"])), float(draw(st.integers(0, 9)))))
        # A job that takes no time is planned with some: what comes first at one instant is defined elsewhere.
        requested = draw(st.sampled_from([None, 2.0, 5.0, 10.0, 20.0, 40.0])) if any(amount for _, amount in chain) else 1.0
        jobs.append(
            job(
                f"j{index}",
                chain,
                draw(st.integers(1, nodes)),
                submit=draw(st.integers(0, 40)) + (index + 1) / 128,
                requested=requested,
                lead=draw(st.sampled_from([0.0, 0.0, 1.5])),
            )
        )
    return Workload(Platform(3.0, node_bandwidth=node_bandwidth, nodes=nodes, resources=resources), tuple(jobs))


@examples(400)
@given(machines(), st.sampled_from(["fcfs", "easy", "conservative"]), st.sampled_from(["best-effort", "fair-share", "fifo"]))
def test_the_slow_twin_agrees(workload: Workload, scheduler: str, policy: str) -> None:
    twin = NaiveMachine(workload, scheduler, policy)
    jobs = twin.run()
    assume(not twin.doubtful)
    done = operate(workload, MachineSettings(scheduler=scheduler, policy=policy), check=True)
    ran = done.jobs_run
    event(f"{done.backfilled} backfilled")
    assert ran.start.tolist() == [close(float(one.start)) for one in jobs if one.start is not None]
    assert ran.end.tolist() == [close(float(one.end)) for one in jobs if one.end is not None]
    if ran.resources is not None:
        assert ran.resources == tuple(one.resources for one in jobs)
    volumes = [sum(float(amount) for kind, amount in one.phases if kind != "work") for one in jobs]
    assert ran.volume.tolist() == [close(volume) for volume in volumes]
    assert (ran.worked + ran.transferring).tolist() == [close(float(one.alone)) for one in jobs]
    nodes = workload.platform.nodes or 0
    for start in ran.start.tolist():
        assert int(ran.nodes[(ran.start <= start) & (start < ran.end)].sum()) <= nodes


@examples(100)
@given(machines(), st.sampled_from(["max", "random"]), st.booleans())
def test_packs_of_jobs_submitted_at_once_are_those_of_pack(workload: Workload, order: str, backfill: bool) -> None:
    """With requested times that are the times alone, and one link."""
    jobs = [dataclasses.replace(one, submit=0.0, release=0.0, requested=None) for one in workload.applications]
    batch = Workload(dataclasses.replace(workload.platform, resources=None), tuple(jobs))
    packed = schedule(batch, BatchStrategy("pack", order=order, backfill=backfill), policy="fair-share")
    name = "packs-backfill" if backfill else "packs"
    done = operate(batch, MachineSettings(scheduler=name, order=order), check=True)
    assert done.jobs_run.start.tolist() == [close(start) for start in packed.outcome.start.tolist()]
    assert done.jobs_run.end.tolist() == [close(end) for end in packed.outcome.end.tolist()]


@examples(60)
@given(batches(), st.sampled_from(["fair-share", "due-yield", "fifo"]), st.booleans(), st.sampled_from([0.5, 1.0, math.inf]))
def test_a_list_of_jobs_that_come_is_that_of_pack(workload: Workload, policy: str, backfill: bool, limit: float) -> None:
    """`penstock pack --mapping list` and the schedulers list and list-backfill are the same run of one link."""
    listed = schedule(workload, BatchStrategy("list", limit, backfill=backfill), policy=policy).outcome
    name = "list-backfill" if backfill else "list"
    done = operate(workload, MachineSettings(scheduler=name, policy=policy, limit=limit), check=True).jobs_run
    assert done.start.tolist() == [close(start) for start in listed.start.tolist()]
    assert done.end.tolist() == [close(end) for end in listed.end.tolist()]
    assert done.backfilled.tolist() == listed.backfilled.tolist()


def test_packs_are_made_again_only_when_jobs_have_come() -> None:
    # On 4 nodes: {a, b}, then {c, d} with all nodes, then {e}. d joins the first pack when a ends. {c} is still before {e},
    # which has more nodes now; made again, {e} would be first.
    jobs = [
        job("a", [("work", 4.0)], 1, submit=0.0),
        job("b", [("work", 20.0)], 3, submit=0.0),
        job("c", [("work", 14.0)], 3, submit=0.0),
        job("e", [("work", 15.0)], 4, submit=0.0),
        job("d", [("work", 8.0)], 1, submit=0.0),
    ]
    assert run(jobs, Platform(1.0, nodes=4), scheduler="packs-backfill", order="random").jobs_run.start.tolist() == [
        *(0.0, 0.0, 20.0, 34.0, 4.0)
    ]
    late = [*jobs, job("f", [("work", 30.0)], 1, submit=10.0)]  # comes while the first pack runs: {e}, then {c, f}
    assert run(late, Platform(1.0, nodes=4), scheduler="packs-backfill", order="random").jobs_run.start.tolist() == [
        *(0.0, 0.0, 20.0, 50.0, 4.0, 20.0)
    ]


def test_times_that_differ_by_rounding_are_equal() -> None:
    # Each takes 11.7 s, and in doubles every second one 2e-15 s more. All need all nodes: the order is that of the file.
    chains = (
        [("work", 5.5), ("io", 3.0), ("work", 1.5), ("io", 1.0), ("work", 1.5), ("io", 4.0)],
        [("work", 4.0), ("io", 7.0), ("work", 2.5), ("io", 6.0)],
    )
    jobs = [job(f"j{index}", chains[index % 2], 5) for index in range(4)]
    platform = Platform(3.0, node_bandwidth=0.5, nodes=5)
    starts = run(jobs, platform, scheduler="packs").jobs_run.start.tolist()
    assert starts == sorted(starts)
    packed = schedule(Workload(platform, tuple(jobs)), BatchStrategy("pack"), policy="fair-share").outcome.start.tolist()
    assert packed == sorted(packed)


def test_packs_take_no_job_before_it_is_submitted() -> None:
    # b comes while the pack of a runs: it is in the next one, although there is a node for it, unless it may join.
    jobs = [job("a", [("work", 10.0)], 1, submit=0.0), job("b", [("work", 4.0)], 1, submit=2.0)]
    assert run(jobs, Platform(1.0, nodes=2), scheduler="packs").jobs_run.start.tolist() == [0.0, 10.0]
    assert run(jobs, Platform(1.0, nodes=2), scheduler="packs-backfill").jobs_run.start.tolist() == [0.0, 2.0]


def test_a_killed_job_ends_at_its_requested_time_with_what_it_has_done() -> None:
    # a and b share the link from 2 on. a is killed at 4, with 1 of 6 bytes moved; b moves 1 + 5 bytes until 9.
    jobs = [
        job("a", [("work", 2.0), ("write", 6.0)], 2, requested=4.0),
        job("b", [("work", 2.0), ("write", 6.0)], 2, requested=10.0),
        job("c", [("work", 5.0)], 4, submit=1.0, requested=3.0),
    ]
    for resources in (None, 1):
        platform = Platform(1.0, nodes=4, resources=resources)
        done = run(jobs, platform, kill=True)
        ran = done.jobs_run
        assert dates(done) == {"a": (0.0, 4.0), "b": (0.0, 9.0), "c": (9.0, 12.0)}
        assert ran.killed.tolist() == [True, False, True]
        assert ran.volume.tolist() == pytest.approx([1.0, 6.0, 0.0])
        assert ran.delayed.tolist() == pytest.approx([1.0, 1.0, 0.0])
        assert done.bandwidth_used == pytest.approx(7.0 / 12.0)
        assert not done.ran_over
    with pytest.raises(InputError, match="buffer"):
        operate(Workload(Platform(1.0, nodes=4, buffer={"size": 3.0}), tuple(jobs)), MachineSettings(kill=True))  # type: ignore[arg-type]


def test_tcpu_allots_anew_for_each_job_that_starts() -> None:
    # Curves that grow with every resource: alone a job gets all; the next ones what keeps the load at 1 or less.
    curve = {1: 1.0, 2: 1.5, 3: 1.8}
    chain = [("work", 1.0), ("write", 9.0)]
    jobs = [job(f"j{index}", chain, 2, submit=float(index), curve=curve) for index in range(3)]
    done = run(jobs, Platform(3.0, nodes=6, resources=3), allocation="tcpu")
    assert [len(used) for used in done.jobs_run.resources or ()] == [3, 1, 1]
    # Alone: 1 + 9 / 1.8 and 1 + 9 / 1.0 seconds.
    assert done.jobs_run.alone.tolist() == pytest.approx([6.0, 10.0, 10.0])


def test_a_buffer_takes_writes_in() -> None:
    # Without a buffer a writes for 8 s; into the buffer at its own 4 bytes/s for 2 s.
    jobs = [job("a", [("write", 8.0), ("work", 10.0)], write_bandwidth=4.0)]
    platform = Platform(1.0, nodes=1, buffer={"size": 100.0})  # type: ignore[arg-type]
    assert dates(run(jobs, platform)) == {"a": (0.0, 12.0)}
    assert dates(run(jobs, platform, buffer=False)) == {"a": (0.0, 18.0)}
