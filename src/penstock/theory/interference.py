"""How two applications interfere (Δ-graphs, 003 §II.C), and how often that happens (003 §II.B).

**Δ-graphs.** Two applications write once: A at date 0 and B at date dt, in seconds, which may be negative. A Δ-graph shows
how long the I/O of each takes, by dt and by strategy. The I/O time of an application goes from its posting to its end.
Divided by its I/O time alone it is the interference factor. A `Pair` has both writers and the link; `Pair.io_times` is one
point of the graph. Live applications with the same volumes, nodes, rounds and dt can measure the same point.

**Chance of interference.** X applications run at a moment, and each spends the part µ of its time in I/O, independently.
The probability that at least one does I/O is 1 − Σ_n P(X = n)·(1 − E(µ))^n. This is a lower bound on the probability of
interference, because interference makes I/O take longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from penstock.engine import Trace, simulate
from penstock.model import Application, Degradation, InputError, Platform, Workload, parse_units
from penstock.model.errors import short
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import DT_PRECISION
from penstock.policies.coordinating import METRICS
from penstock.policies.policy import STATIC, Policy
from penstock.policies.registry import PolicyLike, written_policies
from penstock.workloads.swf import Choice, SwfJobs, jobs_of, read_swf

STRATEGIES: Final = ("interfering", "serializing", "interrupting", "coordinating")
"""The strategies of 003 §III.A; any policy can be one."""
COORDINATING: Final = "coordinating"

# What happened to two operations.
APART: Final = "nobody waits: they are apart"
TOGETHER: Final = "both interfere"
WAITS: Final = "{} waits"
INTERRUPTED: Final = "{} is interrupted"


@dataclass(frozen=True)
class Writer:
    """An application that writes once.

    Args:
        volume: bytes, above 0.
        nodes: number of processes.
        rounds: rounds or files between which it can be interrupted; anywhere if not given.
        bandwidth: its cap in bytes/s; by default that of its nodes.

    Raises:
        InputError: for a value that has no meaning.
    """

    volume: float
    nodes: int = 1
    rounds: int | None = None
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "volume", parse_units.volume(self.volume, "volume"))
        if not self.volume > 0.0:
            raise InputError("volume", f"{self.volume:g} is nothing to write; expected bytes above 0")
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", parse_units.bandwidth(self.bandwidth, "bandwidth"))
        self.application("writer", 0.0)  # refuses the rest

    def application(self, name: str, release: float) -> Application:
        """The application, called `name`, that posts its operation at the date of its `release`, in seconds."""
        options = {"nodes": self.nodes, "rounds": self.rounds, "bandwidth": self.bandwidth}
        return Application.of(name, [("write", self.volume)], release=release, **options)


class Times(NamedTuple):
    """Seconds of I/O of A and of B."""

    a: float
    b: float


@dataclass(frozen=True)
class Pair:
    """Two applications, A and B, and the link they share.

    Args:
        a: the application that writes at date 0.
        b: the application that writes at date dt.
        bandwidth: B of the link in bytes/s.
        node_bandwidth: bytes/s that one process can use; all of B if not given.
        degradation: what is left of B when both transfer.

    Example:
        >>> pair = Pair(Writer(10.0, nodes=3), Writer(10.0, nodes=1))
        >>> pair.alone()
        Times(a=10.0, b=10.0)
        >>> pair.io_times("serializing", dt=4.0)  # B waits for 6 s
        Times(a=10.0, b=16.0)
    """

    a: Writer
    b: Writer
    bandwidth: float = 1.0
    node_bandwidth: float | None = None
    degradation: Degradation | None = None

    def __post_init__(self) -> None:
        platform = self.platform
        for name in ("bandwidth", "node_bandwidth", "degradation"):
            object.__setattr__(self, name, getattr(platform, name))

    @property
    def platform(self) -> Platform:
        """The link."""
        return Platform(self.bandwidth, self.node_bandwidth, degradation=self.degradation)

    @property
    def mirrored(self) -> Pair:
        """The same with A and B exchanged."""
        return replace(self, a=self.b, b=self.a)

    def workload(self, dt: float) -> Workload:
        """The workload in which A writes at date 0 and B at date dt, in seconds."""
        return Workload(self.platform, (self.a.application("A", 0.0), self.b.application("B", dt)))

    def alone(self) -> Times:
        """I/O times without the other: volume over cap."""
        a, b = (writer.volume / cap for writer, cap in zip((self.a, self.b), self.caps(), strict=True))
        return Times(a, b)

    def caps(self) -> tuple[float, float]:
        """The most that each can use, in bytes/s."""
        a, b = (member.cap(self.platform) for member in self.workload(0.0).applications)
        return a, b

    def io_times(self, strategy: Policy | str, dt: float) -> Times:
        """Seconds of I/O of A and B under a strategy, a policy or its name, where B posts `dt` seconds after A."""
        return self.measure(strategy, dt)[0]

    def outcome(self, strategy: Policy | str, dt: float) -> str:
        """What happened under a `strategy` and `dt`: who waited, who was interrupted, or that both were served together."""
        return self.measure(strategy, dt)[1]

    def measure(self, strategy: Policy | str, dt: float) -> tuple[Times, str]:
        """I/O times under a `strategy` and `dt`, as of `io_times`, and what happened."""
        workload = self.workload(dt)
        result = simulate(workload, strategy, trace=True)
        a, b = (
            float(done.end or 0.0) - member.release
            for done, member in zip(result.applications, workload.applications, strict=True)
        )
        assert result.trace is not None
        return Times(a, b), self._outcome(Times(a, b), result.trace, dt)

    def _outcome(self, times: Times, trace: Trace, dt: float) -> str:
        for index, name in enumerate("AB"):
            if _was_interrupted(trace, index):
                return INTERRUPTED.format(name)
        for index, name in enumerate("AB"):
            if np.any((trace.application == index) & (trace.rate <= 0.0)):
                return WAITS.format(name)
        overlap = min(times.a, dt + times.b) - max(0.0, dt)
        return TOGETHER if overlap > DT_PRECISION * max(times) else APART


class Change(NamedTuple):
    """A dt, in seconds, at which a strategy starts to do something else; what it does below and above."""

    dt: float
    before: str
    after: str


@dataclass(frozen=True)
class Delta:
    """A Δ-graph: the I/O times of a pair under several strategies.

    Args:
        pair: the two applications.
        dt: seconds from A's posting to B's, ascending.
        times: for each strategy a row for each dt, with the I/O times of A and B in seconds.
        changes: for each strategy where it changes what it does.
    """

    pair: Pair
    dt: np.ndarray
    times: Mapping[str, np.ndarray]
    changes: Mapping[str, tuple[Change, ...]]

    @property
    def factors(self) -> dict[str, np.ndarray]:
        """Interference factors: I/O times over those alone."""
        return {name: times / np.array(self.pair.alone()) for name, times in self.times.items()}

    def values(self, metric: str) -> dict[str, np.ndarray]:
        """A metric of the machine for each strategy and dt.

        Raises:
            InputError: if it is not one of the metrics of the policy coordinating.
        """
        nodes = np.array([self.pair.a.nodes, self.pair.b.nodes], np.float64)
        if metric not in METRICS:
            raise InputError("metric", f"{metric!r} is unknown; expected one of {', '.join(METRICS)}")
        if metric == "cpu-seconds":
            return {name: times @ nodes for name, times in self.times.items()}
        if metric == "io-time":
            return {name: times.sum(axis=1) for name, times in self.times.items()}
        worst = metric == "max-interference"
        return {name: rows.max(axis=1) if worst else rows.sum(axis=1) for name, rows in self.factors.items()}

    def to_dict(self, metric: str) -> dict[str, Any]:
        """The graph as JSON has it, with the values of the `metric` (`METRICS` of the policy coordinating)."""
        factors, values = self.factors, self.values(metric)
        return {
            "alone": list(self.pair.alone()),
            "metric": metric,
            "dt": self.dt.tolist(),
            "strategies": {
                name: {
                    "io_time": {"A": times[:, 0].tolist(), "B": times[:, 1].tolist()},
                    "interference": {"A": factors[name][:, 0].tolist(), "B": factors[name][:, 1].tolist()},
                    "metric": values[name].tolist(),
                    "changes": [change._asdict() for change in self.changes[name]],
                }
                for name, times in self.times.items()
            },
        }


def delta_graph(pair: Pair, dts: Sequence[float], strategies: Sequence[PolicyLike] = STRATEGIES) -> Delta:
    """Simulate a pair for several dt under several strategies, and find where a strategy changes what it does.

    Bisection finds a change between two neighbouring dt. Two changes between neighbours that undo each other stay unseen.

    Args:
        pair: the two applications.
        dts: seconds, finite and ascending.
        strategies: names of policies, functions of (view, rates), or `Policy` objects.

    Returns:
        The I/O times, by the names that are given; a function and a `Policy` have their own.

    Raises:
        InputError: for dt that do not ascend, an unknown policy, or one with a static order.

    Example:
        >>> graph = delta_graph(Pair(Writer(10.0), Writer(10.0)), [-5.0, 0.0, 5.0], ["interfering"])
        >>> graph.times["interfering"].tolist()
        [[15.0, 15.0], [20.0, 20.0], [15.0, 15.0]]
    """
    dates = np.array(dts, np.float64)
    if not len(dates) or not np.all(np.isfinite(dates)) or np.any(np.diff(dates) <= 0.0):
        raise InputError("dt", f"{short(list(dts))} is no range; expected finite numbers, ascending, at least one")
    chosen = written_policies(strategies)
    for name, policy in chosen.items():
        if policy.family == STATIC:
            raise InputError(f"policy {name}", "its order is fixed at the start; expected a sharing or an exclusive policy")
    times, changes = {}, {}
    for name, policy in chosen.items():
        points = [pair.measure(policy, dt) for dt in dates.tolist()]
        times[name] = np.array([point[0] for point in points])
        changes[name] = _changes(pair, policy, dates.tolist(), [point[1] for point in points])
    return Delta(pair, dates, times, changes)


def _changes(pair: Pair, strategy: Policy, dates: Sequence[float], outcomes: Sequence[str]) -> tuple[Change, ...]:
    """Where the outcome changes between neighbouring dates, to DT_PRECISION of their range."""
    found = []
    for place in range(1, len(dates)):
        low, high = dates[place - 1], dates[place]
        before, after = outcomes[place - 1], outcomes[place]
        while before != after:
            changed, seen = _first_change(pair, strategy, low, high, before, DT_PRECISION * (dates[-1] - dates[0]))
            found.append(Change(changed, before, seen))
            low, before = changed, seen
    return tuple(found)


def _first_change(pair: Pair, strategy: Policy, low: float, high: float, before: str, accuracy: float) -> tuple[float, str]:
    """A date after which the outcome differs from that at `low`, and the outcome there."""
    while high - low > accuracy:
        middle = 0.5 * (low + high)
        if pair.outcome(strategy, middle) == before:
            low = middle
        else:
            high = middle
    return high, pair.outcome(strategy, high)


def expected_interference(pair: Pair, dt: float) -> Times:
    """I/O times under proportional sharing in closed form, the piecewise linear function of 003 §II.C.

    While both write, each gets its part of the link by nodes, up to its cap; what a cap leaves goes to the other.
    Degradation reduces both in proportion. The first writes alone before, the last alone afterwards.

    Args:
        pair: the two applications.
        dt: seconds from A's posting to B's.
    """
    if dt < 0.0:
        b, a = expected_interference(pair.mirrored, -dt)
        return Times(a, b)
    first, second = pair.alone()
    if dt >= first:
        return Times(first, second)
    caps = pair.caps()
    both = pair.a.nodes + pair.b.nodes
    shares = [pair.bandwidth * writer.nodes / both for writer in (pair.a, pair.b)]
    rate_a = min(caps[0], max(shares[0], pair.bandwidth - caps[1]))
    rate_b = min(caps[1], max(shares[1], pair.bandwidth - caps[0]))
    carried = pair.bandwidth * (1.0 if pair.degradation is None else float(pair.degradation.upto(2)[1]))
    kept = min(1.0, carried / (rate_a + rate_b))
    a_alone, b_alone = (first - dt) * caps[0] / (kept * rate_a), pair.b.volume / (kept * rate_b)
    together = min(a_alone, b_alone)
    a_end = dt + together + (first - dt - together * kept * rate_a / caps[0])
    b_end = together + (second - together * kept * rate_b / caps[1])
    return Times(a_end, b_end)


def _was_interrupted(trace: Trace, index: int) -> bool:
    """Whether the application had a rate and then none."""
    rates = trace.rate[trace.application == index]
    moved = np.flatnonzero(rates > 0.0)
    return bool(len(moved) and np.any(rates[moved[0] :] <= 0.0))


def running_jobs(path: str) -> SwfJobs:
    """The jobs of the trace at `path`, in the Standard Workload Format, each released when it started."""
    return jobs_of(read_swf(path), Choice(release="start"), path)


def concurrency(jobs: SwfJobs) -> Floats:
    """P(X = n) for n = 0, 1, …: the part of the time from the first start to the last end in which n jobs run."""
    dates = np.concatenate([jobs.releases, jobs.releases + jobs.seconds])
    steps = np.repeat([1, -1], len(jobs.releases))
    order = np.argsort(dates, kind="stable")
    running = np.maximum(0, np.cumsum(steps[order])[:-1])
    lengths = np.diff(dates[order])
    chances: Floats = np.bincount(running, lengths) / lengths.sum()
    return chances


def someone_in_io(chances: Floats, share: float) -> float:
    """The probability that at least one application does I/O (003 §II.B).

    Args:
        chances: P(X = n) for n = 0, 1, … running applications.
        share: E(µ), the part of its time that an application spends in I/O.

    Raises:
        InputError: if the share is not between 0 and 1.

    Example:
        >>> round(someone_in_io(np.array([0.0, 0.5, 0.5]), 0.1), 3)
        0.145
    """
    if not 0.0 <= share <= 1.0:
        raise InputError("share", f"{share} is no part of the time; expected 0 to 1")
    return float(1.0 - chances @ (1.0 - share) ** np.arange(len(chances)))
