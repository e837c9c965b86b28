"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from penstock.report import objectives, units

if TYPE_CHECKING:
    from penstock.engine import ApplicationResult, Result


def comparison_table(results: Sequence[Result]) -> Table:
    """One row a policy with its objectives, the best of each in bold, its events and its time in the engine."""
    table = _table("policy", *objectives.OBJECTIVES.values(), "events", "time")
    best = {objective: objectives.best(results, objective) for objective in objectives.OBJECTIVES}
    for index, result in enumerate(results):
        values = (
            Text(objectives.text(getattr(result, objective)), style="bold" if index in best[objective] else "")
            for objective in objectives.OBJECTIVES
        )
        table.add_row(Text(result.policy), *values, f"{result.events:,}", units.duration(result.seconds))
    return table


def applications_table(result: Result, most: int = 20) -> Table:
    """One row an application, in the order of the workload; of more than `most` those with the lowest yields."""
    table = _table("application", "end", "yield", "stretch", "progress", "transferred", "waiting", "transferring")
    shown = sorted(range(len(result.applications)), key=lambda index: result.applications[index].yield_)[:most]
    for index in sorted(shown):
        table.add_row(*_row(result.applications[index]))
    if len(shown) < len(result.applications):
        table.caption = f"{len(shown)} of {len(result.applications):,} applications, those with the lowest yields"
    return table


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


def _table(name: str, *numbers: str) -> Table:
    """An empty table: a column of names and columns of numbers."""
    table = Table(header_style="")
    table.add_column(name)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table
