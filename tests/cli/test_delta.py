"""``penstock delta`` as a user calls it."""

import json
from pathlib import Path

import pytest

from penstock.cli.main import main

Capture = pytest.CaptureFixture[str]
QUARTER = ["delta", "--volume", "4GB", "1GB"]


def test_the_table_and_where_minds_change(capsys: Capture) -> None:
    assert main(QUARTER) == 0
    text = capsys.readouterr().out
    assert "alone: A 4 s, B 1 s" in text
    assert "coordinating: at dt = 3 s from “A is interrupted” to “B waits”" in text
    assert "serializing: at dt = 0 s from “A waits” to “B waits”" in text
    assert "5 (1.250)" in text


def test_json(capsys: Capture) -> None:
    assert main([*QUARTER, "--dt", "0", "4", "--points", "5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["alone"] == [4.0, 1.0]
    assert document["dt"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    serialized = document["strategies"]["serializing"]
    assert serialized["io_time"] == {"A": [4.0] * 5, "B": [5.0, 4.0, 3.0, 2.0, 1.0]}
    assert serialized["interference"]["B"] == serialized["io_time"]["B"]
    assert serialized["metric"] == [9.0, 8.0, 7.0, 6.0, 5.0]
    changes = document["strategies"]["coordinating"]["changes"]
    assert [(change["before"], change["after"]) for change in changes][1] == ("A is interrupted", "B waits")
    assert changes[1]["dt"] == pytest.approx(3.0)


def test_options(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "d.json"
    options = ["--nodes", "744", "24", "--volume", "744", "24", "--bandwidth", "56", "--node-bandwidth", "1"]
    options += ["--rounds", "4", "0", "--cap", "50", "20", "--degradation", "0.9", "--metric", "interference"]
    chosen = ["--strategy", "calciom", "fcfs", "--dt", "1", "1", "--points", "1", "-o", str(out)]
    assert main(["delta", *options, *chosen]) == 0
    document = json.loads(out.read_text())
    assert document["alone"] == [744 / 50, 24 / 20]
    assert list(document["strategies"]) == ["coordinating:metric=interference", "fcfs"]
    assert capsys.readouterr().out == ""


def test_one_strategy_twice(capsys: Capture) -> None:
    both = ["--strategy", "coordinating", "coordinating:metric=io-time", "--nodes", "1", "5", "--points", "3"]
    assert main([*QUARTER, *both]) == 0
    text = capsys.readouterr().out
    assert "coordinating A" in text
    assert "coordinating:metric=io-time A" in text


@pytest.mark.parametrize("name", ["d.svg", "d.png", "d.html"])
def test_a_drawing(name: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / name
    assert main([*QUARTER, "--points", "9", "--plot", str(path)]) == 0
    assert path.stat().st_size > 5_000
    assert f"plot: {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--volume", "-1", "1"], "A.volume: -1.0 is negative"),
        (["--volume", "1", "0"], "B.volume: 0 is nothing to write"),
        (["--strategy", "politely"], "policy politely: unknown; expected one of fair-share"),
        (["--dt", "3", "1"], "dt: from 3 to 1 s is no range; expected the first below the second"),
        (["--dt", "0", "inf"], "dt: from 0 to inf s is no range"),
        (["--points", "0"], "points: 0 points; expected 1 to"),
        (["--nodes", "0", "1"], "A.nodes: 0 is not a number of nodes"),
        (["--rounds", "0", "-2"], "B.rounds: -2 is not a number of rounds"),
        (["--degradation", "2"], "degradation: 2.0 is no part of the bandwidth"),
        (["--metric", "cost"], "metric: 'cost' is unknown; expected one of cpu-seconds"),
        (["--bandwidth", "fast"], "bandwidth: 'fast' is not an amount"),
        (["--plot", "d.txt"], "d.txt: cannot tell the format"),
    ],
)
def test_wrong_input_is_one_line(options: list[str], message: str, capsys: Capture) -> None:
    assert main(["delta", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
