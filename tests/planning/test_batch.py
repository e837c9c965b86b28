"""Schedules as a whole: laws over all strategies, measures, JSON, and what is refused."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Application, InputError, Platform, Workload
from penstock.planning import jobs
from penstock.planning.batch import schedule
from penstock.planning.schedule import MEASURES
from penstock.planning.strategy import ALPHA, DEFAULT_POLICY, BatchStrategy, comparison
from tests.naive.compare import close
from tests.naive.profiles import examples
from tests.planning.instances import batch, batches, work
from tests.planning.laws import assert_lawful

STRATEGIES = [
    *comparison(),
    BatchStrategy("pack", 0.25, backfill=True),
    BatchStrategy("first-fit", order="char", backfill=True),
    BatchStrategy("pack", ALPHA, order="random", backfill=True, depth=2),
    BatchStrategy("list", 0.5),
    BatchStrategy("list", math.inf, backfill=True, depth=3),
    BatchStrategy("list", ALPHA, backfill=True),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.label)
@examples(15)
@given(workload=batches(), policy=st.sampled_from(["fcfs", "fair-share", "greedy-com"]), io_nodes=st.integers(1, 3))
def test_the_laws_hold(strategy, workload, policy, io_nodes):
    io_nodes = 1 if strategy.mapping == "list" else io_nodes
    found = schedule(workload, strategy, io_nodes=io_nodes, policy=policy)
    assert_lawful(found)
    json.dumps(found.to_dict(), allow_nan=False)


@examples(40)
@given(batches())
def test_the_measures_agree_with_the_rows(workload):
    found = schedule(workload, io_nodes=2)
    document = found.to_dict()
    rows = document["jobs"]
    assert [row["name"] for row in rows] == [application.name for application in workload.applications]
    assert document["max_stretch"] == max(row["stretch"] for row in rows)
    assert document["mean_stretch"] == close(sum(row["stretch"] for row in rows) / len(rows))
    assert document["makespan"] == close(max(row["end"] for row in rows) - min(row["release"] for row in rows))
    largest = [max(row["stretch"] for row in rows if row["pack"] == pack["number"]) for pack in document["packs"]]
    assert document["pack_stretch"] == close(sum(largest) / len(largest))
    for row in rows:
        assert row["waiting"] == row["start"] - row["release"]
        if row["predicted_seconds"]:
            assert row["stretch"] == (row["end"] - row["start"]) / row["predicted_seconds"]
    for pack in document["packs"]:
        assert pack["start"] == min(row["start"] for row in rows if row["pack"] == pack["number"])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.label)
def test_progress_is_the_part_of_the_jobs_that_have_ended(strategy: BatchStrategy) -> None:
    # 1, 2, 3 and 3 seconds on nodes for all: the last two end together.
    parts: list[float] = []
    workload = batch(*((1, work(seconds)) for seconds in (1.0, 2.0, 3.0, 3.0)), nodes=4)
    found = schedule(workload, strategy, progress=parts.append)
    assert parts == [0.25, 0.5, 1.0]
    assert found.outcome.end.tolist() == schedule(workload, strategy).outcome.end.tolist()


def test_the_document_of_a_small_schedule() -> None:
    both = [("work", 4.0), ("io", 4.0)]
    document = schedule(batch((1, both), (1, both), nodes=2), BatchStrategy("pack", math.inf), policy="fcfs").to_dict()
    assert document["strategy"] == {
        "label": "pack S=inf max",
        "mapping": "pack",
        "sensibility": "inf",
        "order": "max",
        "backfill": False,
        "depth": None,
        "used_sensibility": "inf",
    }
    assert document["machine"] == {"io_nodes": 1, "nodes": 2, "bandwidth": 1.0}
    assert document["counts"] == {"jobs": 2, "without_io": 0, "of_no_length": 0, "released_later": 0}
    assert set(MEASURES) <= set(document)
    assert document["packs"] == [
        {
            "number": 1,
            "io_node": 1,
            "jobs": ["a", "b"],
            "joined": [],
            "nodes": 2,
            "load": 1.0,
            "predicted_seconds": 8.0,
            "start": 0.0,
            "end": 12.0,
        }
    ]
    assert document["jobs"][1] == {
        "name": "b",
        "nodes": 1,
        "release": 0.0,
        "start": 0.0,
        "end": 12.0,
        "predicted_seconds": 8.0,
        "volume": 4.0,
        "occupation": 4.0,
        "waiting": 0.0,
        "stretch": 1.5,
        "io_node": 1,
        "pack": 1,
        "backfilled": False,
    }
    assert len(document["over_time"]["date"]) == 200


def test_utilization_over_time_by_hand() -> None:
    # Two nodes, one job on one of them for 4 s, then one on both for 4 s. No I/O, so both execute all the time.
    found = schedule(batch((1, work(4.0)), (2, work(4.0)), nodes=2), BatchStrategy("list"))
    line = found.over_time(4, window=2.0)
    assert line.date.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert line.utilization.tolist() == [0.5, 0.5, 8 / 12, 12 / 16]
    assert line.window_utilization.tolist() == [0.5, 0.5, 1.0, 1.0]
    assert line.window_bandwidth.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert line.running.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert line.nodes.tolist() == [0.5, 0.5, 1.0, 1.0]
    # A window that would begin earlier begins with the first job.
    assert found.over_time(4, window=100.0).window_utilization.tolist() == line.utilization.tolist()
    # The default window is a twentieth of the makespan.
    assert found.over_time(8).window_utilization.tolist() == [0.5] * 4 + [1.0] * 4


def test_over_time_knows_delays_and_transfers() -> None:
    # Both want the link at 4; b waits until 8. At the ends, 8 and 12: executed 8 + 4, then 16; moved 4, then 8 bytes.
    both = [("work", 4.0), ("io", 4.0)]
    found = schedule(batch((1, both), (1, both), nodes=2), policy="fcfs")
    assert found.progress.date.tolist() == [0.0, 8.0, 12.0]
    assert found.progress.executed.tolist() == [0.0, 12.0, 16.0]
    assert found.progress.moved.tolist() == [0.0, 4.0, 8.0]


@examples(15)
@given(workload=batches(most=12, released=False), strategy=st.sampled_from([BatchStrategy(), BatchStrategy("list")]))
def test_a_long_schedule_is_read_less_often(workload, strategy):
    whole = schedule(workload, strategy, policy="fcfs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "MOST_READINGS", 3)
        coarse = schedule(workload, strategy, policy="fcfs")
    assert len(coarse.progress.date) <= 4
    assert coarse.outcome.end.tolist() == whole.outcome.end.tolist()
    executed, moved = whole.progress.at(coarse.progress.date)
    assert coarse.progress.executed.tolist() == close(executed.tolist())
    assert coarse.progress.moved.tolist() == close(moved.tolist())
    assert coarse.progress.executed[-1] == close(whole.executing)


def test_a_schedule_says_where_its_rates_went() -> None:
    both = [("work", 4.0), ("io", 4.0)]
    found = schedule(batch((2, both), (2, both), (2, work(1.0), 2.0), nodes=2), policy="fcfs", trace=True)
    # The three run one after the other, in the order of the file: equal nodes, so the older pack first; c after both.
    assert found.trace is not None
    rows = list(zip(*(column.tolist() for column in found.trace[:4]), strict=True))
    assert rows == [(0, 4.0, 8.0, 1.0), (1, 12.0, 16.0, 1.0)]
    assert schedule(batch((1, both)), policy="fcfs").trace is None


def test_nothing_takes_any_time() -> None:
    for strategy in STRATEGIES:
        found = schedule(batch((1, [("work", 0.0)]), (2, [("io", 0.0)])), strategy)
        assert (found.makespan, found.max_stretch, found.utilization, found.bandwidth_used) == (0.0, 1.0, 1.0, 0.0)
        assert found.io_load == 0.0
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_batch_without_io_is_the_same_for_every_sensibility() -> None:
    jobs = batch((2, work(4.0)), (3, work(3.0)), (1, work(2.0)))
    ends = [schedule(jobs, BatchStrategy("pack", s)).outcome.end.tolist() for s in (0.1, 1.0, ALPHA, math.inf)]
    assert ends == [ends[0]] * 4


def test_later_dates_are_only_shifted() -> None:
    both = [("work", 4.0), ("io", 4.0)]
    rows = ((1, both), (1, both), (2, work(3.0)))
    for strategy in STRATEGIES:
        now = schedule(batch(*rows), strategy, policy="fcfs")
        later = schedule(batch(*((nodes, phases, 1000.0) for nodes, phases in rows)), strategy, policy="fcfs")
        assert (later.outcome.start - 1000.0).tolist() == now.outcome.start.tolist()
        assert later.makespan == now.makespan
        assert later.utilization == now.utilization
        np.testing.assert_allclose(later.over_time(9).utilization, now.over_time(9).utilization, rtol=1e-9)


def test_due_yield_unless_said_otherwise() -> None:
    # a posts first, at 1, and b at 2, when the link is a's until 5: b would wait for 3 of its 3 s. b goes first, 2 to 3.
    jobs = batch((1, [("work", 1.0), ("io", 4.0)]), (1, [("work", 2.0), ("io", 1.0)]))
    found = schedule(jobs)
    assert found.policy == DEFAULT_POLICY == "due-yield"
    assert found.outcome.end.tolist() == [6.0, 3.0]
    assert schedule(jobs, policy="fifo").outcome.end.tolist() == [5.0, 6.0]


def test_slow_jobs_occupy_an_exclusive_link_for_as_long_as_they_transfer() -> None:
    # 5 s of work and 0.5 bytes at 0.1 of 1 byte/s, 100 times, by 8 jobs: alone 1,000 s. The bytes are 400 s of the link, but
    # where one has it at a time they occupy it for 4,000 s: two jobs fill it, and each pack takes 5 s more than alone.
    jobs = [Application.of(f"j{index}", [("work", 5.0), ("io", 0.5)] * 100) for index in range(8)]
    workload = Workload(Platform(1.0, 0.1, 8), tuple(jobs))
    fifo = schedule(workload, policy="fifo")
    assert [(len(pack.planned.jobs), pack.planned.load) for pack in fifo.packs] == [(2, close(1.0))] * 4
    assert (fifo.io_load, fifo.predicted_makespan, fifo.makespan) == (close(4.0), close(4000.0), close(4020.0))
    assert fifo.max_stretch == close(1.005)
    shared = schedule(workload)
    assert (shared.io_load, shared.packs_run, shared.predicted_makespan) == (close(0.4), 1, close(1000.0))
    assert shared.makespan == close(1000.0)
    # A list, too: S = 1 lets two jobs run at a time, and α of 4 all.
    listed = schedule(workload, BatchStrategy("list"), policy="fifo")
    assert (listed.predicted_makespan, listed.max_stretch) == (close(4000.0), close(1.005))
    assert schedule(workload, BatchStrategy("list", ALPHA), policy="fifo").predicted_makespan == close(1000.0)
    # interrupting is no policy of chapter III and serves one at a time all the same.
    assert schedule(workload, policy="interrupting").io_load == close(4.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mapping": "tetris"}, "mapping: 'tetris' is unknown; expected one of pack, first-fit, list"),
        ({"order": "size"}, "order: 'size' is unknown; expected one of max, random, char"),
        ({"sensibility": 0.0}, "sensibility: 0.0 is no sensibility; expected a number above 0, alpha or inf"),
        ({"sensibility": "0"}, "sensibility: '0' is no sensibility; expected a number above 0, alpha or inf"),
        ({"sensibility": -2}, "sensibility: -2 is no sensibility; expected a number above 0, alpha or inf"),
        ({"sensibility": "beta"}, "sensibility: 'beta' is no sensibility; expected a number above 0, alpha or inf"),
        ({"sensibility": math.nan}, "sensibility: nan is no sensibility; expected a number above 0, alpha or inf"),
        ({"sensibility": True}, "sensibility: True is no sensibility; expected a number above 0, alpha or inf"),
        ({"depth": 0}, "depth: 0 is not a number of jobs; expected a whole number, 1 or more"),
    ],
)
def test_no_such_strategy(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        BatchStrategy(**options)
    assert str(error.value) == message


def test_strategies_have_labels() -> None:
    assert [strategy.label for strategy in comparison()] == [
        "first-fit max",
        "pack S=1 max",
        "pack S=α max",
        "pack S=1 random",
        "pack S=1 char",
        "pack S=1 max + backfill",
        "list S=1",
        "list S=1 + backfill",
        "list S=inf + backfill",
    ]
    assert [strategy.mapping for strategy in comparison(io_nodes=2)].count("list") == 0
    assert BatchStrategy("pack", "2.5").sensibility == 2.5


def test_list_scheduling_is_for_one_io_node() -> None:
    with pytest.raises(InputError, match="io-nodes: list scheduling is for one I/O node, not for 2; expected 1, or packs"):
        schedule(batch((1, work(1.0))), BatchStrategy("list"), io_nodes=2)


@pytest.mark.parametrize(
    "strategy", [BatchStrategy("list"), BatchStrategy(backfill=True)], ids=lambda strategy: strategy.label
)
def test_an_order_that_is_fixed_at_the_start_is_for_packs(strategy: BatchStrategy) -> None:
    jobs = batch((1, work(1.0)))
    message = (
        "policy periodic-fifo: its order is fixed when a pack starts, and jobs start later; expected packs, no backfilling"
    )
    with pytest.raises(InputError) as error:
        schedule(jobs, strategy, policy="periodic-fifo")
    assert str(error.value) == message
    assert schedule(jobs, policy="periodic-fifo").makespan == 1.0


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InputError, match="policy best: unknown; expected one of fair-share"):
        schedule(batch((1, work(1.0))), policy="best")


def test_alpha_is_the_io_load() -> None:
    # α = P · ΣV / (b · ΣQT) = 4 · 6 / (1 · (8 + 2 · 8)) = 1.
    jobs = batch((1, [("work", 4.0), ("io", 4.0)]), (2, [("work", 6.0), ("io", 2.0)]))
    found = schedule(jobs, BatchStrategy("pack", ALPHA))
    assert found.io_load == found.sensibility == 1.0
    assert schedule(Workload(Platform(2.0, nodes=4), jobs.applications)).io_load < 1.0


@pytest.mark.parametrize("strategy", [BatchStrategy("pack"), BatchStrategy("pack", backfill=True), BatchStrategy("list")])
def test_a_job_that_has_only_a_date_of_submission_waits_for_it(strategy: BatchStrategy) -> None:
    # Hours apart, on a machine with nodes for all: each runs alone, from its submission on.
    chain = [("work", 60.0), ("io", 40.0)]
    jobs = tuple(Application.of(name, chain, submit=date) for name, date in (("a", 0.0), ("b", 36_000.0), ("c", 7200.0)))
    found = schedule(Workload(Platform(1.0, nodes=3), jobs), strategy)
    assert found.outcome.start.tolist() == [0.0, 36_000.0, 7200.0]
    assert found.outcome.end.tolist() == [100.0, 36_100.0, 7300.0]
