"""``penstock machine`` as a user calls it, and the function of the same name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from tests.api.test_results import same

Capture = pytest.CaptureFixture[str]

JOBS = (
    # name, nodes, submit, requested, user
    ("ocean", 3, 100.0, 4000.0, "ann"),
    ("plasma", 4, 0.0, 4000.0, "bob"),
    ("galaxy", 1, 200.0, 1000.0, None),
    ("protein", 1, 300.0, 4000.0, "ann"),
)


def written(path: Path, **platform: object) -> str:
    applications = [
        {
            "name": name,
            "nodes": nodes,
            "submit": submit,
            "requested": requested,
            "phases": [["work", 3000], ["write", 600]],
            **({"user": user} if user else {}),
        }
        for name, nodes, submit, requested, user in JOBS
    ]
    path.write_text(
        json.dumps({"penstock": 1, "platform": {"bandwidth": 1.0, "nodes": 5, **platform}, "applications": applications})
    )
    return str(path)


def test_the_table_says_where_the_node_hours_went(tmp_path: Path, capsys: Capture) -> None:
    # plasma has 4 of 5 nodes from 0 s to 4200 s; galaxy has the other one from 200 s, and writes at the same time as plasma;
    # both write from 3200 s on, plasma for 200 s alone before: 400 + 400 more each. ocean and protein follow at 4400 s.
    assert main(["machine", written(tmp_path / "jobs.json")]) == 0
    out = capsys.readouterr().out
    lines = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    found = json.loads(_json(tmp_path, capsys))
    assert f"computing {9 * 3000 / 3600:,.1f} {found['computing'] / found['node_hours']:.4f}" in lines
    assert any(line.startswith("delayed by I/O") for line in lines)
    assert any(line.startswith("ann 2 ") for line in lines)
    assert "note: 1 of 4 jobs come after jobs submitted later; they are taken in the order of submission" in lines
    assert "note: 1 of 4 jobs take longer than requested even alone" in lines
    assert "note: 1 of 4 jobs have no user" in lines


def _json(tmp_path: Path, capsys: Capture, *options: str) -> str:
    assert main(["machine", written(tmp_path / "jobs.json"), *options, "--json"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ((), {}),
        (("--scheduler", "conservative", "--policy", "fifo"), {"scheduler": "conservative", "policy": "fifo"}),
        (("--resources", "3", "--allocation", "2", "--kill"), {"resources": 3, "allocation": 2, "kill": True}),
        (("--buffer", "100", "--nodes", "8"), {"buffer": 100, "nodes": 8}),
        (("--scheduler", "two-group", "--limit", "0.5"), {"scheduler": "two-group", "limit": 0.5}),
        (("--scheduler", "packs", "--order", "char", "--check"), {"scheduler": "packs", "order": "char", "check": True}),
    ],
)
def test_the_function_gives_what_the_command_prints(
    tmp_path: Path, capsys: Capture, options: tuple[str, ...], keywords: dict[str, object]
) -> None:
    printed = json.loads(_json(tmp_path, capsys, *options))
    result = penstock.machine(tmp_path / "jobs.json", **keywords)  # type: ignore[arg-type]
    assert same(result, printed)
    assert result.to_pandas("jobs")["start"].tolist() == [row["start"] for row in printed["jobs_run"]]
    assert result.to_pandas("machine")["delayed"].item() == printed["delayed"]
    assert set(result.to_pandas("users")["user"].dropna()) == {"ann", "bob"}
    assert "<table>" in result._repr_html_()
    for table in ("groups", "over_time", "stores"):
        assert len(result.to_pandas(table)) > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--policy", "fifo"),
            "easy under fifo loses 2.00 node-hours to I/O and to idle nodes beside waiting jobs where the baseline, easy "
            "under fair-share, loses 4.00: jobs are delayed for 2.00 and not 4.00 node-hours, and nodes stay idle beside "
            "waiting jobs for 0.00 in both runs; ",
        ),
        (
            (),
            "easy under fair-share, the baseline, loses 4.00 node-hours to I/O and 0.00 to idle nodes beside waiting jobs: "
            "compare it first with other policies (--policy); ",
        ),
        (
            ("--scheduler", "list", "--limit", "0.5"),
            "stay with the baseline, easy under fair-share, which loses 4.00 node-hours to I/O and to idle nodes beside "
            "waiting jobs: list under fair-share loses 4.00; ",
        ),
        (
            ("--scheduler", "list", "--limit", "0.5", "--no-baseline"),
            "list under fair-share loses 0.00 node-hours to I/O and 4.00 to idle nodes beside waiting jobs: compare it "
            "first with other schedulers (--scheduler); ",
        ),
    ],
)
def test_a_sentence_says_what_is_lost_beside_the_baseline(
    tmp_path: Path, capsys: Capture, options: tuple[str, ...], said: str
) -> None:
    # Both jobs, of 2 nodes, write from 1 h to 2 h alone. With fair sharing both end after 3 h: 2 nodes times 1 h lost each.
    # With fifo the first ends after 2 h. A list with half of the link lets one start at a time: 2 nodes are idle for 2 h.
    path = tmp_path / "two.json"
    jobs = [{"name": name, "nodes": 2, "phases": [["work", 3600], ["write", 3600]]} for name in "ab"]
    path.write_text(json.dumps({"penstock": 1, "platform": {"bandwidth": 1.0, "nodes": 4}, "applications": jobs}))
    whole = f"{said}this assumes that jobs take the time and do the I/O that the file says"
    assert main(["machine", str(path), *options]) == 0
    assert f"recommendation: {whole}\n" in capsys.readouterr().out
    assert main(["machine", str(path), *options, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["recommendation"] == whole
    if "--no-baseline" in options:
        assert document["baseline"] is None
    else:
        assert (document["baseline"]["delayed"], document["baseline"]["kept_idle"]) == (4.0, 0.0)


def test_the_run_is_drawn(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run.html"
    assert main(["machine", written(tmp_path / "jobs.json"), "--html", str(out)]) == 0
    assert "svg" in out.read_text(encoding="utf-8")
    assert f"drawn: {out}" in capsys.readouterr().err
    axes = penstock.plot.machine(penstock.machine(tmp_path / "jobs.json"))
    assert [text.get_text() for text in axes.get_legend().get_texts()][:3] == [
        "nodes in use",
        "computing or transferring",
        "bandwidth used",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nodes", "2"), "3 nodes on a platform of 2; expected at most 2"),
        (("--scheduler", "easyy"), "did you mean easy?"),
        (("--policy", "periodic-fifo"), "jobs start later"),
        (("--placement", "best"), "expected one of least-loaded, in-turn, random, file"),
        (("--limit", "0"), "expected a number above 0"),
        (("--depth", "0"), "expected 1 or more jobs"),
        (("--resources", "3", "--allocation", "4"), "expected 1 to 3"),
        (("--resources", "3", "--allocation", "some"), "expected one of random, static"),
        (("--resources", "3", "--placement", "file"), "'placement' is missing"),
        (("--allocation", "2"), "expected platform.resources"),
        (("--scheduler", "fcfs", "--depth", "3"), "does not backfill"),
        (("--limit", "2"), "does not look at the I/O load"),
        (("--order", "char"), "is for packs"),
        (("--buffer", "10", "--kill"), "expected no buffer"),
        (("--buffer", "many"), "buffer"),
        (("--html", "x.gif"), "cannot tell the format"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, capsys: Capture, options: tuple[str, ...], said: str) -> None:
    assert main(["machine", written(tmp_path / "jobs.json"), *options]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_window_is_refused_and_a_store_that_nobody_uses_is_told(tmp_path: Path, capsys: Capture) -> None:
    path = Path(written(tmp_path / "jobs.json", resources=4))
    assert main(["machine", str(path), "--allocation", "1", "--placement", "random", "--seed", "1"]) == 0
    assert "of 4 I/O resources carried nothing" in capsys.readouterr().out
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "window": [0, 10_000]}))
    assert main(["machine", str(path)]) == 2
    assert "expected a workload without a window" in capsys.readouterr().err
