"""Partitions of the bandwidth: the closed form, all partitions, contiguous ones, and what 001 §V.B says of them."""

from __future__ import annotations

import math
import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.planning.partition import (
    Applications,
    BandwidthPart,
    all_exclusive,
    all_shared,
    allot_bandwidth,
    best_partition,
    contiguity_gap,
    contiguous_partition,
    least_value,
)
from tests.naive.profiles import examples


def near(value):
    """Equal to 1e-9 of it."""
    return pytest.approx(value, rel=1e-9)


def with_loads(volume, loads, bandwidth=1.0) -> Applications:
    """Applications that move so much, in parts of B."""
    return Applications(tuple(volume), tuple(v / (u * bandwidth) for v, u in zip(volume, loads, strict=True)), bandwidth)


COUNTER_EXAMPLE = with_loads((2, 4, 6, 24, 64), [x / 64 for x in (1, 40, 16, 1, 1)])


def drawn(draw: random.Random, count: int, *, decades: float = 2.0, full: float | None = None, power: float = 1.0):
    """Volumes over some decades, loads that fill part of B; with a high `power` a few have nearly all of it."""
    volume = [10.0 ** draw.uniform(0.0, decades) for _ in range(count)]
    loads = [draw.expovariate(1.0) ** power for _ in range(count)]
    part = (draw.choice([0.3, 0.7, 0.95, 1.0]) if full is None else full) / math.fsum(loads)
    return with_loads(volume, [load * part for load in loads], draw.choice([1.0, 40.0]))


@st.composite
def sets(draw, most: int = 6):
    """A few applications of round numbers: ties of v, and loads that fill B."""
    count = draw(st.integers(1, most))
    volume = [draw(st.sampled_from([1.0, 2.0, 2.0, 3.0, 4.0, 8.0, 24.0, 64.0])) for _ in range(count)]
    loads = [draw(st.sampled_from([1.0, 1.0, 2.0, 16.0, 40.0])) for _ in range(count)]
    whole = sum(loads) / draw(st.sampled_from([0.25, 0.9, 1.0, 1.0]))
    return with_loads(volume, [load / whole for load in loads], draw(st.sampled_from([1.0, 3.0])))


# ------------------------------------------------------------------ slow twins


def set_partitions(items):
    """All of them: the first item alone or with any part of the others."""
    if not items:
        yield []
        return
    first, *others = items
    for size in range(len(others) + 1):
        for mates in combinations(others, size):
            for rest in set_partitions([i for i in others if i not in mates]):
                yield [[first, *mates], *rest]


def slow_value(applications: Applications, groups) -> float:
    """The least value of the groups by bisection: at value z part k needs the larger of its load and spread · B / z."""
    volume, loads, whole = applications.volume, applications.loads, applications.bandwidth

    def need(z: float) -> float:
        total = 0.0
        for group in groups:
            spread = max(volume[i] for i in group) / min(volume[i] for i in group)
            total += max(sum(loads[i] for i in group), spread * whole / z)
        return total

    low, high = 0.5, 1e9
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if need(middle) <= whole * (1.0 + 1e-13) else (middle, high)
    return high


def is_contiguous(applications: Applications, groups) -> bool:
    """Intuition 1 of 001: whatever lies in [v_i, v_j] of two members is a member."""
    volume = applications.volume
    for group in groups:
        low, high = min(volume[i] for i in group), max(volume[i] for i in group)
        if any(low <= v <= high and i not in group for i, v in enumerate(volume)):
            return False
    return True


def assert_feasible(applications: Applications, partition) -> None:
    """The conditions of 001 §V.B.2, and every stretch by its definition."""
    volume, whole = applications.volume, applications.bandwidth
    assert sorted(i for part in partition.parts for i in part.members) == list(range(len(volume)))
    assert sum(part.bandwidth for part in partition.parts) <= whole * (1.0 + 1e-9)
    for part in partition.parts:
        own = [volume[i] for i in part.members]
        assert own == sorted(own)
        assert part.bandwidth >= sum(applications.loads[i] for i in part.members) * (1.0 - 1e-9)
        assert part.stretch == near(max(own) / min(own) * whole / part.bandwidth)
    assert partition.value == max(part.stretch for part in partition.parts)


# ------------------------------------------------------------------ bandwidths of given parts


@examples(400)
@given(sets(most=7), st.randoms(use_true_random=False))
def test_bandwidths_against_bisection(applications, draw):
    parts = [draw.randrange(4) for _ in applications.volume]
    groups = [[i for i, k in enumerate(parts) if k == part] for part in sorted(set(parts))]
    found = allot_bandwidth(applications, groups)
    assert_feasible(applications, found)
    assert found.value == near(slow_value(applications, groups))


def test_bandwidths_by_hand():
    # Spreads 3, 6 and 1, loads 17/64, 41/64 and 1/64: the second part is held by its load, the others share 23/64 as 3 to 1.
    found = allot_bandwidth(COUNTER_EXAMPLE, [[4], [0, 2], [3, 1]])
    assert found.parts == (
        BandwidthPart((0, 2), near(3 / 4 * 23 / 64), near(256 / 23)),
        BandwidthPart((1, 3), near(41 / 64), near(6 * 64 / 41)),
        BandwidthPart((4,), near(1 / 4 * 23 / 64), near(256 / 23)),
    )
    # One part is free and one held; both are held; all loads add up to B.
    assert least_value([2.0, 1.0], [0.1, 0.6]) == near(2.0 / 0.4)
    assert least_value([2.0, 1.0], [0.1, 0.1]) == near(3.0)
    assert least_value([2.0, 1.0], [0.5, 0.5]) == near(4.0)


def test_shared_and_exclusive():
    # Members of a part have exclusive access in turn: one part for all is all-exclusive, a part for each is all-shared.
    assert all_exclusive(COUNTER_EXAMPLE).value == near(32.0)
    assert [part.members for part in all_exclusive(COUNTER_EXAMPLE).parts] == [(0, 1, 2, 3, 4)]
    # 40/64 and 16/64 are held by their loads, and 8/64 are left for three.
    assert all_shared(COUNTER_EXAMPLE).value == near(24.0)
    assert len(all_shared(COUNTER_EXAMPLE).parts) == 5


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[0, 1, 2], [2, 3, 4]], [[0, 1, 2, 3, 4], []], []])
def test_groups_that_are_no_partition_are_refused(groups):
    with pytest.raises(InputError) as error:
        allot_bandwidth(COUNTER_EXAMPLE, groups)
    assert str(error.value) == "groups: they are no partition; expected every application in one of them, and none empty"


# ------------------------------------------------------------------ the best partitions


@examples(120)
@given(sets(most=5))
def test_the_best_partitions_against_all_of_them(applications):
    every = [(slow_value(applications, groups), groups) for groups in set_partitions(list(range(len(applications.volume))))]
    best, contiguous = best_partition(applications), contiguous_partition(applications)
    assert_feasible(applications, best)
    assert_feasible(applications, contiguous)
    assert best.value == near(min(value for value, _ in every))
    assert contiguous.value == near(min(value for value, groups in every if is_contiguous(applications, groups)))
    assert is_contiguous(applications, [part.members for part in contiguous.parts])


def test_odd_numbers_against_all_of_them():
    draw = random.Random(41)
    for _ in range(30):
        count = draw.randint(2, 6)
        applications = drawn(draw, count, power=3.0)
        every = [(slow_value(applications, groups), groups) for groups in set_partitions(list(range(count)))]
        assert best_partition(applications).value == near(min(value for value, _ in every))
        least = min(value for value, groups in every if is_contiguous(applications, groups))
        assert contiguous_partition(applications).value == near(least)


def test_contiguous_partitions_against_all_cuts():
    draw = random.Random(42)
    for _ in range(40):
        applications = drawn(draw, 9, decades=3.0)
        order = sorted(range(9), key=lambda i: applications.volume[i])
        values = []
        for size in range(9):
            for cuts in combinations(range(1, 9), size):
                groups = [order[i:j] for i, j in pairwise([0, *cuts, 9])]
                values.append(allot_bandwidth(applications, groups).value)
        assert contiguous_partition(applications).value == near(min(values))


def test_the_best_need_not_be_contiguous():
    """001 §V.B.3 finds an optimal partition that is contiguous "in any case"; not so."""
    best, contiguous = best_partition(COUNTER_EXAMPLE), contiguous_partition(COUNTER_EXAMPLE)
    assert [part.members for part in best.parts] == [(0, 2), (1, 3), (4,)]
    assert best.value == near(256 / 23) == pytest.approx(11.130, abs=5e-4)
    assert contiguous.value == near(13.0)
    assert contiguity_gap(COUNTER_EXAMPLE) == near(13.0 * 23 / 256 - 1.0)


def test_how_often_and_by_how_much():
    """Where loads are like each other and B is not full, contiguous parts are as good as any; where not, seldom worse."""
    draw = random.Random(43)
    light = [contiguity_gap(drawn(draw, draw.randint(3, 8), full=0.7)) for _ in range(150)]
    assert max(light) < 1e-9
    heavy = [contiguity_gap(drawn(draw, draw.randint(3, 8), full=1.0, power=3.0)) for _ in range(300)]
    assert min(heavy) > -1e-9
    assert 0 < sum(gap > 1e-9 for gap in heavy) < 0.1 * len(heavy)
    assert sum(heavy) / len(heavy) < 0.03


def test_in_most_cases_parts_are_better_than_all_shared_and_all_exclusive():
    draw = random.Random(44)
    better = 0
    for _ in range(200):
        applications = drawn(draw, draw.randint(3, 8), decades=draw.choice([1.0, 2.0, 3.0]))
        simple = min(all_shared(applications).value, all_exclusive(applications).value)
        best = best_partition(applications).value
        assert best <= simple * (1.0 + 1e-9)
        better += best < simple * (1.0 - 1e-9)
    assert better > 140


# ------------------------------------------------------------------ many applications


def test_hundreds_of_applications():
    draw = random.Random(45)
    applications = drawn(draw, 400, decades=4.0, full=0.9)
    found = contiguous_partition(applications)
    assert_feasible(applications, found)
    assert is_contiguous(applications, [part.members for part in found.parts])
    assert found.value < 0.1 * min(all_shared(applications).value, all_exclusive(applications).value)
    # No part can be cut or merged with the next one to its advantage.
    groups = [part.members for part in found.parts]
    for k in range(len(groups) - 1):
        merged = [*groups[:k], groups[k] + groups[k + 1], *groups[k + 2 :]]
        assert allot_bandwidth(applications, merged).value >= found.value * (1.0 - 1e-9)
    for k, group in enumerate(groups):
        for cut in range(1, len(group)):
            halves = [*groups[:k], group[:cut], group[cut:], *groups[k + 1 :]]
            assert allot_bandwidth(applications, halves).value >= found.value * (1.0 - 1e-9)


def test_loads_that_fill_the_link():
    # Thirds add up to B but for a rounding error.
    applications = Applications((1.0, 10.0, 100.0), (3.0, 30.0, 300.0), 1.0)
    assert best_partition(applications).value == contiguous_partition(applications).value == near(3.0)
    assert all_exclusive(applications).value == near(100.0)
    assert math.fsum([0.1, 0.2]) > 0.3
    applications = Applications((1.0, 10.0), (10.0, 50.0), 0.3)
    assert_feasible(applications, best_partition(applications))
    assert best_partition(applications).value == near(3.0)


def test_equal_volumes_are_one_part():
    assert [part.members for part in contiguous_partition(with_loads([5.0] * 4, [0.2] * 4)).parts] == [(0, 1, 2, 3)]
    assert best_partition(with_loads([5.0] * 4, [0.2] * 4)).value == near(1.0)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("volume", "time", "bandwidth", "message"),
    [
        ((3.0, 4.0), (2.0, 4.0), 2.0, "bandwidth: the applications move 2.5 bytes/s; expected at most B = 2"),
        ((3.0, 0.0), (2.0, 4.0), 2.0, "volume[1]: 0.0 is out of range; expected a finite number above 0"),
        ((3.0, 4.0), (math.nan, 4.0), 2.0, "time[0]: nan is out of range; expected a finite number above 0"),
        ((3.0,), (2.0, 4.0), 2.0, "applications: 1 volumes for 2 times; expected one of each, and at least one"),
        ((), (), 2.0, "applications: 0 volumes for 0 times; expected one of each, and at least one"),
        ((3.0,), (2.0,), 0.0, "bandwidth: 0.0 is out of range; expected a finite number of bytes/s above 0"),
    ],
)
def test_wrong_applications_are_refused(volume, time, bandwidth, message):
    with pytest.raises(InputError) as error:
        Applications(volume, time, bandwidth)
    assert str(error.value) == message


def test_too_many_for_all_partitions():
    with pytest.raises(InputError) as error:
        best_partition(with_loads([1.0] * 13, [0.01] * 13))
    message = "13 are too many to try all partitions; expected at most 12, or contiguous parts"
    assert str(error.value) == f"applications: {message}"
