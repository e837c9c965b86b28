"""``penstock campaign FILE --out DIR``: a grid of runs into Parquet, on all cores, a Dask cluster or Slurm."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.cli.output import add_placement, emit_json, emit_text, print_table, say
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.campaigns import CampaignResult, SummaryResult
    from penstock.campaign import Campaign

FAILED = 1
DASK_HELP = (
    "run on the Dask cluster with this scheduler, tcp://HOST:PORT; or in Slurm jobs by slurm or, with settings, "
    "slurm:jobs=8:queue=main:walltime=2h (keys: jobs, queue, account, walltime, cores, memory, interface, wait)"
)


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
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
    command.add_argument(
        "--summary-by",
        metavar="NAMES",
        help="also print mean, standard deviation and standard error for each combination of these, separated by commas: "
        "parameters, policy, seed, window (with --csv or --plot: the parameters that vary, and the policy)",
    )
    command.add_argument(
        "--measures",
        metavar="NAMES",
        default="min_yield,efficiency,utilization",
        help="columns of the rows that are summarised, separated by commas (default: min_yield,efficiency,utilization)",
    )
    command.add_argument("--csv", metavar="OUT", help="write the summary as comma-separated values (- for standard output)")
    command.add_argument("--plot", metavar="OUT", help="draw the summary with standard errors: .svg, .png or .html")
    command.add_argument("--json", action="store_true", help="print the summary as JSON instead of a table")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.campaigns import campaign, described_campaign
    from penstock.api.paths import check_output, check_picture

    if options.csv == "-" and options.json:
        options.parser.error("only one thing can go to standard output; expected a file for --csv")
    check_output(options.csv)
    check_picture(options.plot)
    described = described_campaign(options.file, options.allocation, options.placement)
    _note_unused(described)
    result = campaign(described, options.out, workers=options.workers, dask=options.dask, retry=options.retry)
    wanted = options.summary_by is not None or options.csv or options.plot
    summary = result.summary(options.summary_by, options.measures) if wanted else None
    if options.json:
        emit_json({**result.to_dict(), **({"summary": summary.to_dict()} if summary else {})}, None)
    elif options.csv != "-":
        _print(result, summary)
    if summary is not None:
        _write_files(options, summary)
    return FAILED if result.failures else 0


def _write_files(options: argparse.Namespace, summary: SummaryResult) -> None:
    if options.csv:
        emit_text(summary.to_csv(), options.csv)
    if options.plot:
        summary.write_plot(options.plot)
        sys.stderr.write(f"plot: {options.plot}\n")


def _note_unused(described: Campaign) -> None:
    """Name what its workload files say and no run uses; what is wrong with a file is the error of its rows."""
    from penstock.model import PenstockError
    from penstock.model.files import read

    policies = described.find_policies()
    cases = []
    files = {task.cells[0].parameters["path"]: task for task in described.tasks if task.cells[0].kind == "file"}
    for path, task in files.items():
        with suppress(PenstockError):
            workload = read(path)
            cases.append(replace(Case.of(workload, policies, task.placement(workload)), file=path))
    note_unused("campaign", *cases)


def _print(result: CampaignResult, summary: SummaryResult | None) -> None:
    policies = result.by_policy()
    told = [f" ({row['information']})" if row.get("information") else "" for row in policies]
    columns = {"policy": [row["policy"] + what for row, what in zip(policies, told, strict=True)]}
    for name, heading in (("min_yield", "min-yield"), ("efficiency", "efficiency"), ("utilization", "utilization")):
        columns[heading] = ["–" if row[name] is None else f"{row[name]:.4f}" for row in policies]
    columns |= {name: [str(row[name]) for row in policies] for name in ("rows", "failed")}
    print_table(columns, ("utilization", "rows"))
    if summary is not None:
        _print_summary(summary)
    failures = result.failures
    for failure in failures[:3]:
        print(f"failed: {failure['command']}: {failure['error']}")
    if len(failures) > 3:
        print(f"failed: {len(failures) - 3} more, in the column error")
    for on, rows in result.placements:
        say(f"placement: {on.text}{f', {rows:,} rows' if len(result.placements) > 1 else ''}")
    print(f"results: {result.results}")


def _print_summary(summary: SummaryResult) -> None:
    """One row for each combination: means, standard deviations and standard errors."""
    rows = summary.rows
    columns = {name: [_number(row[name]) for row in rows] for name in summary.by}
    columns["rows"] = [str(row["rows"]) for row in rows]
    for measure in summary.measures:
        for suffix, sign in (("mean", ""), ("std", "σ "), ("se", "± ")):
            columns[f"{sign}{measure}"] = [_number(row[f"{measure}_{suffix}"]) for row in rows]
    optional = [name for name in columns if name.startswith("σ ")] + [name for name in columns if name.startswith("± ")]
    print()
    print_table(columns, optional, "σ standard deviation, ± standard error of the mean", wide=summary.by)
    print()


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
