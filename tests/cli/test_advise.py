"""``penstock advise``: the same as the function, a page, and one line for a wrong input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from penstock.model.files import to_json
from tests.advise.machines import colliding

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    path = tmp_path / "jobs.json"
    penstock.write(colliding(), path)
    return str(path)


def test_json_is_the_result_of_the_function(jobs: str, capsys: Capture) -> None:
    assert main(["advise", jobs, "--json", "--policies", "fcfs", "due-yield", "--seed", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == penstock.advise(jobs, policies=["fcfs", "due-yield"], seed=3).to_dict()


def test_the_terminal_has_the_answers(jobs: str, capsys: Capture) -> None:
    assert main(["advise", jobs]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Up to 1.00 node-hours (33.3 %) can be saved")
    assert "Which policy should share the bandwidth?" in out
    assert "backtest: predicted over recorded" in out
    assert "not modelled: metadata, IOPS" in out


def test_a_page_beside_the_json(jobs: str, tmp_path: Path, capsys: Capture) -> None:
    page, document = tmp_path / "advice.html", tmp_path / "advice.json"
    assert main(["advise", jobs, "--html", str(page), "-o", str(document)]) == 0
    assert capsys.readouterr().out == ""
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(document.read_text())["answers"]
    assert main(["advise", jobs, "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(document.read_text())


def test_standard_input(jobs: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(to_json(colliding())))
    assert main(["advise", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "standard input"


def test_a_far_backtest_recommends_nothing(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "far.json"
    penstock.write(colliding(recorded=1000.0), path)
    assert main(["advise", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Nothing can be recommended")
    assert "Which policy" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trust", "0.5"], "trust: 0.5 is no factor; expected 1 or more"),
        (["--policy", "fair-shar"], "did you mean fair-share"),
        (["--nodes", "0"], "nodes: 0 is not a number of nodes"),
        (["--html", "no/such/folder/x.html"], "no/such/folder/x.html: cannot be written"),
        (["--html", "advice.png"], "cannot tell the format from '.png'"),
        (["--scheduler", "fast"], "fast"),
    ],
)
def test_one_line_for_a_wrong_input(jobs: str, options: list[str], message: str, capsys: Capture) -> None:
    assert main(["advise", jobs, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_missing_file(tmp_path: Path, capsys: Capture) -> None:
    assert main(["advise", str(tmp_path / "none.json")]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err


def test_outputs_are_checked_before_the_work(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.api.advising.advise", lambda *_, **__: pytest.fail("the work began"))
    assert main(["advise", jobs, "--html", str(tmp_path)]) == 2
    assert main(["advise", jobs, "-o", str(tmp_path / "no" / "x.json")]) == 2


def test_ctrl_c_ends_it(jobs: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    page = tmp_path / "advice.html"
    monkeypatch.setattr("penstock.advise.answers.operate", interrupted)
    assert main(["advise", jobs, "--html", str(page)]) == 130
    assert not page.exists()
