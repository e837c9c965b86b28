"""Which I/O resources a workload runs on, and where that comes from."""

import pytest

from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.placement.allocation import Characteristics
from penstock.planning.placement.choice import ALLOCATION, PLACEMENT, choose_placement
from penstock.planning.placement.heuristics import Heuristic

CURVES = ({1: 1.0, 2: 1.8, 4: 3.0}, {1: 1.0, 2: 1.2, 4: 0.9}, {1: 2.0, 2: 1.2})


def three(*placements: object, resources: int | None = 4, curves: int = 3) -> Workload:
    applications = [
        Application.of(
            name,
            [("work", 100.0), ("io", 100.0)],
            nodes=10,
            curve=CURVES[index] if index < curves else None,
            placement=placements[index] if placements else None,
        )
        for index, name in enumerate("abc")
    ]
    return Workload(Platform(10.0, resources=resources), tuple(applications))


def test_the_placement_of_the_file_comes_first() -> None:
    found = choose_placement(three([0], [1, 2], [3]))
    assert found is not None
    assert found.resources == ((0,), (1, 2), (3,))
    assert found.text == "from the file"
    assert found.to_dict() == {"source": "file", "allocation": None, "placement": None}


def test_else_there_is_a_default() -> None:
    found = choose_placement(three())
    assert found is not None
    assert found.resources == Heuristic(ALLOCATION, PLACEMENT).place(Characteristics.of(three()))
    assert found.text == "tcpu, greedy-clairvoyant (default; --allocation, --placement choose others)"
    assert found.to_dict() == {"source": "default", "allocation": "tcpu", "placement": "greedy-clairvoyant"}
    assert choose_placement(three()) == found


@pytest.mark.parametrize(
    ("allocation", "placement", "text"),
    [
        ("best-bdw", None, "best-bdw, greedy-clairvoyant"),
        (None, "random", "tcpu, random"),
        ("static", "greedy-non-clairvoyant", "static, greedy-non-clairvoyant"),
        ("mckp", None, "mckp"),
    ],
)
def test_what_is_asked_for_replaces_that_of_the_file(allocation: str | None, placement: str | None, text: str) -> None:
    found = choose_placement(three([3], [3], [3]), allocation, placement)
    assert found is not None
    assert found.text == text
    assert found.to_dict()["source"] == "options"
    assert found.resources != ((3,), (3,), (3,))
    assert found == choose_placement(three([3], None, [3]), allocation, placement)


def test_a_link_has_no_placement() -> None:
    assert choose_placement(three(resources=None)) is None
    assert choose_placement(three(curves=2)) is None
    for options in ({"allocation": "tcpu"}, {"placement": "random"}):
        with pytest.raises(
            InputError, match=rf"--{next(iter(options))}: the workload runs on one link; expected platform\.res"
        ):
            choose_placement(three(resources=None), **options)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (three([0], None, [1]), r"applications\[1\]: the key 'placement' is missing; expected it for every application"),
        (three([0], [0], [0], curves=1), r"applications\[1\]: the key 'curve' is missing"),
    ],
)
def test_what_is_missing_is_named(workload: Workload, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_placement(workload)


def test_an_unknown_heuristic_is_refused() -> None:
    with pytest.raises(InputError, match="allocation most: unknown"):
        choose_placement(three(), "most")
    with pytest.raises(InputError, match="placement random: mckp places by itself"):
        choose_placement(three(), "mckp", "random")
