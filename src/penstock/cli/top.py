"""``penstock top``: watch on the terminal which applications do I/O now."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.ctl import add_socket, query_coordinator, told_apart
from penstock.cli.output import console
from penstock.report.format_units import rate, volume

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_ORDER = {"transferring": 0, "waiting": 1, "away": 2, "working": 3}


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "top",
        help="watch a running coordinator in the terminal",
        description="Show which applications do I/O now, their rates, how long they have waited, and their yields, until "
        "interrupted.",
    )
    command.add_argument("--interval", metavar="S", type=_seconds, default=1.0, help="seconds between two updates")
    command.add_argument("--once", action="store_true", help="show the state once and exit, as where there is no terminal")
    add_socket(command)
    command.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.05 <= seconds <= 3600.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an interval; expected seconds from 0.05 to 3600")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    if options.once or not sys.stdout.isatty():
        console().print(_picture(query_coordinator(options, "state"), None))
        return 0
    from rich.live import Live

    with Live(
        _picture(query_coordinator(options, "state"), _room()), console=console(), screen=True, auto_refresh=False
    ) as live:
        while True:
            time.sleep(options.interval)
            live.update(_picture(query_coordinator(options, "state"), _room()), refresh=True)


def _room() -> int:
    return max(1, console().size.height - 6)


def _picture(state: dict[str, Any], most: int | None) -> RenderableType:
    """The state as a table of at most `most` applications; those that move data come first."""
    from rich.console import Group
    from rich.text import Text

    from penstock.report.fitting import fitted, table_of

    share = state["granted"] / state["bandwidth"]
    bar = "█" * round(30 * share) + "░" * (30 - round(30 * share))
    head = f"{state['policy']}  {bar}  {rate(state['granted'])} of {rate(state['bandwidth'])}"
    applications = sorted(state["applications"], key=lambda one: (_ORDER[one["state"]], -one["rate"], one["application"]))
    columns = _columns(applications[:most])

    def make(without: Sequence[str]) -> Table:
        return table_of({name: cells for name, cells in columns.items() if name not in without}, ("state",))

    table, _ = fitted(console(), make, ("moved in total", "since", "done"))
    counts = ", ".join(f"{sum(one['state'] == name for one in applications)} {name}" for name in _ORDER)
    notes = [Text(head), Text(f"{counts}; {state['decisions']:,} decisions")]
    if state["fault"]:
        notes.append(Text(state["fault"]))
    return Group(*notes, table)


def _columns(applications: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """The cells of the table by heading."""
    pending = [one["pending"] for one in applications]
    return {
        "job": told_apart(applications),
        "state": [one["state"] for one in applications],
        "rate": [rate(one["rate"]) if one["rate"] else "" for one in applications],
        "done": [
            f"{each['estimated'] / each['volume']:.0%} of {volume(each['volume'])}" if each else "" for each in pending
        ],
        "since": [f"{each['seconds']:.1f} s" if each else "" for each in pending],
        "yield": [f"{one['yield']:.3f}" for one in applications],
        "moved in total": [volume(one["transferred"]) for one in applications],
    }
