"""Small campaigns, and ways to look at what they leave."""

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from penstock.campaign import Campaign, grid
from penstock.numeric.compiled import JIT

PARAMETERS = {"pressure": [0.5, 0.9], "applications": 6, "small": 2, "horizon": 50_000.0}
POLICIES = ("fair-share", "greedy-yield")


def campaign(seeds: int = 3, policies: tuple[str, ...] = POLICIES, name: str = "small") -> Campaign:
    return grid(name, "synthetic", PARAMETERS, range(seeds), policies)


def slow_campaign(seeds: int, name: str = "slow") -> Campaign:
    """Tasks of some tenths of a second, so that there is a middle in which something can happen."""
    horizon = 10_000_000.0 if JIT else 50_000.0
    return grid(name, "synthetic", {"pressure": 0.9, "horizon": horizon}, range(seeds), POLICIES)


def without_seconds(table: pa.Table) -> pa.Table:
    """All that must be the same in two runs."""
    return table.drop_columns(["seconds"])


def parts(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """The finished parts: when each was written, its inode and its content."""
    found = (folder / "parts").glob("[!.]*.parquet")
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in found}


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
