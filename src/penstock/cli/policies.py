"""``penstock policies``: what policies there are and what they must know."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.output import console, emit_json


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "policies", help="list the policies", description="List the built-in policies and what each must know."
    )
    command.add_argument("--json", action="store_true", help="print them as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.policies import REGISTRY

    if options.json:
        fields = ("name", "summary", "reference", "idles", "periodic")
        rows = [
            {**{field: getattr(policy, field) for field in fields}, "needs": list(policy.needs)}
            for policy in REGISTRY.values()
        ]
        emit_json({"policies": rows}, None)
        return 0
    from rich.table import Table

    table = Table("policy", "who is served", "must know", "paper", box=None, header_style="bold", pad_edge=False)
    for policy in REGISTRY.values():
        table.add_row(policy.name, policy.summary, ", ".join(policy.needs) or "nothing", policy.reference)
    console().print(table)
    return 0
