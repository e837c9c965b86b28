"""``penstock buffer FILE``: how large a burst buffer, and who gets which part."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, emit_json, emit_text, one_by_one, print_table
from penstock.cli.used_fields import Case, note_unused
from penstock.numeric.tolerances import PLAN_ROUNDING

if TYPE_CHECKING:
    from penstock.buffers.advice import Advice
    from penstock.buffers.plan import BufferPlan
    from penstock.numeric.arrays import Floats

MOST_ROWS = 20
POINTS = 13
"""Sizes in the drawing of stretch against size."""
INFEASIBLE = 1


def configure(commands: Any) -> None:
    """Declare the command."""
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
    wanted.add_argument("--stretch", metavar="R", type=float, help="a largest stretch of R, 1 or more (1)")
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        help=f"what shares the file system in a search (a few that are good): {POLICY_HELP}",
    )
    command.add_argument(
        "--threshold",
        metavar="F",
        type=float,
        nargs="+",
        help="in a search: drain once this part of a share or pool is full, 0 to 1 (0 and 0.5)",
    )
    command.add_argument("--capped", action="store_true", help="take an application's speed as at most the file system's")
    add_json(command)
    command.add_argument("--plan", metavar="OUT", help="write the plan with the rates at every event as JSON")
    command.add_argument("--directives", metavar="OUT", help="write the shares as lines for batch scripts")
    command.add_argument("--style", choices=("dw", "bb"), default="dw", help="of the lines: DataWarp's #DW, or #BB (dw)")
    command.add_argument("--plot", metavar="OUT", help="draw the filling and the stretch by size: .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.buffers.advice import advise
    from penstock.buffers.plan import DYNAMIC, STATIC
    from penstock.buffers.search import POLICIES, THRESHOLDS, strategies
    from penstock.model import parse_units
    from penstock.model.files import read
    from penstock.policies.registry import expand, find
    from penstock.report.pictures import check_suffix

    if options.plot:
        check_suffix(Path(options.plot))
    for name in ("policy", "threshold"):
        if getattr(options, name) and options.size is None and options.stretch is None:
            options.parser.error(f"--{name} is for a search; expected --size or --stretch too")
    if [options.plan, options.directives, options.output].count("-") + bool(options.json) > 1:
        options.parser.error("only one thing can go to standard output; expected a file for the others")
    if options.directives and options.dynamic:
        options.parser.error("--directives are the shares of a static buffer; leave --dynamic out")
    modes = [STATIC] if options.static else [DYNAMIC] if options.dynamic else [STATIC, DYNAMIC]
    size = None if options.size is None else parse_units.volume(_number(options.size), "size")
    policies = _without_static(expand(options.policy), options.policy) if options.policy else POLICIES
    workload = read(options.file)
    advice = advise(
        workload,
        modes,
        size=size,
        stretch=options.stretch,
        tried=strategies(modes, policies, options.threshold or THRESHOLDS),
        capped=options.capped,
        shown=lambda tried: one_by_one(list(tried), lambda strategy: strategy.label),
    )
    searching = options.size is not None or options.stretch is not None
    note_unused("buffer", Case(workload, [find(name) for name in policies] if searching else ()))
    _write_files(options, advice)
    if options.json or options.output:
        emit_json(advice.to_dict(), options.output)
    elif "-" not in (options.plan, options.directives):
        _print(advice)
    return 0 if advice.feasible or advice.searches else INFEASIBLE


def _without_static(names: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Static orders, which know no buffer, only where they were named and not as part of a family."""
    from penstock.policies.policy import STATIC
    from penstock.policies.registry import find

    return [name for name in names if name in asked or find(name).family != STATIC]


def _number(text: str) -> str | float:
    """A bare number as such, so that an error quotes it as one."""
    try:
        return float(text)
    except ValueError:
        return text


def _write_files(options: argparse.Namespace, advice: Advice) -> None:
    from penstock.model import InputError

    plans = list(advice.plans.values())
    if options.plan:
        emit_json({"plans": {plan.mode: plan.to_dict() for plan in plans}}, options.plan)
    if options.directives:
        from penstock.buffers.plan import directives

        shares = advice.shares()
        if shares is None:
            raise InputError("directives", "there is no static buffer to divide; expected one that is feasible or reached")
        emit_text(directives(advice.workload, shares, options.style), options.directives)
    if options.plot:
        _draw(Path(options.plot), advice, "standard input" if options.file == "-" else Path(options.file).name)


def _draw(path: Path, advice: Advice, title: str) -> None:
    import numpy as np

    from penstock.buffers.advice import LARGEST, parts_for, stretch_by_size
    from penstock.report.plot import write_filling

    sizes = [plan.size for plan in advice.plans.values() if plan.size is not None]
    curves = {}
    if sizes:
        capped = next(iter(advice.plans.values())).demand.capped
        parts = parts_for(advice.workload, advice.plans, capped=capped)
        tried = np.linspace(0.0, LARGEST * max(sizes), POINTS).tolist()
        curves = stretch_by_size(advice.workload, list(advice.plans), tried, parts, capped=capped)
    write_filling(path, advice.plans, curves, title)
    sys.stderr.write(f"plot: {path}\n")


def _print(advice: Advice) -> None:
    """Print the plans, who gets what, what the search found, and what one more terabyte would buy."""
    from penstock.report.format_units import volume

    _print_plans(advice)
    shares = advice.shares()
    if shares is not None and shares.any():
        print(f"\nstatic buffer of {volume(advice.size_of('static') or 0.0)}:")
        _print_shares(advice.plans["static"], shares)
    if advice.found:
        print()
        _print_found(advice)
    for note in _notes(advice):
        print(f"note: {note}")


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
        "gap": [f"{plan.effort.gap:.1e}" for plan in plans],
        "residual": [f"{max(plan.effort.primal_residual, plan.effort.dual_residual):.1e}" for plan in plans],
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


def _print_shares(plan: BufferPlan, shares: Floats) -> None:
    """Who gets what of a static buffer; of many, the largest shares."""
    from penstock.report.format_units import duration, volume

    shown = sorted((-shares).argsort(kind="stable")[:MOST_ROWS].tolist())
    applications = plan.workload.applications
    columns = {
        "application": [applications[index].name for index in shown],
        "nodes": [f"{applications[index].nodes:,}" for index in shown],
        "from": [duration(applications[index].release) for index in shown],
        "to": [duration(float(plan.demand.least_end[index])) for index in shown],
        "share": [volume(float(shares[index])) for index in shown],
    }
    more = f"the {len(shown)} largest shares of {len(applications):,}" if len(shown) < len(applications) else None
    print_table(columns, ("nodes",), more)


def _print_found(advice: Advice) -> None:
    from penstock.report.format_units import volume

    shown = advice.found[:MOST_ROWS]
    columns = {
        "strategy": [one.strategy.label for one in shown],
        "size": [volume(one.size) for one in shown],
        "largest stretch": [f"{one.stretch:.4f}" for one in shown],
        "mean": [f"{one.replay.mean_stretch:.4f}" for one in shown],
        "by durations": [f"{one.replay.max_duration_stretch:.4f}" for one in shown],
        "mean by durations": [f"{one.replay.mean_duration_stretch:.4f}" for one in shown],
    }
    print_table(columns, ("mean by durations", "by durations"))


def _notes(advice: Advice) -> Iterator[str]:
    """What a reader of the figures must know."""
    from penstock.report.format_units import duration, volume

    plans = list(advice.plans.values())
    yield from dict.fromkeys(warning for plan in plans for warning in plan.warnings)
    yield from dict.fromkeys(plan.obstacle.message for plan in plans if plan.obstacle)
    backlog = advice.backlog()
    if backlog is not None and backlog.size > PLAN_ROUNDING * next(iter(advice.plans.values())).demand.unit:
        when = f"from {duration(backlog.begin)} to {duration(backlog.end)}"
        most = f"{volume(backlog.size)}, {when}"
        yield f"the most that piles up when all write at full speed is {most}: the size of a dynamic buffer"
    if advice.asked_size is not None and advice.bound is not None:
        least, size = f"{advice.bound:.4f}", volume(advice.asked_size)
        yield f"no strategy has a stretch below {least} with {size}; what the search found is an upper bound"
    if advice.asked_stretch is not None and advice.bound is not None:
        best = f"found {volume(advice.found[0].size)}" if advice.found else "found none that reaches it"
        least, stretch = volume(advice.bound), f"{advice.asked_stretch:g}"
        yield f"a stretch of {stretch} takes at least {least}; the search {best}, an upper bound"
    for mode, (at, more) in advice.fair.items():
        now, then = f"{at.stretch:.4f} with {volume(at.size)}", f"{more.stretch:.4f} with 1 TB more"
        yield f"{mode}, fair sharing: largest stretch {now}, {then}"
