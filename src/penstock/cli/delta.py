"""``penstock delta``: two applications that write at dates dt apart, under each strategy of coordination."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import POLICY_HELP, add_json, emit_json, print_table

if TYPE_CHECKING:
    from penstock.theory.delta import Delta, Pair

MOST_ROWS = 25
MOST_POINTS = 100_000
BEYOND = 1.25
"""The range of dt unless given, in I/O times alone of B before and of A after."""


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "delta",
        help="show what two applications do to each other's I/O, by the time between them",
        description="Simulate two applications, A that writes at 0 and B that writes at dt, under each strategy: the "
        "Δ-graph of 003. I/O times go from posting to end; over the time alone they are interference factors.",
    )
    for name, kind, default, what in (
        ("volume", str, "1 GB", "bytes to write, such as 32GB (1GB)"),
        ("nodes", int, 1, "processes or nodes (1)"),
        ("cap", str, None, "the most that it can use, in bytes/s (nodes by --node-bandwidth, or the link)"),
        ("rounds", int, 0, "rounds or files between which it can be interrupted; 0: anywhere (0)"),
    ):
        both = (default, default)
        command.add_argument(
            f"--{name}", nargs=2, metavar=("A", "B"), type=kind, default=both, help=f"of A and of B: {what}"
        )
    command.add_argument("--bandwidth", metavar="B", default="1 GB/s", help="what the link carries (1 GB/s)")
    command.add_argument("--node-bandwidth", metavar="b", help="what a process or node can use (all of the link)")
    command.add_argument(
        "--degradation", metavar="PART", type=float, help="what is left of the link when both use it, above 0 to 1 (1)"
    )
    command.add_argument(
        "--strategy",
        metavar="NAME",
        nargs="+",
        help=f"interfering, serializing, interrupting and coordinating if not said: {POLICY_HELP}",
    )
    command.add_argument(
        "--metric",
        metavar="M",
        default="cpu-seconds",
        help="what coordinating makes small: cpu-seconds, interference, io-time or max-interference (cpu-seconds)",
    )
    command.add_argument("--dt", nargs=2, metavar=("FROM", "TO"), type=float, help="seconds from A's posting to B's")
    command.add_argument("--points", metavar="N", type=int, default=101, help="how many dt, at equal distances (101)")
    add_json(command)
    command.add_argument("--plot", metavar="OUT", help="draw I/O times and interference factors: .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    import numpy as np

    from penstock.model import InputError
    from penstock.policies.coordinating import METRICS
    from penstock.policies.naming import find
    from penstock.report.figures import check_suffix
    from penstock.theory.delta import COORDINATING, STRATEGIES, delta_graph

    if options.plot:
        check_suffix(Path(options.plot))
    if not 1 <= options.points <= MOST_POINTS:
        raise InputError("points", f"{options.points} points; expected 1 to {MOST_POINTS:,}")
    if options.metric not in METRICS:
        raise InputError("metric", f"{options.metric!r} is unknown; expected one of {', '.join(METRICS)}")
    pair = _pair(options)
    alone = pair.alone()
    begin, end = options.dt or (-BEYOND * alone.b, BEYOND * alone.a)
    if not (np.isfinite([begin, end]).all() and (begin < end or (begin == end and options.points == 1))):
        raise InputError("dt", f"from {begin:g} to {end:g} s is no range; expected the first below the second, both finite")
    tuned = COORDINATING if options.metric == METRICS[0] else f"{COORDINATING}:metric={options.metric}"
    strategies = [tuned if find(name).name == COORDINATING else name for name in options.strategy or STRATEGIES]
    graph = delta_graph(pair, np.linspace(begin, end, options.points).tolist(), strategies)
    if options.plot:
        from penstock.report.deltas import write_delta

        write_delta(Path(options.plot), graph, _title(pair))
        sys.stderr.write(f"plot: {options.plot}\n")
    if options.json or options.output:
        emit_json(graph.to_dict(options.metric), options.output)
    else:
        _print(graph, options.metric)
    return 0


def _pair(options: argparse.Namespace) -> Pair:
    from penstock.model import Degradation, InputError
    from penstock.theory.delta import Pair, Writer

    def writer(index: int, name: str) -> Writer:
        rounds = options.rounds[index]
        try:
            return Writer(
                _number(options.volume[index]),
                options.nodes[index],
                rounds if rounds != 0 else None,
                _number(options.cap[index]),
            )
        except InputError as error:
            raise error.within(name) from None

    try:
        degradation = None if options.degradation is None else Degradation.of({2: options.degradation})
    except InputError as error:
        raise InputError("degradation", error.message) from None
    a, b = writer(0, "A"), writer(1, "B")
    return Pair(a, b, _number(options.bandwidth), _number(options.node_bandwidth), degradation)


def _number(text: str | None) -> Any:
    """A bare number as such, so that an error quotes it as one."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def _title(pair: Pair) -> str:
    from penstock.report.units import volume

    return f"A: {volume(pair.a.volume)} from {pair.a.nodes} nodes, B: {volume(pair.b.volume)} from {pair.b.nodes} nodes"


def _print(graph: Delta, metric: str) -> None:
    from penstock.report.units import duration

    alone = graph.pair.alone()
    factors, values = graph.factors, graph.values(metric)
    chosen = list(range(0, len(graph.dt), -(-len(graph.dt) // MOST_ROWS)))
    columns = {"dt": [duration(graph.dt[row]) for row in chosen]}
    plain = [name.partition(":")[0] for name in graph.times]
    for name, times in graph.times.items():
        short = name.partition(":")[0]
        short = short if plain.count(short) == 1 else name
        for index, member in enumerate("AB"):
            columns[f"{short} {member}"] = [f"{times[row, index]:.4g} ({factors[name][row, index]:.3f})" for row in chosen]
        columns[f"{short} {metric}"] = [f"{values[name][row]:.4g}" for row in chosen]
    print_table(columns, [name for name in columns if name.endswith(metric)])
    print(f"alone: A {duration(alone.a)}, B {duration(alone.b)}; I/O times in seconds, interference factors in brackets")
    for name, changes in graph.changes.items():
        for change in changes:
            print(f"{name}: at dt = {_rounded(graph, change.dt):g} s from “{change.before}” to “{change.after}”")


def _rounded(graph: Delta, dt: float) -> float:
    """To the accuracy with which a change is known."""
    import math

    span = float(graph.dt[-1] - graph.dt[0])
    return round(dt, 7 - math.floor(math.log10(span))) + 0.0
