"""Placement of jobs that come and go: by hand, against the placement of a set, and laws over all heuristics."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.operation import curve_on
from penstock.planning.placement.allocation import ALLOCATIONS, Characteristics, Information, tcpu
from penstock.planning.placement.heuristics import BASELINE, Heuristic, heuristics
from penstock.planning.placement.stream import DRAWS, plan_stream
from tests.naive.compare import close
from tests.naive.profiles import examples

LINEAR = Curve((1, 2), (1.0, 2.0))
BEST = Heuristic("best-bdw", "greedy-clairvoyant")


def job(name: str, release: float = 0.0, *, nodes: int = 1, work: float = 8.0, volume: float = 4.0, curve=LINEAR):
    return Application.of(name, [("work", work), ("io", volume)], nodes=nodes, release=release, curve=curve)


def on(jobs, resources: int = 2, nodes: int | None = 4) -> Workload:
    return Workload(Platform(2.0, nodes=nodes, resources=resources), tuple(jobs))


def test_jobs_a_million_seconds_apart_do_not_contend() -> None:
    # 4 bytes over both resources at 2 bytes/s: 2 s, and the same a million seconds later.
    plan = plan_stream(on([job("a"), job("b", 1e6)]), [BEST])
    assert plan.chosen.counts.tolist() == [2, 2]
    assert plan.chosen.run.jobs_run.end.tolist() == [10.0, 1_000_010.0]
    assert plan.chosen.slowdown.tolist() == [1.0, 1.0]
    assert plan.chosen.congestion_slowdown.tolist() == [0.0, 0.0]
    assert plan.chosen.lost.mean == 0.0
    # Alone a job occupies both resources for 2 of 10 s; never are there two.
    assert plan.chosen.most_load == close(0.2)


def test_jobs_at_one_time_contend() -> None:
    # Both transfer from 8 on, each at half the speed: 4 s instead of 2, so a loses 2 node-seconds and b, of 3 nodes, 6.
    plan = plan_stream(on([job("a"), job("b", nodes=3), job("c", 1e6)]), [BEST])
    assert plan.chosen.run.jobs_run.end.tolist()[:2] == [12.0, 12.0]
    assert plan.chosen.slowdown.tolist() == [2.0, 2.0, 1.0]
    assert plan.chosen.lost.mean == close(8.0 / 3600.0)
    assert [row["lost_node_hours"] for row in plan.chosen.rows()] == [close(2.0 / 3600.0), close(6.0 / 3600.0), 0.0]
    # static gives a 2 · 1/4 = 0.5, rounded up to 1, b 1.5, so 2, and c 1: the transfers of a take 4 s alone.
    assert plan.baseline.counts.tolist() == [1, 2, 1]
    assert plan.baseline.heuristic == BASELINE


def test_the_advice_names_the_baseline_and_the_reason() -> None:
    plan = plan_stream(on([job("a"), job("b", 1e6)]), [BEST])
    # static: one resource for a job of one node of four, so 4 s of transfers instead of 2: 2 node-seconds each.
    assert plan.baseline.lost.mean == close(4.0 / 3600.0)
    assert plan.advice == (
        "placing jobs by best-bdw + greedy-clairvoyant loses 0.00 node-hours to I/O where the baseline, static + "
        "greedy-non-clairvoyant, loses 0.00: the numbers of resources suit the jobs better (ρ_io 1.00 for 2.00); this "
        "assumes that jobs start at their releases and keep their resources to their ends, and the curves hold"
    )


def test_nobody_uses_more_nodes_than_there_are() -> None:
    # On 4 nodes the second job of 3 starts when the first has ended, although it is released at 1.
    plan = plan_stream(on([job("a", nodes=3), job("b", 1.0, nodes=3)]), [BEST])
    assert plan.chosen.run.jobs_run.start.tolist() == [0.0, 10.0]
    # 2 of 10 s are I/O, on 3 of 4 nodes.
    assert plan.chosen.idle_time == close(2.0 / 10.0 * 3.0 / 4.0)
    # Without a number of nodes nobody waits.
    free = plan_stream(on([job("a", nodes=3), job("b", 1.0, nodes=3)], nodes=None), [BEST])
    assert free.chosen.run.jobs_run.start.tolist() == [0.0, 1.0]


@st.composite
def streams(draw):
    resources = draw(st.integers(1, 4))
    jobs = []
    for index in range(draw(st.integers(1, 7))):
        counts = tuple(range(1, resources + 1))
        curve = Curve(counts, tuple(draw(st.sampled_from([0.5, 1.0, 1.5, 2.0])) for _ in counts))
        release = draw(st.integers(0, 40)) / 4.0
        sizes = {
            "nodes": draw(st.integers(1, 4)),
            "work": draw(st.integers(0, 12)) / 2.0,
            "volume": draw(st.integers(0, 8)) / 2.0,
        }
        jobs.append(job(f"j{index}", release, curve=curve, **sizes))
    return on(jobs, resources)


@examples(40)
@given(streams(), st.integers(0, 9))
def test_the_laws_of_proposals(workload, seed):
    plan = plan_stream(workload, heuristics(8, workload.platform.resources), policy="fair-share", seed=seed)
    assert plan.level == Information.CURVES
    for one in plan.proposals:
        jobs = one.run.jobs_run
        assert one.lost.mean >= 0.0
        assert (one.lost.half is not None) == one.heuristic.baseline
        assert 0.0 <= one.idle_time <= 1.0 + 1e-9
        assert all(len(used) == count for used, count in zip(jobs.resources, one.counts.tolist(), strict=True))
        assert ((one.counts >= 1) & (one.counts <= workload.platform.resources)).all()
        known = np.isfinite(one.slowdown)
        assert (one.slowdown[known] >= 1.0 - 1e-9).all()
        for start in jobs.start:
            assert sum(jobs.nodes[(jobs.start <= start) & (start < jobs.end)]) <= workload.platform.nodes
        if not one.heuristic.baseline:
            assert one.lost.mean >= plan.chosen.lost.mean or plan.chosen.heuristic.baseline


@examples(60)
@given(streams())
def test_together_means_those_that_are_there(workload):
    # All at one time: the last one gets what tcpu gives it among all. Far apart: each what tcpu gives it alone.
    known = Characteristics.of(workload)

    def counts(jobs: Workload) -> list[int]:
        return plan_stream(jobs, [Heuristic("tcpu", "greedy-clairvoyant")]).chosen.counts.tolist()

    platform = dataclasses.replace(workload.platform, nodes=sum(one.nodes for one in workload.applications))
    members = [Application.of(one.name, list(one.phases), nodes=one.nodes, curve=one.curve) for one in workload.applications]
    known = dataclasses.replace(known, machine=platform.nodes)
    assert counts(Workload(platform, tuple(members)))[-1] == tcpu(known)[-1]
    far = [dataclasses.replace(one, release=1e6 * k) for k, one in enumerate(members)]
    assert counts(Workload(platform, tuple(far))) == [tcpu(known.some([index]))[0] for index in range(len(members))]


@pytest.mark.parametrize("allocation", ["tcpu", "mckp"])
@pytest.mark.parametrize("scheduler", ["recorded", "easy"])
def test_jobs_that_wait_for_nodes_are_not_there(allocation: str, scheduler: str) -> None:
    # All three need all nodes, so they run one after the other, and each has both resources for itself: tcpu may raise a
    # job alone to 2 (a load of 4 / 3 / 2), and not one of two (4 / 3 / 2 + 4 / 5 / 2 > 1).
    members = [job(name, date, nodes=4, work=1.0) for name, date in (("a", 0.0), ("b", 0.1), ("c", 0.2))]
    wanted = Heuristic(allocation, None if allocation == "mckp" else "greedy-clairvoyant")
    plan = plan_stream(on(members), [wanted], scheduler=scheduler)
    assert plan.chosen.run.jobs_run.start.tolist() == [0.0, 3.0, 6.0]
    assert plan.chosen.counts.tolist() == [2, 2, 2]
    assert plan.chosen.lost.mean == 0.0
    together = plan_stream(on([dataclasses.replace(one, nodes=1) for one in members]), [wanted], scheduler=scheduler)
    assert together.chosen.counts.tolist() == [2, 1, 1]


def test_jobs_without_curves_are_measured_with_equal_parts_of_the_bandwidth() -> None:
    # A resource carries 1 of 2 bytes/s; the job of 3 nodes at 0.5 bytes/s each needs 2 of them, that of one node 1.
    members = [job("a", nodes=3, curve=None), job("b", 50.0, curve=None)]
    workload = Workload(Platform(2.0, 0.5, nodes=4, resources=2), tuple(members))
    plan = plan_stream(workload, [BEST, Heuristic("best-bdw", "greedy-non-clairvoyant")])
    assert plan.stand_in == 2
    assert plan.chosen.counts.tolist() == [2, 1]
    assert [curve_on(one, workload).upto(2).tolist() for one in members] == [[1.0, 1.5], [0.5, 0.5]]
    assert "each resource carries an equal part of the bandwidth" in plan.advice
    with pytest.raises(InputError, match="heuristic tcpu \\+ greedy-clairvoyant: needs"):
        plan_stream(workload, [Heuristic("tcpu", "greedy-clairvoyant")])


def test_a_random_heuristic_is_run_with_several_seeds() -> None:
    workload = on([job(f"j{k}", k / 2.0, nodes=1) for k in range(8)], resources=2, nodes=8)
    plan = plan_stream(workload, [Heuristic("random", "random")], seed=3)
    assert plan.chosen.heuristic.name == "random + random"
    singles = [plan_stream(workload, [Heuristic("random", "random")], seed=3 + k).chosen.run.delayed for k in range(DRAWS)]
    assert len(set(singles)) > 1
    assert plan.chosen.lost.half > 0.0


def test_wrong_requests_are_refused() -> None:
    workload = on([job("a"), job("b", 5.0)])
    with pytest.raises(InputError, match="objective: 'speed' is unknown; expected one of node-hours"):
        plan_stream(workload, [BEST], objective="speed")
    with pytest.raises(InputError, match=r"platform.resources: is not given"):
        plan_stream(Workload(Platform(2.0, nodes=4), workload.applications), [BEST])
    assert set(ALLOCATIONS) >= {"static", "tcpu"}
