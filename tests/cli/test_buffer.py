"""``penstock buffer`` as a user calls it."""

import json
import re
from pathlib import Path

import pytest

from penstock.cli.main import main

Capture = pytest.CaptureFixture[str]
WRITER = [{"repeat": 3, "phases": [["work", "10 s"], ["write", "40 GB"]]}]


def written(path: Path, *phases, platform=None, **common) -> str:
    applications = [
        {"name": f"[b]job{index}", "bandwidth": "5 GB/s", "phases": chain, **common}
        for index, chain in enumerate(phases or (WRITER, WRITER, WRITER))
    ]
    platform = platform or {"bandwidth": "4 GB/s"}
    path.write_text(json.dumps({"penstock": 1, "platform": platform, "applications": applications}))
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path / "w.json")


def test_the_tables(file: str, capsys: Capture) -> None:
    assert main(["buffer", file]) == 0
    text = capsys.readouterr().out
    assert "size for stretch 1" in text
    assert "[b]job2" in text
    assert "note: static, fair sharing: largest stretch" in text
    assert "checked" in text
    assert "1.000000" in text, "the stretch of the plans when carried out"
    # One more is a tenth of the buffer, whatever its size.
    assert re.search(
        r"note: dynamic, fair sharing: largest stretch by dates \d\.\d{4} with [\d.]+ [GT]B, \d\.\d{4} with ", text
    )
    assert "no buffer, fair sharing" in text
    assert "recommendation: a buffer of " in text


def test_the_plan_is_a_strategy_and_stretches_count_by_durations_too(file: str, capsys: Capture) -> None:
    assert main(["buffer", file, "--static", "--json"]) == 0
    enough = json.loads(capsys.readouterr().out)["plans"]["static"]["size"]
    for by in ("dates", "durations"):
        assert main(["buffer", file, "--static", "--size", str(1.01 * enough), "--by", by, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        best = document["found"][0]
        assert (best["strategy"], best["max_stretch"]) == ("static, plan", pytest.approx(1.0, abs=1e-6))
        assert best["lost_node_hours"] == pytest.approx(0.0, abs=1e-6)
        assert document["no_buffer"]["lost_node_hours"] > 1e-3
        assert best["shares_at_once"] <= 1.01 * enough
        assert [one["name"] for one in document["through"]] == [
            f"[b]job{index}" for index in range(len(document["through"]))
        ]
        assert document["recommendation"].startswith("a buffer of ")
        assert main(["buffer", file, "--static", "--stretch", "1.1", "--by", by, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["asked"] == {"size": None, "stretch": 1.1, "by": by}
        measure = "max_stretch" if by == "dates" else "max_duration_stretch"
        assert document["found"][0][measure] <= 1.1 + 1e-6
        found = document["found"][0]["size"]
        assert 0.0 < document["bound"] <= found * (1.0 + 1e-6) <= enough * (1.0 + 1e-5)


def test_a_scheduler_starts_the_jobs_of_a_stream(tmp_path: Path, capsys: Capture) -> None:
    """Two jobs of 3 of 4 nodes at one time: the second starts when the first has ended, and its burst does not meet."""
    phases = [["work", 10.0], ["write", 40.0]]
    jobs = [{"name": name, "nodes": 3, "bandwidth": 5.0, "phases": phases} for name in "ab"]
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"penstock": 1, "platform": {"bandwidth": 2.0, "nodes": 4}, "applications": jobs}))
    sizes = []
    for options in ([], ["--scheduler", "fcfs"]):
        assert main(["buffer", str(path), "--dynamic", "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        sizes.append(document["plans"]["dynamic"]["size"])
        releases = [one["release"] for one in document["plans"]["dynamic"]["applications"]]
    # At one time 80 bytes in 8 s, of which 16 leave. One after the other, at 18 s each, 24 are left at an end; of the first
    # ones 20 leave until the second write begins, and 4 are still there.
    assert sizes == pytest.approx([64.0, 28.0])
    assert releases == [0.0, 18.0]


def test_json_has_everything(file: str, capsys: Capture) -> None:
    assert main(["buffer", file, "--size", "50 GB", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    static, dynamic = document["plans"]["static"], document["plans"]["dynamic"]
    assert static["status"] == dynamic["status"] == "optimal"
    assert static["size"] >= dynamic["size"] > 0.0
    assert static["effort"]["gap"] < 1e-6
    assert document["verified"]["static"]["holds"]
    assert document["verified"]["static"]["excess"] <= 1.0
    assert document["verified"]["dynamic"]["stretch"] == pytest.approx(1.0, abs=1e-9)
    assert document["backlog"]["size"] == pytest.approx(dynamic["size"])
    assert document["asked"] == {"size": 50e9, "stretch": None, "by": "dates"}
    assert document["found"][0]["max_stretch"] >= document["bound"] - 1e-6
    assert 40e9 < sum(document["shares"]) <= 50e9 * (1.0 + 1e-6), "all run together, so their shares add up"
    assert document["fair_sharing"]["static"]["size"] == 50e9


def test_a_stretch(file: str, capsys: Capture) -> None:
    assert main(["buffer", file, "--stretch", "1.2", "--dynamic", "--policy", "best-effort"]) == 0
    text = capsys.readouterr().out
    assert "note: a stretch of 1.2 takes at least" in text
    assert "dynamic, best-effort" in text
    assert "static" not in text


def test_files(file: str, tmp_path: Path, capsys: Capture) -> None:
    plan, lines, plot = (tmp_path / name for name in ("plan.json", "lines.txt", "plot.svg"))
    arguments = ["--static", "--plan", str(plan), "--directives", str(lines), "--style", "bb", "--plot", str(plot)]
    assert main(["buffer", file, *arguments]) == 0
    assert json.loads(plan.read_text())["plans"]["static"]["applications"][0]["writes"]["dates"]
    assert lines.read_text().splitlines()[0] == "# [b]job0"
    assert lines.read_text().splitlines()[1].startswith("#BB capacity=")
    assert plot.stat().st_size > 5_000
    assert main(["buffer", file, "--static", "--directives", "-"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("#DW jobdw type=scratch")


def test_reads_that_cannot_be_in_time(tmp_path: Path, capsys: Capture) -> None:
    late = [["read", "40 GB"], ["work", 10]]
    file = written(tmp_path / "late.json", late, late)
    assert main(["buffer", file]) == 1
    text = capsys.readouterr().out
    assert "infeasible" in text
    assert "note: " in text
    assert "job" in text
    assert main(["buffer", file, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["plans"]["static"]["obstacle"]["read"] == 1
    capsys.readouterr()
    for options in (["--size", "1 TB"], ["--stretch", "20"]):
        assert main(["buffer", file, *options, "--json"]) == 0, "a search has an answer all the same"
        assert json.loads(capsys.readouterr().out)["found"]
    assert main(["buffer", file, "--stretch", "0.5"]) == 2


def test_a_family_of_policies_leaves_out_those_that_know_no_buffer(file: str, capsys: Capture) -> None:
    assert main(["buffer", file, "--size", "50 GB", "--policy", "all", "--threshold", "0", "--dynamic", "--json"]) == 0
    names = {one["policy"] for one in json.loads(capsys.readouterr().out)["found"]}
    assert {"fifo", "greedy-yield"} <= names
    assert "hierarchical-round-robin" not in names


def test_more_than_the_file_system_can_take(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "busy.json", *[[["write", "400 GB"]]] * 3)
    assert main(["buffer", file, "--dynamic"]) == 0
    text = capsys.readouterr().out
    assert "optimal" in text
    assert "note: applications that run together move" in text


def test_one_that_never_writes(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", WRITER, [["work", 10]])
    assert main(["buffer", file, "--static", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shares"][1] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--size", "-1"], "size: -1.0 is negative"),
        (["--size", "much"], "size: 'much' is not an amount"),
        (["--stretch", "0.5"], "stretch: 0.5 is no stretch; expected 1 or more"),
        (["--size", "1", "--stretch", "2"], "not allowed with argument"),
        (["--static", "--dynamic"], "not allowed with argument"),
        (["--policy", "fcfs"], "--policy is for a search; expected --size or --stretch too"),
        (["--threshold", "0.5"], "--threshold is for a search; expected --size or --stretch too"),
        (["--size", "1 GB", "--threshold", "2"], "threshold: 2.0 is no part of the buffer; expected 0 to 1"),
        (["--dynamic", "--directives", "x"], "--directives are the shares of a static buffer; leave --dynamic out"),
        (["--plan", "-", "--json"], "only one thing can go to standard output"),
        (["--plot", "x.gif"], "cannot tell the format from '.gif'"),
        (["--size", "1 GB", "--policy", "periodic-fifo"], "policy periodic-fifo: "),
    ],
)
def test_one_line_for_a_wrong_option(file: str, capsys: Capture, options: list[str], message: str) -> None:
    try:
        code = main(["buffer", file, *options])
    except SystemExit as error:
        code = int(error.code or 0)
    text = capsys.readouterr().err
    assert code == 2
    assert message in text
    assert len(text.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": {"bandwidth": 0}}, "platform.bandwidth: 0 is not a bandwidth"),
        ({"release": -5}, "is before the clock's start"),
    ],
)
def test_one_line_for_a_wrong_workload(tmp_path: Path, capsys: Capture, change: dict, message: str) -> None:
    assert main(["buffer", written(tmp_path / "w.json", **change)]) == 2
    text = capsys.readouterr().err
    assert message in text
    assert len(text.strip().splitlines()) == 1
