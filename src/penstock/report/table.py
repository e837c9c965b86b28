"""Results as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from penstock.report import format_units, objectives

if TYPE_CHECKING:
    from penstock.engine import ApplicationResult, Result
    from penstock.theory import Bounds

OPTIONAL: Final = ("progress", "transferring", "share peak", "direct", "stretch", "transferred", "by buffer")
"""Columns of the table of applications that a terminal of 80 columns can do without, the first ones first."""
NARROW: Final = ("resources", "waiting", "end", "slowdown")
"""Those that a narrower one can do without, too."""
COMPARISON_OPTIONAL: Final = (
    "time",
    "events",
    "gap",
    "max stretch",
    "mean slowdown",
    "utilization",
    "lost node-hours",
    "efficiency",
)
"""Columns of the comparison that a narrow terminal can do without, the first ones first."""


def comparison_table(
    results: Sequence[Result], bounds: Bounds | None = None, *, costs: bool = True, without: Container[str] = ()
) -> Table:
    """The policies with their objectives, the best of each in bold.

    Args:
        results: One result per policy, of the same workload.
        bounds: Upper bounds for any schedule. A last row has them, and a column beside each objective says how far below its
            bound a policy stays.
        costs: Whether the last two columns are there: events and time in the engine.
        without: Headings of columns to leave out.

    Returns:
        One row per policy. On I/O resources and with buffers it also has slowdowns and stretches.

    Example:
        >>> from penstock.engine import simulate
        >>> from penstock.workloads import demo
        >>> table = comparison_table([simulate(demo(), name) for name in ("fcfs", "fair-share")])
        >>> [column.header for column in table.columns][:3], table.row_count
        (['policy', 'lost node-hours', 'min-yield'], 2)

    """
    columns = _comparison(results, bounds)
    left_out = () if costs else ("events", "time")
    shown = [(heading, cells) for heading, cells in columns if heading not in without and heading not in left_out]
    table = _table(*(heading for heading, _ in shown))
    rows = list(zip(*(cells for _, cells in shown), strict=True))
    for row in rows[: len(results)]:
        table.add_row(*row)
    if bounds is not None:
        table.add_section()
        table.add_row(*rows[-1])
    return table


def bounds_table(bounds: Bounds) -> Table:
    """The bounds and the time to compute them, in one row.

    Args:
        bounds: upper bounds for any schedule.

    Example:
        >>> from penstock.theory import Bounds
        >>> bounds_table(Bounds(0.9, 0.95, seconds=0.1)).row_count
        1
    """
    names = [objectives.OBJECTIVES[objective] for objective in objectives.BOUNDED]
    table = _table(*names, "time")
    table.columns[0].justify = "right"
    values = (objectives.text(getattr(bounds, objective)) for objective in objectives.BOUNDED)
    table.add_row(*values, format_units.duration(bounds.seconds))
    return table


def applications_table(result: Result, most: int = 20, without: Container[str] = ()) -> Table:
    """The applications of a run.

    Args:
        result: The run.
        most: The most rows. Of more applications, those with the lowest yields are shown.
        without: Headings of columns to leave out.

    Returns:
        One row per application, in the order of the workload. There are slowdowns if some application did I/O, and columns
        for I/O resources and the buffer if the machine has them.

    Example:
        >>> from penstock.engine import simulate
        >>> from penstock.workloads import demo
        >>> applications_table(simulate(demo(), "fcfs"), most=5).caption
        '5 of 8 applications, those with the lowest yields'

    """
    shown = sorted(range(len(result.applications)), key=lambda index: result.applications[index].yield_)[:most]
    applications = [result.applications[index] for index in sorted(shown)]
    columns = {name: cells for name, cells in _columns(result, applications).items() if name not in without}
    table = _table("application", *columns)
    for application, *cells in zip(applications, *columns.values(), strict=True):
        table.add_row(Text(application.name), *cells)
    if len(shown) < len(result.applications):
        table.caption = f"{len(shown)} of {len(result.applications):,} applications, those with the lowest yields"
    return table


def measures_table(result: Result) -> Table:
    """The measures of a run beside the objectives.

    Args:
        result: the run.

    Returns:
        One row per measure: its name and a line of words.

    Example:
        >>> from penstock.engine import simulate
        >>> from penstock.workloads import demo
        >>> measures_table(simulate(demo(), "fcfs")).row_count
        3
    """
    table = Table(show_header=False, show_edge=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in _measures(result):
        table.add_row(name, words)
    return table


def _comparison(results: Sequence[Result], bounds: Bounds | None) -> Iterator[tuple[str, list[Text | str]]]:
    """The columns of the comparison, heading and cells, with those of the bound last if there is one."""
    yield "policy", [*(Text(result.policy) for result in results), *(["bound"] if bounds else [])]
    more = objectives.costs(results)
    names = {**objectives.headings(results), **objectives.COSTS}
    for objective in (*more[: objectives.LOST in more], *objectives.headings(results), *more[objectives.LOST in more :]):
        best = objectives.best(results, objective)
        cells: list[Text | str] = [
            Text(objectives.shown(result, objective), style="bold" if index in best else "")
            for index, result in enumerate(results)
        ]
        bound = getattr(bounds, objective) if bounds and objective in objectives.BOUNDED else None
        last = "–" if bound is None else objectives.text(bound)
        yield names[objective], [*cells, *([last] if bounds else [])]
        if bounds is not None and bound is not None:
            yield "gap", [*(objectives.text(objectives.gaps(result, bounds)[objective]) for result in results), ""]
    yield "events", [*(f"{result.events:,}" for result in results), *(["–"] if bounds else [])]
    spent = [result.seconds for result in results] + ([bounds.seconds] if bounds else [])
    yield "time", list(map(format_units.duration, spent))


def _columns(result: Result, applications: Sequence[ApplicationResult]) -> dict[str, list[str]]:
    """The cells of the table of applications, by heading."""

    def seconds(value: float) -> str:
        return format_units.duration(value, result.duration)

    columns = {
        "end": ["–" if one.end is None else format_units.duration(one.end) for one in applications],
        "yield": [objectives.text(one.yield_) for one in applications],
        "stretch": [f"{one.stretch:.3f}" for one in applications],
        "progress": [seconds(one.progress) for one in applications],
        "transferred": [format_units.volume(one.transferred) for one in applications],
        "waiting": [seconds(one.waiting) for one in applications],
        "transferring": [seconds(one.transferring) for one in applications],
    }
    if len(result.slowdowns):
        columns["slowdown"] = ["–" if one.slowdown is None else f"{one.slowdown:.3f}" for one in applications]
    if any(one.resources is not None for one in applications):
        columns["resources"] = [f"{len(one.resources or ()):,}" for one in applications]
    uses = [one.buffer for one in applications if one.buffer is not None]
    if uses:
        columns["by buffer"] = [format_units.volume(use.drained + use.prefetched) for use in uses]
        columns["direct"] = [format_units.volume(use.direct_written + use.direct_read) for use in uses]
    if any(use.peak is not None for use in uses):
        columns["share peak"] = [format_units.volume(use.peak or 0.0) for use in uses]
    return columns


def _measures(result: Result) -> Iterator[tuple[str, str]]:
    placed = any(application.resources is not None for application in result.applications)
    if len(result.slowdowns):
        parts = f"; mean ρ_io {result.mean_allocation_slowdown:.3f}, mean ρ_con {result.mean_congestion_slowdown:.3f}"
        yield "slowdown", f"mean {result.mean_slowdown:.3f}, max {result.max_slowdown:.3f}{parts if placed else ''}"
    if result.makespan is not None:
        yield "stretch by dates", f"mean {result.mean_stretch:.3f}, max {result.max_stretch:.3f}"
        yield "stretch by durations", f"mean {result.mean_duration_stretch:.3f}, max {result.max_duration_stretch:.3f}"
    idle = format_units.number(result.idle_node_seconds / 3600.0)
    yield "idle in I/O", f"{idle} node-hours, {_percent(result.idle_time)} of the machine's"
    if placed:
        used = ((result.occupancy, "busy"), (result.store_utilization, "used"))
        words = (f"{word} {_percent(sum(parts) / len(parts))} (max {_percent(max(parts))})" for parts, word in used)
        yield f"{len(result.occupancy):,} I/O resources", ", ".join(words)
    else:
        yield "link", f"busy {_percent(result.occupancy[0])}, used {_percent(result.store_utilization[0])}"
    yield from _buffer_measures(result)


def _buffer_measures(result: Result) -> Iterator[tuple[str, str]]:
    """The size of the buffer, its peak, and the volumes that went through it and past it."""
    buffer = result.buffer
    if buffer is None:
        return
    finite = math.isfinite(buffer.size)
    size = format_units.volume(buffer.size) if finite else "unlimited"
    kind = "" if buffer.shares is None else " in shares"
    if buffer.peak is None:
        peak = ""
    else:
        part = f" ({_percent(buffer.peak / buffer.size)})" if finite and buffer.size > 0.0 else ""
        peak = f", peak {format_units.volume(buffer.peak)}{part}"
    yield "buffer", f"{size}{kind}{peak}"
    for name, by, past in (("written", "drained", "direct_written"), ("read", "prefetched", "direct_read")):
        yield name, f"{format_units.volume(buffer.total(by))} by buffer, {format_units.volume(buffer.total(past))} direct"


def _percent(part: float) -> str:
    return f"{format_units.number(100.0 * part)} %"


def _table(name: str, *numbers: str) -> Table:
    """An empty table: a column of names and columns of numbers. `penstock.report.fitting` keeps both whole."""
    table = Table(header_style="", show_edge=False, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
