"""``penstock reproduce PAPER``: draw the figures of a paper again and judge its claims."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.campaign import DASK_HELP
from penstock.cli.output import emit_json, telling

if TYPE_CHECKING:
    from penstock.papers.reproducing import Verdict

ITEMS_OF = {
    "revisiting": "table2, figure2 … figure10, claims",
    "dash": "figureII.4 … II.6, III.4 … III.6, III.8 … III.13, IV.3 … IV.10, V.3, claims",
    "distributed": "figure1, figure2, figure5 … figure13, oracle, claims",
    "calciom": "figure1, figure2, figure4 … figure12, live, claims",
    "buffers": "table2, figure4 … figure8, claims",
    "beyond": "numbers, fronts, other-fronts, apex-fronts, claims",
}
"""The items of each paper; ``beyond`` compares our own policies with theirs."""
USING_DATA = ("distributed", "calciom")
A_CHECK_DID_NOT_HOLD = 1


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "reproduce",
        help="draw the figures of a paper again and judge its claims",
        description="Run what a paper ran, draw its figures (PNG, SVG and one HTML page) and judge its claims.",
    )
    papers = (
        "revisiting (paper 000), dash (001), distributed (002), calciom (003), buffers (004), or beyond: our own policies"
    )
    command.add_argument("paper", metavar="PAPER", choices=ITEMS_OF, help=papers)
    items = "; ".join(f"for {paper}: {items}" for paper, items in ITEMS_OF.items())
    command.add_argument("items", metavar="ITEM", nargs="*", help=f"{items} (default: all)")
    command.add_argument("--scale", choices=("smoke", "quick", "paper"), default="quick", help="how much is run")
    command.add_argument(
        "--check", action="store_true", help="print each claim with its measures; exit 1 if one does not hold"
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results; what it holds already is not run again (default: reproduce-PAPER)",
    )
    command.add_argument("--dask", metavar="ADDRESS", help=DASK_HELP)
    command.add_argument(
        "--data",
        metavar="DIR",
        help="for distributed and calciom: folder of measured profiles and job traces (default: PENSTOCK_DATA, or none)",
    )
    command.add_argument(
        "--live", metavar="DIR", help="for calciom: also run live applications on the test bed mounted there (default: none)"
    )
    command.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code, 1 if a check does not hold."""
    reproduce = import_module(f"penstock.papers.{options.paper}.reproduction").reproduce
    out = Path(options.out or f"reproduce-{options.paper}")
    items = [*options.items, "claims"] if options.check and options.items else options.items
    with telling() as say:
        verdicts = reproduce(out, items, options.scale, dask=options.dask, **_data(options), **_live(options, say))
    if options.json:
        emit_json({"claims": [verdict.to_dict() for verdict in verdicts]}, None)
    else:
        _print(verdicts)
    sys.stderr.write(f"page: {(out / 'index.html').resolve()}\n")
    return A_CHECK_DID_NOT_HOLD if options.check and not all(verdict.holds for verdict in verdicts) else 0


def _data(options: argparse.Namespace) -> dict[str, Path | None]:
    """The option for measured data, for the papers that use some."""
    if options.paper not in USING_DATA:
        if options.data is not None:
            options.parser.error(f"--data is for {', '.join(USING_DATA)}; leave it out")
        return {}
    folder = options.data or os.environ.get("PENSTOCK_DATA")
    return {"data": Path(folder) if folder else None}


def _live(options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """The options for live applications, for the paper that is about them."""
    if options.paper == "calciom":
        return {"live": Path(options.live) if options.live else None, "say": say}
    if options.live is not None:
        options.parser.error("--live is for calciom; leave it out")
    return {}


def _print(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        print(f"{verdict.id} ({verdict.place}) {verdict.word}: {verdict.says}")
        for check in verdict.checks:
            print(f"    {'yes' if check.holds else 'NO '} {check.expected}: {check.measured}")
