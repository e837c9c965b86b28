"""Campaign files, and the one line that each wrong one gets."""

from pathlib import Path

import pytest

from penstock import InputError
from penstock.campaign import SOURCES, grid, read
from penstock.policies import REGISTRY, expand

GOOD = """
campaign: pressure
workload: synthetic
parameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}   # lists are crossed
seeds: {first: 0, count: 20}
policies: [fair-share, greedy-yield]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "c.yaml"
    path.write_text(text)
    return path


def test_a_file_and_code_describe_the_same_campaign(tmp_path: Path) -> None:
    campaign = read(written(tmp_path, GOOD))
    parameters = {"pressure": [0.2, 0.5, 0.8], "sigma": 0.5}
    assert campaign == grid("pressure", "synthetic", parameters, range(20), ["fair-share", "greedy-yield"])
    assert len(campaign.cells) == 3 * 20 * 2


def test_what_a_file_leaves_out(tmp_path: Path) -> None:
    campaign = read(written(tmp_path, "campaign: all\nworkload: synthetic\nparameters: {pressure: 2e-1}\n"))
    assert campaign.policies == tuple(expand(["sharing"]))
    assert {(cell.seed, cell.parameters["pressure"]) for cell in campaign.cells} == {(0, 0.2)}


def test_seeds_can_be_a_list(tmp_path: Path) -> None:
    campaign = read(written(tmp_path, GOOD.replace("{first: 0, count: 20}", "[7, 3]")))
    assert [task.cells[0].seed for task in campaign.tasks[:2]] == [7, 3]


WRONG = [
    (
        "workload: synthetic",
        "workload: clay",
        f"workload: 'clay' is unknown; expected one of {', '.join(SOURCES)}",
    ),
    ("workload: synthetic", "workload: [a]", "workload: ['a'] is not a kind of workload; expected a name"),
    (
        "seeds:",
        "seed:",
        "seed: unknown key; expected one of campaign, workload, parameters, seeds, policies, allocation, placement, "
        "information",
    ),
    ("workload: synthetic\n", "", "workload: is missing; expected the keys campaign, workload"),
    ("campaign: pressure", "campaign: 3", "campaign: 3 is no name; expected a text"),
    (
        "sigma: 0.5",
        "sigmaa: 0.5",
        "parameters.sigmaa: unknown; expected one of "
        "pressure, small, sigma, noise, horizon, applications, node_share, largest; did you mean sigma?",
    ),
    ("sigma: 0.5", "sigma: wide", "parameters.sigma: 'wide' is not a number; expected a number"),
    ("sigma: 0.5", "sigma: -1", "parameters.sigma: -1.0 is out of range; expected a number, 0 or more"),
    ("sigma: 0.5", "sigma: .nan", "parameters.sigma: nan is out of range; expected a number, 0 or more"),
    ("sigma: 0.5", "sigma: yes", "parameters.sigma: True is not a number; expected a number"),
    ("sigma: 0.5", "small: 2.5", "parameters.small: 2.5 is not a whole number; expected one"),
    ("sigma: 0.5", "sigma: []", "parameters.sigma: is empty; expected one or more values"),
    ("sigma: 0.5", "sigma: [1, 2, 1]", "parameters.sigma: 1 stands twice; expected each value once"),
    (
        "synthetic\nparameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "packs\nparameters: {variance: 0.2}",
        "parameters.load: is missing; expected a value",
    ),
    (
        "{pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "[1]",
        "parameters: [1] is not an object; expected names and values",
    ),
    (
        "synthetic\nparameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "apex\nparameters: {workload: nersk}",
        "parameters.workload: 'nersk' is unknown; expected one of nersc, trilab",
    ),
    (
        "synthetic\nparameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "apex\nparameters: {workload: nersc, count: 0}",
        "parameters.count: 0 is out of range; expected 1 or more",
    ),
    (
        "synthetic\nparameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "apex\nparameters: {workload: 5}",
        "parameters.workload: 5 is not a text; expected one",
    ),
    (
        "synthetic\nparameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}",
        "file\nparameters: {path: /nowhere/w.json}",
        "parameters.path: /nowhere/w.json cannot be read: No such file or directory; expected a workload file",
    ),
    (
        "fair-share, greedy",
        "best, greedy",
        f"policies[0]: policy best: unknown; expected one of {', '.join(REGISTRY)}, "
        "or your own as module:name or ./file.py:name",
    ),
    ("fair-share, greedy-yield", "fcfs, 3", "policies[1]: 3 is no name; expected one that `penstock policies` lists"),
    ("fair-share, greedy-yield", "fcfs, fcfs", "policies: 'fcfs' stands twice; expected each value once"),
    ("[fair-share, greedy-yield]", "fcfs", "policies: 'fcfs' is not a list; expected a list of names"),
    ("[fair-share, greedy-yield]", "[]", "policies: is empty; expected one or more values"),
    ("{first: 0, count: 20}", "5", "seeds: 5 are no seeds; expected a list, or an object with first and count"),
    ("{first: 0, count: 20}", "[0, -3]", "seeds[1]: -3 is no seed; expected a whole number, 0 or more"),
    ("{first: 0, count: 20}", "[4, 4]", "seeds: 4 stands twice; expected each value once"),
    ("first: 0", "first: -1", "seeds.first: -1 is out of range; expected a whole number, 0 or more"),
    ("count: 20", "count: 0", "seeds.count: 0 is out of range; expected a whole number, 1 or more"),
    ("count: 20", "count: 99000000", "seeds.count: 99,000,000 are too many; expected at most 10,000,000"),
    (
        "count: 20",
        "count: 9000000",
        "cells: 54,000,000 are too many; expected at most 10,000,000, or several campaigns",
    ),
    ("seeds:", "campaign:", "the key 'campaign' stands twice in one object; expected each key once"),
    (
        "greedy-yield]",
        "greedy-yield",
        "line 7, column 1: the file is not YAML or ends too early: did not find expected ',' or ']'; expected a campaign",
    ),
    (
        GOOD,
        "pressure",
        "'pressure' is not a campaign; expected the keys campaign, workload, parameters, seeds, policies, allocation, "
        "placement, information",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=[message[:40] for _, _, message in WRONG])
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: {message}"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none\.yaml: cannot be read: No such file or directory; expected a campaign file$"
    ):
        read(tmp_path / "none.yaml")
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"campaign: \xff")
    with pytest.raises(InputError, match=r"binary\.yaml: byte 10 is not UTF-8 text; expected a campaign file in YAML$"):
        read(path)
