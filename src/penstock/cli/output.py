"""What the commands share: where results go, and progress on a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.engine import Result
    from penstock.model import Workload
    from penstock.policies import Policy

POLICY_HELP = (
    "a name that `penstock policies` lists (periodic-greedy-yield:delta=60 sets a parameter), "
    "or your own function as module:name or ./file.py:name"
)


def add_outputs(command: argparse.ArgumentParser) -> None:
    """The options that say where results go."""
    command.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    command.add_argument("-o", "--output", metavar="OUT", help="write the JSON to this file (- for standard output)")
    command.add_argument("--html", metavar="OUT", help="also write a report: one HTML file that works offline")


def emit_json(document: Any, output: str | None) -> None:
    """Write the document to standard output or, by way of a temporary file, to a file."""
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    if output in (None, "-"):
        sys.stdout.write(text)
        return
    from penstock.model.files import replacing

    with replacing(Path(str(output))) as temporary:
        temporary.write_text(text, encoding="utf-8")


def emit_report(path: str, workload: Workload, results: Sequence[Result], source: str) -> None:
    """Write the HTML report and say where it is."""
    from penstock.report import write_report

    write_report(Path(path), workload, results, title="standard input" if source == "-" else Path(source).name)
    sys.stderr.write(f"report: {path}\n")


def console() -> Console:
    """Where tables go: as wide as the terminal, and wide enough for every column where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160)


def run_all(workload: Workload, policies: Sequence[Policy], *, trace: bool, check: bool) -> list[Result]:
    """Run the workload under each policy, with a progress bar on a terminal."""
    from penstock.engine import simulate

    return [simulate(workload, policy, trace=trace, check=check) for policy in _with_progress(policies)]


def print_notes(results: Sequence[Result]) -> None:
    """Say what a reader of the figures must know."""
    early = sorted({name for result in results for name in result.ended_early})
    if early:
        names = ", ".join(early[:3]) + (" …" if len(early) > 3 else "")
        print(
            f"note: {len(early)} of {len(results[0].applications)} applications ended inside the window ({names}): "
            "not a steady state; their yields are taken at their ends"
        )


def _with_progress(policies: Sequence[Policy]) -> Iterator[Policy]:
    if len(policies) == 1 or not sys.stderr.isatty():
        yield from policies
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(policies))
        for policy in policies:
            progress.update(task, description=policy.name)
            yield policy
            progress.advance(task)
