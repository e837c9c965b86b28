"""``penstock groups`` as a user calls it, and the function of the same name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main

Capture = pytest.CaptureFixture[str]

ROWS = [("climate", 64, 600, 60_000), ("plasma", 64, 640, 64_000), ("small", 4, 10, 30), ("tiny", 4, 10, 20)]
DOCUMENT = {
    "penstock": 1,
    "platform": {"bandwidth": 1000.0, "nodes": 160},
    "applications": [
        *(
            {"name": name, "nodes": nodes, "phases": [{"repeat": 6, "phases": [["work", work], ["write", volume]]}]}
            for name, nodes, work, volume in ROWS
        ),
        {"name": "quiet", "phases": [["work", 60.0]]},
    ],
}


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


def test_the_tables_and_the_sentence(jobs: str, capsys: Capture) -> None:
    assert main(["groups", jobs]) == 0
    printed = capsys.readouterr().out
    groups, ways = printed.split("\n\n")
    assert groups.splitlines()[0].startswith("group ┃ applications ┃ volume of an operation ┃")
    assert len([line for line in groups.splitlines()[2:] if line]) == 2
    names = [line.split(" │")[0].strip() for line in ways.splitlines()[2:7]]
    assert names == ["all shared", "all exclusive", "groups, exclusive inside", "groups, shared inside", "a part each"]
    assert "node-hours to I/O" in printed
    assert "this assumes that applications start when they do without groups" in printed
    assert "note: 1 of 5 applications have no I/O, and are in no group" in printed


def test_json_has_what_the_function_gives(jobs: str, capsys: Capture) -> None:
    assert main(["groups", jobs, "--json", "--shared", "best-effort", "--exclusive", "johnson"]) == 0
    found = json.loads(capsys.readouterr().out)
    result = penstock.groups(jobs, shared="best-effort", exclusive="johnson")
    assert found == json.loads(json.dumps(result.to_dict()))
    assert [group["members"] for group in found["groups"]] == [["tiny", "small"], ["climate", "plasma"]]
    assert {way["policy"] for way in found["ways"]} == {"best-effort", "johnson"}
    rows = result.tables()["applications"]
    assert [row["group"] for row in rows] == [2, 2, 1, 1, None]
    totals = [sum(row[column] for row in rows) for column in rows[0] if column.startswith("lost_")]
    assert totals == pytest.approx([way["lost_node_hours"] for way in found["ways"]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shared", "fifo"], "shared: fifo serves one application at a time; expected one that shares, as fair-share"),
        (["--exclusive", "fcfs"], "exclusive: fcfs serves several applications at a time; expected one of turns, as fifo"),
    ],
)
def test_wrong_policies(jobs: str, capsys: Capture, options: list[str], message: str) -> None:
    assert main(["groups", jobs, *options]) == 2
    assert message in capsys.readouterr().err


def test_unused_fields_are_named(tmp_path: Path, capsys: Capture) -> None:
    platform = {**DOCUMENT["platform"], "resources": 4, "buffer": {"size": 1e6}}
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({**DOCUMENT, "platform": platform}))
    assert main(["groups", str(path), "--json"]) == 0
    assert "note: groups does not use platform.resources, platform.buffer.size" in capsys.readouterr().err
