"""``penstock delta``: two applications that write at dates dt apart, under each strategy of coordination."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import POLICY_HELP, add_json, emit_json, print_table, telling

if TYPE_CHECKING:
    from penstock.testbed.bed import Bed
    from penstock.testbed.live_pairs import LiveDelta
    from penstock.theory.interference import Delta, Pair

MOST_ROWS = 25
MOST_POINTS = 100_000
POINTS = 101
LIVE_POINTS = 5
LIVE_SECONDS = (2.0, 1.0)
"""What A and B write unless told, in seconds of the test bed's bandwidth."""
LIVE_ROUNDS = (8, 4)
BEYOND = 1.25
"""The range of dt unless given, in I/O times alone of B before and of A after."""


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "delta",
        help="show what two applications do to each other's I/O, by the time between them",
        description="Simulate two applications, A that writes at 0 and B that writes at dt, under each strategy: the "
        "Δ-graph of 003. I/O times go from posting to end; over the time alone they are interference factors. With --live "
        "two real applications do the same on a test bed, and are shown beside the simulation.",
    )
    for name, kind, default, what in (
        ("volume", str, None, "bytes to write, such as 32GB (1GB; live 2 s and 1 s of the test bed)"),
        ("nodes", int, 1, "processes or nodes (1)"),
        ("cap", str, None, "the most that it can use, in bytes/s (nodes by --node-bandwidth, or the link)"),
        ("rounds", int, None, "rounds or files between which it can be interrupted; 0: anywhere (0; live 8 and 4)"),
    ):
        both = None if name in ("volume", "rounds") else (default, default)
        command.add_argument(
            f"--{name}", nargs=2, metavar=("A", "B"), type=kind, default=both, help=f"of A and of B: {what}"
        )
    command.add_argument("--bandwidth", metavar="B", help="what the link carries (1 GB/s; live what the test bed does)")
    command.add_argument("--node-bandwidth", metavar="b", help="what a process or node can use (all of the link)")
    command.add_argument(
        "--degradation", metavar="PART", type=float, help="what is left of the link when both use it, above 0 to 1 (1)"
    )
    command.add_argument(
        "--strategy",
        metavar="NAME",
        nargs="+",
        help="interfering, serializing, interrupting and coordinating if not said, live also uncoordinated, without a "
        f"coordinator: {POLICY_HELP}",
    )
    command.add_argument(
        "--metric",
        metavar="M",
        default="cpu-seconds",
        help="what coordinating makes small: cpu-seconds, interference, io-time or max-interference (cpu-seconds)",
    )
    command.add_argument("--dt", nargs=2, metavar=("FROM", "TO"), type=float, help="seconds from A's posting to B's")
    command.add_argument("--points", metavar="N", type=int, help="how many dt, at equal distances (101; live 5)")
    command.add_argument("--live", metavar="DIR", type=Path, help="run it on the test bed at DIR too: see penstock testbed")
    command.add_argument("--repeat", metavar="N", type=int, default=1, help="live runs of each dt; medians are shown (1)")
    command.add_argument(
        "--program",
        metavar="COMMAND",
        help="what A and B run with --live instead of the built-in writer, such as 'mpiexec -n {nodes} ./app'",
    )
    add_json(command)
    command.add_argument("--plot", metavar="OUT", help="draw I/O times and interference factors: .svg, .png or .html")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.model import InputError
    from penstock.policies.coordinating import METRICS
    from penstock.report.pictures import check_suffix

    if options.plot:
        check_suffix(Path(options.plot))
    if options.metric not in METRICS:
        raise InputError("metric", f"{options.metric!r} is unknown; expected one of {', '.join(METRICS)}")
    return _simulate(options) if options.live is None else _live(options)


def _simulate(options: argparse.Namespace) -> int:
    from penstock.theory.interference import STRATEGIES, delta_graph

    pair = _pair(options, options.volume or ("1 GB", "1 GB"), options.rounds or (0, 0), options.bandwidth or "1 GB/s")
    dts = _dts(options, pair, POINTS)
    graph = delta_graph(pair, dts, _strategies(options, STRATEGIES))
    if options.plot:
        from penstock.report.plot import write_delta

        write_delta(Path(options.plot), graph, _title(pair))
        sys.stderr.write(f"plot: {options.plot}\n")
    if options.json or options.output:
        emit_json(graph.to_dict(options.metric), options.output)
    else:
        _print(graph, options.metric)
    return 0


def _live(options: argparse.Namespace) -> int:
    from penstock.model.parse_units import count
    from penstock.report.format_units import duration
    from penstock.testbed import bed
    from penstock.testbed.live_pairs import LIVE_STRATEGIES, expected_seconds, live_delta, simulated_as
    from penstock.theory.interference import delta_graph

    store = bed.find(options.live)
    pair = _live_pair(options, store)
    dts = _dts(options, pair, LIVE_POINTS)
    strategies = _strategies(options, LIVE_STRATEGIES)
    program = _program(options.program)
    graph = delta_graph(pair, dts, list(dict.fromkeys(map(simulated_as, strategies))))
    runs = count(options.repeat, "repeat", "repetitions") * len(dts) * len(strategies)
    seconds = expected_seconds(pair, dts, strategies, options.repeat)
    sys.stderr.write(f"penstock delta: {runs} live runs, about {duration(seconds)}\n")
    with _term_is_an_interrupt(), telling() as say:
        live = live_delta(store, pair, dts, strategies, repeat=options.repeat, program=program, say=say)
    if options.plot:
        from penstock.report.plot import write_delta

        lines = delta_graph(pair, _spread(dts[0], dts[-1], POINTS), list(graph.times)) if len(dts) > 1 else graph
        write_delta(Path(options.plot), lines, _title(pair), live)
        sys.stderr.write(f"plot: {options.plot}\n")
    if options.json or options.output:
        emit_json(graph.to_dict(options.metric) | {"live": live.to_dict()}, options.output)
    else:
        _print_live(live)
    return 0


def _program(text: str | None) -> Sequence[str]:
    from penstock.model import InputError
    from penstock.testbed.processes import WRITER

    if text is None:
        return WRITER
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("program", f"{text!r} is no command: {error}") from None
    if not words:
        raise InputError("program", "is empty; expected a command")
    return words


@contextmanager
def _term_is_an_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that nothing is left behind."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _live_pair(options: argparse.Namespace, store: Bed) -> Pair:
    from penstock.model import InputError
    from penstock.testbed.live_pairs import fitting

    if options.bandwidth is not None:
        raise InputError("bandwidth", "the test bed has its own; expected --bandwidth without --live")
    volumes = options.volume or [str(seconds * store.bandwidth) for seconds in LIVE_SECONDS]
    return fitting(_pair(options, volumes, options.rounds or LIVE_ROUNDS, str(store.bandwidth)), store)


def _strategies(options: argparse.Namespace, default: Sequence[str]) -> list[str]:
    """Those asked for, coordinating with its metric."""
    from penstock.policies.coordinating import METRICS
    from penstock.policies.registry import find
    from penstock.testbed.live_pairs import simulated_as
    from penstock.theory.interference import COORDINATING

    tuned = COORDINATING if options.metric == METRICS[0] else f"{COORDINATING}:metric={options.metric}"
    names = dict.fromkeys(options.strategy or default)
    return [tuned if find(simulated_as(name)).name == COORDINATING else name for name in names]


def _dts(options: argparse.Namespace, pair: Pair, default: int) -> list[float]:
    import numpy as np

    from penstock.model import InputError

    points = default if options.points is None else options.points
    if not 1 <= points <= MOST_POINTS:
        raise InputError("points", f"{points} points; expected 1 to {MOST_POINTS:,}")
    alone = pair.alone()
    begin, end = options.dt or (-BEYOND * alone.b, BEYOND * alone.a)
    if not (np.isfinite([begin, end]).all() and (begin < end or (begin == end and points == 1))):
        raise InputError("dt", f"from {begin:g} to {end:g} s is no range; expected the first below the second, both finite")
    return _spread(begin, end, points)


def _spread(begin: float, end: float, points: int) -> list[float]:
    import numpy as np

    return [float(dt) for dt in np.linspace(begin, end, points)]


def _pair(options: argparse.Namespace, volumes: Sequence[str], rounds: Sequence[int], bandwidth: str) -> Pair:
    from penstock.model import Degradation, InputError
    from penstock.theory.interference import Pair, Writer

    def writer(index: int, name: str) -> Writer:
        try:
            return Writer(
                _number(volumes[index]),
                options.nodes[index],
                rounds[index] if rounds[index] != 0 else None,
                _number(options.cap[index]),
            )
        except InputError as error:
            raise error.within(name) from None

    try:
        degradation = None if options.degradation is None else Degradation.of({2: options.degradation})
    except InputError as error:
        raise InputError("degradation", error.message) from None
    a, b = writer(0, "A"), writer(1, "B")
    return Pair(a, b, _number(bandwidth), _number(options.node_bandwidth), degradation)


def _number(text: str | None) -> Any:
    """A bare number as such, so that an error quotes it as one."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def _title(pair: Pair) -> str:
    from penstock.report.format_units import volume

    return f"A: {volume(pair.a.volume)} from {pair.a.nodes} nodes, B: {volume(pair.b.volume)} from {pair.b.nodes} nodes"


def _print(graph: Delta, metric: str) -> None:
    from penstock.report.format_units import duration

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
    print("I/O times in seconds, from posting to end; ratio: live over simulated")
    print("geometric means: " + ", ".join(f"{name} {mean:.3f}" for name, mean in live.means.items()))


def _rounded(graph: Delta, dt: float) -> float:
    """To the accuracy with which a change is known."""
    import math

    span = float(graph.dt[-1] - graph.dt[0])
    return round(dt, 7 - math.floor(math.log10(span))) + 0.0
