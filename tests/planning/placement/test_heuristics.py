"""Placements: the right number of different resources, in balance."""

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.placement.allocation import ALLOCATIONS, Characteristics, find_allocation
from penstock.planning.placement.heuristics import (
    PLACEMENT_RULES,
    counts_of,
    find_placement_rule,
    greedy_clairvoyant,
    greedy_non_clairvoyant,
)
from tests.planning.placement.instances import placeable

NO_CHANCE = np.random.default_rng(0)


def applications(*parts: tuple[float, int]) -> Workload:
    """Applications of 1 s with this I/O ratio whatever the count, on 3 resources; the second number is their best count."""
    return Workload(
        Platform(10.0, resources=3),
        tuple(
            Application.of(f"a{i}", [("work", 1.0 - ratio), ("io", ratio)], curve=Curve.of({1: 1.0}), best_count=count)
            for i, (ratio, count) in enumerate(parts)
        ),
    )


@settings(max_examples=60)
@given(workload=placeable())
def test_every_heuristic_gives_everyone_that_many_different_resources(workload: Workload) -> None:
    known = Characteristics.of(workload)
    for allocation in ALLOCATIONS.values():
        counts = allocation.counts(known, np.random.default_rng(1))
        assert counts.min() >= 1
        assert counts.max() <= known.resources
        for placing in PLACEMENT_RULES.values():
            placement = placing.place(known, counts, np.random.default_rng(2))
            assert counts_of(placement).tolist() == counts.tolist()
            for used in placement:
                assert list(used) == sorted(set(used))
                assert 0 <= used[0] <= used[-1] < known.resources


@settings(max_examples=60)
@given(workload=placeable())
def test_in_turn_the_numbers_of_applications_differ_by_one_at_most(workload: Workload) -> None:
    known = Characteristics.of(workload)
    placement = greedy_non_clairvoyant(known, find_allocation("best-bdw").counts(known, NO_CHANCE), NO_CHANCE)
    on = np.bincount([resource for used in placement for resource in used], minlength=known.resources)
    assert on.max() - on.min() <= 1


def test_in_turn_by_hand() -> None:
    known = Characteristics.of(applications((0.1, 1), (0.1, 2), (0.1, 1), (0.1, 2)))
    placement = greedy_non_clairvoyant(known, np.array([1, 2, 1, 2]), NO_CHANCE)
    # Most resources first, the earlier one among equals, one running pointer: a1 0 1, a3 2 0, a0 1, a2 2.
    assert placement == ((1,), (0, 1), (2,), (0, 2))


def test_the_same_load_everywhere_by_hand() -> None:
    known = Characteristics.of(applications((0.2, 1), (0.9, 1), (0.5, 2), (0.3, 1)))
    placement = greedy_clairvoyant(known, np.array([1, 1, 2, 1]), NO_CHANCE)
    # a1 (0.9) on 0; a2 (0.5) on 1 and 2; a3 (0.3) on 1, the lower of equals; a0 (0.2) on 2.
    assert placement == ((2,), (0,), (1, 2), (1,))


def test_static_is_half_up_and_at_least_one() -> None:
    nodes = (1, 10, 15, 20, 154)
    chains = (Application.of(f"a{n}", [("work", 1.0)], nodes=n) for n in nodes)
    known = Characteristics.of(Workload(Platform(1.0, nodes=200, resources=10), tuple(chains)))
    assert find_allocation("static").counts(known, NO_CHANCE).tolist() == [1, 1, 1, 1, 8]
    half = Application.of("half", [("work", 1.0)], nodes=50)
    known = Characteristics.of(Workload(Platform(1.0, nodes=200, resources=10), (half,)))
    assert find_allocation("static").counts(known, NO_CHANCE).tolist() == [3]  # 2.5


def test_random_counts_are_uniform_up_to_the_largest_measured() -> None:
    curves = ({1: 1.0, 4: 1.0}, {1: 1.0, 2: 1.0}, {1: 1.0, 50: 1.0})
    chains = (Application.of(f"a{i}", [("io", 1.0)], curve=Curve.of(curve)) for i, curve in enumerate(curves))
    known = Characteristics.of(Workload(Platform(9.0, resources=6), tuple(chains)))
    drawn = np.array([find_allocation("random").counts(known, np.random.default_rng(seed)) for seed in range(3000)])
    for column, most in enumerate((4, 2, 1)):  # the third is measured at 1 and at 50 only, and 50 are not there
        frequency = np.bincount(drawn[:, column], minlength=7)[1:] / 3000
        expected = [1.0 / most] * most + [0.0] * (6 - most)
        assert np.abs(frequency - expected).max() < 4 * np.sqrt(0.25 / 3000)


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="allocation most: unknown; expected one of random, static"):
        find_allocation("most")
    with pytest.raises(InputError, match="placement left: unknown; expected one of random, greedy"):
        find_placement_rule("left")
