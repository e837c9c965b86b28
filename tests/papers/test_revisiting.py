"""Figures and claims of paper 000: judged right on rows made up to bear a claim out, or not to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors as mcolors
from matplotlib.axes import Axes

from penstock.cli.main import main
from penstock.model import InputError
from penstock.papers.catalogue import REVISITING
from penstock.papers.drawing import PHASES
from penstock.papers.reproducing import Reproduction, Results
from penstock.papers.revisiting import claims, experiments, figures
from penstock.papers.revisiting.experiments import POLICIES, SCALES, RevisitingScale
from penstock.papers.verdicts import Verdict
from penstock.report.figures import encoded
from tests.papers.rows import Outcome, apex_results, apex_rows, other_results, pressure_results, start_results, table

PNG = b"\x89PNG"


def synthetic_claims(pressure: Results, others: Results) -> list[Verdict]:
    return [*(judge(pressure) for judge in claims.ON_PRESSURE), claims.r7(others)]


def apex_claims(results: Results) -> list[Verdict]:
    first = [claims.r8(results), claims.r9(results, start_results()), *(judge(results) for judge in claims.ON_APEX)]
    return [*first, claims.r13(results), claims.r14(results, pressure_results())]


def by_id(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.id: verdict for verdict in verdicts}


def test_claims_hold_where_the_rows_bear_them_out() -> None:
    verdicts = synthetic_claims(pressure_results(), other_results()) + apex_claims(apex_results())
    assert [verdict.id for verdict in verdicts] == [f"R{number}" for number in (*range(1, 12), 13, 14)]
    assert [
        (verdict.id, [check for check in verdict.checks if not check.holds]) for verdict in verdicts if not verdict.holds
    ] == []


def test_windows_beyond_the_papers_pressures_do_not_decide() -> None:
    rows = list(apex_rows(2))
    far = {"window": 99, "pressure": 2.0, "min_yield": 0.1, "efficiency": 0.1, "utilization": 0.1}
    results = Results.of(table(rows + [row | far for row in rows if row["window"] == 0]))
    found, expected = apex_claims(results), apex_claims(apex_results())
    assert [one.id for one, other in zip(found, expected, strict=True) if one != other] == ["R8"]
    changed = [check.expected for check in found[0].checks if check not in expected[0].checks]
    assert all(words.startswith(("mean pressure on", "the pressures of single windows")) for words in changed)
    assert changed[-1].startswith("the pressures of single windows go up to 1.4")


def test_one_schedule_decides_nothing_that_needs_an_error() -> None:
    verdicts = by_id(apex_claims(apex_results(seeds=1)))
    assert verdicts["R10"].word == "not measured"
    assert claims.r7(other_results(seeds=1)).word == "not measured"


def without(results: Results, policy: str) -> Results:
    """The rows of all other policies."""
    return results.chosen(np.array([name != policy for name in results.table.column("policy").to_pylist()]))


@pytest.mark.parametrize("policy", ["fair-share", "greedy-com"])
def test_missing_runs_decide_nothing(policy: str) -> None:
    pressure, others, apex, starts = pressure_results(), other_results(), apex_results(), start_results()

    def judged(kept: Callable[[Results], Results]) -> list[Verdict]:
        on_apex = [*claims.ON_APEX, claims.r8, claims.r13]
        return [
            *synthetic_claims(kept(pressure), kept(others)),
            *(judge(kept(apex)) for judge in on_apex),
            claims.r9(kept(apex), kept(starts)),
            claims.r14(kept(apex), kept(pressure)),
        ]

    for verdict in judged(lambda results: without(results, policy)):
        assert [check for check in verdict.checks if check.holds is False] == []


def test_no_runs_decide_nothing() -> None:
    none = Results.of(table([]))
    verdicts = [*synthetic_claims(none, none), *(judge(none) for judge in (*claims.ON_APEX, claims.r8, claims.r13))]
    assert {verdict.word for verdict in [*verdicts, claims.r9(none, none), claims.r14(none, none)]} == {"not measured"}
    for _, draw in figures.FIGURES.values():
        assert draw(none).axes


def test_steps_and_slopes_can_fail() -> None:
    """All strategies with set-10's yields: those do not fall with φ; and without its steps, fcfs is no set-10."""
    assert [check.holds for check in claims.r5(pressure_results()).checks] == [True] * 5
    swapped = pressure_results().table.to_pylist()
    for row in swapped:
        row["policy"] = {"set-10": "fcfs", "fcfs": "set-10", "fair-share": "balance"}.get(row["policy"], row["policy"])
    results = Results.of(table(swapped))
    assert [check.holds for check in claims.r5(results).checks[3:]] == [True, False]
    for row in swapped:
        row["policy"] = {"greedy-com": "fair-share", "balance": "greedy-com"}.get(row["policy"], row["policy"])
    assert claims.r6(Results.of(table(swapped))).checks[1].holds is False, "another one falls with φ"


def test_a_claim_does_not_hold_where_the_rows_speak_against_it() -> None:
    def fcfs_best(policy: str, pressure: float, outcome: Outcome) -> Outcome:
        return {**outcome, "efficiency": 0.99, "min_yield": 0.99} if policy == "fcfs" else outcome

    verdicts = by_id(synthetic_claims(pressure_results(fcfs_best), other_results()))
    assert verdicts["R1"].word == "in part"
    assert verdicts["R3"].word == "in part"
    failed = [check.expected for check in verdicts["R3"].checks if not check.holds]
    assert failed == ["fcfs has the worst efficiency at every W_GOAL", "greedy-com has the best efficiency at every W_GOAL"]


def test_yields_are_ranked_trace_by_trace() -> None:
    results = pressure_results()
    assert np.allclose(np.diff(figures.sorted_yields(results, "fair-share", 1.1, "io_fractions")), -0.1 / 59)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_is_drawn(name: str) -> None:
    campaign, draw = figures.FIGURES[name]
    rows = {"pressure": pressure_results, "apex": apex_results, "other-parameters": other_results}
    figure = draw(rows[campaign]())
    assert encoded(figure, "png").startswith(PNG)
    assert encoded(figure, "svg").startswith(b"<?xml")
    assert (draw.__doc__ or "").startswith(f"Figure {name.removeprefix('figure')}:")


def test_campaigns_have_the_size_of_the_paper() -> None:
    assert len(experiments.pressure(SCALES["paper"]).cells) == 200 * 6 * 8  # 9,600 runs for Figure 2
    assert len(experiments.apex(SCALES["paper"]).cells) == 2 * 11 * 100 * 8
    # Each of n_small, σ and ν is varied alone: 5 + 4 + 4 points, of which the base is in all three.
    assert len(experiments.other_parameters(SCALES["smoke"]).cells) == 3 * (5 + 4 + 4 - 2) * 2 * 8


def test_a_figure_from_real_runs(tmp_path: Path) -> None:
    tiny = RevisitingScale(traces=1, others=1, schedules=1, windows=1, sizes=(4,), machines=("cielo", "M_10"))
    paper = replace(REVISITING, scales={"smoke": tiny})
    assert Reproduction(paper, tmp_path, "smoke", policies=("balance",)).run(["figure5", "figure8"]) == []
    assert "balance" in (tmp_path / "figure8.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "figure5.png",
        "figure5.svg",
        "figure8.png",
        "figure8.svg",
        "index.html",
        "page.json",
        "smoke",
    ]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 2
    assert "http" not in page.replace("http://www.w3.org", "")


def test_an_unknown_item_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"item figure11: unknown; expected one of .*table2, "):
        Reproduction(REVISITING, tmp_path, "smoke").run(["figure11"])
    assert main(["reproduce", "revisiting", "figure99", "--out", str(tmp_path)]) == 2
    assert "item figure99: unknown" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_all_policies_are_the_papers() -> None:
    assert len(POLICIES) == 8


def test_figure_1_is_example_2() -> None:
    """Category A first: who has completed works to the end; category B first: for α = ε / (m/2 − 1) only."""
    left, right = figures.figure_1().axes
    assert [label.get_text() for label in left.get_yticklabels()] == [f"A{k}" for k in range(10, 0, -1)]
    work = mcolors.to_rgba(PHASES["work"])

    def worked(panel: Axes) -> float:
        return float(sum(patch.get_width() for patch in panel.patches if patch.get_facecolor() == work))

    assert worked(left) == pytest.approx(0.8 + 0.6 + 0.4 + 0.2)
    assert worked(right) == pytest.approx(4 * 0.2 / 4)
