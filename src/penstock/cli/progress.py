"""A bar on a terminal for what takes longer than some seconds."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.engine import Run

PATIENCE = 2.0
"""Seconds before the bar is shown."""


class Bar:
    """How much of a number of steps is done, on standard error if that is a terminal."""

    def __init__(self, steps: int) -> None:
        self.on_terminal = sys.stderr.isatty()
        self._steps = steps
        self._done = 0
        self._name = ""
        self._begun = monotonic()
        self._shown: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.stop()

    def begin(self, name: str) -> None:
        """The next step, by its name."""
        self._name = name
        self.at(0.0)

    def end(self) -> None:
        """The step is done."""
        self._done += 1
        self.at(0.0)

    def at(self, part: float) -> None:
        """So much of the present step is done, from 0 to 1."""
        if not self.on_terminal or (self._shown is None and monotonic() - self._begun < PATIENCE):
            return
        first = self._shown is None
        if first:
            self._make()
        steps = f" {min(self._done + 1, self._steps)}/{self._steps}" if self._steps > 1 else ""
        self._shown.update(self._task, description=f"{self._name}{steps}", completed=self._done + part, refresh=True)
        if first:
            self._shown.start()

    def _make(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        terminal = Console(stderr=True)
        self._shown = Progress(*columns, TimeRemainingColumn(), console=terminal, transient=True, auto_refresh=False)
        self._task = self._shown.add_task("", total=self._steps)


def part_done(run: Run) -> float:
    """How much of a run is done: of its window, or without one of what its applications do."""
    workload = run.workload
    if workload.window is not None:
        begin, end = workload.window
        return (run.now - begin) / (end - begin)
    whole = sum(workload.history(application) + application.lead for application in workload.applications)
    whole += float(run.chains.cycle.sum())
    return float(run.accounts()["progress"].sum()) / whole if whole > 0.0 else 0.0
