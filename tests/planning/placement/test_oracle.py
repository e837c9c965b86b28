"""The best of all placements: nothing is better, and nothing is left out."""

from itertools import product

import pytest
from hypothesis import given, settings

from penstock.engine.scenarios import simulate_placement
from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.placement.allocation import Characteristics
from penstock.planning.placement.heuristics import best_placement, heuristics, placements
from tests.planning.placement.instances import placeable


@pytest.mark.parametrize(("applications", "resources"), [(1, 3), (2, 2), (3, 2), (2, 4)])
def test_all_placements_but_for_the_names_of_resources(applications: int, resources: int) -> None:
    subsets = [
        tuple(resource for resource in range(resources) if chosen >> resource & 1) for chosen in range(1, 2**resources)
    ]

    def shape(placement: tuple[tuple[int, ...], ...]) -> list[list[int]]:
        return sorted([i for i, used in enumerate(placement) if resource in used] for resource in range(resources))

    every = {str(shape(placement)) for placement in product(subsets, repeat=applications)}
    found = [str(shape(placement)) for placement in placements(applications, resources)]
    assert len(set(found)) == len(found)
    assert set(found) == every


@settings(max_examples=15)
@given(workload=placeable(most_applications=3, most_resources=3))
def test_no_heuristic_is_better(workload: Workload) -> None:
    best = best_placement(workload, horizon=60.0).mean_slowdown
    known = Characteristics.of(workload)
    for heuristic in heuristics(len(known), known.resources):
        result = simulate_placement(workload, heuristic.place(known), horizon=60.0)
        assert best <= result.mean_slowdown * (1.0 + 1e-9)


def test_too_many() -> None:
    chains = tuple(Application.of(f"a{i}", [("io", 1.0)], curve=Curve.of({1: 1.0})) for i in range(9))
    with pytest.raises(InputError, match=r"9 applications on 20 I/O resources have some 10\^\d+ placements; expected"):
        best_placement(Workload(Platform(1.0, resources=20), chains))
