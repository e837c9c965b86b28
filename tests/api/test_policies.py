"""A function is a policy, in a run and in a campaign; so is a `Policy`, in a file with a parameter too."""

import dataclasses
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import penstock
from penstock import InputError, Need, Parameter, Policy
from penstock.campaign import Campaign, Cell, grid
from penstock.cli.main import main
from penstock.numeric.compiled import JIT
from penstock.policies import REGISTRY
from penstock.policies.order import fill
from penstock.policies.registry import as_policy, find
from tests.api.conftest import Printed

HALF = 0.5


@numba.njit
def smaller(one, other):
    return one if one < other else other


def oldest(view, rates):
    """Fill the link in the order of posting times."""
    fill(view, view.posted, rates)


def equal_parts(view, rates):
    """The same rate for everyone who can use it."""
    for i in range(len(rates)):
        rates[i] = smaller(view.cap[i], view.bandwidth / len(rates))


def capped(view, rates):
    """A part of the link in the order of posting times."""
    rates[:] = 0.0
    rates[np.argmin(view.posted)] = min(view.cap[np.argmin(view.posted)], HALF * view.parameter * view.bandwidth)


CAPPED = Policy(
    name="capped",
    rates=capped,
    summary="only one, and only a part",
    needs=(Need.POSTING,),
    idles=True,
    parameter=Parameter("part", 2.0, "how many halves of the link are used"),
    makes_arrays=True,
)


def test_a_function_is_a_policy(demo: Path) -> None:
    result = penstock.simulate(demo, oldest)
    assert result.policy == "oldest"
    assert result.yields.tolist() == penstock.simulate(demo, "fcfs").yields.tolist()
    assert penstock.simulate(demo, numba.njit(oldest)).yields.tolist() == result.yields.tolist()
    compared = penstock.compare(demo, [oldest, "fcfs", equal_parts], bound=False)
    assert compared.policies == ("oldest", "fcfs", "equal_parts")
    assert penstock.compare(demo, oldest, bound=False).policies == ("oldest",)


def test_a_policy_object_is_guarded_whoever_made_it(demo: Path) -> None:
    wrong = Policy(name="wrong", rates=lambda view, rates: rates.fill(-1.0), summary="")
    assert wrong.built_in
    assert not as_policy(wrong).built_in
    with pytest.raises(penstock.PolicyFault, match=r"^policy wrong: at .* the rate -1"):
        penstock.simulate(demo, wrong)
    assert as_policy(REGISTRY["fcfs"]) is REGISTRY["fcfs"]
    tuned = find("periodic-greedy-yield:delta=60")
    assert as_policy(tuned) is tuned
    assert as_policy(CAPPED).order is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "policy 3: it is no policy; expected a name, a function of (view, rates) or a Policy"),
        (lambda view: None, "policy <lambda>: it does not take two arguments; expected a function of (view, rates)"),
        ("best", "policy best: unknown; expected one of fair-share"),
    ],
)
def test_what_is_no_policy_is_refused(demo: Path, given: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        penstock.simulate(demo, given)
    assert str(caught.value).startswith(message)


def plain(value):
    return value / 2.0


def calls_plain(view, rates):
    for i in range(len(rates)):
        rates[i] = plain(view.cap[i] / len(rates))


def test_a_function_that_is_called_must_be_compiled(demo: Path) -> None:
    if not JIT:
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT")
    with pytest.raises(InputError) as caught:
        penstock.simulate(demo, calls_plain)
    assert str(caught.value) == (
        "policy calls_plain: it cannot be compiled: it calls plain, which is not compiled; "
        "expected @numba.njit above its definition"
    )


FILE = """
    from penstock import Need, Parameter, Policy

    def rates(view, rates):
        rates[:] = 0.0
        first = 0
        for i in range(len(rates)):
            if view.posted[i] < view.posted[first]:
                first = i
        rates[first] = min(view.cap[first], view.parameter * view.bandwidth)

    PART = Policy(name="part", rates=rates, summary="", parameter=Parameter("tau", 1.0, "how much of the link"))
    WAYS = Policy(name="ways", rates=rates, summary="", parameter=Parameter("way", 1, "which", ("none", "all")))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # another test may have imported its own
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(FILE))
    return path


def test_a_policy_of_a_file_has_a_parameter(file: Path, demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = find("./mine.py:PART:tau=0.25")
    assert (policy.name, policy.value, policy.built_in) == ("part:tau=0.25", 0.25, False)
    assert find("./mine.py:PART").value == 1.0
    assert find("./mine.py:WAYS:way=none").value == 0.0
    quarter = penstock.simulate(demo, "./mine.py:PART:tau=0.25")
    assert quarter.store_utilization[0] < penstock.simulate(demo, "./mine.py:PART").store_utilization[0] <= 1.0
    assert main(["simulate", str(demo), "--policy", "./mine.py:PART:tau=0.25", "--json"]) == 0
    assert '"policy": "part:tau=0.25"' in capsys.readouterr().out
    imported = find("mine:PART:tau=0.5")
    assert imported.value == 0.5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./mine.py:PART:rho=1", "policy part: unknown parameter 'rho'; expected tau"),
        ("./mine.py:PART:tau=-1", "policy part: tau: '-1' is no such number; expected 0 or more"),
        ("./mine.py:WAYS:way=some", "policy ways: way: 'some' is unknown; expected one of none, all"),
        ("./mine.py:rates:tau=1", "policy ./mine.py:rates: unknown parameter 'tau'; it has none"),
        ("./mine.py:PART:tau", "policy ./mine.py:PART:tau: unknown; expected one of fair-share"),
        ("./mine.py:NONE:tau=1", "policy ./mine.py:NONE:tau=1: no function 'NONE' there; expected one of rates, PART, WAYS"),
    ],
)
def test_wrong_parameters_of_a_file(file: Path, name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        find(name)
    assert str(caught.value).startswith(message)


# ------------------------------------------------------------------ in every function and command that takes a policy


def dynamic(document: dict[str, Any]) -> dict[str, Any]:
    """The only strategy found that shares by a policy."""
    (found,) = [one for one in document["found"] if one["policy"] != "plan"]
    return found


def test_a_function_shares_the_file_system_in_a_search(writers: str) -> None:
    result = penstock.buffer(writers, size="50 GB", dynamic=True, policy=[equal_parts, "best-effort"], threshold=0)
    found = {one.strategy.policy_name: one.stretch for one in result.advice.found}
    assert found["equal_parts"] == pytest.approx(found["best-effort"], rel=1e-9)  # all caps are alike
    assert [policy.name for policy in result.policies] == ["equal_parts", "best-effort"]
    only = dynamic(penstock.buffer(writers, size="50 GB", dynamic=True, policy=oldest, threshold=0).to_dict())
    named = dynamic(penstock.buffer(writers, size="50 GB", dynamic=True, policy="fcfs", threshold=0).to_dict())
    assert (only["strategy"], only["policy"]) == ("dynamic, oldest", "oldest")
    assert only["max_stretch"] == named["max_stretch"]
    half = dynamic(penstock.buffer(writers, size="50 GB", dynamic=True, policy=CAPPED, threshold=0).to_dict())
    assert half["policy"] == "capped"


def test_a_built_in_policy_keeps_the_name_that_was_asked_for(writers: str) -> None:
    result = penstock.buffer(writers, size="50 GB", dynamic=True, policy="serializing", threshold=0)
    assert result.to_dict()["found"][0]["policy"] == "serializing"
    assert [policy.name for policy in result.policies] == ["fifo"]


def test_a_function_is_a_strategy() -> None:
    pair = {"volume": ("4 GB", "1 GB"), "dt": (0.0, 4.0), "points": 5}
    result = penstock.delta(**pair, strategy=[oldest, "fcfs", CAPPED])
    assert list(result.graph.times) == ["oldest", "fcfs", "capped"]
    assert result.graph.times["oldest"].tolist() == result.graph.times["fcfs"].tolist()
    assert result.graph.changes["oldest"] == result.graph.changes["fcfs"]
    assert list(penstock.delta(**pair, strategy=oldest).graph.times) == ["oldest"]
    assert list(penstock.delta(**pair, strategy=[oldest, oldest]).graph.times) == ["oldest"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([oldest, CAPPED, 3], "policy 3: it is no policy; expected a name, a function of (view, rates) or a Policy"),
        (3, "policy 3: it is no policy; expected a name, a function of (view, rates) or a Policy"),
        (
            [oldest, dataclasses.replace(CAPPED, name="oldest")],
            "policy oldest: is the name of two policies; expected another name for one of them",
        ),
    ],
)
def test_what_is_no_strategy_is_refused(writers: str, given: object, message: str) -> None:
    for call in (lambda: penstock.delta(strategy=given), lambda: penstock.buffer(writers, size=1e9, policy=given)):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == message


def test_a_live_strategy_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("penstock.api.deltas.bed.find", lambda _: types.SimpleNamespace(bandwidth=1e6))
    with pytest.raises(InputError) as caught:
        penstock.delta(live=tmp_path, strategy=["fcfs", oldest])
    expected = "strategy: oldest has no name that a coordinator can find; expected ./mine.py:oldest"
    assert str(caught.value) == expected


@pytest.mark.parametrize(("name", "slow"), [("PART:tau=0.5", 2.0), ("PART", 1.0)])
def test_a_policy_of_a_file_in_a_search_and_as_a_strategy(
    file: Path, writers: str, printed: Printed, name: str, slow: float
) -> None:
    own = f"./mine.py:{name}"
    found = dynamic(printed("buffer", writers, "--size", "50 GB", "--dynamic", "--threshold", 0, "--policy", own))
    assert (found["strategy"], found["policy"]) == (f"dynamic, {own}", own)
    document = printed("delta", "--volume", "4GB", "1GB", "--dt", 0, 4, "--points", 2, "--strategy", own)
    # A takes 4 s alone; where B posts with A, the first of the two has half of the link or all of it.
    assert document["strategies"][own]["io_time"] == {"A": [4.0 * slow] * 2, "B": [5.0 * slow, 5.0 * slow - 4.0]}


def test_every_command_takes_the_policy_of_a_file(
    file: Path, demo: Path, jobs: str, curved: str, printed: Printed, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "./mine.py:PART:tau=0.5"
    assert printed("simulate", demo, "--policy", own)["policy"] == "part:tau=0.5"
    assert printed("compare", demo, "--no-bound", "--policy", own)["runs"][0]["policy"] == "part:tau=0.5"
    assert printed("pack", jobs, "--policy", own)["policy"] == "part:tau=0.5"
    placed = ("place", curved, "--allocation", "static", "--policy")
    half, full = (printed(*placed, name)["chosen"]["result"] for name in (own, "./mine.py:PART"))
    assert half["mean_slowdown"] > full["mean_slowdown"]
    assert main(["delta", "--points", "3", "--strategy", own, "fcfs"]) == 0
    assert own in " ".join(capsys.readouterr().out.split())


# ------------------------------------------------------------------ in campaigns

GRID = {"pressure": [0.5, 0.9], "applications": 4, "small": 1, "horizon": 2e4}


def described(*policies: object) -> dict[str, object]:
    return {"campaign": "own", "workload": "synthetic", "parameters": GRID, "seeds": range(2), "policies": list(policies)}


def test_functions_and_objects_run_in_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned = CAPPED.with_parameters({"part": "1"})
    result = penstock.campaign(described(oldest, equal_parts, CAPPED, tuned, "fcfs"), tmp_path / "out", workers=1)
    assert result.failures == []
    rows = result.to_pandas()
    yields = {name: group["min_yield"].tolist() for name, group in rows.groupby("policy")}
    assert set(yields) == {"oldest", "equal_parts", "capped", "capped:part=1", "fcfs"}
    assert yields["oldest"] == yields["fcfs"]
    assert max(yields["capped:part=1"]) < min(yields["capped"])
    # The command of a row works in the folder of the campaign.
    command = rows["command"][rows["policy"] == "capped:part=1"].iloc[0]
    assert command.endswith("--policy policies/capped_part_1.py:POLICY")
    text = (tmp_path / "out" / "policies" / "capped_part_1.py").read_text()
    assert "HALF = 0.5" in text
    assert "import numpy as np" in text
    make, compute = (one.split()[1:] for one in command.split(" && "))
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.chdir(tmp_path / "out")
        assert main(make) == 0
        assert main([*compute, "--json"]) == 0
    assert f'"min_yield": {yields["capped:part=1"][0]!r}' in capsys.readouterr().out


SCRIPT = """
    import sys
    import penstock

    PART = {part}

    def mine(view, rates):
        for i in range(len(rates)):
            rates[i] = PART * min(view.cap[i], view.bandwidth / len(rates))

    if __name__ == "__main__":
        grid = {{"pressure": [0.5], "applications": 4, "small": 1, "horizon": 2e4}}
        document = {{"campaign": "own", "workload": "synthetic", "parameters": grid, "policies": [mine]}}
        result = penstock.campaign(document, sys.argv[1], workers=1)
        print(result.table["min_yield"][0].as_py(), result.failures)
"""


def run_script(folder: Path, part: float) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(part=part)))
    command = [sys.executable, str(script), str(folder / "out")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_script_goes_on_with_the_same_policy_and_not_with_another(tmp_path: Path) -> None:
    first = run_script(tmp_path, 1.0)
    assert first.returncode == 0, first.stderr
    assert first.stdout.endswith(" []\n")
    part = next((tmp_path / "out" / "parts").iterdir())
    written = part.stat().st_mtime_ns
    assert run_script(tmp_path, 1.0).stdout == first.stdout
    assert part.stat().st_mtime_ns == written
    other = run_script(tmp_path, 0.5)
    assert "the files of its policies mine have changed; expected a new or an empty folder" in other.stderr


def test_the_text_of_a_policy_is_in_the_key() -> None:
    def first(policy: object) -> Cell:
        return grid("c", "synthetic", GRID, policies=[policy]).cells[0]

    cell = first(oldest)
    assert cell.own is not None
    assert cell.key == first(oldest).key
    changed = dataclasses.replace(cell, own=dataclasses.replace(cell.own, text=f"{cell.own.text}\n"))
    assert len({cell.key, changed.key, first(equal_parts).key, first("fcfs").key}) == 4
    with pytest.raises(InputError, match="policy oldest: has two different texts; expected another name for one of them"):
        Campaign("c", (cell, changed))


def enclosed(limit: float):
    def inner(view, rates):
        rates[:] = limit

    return inner


THINGS = [1.0, 2.0]


def uses_a_list(view, rates):
    rates[:] = THINGS[0]


def fcfs(view, rates):
    rates[:] = 0.0


def without_source():
    names: dict[str, object] = {}
    exec("def typed(view, rates):\n    rates[:] = 0.0\n", names)
    return names["typed"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda view, rates: None, "policy <lambda>: a lambda has no source of its own; expected a function made by def"),
        (enclosed(1.0), "policy inner: inner uses limit of an enclosing function; expected constants of the module"),
        (uses_a_list, "policy uses_a_list: it uses list [1.0, 2.0]; expected functions, modules, numbers, texts and tuples"),
        (without_source(), "policy typed: the source of typed cannot be found; expected it in a file or a notebook"),
        (fcfs, "policy fcfs: is the name of a built-in policy or family; expected another name"),
        (3, "3 is no name; expected one that `penstock policies` lists"),
    ],
)
def test_what_cannot_go_to_workers_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        grid("c", "synthetic", GRID, policies=[given])
    assert str(caught.value).startswith(f"policies[0]: {message}")
    assert "\n" not in str(caught.value)


def other(view, rates):
    rates[:] = 0.0


def test_a_function_with_a_second_name(demo: Path) -> None:
    renamed = types.FunctionType(oldest.__code__, globals(), "other_name")
    own = grid("c", "synthetic", GRID, policies=[renamed]).cells[0].own
    assert own is not None
    assert own.text.endswith("other_name = oldest\n")
    assert penstock.simulate(demo, own.load()).policy == "other_name"


def test_a_name_stands_for_one_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other, "__name__", "oldest")
    with pytest.raises(InputError, match=r"^policies: 'oldest' stands twice; expected each value once"):
        grid("c", "synthetic", GRID, policies=[oldest, other])
