"""The reproduction of paper 001 on a small scale, and claims that can fail."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.model import InputError
from penstock.papers.catalogue import DASH
from penstock.papers.dash import claims
from penstock.papers.dash.experiments import EIGHT, BatchTrial, DashScale
from penstock.papers.reproducing import Reproduction
from penstock.papers.trials import key_of
from penstock.planning.batch import schedule
from penstock.planning.strategy import BatchStrategy
from penstock.workloads.batches import Packs, uniform

TINY = DashScale((2.0,), 1, (0.4, 0.7), 1, {"fewest": 8, "most": 12, "shortest": 10, "longest": 20}, 4, 5, (0.1, 0.25))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dash")
    verdicts = Reproduction(replace(DASH, scales={"smoke": TINY}), folder, "smoke", progress=False).run()
    return folder, verdicts


def test_every_figure_and_claim(made):
    folder, verdicts = made
    assert [verdict.id for verdict in verdicts] == [f"D{number}" for number in range(1, 13)]
    for item in DASH.figures:
        assert (folder / f"{item}.png").stat().st_size > 5_000, item
        assert (folder / f"{item}.svg").exists()
    page = (folder / "index.html").read_text()
    assert all(f'id="{item}"' in page for item in DASH.figures)


def test_the_theorems_hold(made):
    _, verdicts = made
    assert [verdict.id for verdict in verdicts if verdict.holds][:4] == ["D1", "D2", "D3", "D4"]


def test_a_trial_is_what_the_planner_gives(made):
    folder, _ = made
    lines = [json.loads(line) for line in (folder / "smoke" / "packs.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    trial = BatchTrial("packs", (("load", 2.0),), 0, BatchStrategy("pack"), "fifo")
    (row,) = [line["row"] for line in lines if line["key"] == key_of(trial)]
    own = schedule(uniform(Packs(load=2.0), 0).workload, BatchStrategy("pack"), policy="fifo")
    assert (row["makespan"], row["max_stretch"], row["packs_run"]) == (own.makespan, own.max_stretch, own.packs_run)


def test_an_unknown_item():
    with pytest.raises(InputError, match=r"^item figureII.9: unknown; expected one of figure"):
        DASH.chosen(["figureII.9"])


def test_claims_can_fail(made, monkeypatch):
    folder, verdicts = made
    monkeypatch.setattr(claims, "optimal_makespan", lambda jobs: 0.4 * max(sum(a + b for a, b in job) for job in jobs))
    assert not claims.d1(3).holds
    assert not claims.d3(3).holds
    values = {policy: (np.array([1.0, 2.0]), np.array([[1.1, 1.2], [1.1, 1.2]])) for policy in EIGHT}
    monkeypatch.setattr(claims, "stretches", lambda _, policy: values[policy])
    assert not claims.d8(None).holds
    monkeypatch.setattr(claims, "ratios", lambda *_: (np.array([1.0]), np.array([1.0])))
    assert not claims.d10({}).holds
    assert folder.exists()
    assert verdicts
