"""Question bandwidths and volumes whose scales do not match, as 100 bytes/s beside operations of 1 TB.

Files may leave out units, and numbers without units mean whatever the user likes as long as it is the same throughout.
The rule must not question workloads whose link has bandwidth 1 and whose volumes are seconds. A workload is questioned if,
at the full bandwidth of its application,

- an operation takes 10 years or more; or it takes 10 days or more, is 100 MB or more, and the bandwidth is at most 100 kB/s;
- the longest operation of all takes less than 1 µs, and the bandwidth is 1 MB/s or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model.application import WORK, Application
from penstock.model.workload import Workload

DAY: Final = 86_400.0
YEAR: Final = 365.25 * DAY
ENDLESS: Final = 10.0 * YEAR
"""Seconds that no operation takes, whatever the units are."""
LONG, LARGE, SLOW = 10.0 * DAY, 1e8, 1e5
"""Seconds, bytes and bytes/s that do not go together where bytes are meant."""
SHORT, FAST = 1e-6, 1e6
"""Seconds and bytes/s that do not go together for the longest operation of a workload."""
PREFIXES: Final = (1e3, 1e6, 1e9, 1e12)
USUAL: Final = (1e-3, 3600.0)
"""Seconds that a usual operation takes: a prefix is proposed that leads there."""


@dataclass(frozen=True)
class Mismatch:
    """A bandwidth and a volume that do not match.

    Attributes:
        place: The place of the doubtful value in the workload file.
        value: The value there, in bytes/s or bytes.
        bandwidth: Bytes/s of the application that the operation belongs to.
        volume: Bytes of the operation.
        factor: The prefix that the value may lack, as a power of 1000; None if none leads to a usual time.

    """

    place: str
    value: float
    bandwidth: float
    volume: float
    factor: float | None

    @property
    def seconds(self) -> float:
        """What the operation takes alone."""
        return self.volume / self.bandwidth

    @property
    def too_slow(self) -> bool:
        """Whether the bandwidth is too small for the volume; else the volume is too small for the bandwidth."""
        return self.seconds >= 1.0


def mismatch(workload: Workload) -> Mismatch | None:
    """Find a bandwidth and a volume of the workload whose scales do not match; None if there are none.

    Example:
        >>> from penstock.model import Application, Platform
        >>> found = mismatch(Workload(Platform(100.0), (Application.of("a", [("write", 1e12)]),)))
        >>> found.place, found.factor, round(found.seconds / YEAR)
        ('platform.bandwidth', 1000000000.0, 317)

    """
    operations = [
        (volume / rate, rate, volume, index)
        for index, application in enumerate(workload.applications)
        if (volume := _largest_operation(application)) > 0.0 and (rate := _bandwidth(workload, application)) > 0.0
    ]
    if not operations:
        return None
    seconds, rate, volume, index = max(operations)
    if seconds >= ENDLESS or (seconds >= LONG and volume >= LARGE and rate <= SLOW):
        factor = next((size for size in PREFIXES if seconds / size <= USUAL[1]), None)
        return Mismatch(*_slow_value(workload, index, rate), rate, volume, factor)
    if seconds < SHORT and rate >= FAST:
        factor = next((size for size in PREFIXES if seconds * size >= USUAL[0]), None)
        return Mismatch(f"applications[{index}].phases", volume, rate, volume, factor)
    return None


def _largest_operation(application: Application) -> float:
    """Bytes of its largest operation."""
    phases = application.phases
    return float(np.max(phases.amounts, where=phases.kinds != WORK, initial=0.0))


def _bandwidth(workload: Workload, application: Application) -> float:
    """The most bytes/s that it can use."""
    if workload.on_resources and application.curve is not None:
        return application.curve.largest
    return application.cap(workload.platform)


def _slow_value(workload: Workload, index: int, rate: float) -> tuple[str, float]:
    """The place and the value in the file that make the bandwidth of the application so small."""
    application, platform = workload.applications[index], workload.platform
    if workload.on_resources and application.curve is not None:
        return f"applications[{index}].curve", rate
    if rate >= platform.bandwidth or (application.bandwidth is None and platform.node_bandwidth is None):
        return "platform.bandwidth", platform.bandwidth
    if application.bandwidth is not None:
        return f"applications[{index}].bandwidth", application.bandwidth
    return "platform.node_bandwidth", platform.node_bandwidth or rate
