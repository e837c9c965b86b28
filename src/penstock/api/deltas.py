"""`penstock.delta`: two applications that write at dates dt apart, under each strategy of coordination (003 §II.C)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np

from penstock.api.results import Row, Tables
from penstock.model import Degradation, InputError
from penstock.model.parse_units import count
from penstock.policies.coordinating import METRICS
from penstock.policies.registry import ALIASES, PolicyLike, as_policy, listed
from penstock.report.format_units import duration, volume
from penstock.testbed import bed
from penstock.testbed.live_runs import LIVE_STRATEGIES, LiveDelta, expected_seconds, fitting, live_delta, simulated_as
from penstock.testbed.processes import WRITER
from penstock.theory.interference import COORDINATING, STRATEGIES, Delta, Pair, Writer, delta_graph

POINTS: Final = 101
MOST_POINTS: Final = 100_000
LIVE_POINTS: Final = 5
LIVE_SECONDS: Final = (2.0, 1.0)
"""What A and B write unless told, in seconds of the test bed's bandwidth."""
LIVE_ROUNDS: Final = (8, 4)
BEYOND: Final = 1.25
"""The range of dt unless given, in I/O times alone of B before and of A after."""

T = TypeVar("T")
Both: TypeAlias = T | Sequence[T]
"""One value for A and B, or one for each."""
Amount: TypeAlias = float | str


@dataclass(frozen=True)
class DeltaResult(Tables):
    """A Δ-graph, and with a test bed the times of live applications beside it.

    Tables: ``points`` (one row for each strategy, dt and application), ``changes`` (where a strategy changes its mind) and,
    live, ``live``.
    """

    graph: Delta = field(repr=False)
    metric: str
    live: LiveDelta | None = field(default=None, repr=False)

    _brief: ClassVar[tuple[str, ...]] = ("strategy", "dt", "application", "io_time", "interference")

    @property
    def pair(self) -> Pair:
        """The two applications and their link."""
        return self.graph.pair

    @property
    def title(self) -> str:
        """Who they are, in one line."""
        a, b = self.pair.a, self.pair.b
        return f"A: {volume(a.volume)} from {a.nodes} nodes, B: {volume(b.volume)} from {b.nodes} nodes"

    def to_dict(self) -> dict[str, Any]:
        """The graph as ``penstock delta --json`` prints it."""
        live = {} if self.live is None else {"live": self.live.to_dict()}
        return self.graph.to_dict(self.metric) | live

    def tables(self) -> dict[str, list[Row]]:
        """The points, the changes, and what was measured."""
        graph, factors, values = self.graph, self.graph.factors, self.graph.values(self.metric)
        points: list[Row] = [
            {
                "strategy": name,
                "dt": dt,
                "application": member,
                "io_time": float(times[row, index]),
                "interference": float(factors[name][row, index]),
                "metric": float(values[name][row]),
            }
            for name, times in graph.times.items()
            for row, dt in enumerate(graph.dt.tolist())
            for index, member in enumerate("AB")
        ]
        changes: list[Row] = [
            {"strategy": name, **change._asdict()} for name, found in graph.changes.items() for change in found
        ]
        tables = {"points": points, "changes": changes}
        return tables if self.live is None else {**tables, "live": _live_rows(self.live)}

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw I/O times and interference factors into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.plot import write_delta

        write_delta(Path(path), self.drawn(), self.title, self.live)

    def drawn(self) -> Delta:
        """The graph as it is drawn: the few dt of live runs lie on lines through more."""
        dts = self.graph.dt.tolist()
        if self.live is None or len(dts) == 1:
            return self.graph
        return delta_graph(self.pair, _spread(dts[0], dts[-1], POINTS), list(self.graph.times))


def delta(
    *,
    volume: Both[Amount] | None = None,
    nodes: Both[int] = 1,
    cap: Both[Amount | None] = None,
    rounds: Both[int] | None = None,
    bandwidth: Amount | None = None,
    node_bandwidth: Amount | None = None,
    degradation: float | None = None,
    strategy: PolicyLike | Sequence[PolicyLike] | None = None,
    metric: str = METRICS[0],
    dt: tuple[float, float] | None = None,
    points: int | None = None,
    live: str | os.PathLike[str] | None = None,
    repeat: int = 1,
    program: str | None = None,
    say: Callable[[str], None] | None = None,
) -> DeltaResult:
    """Simulate two applications, A that writes at 0 and B that writes at dt, for many dt and under each strategy.

    What A and B each have is one value for both or a pair of values.

    Args:
        volume: bytes to write, such as ``"32 GB"`` (1 GB; live 2 s and 1 s of the test bed).
        nodes: processes or nodes.
        cap: the largest bandwidth that it can use, in bytes/s (nodes by `node_bandwidth`, or the link).
        rounds: rounds or files between which it can be interrupted; 0: anywhere (0; live 8 and 4).
        bandwidth: of the link, in bytes/s (1 GB/s; live that of the test bed).
        node_bandwidth: what a process or node can use (all of the link).
        degradation: what is left of the link when both use it, above 0 to 1 (1).
        strategy: policies as for `simulate`; by default interfering, serializing, interrupting and coordinating, live also
            uncoordinated. Live, a coordinator runs them, so each must have a name: your own is ``./mine.py:name``.
        metric: what coordinating makes small: ``cpu-seconds``, ``interference``, ``io-time`` or ``max-interference``.
        dt: the range, in seconds from A's posting to B's.
        points: how many dt, at equal distances (101; live 5).
        live: the folder of a test bed, on which two real applications do the same: see ``penstock testbed``.
        repeat: live runs of each dt; medians are shown.
        program: what A and B run live in place of the built-in writer, such as ``"mpiexec -n {nodes} ./app"``.
        say: is told what is under way in live runs.

    Returns:
        I/O times from posting to end, in seconds, interference factors, and the dt at which a strategy changes its mind.

    Raises:
        InputError: for a wrong value.

    Example:
        >>> import penstock
        >>> found = penstock.delta(volume=("4 GB", "1 GB"), strategy="serializing", dt=(0, 4), points=2)
        >>> max(row["io_time"] for row in found.tables()["points"])
        5.0
    """
    if metric not in METRICS:
        raise InputError("metric", f"{metric!r} is unknown; expected one of {', '.join(METRICS)}")
    store = None if live is None else bed.find(Path(live))
    if store is not None and bandwidth is not None:
        raise InputError("bandwidth", "the test bed has its own; expected --bandwidth without --live")
    chosen = _strategies(strategy, metric, STRATEGIES if store is None else LIVE_STRATEGIES)
    names = [] if store is None else _names(chosen)
    members: dict[str, Any] = {"nodes": nodes, "cap": cap, "node_bandwidth": node_bandwidth, "degradation": degradation}
    if store is None:
        given = ("1 GB" if volume is None else volume, 0 if rounds is None else rounds)
        pair = _pair(*given, "1 GB/s" if bandwidth is None else bandwidth, **members)
    else:
        amounts = [seconds * store.bandwidth for seconds in LIVE_SECONDS] if volume is None else volume
        pair = fitting(_pair(amounts, LIVE_ROUNDS if rounds is None else rounds, store.bandwidth, **members), store)
    dts = _dts(pair, dt, points, POINTS if store is None else LIVE_POINTS)
    if store is None:
        return DeltaResult(delta_graph(pair, dts, chosen), metric)
    words = _program(program)
    graph = delta_graph(pair, dts, list(dict.fromkeys(map(simulated_as, names))))
    tell = say or _nobody
    runs = count(repeat, "repeat", "repetitions") * len(dts) * len(names)
    tell(f"{runs} live runs, about {duration(expected_seconds(pair, dts, names, repeat))}")
    measured = live_delta(store, pair, dts, names, repeat=repeat, program=words, say=tell)
    return DeltaResult(graph, metric, measured)


def _nobody(_: str) -> None:
    """Nobody is told."""


def _live_rows(live: LiveDelta) -> list[Row]:
    return [
        {
            "strategy": name,
            "dt": dt,
            "application": member,
            "io_time": float(times[row, index]),
            "simulated": float(live.simulated[name][row, index]),
            "ratio": float(live.ratios[name][row, index]),
        }
        for name, times in live.times.items()
        for row, dt in enumerate(live.dt.tolist())
        for index, member in enumerate("AB")
    ]


def _program(text: str | None) -> Sequence[str]:
    if text is None:
        return WRITER
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("program", f"{text!r} is no command: {error}") from None
    if not words:
        raise InputError("program", "is empty; expected a command")
    return words


def _strategies(asked: PolicyLike | Sequence[PolicyLike] | None, metric: str, default: Sequence[str]) -> list[PolicyLike]:
    """Those asked for, coordinating with its metric."""
    tuned = COORDINATING if metric == METRICS[0] else f"{COORDINATING}:metric={metric}"
    return [
        tuned if isinstance(one, str) and ALIASES.get(one, one) == COORDINATING else one for one in listed(asked or default)
    ]


def _names(chosen: Sequence[PolicyLike]) -> list[str]:
    """The strategies by name, as a coordinator is told them."""
    for one in chosen:
        if not isinstance(one, str):
            name = as_policy(one).name
            raise InputError("strategy", f"{name} has no name that a coordinator can find; expected ./mine.py:{name}")
    return list(dict.fromkeys(map(str, chosen)))


def _dts(pair: Pair, given: tuple[float, float] | None, points: int | None, default: int) -> list[float]:
    number = default if points is None else points
    if not 1 <= number <= MOST_POINTS:
        raise InputError("points", f"{number} points; expected 1 to {MOST_POINTS:,}")
    alone = pair.alone()
    begin, end = given or (-BEYOND * alone.b, BEYOND * alone.a)
    if not (np.isfinite([begin, end]).all() and (begin < end or (begin == end and number == 1))):
        raise InputError("dt", f"from {begin:g} to {end:g} s is no range; expected the first below the second, both finite")
    return _spread(begin, end, number)


def _spread(begin: float, end: float, points: int) -> list[float]:
    return [float(dt) for dt in np.linspace(begin, end, points)]


def _pair(
    volumes: Both[Amount],
    rounds: Both[int],
    bandwidth: Amount,
    *,
    nodes: Both[int],
    cap: Both[Amount | None],
    node_bandwidth: Amount | None,
    degradation: float | None,
) -> Pair:
    each = {"volume": _both(volumes, "volume"), "nodes": _both(nodes, "nodes"), "rounds": _both(rounds, "rounds")}
    caps = _both(cap, "cap")

    def writer(index: int, name: str) -> Writer:
        parts = each["rounds"][index]
        try:
            return Writer(
                _number(each["volume"][index]), each["nodes"][index], parts if parts != 0 else None, _number(caps[index])
            )
        except InputError as error:
            raise error.within(name) from None

    try:
        degraded = None if degradation is None else Degradation.of({2: degradation})
    except InputError as error:
        raise InputError("degradation", error.message) from None
    return Pair(writer(0, "A"), writer(1, "B"), _number(bandwidth), _number(node_bandwidth), degraded)


def _both(given: Any, name: str) -> tuple[Any, Any]:
    """What A has and what B has."""
    if given is None or isinstance(given, str | int | float):
        return given, given
    values = tuple(given)
    if len(values) != 2:
        raise InputError(name, f"{len(values)} values; expected one, or one for A and one for B")
    return values


def _number(given: Any) -> Any:
    """A bare number as such, so that an error quotes it as one."""
    try:
        return given if given is None else float(given)
    except ValueError:
        return given
