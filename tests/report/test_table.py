import dataclasses
import io
import math

import pytest
from rich.console import Console
from rich.table import Table

from penstock.engine import Result, simulate
from penstock.engine.scenarios import replay
from penstock.model import Application, Buffer, Platform, Workload
from penstock.report import applications_table, bounds_table, comparison_table, measures_table
from penstock.report.table import OPTIONAL
from penstock.theory import Bounds


def printed(table: Table) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(table)
    return console.file.getvalue()


def column(table: Table, heading: str) -> list:
    return list(next(c for c in table.columns if c.header == heading).cells)


def test_the_comparison_has_a_row_for_each_policy(results: list[Result]) -> None:
    table = comparison_table(results)
    assert [c.header for c in table.columns] == ["policy", "min-yield", "efficiency", "utilization", "events", "time"]
    assert [str(cell) for cell in column(table, "policy")] == ["fair-share", "fcfs", "greedy-yield"]
    assert [str(cell) for cell in column(table, "min-yield")] == [f"{result.min_yield:.4f}" for result in results]


def test_the_best_of_each_objective_is_bold(results: list[Result]) -> None:
    better = [results[0], dataclasses.replace(results[1], efficiency=0.99), results[2]]
    assert [cell.style for cell in column(comparison_table(better), "efficiency")] == ["", "bold", ""]


def test_slowdowns_and_stretches_are_there_where_they_say_something(placed_results: list[Result], bounds: Bounds) -> None:
    buffered = placed_results[0].buffer is not None
    more = ["mean slowdown", "max stretch"] if buffered else ["mean slowdown"]
    table = comparison_table(placed_results, bounds)
    # An application comes later, so that the efficiency is that of running ones, without a bound.
    assert [c.header for c in table.columns][4:] == [*more, "events", "time"]
    *values, last = map(str, column(table, "mean slowdown"))
    assert values == [f"{result.mean_slowdown:.4f}" for result in placed_results]
    assert last == "–"
    smallest = min(values, key=float)
    bold = [str(cell) for cell in column(table, "mean slowdown")[:-1] if cell.style == "bold"]
    assert set(bold) == {smallest}
    if buffered:
        stretches = [f"{result.max_duration_stretch:.4f}" for result in placed_results]
        assert [str(cell) for cell in column(table, "max stretch")[:-1]] == stretches
    assert [str(cell) for cell in column(applications_table(placed_results[0]), "resources")] == ["2", "1", "3"]


def cells(table: Table) -> list[list[str]]:
    return [list(map(str, row)) for row in zip(*(column.cells for column in table.columns), strict=True)]


def test_the_bound_is_the_last_row_and_beside_each_policy(results: list[Result], bounds: Bounds) -> None:
    table = comparison_table(results, bounds)
    headings = ["policy", "min-yield", "gap", "efficiency", "gap", "utilization", "events", "time"]
    assert [c.header for c in table.columns] == headings
    *policies, last = cells(table)
    assert last == ["bound", "0.9877", "", "0.9900", "", "–", "–", "250 ms"]
    assert [row[0] for row in policies] == [result.policy for result in results]
    assert [row[2] for row in policies] == [f"{0.98765 - result.min_yield:.4f}" for result in results]
    assert [row[4] for row in policies] == [f"{0.99 - result.efficiency:.4f}" for result in results]


def test_the_bound_is_never_best(results: list[Result], bounds: Bounds) -> None:
    *policies, last = next(c for c in comparison_table(results, bounds).columns if c.header == "min-yield").cells
    assert sum(cell.style == "bold" for cell in policies) == 1
    assert isinstance(last, str)


def test_events_and_time_can_be_left_out(results: list[Result], bounds: Bounds) -> None:
    table = comparison_table(results, bounds, costs=False)
    assert [c.header for c in table.columns][-2:] == ["gap", "utilization"]
    assert cells(table)[-1] == ["bound", "0.9877", "", "0.9900", "", "–"]


def test_bounds_alone_are_one_row(bounds: Bounds) -> None:
    assert cells(bounds_table(bounds)) == [["0.9877", "0.9900", "250 ms"]]


def test_the_applications_have_human_units(results: list[Result]) -> None:
    table = applications_table(results[0])
    text = printed(table)
    assert table.row_count == 5
    assert "<img src=x onerror=alert(1)>" in text
    assert "größe-π-🙂" in text
    assert column(table, "transferred")[-1] == "1 GB"
    assert column(table, "end")[0] == "–"
    assert column(table, "end")[-1].endswith(" s")


def test_markup_in_a_name_is_text(results: list[Result]) -> None:
    odd = dataclasses.replace(results[0].applications[0], name="[bold]a[/bold]")
    assert "[bold]a[/bold]" in printed(applications_table(dataclasses.replace(results[0], applications=(odd,))))


def test_of_many_applications_the_lowest_yields_are_shown(results: list[Result]) -> None:
    table = applications_table(results[0], most=2)
    lowest = sorted(results[0].applications, key=lambda application: application.yield_)[:2]
    assert {str(cell) for cell in column(table, "application")} == {application.name for application in lowest}
    assert table.caption == "2 of 5 applications, those with the lowest yields"


def test_no_progress_is_an_infinite_stretch(results: list[Result]) -> None:
    stuck = dataclasses.replace(results[0].applications[0], yield_=0.0)
    assert "inf" in printed(applications_table(dataclasses.replace(results[0], applications=(stuck,))))


def test_slowdowns_are_there_on_a_link_if_somebody_does_io(results: list[Result]) -> None:
    shown = [str(cell) for cell in column(applications_table(results[0]), "slowdown")]
    assert shown == [f"{application.slowdown:.3f}" for application in results[0].applications]
    alone = Workload(Platform(1.0), (Application.of("a", [("work", 3.0)]),))
    idle = simulate(alone, "fcfs")
    assert "slowdown" not in [c.header for c in applications_table(idle).columns]
    assert next(row[0] for row in cells(measures_table(idle))) == "stretch by dates"


def test_columns_can_be_left_out(placed_results: list[Result]) -> None:
    table = applications_table(placed_results[0], without=OPTIONAL)
    assert [c.header for c in table.columns] == ["application", "end", "yield", "waiting", "slowdown", "resources"]
    assert [str(cell) for cell in column(table, "application")] == ["a", "b", "c"]


def burst(**platform: object) -> Workload:
    """100 bytes at 50 bytes/s from date 1 on, over a link of 10 bytes/s: alone that takes 2 s."""
    return Workload(Platform(10.0, **platform), (Application.of("a", [("work", 1.0), ("write", 100.0)], bandwidth=50.0),))


def test_what_went_by_way_of_the_buffer() -> None:
    # 30 bytes fit, so the write ends at 1 + 70/10 = 8; the rest is drained at 11. ρ = 7/2, the stretch 8/3, and the link is
    # full for 10 of 11 s. One node is in I/O for 7 of 11 s.
    result = simulate(burst(buffer=Buffer(30.0)), "fcfs")
    table = applications_table(result)
    assert [str(column(table, name)[0]) for name in ("slowdown", "by buffer", "direct")] == ["3.500", "30 B", "70 B"]
    assert "share peak" not in [c.header for c in table.columns]
    assert dict(cells(measures_table(result))) == {
        "slowdown": "mean 3.500, max 3.500",
        "stretch by dates": "mean 2.667, max 2.667",
        "stretch by durations": "mean 2.667, max 2.667",
        "idle in I/O": "0.00194 node-hours, 63.6 % of the machine's",
        "link": "busy 90.9 %, used 90.9 %",
        "buffer": "30 B, peak 30 B (100 %)",
        "written": "30 B by buffer, 70 B direct",
        "read": "0 B by buffer, 0 B direct",
    }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"pool": math.inf}, "unlimited, peak 80 B"),
        ({"pool": 0.0}, "0 B, peak 0 B"),
        ({"shares": [40.0]}, "40 B in shares, peak 40 B (100 %)"),
    ],
)
def test_the_size_of_a_buffer_and_its_peak(options: dict, text: str) -> None:
    result = replay(burst(), **options)
    assert dict(cells(measures_table(result)))["buffer"] == text
    assert ("share peak" in [c.header for c in applications_table(result).columns]) == ("shares" in options)


def test_resources_have_both_parts_of_the_slowdown(placed_results: list[Result]) -> None:
    result = placed_results[0]
    rows = dict(cells(measures_table(result)))
    assert rows["slowdown"].endswith(
        f"mean ρ_io {result.mean_allocation_slowdown:.3f}, mean ρ_con {result.mean_congestion_slowdown:.3f}"
    )
    mean, most = 100 * sum(result.occupancy) / 3, 100 * max(result.occupancy)
    assert rows["3 I/O resources"].startswith(f"busy {mean:.3g} % (max {most:.3g} %), used ")


def test_rounding_is_no_waiting(results: list[Result]) -> None:
    noisy = dataclasses.replace(results[0].applications[0], waiting=4.55e-13)
    table = applications_table(dataclasses.replace(results[0], applications=(noisy,)))
    assert column(table, "waiting") == ["0 s"]
