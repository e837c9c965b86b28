"""``penstock place`` as a user calls it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from penstock.cli.main import main

Capture = pytest.CaptureFixture[str]

CURVES = ({"1": "1 GB/s", "2": "1.8 GB/s", "4": "3 GB/s"}, {"1": "1 GB/s", "2": "1.2 GB/s"}, {"1": "2 GB/s", "2": "1 GB/s"})


def written(path: Path, *, platform=None, phases=None, curves=CURVES, **common) -> str:
    applications = [
        {
            "name": f"[b]{name}$x$",
            "nodes": 10,
            "phases": phases or [["work", 100 * (i + 1)], ["io", "100 GB"]],
            **({"curve": curves[i]} if curves else {}),
            **common,
        }
        for i, name in enumerate("abc")
    ]
    platform = platform or {"bandwidth": "10 GB/s", "resources": 4, "nodes": 40}
    path.write_text(json.dumps({"penstock": 1, "platform": platform, "applications": applications}))
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path / "w.json", directory="/scratch/a")


def test_jobs_that_come_and_go(tmp_path: Path, capsys: Capture) -> None:
    """Three jobs a million seconds apart: nobody contends, the idle part is small, and each gets its best number."""
    path = written(tmp_path / "w.json", directory="/scratch/a")
    document = json.loads(Path(path).read_text())
    for index, one in enumerate(document["applications"]):
        one["release"] = 1e6 * index
    Path(path).write_text(json.dumps(document))
    assert main(["place", path, "--setstripe", "-"]) == 0
    assert capsys.readouterr().out == "".join(
        f"lfs setstripe -c {used.count(',') + 1} -o {used} /scratch/a\n" for used in ("0,1,2,3", "0,1", "2")
    )
    assert main(["place", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["stream"] is True
    assert found["chosen"]["mean_congestion_slowdown"] == pytest.approx(0.0, abs=1e-9)
    assert found["chosen"]["lost_node_hours"] == {"mean": pytest.approx(0.0, abs=1e-9), "interval": None}
    assert all(0.0 <= one["idle_time"] <= 1.0 for one in found["proposals"])
    drawn = next(one for one in found["proposals"] if one["heuristic"] == "random + random")["lost_node_hours"]
    assert drawn["interval"][0] < drawn["mean"] < drawn["interval"][1]
    assert main(["place", path]) == 0
    captured = capsys.readouterr()
    assert "static + greedy-non-clairvoyant (baseline)" in captured.out
    assert "recommendation: placing jobs by best-bdw + greedy-" in captured.out
    assert captured.err == "note: place does not use platform.bandwidth, applications[].directory\n"
    # All at once, again and again, they do contend.
    assert main(["place", path, "--steady", "--json", "--allocation", "best-bdw"]) == 0
    steady = json.loads(capsys.readouterr().out)
    assert "stream" not in steady
    assert steady["chosen"]["result"]["mean_congestion_slowdown"] > 0.0
    for options, message in (
        (["--oracle"], "oracle: is for applications that repeat side by side, and these come and go; expected steady too"),
        (
            ["--horizon", "9"],
            "horizon: is for applications that repeat side by side, and these come and go; expected steady too",
        ),
        (["--steady", "--scheduler", "easy"], "scheduler: is for jobs that come and go, and steady is given; leave it out"),
    ):
        assert main(["place", path, *options]) == 2
        assert message in capsys.readouterr().err


def test_no_stripes_where_nothing_says_how_many_suit(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path / "w.json", curves=None, directory="/scratch/a")
    assert main(["place", path, "--setstripe", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert "applications[0]: the keys 'curve' and 'best_count' are missing" in captured.err
    assert not (tmp_path / "out").exists()
    counted = written(tmp_path / "c.json", curves=None, directory="/scratch/a", best_count=2)
    assert main(["place", counted, "--setstripe", "-"]) == 0
    assert capsys.readouterr().out.count("lfs setstripe -c 2 ") == 3


def test_the_tables(file: str, capsys: Capture) -> None:
    assert main(["place", file, "--oracle"]) == 0
    text = capsys.readouterr().out
    assert "tcpu + greedy-clairvoyant" in text
    assert "best of all" in text
    assert "* proposed: the smallest node-hours" in text
    assert "recommendation: placing by " in text
    assert "[b]a$x$" in text
    assert "█" in text
    assert "note: node-hours of the best of all placements: " in text
    assert len([line for line in text.splitlines() if " * " in line and "│" in line]) == 1


def test_json_has_everything(file: str, capsys: Capture) -> None:
    assert main(["place", file, "--json", "--objective", "idle-time"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["resources"] == 4
    assert document["knows"] == "curves"
    assert len(document["proposals"]) == 16
    best = min(
        (one for one in document["proposals"] if "random" not in (one["allocation"], one["placement"])),
        key=lambda one: one["result"]["idle_time"],
    )
    assert document["chosen"] == best
    for application, used in zip(best["result"]["applications"], best["resources"], strict=True):
        assert application["resources"] == used
        parts = application["allocation_slowdown"] + application["congestion_slowdown"]
        assert application["slowdown"] == pytest.approx(parts)


def test_lines_for_a_site(file: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["place", file, "--allocation", "mckp", "--csv", "-", "--setstripe", str(tmp_path / "stripes")]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "job,count,resources"
    assert len(out.splitlines()) == 4
    stripes = (tmp_path / "stripes").read_text().splitlines()
    assert all(line.startswith("lfs setstripe -c ") and line.endswith(" /scratch/a") for line in stripes)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_the_drawing(file: str, tmp_path: Path, suffix: str) -> None:
    drawn = tmp_path / f"occupancy{suffix}"
    assert main(["place", file, "--plot", str(drawn), "--json", "-o", str(tmp_path / "plan.json")]) == 0
    content = drawn.read_bytes()
    if suffix == ".svg":
        texts = " ".join(ElementTree.fromstring(content).itertext())
        assert "I/O resource" in texts or b"<path" in content
    assert len(content) > 5_000
    again = tmp_path / f"again{suffix}"
    assert main(["place", file, "--plot", str(again), "--json", "-o", str(tmp_path / "plan.json")]) == 0
    assert again.read_bytes() == content


def test_what_can_be_done_without_curves(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", curves=None)
    assert main(["place", file]) == 0
    text = capsys.readouterr().out
    assert "static + greedy-non-clairvoyant:" in text
    assert "note: without the curves of all applications nothing is measured" in text
    assert main(["place", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["result"] is None


def test_notes(tmp_path: Path, capsys: Capture) -> None:
    busy = written(tmp_path / "busy.json", platform={"resources": 1}, phases=[["io", "100 GB"]])
    assert main(["place", busy]) == 0
    assert "above 1: the I/O resources are saturated (every heuristic)" in capsys.readouterr().out
    idle = written(tmp_path / "idle.json", phases=[["work", 10]])
    assert main(["place", idle]) == 0
    assert "note: 3 of 3 applications do no I/O and have no slowdown" in capsys.readouterr().out
    long = written(tmp_path / "long.json", phases=[["work", 1], ["io", "1 GB"]])
    Path(long).write_text(Path(long).read_text().replace('["work", 1]', '["work", 9000]', 1))
    assert main(["place", long, "--interval", "first-end"]) == 0
    assert "before the first one ended: the slowdowns are of no use" in capsys.readouterr().out


def test_other_policies_on_the_resources(file: str, capsys: Capture) -> None:
    assert main(["place", file, "--policy", "greedy-yield", "--json", "--allocation", "best-bdw"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["result"]["policy"] == "greedy-yield"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resources", "5"], "resources: 5 I/O resources on a platform of 4; expected at most 4"),
        (["--resources", "0"], "resources: 0 is not a number of I/O resources"),
        (["--knows", "future"], "--knows future: unknown; expected one of nodes, totals, best, curves"),
        (["--objective", "money"], "objective: 'money' is unknown"),
        (["--allocation", "most"], "allocation most: unknown; expected one of random, static, best-bdw, n-sys, tcpu, mckp"),
        (["--placement", "left"], "placement left: unknown"),
        (["--allocation", "mckp", "--placement", "random"], "placement random: mckp places by itself"),
        (["--allocation", "mckp", "--resources", "2"], "mckp: 3 applications on 2 I/O resources"),
        (["--allocation", "tcpu", "--knows", "best"], "heuristic tcpu + random: needs nodes, totals, curves"),
        (["--policy", "periodic-fifo"], "policy periodic-fifo: chains repeat without end"),
        (["--horizon", "-1"], "horizon: -1.0 s are no horizon"),
        (["--interval", "now"], "interval: 'now' is unknown; expected steady or first-end"),
        (["--seed", "-1"], "'-1' is not a seed; expected a whole number, 0 or more"),
        (["--csv", "-", "--json"], "only one thing can go to standard output"),
        (["--plot", "x.gif"], "x.gif: cannot tell the format from '.gif'"),
    ],
)
def test_one_line_for_a_wrong_option(file: str, capsys: Capture, options: list[str], message: str) -> None:
    try:
        code = main(["place", file, *options])
    except SystemExit as error:
        code = int(error.code or 0)
    error_text = capsys.readouterr().err
    assert code == 2
    assert message in error_text
    assert len(error_text.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": {"bandwidth": 1}}, "the key 'resources' is missing"),
        ({"phases": [["work", 0]]}, "applications[0]: it neither works nor transfers"),
        ({"phases": [["work", 1e-9]]}, "applications[0]: its chain of 1e-09 s is too short to be repeated for 5000 s"),
    ],
)
def test_one_line_for_a_wrong_workload(tmp_path: Path, capsys: Capture, change: dict, message: str) -> None:
    assert main(["place", written(tmp_path / "w.json", **change)]) == 2
    error_text = capsys.readouterr().err
    assert message in error_text
    assert len(error_text.strip().splitlines()) == 1


def test_the_oracle_is_refused_for_many_before_anything_is_run(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", platform={"bandwidth": 1, "resources": 90})
    assert main(["place", file, "--oracle"]) == 2
    assert "oracle: 3 applications on 90 I/O resources have some 10^" in capsys.readouterr().err


def test_the_oracle_is_not_proposed_to_who_knows_less(file: str, capsys: Capture) -> None:
    assert main(["place", file, "--oracle", "--knows", "nodes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["heuristic"] != "best of all"


def test_nothing_is_written_where_the_drawing_cannot_be_made(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", curves=None)
    assert main(["place", file, "--csv", str(tmp_path / "jobs.csv"), "--plot", str(tmp_path / "x.png")]) == 2
    assert "there is no occupancy to draw" in capsys.readouterr().err
    assert not (tmp_path / "jobs.csv").exists()


def test_what_is_wrong_is_said_without_curves_too(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "w.json", curves=None)
    for options, message in ((["--policy", "no"], "policy no: unknown"), (["--horizon", "nan"], "horizon: nan s are no")):
        assert main(["place", file, *options]) == 2
        assert message in capsys.readouterr().err


def test_an_empty_workload(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "w.json"
    path.write_text('{"penstock": 1, "platform": {"bandwidth": 1, "resources": 3}, "applications": []}')
    assert main(["place", str(path)]) == 2
    assert "applications: the workload is empty" in capsys.readouterr().err


def test_a_missing_directory_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert main(["place", written(tmp_path / "w.json"), "--setstripe", "-"]) == 2
    assert "applications[0]: the key 'directory' is missing" in capsys.readouterr().err
