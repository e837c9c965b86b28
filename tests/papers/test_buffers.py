"""Paper 004 again: Table 2, figures, rows and claims that can fail."""

import json
from pathlib import Path

import numpy as np
import pytest

from penstock.buffers.plan import DYNAMIC, STATIC
from penstock.buffers.sizing import size
from penstock.model import InputError
from penstock.papers.buffers import claims, experiments, reproduction
from penstock.papers.buffers.claims import b1, b2, b3
from penstock.papers.buffers.experiments import (
    APEX,
    FACTORS,
    LOADS,
    MTBF,
    BufferRows,
    BuffersScale,
    LanlTrial,
    mean_and_error,
    measure,
)
from penstock.papers.buffers.figures import TABLE_2, table_2
from penstock.papers.buffers.reproduction import ITEMS, reproduce
from penstock.workloads.lanl import Lanl, lanl

TINY = BuffersScale(1, 1, 0, (), applications=5, theorems=3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("buffers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "SCALES", {"smoke": TINY})
        verdicts = reproduce(folder, [], "smoke", progress=False)
    return folder, verdicts


def test_all_items_are_made(made) -> None:
    folder, verdicts = made
    page = (folder / "index.html").read_text()
    for item in ITEMS[:-1]:
        assert (folder / f"{item}.png").stat().st_size > 5_000
        assert f'id="{item}"' in page
    assert [verdict.id for verdict in verdicts] == ["B1", "B2", "B3", "B4", "B5", "B6"]
    assert all(verdict.holds for verdict in (verdicts[0], *verdicts[3:5]))
    assert (folder / "table2.md").read_text().count("| 20% |") == 3


def test_a_row_is_what_the_planner_gives(made) -> None:
    folder, _ = made
    lines = [json.loads(line) for line in (folder / "smoke" / "sets.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * len(LOADS) * len(MTBF)
    row = measure(LanlTrial(0.5, 50.0, 0, 5))
    workload = lanl(Lanl(0.5, 50.0, 5), 0).workload
    assert row["plans"][STATIC]["size"] == size(workload, STATIC).size
    assert row["plans"][DYNAMIC]["size"] == size(workload, DYNAMIC).size
    assert [one["factor"] for one in row["fair"] if one["mode"] == STATIC] == list(FACTORS)


def rows_with(ratio: float, *, stretch: float = 1.0, limit: float = 1.15, half: float = 1.1, sets: int = 3) -> BufferRows:
    """Made-up rows of all cells; stretches fall from `half` at half the size to `limit` from 1.5 on."""
    rows = {}
    for load in LOADS:
        for mtbf in MTBF:
            for seed in range(sets):
                plan = {"holds": stretch == 1.0, "worst": "", "stretch": stretch, "gap": 0.0, "residual": 0.0}
                fair = [
                    {"mode": STATIC, "factor": f, "max_stretch": half if f < 1.5 else limit, "mean_stretch": 1.0}
                    for f in FACTORS
                ]
                plans = {STATIC: {**plan, "size": ratio + 0.01 * seed}, DYNAMIC: {**plan, "size": 1.0}}
                rows[LanlTrial(load, mtbf, seed)] = {"plans": plans, "fair": fair}
    return BufferRows(rows)


def test_claims_follow_the_figures() -> None:
    good = rows_with(1.4)
    assert b1(good).holds
    assert not b1(rows_with(1.4, stretch=1.01)).holds
    assert b2(good).holds
    assert not b2(rows_with(1.05)).holds
    assert b3(rows_with(1.4, half=1.3)).holds
    assert not b3(rows_with(1.4, limit=1.0, half=1.01)).holds


def test_theorems_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "alone_by_program", lambda *_: 1e9)
    assert not claims.b4(2).holds
    monkeypatch.setattr(claims, "reachable", lambda *_: True)
    assert not claims.b6(8).holds


def test_table_2_beside_the_paper() -> None:
    text = table_2(rows_with(1.4))
    assert text.count("1.41 ± 0.01") == len(LOADS) * len(MTBF)
    assert f"({TABLE_2[0.2][3]})" in text
    assert "– (1.67)" in table_2(rows_with(1.4), APEX)
    assert mean_and_error(np.array([2.0]))[0] == 2.0
    assert np.isnan(mean_and_error(np.array([2.0]))[1])


def test_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected no --dask with buffers"):
        reproduce(tmp_path, [], "smoke", dask="local")
    with pytest.raises(InputError, match="item figure3: unknown; expected one of table2, figure4"):
        reproduce(tmp_path, ["figure3"], "smoke")
    assert set(experiments.SCALES) == {"smoke", "quick", "paper"}
