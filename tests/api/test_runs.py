"""`penstock.simulate` and `penstock.bounds` do what the commands do; `Run` needs to be told where."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli.main import main
from penstock.engine import Run
from penstock.engine import simulate as run_engine
from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.placement.choice import choose_placement


def workload(*placements: list[int] | None) -> Workload:
    curves = ({1: 1.0, 2: 1.8}, {1: 1.0, 2: 1.2}, {1: 2.0, 2: 1.0})
    chain = [("work", 3.0), ("write", 10.0), ("read", 5.0)]
    applications = [
        Application.of(f"a{index}", chain, curve=curves[index], placement=placement)
        for index, placement in enumerate(placements)
    ]
    return Workload(Platform(6.0, resources=4), tuple(applications))


OWN = workload([0], [0, 1], [0])
NONE = workload(None, None, None)


def same(one: penstock.Result, other: penstock.Result) -> bool:
    return {**penstock.Result.to_dict(one), "seconds": 0} == {**penstock.Result.to_dict(other), "seconds": 0}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--allocation", "n-sys"], {"allocation": "n-sys"}),
        (["--allocation", "static", "--placement", "random"], {"allocation": "static", "placement": "random"}),
        (["--allocation", "mckp"], {"allocation": "mckp"}),
    ],
)
@pytest.mark.parametrize("load", [OWN, NONE], ids=["own", "none"])
def test_the_functions_do_what_the_commands_do(
    load: Workload, words: list[str], options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "w.json"
    penstock.write(load, path)
    assert main(["simulate", str(path), "--policy", "fcfs", "--json", *words]) == 0
    said = json.loads(capsys.readouterr().out)
    result = penstock.simulate(penstock.read(path), "fcfs", **options).to_dict()
    assert {**result, "seconds": 0} == {**{key: said[key] for key in result}, "seconds": 0}
    assert main(["bound", str(path), "--json", *words]) == 0
    said = json.loads(capsys.readouterr().out)
    bound = penstock.bounds(load, **options)
    assert (bound.min_yield, bound.efficiency) == (said["min_yield"], said["efficiency"])


@pytest.mark.parametrize(
    ("given", "meant"), [("polcy", "policy"), ("policies", "policy"), ("tracing", "trace"), ("chek", "check")]
)
def test_a_misspelt_argument_is_refused_with_the_one_that_may_be_meant(given: str, meant: str) -> None:
    for function in (penstock.simulate, penstock.compare):
        with pytest.raises(InputError, match=rf"^{given}: is no argument; expected one of .*; did you mean {meant}\?$"):
            function(NONE, **{given: True})


def test_resources_may_be_listed_and_one_link_asked_for() -> None:
    listed = penstock.simulate(NONE, "fcfs", placement=[[0], [0, 1], [0]])
    assert same(listed, penstock.simulate(OWN, "fcfs"))
    link = Workload(Platform(6.0), tuple(replace(one, curve=None) for one in NONE.applications))
    for load in (OWN, NONE):
        assert same(penstock.simulate(load, "fcfs", placement=False), penstock.simulate(link, "fcfs"))
        assert same(run_engine(load, "fcfs", placement=False), run_engine(link, "fcfs"))
        assert penstock.bounds(load, placement=False).min_yield == penstock.bounds(link).min_yield
    with pytest.raises(InputError, match=r"^allocation: 'tcpu' beside a placement that is given; expected one of the two"):
        penstock.simulate(NONE, "fcfs", allocation="tcpu", placement=[[0], [0], [0]])


def test_the_engine_goes_by_the_workloads_own_placement_and_finds_none() -> None:
    given = Run(OWN, "fcfs", placement=[[0], [0, 1], [0]]).finish()
    assert same(Run(OWN, "fcfs").finish(), given)
    assert same(run_engine(OWN, "fcfs"), given)
    assert [one.resources for one in given.applications] == [(0,), (0, 1), (0,)]
    message = (
        "placement: not given, and the applications share 4 I/O resources; expected those of each application "
        "(penstock.simulate finds them by default), or False for one link"
    )
    for attempt in (lambda: Run(NONE, "fcfs"), lambda: run_engine(NONE, "fcfs")):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value) == message
    with pytest.raises(InputError, match=r"^applications\[1\]: the key 'placement' is missing"):
        Run(workload([0], None, [1]), "fcfs")
    on = choose_placement(NONE)
    assert on is not None
    assert same(penstock.simulate(NONE, "fcfs"), Run(NONE, "fcfs", placement=on.resources).finish())


def test_without_curves_there_is_one_link() -> None:
    plain = Workload(NONE.platform, tuple(replace(one, curve=None) for one in NONE.applications))
    assert same(penstock.simulate(plain, "fcfs"), penstock.simulate(plain, "fcfs", placement=False))
    with pytest.raises(InputError, match="--allocation: the workload runs on one link"):
        penstock.simulate(plain, "fcfs", allocation="tcpu")


def contended() -> Workload:
    """Both post at 10 s: a 1 byte, b 3; before, a moved 2 bytes at once and b 1."""
    a = Application.of("a", [("work", 1.0), ("io", 2.0), ("work", 7.0), ("io", 1.0)])
    b = Application.of("b", [("work", 4.0), ("io", 1.0), ("work", 5.0), ("io", 3.0)])
    return Workload(Platform(1.0), (a, b))


def test_compare_runs_policies_on_several_kinds_of_information(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    penstock.write(contended(), tmp_path / "w.json")
    policies, told = ["greedy-com", "fcfs", "periodic-fifo"], ["true", "predicted"]
    found = penstock.compare(contended(), policies[:2], information=told)
    assert found.policies == ("greedy-com, true", "greedy-com, predicted", "fcfs")
    assert [one.end for one in found["greedy-com, predicted"].applications] == [14.0, 13.0]
    assert [run.get("information") for run in found.to_dict()["runs"]] == [None, "predicted", None]

    words = ["compare", "--policy", *policies[:2], "--information", *told, str(tmp_path / "w.json")]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "greedy-com, predicted" in printed
    assert "note: predicted: policies were shown what each application's own past says, not the true values" in printed
    assert main(["compare", str(tmp_path / "w.json"), "--policy", "static", "fcfs", "--information", "none"]) == 0
    captured = capsys.readouterr()
    assert "left out hierarchical-round-robin" in captured.err
    assert main(["simulate", str(tmp_path / "w.json"), "--policy", policies[2], "--information", "none"]) == 2
    assert "it fixes the order of all operations at the start" in capsys.readouterr().err


def test_simulate_says_what_the_policy_was_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    penstock.write(contended(), tmp_path / "w.json")
    words = ["simulate", str(tmp_path / "w.json"), "--policy", "greedy-com", "--json"]
    assert main([*words, "--information", "predicted"]) == 0
    assert json.loads(capsys.readouterr().out)["information"] == "predicted"
    assert main(words) == 0
    assert "information" not in json.loads(capsys.readouterr().out)
    assert main(["simulate", str(tmp_path / "w.json"), "--policy", "fcfs", "--information", "class"]) == 0
    assert "makes no difference to policies that need nothing of what lies ahead" in capsys.readouterr().err
