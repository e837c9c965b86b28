"""Cells, tasks and campaigns, and the workloads they name."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import InputError, read, simulate
from penstock import campaign as run_campaign
from penstock.campaign import Campaign, Cell, grid
from penstock.campaign.campaign_files import from_document
from penstock.cli.main import main
from penstock.workloads import Synthetic, synthetic
from penstock.workloads.synthetic import demo
from tests.campaign.small import PARAMETERS


def test_the_same_cell_has_the_same_key_however_it_is_written() -> None:
    written = Cell("synthetic", {"pressure": 1}, 3, "fcfs")
    spelled_out = Cell("synthetic", {"small": 20, "pressure": 1.0, "horizon": "2e6"}, 3, "fcfs")
    assert written == spelled_out
    assert hash(written) == hash(spelled_out)
    # A key is a reference in results that may be years old: what it is made of must not change.
    text = '["synthetic",{"applications":60,"horizon":2000000.0,"noise":0.5,"pressure":1.0,"sigma":0.5,"small":20},3,"fcfs"]'
    assert written.key == spelled_out.key == hashlib.sha256(text.encode()).hexdigest()[:16]
    others = [
        Cell("synthetic", {"pressure": 1.1}, 3, "fcfs"),
        Cell("synthetic", {"pressure": 1}, 4, "fcfs"),
        Cell("synthetic", {"pressure": 1}, 3, "fair-share"),
    ]
    assert len({written.key, *(cell.key for cell in others)}) == 4


def test_a_cell_keeps_its_own_parameters() -> None:
    parameters = {"pressure": 0.5}
    cell = Cell("synthetic", parameters, 0, "fcfs")
    parameters["pressure"] = 0.7
    assert cell.parameters["pressure"] == 0.5


def test_the_command_of_a_synthetic_cell_computes_it(tmp_path: Path) -> None:
    parameters = {"pressure": 0.7, "small": 1, "sigma": 0.3, "noise": 0.1, "horizon": 2e4, "applications": 5}
    cell = Cell("synthetic", parameters, 7, "periodic-greedy-yield:delta=1 min")
    assert cell.command() == (
        "penstock generate synthetic --pressure=0.7 --small=1 --sigma=0.3 --noise=0.1 --horizon=20000.0 --applications=5 "
        "--seed=7 -o w.json && penstock simulate w.json --policy 'periodic-greedy-yield:delta=1 min'"
    )
    command = cell.command().replace("penstock ", f"{sys.executable} -m penstock ") + " --json"
    finished = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, timeout=300, check=True)
    direct = simulate(synthetic(Synthetic(**cell.parameters), 7), cell.policy)
    assert json.loads(finished.stdout)["min_yield"] == direct.min_yield


def test_the_command_of_an_apex_cell_names_the_window() -> None:
    cell = Cell("apex", {"workload": "nersc", "machine": "M_0"}, 5, "fcfs")
    assert cell.command(3) == (
        "penstock generate apex --workload=nersc --machine=cielo --count=20 --start=lead --seed=5 -o w"
        " && penstock simulate w/window-03.json --policy fcfs"
    )


def test_the_workloads_of_an_apex_cell_are_those_its_command_writes(tmp_path: Path) -> None:
    cell = Cell("apex", {"workload": "trilab", "machine": "M_2", "count": 2}, 5, "fcfs")
    (task,) = Campaign("apex", (cell,)).tasks
    options = ["--workload=trilab", "--machine=M_2", "--count=2", "--seed=5"]
    assert main(["generate", "apex", *options, "-o", str(tmp_path / "w")]) == 0
    made = task.workloads()
    assert len(made) == 2
    written = read(tmp_path / "w" / "window-01.json")
    assert written.window == made[1].window
    assert [a.name for a in written.applications] == [a.name for a in made[1].applications]


def test_a_file_is_a_workload_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "my demo.json"
    assert main(["generate", "demo", "-o", str(path)]) == 0
    cell = Cell("file", {"path": str(path)}, 0, "fcfs")
    assert cell.command() == f"penstock simulate '{path}' --policy fcfs"
    (task,) = Campaign("file", (cell,)).tasks
    assert len(task.workloads()[0].applications) == 8
    path.write_text(path.read_text() + " ")
    assert Cell("file", {"path": str(path)}, 0, "fcfs").key != cell.key
    with pytest.raises(
        InputError, match=r"demo\.json: the file has changed; expected the content with SHA-256 [0-9a-f]{16}"
    ):
        task.workloads()


def test_a_task_holds_the_policies_of_one_workload() -> None:
    campaign = grid("tasks", "synthetic", PARAMETERS, [4, 2], ["fcfs", "fair-share"])
    assert [(cell.parameters["pressure"], cell.seed, cell.policy) for cell in campaign.cells[:5]] == [
        (0.5, 4, "fcfs"),
        (0.5, 4, "fair-share"),
        (0.5, 2, "fcfs"),
        (0.5, 2, "fair-share"),
        (0.9, 4, "fcfs"),
    ]
    assert [len(task.cells) for task in campaign.tasks] == [2, 2, 2, 2]
    assert tuple(cell for task in campaign.tasks for cell in task.cells) == campaign.cells
    assert len({task.key for task in campaign.tasks}) == 4


def test_a_campaign_describes_itself_as_its_file_would() -> None:
    definition = grid("tasks", "synthetic", PARAMETERS, range(5), ["fcfs"]).definition()
    assert [entry["seeds"] for entry in definition["grids"]] == [{"first": 0, "count": 5}] * 2
    assert definition["grids"][1]["parameters"]["pressure"] == 0.9
    scattered = grid("tasks", "synthetic", PARAMETERS, [0, 7], ["fcfs"]).definition()
    assert scattered["grids"][0]["seeds"] == [0, 7]
    assert scattered["digest"] != definition["digest"]


CELL = Cell("synthetic", {"pressure": 0.5}, 0, "fcfs")


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("", (CELL,), r"campaign: '' is no name; expected a text"),
        ("x", (), r"cells: there is none; expected one or more"),
        ("x", (CELL, CELL), r"cells\[1\]: stands twice \(penstock generate .* fcfs\); expected each cell once"),
        ("x", (Cell("synthetic", {"pressure": 1}, 0, "best"),), r"policy best: unknown; expected one of fair-share, fcfs"),
    ],
)
def test_a_campaign_checks_itself(name: str, cells: tuple[Cell, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Campaign(name, cells)


@pytest.mark.parametrize("seed", [-1, True, 1.0, "1", 2**63])
def test_a_cell_refuses_what_is_no_seed(seed: object) -> None:
    with pytest.raises(InputError, match=r"seed: .* is no seed; expected a whole number, 0 or more"):
        Cell("synthetic", {"pressure": 0.5}, seed, "fcfs")  # type: ignore[arg-type]


def test_information_is_crossed_with_policies_but_not_with_bounds(tmp_path: Path) -> None:
    described = {
        "campaign": "told",
        "workload": "demo",
        "seeds": [1],
        "policies": ["greedy-com", "bound"],
        "information": [True, "none"],  # true without quotes, as YAML reads it
    }
    campaign = from_document(described)
    assert [(cell.policy, cell.information) for cell in campaign.cells] == [
        ("greedy-com", None),
        ("greedy-com", "none"),
        ("bound", None),
    ]
    assert campaign.cells[0].key == Cell("demo", {}, 1, "greedy-com").key  # rows of the truth keep their keys
    assert campaign.cells[1].command().endswith("penstock simulate w.json --policy greedy-com --information none")
    assert len(campaign.tasks) == 1
    result = run_campaign(campaign, tmp_path / "told", workers=1)
    rows = [(row["policy"], row["information"], row["min_yield"]) for row in result.table.to_pylist()]
    made = demo(1)
    assert rows[:2] == [
        ("greedy-com", "true", simulate(made, "greedy-com").min_yield),
        ("greedy-com", "none", simulate(made, "greedy-com", information="none").min_yield),
    ]
    assert rows[2][:2] == ("bound", None)
    assert [(row["policy"], row["information"]) for row in result.by_policy()][:2] == [
        ("greedy-com", "true"),
        ("greedy-com", "none"),
    ]
    assert result.summary().by == ("policy", "information")


@pytest.mark.parametrize(
    ("information", "message"),
    [
        (
            "predict",
            "information: 'predict' is unknown; expected one of true, predicted, class, none; did you mean predicted?",
        ),
        ([], "information: is empty; expected one or more values"),
        (["none", "none"], "information: 'none' stands twice; expected each value once"),
        (3, "information: 3 is none; expected true, predicted, class, none, or a list of them"),
    ],
)
def test_wrong_information_is_refused(information: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        from_document({"campaign": "x", "workload": "demo", "policies": ["fcfs"], "information": information})
    assert str(error.value) == message
