"""What the benchmarks have in common: the way they print, and the way they say that they cannot run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

Results = dict[str, Any]
"""What a benchmark returns, as it goes into results.json."""


class NotHereError(Exception):
    """The benchmark needs a program that this machine lacks; the text says how to get it."""


class Report:
    """Tables and lines on the terminal, kept as Markdown for tables.md as well."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._markdown: list[str] = []

    @property
    def markdown(self) -> str:
        """All that was shown so far."""
        return "\n\n".join(self._markdown) + "\n"

    def show(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table, the first column on the left and the others on the right."""
        table = Table(title=title, title_justify="left")
        for position, column in enumerate(columns):
            table.add_column(column, justify="right" if position else "left", overflow="fold")
        lines = [f"{title}:", "", "| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
        for row in rows:
            table.add_row(*row)
            lines.append("| " + " | ".join(row) + " |")
        self.console.print(table)
        self._markdown.append("\n".join(lines))

    def say(self, text: str) -> None:
        """A line."""
        self.console.print(text)
        self._markdown.append(text)


def verdict(value: float, wanted: float, *, at_least: bool = False, enough: float | None = None) -> str:
    """The value beside what is wanted of it, and whether it holds; beside what would be enough too, if that is known."""

    def beside(bound: float, what: str) -> str:
        holds = value >= bound if at_least else value <= bound
        return f"{'≥' if at_least else '≤'} {bound:g} {what}: {'yes' if holds else 'NO'}"

    bounds = [beside(wanted, "wanted"), *([beside(enough, "enough")] if enough is not None else [])]
    return f"{value:.3g} ({', '.join(bounds)})"


def require(condition: bool, what: str) -> None:
    """Stop the benchmark where its contestants do not compute the same."""
    if not condition:
        raise SystemExit(f"benchmarks: {what}; the times would mean nothing")
