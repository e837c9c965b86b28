"""Small files of measured profiles, and the real ones."""

from collections.abc import Sequence
from pathlib import Path

from penstock.model import Curve
from penstock.workloads import read_profiles
from tests.data import real

SUMMARIES = "ionode-profiles/derived-mn4-189-profiles.csv"
RUNS = "ionode-profiles/marenostrum-4-results.csv"
DIRECT = "ionode-profiles/marenostrum-4-gpfs-results.csv"
MCKP = "mckp/bandwidth.csv"

HEADER = "forwarders;clients;processes;layout;spatiality;odirect;stonewall;request;total;operation;time;transfered;bandwidth"


def run(count: int | str, bandwidth: float | str, request: int = 32, operation: str = "write") -> str:
    """A line of a file of runs; the scenario is 96-8-0-1-REQUEST-1."""
    return f"{count};8;96;0;1;1;60;{request};131072;{operation};60.5;999.0;{bandwidth}"


def write(path: Path, *lines: str) -> str:
    """A file of those lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def small(path: Path) -> str:
    """A file of the runs of two scenarios: an ascent and a peak."""
    rates = {32: {1: 10.0, 2: 21.0, 4: 40.0, 8: 70.0}, 64: {1: 50.0, 2: 90.0, 4: 60.0, 8: 40.0}}
    lines = [
        run(n, factor * rate, request) for request in rates for n, rate in rates[request].items() for factor in (0.5, 1)
    ]
    return write(path, HEADER, *lines)


def measured(statistic: str = "mean") -> dict[str, Curve]:
    """The 189 measured curves by scenario."""
    return read_profiles(real(SUMMARIES), statistic)


def ratios(curves: Sequence[Curve]) -> list[list[float]]:
    """The curves over their own largest bandwidths."""
    return [[rate / max(curve.bandwidths) for rate in curve.bandwidths] for curve in curves]
