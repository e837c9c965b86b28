"""The bar that tells how far a campaign is and how much time is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int], None]
"""Called with the number of cells done."""


@contextmanager
def bar(name: str, done: int, total: int, wanted: bool | None) -> Iterator[Report]:
    """A bar on standard error if wanted; by default, on a terminal only. The time left is told by the pace since now."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, times = TextColumn("{task.description}"), (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(text, BarColumn(), MofNCompleteColumn(), *times, console=console, transient=True) as progress:
        task = progress.add_task(name, total=total, completed=done)
        yield lambda cells: progress.update(task, completed=cells)


def _silent(cells: int) -> None:
    """No bar."""
