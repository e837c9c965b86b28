"""``penstock reproduce PAPER``: draw the figures of a paper again and judge its claims."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.campaign import DASK_HELP
from penstock.cli.output import emit_json, print_table, say, telling

if TYPE_CHECKING:
    from penstock.papers.verdicts import Verdict

ITEMS_OF = {
    "revisiting": "table2, figure1 … figure10, figureB.1, claims",
    "dash": "figureI.2, II.2 … II.6, III.3 … III.13, IV.1 … IV.10, V.1 … V.3, claims",
    "distributed": "figure1, figure2, figure5 … figure13, sizes, oracle, claims",
    "calciom": "figure1 … figure12, live, claims",
    "buffers": "table2, figure1 … figure8, claims",
    "beyond": "numbers, fronts, other-fronts, apex-fronts, claims",
}
"""The items of each paper; ``beyond`` compares our own policies with theirs."""
USING_DATA = ("distributed", "calciom")
USING_LIVE = ("dash", "calciom")
A_CLAIM_FAILS = 1


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "reproduce",
        help="draw the figures of a paper again and judge its claims",
        description="Run what a paper ran, draw its figures (PNG, SVG and one HTML page) and judge its claims.",
    )
    papers = (
        "revisiting (paper 000), dash (001), distributed (002), calciom (003), buffers (004), "
        "all of these, or beyond: our own policies"
    )
    command.add_argument("paper", metavar="PAPER", choices=(*ITEMS_OF, "all"), help=papers)
    items = "; ".join(f"for {paper}: {items}" for paper, items in ITEMS_OF.items())
    command.add_argument("items", metavar="ITEM", nargs="*", help=f"{items} (default: all)")
    command.add_argument("--scale", choices=("smoke", "quick", "paper"), default="quick", help="how much is run")
    command.add_argument("--check", action="store_true", help="print each claim with its measures; exit 1 if one fails")
    command.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results; what it holds already is not run again (default: reproduce-PAPER)",
    )
    command.add_argument(
        "--policy",
        metavar="POLICY",
        action="append",
        help="add this policy to every figure in which policies are compared (also ./file.py:function): in distributed it "
        "shares each resource, in buffers the file system; may be repeated",
    )
    command.add_argument("--dask", metavar="ADDRESS", help=DASK_HELP)
    command.add_argument(
        "--data",
        metavar="DIR",
        help="for distributed and calciom: folder of measured profiles and job traces (default: PENSTOCK_DATA, or none)",
    )
    command.add_argument(
        "--live",
        metavar="DIR",
        help="for dash and calciom: also run live applications on the test bed mounted there (default: none)",
    )
    command.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code, 1 if a claim fails."""
    from penstock.papers.catalogue import reproduce
    from penstock.papers.verdicts import FAILS

    out = Path(options.out or f"reproduce-{options.paper}")
    items = [*options.items, "claims"] if options.check and options.items else options.items
    with telling() as tell:
        found = reproduce(options.paper, out, items, options.scale, say=tell, **_given(options))
    verdicts = [verdict for of_paper in found.values() for verdict in of_paper]
    if options.json:
        emit_json({"claims": [verdict.to_dict() | {"paper": name} for name in found for verdict in found[name]]}, None)
    else:
        _print(found)
    for name in found:
        page = (out / name if options.paper == "all" else out) / "index.html"
        sys.stderr.write(f"page: {page.resolve()}\n")
    if verdicts:
        sys.stderr.write(f"all claims in one table: {(out / 'claims.md').resolve()}\n")
    return A_CLAIM_FAILS if options.check and any(verdict.word == FAILS for verdict in verdicts) else 0


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options that are handed on, and refused for papers that do not use them."""
    for option, papers in (("data", USING_DATA), ("live", USING_LIVE)):
        if getattr(options, option) is not None and options.paper not in (*papers, "all"):
            options.parser.error(f"--{option} is for {', '.join(papers)}; leave it out")
    folder = options.data or os.environ.get("PENSTOCK_DATA")
    return {
        "policies": tuple(dict.fromkeys(options.policy or ())),
        "dask": options.dask,
        "data": Path(folder) if folder else None,
        "live": Path(options.live) if options.live else None,
    }


def _print(found: Mapping[str, Sequence[Verdict]]) -> None:
    """Each claim with its checks, then all of them in one table: how many checks say yes, no, or decide nothing."""
    from penstock.papers.verdicts import counted

    verdicts = [verdict for of_paper in found.values() for verdict in of_paper]
    for verdict in verdicts:
        say(f"{verdict.id} ({verdict.place}) {verdict.word}: {verdict.says}")
        for check in verdict.checks:
            say(f"    {check.word:9} {check.expected}: {check.measured}")
    if not verdicts:
        return
    words = [[check.word for check in verdict.checks] for verdict in verdicts]
    columns = {
        "paper": [name for name, of_paper in found.items() for _ in of_paper],
        "claim": [verdict.id for verdict in verdicts],
        "verdict": [verdict.word for verdict in verdicts],
        "yes/no/undecided": ["/".join(str(said.count(word)) for word in ("yes", "no", "undecided")) for said in words],
        "what the paper says": [verdict.says for verdict in verdicts],
    }
    print()
    print_table(columns, ("yes/no/undecided",), wide=("claim", "verdict", "what the paper says"))
    print(f"{len(verdicts)} claims: {counted(verdicts)}")
