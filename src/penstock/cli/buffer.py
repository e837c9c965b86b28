"""``penstock buffer FILE``: how large a burst buffer, and who gets which part."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, emit_json, emit_text, print_table, say, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.sizing import SizingResult
    from penstock.buffers.advice import Advice
    from penstock.numeric.arrays import Floats

MOST_ROWS = 20
INFEASIBLE = 1


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "buffer",
        help="say how large a burst buffer should be, and who gets which part of it",
        description="Find the smallest burst buffer with which nobody is slowed down (004 §6), static (a share for each "
        "application while it runs) and dynamic (one pool); or with --size the smallest stretch, or with --stretch the "
        "smallest size, that a search finds. Reads are fetched ahead, writes drained later; io phases count as writes.",
    )
    command.add_argument("file", metavar="FILE", help=FILE_HELP)
    modes = command.add_mutually_exclusive_group()
    modes.add_argument("--static", action="store_true", help="only a buffer divided into shares")
    modes.add_argument("--dynamic", action="store_true", help="only a buffer that is one pool")
    wanted = command.add_mutually_exclusive_group()
    wanted.add_argument("--size", metavar="S", help="a buffer of this size, in bytes or such as 40TB")
    wanted.add_argument("--stretch", metavar="R", type=float, help="a largest stretch of R, 1 or more (default: 1)")
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        help=f"what shares the file system in a search (default: a few that are good): {POLICY_HELP}",
    )
    command.add_argument(
        "--threshold",
        metavar="F",
        type=float,
        nargs="+",
        help="in a search: drain once this part of a share or pool is full, 0 to 1 (default: 0 and 0.5)",
    )
    command.add_argument(
        "--by",
        choices=("dates", "durations"),
        default="dates",
        help="how stretches count: from the clock's 0, as in 004, or from the release (default: dates)",
    )
    command.add_argument(
        "--scheduler",
        metavar="NAME",
        help="what starts the jobs of a stream, as for penstock machine (default: each starts at its release)",
    )
    command.add_argument("--capped", action="store_true", help="take an application's speed as at most the file system's")
    add_json(command)
    command.add_argument("--plan", metavar="OUT", help="write the plan with the rates at every event as JSON")
    command.add_argument("--directives", metavar="OUT", help="write the shares as lines for batch scripts")
    command.add_argument(
        "--style", choices=("dw", "bb"), default="dw", help="of the lines: DataWarp's #DW, or #BB (default: dw)"
    )
    command.add_argument("--plot", metavar="OUT", help="draw the filling and the stretch by size: .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code, 1 if no buffer is large enough."""
    for name in ("policy", "threshold"):
        if getattr(options, name) and options.size is None and options.stretch is None:
            options.parser.error(f"--{name} is for a search; expected --size or --stretch too")
    if [options.plan, options.directives, options.output].count("-") + bool(options.json) > 1:
        options.parser.error("only one thing can go to standard output; expected a file for the others")
    if options.directives and options.dynamic:
        options.parser.error("--directives are the shares of a static buffer; leave --dynamic out")
    from penstock.api.paths import check_output, check_picture
    from penstock.api.sizing import buffer

    for path in (options.output, options.plan, options.directives):
        check_output(path)
    check_picture(options.plot)
    result = buffer(
        options.file,
        static=options.static,
        dynamic=options.dynamic,
        size=options.size,
        stretch=options.stretch,
        policy=options.policy,
        threshold=options.threshold,
        capped=options.capped,
        by=options.by,
        scheduler=options.scheduler,
        watch=watch,
    )
    note_unused("buffer", Case(result.workload, result.policies))
    _write_files(options, result)
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    elif "-" not in (options.plan, options.directives):
        _print(result)
    return 0 if result.feasible or result.advice.searches else INFEASIBLE


def _write_files(options: argparse.Namespace, result: SizingResult) -> None:
    if options.plan:
        emit_json(result.plan_document(), options.plan)
    if options.directives:
        emit_text(result.to_directives(options.style), options.directives)
    if options.plot:
        result.write_plot(options.plot)
        sys.stderr.write(f"plot: {options.plot}\n")


def _print(result: SizingResult) -> None:
    """Print the plans, who gets what, what the search found, and what one more terabyte would buy."""
    from penstock.report.format_units import volume

    advice = result.advice
    _print_plans(advice)
    shares = advice.shares()
    if shares is not None and shares.any():
        print(f"\nstatic buffer of {volume(advice.size_of('static') or 0.0)}:")
        _print_shares(advice, shares)
    if advice.none is not None:
        print()
        _print_found(advice)
    for note in result.notes():
        say(f"note: {note}")
    if result.recommendation is not None:
        say(f"recommendation: {result.recommendation}")


def _print_plans(advice: Advice) -> None:
    from penstock.report.format_units import duration, volume

    plans = list(advice.plans.values())
    columns = {
        "buffer": [plan.mode for plan in plans],
        "status": [plan.status for plan in plans],
        "size for stretch 1": ["–" if plan.size is None else volume(plan.size) for plan in plans],
        "events": [f"{len(plan.demand.events):,}" for plan in plans],
        "rows": [f"{plan.effort.rows:,}" for plan in plans],
        "columns": [f"{plan.effort.columns:,}" for plan in plans],
        "nonzeros": [f"{plan.effort.nonzeros:,}" for plan in plans],
        "gap": [_small(plan.effort.gap) for plan in plans],
        "residual": [_small(max(plan.effort.primal_residual, plan.effort.dual_residual)) for plan in plans],
        "checked": [_verdict(advice, plan.mode) for plan in plans],
        "replayed": [f"{advice.verified[plan.mode].stretch:.6f}" if plan.mode in advice.verified else "–" for plan in plans],
        "building": [duration(plan.effort.build_seconds) for plan in plans],
        "solving": [duration(plan.effort.solve_seconds) for plan in plans],
        "shares": [duration(plan.effort.shares_seconds) for plan in plans],
        "in all": [duration(plan.effort.seconds) for plan in plans],
    }
    print_table(columns, ("nonzeros", "rows", "columns", "residual", "shares", "building", "solving", "events"))


def _verdict(advice: Advice, mode: str) -> str:
    """Whether the plan keeps all constraints."""
    if mode not in advice.verified:
        return "–"
    return "yes" if advice.verified[mode].holds else f"NO: {advice.verified[mode].worst}"


def _print_shares(advice: Advice, shares: Floats) -> None:
    """Who gets what of a static buffer, and what it sends through the buffer; of many, the largest shares."""
    from penstock.report.format_units import duration, volume

    plan, through = advice.plans["static"], advice.through()
    shown = sorted((-shares).argsort(kind="stable")[:MOST_ROWS].tolist())
    applications = plan.workload.applications
    columns = {
        "application": [applications[index].name for index in shown],
        "nodes": [f"{applications[index].nodes:,}" for index in shown],
        "from": [duration(applications[index].release) for index in shown],
        "to": [duration(float(plan.demand.least_end[index])) for index in shown],
        "share": [volume(float(shares[index])) for index in shown],
        "through the buffer": [volume(through[index]["bytes"]) if through else "–" for index in shown],
    }
    more = f"the {len(shown)} largest shares of {len(applications):,}" if len(shown) < len(applications) else None
    print_table(columns, ("through the buffer", "nodes"), more)


def _print_found(advice: Advice) -> None:
    """What strategies lose: those of a search, or the plans for a stretch of 1; and no buffer."""
    from penstock.planning.node_hours import hours
    from penstock.report.format_units import volume

    assert advice.none is not None
    shown = [*(advice.found[:MOST_ROWS] if advice.searches else advice.executed.values()), advice.none]
    columns = {
        "strategy": [*(one.label for one in shown[:-1]), "no buffer, fair sharing"],
        "size": [volume(one.size) for one in shown],
        "lost node-hours": [hours(one.lost_node_hours) for one in shown],
        "through": [volume(float(one.through.sum())) for one in shown],
        "largest stretch": [f"{one.stretch:.4f}" for one in shown],
        "mean": [f"{one.replay.mean_stretch:.4f}" for one in shown],
        "by durations": [f"{one.replay.max_duration_stretch:.4f}" for one in shown],
        "mean by durations": [f"{one.replay.mean_duration_stretch:.4f}" for one in shown],
    }
    print_table(columns, ("mean by durations", "mean", "through", "by durations"))


def _small(value: float) -> str:
    """What a solver leaves open; what is rounding alone is 0."""
    from penstock.numeric.tolerances import SAME_RATIO

    return "0" if abs(value) < SAME_RATIO else f"{value:.1e}"
