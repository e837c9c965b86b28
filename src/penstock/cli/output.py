"""What the commands share: where results go, tables on the terminal, and progress of what takes longer than some seconds."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from penstock.api.paths import Watcher
    from penstock.api.runs import SimulationResult
    from penstock.engine import Result
    from penstock.planning.placement.choice import ChosenPlacement
    from penstock.theory import Bounds


PATIENCE = 2.0
"""Seconds before the bar is shown."""


class Bar:
    """A progress bar over a number of `steps`, on standard error if that is a terminal."""

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
        """Begin the next step, which has this `name`."""
        self._name = name
        self.at(0.0)

    def end(self) -> None:
        """End the step."""
        self._done += 1
        self.at(0.0)

    def at(self, part: float) -> None:
        """Show that this `part` of the present step is done, from 0 to 1."""
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


FILE_HELP = "workload file: JSON, YAML or Parquet; - reads standard input"
POLICY_HELP = (
    "a name that `penstock policies` lists (periodic-greedy-yield:delta=60 sets a parameter), "
    "or your own function as module:name or ./file.py:name"
)


def add_placement(command: argparse.ArgumentParser) -> None:
    """Add to the `command` the options that say which I/O resources each application uses."""
    command.add_argument(
        "--allocation",
        metavar="A",
        help="on I/O resources: how many each application uses, as for penstock place (default: as in the file, else tcpu)",
    )
    command.add_argument(
        "--placement",
        metavar="P",
        help="likewise: which ones, as for penstock place (default: as in the file, else greedy-clairvoyant)",
    )


def add_information(command: argparse.ArgumentParser, *, several: bool) -> None:
    """Add to the `command` the option that says what policies are told of what lies ahead; `several` can be asked for."""
    command.add_argument(
        "--information",
        metavar="WHAT",
        default=["true"] if several else "true",
        help="what policies are told of volumes, iterations and lengths: true; predicted from each application's own past; "
        "class for means over applications of its user and name; or none" + (" (several; default: true)" if several else ""),
        nargs="+" if several else None,
    )


def note_information(results: Sequence[SimulationResult]) -> None:
    """Say on what information the policies ran, where that is not the truth alone."""
    from penstock.engine.information import NOTES, tells_apart

    told = {result.information for result in results if tells_apart(result.information, result.policy_object)}
    for one, text in NOTES.items():
        if one in told:
            say(f"note: {text}")
    if not told and any(result.information != "true" for result in results):
        say("note: --information makes no difference to policies that need nothing of what lies ahead", sys.stderr)


def add_outputs(command: argparse.ArgumentParser) -> None:
    """Add to the `command` the options that say where results go."""
    add_json(command)
    command.add_argument("--html", metavar="OUT", help="also write a report, one HTML file that works offline")


def add_json(command: argparse.ArgumentParser) -> None:
    """Add to the `command` the options that ask for JSON."""
    command.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    command.add_argument("-o", "--output", metavar="OUT", help="write the JSON to this file; - for standard output")


def after_dashes(place: str, words: list[str]) -> list[str]:
    """The program and its arguments out of the `words` after an optional ``--``.

    Raises:
        InputError: If there are none; `place` names the command.
    """
    from penstock.model.errors import InputError

    program = words[1:] if words[:1] == ["--"] else words
    if not program:
        raise InputError(place, "no command; expected one after --")
    return program


def seed(text: str) -> int:
    """Convert the `text` of a seed; raises ArgumentTypeError if it is not a whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; expected a whole number, 0 or more")
    return int(text)


def emit_json(document: Any, output: str | None) -> None:
    """Write the `document` as JSON to standard output (`output` is None or "-") or to the file `output`."""
    emit_text(json.dumps(document, indent=1, allow_nan=False) + "\n", output)


def emit_text(text: str, output: str | None) -> None:
    """Write the `text` to standard output or to a file, which keeps its old content if anything fails.

    `output` is the name of the file; None and "-" stand for standard output. Raises InputError if the file cannot be
    written.
    """
    if output in (None, "-"):
        sys.stdout.write(text)
        return
    from penstock.model.files import replacing

    with replacing(Path(str(output))) as temporary:
        temporary.write_text(text, encoding="utf-8")


def terminal_width(stream: TextIO) -> int | None:
    """The columns of the terminal that the `stream` writes to; None if it is no terminal."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def say(text: str, stream: TextIO | None = None) -> None:
    """Print sentences: wrapped at spaces on a terminal, else in one line, which other programs can search.

    `text` is one paragraph; lines after the first are indented as it is. `stream` is standard output unless given.
    """
    stream = sys.stdout if stream is None else stream
    width = terminal_width(stream)
    if width is not None:
        indent = " " * (len(text) - len(text.lstrip()))
        text = textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    stream.write(f"{text}\n")


def console() -> Console:
    """Where tables go: as wide as the terminal or as COLUMNS says, else wide enough for every column."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160)


def print_table(
    columns: Mapping[str, Sequence[str]],
    optional: Sequence[str] = (),
    caption: str | None = None,
    wide: Sequence[str] = (),
) -> None:
    """Print a table that fits the terminal.

    Args:
        columns: The cells of each column by heading. The first column holds names.
        optional: Headings of columns that a narrow terminal can do without, the first ones first.
        caption: A line below the table.
        wide: Headings of further columns of text, which are wrapped at spaces; the others are numbers.

    """
    from penstock.report.fitting import print_fitting, table_of

    def make(without: Sequence[str]) -> Table:
        return table_of({name: cells for name, cells in columns.items() if name not in without}, wide, caption)

    print_fitting(console(), make, optional)


def note_overcommitted(results: Sequence[Result]) -> None:
    """Say on standard error in which of the `results` shares of living applications added up to more than the buffer."""
    from penstock.report.format_units import volume

    over = [result for result in results if result.buffer is not None and result.buffer.overcommitted]
    if over and over[0].buffer is not None:
        room, most = over[0].buffer.room or 0.0, max(one.buffer.at_once or 0.0 for one in over if one.buffer is not None)
        which = ", ".join(result.policy for result in over)
        say(
            f"note: the shares of applications alive at one time add up to {volume(most)} under {which}; "
            f"the buffer has {volume(room)}",
            sys.stderr,
        )


def note_crowded(results: Sequence[Result]) -> None:
    """Say on standard error if more nodes are in use at one time in some of the `results` than the machine has."""
    most = max((result.most_nodes for result in results), default=0)
    nodes = results[0].machine_nodes if results else None
    if nodes is not None and most > nodes:
        say(
            f"note: up to {most:,} nodes are in use at one time where the machine has {nodes:,}: every application starts "
            "at its release, and none waits for nodes; penstock machine queues them",
            sys.stderr,
        )


def print_applications(result: Result) -> None:
    """Print the table of the applications of a `result`, and an empty line."""
    from penstock.report.fitting import print_fitting
    from penstock.report.table import NARROW, OPTIONAL, applications_table

    print_fitting(console(), lambda without: applications_table(result, without=without), (*OPTIONAL, *NARROW))
    print()


def print_measures(result: Result) -> None:
    """Print of a `result` the slowdowns, stretches, the use of the stores and the volumes that went through the buffer."""
    from penstock.report import measures_table

    console().print("", measures_table(result), sep="\n")


def print_owners(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print yields and node-hours by user, from the `rows` of `SimulationResult.by_owner`; nothing for a single user."""
    if len(rows) < 2:
        return
    hours = {name: [f"{row[name]:,.3f}" for row in rows] for name in ("computing", "transferring", "delayed")}
    columns = {
        "user": [row["user"] or "–" for row in rows],
        "applications": [f"{row['applications']:,}" for row in rows],
        "min-yield": [f"{row['min_yield']:.4f}" for row in rows],
        **{f"node-hours {name}": cells for name, cells in hours.items()},
    }
    print_table(columns, ("applications", "node-hours transferring"))


def print_comparison(results: Sequence[Result], bounds: Bounds | None = None) -> None:
    """Print the table of the policies: one row for each of the `results`, and one for the `bounds` if they are given."""
    from penstock.report.fitting import print_fitting
    from penstock.report.table import COMPARISON_OPTIONAL, comparison_table

    def make(without: Sequence[str]) -> Table:
        return comparison_table(results, bounds, without=without)

    print_fitting(console(), make, COMPARISON_OPTIONAL)


def print_placement(placed: ChosenPlacement | None) -> None:
    """Print which I/O resources the applications use; nothing on one link, where `placed` is None."""
    if placed:
        say(f"placement: {placed.text}")


def print_notes(results: Sequence[Result]) -> None:
    """Print what a reader of the figures of these `results` must know."""
    early = sorted({name for result in results for name in result.ended_early})
    if early:
        names = ", ".join(early[:3]) + (" …" if len(early) > 3 else "")
        say(
            f"note: {len(early)} of {len(results[0].applications)} applications ended inside the window ({names}): "
            "not a steady state; their yields are taken at their ends"
        )


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Give a function that shows on a terminal what is being done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(f"{text} …")


def watch(steps: int) -> AbstractContextManager[Watcher]:
    """A bar for so many `steps` whose parts are known; for 0 a spinner with the name of what is under way."""
    return Bar(steps) if steps else _spinner()


class _Spinner:
    """Shows the names of steps, and the part of all that is done."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._name = ""
        self._done = ""

    def begin(self, name: str) -> None:
        """The next step, by its name."""
        self._name = name
        self._say(f"{name}{self._done}")

    def at(self, part: float) -> None:
        """Show that this part of all steps is done, from 0 to 1."""
        done = f", {part:.0%}"
        if done != self._done:
            self._done = done
            self._say(f"{self._name}{done}")

    def end(self) -> None:
        """The name stays until the next step begins."""


@contextmanager
def _spinner() -> Iterator[_Spinner]:
    with telling() as say:
        yield _Spinner(say)
