"""Chains of work and I/O on a test bed, in the order of a policy."""

from pathlib import Path

import numpy as np
import pytest

from penstock.model import InputError
from penstock.testbed.bed import Bed
from penstock.testbed.live_runs import (
    APART,
    LiveChain,
    LiveChains,
    in_pages,
    live_chains,
    run_chains,
    seconds_of,
    simulated_chains,
)
from penstock.testbed.processes import Posted
from tests.testbed.test_live_pairs import nothing_left

MIB = 2**20
B = 40.0 * MIB
CHAINS = (LiveChain("holding", 0.05, 60 * MIB, 1), LiveChain("short", 0.1, 2 * MIB, 2), LiveChain("long", 0.1, 8 * MIB, 1))
"""The first one writes for 1.5 s; the other two post meanwhile."""


def written(bed: Bed) -> int:
    """The bytes that the kernel has counted for the test bed's cgroup."""
    lines = (Path(bed.state.group) / "blkio.throttle.io_service_bytes").read_text().splitlines()
    return sum(int(line.split()[2]) for line in lines if line.split()[1] == "Write")


def test_the_order_of_operations_and_the_bytes(bed: Bed) -> None:
    said: list[str] = []
    before = written(bed)
    found = live_chains(bed, CHAINS, ("longest-io", "shortest-io"), said.append)
    moved = written(bed) - before
    expected = 2 * sum(chain.volume * chain.times for chain in CHAINS)
    assert expected <= moved <= expected + MIB, "besides, the file system writes a little about its files"
    assert said == ["longest-io: 3 applications", "shortest-io: 3 applications"]
    for policy, order in (("longest-io", ["holding", "long", "short"]), ("shortest-io", ["holding", "short", "long"])):
        reports = found[policy]
        assert [len(one.operations) for one in reports] == [chain.times for chain in CHAINS]
        for one in reports:
            dates = [one.posted, *np.ravel(one.operations).tolist(), one.ended]
            assert dates == sorted(dates)
            assert one.ended == one.operations[-1][1]
        first = {chain.name: one.operations[0][1] for chain, one in zip(CHAINS, reports, strict=True)}
        assert sorted(first, key=first.__getitem__) == order, "by the ends of their first operations"
    assert nothing_left(bed)


def test_wrong_chains(bed: Bed, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^chain idle: has no work; expected some seconds before each operation$"):
        run_chains(bed, [CHAINS[0], LiveChain("idle", 0.0, MIB, 1)], tmp_path / "socket")
    with pytest.raises(InputError, match=r"is too full: 10,737,418,240 bytes are written, [\d,]+ are free$"):
        run_chains(bed, [LiveChain("large", 1.0, 10 * 2**30, 1)], tmp_path / "socket")


def test_the_same_in_simulation() -> None:
    # The first starts at 0, works for 1 s and moves for 2 s. The second posts at APART + 2 and waits until 3; then the link
    # is its own.
    chains = (LiveChain("a", 1.0, 20, 1), LiveChain("b", 2.0, 10, 2))
    simulated = simulated_chains(chains, 10.0, "fifo")
    assert simulated.tolist() == pytest.approx([3.0, 7.0 - APART])
    both = LiveChains(chains, 10.0, {"fifo": simulated}, {"fifo": 2.0 * simulated})
    assert both.stretches("fifo").tolist() == pytest.approx([1.0, (7.0 - APART) / 6.0])
    assert both.stretches("fifo", live=True).tolist() == pytest.approx([2.0, (7.0 - APART) / 3.0])
    assert both.makespan("fifo") == pytest.approx(7.0)
    assert both.ratios["fifo"].tolist() == [2.0, 2.0]


def test_small_things() -> None:
    assert [in_pages(volume) for volume in (1.0, 4096.0, 4096.5)] == [4096, 4096, 8192]
    assert seconds_of([Posted(1.0, 3.0), Posted(2.0, 2.5)]).tolist() == [2.0, 0.5]
