"""``penstock campaign FILE --out DIR``: a grid of runs into Parquet, on all cores, a Dask cluster or Slurm."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import add_placement, console, emit_json
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.campaign import Campaign
    from penstock.planning.placement.runs import Placed

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
    add_placement(command)
    command.add_argument("--retry", action="store_true", help="also compute the cells again that have failed")
    command.add_argument("--json", action="store_true", help="print the summary as JSON instead of a table")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock import campaign

    described = campaign.read(options.file, allocation=options.allocation, placement=options.placement)
    _note_unused(described)
    table = campaign.run(described, options.out, workers=options.workers, dask=options.dask, retry=options.retry)
    policies, failures = campaign.by_policy(table), campaign.failures(table)
    placements = _placements(described, campaign.placements(table))
    results = str(Path(options.out) / "results.parquet")
    if options.json:
        heading = {"campaign": described.name, "cells": len(described.cells), "rows": len(table), "results": results}
        told = [{**on.to_dict(), "rows": rows} for on, rows in placements]
        emit_json({**heading, "policies": policies, "placements": told, "failures": failures}, None)
    else:
        _print(policies, failures)
        for on, rows in placements:
            print(f"placement: {on.text}{f', {rows:,} rows' if len(placements) > 1 else ''}")
        print(f"results: {results}")
    return FAILED if failures else 0


def _note_unused(described: Campaign) -> None:
    """Name what its workload files say and no run uses; what is wrong with a file is the error of its rows."""
    from penstock.campaign import BOUND
    from penstock.model import PenstockError
    from penstock.model.files import read
    from penstock.policies import find

    policies = [find(name) for name in described.policies if name != BOUND]
    cases = []
    files = {task.cells[0].parameters["path"]: task for task in described.tasks if task.cells[0].kind == "file"}
    for path, task in files.items():
        with suppress(PenstockError):
            workload = read(path)
            cases.append(replace(Case.of(workload, policies, task.placed(workload)), file=path))
    note_unused("campaign", *cases)


def _placements(described: Campaign, rows: Mapping[str, int]) -> list[tuple[Placed, int]]:
    """Where the placements come from, each with its number of rows."""
    from penstock.planning.placement.heuristics import from_name
    from penstock.planning.placement.runs import Placed

    asked = any(cell.placing for cell in described.cells)
    found = {name: None if name == "file" else from_name(name) for name in rows}
    return [(Placed((), found[name], default=bool(found[name]) and not asked), count) for name, count in rows.items()]


def _print(policies: list[dict[str, Any]], failures: list[dict[str, Any]]) -> None:
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
