"""Jobs that should not run together: by hand, and against runs made one by one."""

import dataclasses

import pytest

from penstock.engine import simulate
from penstock.model import Application, Buffer, Curve, InputError, Platform, Workload
from penstock.planning.operation import MachineSettings, operate
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


def on_resources(resources: int, *rows, buffer=None, **more) -> Workload:
    """The same jobs before I/O resources of 1 byte/s, each with a count of them that carries its transfers."""
    jobs = tuple(dataclasses.replace(one, curve=Curve((1, 2), (1.0, 2.0)), **more) for one in workload(*rows).applications)
    return Workload(Platform(float(resources), nodes=9, resources=resources, buffer=buffer), jobs)


def test_jobs_with_resources_of_their_own_do_not_meet() -> None:
    """Each takes both of two resources, in half the time of its I/O: a quarter of an hour, and as much more if both do."""
    found = jobs_together(on_resources(2, (1, CHAIN), (3, CHAIN)), starts=1)
    assert found.matrix()["a"]["b"] == pytest.approx(4 * 0.25)
    assert found.left_out[0][1] == pytest.approx(found.lost) == pytest.approx(1.0)
    # Of four resources each has two.
    found = jobs_together(on_resources(4, (1, CHAIN), (3, CHAIN)), starts=1)
    assert (found.matrix()["a"]["b"], found.lost) == (0.0, 0.0)


def test_the_third_job_meets_one_of_two() -> None:
    """Four resources for six: the third job is placed on those of the first, and each pair alone has room."""
    found = jobs_together(on_resources(4, (1, CHAIN), (3, CHAIN), (2, CHAIN)), starts=1)
    assert {pair.lost.mean for pair in found.pairs} == {0.0}
    assert found.lost == pytest.approx(3 * 0.25)  # a and c lose a quarter of an hour, on 1 and on 2 nodes
    assert {found.names[job]: cost for job, cost in found.left_out} == pytest.approx({"a": 0.75, "b": 0.0, "c": 0.75})


def test_a_placement_of_the_workload_is_kept() -> None:
    plain = on_resources(4, (1, CHAIN), (3, CHAIN), (2, CHAIN))
    places = ((0, 1), (2, 3), (3,))
    jobs = tuple(dataclasses.replace(one, placement=used) for one, used in zip(plain.applications, places, strict=True))
    found = jobs_together(dataclasses.replace(plain, applications=jobs), starts=1)
    # b and c share resource 3. c has half an hour of I/O on it, b a quarter: b takes a quarter more, and so does c.
    assert found.matrix()["b"]["c"] == pytest.approx(3 * 0.25 + 2 * 0.25)
    assert found.matrix()["a"] == {"b": 0.0, "c": 0.0}
    assert found.lost == pytest.approx(1.25)


def test_jobs_without_curves_take_what_they_can_use_of_resources() -> None:
    """Each can use half of a resource's bandwidth: two on one lose nothing, three do."""
    jobs = tuple(
        Application.of(name, [("work", 1800.0), ("io", 900.0)], nodes=1, bandwidth=0.5, placement=(0,)) for name in "abc"
    )
    platform = Platform(2.0, nodes=9, resources=2)
    assert jobs_together(Workload(platform, jobs[:2]), starts=1).lost == 0.0
    found = jobs_together(Workload(platform, jobs), starts=1)
    assert {pair.lost.mean for pair in found.pairs} == {0.0}
    assert found.lost == pytest.approx(3 * 900.0 / 3600.0)  # 2,700 s for 2,700 bytes, alone 1,800 s


@pytest.mark.parametrize("policy", ["fair-share", "fifo", "due-yield"])
def test_one_resource_is_a_link(policy) -> None:
    short = [("work", 600.0), ("io", 300.0), ("work", 500.0), ("io", 700.0)]
    link = workload((1, CHAIN), (3, short), (2, CHAIN), (4, short), nodes=7)
    one = dataclasses.replace(link, platform=Platform(1.0, nodes=7, resources=1))
    a, b = jobs_together(link, policy), jobs_together(one, policy)
    assert a.lost > 0.0
    assert (b.names, b.policy, b.lost) == (a.names, a.policy, pytest.approx(a.lost))
    assert dict(b.left_out) == pytest.approx(dict(a.left_out))
    for name, row in a.matrix().items():
        assert b.matrix()[name] == pytest.approx(row)


def test_runs_on_resources_are_those_of_the_engine() -> None:
    """The run with all, with the starts and the placement of the machine, as an ordinary simulation with that placement."""
    jobs = on_resources(4, (1, CHAIN), (3, CHAIN), (2, CHAIN), (4, CHAIN), (3, [("work", 300.0), ("io", 900.0)]))
    ran = operate(jobs).jobs_run
    placed = tuple(
        dataclasses.replace(one, release=start) for one, start in zip(jobs.applications, ran.start.tolist(), strict=True)
    )
    whole = simulate(dataclasses.replace(jobs, applications=placed), "fair-share", placement=ran.resources)
    assert jobs_together(jobs, starts=1).lost == whole.lost_node_hours > 0.0


def test_a_buffer_takes_up_what_a_pair_writes() -> None:
    """Before a link of 1 byte/s two jobs write 1,800 bytes each, at 1 byte/s alone."""
    writes = [("work", 1800.0), ("write", 1800.0)]
    plain = workload((1, writes), (3, writes))
    jobs = tuple(dataclasses.replace(one, bandwidth=1.0) for one in plain.applications)

    def lost(size: float | None) -> float:
        buffer = None if size is None else Buffer(size)
        return jobs_together(Workload(Platform(1.0, nodes=9, buffer=buffer), jobs), starts=1).matrix()["a"]["b"]

    assert lost(None) == lost(0.0) == pytest.approx(2.0)  # half an hour each on 4 nodes
    # Both write at 1 byte/s while the buffer drains at 1 byte/s: it fills at 1 byte/s to 1,800 bytes.
    assert lost(1800.0) == pytest.approx(0.0)
    # Full after 900 s with 1,800 bytes left to write, at 1 byte/s together: 1,800 s and not 900 s.
    assert lost(900.0) == pytest.approx(4 * 0.25)


def test_a_buffer_before_resources_counts_too() -> None:
    writes = [("work", 1800.0), ("write", 1800.0)]
    plain, buffered = (on_resources(2, (1, writes), (3, writes), buffer=buffer) for buffer in (None, Buffer(1e6)))
    assert jobs_together(plain, starts=1).lost == pytest.approx(1.0)
    found = jobs_together(buffered, starts=1)
    assert (found.lost, found.matrix()["a"]["b"]) == pytest.approx((0.0, 0.0))


def test_too_few_are_refused() -> None:
    with pytest.raises(InputError, match="together: 1 jobs and 5 starts; expected 2 jobs or more and 1 start or more"):
        jobs_together(workload((1, CHAIN), (1, CHAIN)), most=1)
    with pytest.raises(InputError, match="nodes: the platform of the workload has no number of nodes"):
        jobs_together(Workload(Platform(1.0), workload((1, CHAIN), (1, CHAIN)).applications))


@pytest.mark.parametrize("policy", ["fair-share", "due-yield"])
def test_what_jobs_of_different_widths_lose_is_what_the_machine_says(policy) -> None:
    """Without curves, on resources that some share in part: the run with all, and two alone that start at one time."""
    phases = [[("work", 300.0 + 70.0 * k), ("io", 900.0 + 130.0 * k)] * (1 + k % 3) for k in range(5)]
    jobs = tuple(
        Application.of(f"j{k}", phases[k], nodes=1 + k, bandwidth=bandwidth, submit=100.0 * k)
        for k, bandwidth in enumerate((4.0, 1.0, 2.5, 0.6, 3.0))
    )
    platform = Platform(4.0, nodes=9, resources=4)
    found = jobs_together(Workload(platform, jobs), policy, starts=1)
    settings = MachineSettings(policy=policy)
    assert found.lost == pytest.approx(operate(Workload(platform, jobs), settings).lost_node_hours)
    for pair in found.pairs:
        both = tuple(dataclasses.replace(jobs[job], release=0.0, submit=None) for job in (pair.first, pair.second))
        alone = operate(Workload(dataclasses.replace(platform, nodes=20), both), settings)
        assert pair.lost.mean == pytest.approx(alone.lost_node_hours)
    assert sum(pair.lost.mean > 0.0 for pair in found.pairs) > 3
