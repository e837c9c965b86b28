"""What all five papers have from their one runner: an interrupted run goes on, and a Dask cluster computes the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.papers.catalogue import PAPERS
from tests.campaign.small import wait_until, without_seconds
from tests.campaign.test_cluster import scheduler, worker
from tests.naive.profiles import LONG

NAMES = ("revisiting", "dash", "distributed", "calciom", "buffers")
PROGRAM = """
import sys
from dataclasses import replace
from penstock.cli.main import main
from penstock.papers.catalogue import PAPERS
from penstock.papers.revisiting.experiments import RevisitingScale
from tests.papers import test_buffers, test_calciom, test_dash, test_distributed
TINY = {
    "revisiting": RevisitingScale(traces=1, others=2, schedules=2, windows=1, sizes=(4,), machines=("cielo", "M_10")),
    "dash": test_dash.TINY,
    "distributed": test_distributed.TINY,
    "calciom": test_calciom.TINY,
    "buffers": test_buffers.TINY,
}
name, *options = sys.argv[1:]
PAPERS[name] = replace(PAPERS[name], scales={"smoke": TINY[name]})
sys.exit(main(["reproduce", name, "--scale", "smoke", *options]))
"""
INTERRUPTED = 130


def started(name: str, out: Path, *options: str) -> "subprocess.Popen[str]":
    """A run of a paper at a tiny scale in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, name, "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def completed(name: str, out: Path, *options: str) -> None:
    """Run a paper to its end."""
    with started(name, out, *options) as run:
        _, told = run.communicate(timeout=1800)  # against a hang; ten minutes are too few on busy cores
    assert run.returncode == 0, told


CLOCKED = ("seconds", "engine_seconds")
"""What a row says of the time that it took."""


def clockless(row: Any) -> Any:
    """A row without the seconds that something took, at any depth."""
    if isinstance(row, dict):
        return {key: clockless(value) for key, value in row.items() if key not in CLOCKED}
    return [clockless(value) for value in row] if isinstance(row, list) else row


def kept(out: Path) -> dict[str, Any]:
    """The rows in a folder: of each experiment by trial, and of each campaign; without what a clock says."""
    found: dict[str, Any] = {}
    for file in sorted((out / "smoke").glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        found[file.name] = {line["key"]: clockless(line["row"]) for line in lines}
        assert len(found[file.name]) == len(lines), "no trial is computed twice"
    for file in sorted((out / "smoke").glob("*/results.parquet")):
        found[file.parent.name] = without_seconds(pq.read_table(file)).to_pylist()
    return found


def rows_so_far(out: Path) -> int:
    """How many parts of campaigns and rows of experiments there are."""
    parts = len(list((out / "smoke").glob("*/parts/*.parquet")))
    return parts + sum(file.read_text().count("\n") for file in (out / "smoke").glob("*.jsonl"))


@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="runs all papers; make test-long runs it")
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_goes_on(tmp_path: Path, name: str) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    completed(name, whole)
    everything = rows_so_far(whole)
    interrupted = 0
    while True:
        before = rows_so_far(cut)
        enough = before + max(1, everything // 4)
        with started(name, cut) as run:
            wait_until(lambda run=run, enough=enough: run.poll() is not None or rows_so_far(cut) >= enough, 300)
            run.send_signal(signal.SIGINT)
            _, told = run.communicate(timeout=60)
        assert "Traceback" not in told
        if run.returncode == 0:
            break
        assert run.returncode == INTERRUPTED
        assert rows_so_far(cut) > before, "what was finished is kept"
        interrupted += 1
    assert interrupted > 0
    assert kept(cut) == kept(whole)


@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="runs all papers; make test-long runs it")
def test_a_cluster_computes_the_same(tmp_path: Path) -> None:
    with scheduler(tmp_path) as (address, _), worker(address, tmp_path):
        for name in NAMES:
            completed(name, tmp_path / name)
            completed(name, tmp_path / "dask" / name, "--dask", address)
            assert kept(tmp_path / "dask" / name) == kept(tmp_path / name)


def test_what_compares_policies_is_an_item() -> None:
    for paper in PAPERS.values():
        assert paper.comparing
        assert set(paper.comparing) <= set(paper.figures)
