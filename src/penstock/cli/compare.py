"""``penstock compare FILE``: one workload under all policies, or some."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.output import POLICY_HELP, add_outputs, console, emit_json, emit_report, print_notes, run_all


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compare",
        help="run a workload under all policies",
        description="Run a workload under all built-in policies, or under those named, and compare them.",
    )
    command.add_argument(
        "file", metavar="FILE", nargs="?", help="the workload: JSON, YAML or Parquet; - reads standard input"
    )
    command.add_argument(
        "--policy", metavar="NAME", nargs="+", action="extend", help=f"{POLICY_HELP}; can be repeated (default: all)"
    )
    command.add_argument("--check", action="store_true", help="check the engine's invariants after every event")
    add_outputs(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    names = options.policy or []
    if options.file is None and len(names) > 1:  # the file stood last, where --policy has taken it for a name
        options.file = names.pop()
    if options.file is None:
        options.parser.error("the following arguments are required: FILE")
    from penstock.model.files import read
    from penstock.policies import REGISTRY, find

    policies = [find(name) for name in names] or list(REGISTRY.values())
    workload = read(options.file)
    results = run_all(workload, policies, trace=options.html is not None, check=options.check)
    if options.json or options.output:
        emit_json({"runs": [result.to_dict() for result in results]}, options.output)
    else:
        _print(results)
    if options.html:
        emit_report(options.html, workload, results, options.file)
    return 0


def _print(results: Any) -> None:
    from penstock.report import comparison_table

    console().print(comparison_table(results))
    print_notes(results)
