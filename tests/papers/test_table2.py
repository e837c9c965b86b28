"""Table 2 of paper 000."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from penstock.papers.catalogue import REVISITING
from penstock.papers.reproducing import Reproduction
from penstock.papers.revisiting.claims import r12
from penstock.papers.revisiting.experiments import ANY, BUILT, ENTRIES, competitive_ratios


@pytest.fixture(scope="module")
def measured():
    return competitive_ratios((4, 8))


def test_the_table_is_the_papers():
    assert len(ENTRIES) == 27
    printed = {(entry.policy, entry.objective): (entry.bound, entry.example) for entry in ENTRIES}
    assert printed["fair-share", "min_yield"] == ("m", 1)
    assert printed["greedy-com", "efficiency"] == ("m/4", 2)
    assert printed["look-ahead-greedy-yield", "efficiency"] == ("m", 3)
    assert printed["periodic-greedy-yield", "min_yield"] == ("2", 4)
    assert all(bound == ("∞", 2) for (_, objective), bound in printed.items() if objective == "utilization")
    assert {entry.example for entry in ENTRIES if entry not in BUILT} == {5, 6}


def test_ratios(measured):
    ratio = {(entry.policy, entry.objective): values for entry, values in measured.items()}
    assert ratio["fair-share", "min_yield"] == pytest.approx([4.0, 8.0], rel=1e-4)
    assert ratio["fcfs", "efficiency"] == pytest.approx([4.0, 8.0], rel=1e-4)
    assert ratio["fair-share", "efficiency"] == pytest.approx([1.5, 2.5], rel=1e-4)
    assert ratio["greedy-yield", "min_yield"] == [math.inf, math.inf]
    assert ratio["periodic-greedy-yield", "min_yield"] == pytest.approx([1.75, 1.875], rel=0.02)
    least = min(values[0] for (policy, objective), values in ratio.items() if objective == "utilization" and policy != ANY)
    assert ratio[ANY, "utilization"][0] == least


def test_the_claim_says_what_is_missing_and_what_fails(measured):
    verdict = r12(measured, (4, 8))
    assert verdict.word == "in part"
    assert [check.measured for check in verdict.checks if not check.holds] == [
        "not printed, and no instance constructed"
    ] * 2
    entry = next(entry for entry in measured if entry.bound == "m")
    worse = r12({**measured, entry: [4.0, 7.0]}, (4, 8))
    assert sum(not check.holds for check in worse.checks) == 3


def test_the_command_draws_it(tmp_path):
    paper = replace(REVISITING, scales={"smoke": replace(REVISITING.scales["smoke"], sizes=(4,))})
    verdicts = Reproduction(paper, tmp_path / "out", "smoke", progress=False).run(["table2"])
    assert [verdict.id for verdict in verdicts] == ["R12"]
    assert (tmp_path / "out" / "table2.png").stat().st_size > 10_000
    assert "R12" in (tmp_path / "out" / "index.html").read_text()
