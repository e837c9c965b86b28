"""``penstock campaign FILE --out DIR``: a grid of runs into Parquet, on all cores, a Dask cluster or Slurm."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import console, emit_json
from penstock.cli.usage import Case, note_unused

if TYPE_CHECKING:
    from penstock.campaign import Campaign

FAILED = 1
DASK_HELP = (
    "run on the Dask cluster with this scheduler, tcp://HOST:PORT; or in Slurm jobs by slurm or, with settings, "
    "slurm:jobs=8:queue=main:walltime=2h (keys: jobs, queue, account, walltime, cores, memory, interface, wait)"
)


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "campaign",
        help="run a grid of workloads, seeds and policies",
        description="Run the grid of workload parameters, seeds and policies that a YAML file describes, on all cores, on a "
        "Dask cluster or in Slurm jobs. Rows are kept as they finish: run the same command again to go on after an "
        "interruption. Exits with 1 if a cell failed; its row tells the error and the command that reproduces it.",
    )
    command.add_argument("file", metavar="FILE", help="the campaign: YAML")
    command.add_argument("--out", metavar="DIR", required=True, help="the folder for the rows; results.parquet at the end")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--dask", metavar="ADDRESS", help=DASK_HELP)
    where.add_argument("--workers", metavar="N", type=int, help="how many local processes (default: one a core)")
    command.add_argument("--retry", action="store_true", help="also compute the cells again that have failed")
    command.add_argument("--json", action="store_true", help="print the summary as JSON instead of a table")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock import campaign

    described = campaign.read(options.file)
    _note_unused(described)
    table = campaign.run(described, options.out, workers=options.workers, dask=options.dask, retry=options.retry)
    policies, failures = campaign.by_policy(table), campaign.failures(table)
    results = str(Path(options.out) / "results.parquet")
    if options.json:
        heading = {"campaign": described.name, "cells": len(described.cells), "rows": len(table), "results": results}
        emit_json({**heading, "policies": policies, "failures": failures}, None)
    else:
        _print(policies, failures, results)
    return FAILED if failures else 0


def _note_unused(described: Campaign) -> None:
    """Name what its workload files say and no run uses; what is wrong with a file is the error of its rows."""
    from penstock.campaign import BOUND
    from penstock.model import PenstockError
    from penstock.model.files import read
    from penstock.planning.placement.placed import placed
    from penstock.policies import find

    policies = [find(name) for name in described.policies if name != BOUND]
    cases = []
    for path in dict.fromkeys(cell.parameters["path"] for cell in described.cells if cell.kind == "file"):
        with suppress(PenstockError):
            workload = read(path)
            cases.append(Case.of(workload, policies, placed(workload)))
    note_unused("campaign", *cases)


def _print(policies: list[dict[str, Any]], failures: list[dict[str, Any]], results: str) -> None:
    from rich.table import Table

    table = Table("policy", box=None, header_style="bold", pad_edge=False)
    for title in ("min yield", "efficiency", "utilization", "rows", "failed"):
        table.add_column(title, justify="right")
    for row in policies:
        means = [row[name] for name in ("min_yield", "efficiency", "utilization")]
        numbers = ["–" if mean is None else f"{mean:.4f}" for mean in means]
        table.add_row(row["policy"], *numbers, str(row["rows"]), str(row["failed"]))
    console().print(table)
    for failure in failures[:3]:
        print(f"failed: {failure['command']}: {failure['error']}")
    if len(failures) > 3:
        print(f"failed: {len(failures) - 3} more, in the column error")
    print(f"results: {results}")
