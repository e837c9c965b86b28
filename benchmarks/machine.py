"""Whole machines: a year of Theta, and a stream of 100,000 jobs, on 20 OSTs under a batch scheduler and a sharing policy."""

from __future__ import annotations

import time
from dataclasses import replace

from benchmarks.pack import stream
from benchmarks.reality import data_file
from benchmarks.report import Report, Results, verdict
from penstock.model import Workload
from penstock.planning.operation import MachineSettings, operate
from penstock.workloads.swf import Swf
from penstock.workloads.swf import stream as swf_stream

OSTS = 20
WANTED = {"Theta 2022": 60.0, "100,000 jobs": 120.0}
"""The most seconds of one core that a run may take."""
SETTINGS = (
    MachineSettings("easy", "fair-share"),
    MachineSettings("easy", "due-yield"),
    MachineSettings("easy", "fifo"),
    MachineSettings("conservative", "fair-share"),
    MachineSettings("two-group", "fair-share"),
    MachineSettings("packs-backfill", "fair-share"),
    MachineSettings("easy", "fair-share", allocation="all"),
    MachineSettings("easy", "fair-share", allocation="tcpu"),
)


def run(report: Report, *, quick: bool) -> Results:
    """Seconds of each run, where they go, and how they grow with the number of jobs."""
    workloads = {}
    theta = _theta(quick=quick)
    if theta is not None:
        workloads["Theta 2022"] = theta
    else:
        report.say("machine: theta_2022.swf is not there; the year of Theta is left out")
    workloads["100,000 jobs"] = _on_osts(stream(1_000 if quick else 100_000, busy=0.85, iterations=10))
    operate(_on_osts(stream(50, iterations=2)), SETTINGS[0])  # whatever is loaded once
    cells = []
    for name, workload in workloads.items():
        for settings in SETTINGS if name == "Theta 2022" else SETTINGS[:5:2]:
            with report.console.status(f"machine: {name}, {settings.scheduler}, {settings.policy}, {settings.allocation}"):
                cells.append(_cell(name, workload, settings))
    growth = [
        _cell(f"{jobs:,} jobs", _on_osts(stream(jobs, busy=0.85, iterations=10)), SETTINGS[0])
        for jobs in ((100, 1_000) if quick else (1_000, 10_000, 100_000))
    ]
    _print(report, "Whole machines with 20 OSTs (one run each, processor time)", cells)
    _print(report, "Growth with the number of jobs: easy, fair-share", growth)
    return {"cells": cells, "growth": growth}


def _theta(*, quick: bool) -> Workload | None:
    """The jobs of Theta in 2022 with 100 iterations each, of which a tenth of the time is I/O on average (drawn)."""
    path = data_file("swf/theta_2022.swf")
    if path is None:
        return None
    chosen = Swf(iterations=100, duration=7 * 86400.0) if quick else Swf(iterations=100)
    return _on_osts(swf_stream(str(path), chosen, 1).workload)


def _on_osts(workload: Workload) -> Workload:
    return replace(workload, platform=replace(workload.platform, resources=OSTS))


def _cell(name: str, workload: Workload, settings: MachineSettings) -> Results:
    operate(_on_osts(stream(50, iterations=2)), settings)  # compile
    begun = time.process_time()
    done = operate(workload, settings)
    seconds = time.process_time() - begun
    return {
        "workload": name,
        "scheduler": done.scheduler,
        "policy": done.policy,
        "allocation": settings.allocation,
        "jobs": done.jobs,
        "operations": done.events // 2,
        "seconds": seconds,
        "engine_seconds": done.engine_seconds,
        "microseconds_per_job": 1e6 * seconds / done.jobs,
        "mean_wait_hours": done.mean_wait / 3600.0,
        "delayed": done.delayed,
        "idle": done.idle,
        "node_hours": done.node_hours,
    }


def _print(report: Report, title: str, cells: list[Results]) -> None:
    report.show(
        title,
        (
            "workload",
            "scheduler",
            "policy",
            "OSTs of a job",
            "jobs",
            "I/O operations",
            "seconds",
            "µs a job",
            "mean wait, h",
            "node-hours delayed",
        ),
        (
            (
                cell["workload"],
                cell["scheduler"],
                cell["policy"],
                cell["allocation"],
                f"{cell['jobs']:,}",
                f"{cell['operations']:,}",
                verdict(cell["seconds"], WANTED.get(cell["workload"], WANTED["100,000 jobs"])),
                f"{cell['microseconds_per_job']:.0f}",
                f"{cell['mean_wait_hours']:.2f}",
                f"{cell['delayed']:,.0f}",
            )
            for cell in cells
        ),
    )
