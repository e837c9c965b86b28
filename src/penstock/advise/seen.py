"""What the I/O of a machine looks like, from one run: pressure over time, who does it, its periods, what contention costs.

The *pressure* at a date is what the running jobs ask of the I/O system over what it carries, each job's I/O spread evenly
over its time alone. Above 1 the I/O system cannot keep up. What of the nodes *waits* is the part of the nodes whose jobs
neither compute nor transfer at their own speed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.model import Application, Workload
from penstock.model.application import MODELLED, WORK
from penstock.model.workload import volume
from penstock.numeric.arrays import Floats
from penstock.numeric.periodicity import Period, binned, dominant_period, period_of_bins
from penstock.planning.machine_run import MachineRun
from penstock.planning.node_hours import HOUR

POINTS: Final = 168
"""Intervals of the run over time: the hours of a week."""
FINE: Final = 4096
"""Intervals in which a period of the whole machine is looked for."""
MOST_ROWS: Final = 12
"""Users and applications that are listed."""
BUSY: Final = 0.8
"""Pressure from which on the I/O system counts as busy."""


@dataclass(frozen=True, eq=False)
class IoSeen:
    """The I/O of a run."""

    workload: Workload
    run: MachineRun

    @property
    def pressure(self) -> Floats:
        """The pressure in each of `POINTS` intervals of the run."""
        jobs, run = self.run.jobs_run, self.run
        width = run.makespan / POINTS
        if not width > 0.0:
            return np.zeros(POINTS)
        starts = jobs.start - run.begin
        asked = binned(starts, starts + jobs.worked + jobs.transferring, jobs.volume, width, POINTS)
        return asked / (width * self.workload.platform.bandwidth)

    def over_time(self) -> list[dict[str, float]]:
        """A row for each interval: its end in seconds after the begin, the pressure, and parts of nodes and bandwidth."""
        line = self.run.over_time(POINTS)
        columns = {
            "date": line.date - self.run.begin,
            "pressure": self.pressure,
            "bandwidth": line.bandwidth,
            "nodes": line.nodes,
            "waiting_for_io": np.maximum(0.0, line.nodes - line.executed),
        }
        lists = [column.tolist() for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def measures(self) -> dict[str, Any]:
        """The I/O in numbers."""
        run, pressure = self.run, self.pressure
        return {
            "jobs": run.jobs,
            "nodes": run.nodes,
            "seconds": run.makespan,
            "bytes": float(run.jobs_run.volume.sum()),
            "held_node_hours": held(run),
            "transferring": run.transferring,
            "delayed": run.delayed,
            "delayed_part": run.delayed / held(run) if held(run) > 0.0 else 0.0,
            "nodes_lost": run.delayed * HOUR / run.makespan if run.makespan > 0.0 else 0.0,
            "mean_pressure": float(pressure.mean()),
            "highest_pressure": float(pressure.max()),
            "busy_part": float((pressure >= BUSY).mean()),
            "jobs_delayed": int(np.count_nonzero(run.jobs_run.slowdown >= 1.05)),
            "max_slowdown": run.max_slowdown,
            "modelled": modelled(self.workload),
            "period": _document(self._period()),
        }

    def _period(self) -> Period | None:
        """The period of the bandwidth that is used."""
        line = self.run.over_time(FINE)
        return period_of_bins(line.bandwidth, self.run.makespan / FINE) if self.run.makespan > 0.0 else None

    def users(self) -> list[dict[str, Any]]:
        """A row for each user, those with most I/O first."""
        names = [user or "–" for user in self.run.jobs_run.users]
        return self._by("user", names) if any(self.run.jobs_run.users) else []

    def applications(self) -> list[dict[str, Any]]:
        """A row for each application, those with most I/O first, with the period of the one that moves most of them.

        Jobs whose names differ by digits alone are runs of one application; where all do, each job stands for itself.
        """
        stems = [stem(name) for name in self.run.jobs_run.names]
        names = stems if len(set(stems)) > 1 else list(self.run.jobs_run.names)
        rows = self._by("application", names)
        most = {}
        for index in np.argsort(self.run.jobs_run.volume, kind="stable").tolist():
            most[names[index]] = index
        for row in rows[:MOST_ROWS]:
            index = most[row["application"]]
            row["period"] = _document(period_of(self.workload.applications[index], self.workload))
        return rows

    def _by(self, word: str, names: list[str]) -> list[dict[str, Any]]:
        """Sums over the jobs of each name."""
        jobs = self.run.jobs_run
        found, member = np.unique(np.array(names, np.object_).astype(str), return_inverse=True)

        def total(values: Any) -> list[float]:
            return [float(one) for one in np.bincount(member, values, len(found))]

        columns = {
            word: found.tolist(),
            "jobs": np.bincount(member, minlength=len(found)).tolist(),
            "bytes": total(jobs.volume),
            "node_hours": total(jobs.nodes * jobs.held / HOUR),
            "transferring": total(jobs.nodes * jobs.transferring / HOUR),
            "delayed": total(jobs.nodes * jobs.delayed / HOUR),
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return sorted(rows, key=lambda row: (-row["bytes"], row[word]))

    def to_dict(self) -> dict[str, Any]:
        """What is seen, for JSON; node-hours, seconds and bytes."""
        return {
            **self.measures(),
            "users": self.users()[:MOST_ROWS],
            "applications": self.applications()[:MOST_ROWS],
            "over_time": self.over_time(),
        }


def held(run: MachineRun) -> float:
    """Node-hours for which the jobs of a `run` had their nodes."""
    return float((run.jobs_run.nodes * run.jobs_run.held).sum()) / HOUR


def modelled(workload: Workload) -> float:
    """The part of the bytes of a `workload` that no log or counter has shown."""
    rows = [(volume(one), one.source in MODELLED) for one in workload.applications]
    total = sum(amount for amount, _ in rows)
    return sum(amount for amount, assumed in rows if assumed) / total if total > 0.0 else 0.0


def stem(name: str) -> str:
    """The `name` of a job without digits: ``climate-17`` is a run of ``climate``."""
    return re.sub(r"[-_.]?\d+", "", name) or name


def period_of(application: Application, workload: Workload) -> Period | None:
    """The period of the I/O of an `application` of the `workload` when it is alone."""
    phases = application.phases
    seconds = phases.dedicated_seconds(application.cap(workload.platform))
    ends = np.cumsum(seconds)
    doing = phases.kinds != WORK
    return dominant_period((ends - seconds)[doing], phases.amounts[doing], ends[doing])


def _document(period: Period | None) -> dict[str, float] | None:
    return None if period is None else {"seconds": period.seconds, "confidence": period.confidence}
