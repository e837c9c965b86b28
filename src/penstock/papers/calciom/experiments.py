"""The pairs of applications of 003 §II and §IV.

The text has their processes and volumes, and neither how fast the file systems were nor what a process can use alone. Here:

- every file system carries 1 GB/s: factors and the shapes of graphs do not depend on it, seconds do;
- a process on Grid'5000 can use 6/344 of the file system, so that 8 of them beside 336 see a sixth of the bandwidth they
  have alone, as §II.E says; from that, what becomes of other sizes is predicted;
- on Surveyor 2,048 cores fill the file system, and 1,024 can use 0.6 of it: they interfere less than expected (Figures 7 (b)
  and 12), by how much is not in the text;
- 2,048 cores that write a strided pattern communicate for 0.4 of the time of the operation alone, in 16 rounds (Figure 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.papers.trials import Experiment, added
from penstock.policies.coordinating import METRICS
from penstock.theory.interference import Change, Delta, Pair, Times, Writer, delta_graph

BANDWIDTH: Final = 1e9
MB: Final = 1e6
PROCESS: Final = 6.0 / 344.0
"""Part of Grid'5000's file system that a process can use."""
SMALL_CAP: Final = 0.6
"""Part of Surveyor's file system that 1,024 cores can use."""
COMMUNICATION: Final = 0.4
"""Part of the time alone of a strided operation that needs no bandwidth."""
ROUNDS: Final = 16
SPLITS: Final = ((744, 24), (720, 48), (672, 96), (576, 192), (384, 384))
"""Cores of A and of B, 768 together (Figures 6 and 9)."""
FILES: Final = 4
MEMBERS: Final = 6
"""Applications in a set of more than two."""
KINDS: Final = {"who fill the link": (1.0, 1.0), "who can use 0.2 to 1 of it": (0.2, 1.0)}
"""Sets of more than two: the part of the link that one application can use."""
CHUNK: Final = 20
"""Sets that a worker computes at a time."""


@dataclass(frozen=True)
class CalciomScale:
    """How much is run: values of dt in a graph, random pairs for general claims, values of dt in a live graph."""

    points: int
    pairs: int
    live: int


SCALES: Final[Mapping[str, CalciomScale]] = {
    "smoke": CalciomScale(31, 20, 2),
    "quick": CalciomScale(121, 200, 5),
    "paper": CalciomScale(601, 2000, 13),
}


def equal() -> Pair:
    """Figure 2: 336 processes each, 16 MB per process."""
    writer = Writer(336 * 16 * MB, 336)
    return Pair(writer, writer, BANDWIDTH)


def split(a: int, b: int, volume: float = 8 * MB) -> Pair:
    """Figures 4, 6 and 9: two applications on Grid'5000, of `a` and of `b` processes, with `volume` bytes per process."""
    return Pair(Writer(a * volume, a), Writer(b * volume, b), BANDWIDTH, PROCESS * BANDWIDTH)


def large() -> Pair:
    """Figure 7 (a): 2,048 cores each, 32 MB per process."""
    writer = Writer(2048 * 32 * MB, 2048)
    return Pair(writer, writer, BANDWIDTH)


def small() -> Pair:
    """Figures 7 (b) and 12: 1,024 cores each, 32 MB per process, which do not fill the file system."""
    writer = Writer(1024 * 32 * MB, 1024, bandwidth=SMALL_CAP * BANDWIDTH)
    return Pair(writer, writer, BANDWIDTH)


def files(rounds: int | None = None) -> Pair:
    """Figures 10 and 11: 2,048 cores each; A writes four files of 4 MB per process, and B one.

    A writes in so many `rounds`, and B in one; with None both can be interrupted at any time.
    """
    size = 2048 * 4 * MB
    return Pair(Writer(FILES * size, 2048, rounds), Writer(size, 2048, None if rounds is None else 1), BANDWIDTH)


def range_of(pair: Pair, scale: CalciomScale, *, after: bool = False) -> list[float]:
    """Dates dt, in seconds, over which the two meet and a little beyond.

    `pair` are the two, `scale` says how many dates, and `after` asks only for those after A's posting.
    """
    alone = pair.alone()
    begin = 0.0 if after else -1.25 * alone.b
    return [float(dt) for dt in np.linspace(begin, 1.25 * alone.a, scale.points)]


@dataclass(frozen=True)
class Collective:
    """Two equal applications that write by collective buffering (Figure 8): rounds of communication and of writing.

    `seconds` alone, of which the part COMMUNICATION needs no bandwidth.
    """

    seconds: float = 2048 * 16 * MB / BANDWIDTH / (1.0 - COMMUNICATION)

    def application(self, name: str, release: float) -> Application:
        """An application that begins at `release`, in seconds; communication is work between the writes of an operation.

        `name` is its name.
        """
        one = [
            ("work", COMMUNICATION * self.seconds / ROUNDS),
            ("write", (1.0 - COMMUNICATION) * self.seconds * BANDWIDTH / ROUNDS),
        ]
        return Application.of(name, one * ROUNDS, nodes=2048, release=release)

    def under(self, policy: str, dt: float) -> tuple[Times, Times]:
        """Seconds of I/O of A and B, and of these the seconds of writing.

        The `policy` shares the link, and B begins `dt` seconds after A.
        """
        members = (self.application("A", 0.0), self.application("B", dt))
        done = simulate(Workload(Platform(BANDWIDTH), members), policy).applications
        times = [float(one.end or 0.0) - member.release for one, member in zip(done, members, strict=True)]
        return Times(*times), Times(*(one.waiting + one.transferring for one in done))

    def serializing(self, dt: float) -> Times:
        """Seconds of I/O if whoever comes second waits for the other's whole operation, communication included.

        B begins `dt` seconds after A.
        """
        second = self.seconds + max(0.0, self.seconds - abs(dt))
        return Times(second, self.seconds) if dt < 0.0 else Times(self.seconds, second)


@dataclass(frozen=True)
class GraphTrial:
    """A Δ-graph of a `pair` under a `strategy`, for all dates `dts` in seconds; `digest` is that of a user's policy file."""

    pair: Pair
    strategy: str
    dts: tuple[float, ...]
    digest: str = ""


def measure_graph(trial: GraphTrial) -> dict[str, Any]:
    """The I/O times of A and B by dt, and where the strategy changes what it does.

    `trial` says which pair, strategy and dt.
    """
    graph = delta_graph(trial.pair, trial.dts, [trial.strategy])
    return {"times": graph.times[trial.strategy].tolist(), "changes": [list(one) for one in graph.changes[trial.strategy]]}


Rows = Callable[[Experiment[Any]], Mapping[Any, Mapping[str, Any]]]
"""Computes the rows of an experiment, or has them already."""


@dataclass(frozen=True)
class Graphs:
    """Δ-graphs, each computed once: `rows` computes and keeps them."""

    rows: Rows
    found: dict[GraphTrial, Mapping[str, Any]] = field(default_factory=dict)

    def compute(self, asked: Iterable[tuple[Pair, Sequence[float], Sequence[str]]]) -> Graphs:
        """These graphs, after those that are `asked` for have been computed: pairs, dt in seconds, and strategies."""
        trials = dict.fromkeys(trial for one in asked for trial in _graph_trials(*one))
        missing = tuple(trial for trial in trials if trial not in self.found)
        if missing:
            self.found.update(self.rows(Experiment("graphs", missing, measure_graph)))
        return self

    def delta(self, pair: Pair, dts: Sequence[float], strategies: Sequence[str]) -> Delta:
        """The graph of a `pair` for `dts`, in seconds, under each of the `strategies`, as of `delta_graph`."""
        self.compute([(pair, dts, strategies)])
        rows = {trial.strategy: self.found[trial] for trial in _graph_trials(pair, dts, strategies)}
        times = {name: np.array(row["times"]) for name, row in rows.items()}
        changes = {name: tuple(Change(*change) for change in row["changes"]) for name, row in rows.items()}
        return Delta(pair, np.array(dts), times, changes)


def _graph_trials(pair: Pair, dts: Sequence[float], strategies: Sequence[str]) -> list[GraphTrial]:
    return [GraphTrial(pair, name, tuple(dts), digest) for name, digest in added(list(dict.fromkeys(strategies)), ())]


def graphs(scale: CalciomScale, rows: Rows, policies: Sequence[str] = ()) -> Graphs:
    """The Δ-graphs of the figures, computed by `rows` at the `scale`, with the user's `policies` in those that compare any.

    All are computed together, so that they share the workers.
    """
    waiting = ("interfering", "serializing", *policies)
    every = ("interfering", "serializing", "interrupting", *policies)
    splits = [split(a, b) for a, b in SPLITS]
    return Graphs(rows).compute(
        [
            (equal(), range_of(equal(), scale), ["interfering"]),
            *((pair, range_of(pair, scale), waiting) for pair in (*splits, large(), small())),
            *((pair, range_of(pair, scale, after=True)[1:], ["interrupting"]) for pair in splits),
            (files(), range_of(files(), scale), [*every, "coordinating"]),
            (files(FILES), range_of(files(), scale), ["interrupting", "coordinating"]),
            (small(), range_of(small(), scale, after=True), [*waiting, "coordinating"]),
        ]
    )


@dataclass(frozen=True)
class PairTrial:
    """A random pair, of which B posts `dt` seconds after A."""

    pair: Pair
    dt: float


def pairs(scale: CalciomScale) -> Experiment[PairTrial]:
    """Random pairs, whose applications can be interrupted at any time, or write in rounds; `scale` says how many of each."""
    trials = (PairTrial(pair, dt) for rounds in (False, True) for pair, dt in random_pairs(scale.pairs, rounds=rounds))
    return Experiment("pairs", tuple(trials), measure_pair)


def measure_pair(trial: PairTrial) -> dict[str, tuple[float, float]]:
    """Each metric of the pair of a `trial` where the two interfere, and where it is what coordinating minimises."""
    chosen = {metric: f"coordinating:metric={metric}" for metric in METRICS}
    graph = delta_graph(trial.pair, [trial.dt], ["interfering", *chosen.values()])
    values = {metric: graph.values(metric) for metric in METRICS}
    return {
        metric: (float(values[metric]["interfering"][0]), float(values[metric][chosen[metric]][0])) for metric in METRICS
    }


def random_pairs(count: int, *, rounds: bool) -> Iterator[tuple[Pair, float]]:
    """Pairs with any volumes, sizes and caps, and dt at which they meet: `count` of them, which write in 1 to 8 `rounds`, or
    can be interrupted at any time.
    """
    random = np.random.default_rng(4)
    for _ in range(count):
        a, b = (
            Writer(float(random.uniform(0.2, 5.0)), int(random.integers(1, 65)), None, float(random.uniform(0.2, 1.0)))
            for _ in range(2)
        )
        if rounds:
            a, b = (replace(one, rounds=int(random.integers(1, 9))) for one in (a, b))
        pair = Pair(a, b)
        yield pair, float(random.uniform(-pair.alone().b, pair.alone().a))


@dataclass(frozen=True)
class CrowdTrial:
    """Sets of six applications, `count` of them from the number `first` on; one can use a part of the link between `low` and
    `high`.
    """

    low: float
    high: float
    first: int
    count: int


def crowd_trials(scale: CalciomScale) -> Experiment[CrowdTrial]:
    """Sets of more than two applications; `scale` says how many of each kind."""
    trials = (
        CrowdTrial(*caps, first, min(CHUNK, scale.pairs - first))
        for caps in KINDS.values()
        for first in range(0, scale.pairs, CHUNK)
    )
    return Experiment("crowds", tuple(trials), measure_crowds)


def measure_crowds(trial: CrowdTrial) -> dict[str, list[list[float]]]:
    """The metrics of each set where all interfere, and each metric where it is what coordinating minimises.

    `trial` says which sets.
    """
    sets = list(islice(crowds(trial.first + trial.count, (trial.low, trial.high)), trial.first, None))
    return {
        "interfering": [metrics_of(workload, "interfering").tolist() for workload in sets],
        "coordinating": [
            [float(metrics_of(workload, f"coordinating:metric={metric}")[place]) for place, metric in enumerate(METRICS)]
            for workload in sets
        ],
    }


def crowds(count: int, caps: tuple[float, float]) -> Iterator[Workload]:
    """Sets of six applications of any size that write once, within a time in which the link carries less than they write.

    `count` is the number of sets. `caps` are the least and the largest part of the link that one application can use.
    """
    random = np.random.default_rng(7)
    for _ in range(count):
        members = [
            Application.of(
                f"a{index}",
                [("write", float(random.uniform(0.2, 5.0)))],
                nodes=int(random.integers(1, 65)),
                release=float(random.uniform(0.0, MEMBERS)),
                bandwidth=float(random.uniform(*caps)),
            )
            for index in range(MEMBERS)
        ]
        yield Workload(Platform(1.0), tuple(members))


def metrics_of(workload: Workload, policy: str) -> Floats:
    """The metrics of the machine under a policy, in the order of METRICS.

    The `workload` runs to its end under `policy`.
    """
    members = workload.applications
    ends = [application.end for application in simulate(workload, policy).applications]
    times = np.array(ends, np.float64) - [member.release for member in members]
    factors = times / [member.seconds_alone(member.cap(workload.platform)) for member in members]
    nodes = np.array([member.nodes for member in members])
    return np.array([nodes @ times, factors.sum(), times.sum(), factors.max()])
