"""Groups of applications with bandwidth of their own: closed forms, all partitions, and what the engine makes of them."""

from __future__ import annotations

import random

import pytest

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.model.application import WORK
from penstock.planning.groups import ALL_SHARED, EXCLUSIVE_INSIDE, SHARED_INSIDE, Groups, group_applications
from penstock.planning.partition import Applications, all_shared
from tests.planning.test_partition import assert_feasible, is_contiguous, set_partitions, slow_value

EACH = "a part each"
TURNS = "all exclusive"


def chains(*members: tuple[float, float, int], bandwidth: float = 1.0, nodes: int = 1) -> Workload:
    """Applications of (work, I/O, repetitions)."""
    applications = [
        Application.of(f"a{index}", [("work", work), ("io", io)] * count, nodes=nodes)
        for index, (work, io, count) in enumerate(members)
    ]
    return Workload(Platform(bandwidth), tuple(applications))


def near(value: float | list[float]) -> object:
    """Equal to 1e-9 of it."""
    return pytest.approx(value, rel=1e-9)


def drawn(seed: int) -> Workload:
    """Up to six applications whose operations differ by two decades; some work between, some hardly."""
    draw = random.Random(seed)
    members = []
    for _ in range(draw.randint(2, 6)):
        io = 10.0 ** draw.uniform(0.0, 2.0)
        members.append((io * draw.uniform(1.0, 30.0), io, draw.randint(1, 12)))
    return chains(*members, bandwidth=draw.choice([1.0, 3.0]))


def test_two_pairs() -> None:
    """a and b work 90 s and transfer 10, c and d ten times 9 s and 1.

    All start together. On one link that they share, c and d first post at 9 s; without groups everything is over after 114 s
    (ten times 9 + 2, and between 90 and 114 s the four share). So t = 114 s and 11.4 s, and the loads are 10/114 each,
    0.351 of B. Two groups have spread 1 and half of the load, so B is halved: value 2. With turns inside, the first of c and
    d transfers for 2 s after 9 s of work, the other waits 2 s once: 110 s and 112 s; a and b: 110 s and 130 s.
    """
    large, small = (90.0, 10.0, 1), (9.0, 1.0, 10)
    found = group_applications(chains(large, large, small, small))
    assert [part.members for part in found.partition.parts] == [(2, 3), (0, 1)]
    assert [part.bandwidth for part in found.partition.parts] == near([0.5, 0.5])
    assert found.partition.value == near(2.0)
    assert found.time.tolist() == near([114.0, 114.0, 11.4, 11.4])
    assert found.load == near(40.0 / 114.0)
    assert found.run(EXCLUSIVE_INSIDE).end.tolist() == near([110.0, 130.0, 110.0, 112.0])
    assert found.run(SHARED_INSIDE).end.tolist() == near([130.0, 130.0, 130.0, 130.0])
    assert found.run(EXCLUSIVE_INSIDE).lost_node_hours == near((10.0 + 30.0 + 10.0 + 12.0) / 3600.0)


@pytest.mark.parametrize("seed", range(25))
def test_the_groups_are_the_best_of_all_contiguous_partitions(seed: int) -> None:
    """Every partition is tried, with a slow twin of the best bandwidths for it."""
    found = group_applications(drawn(seed))
    applications = Applications(tuple(found.volume), tuple(found.time), found.bandwidth)
    every = list(set_partitions(list(range(len(found.volume)))))
    best = min(slow_value(applications, groups) for groups in every if is_contiguous(applications, groups))
    assert_feasible(applications, found.partition)
    assert found.partition.value == pytest.approx(best, rel=1e-6)
    assert min(slow_value(applications, groups) for groups in every) <= found.partition.value * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_laws(seed: int) -> None:
    """Bandwidths add up to B at most, a group carries its load, and every group runs as a machine of its own would."""
    workload = drawn(seed)
    found = group_applications(workload)
    parts = found.partition.parts
    assert sum(part.bandwidth for part in parts) <= found.bandwidth * (1.0 + 1e-9)
    assert sorted(index for part in parts for index in part.members) == list(range(len(workload.applications)))
    assert 0.0 < found.load <= 1.0 + 1e-9
    for part in parts:
        members = list(part.members)
        assert (found.volume[members] / found.time[members]).sum() <= part.bandwidth * (1.0 + 1e-9)
        alone = Workload(Platform(part.bandwidth), tuple(workload.applications[index] for index in members))
        for name, policy in ((EXCLUSIVE_INSIDE, "fifo"), (SHARED_INSIDE, "fair-share")):
            ends = [one.end for one in simulate(alone, policy).applications]
            assert found.run(name).end[members].tolist() == ends


@pytest.mark.parametrize("seed", range(10))
def test_without_groups_it_is_the_run_of_simulate(seed: int) -> None:
    workload = drawn(seed)
    found = group_applications(workload)
    for name, policy in ((ALL_SHARED, "fair-share"), (TURNS, "fifo")):
        result = simulate(workload, policy)
        assert found.run(name).end.tolist() == [one.end for one in result.applications]
        assert found.run(name).lost_node_hours == pytest.approx(result.lost_node_hours, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_part_of_its_own_slows_every_transfer_by_b_over_its_part(seed: int) -> None:
    """Closed form: alone on B_k an application with volume V and work w ends at w + V / B_k, and V.1 is B / B_k."""
    workload = drawn(seed)
    found = group_applications(workload)
    run = found.run(EACH)
    parts = all_shared(Applications(tuple(found.volume), tuple(found.time), found.bandwidth)).parts
    for part in parts:
        index = part.members[0]
        phases = workload.applications[index].phases
        volume = sum(amount for kind, amount in zip(phases.kinds, phases.amounts, strict=True) if kind != WORK)
        work = sum(amount for kind, amount in zip(phases.kinds, phases.amounts, strict=True) if kind == WORK)
        assert run.end[index] == near(work + volume / part.bandwidth)
    assert run.max_io_slowdown == near(max(found.bandwidth / part.bandwidth for part in parts))
    assert run.value == near(run.max_io_slowdown)
    assert run.parts == len(parts)


def test_alike_applications_take_turns_without_a_loss_after_the_first_round() -> None:
    """001 Figure V.2: k alike with work of at least (k − 1) transfers: the i-th waits i transfers once, and never again."""
    found = group_applications(chains(*[(30.0, 10.0, 5)] * 3))
    assert found.run(TURNS).end.tolist() == near([200.0, 210.0, 220.0])
    assert found.partition.value == near(1.0)
    assert [part.members for part in found.partition.parts] == [(0, 1, 2)]
    assert found.run(EXCLUSIVE_INSIDE).end.tolist() == found.run(TURNS).end.tolist()


def test_unlike_applications_are_better_apart() -> None:
    """001 Figure V.1: a long transfer stops short iterations for its whole length; with a group each it does not.

    The short one moves 1 of every 2 s, the long one 200 of 400 s; under turns the short one waits up to 200 s.
    """
    found = group_applications(chains((10.0, 1.0, 100), (500.0, 200.0, 2)))
    assert found.run(TURNS).value == near(200.0)
    assert found.partition.value < 10.0
    assert found.run(TURNS).stretch[0] > found.run(EXCLUSIVE_INSIDE).stretch[0]


def test_jobs_wait_for_nodes_and_those_without_io_are_in_no_group() -> None:
    """Two nodes: c, submitted last, starts when a ends; nobody moves anything at the same time as another."""
    jobs = (
        Application.of("a", [("work", 10.0), ("io", 2.0)]),
        Application.of("b", [("work", 40.0)]),
        Application.of("c", [("work", 10.0), ("io", 2.0)]),
    )
    found = group_applications(Workload(Platform(1.0, nodes=2), jobs))
    assert found.baseline.start.tolist() == near([0.0, 0.0, 12.0])
    assert found.baseline.end.tolist() == near([12.0, 40.0, 24.0])
    assert found.baseline.lost_node_hours == 0.0
    assert [part.members for part in found.partition.parts] == [(0, 2)]
    assert found.best is found.baseline


def test_limits_of_a_direction_shrink_with_the_group() -> None:
    """One group has all of B = 2: writes of at most 1 byte/s take 4 s for 4 bytes, as without groups."""
    one = Application.of("a", [("work", 10.0), ("write", 4.0)])
    found = group_applications(Workload(Platform(2.0, write_bandwidth=1.0), (one,)))
    assert found.run(EXCLUSIVE_INSIDE).end.tolist() == near([14.0])


def test_wrong_input() -> None:
    workload = chains((1.0, 1.0, 1))
    with pytest.raises(InputError, match="shared: fifo serves one application at a time; expected one that"):
        group_applications(workload, "fifo")
    with pytest.raises(InputError, match="exclusive: fair-share serves several applications at a time"):
        group_applications(workload, exclusive="fair-share")
    with pytest.raises(InputError, match="window: groups are compared over whole runs; expected a workload"):
        group_applications(Workload(Platform(1.0), workload.applications, (0.0, 1.0)))
    with pytest.raises(InputError, match="applications: none has I/O; expected some that read or write"):
        group_applications(Workload(Platform(1.0), (Application.of("a", [("work", 1.0)]),)))
    with pytest.raises(InputError, match="shared: hierarchical-round-robin is an order of all applications"):
        group_applications(workload, "hierarchical-round-robin")


def test_rows_add_up() -> None:
    found: Groups = group_applications(drawn(3))
    for key, name in (("lost_exclusive", EXCLUSIVE_INSIDE), ("lost_shared", SHARED_INSIDE)):
        assert sum(row[key] for row in found.rows()) == near(found.run(name).lost_node_hours)
