"""Our policies beside the paper's: small settings, and verdicts that can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.campaign import BOUND
from penstock.papers import beyond
from penstock.papers.beyond import POLICIES, THEIRS
from penstock.papers.catalogue import BEYOND
from penstock.papers.reproducing import Reproduction
from penstock.theory import bounds
from penstock.workloads import Synthetic, synthetic

SETTINGS = {
    "W 0.9": ("synthetic", {"pressure": 0.9, "horizon": 20_000.0}),
    "W 0.9, unequal": ("synthetic", {"pressure": 0.9, "horizon": 20_000.0, "node_share": 1 / 16, "largest": 32}),
    "TRILAB cielo": ("apex", {"workload": "trilab", "machine": "cielo", "count": 2}),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beyond")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beyond, "SETTINGS", SETTINGS)
        paper = replace(BEYOND, scales={"smoke": beyond.BeyondScale(2, 1)})
        verdicts = Reproduction(paper, folder, "smoke", progress=False).run()
    return folder, verdicts


def test_everything_is_made(out):
    folder, verdicts = out
    assert [verdict.id for verdict in verdicts] == ["P1", "P2", "P3", "P4"]
    assert verdicts[3].holds, verdicts[3]
    for name in ("fronts.svg", "other-fronts.png", "apex-fronts.svg", "index.html"):
        assert (folder / name).stat().st_size > 1_000


def test_the_numbers(out):
    folder, _ = out
    text = (folder / "numbers.md").read_text()
    for setting in SETTINGS:
        assert f"### {setting} (" in text
    assert text.count("| `closing-yield` |") == len(SETTINGS)
    parameters = Synthetic(pressure=0.9, horizon=20_000.0)
    own = [bounds(synthetic(parameters, beyond.FIRST_SEED + k)).min_yield for k in range(2)]
    section = text.split("### W 0.9 (")[1].split("###")[0]
    row = next(line for line in section.splitlines() if line.startswith("| bound"))
    assert row.split("|")[2].split("±")[0].strip() == f"{np.mean(own):.4f}"


def claims(values):
    return [judge(values) for judge in (beyond.p1, beyond.p2, beyond.p3, beyond.p4)]


def fake(**changed):
    """Values of one synthetic setting with all policies equal but the changed ones."""
    sample = np.array([0.9, 0.91, 0.92])
    return {
        "W 1.0": {
            policy: {
                objective: sample + changed.get(policy, 0.0) + (0.05 if policy == BOUND else 0.0)
                for objective in beyond.OBJECTIVES
            }
            for policy in POLICIES
        }
    }


def test_a_better_rival_and_a_passed_bound_are_seen():
    fine = {verdict.id: verdict for verdict in claims(fake())}
    assert fine["P2"].holds
    assert fine["P4"].holds
    beaten = {verdict.id: verdict for verdict in claims(fake(**{THEIRS[2]: 0.01}))}
    assert not beaten["P2"].holds
    assert THEIRS[2] in beaten["P2"].checks[0].measured
    passed = {verdict.id: verdict for verdict in claims(fake(balance=0.06))}
    assert not passed["P4"].holds
