"""The reproduction of paper 001 on a small scale, and claims that can fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.campaign import SCHEMA
from penstock.cli.main import main
from penstock.model import InputError
from penstock.papers.catalogue import DASH
from penstock.papers.dash import claims, mapping, validation
from penstock.papers.dash import figures as dash_figures
from penstock.papers.dash.experiments import EIGHT, BatchTrial, DashScale
from penstock.papers.reproducing import Reproduction, Results
from penstock.papers.trials import key_of
from penstock.papers.verdicts import Estimate
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
    assert [verdict.id for verdict in verdicts] == [f"D{number}" for number in range(1, 15)]
    for item in DASH.figures:
        assert (folder / f"{item}.png").stat().st_size > 5_000, item
        assert (folder / f"{item}.svg").exists()
    page = (folder / "index.html").read_text()
    assert all(f'id="{item}"' in page for item in DASH.figures)


def test_the_theorems_hold(made):
    _, verdicts = made
    assert {"D1", "D2", "D3", "D13"} <= {verdict.id for verdict in verdicts if verdict.holds}
    (d4,) = [verdict for verdict in verdicts if verdict.id == "D4"]
    assert [check.holds for check in d4.checks] == [True, True, False], "longest work last, the bound is not reached"
    # 1 + (n − 1)/(n·(n + 1)) but for the finite number of jobs: 1, 1 + 1/6, 1 + 1/6, 1 + 3/20
    assert "1.00000 at n = 1, 1.16062 at n = 2, 1.15762 at n = 3, 1.13932 at n = 4" in d4.checks[2].measured


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
    monkeypatch.setattr(claims, "least_max_stretch", lambda jobs: (9.0, None))
    assert not claims.d14(3).checks[0].holds
    assert not claims.d13(3).holds
    values = {policy: (np.array([1.0, 2.0]), np.array([[1.1, 1.2, 1.1, 1.1], [1.1, 1.2, 1.1, 1.1]])) for policy in EIGHT}
    monkeypatch.setattr(claims, "stretches", lambda _, policy: values[policy])
    monkeypatch.setattr(claims, "_last_makespan", lambda *_: 1.0)
    assert not claims.d8(None).holds
    monkeypatch.setattr(claims, "geometric", lambda *_: Estimate(1.0, 0.01))
    assert not claims.d10({}).holds
    assert folder.exists()
    assert verdicts


def test_no_runs_decide_nothing():
    none = Results.of(SCHEMA.empty_table())
    verdicts = [claims.d5(none), claims.d6(none, none), claims.d7(none), claims.d8(none)]
    assert {verdict.word for verdict in verdicts} == {"not measured"}
    for _, draw in dash_figures.CHAIN_FIGURES.values():
        assert draw(none).axes


def test_an_extreme_needs_as_many_batches_as_the_thesis_has():
    few, many = np.full(32, 6.0), np.full(390, 6.0)
    assert claims._extreme(few) is None
    assert claims._extreme(np.append(few, 8.0)) is True
    assert claims._extreme(many) is False
    assert claims._extreme(np.append(few, 14.0)) is False


def test_means_over_loads_do_not_depend_on_how_many_there_are():
    """0.5 to 10: the mean of α² is 35.08, and the middle of the range counts twice as much as its ends."""

    def mean(loads: np.ndarray) -> Estimate:
        batches = [((("load", float(load)),), seed) for load in loads for seed in (0, 1)]
        return claims.over_loads(batches, np.array([load**2 + seed for load in loads for seed in (0, 1)]))

    coarse, fine = mean(np.linspace(0.5, 10.0, 8)), mean(np.linspace(0.5, 10.0, 39))
    assert fine.value == pytest.approx((10.0**3 - 0.5**3) / (3.0 * 9.5) + 0.5, rel=1e-3)
    assert coarse.value == pytest.approx(fine.value, rel=0.01)
    assert coarse.error == pytest.approx(0.5), "seeds are apart by 1"
    assert mean(np.array([2.0])).value == 4.5
    assert claims.geometric([((("load", 1.0),), 0), ((("load", 2.0),), 0)], np.array([1.0, 4.0])).value == pytest.approx(2.0)


def row(utilization: list[float], io_load: float = 0.4, stretch: float = 1.0) -> dict[str, object]:
    """A row of the experiment "mapping" with these utilizations in the tenths of its makespan."""
    parts = np.repeat(utilization, 5)
    cumulative = np.cumsum(parts) / np.arange(1, len(parts) + 1)
    measures = {"max_stretch": stretch, "mean_stretch": stretch, "idle": 0.1, "capacity": 1.0, "utilization": cumulative[-1]}
    return {"over_time": {"utilization": cumulative.tolist()}, "io_load": io_load, **measures}


def test_the_steady_state_is_the_longest_run_of_tenths_that_are_alike():
    utilization = [0.3, 0.7, 0.9, 0.92, 0.95, 0.88, 0.9, 0.91, 0.5, 0.2]
    assert mapping.tenths(row(utilization)) == pytest.approx(utilization)
    assert mapping.steady(np.array(utilization)) == (2, 8)
    assert mapping.measured(row(utilization), "steady part") == pytest.approx(0.6)
    assert mapping.measured(row(utilization), mapping.UTILIZATION) == pytest.approx(np.mean(utilization[2:8]))


def mapped(lead: float = 0.05, loaded: float = 0.4) -> mapping.MappedBatches:
    """Batches of all families; list scheduling is ahead by `lead` at low load and behind at high load."""
    rows = {}
    for kind, profile in mapping.FAMILIES.values():
        for printed in (False, True) if kind == "mira" else (False,):
            for load in (0.2, 0.6):
                for seed in range(3):
                    for name, strategy in mapping.MAPPINGS.items():
                        gain = (lead if load < 0.5 else -lead) if name == "list" else 0.001 * seed
                        alpha = loaded if seed == 2 else 0.4
                        trial = BatchTrial(kind, (("profile", profile),), seed, strategy, wanted=load, printed=printed)
                        rows[trial] = row([0.8 - 0.3 * load + gain] * 10, alpha, 1.2 if name == "list" else 1.1)
    return mapping.MappedBatches(rows)


def outcomes(batches: mapping.MappedBatches, words: str) -> set[bool | None]:
    return {check.holds for check in mapping.d11(batches).checks if words in check.expected}


def test_d11_follows_the_rows():
    assert outcomes(mapped(), "list has the highest steady utilization") == {True}
    assert outcomes(mapped(), "pack max passes list") == {True}
    assert outcomes(mapped(-0.05), "list has the highest steady utilization") == {False}
    assert outcomes(mapped(-0.05), "pack max passes list") == {False}
    assert outcomes(mapped(1e-12), "list has the highest steady utilization") == {None}, "rounding decides nothing"
    assert outcomes(mapped(), "have a lower max stretch than list") == {True}
    assert outcomes(mapped(), "a steady state in 90 %") == {True}
    assert outcomes(mapped(), "pack char has more idle time than random") == {None}


def test_pathologically_loaded_batches_are_excluded():
    assert mapped().excluded == 0
    batches = mapped(loaded=0.9)
    assert batches.excluded == len(batches.rows) // len(mapping.MAPPINGS) // 3
    assert len(batches.of("BU", "list")) == 4


def test_live_beside_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = validation.validated(None, lambda _: None)
    assert [chain.times for chain in both.chains] == [3, 6, 12, 12, 6]
    alone = [chain.alone(both.bandwidth) for chain in both.chains]
    assert alone == pytest.approx([7.875] * 5, rel=1e-3), "the same load, as in Table III.1"
    assert "not measured without a test bed" in str(validation.figure_iii_7(both).get_suptitle())
    assert validation.table_iii_d_1(both).count("not measured") == 3 * len(EIGHT)
    with pytest.raises(InputError, match="no test bed"):
        Reproduction(DASH, tmp_path, "smoke", live=tmp_path).run(["figureIII.7"])
    with pytest.raises(SystemExit):
        main(["reproduce", "revisiting", "--live", str(tmp_path)])
    assert "--live is for dash, calciom; leave it out" in capsys.readouterr().err


def test_live_runs_are_judged_as_the_thesis_does() -> None:
    both = validation.validated(None, lambda _: None)

    def ran(*factors: float) -> validation.LiveChains:
        return replace(both, live={policy: seconds * np.array(factors) for policy, seconds in both.simulated.items()})

    near = ran(1.02, 1.02, 1.02, 1.02, 1.02)
    assert validation.d15(near).holds
    assert validation.d15(near).checks[0].measured == "2.0%"
    figure = validation.figure_iii_7(near)
    assert figure.get_suptitle() == ""
    assert figure.axes[1].get_title() == "all orders\nlive / simulated 1.020 (1.02 – 1.02)"
    assert "| 1.020 (1.02 – 1.02) |" in validation.table_iii_d_1(near)
    assert [check.holds for check in validation.d15(ran(1.0, 1.0, 1.0, 1.0, 1.2)).checks] == [True, False, False]
    assert not validation.d15(ran(1.06, 0.9, 1.06, 1.1, 1.06)).checks[0].holds
