"""Chains on a test bed: applications that work and then do I/O, several times, under a coordinator; and the same simulated.

Applications start `APART` seconds after each other, in their order, live and simulated: so the coordinator lists them in
that order, and identical ones do not post at one date. The time of an application goes from its start to its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from penstock.engine import simulate
from penstock.live.client.link import ask_coordinator as ask
from penstock.live.client.transfer import PAGE
from penstock.model import Application, InputError, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.testbed.bed import Bed
from penstock.testbed.live_pairs import POLICY_SECONDS
from penstock.testbed.processes import PATIENCE, Posted, request_of, run_tasks, serving
from penstock.testbed.writer import WriterTask
from penstock.workloads.batches import periodic

APART: Final = 0.05
"""Seconds between the starts of two applications."""


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
