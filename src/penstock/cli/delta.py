"""``penstock delta``: two applications that write at dates dt apart, under each strategy of coordination."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import POLICY_HELP, add_json, emit_json, print_table, say, telling

if TYPE_CHECKING:
    from penstock.api.deltas import DeltaResult
    from penstock.testbed.live_runs import LiveDelta
    from penstock.theory.interference import Delta

MOST_ROWS = 25


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "delta",
        help="show what two applications do to each other's I/O, by the time between them",
        description="Simulate two applications, A that writes at 0 and B that writes at dt, under each strategy: the "
        "Δ-graph of 003. I/O times go from posting to end; over the time alone they are interference factors. With --live "
        "two real applications do the same on a test bed, and are shown beside the simulation.",
    )
    for name, kind, default, what in (
        ("volume", str, None, "bytes to write, such as 32GB (default: 1GB; live 2 s and 1 s of the test bed)"),
        ("nodes", int, 1, "processes or nodes (default: 1)"),
        ("cap", str, None, "the most that it can use, in bytes/s (default: nodes by --node-bandwidth, or the link)"),
        ("rounds", int, None, "rounds or files between which it can be interrupted; 0: anywhere (default: 0; live 8 and 4)"),
    ):
        both = None if name in ("volume", "rounds") else (default, default)
        command.add_argument(
            f"--{name}", nargs=2, metavar=("A", "B"), type=kind, default=both, help=f"of A and of B: {what}"
        )
    command.add_argument(
        "--bandwidth", metavar="B", help="what the link carries (default: 1 GB/s; live what the test bed does)"
    )
    command.add_argument("--node-bandwidth", metavar="b", help="what a process or node can use (default: all of the link)")
    command.add_argument(
        "--degradation",
        metavar="PART",
        type=float,
        help="what is left of the link when both use it, above 0 to 1 (default: 1)",
    )
    command.add_argument(
        "--strategy",
        metavar="NAME",
        nargs="+",
        help="default: interfering, serializing, interrupting and coordinating, live also uncoordinated: no coordinator. "
        f"Otherwise {POLICY_HELP}",
    )
    command.add_argument(
        "--metric",
        metavar="M",
        default="cpu-seconds",
        help="what coordinating makes small: cpu-seconds, interference, io-time or max-interference (default: cpu-seconds)",
    )
    command.add_argument("--dt", nargs=2, metavar=("FROM", "TO"), type=float, help="seconds from A's posting to B's")
    command.add_argument("--points", metavar="N", type=int, help="how many dt, at equal distances (default: 101; live 5)")
    command.add_argument("--live", metavar="DIR", type=Path, help="run it on the test bed at DIR too: see penstock testbed")
    command.add_argument(
        "--repeat", metavar="N", type=int, default=1, help="live runs of each dt; medians are shown (default: 1)"
    )
    command.add_argument(
        "--program",
        metavar="COMMAND",
        help="what A and B run with --live instead of the built-in writer, such as 'mpiexec -n {nodes} ./app'",
    )
    add_json(command)
    command.add_argument("--plot", metavar="OUT", help="draw I/O times and interference factors: .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output, check_picture

    check_output(options.output)
    check_picture(options.plot)
    result = _simulated(options) if options.live is None else _live(options)
    if options.plot:
        result.write_plot(options.plot)
        sys.stderr.write(f"plot: {options.plot}\n")
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    elif result.live is not None:
        _print_live(result.live)
    else:
        _print(result.graph, result.metric)
    return 0


def _simulated(options: argparse.Namespace, say: Callable[[str], None] | None = None) -> DeltaResult:
    from penstock.api.deltas import delta

    names = ("volume", "nodes", "cap", "rounds", "bandwidth", "node_bandwidth", "degradation", "strategy", "metric")
    more = ("dt", "points", "live", "repeat", "program")
    return delta(**{name: getattr(options, name) for name in (*names, *more)}, say=say)


def _live(options: argparse.Namespace) -> DeltaResult:
    """Run it live: the first thing that is said is a line of its own, the rest a spinner."""
    told = False
    with _term_is_an_interrupt(), telling() as show:

        def tell(text: str) -> None:
            nonlocal told
            if told:
                show(text)
            else:
                sys.stderr.write(f"penstock delta: {text}\n")
            told = True

        return _simulated(options, tell)


@contextmanager
def _term_is_an_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that nothing is left behind."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _plain(name: str) -> str:
    """The name of a built-in strategy without its parameter; a policy of a file as it is written."""
    from penstock.policies.registry import ALIASES, REGISTRY

    first = name.partition(":")[0]
    return first if first in REGISTRY or first in ALIASES else name


def _print(graph: Delta, metric: str) -> None:
    from penstock.report.format_units import duration

    alone = graph.pair.alone()
    factors, values = graph.factors, graph.values(metric)
    chosen = list(range(0, len(graph.dt), -(-len(graph.dt) // MOST_ROWS)))
    columns = {"dt": [duration(graph.dt[row]) for row in chosen]}
    plain = [_plain(name) for name in graph.times]
    for name, times in graph.times.items():
        short = _plain(name) if plain.count(_plain(name)) == 1 else name
        for index, member in enumerate("AB"):
            columns[f"{short} {member}"] = [f"{times[row, index]:.4g} ({factors[name][row, index]:.3f})" for row in chosen]
        columns[f"{short} {metric}"] = [f"{values[name][row]:.4g}" for row in chosen]
    print_table(columns, [name for name in columns if name.endswith(metric)])
    say(f"alone: A {duration(alone.a)}, B {duration(alone.b)}; I/O times in seconds, interference factors in brackets")
    for name, changes in graph.changes.items():
        for change in changes:
            say(f"{name}: at dt = {_rounded(graph, change.dt):g} s from “{change.before}” to “{change.after}”")


def _print_live(live: LiveDelta) -> None:
    from penstock.report.format_units import duration

    columns: dict[str, list[str]] = {"strategy": [], "dt": []}
    for member in "AB":
        columns |= {f"{member} live": [], f"{member} simulated": [], f"{member} ratio": []}
    for name, times in live.times.items():
        for row, dt in enumerate(live.dt.tolist()):
            columns["strategy"].append(name)
            columns["dt"].append(duration(dt))
            for index, member in enumerate("AB"):
                columns[f"{member} live"].append(f"{times[row, index]:.3f}")
                columns[f"{member} simulated"].append(f"{live.simulated[name][row, index]:.3f}")
                columns[f"{member} ratio"].append(f"{live.ratios[name][row, index]:.3f}")
    print_table(columns)
    say("I/O times in seconds, from posting to end; ratio: live over simulated")
    say("geometric means: " + ", ".join(f"{name} {mean:.3f}" for name, mean in live.means.items()))


def _rounded(graph: Delta, dt: float) -> float:
    """To the accuracy with which a change is known."""
    import math

    span = float(graph.dt[-1] - graph.dt[0])
    return round(dt, 7 - math.floor(math.log10(span))) + 0.0
