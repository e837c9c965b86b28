"""Predicted against measured: I/O times of single jobs of a week of Theta, from Darshan, and those that a machine predicts.

The data tell of each job its nodes, its processes, bytes read and written, and the seconds of reading and writing, summed
over processes. The measured I/O time is that sum over the number of processes: how long a process spent on average. It is
shorter than the time from the first to the last I/O where only some processes do I/O. Time for metadata is left out.

The prediction is a run of `penstock machine` with the recorded starts: a read and a write phase for each job. Three models:

- `node`: each node carries b bytes/s (one number);
- `node and system`: and the I/O system B in all (two numbers);
- `process`: each process reads at r and writes at w bytes/s (two numbers).

The numbers are those with the least mean |log predicted/measured| over one half of the jobs; the other half is the test.
Many jobs are runs of one program, so that a half knows the other; therefore a second table keeps jobs of one kind (the same
nodes and processes, and about the same bytes) in one half. At most 4 of these jobs ran at once, so that this tests the
bandwidth of single jobs and not how they share it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.report import NotHereError, Report, Results
from penstock.model import Application, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.planning.operation import MachineSettings, operate

NODES = 4392
"""Of Theta."""
SPLITS = 200
NO_LIMIT = 1e15
"""Bytes/s: more than any job uses."""
Model = dict[str, float]


def data_file(name: str) -> Path | None:
    """A file of the folder of real data, PENSTOCK_DATA or ../shared/data; None where it is absent."""
    root = Path(__file__).resolve().parents[1].parent
    path = Path(os.environ.get("PENSTOCK_DATA", root / "shared" / "data")) / name
    return path if path.is_file() else None


@dataclass(frozen=True)
class Measured:
    """One job of the week."""

    name: str
    nodes: int
    processes: int
    read: float
    written: float
    read_seconds: float
    write_seconds: float
    start: float
    run_seconds: float

    @property
    def kind(self) -> tuple[int, ...]:
        """What runs of one program have in common."""
        return (self.nodes, self.processes, round(2.0 * math.log10(1.0 + self.read + self.written)))

    @property
    def io_seconds(self) -> float:
        """Seconds that a process spent reading and writing, on average."""
        return (self.read_seconds + self.write_seconds) / self.processes


def measured(path: Path) -> list[Measured]:
    """The jobs of the file that moved something."""
    found = []
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]:
        processes = max(run["nprocs"] for run in job["runs"])
        found.append(
            Measured(
                name=str(job["id"]),
                nodes=int(job["nodesUsed"]),
                processes=int(processes),
                read=float(job["readBytes"]),
                written=float(job["writtenBytes"]),
                read_seconds=float(job["readTimeSeconds"]),
                write_seconds=float(job["writeTimeSeconds"]),
                start=datetime.fromisoformat(str(job["startTime"])).timestamp(),
                run_seconds=float(job["runtimeSeconds"]),
            )
        )
    return [job for job in found if job.io_seconds > 0.0 and job.read + job.written > 0.0]


def predicted(jobs: Sequence[Measured], model: Model) -> Floats:
    """I/O seconds of each job in a run of the machine with the recorded starts."""
    first = min(job.start for job in jobs)
    system = model.get("system", NO_LIMIT)
    applications = []
    for job in jobs:
        bandwidths = {}
        if "read" in model:
            bandwidths = {"read_bandwidth": job.processes * model["read"], "write_bandwidth": job.processes * model["write"]}
        phases = [("read", job.read), ("work", job.run_seconds), ("write", job.written)]
        start = job.start - first
        applications.append(Application.of(job.name, phases, nodes=job.nodes, submit=start, release=start, **bandwidths))
    platform = Platform(system, node_bandwidth=model.get("node"), nodes=NODES)
    done = operate(Workload(platform, tuple(applications)), MachineSettings("recorded", "fair-share"))
    return done.jobs_run.transferring + done.jobs_run.delayed


def _alone(jobs: Sequence[Measured], model: Model) -> Floats:
    """The same where no job is in another's way: what the calibration uses."""
    if "read" in model:
        rates = [job.processes * np.array([model["read"], model["write"]]) for job in jobs]
        return np.array([job.read / rate[0] + job.written / rate[1] for job, rate in zip(jobs, rates, strict=True)])
    caps = np.minimum([job.nodes * model["node"] for job in jobs], model.get("system", NO_LIMIT))
    return np.array([job.read + job.written for job in jobs]) / caps


def _nearest(jobs: Sequence[Measured], candidates: Sequence[Model]) -> Model:
    """The model with the least mean |log predicted/measured|."""
    times = np.log([job.io_seconds for job in jobs])
    return min(candidates, key=lambda model: float(np.abs(np.log(_alone(jobs, model)) - times).mean()))


def _rates(values: Sequence[float]) -> list[float]:
    """Candidates for a bandwidth: quantiles of what was seen."""
    return np.quantile(values, np.linspace(0.0, 1.0, 41)).tolist()


def node_model(jobs: Sequence[Measured]) -> Model:
    """b of a node: the median of what was seen has the least error."""
    return {"node": float(np.median([(job.read + job.written) / job.io_seconds / job.nodes for job in jobs]))}


def system_model(jobs: Sequence[Measured]) -> Model:
    """b of a node and B of the I/O system."""
    totals = [(job.read + job.written) / job.io_seconds for job in jobs]
    nodes = _rates([total / job.nodes for total, job in zip(totals, jobs, strict=True)])
    return _nearest(jobs, [{"node": node, "system": system} for node in nodes for system in _rates(totals)])


def process_model(jobs: Sequence[Measured]) -> Model:
    """r and w of a process."""
    reads = _rates([job.read / job.read_seconds for job in jobs if job.read_seconds > 0.0])
    writes = _rates([job.written / job.write_seconds for job in jobs if job.write_seconds > 0.0])
    return _nearest(jobs, [{"read": read, "write": write} for read in reads for write in writes])


MODELS: dict[str, Callable[[Sequence[Measured]], Model]] = {
    "node": node_model,
    "node and system": system_model,
    "process": process_model,
}


def compared(jobs: Sequence[Measured], times: Floats) -> Results:
    """Predicted over measured: median, geometric mean, how many within a factor of 2; and the correlation of logarithms."""
    seen = np.array([job.io_seconds for job in jobs])
    ratio = times / seen
    return {
        "jobs": len(jobs),
        "median": float(np.median(ratio)),
        "geometric_mean": float(np.exp(np.log(ratio).mean())),
        "within_2": float((np.abs(np.log2(ratio)) <= 1.0).mean()),
        "correlation": float(np.corrcoef(np.log(times), np.log(seen))[0, 1]),
    }


def run(report: Report, *, quick: bool) -> Results:
    """Calibrate on half of the jobs, test on the other; then on many random halves."""
    path = data_file("theta-io/theta2022_week4.yaml")
    if path is None:
        raise NotHereError("theta-io/theta2022_week4.yaml; PENSTOCK_DATA tells where real data are")
    jobs = measured(path)
    cells = []
    for name, fit in MODELS.items():
        model = fit(jobs[0::2])
        cells.append({"model": name, "numbers": model, **compared(jobs[1::2], predicted(jobs, model)[1::2])})
    random = np.random.default_rng(1)
    spread = [_spread(jobs, name, random, 20 if quick else SPLITS) for name in MODELS]
    _print(report, cells, spread)
    return {"cells": cells, "spread": spread}


def _spread(jobs: Sequence[Measured], name: str, random: np.random.Generator, splits: int) -> Results:
    """The measures over random halves of the kinds of jobs: median, and from the 5th to the 95th of a hundred."""
    kinds = sorted({job.kind for job in jobs})
    rows = []
    for _ in range(splits):
        chosen = {kinds[place] for place in random.permutation(len(kinds))[: len(kinds) // 2].tolist()}
        half, other = ([job for job in jobs if (job.kind in chosen) is there] for there in (True, False))
        rows.append(compared(other, _alone(other, MODELS[name](half))))
    columns = {key: np.quantile([row[key] for row in rows], (0.5, 0.05, 0.95)).tolist() for key in rows[0] if key != "jobs"}
    return {"model": name, "splits": splits, "kinds": len(kinds), **columns}


def _print(report: Report, cells: list[Results], spread: list[Results]) -> None:
    def numbers(model: dict[str, Any]) -> str:
        return ", ".join(f"{key} {value / 1e6:.3g} MB/s" for key, value in model.items())

    keys = ("median", "geometric_mean", "within_2", "correlation")
    headings = ("median ratio", "geometric mean", "within a factor of 2", "correlation of logs")
    report.show(
        "I/O times of Theta's jobs, predicted over measured (calibrated on every other job, tested on the rest)",
        ("model", "numbers", "jobs", *headings),
        (
            (cell["model"], numbers(cell["numbers"]), str(cell["jobs"]), *(f"{cell[key]:.3g}" for key in keys))
            for cell in cells
        ),
    )
    report.show(
        f"The same over {spread[0]['splits']} random halves of the {spread[0]['kinds']} kinds of jobs: median (5 % to 95 %)",
        ("model", *headings),
        ((row["model"], *("{:.3g} ({:.3g} to {:.3g})".format(*row[key]) for key in keys)) for row in spread),
    )
