"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from penstock.report import objectives, units

if TYPE_CHECKING:
    from penstock.engine import ApplicationResult, Result
    from penstock.theory import Bounds


def comparison_table(results: Sequence[Result], bounds: Bounds | None = None, *, costs: bool = True) -> Table:
    """One row a policy with its objectives, the best of each in bold, its events and its time in the engine.

    With bounds, a last row has them, and a column beside each says how far below a policy stays. On I/O resources and with
    buffers there are slowdowns and stretches. `costs` are the last two columns, events and time.
    """
    more = objectives.costs(results)
    headings = (*_headings(bounds), *(objectives.COSTS[cost] for cost in more))
    table = _table("policy", *headings, *(("events", "time") if costs else ()))
    best = {objective: objectives.best(results, objective) for objective in (*objectives.OBJECTIVES, *more)}
    for index, result in enumerate(results):
        marked = {objective for objective in best if index in best[objective]}
        spent = (f"{result.events:,}", units.duration(result.seconds)) if costs else ()
        values = (_value(result, cost, marked) for cost in more)
        table.add_row(Text(result.policy), *_values(result, bounds, marked), *values, *spent)
    if bounds is not None:
        table.add_section()
        spent = ("–", units.duration(bounds.seconds)) if costs else ()
        table.add_row("bound", *_bounds_row(bounds), *("–" for _ in more), *spent)
    return table


def bounds_table(bounds: Bounds) -> Table:
    """The bounds and the time they took, in one row."""
    names = [objectives.OBJECTIVES[objective] for objective in objectives.BOUNDED]
    table = _table(*names, "time")
    table.columns[0].justify = "right"
    values = (objectives.text(getattr(bounds, objective)) for objective in objectives.BOUNDED)
    table.add_row(*values, units.duration(bounds.seconds))
    return table


def applications_table(result: Result, most: int = 20) -> Table:
    """One row an application, in the order of the workload; of more than `most` those with the lowest yields."""
    placed = any(application.resources is not None for application in result.applications)
    headings = ("end", "yield", "stretch", "progress", "transferred", "waiting", "transferring")
    table = _table("application", *headings, *(("slowdown", "resources") if placed else ()))
    shown = sorted(range(len(result.applications)), key=lambda index: result.applications[index].yield_)[:most]
    for index in sorted(shown):
        application = result.applications[index]
        table.add_row(*_row(application), *(_on_resources(application) if placed else ()))
    if len(shown) < len(result.applications):
        table.caption = f"{len(shown)} of {len(result.applications):,} applications, those with the lowest yields"
    return table


def _headings(bounds: Bounds | None) -> Iterator[str]:
    for objective, heading in objectives.OBJECTIVES.items():
        yield heading
        if bounds is not None and objective in objectives.BOUNDED:
            yield "gap"


def _values(result: Result, bounds: Bounds | None, marked: Container[str]) -> Iterator[Text | str]:
    """The objectives of a policy, each with its gap if there is one."""
    gaps = objectives.gaps(result, bounds)
    for objective in objectives.OBJECTIVES:
        yield _value(result, objective, marked)
        if objective in gaps:
            yield objectives.text(gaps[objective])


def _value(result: Result, objective: str, marked: Container[str]) -> Text:
    return Text(objectives.text(getattr(result, objective)), style="bold" if objective in marked else "")


def _bounds_row(bounds: Bounds) -> Iterator[str]:
    for objective in objectives.OBJECTIVES:
        if objective in objectives.BOUNDED:
            yield from (objectives.text(getattr(bounds, objective)), "")
        else:
            yield "–"


def _row(application: ApplicationResult) -> tuple[Text | str, ...]:
    return (
        Text(application.name),
        "–" if application.end is None else units.duration(application.end),
        objectives.text(application.yield_),
        f"{application.stretch:.3f}",
        units.duration(application.progress),
        units.volume(application.transferred),
        units.duration(application.waiting),
        units.duration(application.transferring),
    )


def _on_resources(application: ApplicationResult) -> tuple[str, str]:
    """What its I/O takes more than alone, and how many I/O resources it uses."""
    slowdown = "–" if application.slowdown is None else f"{application.slowdown:.3f}"
    return slowdown, f"{len(application.resources or ()):,}"


def _table(name: str, *numbers: str) -> Table:
    """An empty table: a column of names and columns of numbers. Names are folded where there is no room, numbers are not."""
    table = Table(header_style="", show_edge=False, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
