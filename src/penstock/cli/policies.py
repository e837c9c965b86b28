"""``penstock policies``: what policies there are, what they must know and what they can be tuned by."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from penstock.cli.output import console, emit_json

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.policies import Policy
    from penstock.policies.policy import Parameter

FIELDS = ("name", "summary", "reference", "idles", "periodic")
DELTA = {
    "key": "delta",
    "default": None,
    "meaning": "time between decisions; without it as many decisions as the workload has I/O events",
}
"""What every periodic policy can be tuned by; its default is no number."""


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "policies",
        help="list the policies",
        description="List the built-in policies, what each must know, and the parameter that --policy NAME:KEY=VALUE sets.",
    )
    command.add_argument("--json", action="store_true", help="print them as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.policies import REGISTRY

    if options.json:
        emit_json({"policies": [_document(policy) for policy in REGISTRY.values()]}, None)
        return 0
    from penstock.report.fitting import print_fitting

    print_fitting(console(), _table, ("paper", "parameter"), wrap=True)
    return 0


def _table(without: Sequence[str]) -> Table:
    """The policies, a row each, without some columns."""
    from rich.table import Table

    from penstock.policies import REGISTRY

    columns = {
        "policy": [policy.name for policy in REGISTRY.values()],
        "who is served": [policy.summary for policy in REGISTRY.values()],
        "must know": [", ".join(policy.needs) or "nothing" for policy in REGISTRY.values()],
        "parameter": ["\n".join(map(_parameter_text, _parameters(policy))) for policy in REGISTRY.values()],
        "paper": [policy.reference for policy in REGISTRY.values()],
    }
    shown = {heading: cells for heading, cells in columns.items() if heading not in without}
    table = Table(*shown, box=None, header_style="bold", pad_edge=False)
    for row in zip(*shown.values(), strict=True):
        table.add_row(*row)
    return table


def _document(policy: Policy) -> dict[str, Any]:
    fields = {field: getattr(policy, field) for field in FIELDS}
    return {**fields, "needs": list(policy.needs), "parameter": next(iter(_parameters(policy)), None)}


def _parameters(policy: Policy) -> list[dict[str, Any]]:
    """Key, default and meaning of what the policy can be tuned by; its own parameter comes before delta."""
    own = [] if policy.parameter is None else [_own(policy.parameter)]
    return [*own, DELTA] if policy.periodic else own


def _own(parameter: Parameter) -> dict[str, Any]:
    """The parameter with its default, a number or the name of a choice."""
    if not parameter.choices:
        return {key: value for key, value in asdict(parameter).items() if key != "choices"}
    return {**asdict(parameter), "default": parameter.default_text, "choices": list(parameter.choices)}


def _parameter_text(parameter: dict[str, Any]) -> str:
    """The parameter as "c = 2: what it means"."""
    value = parameter["default"]
    default = "" if value is None else f" = {value if isinstance(value, str) else f'{value:g}'}"
    choices = f" ({', '.join(parameter['choices'])})" if "choices" in parameter else ""
    return f"{parameter['key']}{default}: {parameter['meaning']}{choices}"
