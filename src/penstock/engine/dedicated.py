"""What each application would do alone on the platform, every transfer at its cap (000 §3.2.2 and §6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model import Application, Workload


@dataclass(frozen=True)
class Dedicated:
    """`volume` V in bytes and `operations` Σ N_op that all would move and begin in dedicated mode between `begin` and `end`.

    The end is that of the window, or without one the latest end of an application in dedicated mode.
    """

    begin: float
    end: float
    volume: float
    operations: int
    bandwidth: float

    @property
    def pressure(self) -> float:
        """The I/O pressure W = V / (B · (T_end − T_begin)) (000 eq. 11)."""
        elapsed = self.end - self.begin
        return self.volume / (self.bandwidth * elapsed) if elapsed > 0.0 else 0.0

    @property
    def default_delta(self) -> float:
        """δ = (T_end − T_begin) / E with E = Σ 2·N_op (000 eq. 5): as many periodic decisions as events; 0 for no I/O."""
        return (self.end - self.begin) / (2 * self.operations) if self.operations else 0.0


def dedicated(workload: Workload) -> Dedicated:
    """The dedicated run of every application; time linear in the number of phases."""
    chains = [_chain(workload, application) for application in workload.applications]
    end = workload.window[1] if workload.window else max(float(ends[-1]) for ends, _ in chains)
    volume, operations = 0.0, 0
    for application, (ends, durations) in zip(workload.applications, chains, strict=True):
        is_io = application.phases.asks
        under_way = np.clip(end - (ends - durations)[is_io], 0.0, durations[is_io])
        volume += float(under_way.sum()) * application.cap(workload.platform)
        operations += int(np.count_nonzero((ends - durations)[is_io] < end))
    return Dedicated(workload.begin, end, volume, operations, workload.platform.bandwidth)


def _chain(workload: Workload, application: Application) -> tuple[np.ndarray, np.ndarray]:
    """End and duration of each phase in dedicated mode."""
    durations = application.phases.dedicated_seconds(application.cap(workload.platform))
    return workload.start(application) + application.lead + np.cumsum(durations), durations
