"""The planner: what is proposed at which level of information, and what sites can use of it."""

import csv
import io

import pytest

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.placement.allocation import Information
from penstock.planning.placement.heuristics import Heuristic, matching_heuristics
from penstock.planning.placement.planner import OBJECTIVES, Planner, csv_lines, setstripe_lines, with_resources


def three(**common: object) -> Workload:
    curves = ({1: 1.0, 2: 1.8, 4: 3.0}, {1: 1.0, 2: 1.2, 4: 0.9}, {1: 2.0, 2: 1.2})
    work = (100.0, 200.0, 50.0)
    applications = [
        Application.of(name, [("work", work[i]), ("io", 100.0)], nodes=10 + i, **(common or {"curve": Curve.of(curves[i])}))
        for i, name in enumerate("abc")
    ]
    return Workload(Platform(10.0, nodes=40, resources=4), tuple(applications))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_smallest_of_the_measured_is_proposed(objective: str) -> None:
    plan = Planner(objective=objective).plan(three(), oracle=True)
    assert len(plan.proposals) == 5 * 3 + 2
    assert plan.proposals[-1].heuristic is None
    serious = [one for one in plan.proposals if one.heuristic is None or not one.heuristic.baseline]
    values = [plan.measure(one.result) for one in serious if one.result]
    assert len(values) == len(serious)
    assert plan.chosen.result is not None
    assert plan.measure(plan.chosen.result) == min(values)
    assert plan.to_dict()["chosen"]["counts"] == [len(used) for used in plan.chosen.placement]


@pytest.mark.parametrize(
    ("level", "allowed"),
    [
        ("nodes", {"random", "static"}),
        ("totals", {"random", "static"}),
        ("best", {"random", "static", "best-bdw"}),
        ("curves", {"random", "static", "best-bdw", "n-sys", "tcpu", "mckp"}),
    ],
)
def test_a_level_uses_no_more_than_it_knows(level: str, allowed: set[str]) -> None:
    plan = Planner(level=Information(level)).plan(three())
    assert {one.heuristic.allocation for one in plan.proposals if one.heuristic} == allowed
    clairvoyant = {one.heuristic.placement for one in plan.proposals if one.heuristic} & {"greedy-clairvoyant"}
    assert bool(clairvoyant) == (level == "curves")


@pytest.mark.parametrize(
    ("common", "level", "name"),
    [
        ({"nominal": None}, Information.TOTALS, "static + greedy-non-clairvoyant"),
        ({"best_count": 2}, Information.BEST, "best-bdw + greedy-non-clairvoyant"),
    ],
)
def test_without_curves_it_proposes_from_what_is_known(common: dict[str, object], level: Information, name: str) -> None:
    plan = Planner().plan(three(**common))
    assert plan.level == level
    assert plan.chosen.name == name
    assert plan.chosen.result is None
    with pytest.raises(InputError, match=r"applications: applications\[0\] has no 'curve'; expected it for --knows curves"):
        Planner(level=Information.CURVES).plan(three(**common))


@pytest.mark.parametrize("oracle", [False, True])
def test_progress_is_the_part_of_the_heuristics_that_have_run(oracle: bool) -> None:
    parts: list[float] = []
    plan = Planner().plan(three(), oracle=oracle, progress=parts.append)
    assert parts == [(number + 1) / len(plan.proposals) for number in range(len(plan.proposals))]
    assert plan.chosen.placement == Planner().plan(three(), oracle=oracle).chosen.placement


def test_only_some_heuristics() -> None:
    plan = Planner().plan(three(), matching_heuristics("tcpu", None))
    assert [one.name for one in plan.proposals] == [
        "tcpu + random",
        "tcpu + greedy-non-clairvoyant",
        "tcpu + greedy-clairvoyant",
    ]
    assert matching_heuristics("mckp", None) == (Heuristic("mckp"),)
    assert len(matching_heuristics(None, "random")) == 5
    with pytest.raises(InputError, match=r"heuristic tcpu \+ random: needs nodes, totals, curves; expected one that knows"):
        Planner(level=Information.BEST).plan(three(), [Heuristic("tcpu", "random")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Heuristic("mckp", "random"), "placement random: mckp places by itself"),
        (lambda: Heuristic("most", "random"), "allocation most: unknown; expected one of random, static"),
        (lambda: Heuristic("static"), "allocation static: no placement; expected one of random, greedy"),
        (lambda: Heuristic("static", "left"), "placement left: unknown"),
        (lambda: Planner(objective="money"), "objective: 'money' is unknown; expected one of node-hours"),
        (lambda: with_resources(three(), 5), "resources: 5 I/O resources on a platform of 4; expected at most 4"),
    ],
)
def test_wrong_names(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_saturation_is_said() -> None:
    chains = tuple(Application.of(f"a{i}", [("io", 1.0)], curve=Curve.of({1: 1.0, 2: 1.9})) for i in range(5))
    plan = Planner(horizon=20.0).plan(Workload(Platform(9.0, resources=2), chains))
    assert plan.chosen.saturated
    assert plan.chosen.io_load == pytest.approx(2.5)
    assert plan.chosen.stress == pytest.approx([1.0] * 5)


def test_lines_for_sites() -> None:
    placement = ((0, 1), (2,), (3,))
    rows = list(csv.reader(io.StringIO(csv_lines(three(), placement))))
    assert rows == [["job", "count", "resources"], ["a", "2", "0 1"], ["b", "1", "2"], ["c", "1", "3"]]
    striped = three(curve=Curve.of({1: 1.0}), directory="/scratch/my job")
    assert setstripe_lines(striped, placement).splitlines()[0] == "lfs setstripe -c 2 -o 0,1 '/scratch/my job'"
    with pytest.raises(InputError, match=r"applications\[0\]: the key 'directory' is missing; expected where its files lie"):
        setstripe_lines(three(), placement)
