"""``penstock reproduce PAPER``: the figures of a paper and its claims, measured again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import emit_json

if TYPE_CHECKING:
    from penstock.papers.claims import Verdict

PAPERS = ("revisiting",)
A_CHECK_DID_NOT_HOLD = 1


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "reproduce",
        help="the figures of a paper and its claims",
        description="Run what a paper ran, draw its figures (PNG, SVG and one HTML page) and judge its claims.",
    )
    command.add_argument("paper", metavar="PAPER", choices=PAPERS, help=f"one of {', '.join(PAPERS)}")
    command.add_argument("items", metavar="ITEM", nargs="*", help="figure2 … figure10, claims (default: all)")
    command.add_argument("--scale", choices=("smoke", "quick", "paper"), default="quick", help="how much is run (quick)")
    command.add_argument("--check", action="store_true", help="print the claims with figures; exit 1 if one does not hold")
    command.add_argument("--out", metavar="DIR", help="where results go (default: reproduce-PAPER); resumes what is there")
    command.add_argument("--dask", metavar="ADDRESS", help="run on a Dask cluster instead of the local cores")
    command.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.papers.revisiting.reproduction import reproduce

    out = Path(options.out or f"reproduce-{options.paper}")
    items = [*options.items, "claims"] if options.check and options.items else options.items
    verdicts = reproduce(out, items, options.scale, dask=options.dask)
    if options.json:
        emit_json({"claims": [verdict.to_dict() for verdict in verdicts]}, None)
    else:
        _print(verdicts)
    sys.stderr.write(f"page: {(out / 'index.html').resolve()}\n")
    return A_CHECK_DID_NOT_HOLD if options.check and not all(verdict.holds for verdict in verdicts) else 0


def _print(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        print(f"{verdict.id} ({verdict.place}) {verdict.word}: {verdict.says}")
        for check in verdict.checks:
            print(f"    {'yes' if check.holds else 'NO '} {check.expected}: {check.measured}")
