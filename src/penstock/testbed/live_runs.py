"""Live applications on a test bed, beside the same simulated: pairs and chains.

A pair is A at 0 and B at dt, with and without a coordinator: points of a Δ-graph (003 §II.C). Without a coordinator both
write at once and the device shares its bandwidth. With one, a private ``penstock serve`` whose B is the bandwidth of the
test bed decides by a strategy, and the applications keep to it. An I/O time lasts from posting to end on the monotonic
clock, which all processes of a machine share.

A chain is an application that works and then does I/O, several times, under a coordinator. Chains start `APART` seconds
apart, in their order, live and simulated: so the coordinator lists them in that order, and identical ones do not post at one
date. The time of an application goes from its start to its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from penstock.engine import simulate
from penstock.live.client.link import ask_coordinator as ask
from penstock.live.client.transfer import PAGE
from penstock.model import Application, InputError, Platform, Workload
from penstock.model.errors import short
from penstock.model.parse_units import count
from penstock.numeric.arrays import Floats
from penstock.testbed.bed import Bed
from penstock.testbed.processes import PATIENCE, WRITER, Posted, request_of, run_tasks, serving
from penstock.testbed.writer import WriterTask
from penstock.theory.interference import STRATEGIES, Pair, Times, Writer
from penstock.workloads.batches import periodic

UNCOORDINATED: Final = "uncoordinated"
"""No coordinator; simulated as interfering."""
LIVE_STRATEGIES: Final = (UNCOORDINATED, *STRATEGIES)
TURN_SECONDS: Final = 0.005
"""Seconds by which B posts after A where both post at the same date, as the simulation breaks the tie."""
START_SECONDS: Final = 0.7
SERVE_SECONDS: Final = 3.0
"""About the seconds that starting the applications, and the coordinator, takes."""
POLICY_SECONDS: Final = 120.0
"""Seconds for a coordinator that may have to compile a policy."""
APART: Final = 0.05
"""Seconds between the starts of two applications."""


@dataclass(frozen=True)
class LiveDelta:
    """Measured I/O times beside simulated ones.

    For each strategy, `runs` has by dt and repetition the I/O times of A and B, `seen` the dt between the two postings, and
    `simulated` by dt those of the simulation.
    """

    pair: Pair
    dt: np.ndarray
    runs: Mapping[str, np.ndarray]
    seen: Mapping[str, np.ndarray]
    simulated: Mapping[str, np.ndarray]

    @property
    def times(self) -> dict[str, np.ndarray]:
        """For each strategy a row for each dt with the I/O times of A and B: medians of the repetitions."""
        return {name: np.median(runs, axis=1) for name, runs in self.runs.items()}

    @property
    def ratios(self) -> dict[str, np.ndarray]:
        """Live over simulated."""
        return {name: times / self.simulated[name] for name, times in self.times.items()}

    @property
    def means(self) -> dict[str, float]:
        """The geometric mean of the ratios of each strategy, over all dt and both applications."""
        return {name: math.exp(float(np.log(ratios).mean())) for name, ratios in self.ratios.items()}

    def to_dict(self) -> dict[str, Any]:
        """The points as JSON has them."""

        def columns(rows: np.ndarray) -> dict[str, list[Any]]:
            return {"A": rows[..., 0].tolist(), "B": rows[..., 1].tolist()}

        return {
            "dt": self.dt.tolist(),
            "strategies": {
                name: {
                    "runs": {"dt": self.seen[name].tolist(), **columns(self.runs[name])},
                    "io_time": columns(times),
                    "simulated": columns(self.simulated[name]),
                    "ratio": columns(self.ratios[name]),
                    "geometric_mean": self.means[name],
                }
                for name, times in self.times.items()
            },
        }


def fitting(pair: Pair, bed: Bed) -> Pair:
    """The `pair` on the test `bed`: with its bandwidth, and rounds of complete pages (volumes are rounded up).

    Raises InputError for an application without rounds, or if the two do not fit on the test bed.
    """

    def in_pages(writer: Writer, name: str) -> Writer:
        if writer.rounds is None:
            raise InputError(f"{name}.rounds", "none; expected 1 or more: live applications are interrupted between rounds")
        piece = writer.rounds * PAGE
        return replace(writer, volume=float(math.ceil(writer.volume / piece) * piece))

    fit = replace(pair, a=in_pages(pair.a, "A"), b=in_pages(pair.b, "B"), bandwidth=bed.bandwidth)
    needed = fit.a.volume + fit.b.volume
    if needed > bed.free:
        raise InputError(str(bed.directory), f"is too full: A and B write {needed:,.0f} bytes, {bed.free:,} are free")
    return fit


def simulated_as(strategy: str) -> str:
    """The policy that a `strategy` is simulated by."""
    return STRATEGIES[0] if strategy == UNCOORDINATED else strategy


def expected_seconds(pair: Pair, dts: Sequence[float], strategies: Sequence[str], repeat: int = 1) -> float:
    """About how many seconds the live runs take.

    `pair`, `dts` (seconds), `strategies` and `repeat` are those of `live_delta`.
    """
    runs = sum(_length(pair.io_times(simulated_as(name), dt), dt) + START_SECONDS for name in strategies for dt in dts)
    return repeat * runs + (SERVE_SECONDS if any(name != UNCOORDINATED for name in strategies) else 0.0)


def _length(times: Times, dt: float) -> float:
    """Seconds from the first posting to the last end."""
    return max(times.a, dt + times.b) - min(0.0, dt)


def live_delta(
    bed: Bed,
    pair: Pair,
    dts: Sequence[float],
    strategies: Sequence[str] = LIVE_STRATEGIES,
    *,
    repeat: int = 1,
    program: Sequence[str] = WRITER,
    say: Callable[[str], None] = lambda _: None,
) -> LiveDelta:
    """Run the pair live, for each dt under each strategy.

    Args:
        bed: The test bed.
        pair: The two applications, made to fit by `fitting`.
        dts: Seconds from A's posting to B's.
        strategies: Some of `LIVE_STRATEGIES`.
        repeat: How often each point is measured.
        program: The command of the applications.
        say: Is told what runs next.

    Raises:
        InputError: If an application fails, or an argument is wrong.
    """
    if not len(dts) or not np.all(np.isfinite(dts)):
        raise InputError("dt", f"{short(list(dts))} is no range; expected finite numbers, at least one")
    count(repeat, "repeat", "repetitions")
    runs, seen, simulated = {}, {}, {}
    with ExitStack() as stack:
        coordinator: Path | None = None
        for name in strategies:
            expected = [pair.io_times(simulated_as(name), dt) for dt in dts]
            if name != UNCOORDINATED:
                say(f"{name}: the coordinator")
                if coordinator is None:
                    coordinator = stack.enter_context(serving(name, pair.bandwidth, pair.node_bandwidth))
                ask(coordinator, "policy", name, POLICY_SECONDS)
            dates = np.empty((len(dts), repeat, 2, 2))
            for row, dt in enumerate(dts):
                for again in range(repeat):
                    say(f"{name}: dt = {dt:.3g} s")
                    socket = None if name == UNCOORDINATED else coordinator
                    patience = PATIENCE + 10.0 * _length(expected[row], dt)
                    found = run_pair(bed, pair, dt, socket=socket, program=program, patience=patience)
                    dates[row, again] = [(one.posted, one.ended) for one in found]
            runs[name] = dates[..., 1] - dates[..., 0]
            seen[name] = dates[:, :, 1, 0] - dates[:, :, 0, 0]
            simulated[name] = np.array(expected)
    return LiveDelta(pair, np.array(dts, np.float64), runs, seen, simulated)


def run_pair(
    bed: Bed,
    pair: Pair,
    dt: float,
    *,
    socket: Path | None = None,
    names: tuple[str, str] = ("A", "B"),
    program: Sequence[str] = WRITER,
    patience: float = PATIENCE,
) -> tuple[Posted, Posted]:
    """Run both applications once. Processes and files are gone afterwards, whatever happens.

    Args:
        bed: The test bed.
        pair: The two applications, made to fit by `fitting`.
        dt: Seconds from A's posting to B's.
        socket: The socket of the coordinator; None runs them without one.
        names: The names of the two, which differ.
        program: The command of the applications.
        patience: Seconds after which an application that is silent counts as hanging.

    Returns:
        When each posted and ended.

    Raises:
        InputError: An application fails or is silent, or the names are the same.
    """
    if names[0] == names[1]:
        raise InputError("names", f"both applications are called {names[0]!r}; expected two names")
    tasks = [
        WriterTask(name, "", int(writer.volume), writer.rounds or 1, request_of(bed), writer.nodes, _cap(pair, writer))
        for name, writer in zip(names, (pair.a, pair.b), strict=True)
    ]
    first = max(0.0, -dt)
    dates = (first, first + (dt if abs(dt) >= TURN_SECONDS else TURN_SECONDS))
    a, b = run_tasks(bed, tasks, dates, socket=socket, program=program, patience=patience)
    return a, b


def _cap(pair: Pair, writer: Writer) -> float | None:
    """The most that an application can use, in bytes/s; None if the device carries less."""
    cap = writer.application("writer", 0.0).cap(pair.platform)
    return cap if cap < pair.bandwidth else None


class LiveChain(NamedTuple):
    """An application that works for `work` seconds and then writes `volume` bytes, `times` times."""

    name: str
    work: float
    volume: int
    times: int

    def alone(self, bandwidth: float) -> float:
        """Seconds that it takes alone on a link of that `bandwidth`, in bytes/s."""
        return self.times * (self.work + self.volume / bandwidth)


@dataclass(frozen=True)
class LiveChains:
    """The seconds that each application takes, by policy: `simulated`, and `live` (empty without a test bed)."""

    chains: tuple[LiveChain, ...]
    bandwidth: float
    simulated: Mapping[str, Floats]
    live: Mapping[str, Floats]

    def stretches(self, policy: str, *, live: bool = False) -> Floats:
        """The seconds of each application under `policy` over those it takes alone, `live` or simulated."""
        alone = np.array([chain.alone(self.bandwidth) for chain in self.chains])
        return np.asarray((self.live if live else self.simulated)[policy] / alone, np.float64)

    def makespan(self, policy: str, *, live: bool = False) -> float:
        """Seconds from the first start to the last end under `policy`, `live` or simulated."""
        seconds = (self.live if live else self.simulated)[policy]
        return float((seconds + APART * np.arange(len(seconds))).max())

    @property
    def ratios(self) -> dict[str, Floats]:
        """Live over simulated seconds of each application, by policy."""
        return {policy: seconds / self.simulated[policy] for policy, seconds in self.live.items()}


def in_pages(volume: float) -> int:
    """A `volume` in bytes, rounded up to complete pages: what an application can write past the page cache."""
    return math.ceil(volume / PAGE) * PAGE


def simulated_chains(chains: Sequence[LiveChain], bandwidth: float, policy: str) -> Floats:
    """The seconds that each of the `chains` takes on a link of that `bandwidth` (bytes/s) under `policy`, simulated."""
    applications = (
        Application(chain.name, periodic(chain.work, chain.volume, chain.times), release=APART * place)
        for place, chain in enumerate(chains)
    )
    result = simulate(Workload(Platform(bandwidth, nodes=len(chains)), tuple(applications)), policy)
    ends = np.array([one.end for one in result.applications], np.float64)
    return ends - APART * np.arange(len(chains))


def run_chains(bed: Bed, chains: Sequence[LiveChain], socket: Path) -> tuple[Posted, ...]:
    """Run the chains once under the coordinator.

    Args:
        bed: The test bed.
        chains: What they do; each works for some time.
        socket: The socket of the coordinator.

    Returns:
        When each started and ended, and each of its operations, in the order of the chains.

    Raises:
        InputError: A chain has no work, they do not fit on the test bed, or an application fails.
    """
    if needless := [chain.name for chain in chains if not chain.work > 0.0]:
        raise InputError(f"chain {needless[0]}", "has no work; expected some seconds before each operation")
    if (needed := sum(chain.volume for chain in chains)) > bed.free:
        raise InputError(str(bed.directory), f"is too full: {needed:,} bytes are written, {bed.free:,} are free")
    tasks = [
        WriterTask(
            chain.name,
            "",
            chain.volume,
            1,
            request_of(bed),
            work=chain.work,
            times=chain.times,
            whole=chain.alone(bed.bandwidth),
        )
        for chain in chains
    ]
    dates = [APART * place for place in range(len(chains))]
    longest = sum(chain.alone(bed.bandwidth) for chain in chains)
    return run_tasks(bed, tasks, dates, socket=socket, patience=PATIENCE + 10.0 * longest)


def live_chains(
    bed: Bed, chains: Sequence[LiveChain], policies: Sequence[str], say: Callable[[str], None] = lambda _: None
) -> dict[str, tuple[Posted, ...]]:
    """Run the chains once under each policy of a private coordinator, whose B is the bandwidth of the test bed.

    Args:
        bed: The test bed.
        chains: What they do.
        policies: The policies, by name.
        say: Is told what runs next.

    Returns:
        What the applications report, by policy.

    Raises:
        InputError: As `run_chains`; or the coordinator does not start.
    """
    found = {}
    with serving(policies[0], bed.bandwidth) as socket:
        for policy in policies:
            say(f"{policy}: {len(chains)} applications")
            ask(socket, "policy", policy, POLICY_SECONDS)
            found[policy] = run_chains(bed, chains, socket)
    return found


def seconds_of(reports: Sequence[Posted]) -> Floats:
    """The seconds that each application took, from what they report."""
    return np.array([one.ended - one.posted for one in reports])
