"""Sizing burst buffers: the workloads of 004 §7 in three sizes, and one of them with reads. Seconds are processor time."""

from __future__ import annotations

import resource
import time
from dataclasses import replace

import numpy as np

from benchmarks.report import Report, Results, verdict
from penstock.buffers import BufferPlan, check_plan, execute_plan, full_speed_timeline, largest_backlog, size
from penstock.model import Phases, Workload
from penstock.model.application import READ, WORK, WRITE
from penstock.workloads import Lanl, lanl

SEED = 2
WRITES = {
    "30 applications": Lanl(0.2),
    "300 applications": Lanl(1.0, applications=300),
    "30, long walltimes": Lanl(0.2, walltimes="apex"),
}
WANTED = {"30 applications": 3.0, "300 applications": 15.0, "30, long walltimes": 60.0}
"""The most seconds that a plan may take."""
WANTED_BACKLOG = 1.0
WANTED_GIGABYTES = 2.0


def run(report: Report, *, quick: bool) -> Results:
    """Seconds of plans, where they go, and what was solved."""
    drawn = {name: lanl(parameters, SEED).workload for name, parameters in WRITES.items()}
    if quick:
        drawn = {"30 applications": drawn["30 applications"]}
    drawn["30, with reads"] = with_reads(drawn["30 applications"])
    # Compile what is compiled before anything is timed.
    execute_plan(size(lanl(Lanl(0.5, 50.0, applications=2), SEED).workload))
    cells = []
    for name, workload in drawn.items():
        for mode in ("static", "dynamic"):
            with report.console.status(f"buffers: {name}, {mode}"):
                cells.append(_cell(name, workload, mode))
    _print(report, cells)
    return {"cells": cells}


def with_reads(workload: Workload) -> Workload:
    """The workload with a read of half a checkpoint in the middle of each work phase."""
    applications = []
    for application in workload.applications:
        work, volume = application.phases.amounts.reshape(-1, 2).T
        amounts = np.column_stack([work / 2.0, volume / 2.0, work / 2.0, volume]).ravel()
        kinds = np.tile(np.array([WORK, READ, WORK, WRITE], np.uint8), len(work))
        applications.append(replace(application, phases=Phases(kinds, amounts)))
    return replace(workload, applications=tuple(applications))


def _cell(name: str, workload: Workload, mode: str) -> Results:
    begun = time.process_time()
    plan = size(workload, mode)
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "workload": name,
        "mode": mode,
        "events": len(plan.demand.events),
        "size": plan.size,
        "seconds": seconds,
        "gigabytes": peak,
        "effort": plan.to_dict(rates=False)["effort"],
        **_beside(plan),
    }


def _beside(plan: BufferPlan) -> Results:
    """What checking and replaying the plan takes, and the backlog, which is the size of a dynamic buffer for writes."""
    seconds = {}
    for step, of in (("check", check_plan), ("replay", execute_plan)):
        begun = time.process_time()
        of(plan)
        seconds[f"{step}_seconds"] = time.process_time() - begun
    begun = time.process_time()
    backlog = largest_backlog(full_speed_timeline(plan.workload))
    seconds["backlog_seconds"] = time.process_time() - begun
    return {
        **seconds,
        "holds": check_plan(plan).holds,
        "max_stretch": execute_plan(plan).max_stretch,
        "backlog": backlog.size,
    }


def _print(report: Report, cells: list[Results]) -> None:
    parts = ("build", "solve", "shares", "plan")
    report.show(
        "Burst buffers: seconds of a plan, and where they go in % (one run each)",
        ("workload", "mode", "events", "seconds", *parts),
        (
            (
                *_label(cell),
                f"{cell['events']:,}",
                verdict(cell["seconds"], WANTED[cell["workload"]])
                if cell["workload"] in WANTED
                else f"{cell['seconds']:.3g}",
                *(f"{100.0 * cell['effort'][f'{part}_seconds'] / cell['effort']['seconds']:.0f}" for part in parts),
            )
            for cell in cells
        ),
    )
    report.show(
        "Burst buffers: the linear programs, and the memory of the process so far",
        ("workload", "mode", "rows", "columns", "nonzeros", "gap", "GB"),
        (
            (
                *_label(cell),
                *(f"{cell['effort'][count]:,}" for count in ("rows", "columns", "nonzeros")),
                f"{cell['effort']['gap']:.0e}",
                verdict(cell["gigabytes"], WANTED_GIGABYTES),
            )
            for cell in cells
        ),
    )
    report.show(
        "Burst buffers: what comes out, and seconds for the backlog, the check and the replay",
        ("workload", "mode", "size TB", "backlog TB", "backlog", "check", "replay", "holds", "stretch − 1"),
        (
            (
                *_label(cell),
                *(f"{cell[name] / 1e12:,.2f}" for name in ("size", "backlog")),
                verdict(cell["backlog_seconds"], WANTED_BACKLOG),
                *(f"{cell[f'{step}_seconds']:.2g}" for step in ("check", "replay")),
                "yes" if cell["holds"] else "NO",
                f"{cell['max_stretch'] - 1.0:.0e}",
            )
            for cell in cells
        ),
    )


def _label(cell: Results) -> tuple[str, str]:
    return cell["workload"], cell["mode"]
