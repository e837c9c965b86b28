"""Workloads of I/O resources and buffers as a user runs them: on what their files say, and the output says on what."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock import bounds, read
from penstock.cli import output
from penstock.cli.main import main
from penstock.planning.placement.choice import choose_placement

Capture = pytest.CaptureFixture[str]
DEFAULT = "placement: tcpu, greedy-clairvoyant (default; --allocation, --placement choose others)"


@pytest.fixture(scope="module")
def distributed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("distributed") / "d.json"
    assert main(["generate", "distributed", "--load", "0.5", "--applications", "20", "--seed", "1", "-o", str(path)]) == 0
    return path


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return written(tmp_path / "jobs.json")


def written(path: Path, placements: tuple[Any, ...] = (None, None, None), **platform: Any) -> Path:
    curves = ({"1": "1 GB/s", "2": "1.8 GB/s"}, {"1": "1 GB/s", "2": "1.2 GB/s"}, {"1": "2 GB/s", "2": "1 GB/s"})
    applications = [
        {
            "name": name,
            "nodes": 10,
            "curve": curves[index],
            "phases": [["work", 100 * (index + 1)], ["write", "100 GB"], ["read", "50 GB"]],
            **({"placement": placements[index]} if placements[index] is not None else {}),
        }
        for index, name in enumerate("abc")
    ]
    path.write_text(json.dumps({"penstock": 1, "platform": {"resources": 4, **platform}, "applications": applications}))
    return path


def document(arguments: list[str], capsys: Capture) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_nobody_is_faster_than_its_curve(distributed: Path, capsys: Capture) -> None:
    run = document(["simulate", str(distributed), "--policy", "fair-share"], capsys)
    for application, outcome in zip(read(distributed).applications, run["applications"], strict=True):
        assert application.curve is not None
        assert 0.0 < outcome["transferred"] / outcome["transferring"] <= application.curve.largest * (1 + 1e-9)
        assert outcome["slowdown"] >= 1.0 - 1e-9
    assert run["placement"] == {"source": "default", "allocation": "tcpu", "placement": "greedy-clairvoyant"}
    assert len(run["occupancy"]) == 20


def test_the_tables_name_the_placement_and_show_slowdowns(distributed: Path, capsys: Capture) -> None:
    for command in (["simulate", "--policy", "fcfs"], ["compare", "--policy", "fcfs", "greedy-yield"]):
        assert main([command[0], str(distributed), *command[1:]]) == 0
        captured = capsys.readouterr()
        assert DEFAULT in captured.out.splitlines()
        assert "mean slowdown" in captured.out
        assert "does not use" not in captured.err


def test_the_placement_of_the_file_is_used_unless_another_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", ([0], [0, 1], [0]))
    run = document(["simulate", str(file)], capsys)
    assert run["placement"] == {"source": "file", "allocation": None, "placement": None}
    assert [application["resources"] for application in run["applications"]] == [[0], [0, 1], [0]]
    assert main(["simulate", str(file)]) == 0
    assert "placement: from the file" in capsys.readouterr().out.splitlines()
    assert main(["simulate", str(file), "--allocation", "mckp"]) == 0
    captured = capsys.readouterr()
    assert "placement: mckp" in captured.out.splitlines()
    assert "note: simulate does not use applications[].placement" in captured.err.splitlines()


def test_the_bound_is_that_of_the_placement(jobs: Path, capsys: Capture) -> None:
    on = choose_placement(read(jobs))
    assert on is not None
    bound = document(["bound", str(jobs)], capsys)
    known = bounds(read(jobs), placement=on.resources)
    assert (bound["min_yield"], bound["efficiency"]) == (known.min_yield, known.efficiency)
    assert bound["placement"]["source"] == "default"
    compared = document(["compare", str(jobs)], capsys)
    assert compared["placement"] == bound["placement"]
    assert compared["bounds"]["min_yield"] == bound["min_yield"]
    assert min(min(run["gap"].values()) for run in compared["runs"]) >= -1e-9
    assert main(["bound", str(jobs)]) == 0
    assert DEFAULT in capsys.readouterr().out.splitlines()


def test_a_buffer_with_a_size_is_used(tmp_path: Path, capsys: Capture) -> None:
    plain, buffered = (
        document(["simulate", str(written(tmp_path / "w.json", **platform))], capsys)
        for platform in ({}, {"buffer": {"size": "50 GB"}})
    )
    assert "buffer" not in plain
    assert buffered["buffer"]["pool"] == 5e10
    assert buffered["buffer"]["drained"] > 0.0
    assert buffered["makespan"] < plain["makespan"]
    assert main(["compare", str(tmp_path / "w.json"), "--policy", "fcfs"]) == 0
    assert "max stretch" in capsys.readouterr().out


def test_static_orders_are_left_out_of_a_family(jobs: Path, capsys: Capture) -> None:
    assert main(["compare", str(jobs), "--policy", "all", "--json", "--no-bound"]) == 0
    captured = capsys.readouterr()
    assert "periodic-fifo" not in captured.out
    assert "periodic-johnson, periodic-most-remain: their orders are those of a link" in captured.err
    assert main(["compare", str(jobs), "--policy", "periodic-fifo"]) == 2
    assert "policy periodic-fifo: its order is one of a link" in capsys.readouterr().err


def test_the_report_of_resources_and_buffers(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", ([0, 1], [1], [1, 2]), buffer={"size": "20 GB"})
    report = tmp_path / "report.html"
    assert main(["compare", str(file), "--policy", "fcfs", "fair-share", "--html", str(report)]) == 0
    page = report.read_text(encoding="utf-8")
    assert "<dt>I/O resources</dt><dd>4</dd>" in page
    assert "<dt>buffer</dt><dd>20 GB</dd>" in page
    assert "mean slowdown" in page
    assert "max stretch" in page


def wrong(folder: Path) -> list[tuple[list[str], str]]:
    mixed = written(folder / "mixed.json", ([0], None, [1]))
    outside = written(folder / "outside.json", ([0], [4], [1]))
    bypassed = written(folder / "bypassed.json", buffer={"size": 1, "resources": [0, 1, 2]})
    link = folder / "link.json"
    link.write_text('{"penstock": 1, "platform": {"bandwidth": 1}, "applications": [{"phases": [["io", 1]]}]}')
    good = written(folder / "good.json")
    return [
        (["simulate", str(mixed)], "applications[1]: the key 'placement' is missing; expected it for every application"),
        (["compare", str(mixed)], "applications[1]: the key 'placement' is missing"),
        (["bound", str(mixed)], "applications[1]: the key 'placement' is missing"),
        (
            ["simulate", str(outside)],
            "applications[1].placement: [4] on a platform of 4 I/O resources; expected numbers from",
        ),
        (
            ["simulate", str(bypassed)],
            "platform.buffer.resources: [0, 1, 2] are not the 4 I/O resources of the platform: some",
        ),
        (["simulate", str(link), "--allocation", "tcpu"], "--allocation: the workload runs on one link; expected platform."),
        (["bound", str(link), "--placement", "random"], "--placement: the workload runs on one link"),
        (["compare", str(good), "--allocation", "most"], "allocation most: unknown; expected one of random, static"),
        (["simulate", str(good), "--placement", "left"], "placement left: unknown"),
        (["simulate", str(good), "--policy", "periodic-fifo"], "policy periodic-fifo: its order is one of a link"),
    ]


@pytest.mark.parametrize("number", range(10))
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, capsys: Capture, number: int) -> None:
    cases = wrong(tmp_path)
    assert len(cases) == 10
    arguments, message = cases[number]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_placement_without_resources_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", ([0], [9], [1]))
    changed = json.loads(file.read_text())
    changed["platform"] = {"bandwidth": "5 GB/s"}
    file.write_text(json.dumps(changed))
    place = f"penstock: {file}: applications[0].placement"
    for command in ("simulate", "compare", "bound", "pack", "place", "buffer"):
        assert main([command, str(file)]) == 2
        expected = "[0] on a platform without I/O resources; expected platform.resources, or leave it out"
        assert capsys.readouterr().err == f"{place}: {expected}\n"


def test_what_is_found_after_reading_names_the_file_too(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = written(tmp_path / "platform.json", ([0], None, [1]))
    uncurved = tmp_path / "uncurved.json"
    document = json.loads(written(tmp_path / "w.json", ([0], [1], [2]), bandwidth=1).read_text())
    del document["applications"][2]["curve"]
    uncurved.write_text(json.dumps(document))
    for command in ("simulate", "compare", "bound"):
        for file, message in ((mixed, "[1]: the key 'placement' is missing"), (uncurved, "[2]: the key 'curve' is missing")):
            assert main([command, str(file)]) == 2
            assert capsys.readouterr().err.startswith(f"penstock: {file}: applications{message}; expected ")
    monkeypatch.chdir(tmp_path)
    Path("window").write_text("")
    Path("platform.json").write_text("{}")
    for name in ("platform.json", "window"):  # named as places of a workload are
        assert main(["simulate", name]) == 2
        assert capsys.readouterr().err.count(name) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(document)))
    assert main(["simulate", "-"]) == 2
    assert capsys.readouterr().err.startswith("penstock: standard input: applications[2]: the key 'curve' is missing")


def test_a_buffer_in_shares(tmp_path: Path, capsys: Capture) -> None:
    def file(*shares: object) -> Path:
        path = written(tmp_path / "w.json", buffer={"size": "50 GB"})
        document = json.loads(path.read_text())
        for application, share in zip(document["applications"], shares, strict=False):
            application["share"] = share
        path.write_text(json.dumps(document))
        return path

    divided = document(["simulate", str(file("20 GB", "20 GB", "10 GB"))], capsys)
    assert divided["buffer"]["shares"] == [2e10, 2e10, 1e10]
    assert divided["buffer"]["pool"] is None
    assert main(["compare", str(tmp_path / "w.json"), "--policy", "fcfs", "--html", str(tmp_path / "r.html")]) == 0
    assert "does not use" not in capsys.readouterr().err
    assert main(["buffer", str(tmp_path / "w.json")]) in (0, 1)
    assert "platform.buffer.size, applications[].curve, applications[].share" in capsys.readouterr().err
    for shares, message in (
        (
            ("20 GB", "20 GB"),
            "applications[2]: the key 'share' is missing; expected bytes for every application that does I",
        ),
        (("60 GB", 1, 1), "applications[0].share: 60000000000.0 bytes are more than the buffer's 50000000000.0; expected "),
        (("20 GB", "20 GB", "20 GB"), "applications[2].share: 20000000000.0 bytes: the shares of the 3 applications that "),
    ):
        assert main(["simulate", str(file(*shares))]) == 2
        captured = capsys.readouterr().err
        assert captured.startswith(f"penstock: {tmp_path / 'w.json'}: {message}")
        assert captured.count("\n") == 1


def test_the_placement_that_the_documentation_shows(tmp_path: Path, capsys: Capture) -> None:
    page = (Path(__file__).parents[2] / "docs" / "placement.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (tmp_path / "w.json").write_text(text)
    run = document(["simulate", str(tmp_path / "w.json")], capsys)
    assert [application["resources"] for application in run["applications"]] == [[0, 1], [1]]


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("buffered", [False, True])
def test_the_tables_fit_the_terminal(
    distributed: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int, buffered: bool
) -> None:
    monkeypatch.setattr(output, "console", lambda: Console(width=width))
    file = written(tmp_path / "w.json", buffer={"size": "20 GB"}) if buffered else distributed
    assert main(["simulate", str(file)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("placement: ")]
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    heading = lines[0].split("┃")
    assert {"waiting", "slowdown", "resources"} <= {name.strip() for name in heading}
    assert any(line.startswith("buffer ") for line in lines) == buffered


def test_rounding_is_shown_as_no_time(distributed: Path, capsys: Capture) -> None:
    assert main(["simulate", str(distributed), "--policy", "fair-share"]) == 0
    out = capsys.readouterr().out
    assert not re.search(r"\de-\d", out)
    assert " 0 s " in out


def test_shares_that_turn_out_to_overlap_are_said(tmp_path: Path, capsys: Capture) -> None:
    # A ends at 60 s and not at 7 s, as it could at its own speed: from 8 s on both have a share of 10 bytes.
    late = {"bandwidth": 10, "share": 10}
    applications = [
        {**late, "phases": [["work", 1], ["write", 60]]},
        {**late, "phases": [["work", 1], ["write", 40]], "release": 8},
    ]
    platform = {"bandwidth": 1, "buffer": {"size": 10}}
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"penstock": 1, "platform": platform, "applications": applications}))
    said = "note: the shares of applications alive at one time add up to 20 B under fair-share; the buffer has 10 B\n"
    for command in ("simulate", "compare"):
        assert main([command, str(path), "--policy", "fair-share", "--json"]) == 0
        assert said in capsys.readouterr().err
