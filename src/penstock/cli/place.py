"""``penstock place FILE``: how many I/O resources for each application, and which."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, emit_json, emit_text, print_table, say, seed, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.placing import PlaceResult
    from penstock.planning.placement.planner import PlacementPlan
    from penstock.planning.placement.stream import StreamPlan

MOST_ROWS = 20
MOST_BARS = 64
BAR = 40
"""Characters of a full bar."""


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "place",
        help="say how many I/O nodes or storage targets each application should use, and which",
        description="Propose which I/O resources (I/O nodes, storage targets) each application uses: run the heuristics of "
        "002 on the workload, compare them, and take the best. Jobs that come and go run once on the whole machine, each "
        "placed when it starts. Applications have a curve, their bandwidth by number of "
        "resources; without curves a placement is proposed from what is known, and not measured.",
    )
    command.add_argument("file", metavar="FILE", help=FILE_HELP)
    command.add_argument("--resources", metavar="N", type=int, help="I/O resources to use (default: those of the platform)")
    command.add_argument(
        "--allocation",
        metavar="A",
        help="only this way to say how many: random, static, best-bdw, n-sys, tcpu, mckp (its own for each), mckp-shared",
    )
    command.add_argument(
        "--placement", metavar="P", help="only this way to say which: random, greedy-non-clairvoyant, greedy-clairvoyant"
    )
    command.add_argument(
        "--knows",
        metavar="LEVEL",
        help="what may be known of the applications: nodes, totals (also work and "
        "volume), best (also the fastest count) or curves (all that the file has)",
    )
    command.add_argument(
        "--objective",
        metavar="O",
        default="node-hours",
        help="what to make small: node-hours lost to I/O, mean-slowdown, max-slowdown or idle-time (default: node-hours)",
    )
    command.add_argument(
        "--policy",
        metavar="NAME",
        default="best-effort",
        help=f"how a resource is shared (default: best-effort, its time equally): {POLICY_HELP}",
    )
    command.add_argument(
        "--horizon",
        metavar="SECONDS",
        type=float,
        help="how long chains are repeated and measured at least (default: 5000)",
    )
    command.add_argument(
        "--interval",
        metavar="I",
        help="what is measured: steady, the horizon and a "
        "first operation of everyone; first-end, until one application ends (default: steady)",
    )
    command.add_argument("--oracle", action="store_true", help="also find the best of all placements, for few applications")
    command.add_argument(
        "--steady", action="store_true", help="applications repeat side by side whatever their releases, as in 002"
    )
    command.add_argument(
        "--scheduler",
        metavar="NAME",
        help="what starts jobs that come and go, as for penstock machine (default: recorded: at their releases)",
    )
    command.add_argument("--seed", metavar="N", type=seed, default=0, help="for the random heuristics (default: 0)")
    add_json(command)
    command.add_argument("--csv", metavar="OUT", help="write the proposal as a table of jobs and their I/O nodes")
    command.add_argument("--setstripe", metavar="OUT", help="write it as lfs setstripe commands for the jobs' directories")
    command.add_argument("--plot", metavar="OUT", help="draw the occupancy: a name ending in .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output, check_picture
    from penstock.api.placing import place
    from penstock.planning.placement.allocation import LEVELS

    if options.knows is not None and options.knows not in LEVELS:
        options.parser.error(f"--knows {options.knows}: unknown; expected one of {', '.join(LEVELS)}")
    if [options.csv, options.setstripe, options.output].count("-") + bool(options.json) > 1:
        options.parser.error("only one thing can go to standard output; expected a file for the others")
    for path in (options.output, options.csv, options.setstripe):
        check_output(path)
    check_picture(options.plot)
    result = place(
        options.file,
        resources=options.resources,
        allocation=options.allocation,
        placement=options.placement,
        knows=options.knows,
        objective=options.objective,
        policy=options.policy,
        horizon=options.horizon,
        interval=options.interval,
        oracle=options.oracle,
        steady=options.steady,
        scheduler=options.scheduler,
        seed=options.seed,
        watch=watch,
    )
    _write_files(options, result)
    stream = bool(result.to_dict().get("stream"))
    note_unused("place", Case(result.workload, [result.policy_object], directories=bool(options.setstripe), stream=stream))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    elif "-" not in (options.csv, options.setstripe):
        _print(result)
    return 0


def _write_files(options: argparse.Namespace, result: PlaceResult) -> None:
    makers = ((options.csv, result.to_csv), (options.setstripe, result.to_setstripe))
    texts = [(make(), path) for path, make in makers if path]
    if options.plot:
        result.write_plot(options.plot)
        sys.stderr.write(f"plot: {options.plot}\n")
    for text, path in texts:
        emit_text(text, path)


def _print(result: PlaceResult) -> None:
    """Print the heuristics beside each other, who gets what, and how busy each resource is."""
    from penstock.planning.placement.planner import PlacementPlan

    plan = result.plan
    if not isinstance(plan, PlacementPlan):
        _print_stream(result, plan)
        return
    _print_comparison(plan)
    print(f"\n{plan.chosen.name}:")
    _print_applications(plan)
    if plan.chosen.result is not None:
        print()
        _print_occupancy(plan)
    _print_words(result)


def _print_words(result: PlaceResult) -> None:
    """The notes, and the sentence of advice."""
    for note in result.notes():
        say(f"note: {note}")
    if result.plan.advice is not None:
        say(f"recommendation: {result.plan.advice}")


def _print_stream(result: PlaceResult, plan: StreamPlan) -> None:
    """Print the heuristics for jobs that come and go, the jobs that lose most, and how busy each resource is."""
    from penstock.report.format_units import duration

    shown = plan.proposals
    marks = {id(plan.chosen): " *", id(plan.baseline): " (baseline)"}
    tables = result.tables()
    rows = tables["heuristics"]
    columns = {
        "heuristic": [f"{one.name}{marks.get(id(one), '')}" for one in shown],
        "lost node-hours": [one.lost.text for one in shown],
        "mean slowdown": [f"{one.mean_slowdown:.3f}" for one in shown],
        "max": [f"{one.max_slowdown:.3f}" for one in shown],
        "ρ_io": [f"{row['mean_allocation_slowdown']:.3f}" for row in rows],
        "ρ_con": [f"{row['mean_congestion_slowdown']:.3f}" for row in rows],
        "most load": [f"{one.most_load:.3f}" for one in shown],
        "idle time": [f"{one.idle_time:.4f}" for one in shown],
    }
    print_table(columns, ("most load", "max", "idle time"), f"* proposed: the smallest {plan.objective}")
    jobs = sorted(tables["applications"], key=lambda row: -row["lost_node_hours"])[:MOST_ROWS]
    print(f"\n{plan.chosen.name}:")
    columns = {
        "job": [row["name"] for row in jobs],
        "nodes": [f"{row['nodes']:,}" for row in jobs],
        "start": [duration(row["start"] - plan.chosen.run.begin) for row in jobs],
        "resources": [str(row["count"]) for row in jobs],
        "slowdown": [_or_none(row["slowdown"]) for row in jobs],
        "ρ_io": [_or_none(row["allocation_slowdown"]) for row in jobs],
        "ρ_con": [_or_none(row["congestion_slowdown"]) for row in jobs],
        "lost node-hours": [hours(row["lost_node_hours"]) for row in jobs],
        "which": [" ".join(map(str, row["resources"])) for row in jobs],
    }
    count = len(tables["applications"])
    more = f"{len(jobs)} of {count:,} jobs, those that lose most" if len(jobs) < count else None
    print_table(columns, ("start", "nodes"), more, wide=("which",))
    print()
    _print_bars([(row["applications"], row["occupancy"]) for row in tables["resources"]])
    _print_words(result)


def _print_comparison(plan: PlacementPlan) -> None:
    """One row a heuristic; without curves there is nothing to compare."""
    rows = [(one, one.result) for one in plan.proposals if one.result is not None]
    if not rows:
        return
    marks = {id(plan.baseline): " (baseline)", id(plan.chosen): " *"}
    columns = {
        "heuristic": [f"{one.name}{marks.get(id(one), '')}" for one, _ in rows],
        "knows": [", ".join(one.heuristic.needs) or "nothing" if one.heuristic else "all" for one, _ in rows],
        "lost node-hours": [hours(one.lost_node_hours or 0.0) for one, _ in rows],
        "I/O load": [f"{one.io_load:.3f}" for one, _ in rows],
        "mean slowdown": [f"{result.mean_slowdown:.3f}" for _, result in rows],
        "max": [f"{result.max_slowdown:.3f}" for _, result in rows],
        "ρ_io": [f"{result.mean_allocation_slowdown:.3f}" for _, result in rows],
        "ρ_con": [f"{result.mean_congestion_slowdown:.3f}" for _, result in rows],
        "spread": [f"{result.spread:.3f}" for _, result in rows],
        "idle time": [f"{result.idle_time:.4f}" for _, result in rows],
    }
    print_table(columns, ("knows", "spread", "max", "idle time", "I/O load"), f"* proposed: the smallest {plan.objective}")


def _print_applications(plan: PlacementPlan) -> None:
    """Who gets what; of many, those that fare worst."""
    applications, placement, result = plan.workload.applications, plan.chosen.placement, plan.chosen.result
    shown = list(range(len(applications)))
    if result is not None:
        shown.sort(key=lambda index: -(result.applications[index].slowdown or 0.0))
    shown = sorted(shown[:MOST_ROWS])
    columns = {
        "application": [applications[index].name for index in shown],
        "nodes": [f"{applications[index].nodes:,}" for index in shown],
        "resources": [str(len(placement[index])) for index in shown],
    }
    if result is not None:
        measured = [result.applications[index] for index in shown]
        stress = plan.chosen.stress or ()
        columns["stress"] = [f"{stress[index]:.3f}" for index in shown]
        columns["slowdown"] = [_or_none(one.slowdown) for one in measured]
        columns["ρ_io"] = [_or_none(one.allocation_slowdown) for one in measured]
        columns["ρ_con"] = [_or_none(one.congestion_slowdown) for one in measured]
    columns["which"] = [" ".join(map(str, placement[index])) for index in shown]
    which = "those with the largest slowdown" if result is not None else "the first"
    more = f"{len(shown)} of {len(applications):,} applications, {which}" if len(shown) < len(applications) else None
    print_table(columns, ("nodes", "stress"), more, wide=("which",))


def _print_occupancy(plan: PlacementPlan) -> None:
    """A bar for each resource; of many, the busiest."""
    result = plan.chosen.result
    assert result is not None
    on = [sum(resource in used for used in plan.chosen.placement) for resource in range(len(result.occupancy))]
    _print_bars(list(zip(on, result.occupancy, strict=True)))


def _print_bars(resources: Sequence[tuple[int, float]]) -> None:
    """A bar for each resource, of (applications on it, occupancy); of many, the busiest."""
    busiest = sorted(range(len(resources)), key=lambda resource: -resources[resource][1])[:MOST_BARS]
    shown = sorted(busiest)
    columns = {
        "I/O resource": [str(resource) for resource in shown],
        "applications": [str(resources[resource][0]) for resource in shown],
        "occupancy": [f"{resources[resource][1]:.3f}" for resource in shown],
        "of the time": ["█" * round(BAR * resources[resource][1]) for resource in shown],
    }
    more = f"the {len(shown)} busiest of {len(resources):,} I/O resources" if len(shown) < len(resources) else None
    print_table(columns, (), more, wide=("of the time",))


def hours(value: float) -> str:
    """Write node-hours, `value` of them."""
    from penstock.planning.node_hours import hours as written

    return written(value)


def _or_none(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
