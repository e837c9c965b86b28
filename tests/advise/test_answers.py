"""The four questions on machines whose answers are known by hand, and the same numbers as from the other commands."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.advise.answers import CHANGE, OPEN, STAY, OperatorAnswer
from penstock.advise.findings import AdviceSettings, Findings, find_out
from penstock.api.advising import AdviceResult
from penstock.api.paths import nobody
from penstock.model import Application, Buffer, Platform, Workload
from penstock.planning.together import jobs_together
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from penstock.policies.registry import find
from tests.advise.machines import CHAIN, colliding, peaceful, week


def found(workload: Workload, **settings: Any) -> Findings:
    return find_out(workload, AdviceSettings(**settings), nobody)


def answers(workload: Workload, **settings: Any) -> dict[str, OperatorAnswer]:
    return {one.key: one for one in found(workload, **settings).answers}


def test_a_store_that_nobody_contends() -> None:
    advice = found(peaceful())
    assert advice.changes == []
    assert advice.headline == "Nothing is to be gained by changing how I/O is shared"
    assert [one.verdict for one in advice.answers] == [STAY, OPEN, STAY, STAY]
    assert [None if one.gain is None else one.gain.mean for one in advice.answers] == [0.0, None, 0.0, 0.0]
    first = next(iter(advice.summary()))
    assert first.endswith("lost 0.00 of them (0.00 %) to the I/O of others: hardly anything.")


def test_two_jobs_that_collide() -> None:
    both = answers(colliding())
    # fair-share: half an hour lost by each. One after the other: half an hour lost by the second one alone.
    policy = both["policy"]
    assert policy.verdict == CHANGE
    assert policy.gain is not None
    assert policy.gain.mean == pytest.approx(0.5)
    rows = {row["policy"]: row["delayed"] for row in policy.tables["policies"]}
    assert rows["fair-share"] == pytest.approx(1.0)
    assert rows["fcfs"] == pytest.approx(0.5)
    # Both write at the speed of the link: half of the 3,600 bytes pile up, and a buffer of 1,800 bytes takes them.
    buffer = both["buffer"]
    assert buffer.verdict == CHANGE
    assert buffer.gain is not None
    assert buffer.gain.mean == pytest.approx(1.0)
    assert buffer.tables["buffers"][-1]["size"] == pytest.approx(1800.0)
    assert buffer.tables["buffers"][-1]["delayed"] == pytest.approx(0.0, abs=1e-9)
    assert [row["delayed"] for row in buffer.tables["buffers"]] == sorted(
        (row["delayed"] for row in buffer.tables["buffers"]), reverse=True
    )


def test_a_buffer_also_helps_jobs_that_only_read() -> None:
    # Both read at the speed of the link from 1,800 s on: half of the 3,600 bytes must be fetched before, while they work.
    chain = [("work", 1800.0), ("read", 1800.0)]
    jobs = tuple(Application.of(name, chain) for name in "ab")
    buffer = answers(Workload(Platform(1.0, nodes=2), jobs))["buffer"]
    assert buffer.verdict == CHANGE
    assert buffer.tables["buffers"][0]["delayed"] == pytest.approx(1.0)
    rows = {row["size"]: row["delayed"] for row in buffer.tables["buffers"]}
    assert rows[1800.0] == pytest.approx(0.0, abs=1e-9)


def test_a_buffer_before_osts_that_jobs_share_is_larger_than_before_one_link() -> None:
    # a and c share an OST of 1 byte/s and write 1 byte/s each: 1,800 bytes pile up from 900 s to 2,700 s, 900 of them drain
    # while both work, and 1,800 more pile up. One link of 2 bytes/s would have drained all in between.
    chain = [("work", 900.0), ("write", 1800.0)] * 2
    jobs = tuple(Application.of(name, chain, bandwidth=1.0) for name in "abc")
    buffer = answers(Workload(Platform(2.0, nodes=3, resources=2), jobs), allocation=1)["buffer"]
    rows = {round(row["size"], 6): row["delayed"] for row in buffer.tables["buffers"]}
    assert rows[1800.0] > 0.1
    assert rows[3600.0] == pytest.approx(0.0, abs=1e-9)
    assert max(rows) == 3600.0
    assert "never pile up" in buffer.sentence
    assert "1,800" not in buffer.sentence


def test_which_not_together() -> None:
    # a and b are there together and write at one time; c writes as much when they have ended.
    late = Application.of("c", CHAIN, release=10_000.0, recorded=(10_000.0, 3600.0))
    jobs = colliding()
    three = Workload(Platform(1.0, nodes=3), (*jobs.applications, late))
    apart = answers(three, trust=2.0)["apart"]
    worst = apart.tables["pairs"][0]
    assert (worst["first"], worst["second"]) == ("a", "b")
    assert worst["together"] == pytest.approx(5400.0)
    assert worst["cost"] == pytest.approx(worst["lost"])  # they ran together to their ends
    assert [row["cost"] for row in apart.tables["pairs"][1:]] == [0.0, 0.0]  # c met nobody
    costs = {row["job"]: row["cost"] for row in apart.tables["costs"]}
    assert costs == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.0})  # without one of both nothing is lost
    assert "a and b" in apart.sentence


def test_a_job_alone_meets_nobody() -> None:
    apart = answers(colliding(recorded=3600.0, count=1))["apart"]
    assert (apart.verdict, apart.sentence) == (STAY, "One job does I/O, so no two can meet.")


def test_a_backtest_that_is_far_off_recommends_nothing() -> None:
    advice = found(colliding(recorded=1000.0))
    assert (advice.trusted, advice.answers, advice.changes) == (False, (), [])
    assert advice.headline == "Nothing can be recommended: the model does not reproduce this machine"
    assert "5.40 times the recorded ones" in next(iter(advice.summary()))
    assert found(colliding(recorded=1000.0), trust=6.0).changes


def test_without_records_the_phases_alone_speak() -> None:
    advice = found(colliding(recorded=None))
    assert advice.today.scheduler == "easy"
    assert advice.changes
    assert any("not tested against the machine" in sentence for sentence in advice.summary())
    assert any("Recorded starts" in text for text in advice.wanted_data())


def test_what_is_modelled_is_said() -> None:
    advice = found(colliding(source="drawn"))
    assert any("100 % of the I/O rests on a model" in sentence for sentence in advice.summary())


@pytest.fixture(scope="module")
def advice() -> AdviceResult:
    return penstock.advise(week(resources=4), policies=["due-yield", "fcfs"])


def table(advice: AdviceResult, name: str) -> list[Any]:
    return list(advice.tables()[name])


def test_the_policies_are_those_of_machine(advice: AdviceResult) -> None:
    for row in table(advice, "policies"):
        run = penstock.machine(week(resources=4), scheduler="recorded", policy=row["policy"]).run
        assert row["delayed"] == run.delayed
        assert row["max_slowdown"] == run.max_slowdown
    today = next(row for row in table(advice, "policies") if row["today"])
    assert today["delayed"] == advice.found.run.delayed
    assert today["gain"] == 0.0


def test_the_buffers_are_those_of_machine_and_buffer(advice: AdviceResult) -> None:
    rows = table(advice, "buffers")
    assert [row["size"] for row in rows] == sorted(row["size"] for row in rows)
    for row in rows[1::3]:
        run = penstock.machine(week(resources=4), scheduler="recorded", buffer=row["size"]).run
        assert row["delayed"] == run.delayed
    sized = penstock.buffer(week(), dynamic=True, scheduler="recorded")
    assert rows[-1]["size"] == pytest.approx(sized.advice.plans["dynamic"].size)


def test_the_heuristics_are_those_of_place(advice: AdviceResult) -> None:
    placed = penstock.place(week(resources=4), policy="fair-share", scheduler="recorded", knows="curves").to_dict()
    lost = {one["heuristic"]: one["lost_node_hours"]["mean"] for one in placed["proposals"]}
    found = {row["heuristic"]: row["lost"] for row in table(advice, "heuristics")}
    assert found == {name: lost[name] for name in found}
    assert set(lost) - set(found) == {"mckp"}  # only for curves of the jobs' own
    chosen = next(row["heuristic"] for row in table(advice, "heuristics") if row["chosen"])
    assert lost[chosen] == min(lost for name, lost in found.items() if "random" not in name)
    resources = next(one for one in advice.found.answers if one.key == "resources")
    assert resources.gain is not None
    # Today each job gets the best number of OSTs, those with the least load: that is one of the heuristics.
    assert [row["heuristic"] for row in table(advice, "heuristics") if row["today"]] == ["best-bdw + greedy-clairvoyant"]
    assert resources.gain.mean == pytest.approx(lost["best-bdw + greedy-clairvoyant"] - lost[chosen])
    whom = table(advice, "for_whom")
    assert sum(row["jobs"] for row in whom) == 40


def test_the_pairs_are_those_of_jobs_together(advice: AdviceResult) -> None:
    found = jobs_together(week(), "fair-share", most=10, scheduler="recorded")
    matrix = found.matrix()
    for row in table(advice, "pairs"):
        assert row["lost"] == matrix[row["first"]][row["second"]]


def test_the_loss_is_that_of_simulate_where_nobody_waits_for_nodes() -> None:
    advice = penstock.advise(colliding())
    compared = penstock.compare(colliding(), ["fair-share", "fcfs"], bound=False)
    rows = {row["policy"]: row["delayed"] for row in table(advice, "policies")}
    for policy in ("fair-share", "fcfs"):
        assert rows[policy] == pytest.approx(compared[policy].lost_node_hours)


def test_a_buffer_that_is_there_is_compared_with_none() -> None:
    jobs = colliding(recorded=None)
    with_buffer = Workload(Platform(1.0, nodes=2, buffer=Buffer(1800.0)), jobs.applications)
    buffer = answers(with_buffer)["buffer"]
    assert buffer.verdict == STAY  # all is in the buffer already
    none, *others = buffer.tables["buffers"]
    assert none["size"] == 0.0
    assert none["delayed"] == pytest.approx(1.0)
    assert [row["size"] for row in others if row["today"]] == [1800.0]


def test_static_orders_and_today_are_not_tried() -> None:
    static = next(name for name, policy in REGISTRY.items() if policy.family == STATIC)
    policies = [find(static), find("fair-share"), find("fcfs")]
    rows = answers(colliding(), policies=policies)["policy"].tables["policies"]
    assert {row["policy"] for row in rows} == {"fair-share", "fcfs"}
