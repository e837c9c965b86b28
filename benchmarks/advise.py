"""An operator's questions: a week of a machine of 400 nodes, and the Curie sample with drawn I/O."""

from __future__ import annotations

import time
from dataclasses import replace

import penstock
from benchmarks.pack import stream
from benchmarks.reality import data_file
from benchmarks.report import Report, Results, verdict
from penstock.model import Workload
from penstock.workloads.swf import Swf
from penstock.workloads.swf import stream as swf_stream

NODES, OSTS, SMALLER = 400, 20, 8
WEEK = 7 * 86400.0
WANTED = 300.0
"""The most seconds that the advice on a week may take on two cores."""


def run(report: Report, *, quick: bool) -> Results:
    """Seconds of the advice on each workload, on the clock and of a processor."""
    workloads = {"400 nodes, a week": a_week(jobs=200 if quick else 2_000)}
    curie = data_file("swf/CEA-curie_sample.swf")
    if curie is not None:
        days = 1.0 if quick else 3.0
        chosen = Swf(iterations=20, duration=days * 86400.0, cores_per_node=16)
        workloads["Curie"] = swf_stream(str(curie), chosen, 1).workload
    else:
        report.say("advise: CEA-curie_sample.swf is not there; Curie is left out")
    penstock.advise(on_osts(a_week(jobs=20)))  # whatever is compiled once
    cells = []
    for name, workload in workloads.items():
        for osts in (None, OSTS):
            with report.console.status(f"advise: {name}, {osts or 'no'} OSTs"):
                cells.append(_cell(name, workload, osts))
    report.show(
        "Advice for operators (one run each)",
        ("workload", "OSTs", "jobs", "seconds", "of a processor", "node-hours lost", "headline"),
        (
            (
                cell["workload"],
                str(cell["osts"] or "one link"),
                f"{cell['jobs']:,}",
                verdict(cell["seconds"], WANTED),
                f"{cell['processor_seconds']:.1f}",
                f"{cell['delayed']:,.0f}",
                cell["headline"],
            )
            for cell in cells
        ),
    )
    return {"cells": cells}


def a_week(jobs: int) -> Workload:
    """So many jobs submitted in a week to a machine of 400 nodes: those of the packs' stream, on an eighth of the nodes."""
    made = stream(jobs, nodes=SMALLER * NODES, busy=0.85, iterations=20)
    last = max(one.release for one in made.applications)
    members = (
        replace(one, release=one.release / last * WEEK, nodes=max(1, one.nodes // SMALLER)) for one in made.applications
    )
    return Workload(replace(made.platform, nodes=NODES), tuple(members))


def on_osts(workload: Workload) -> Workload:
    """The workload on `OSTS` OSTs."""
    return replace(workload, platform=replace(workload.platform, resources=OSTS))


def _cell(name: str, workload: Workload, osts: int | None) -> Results:
    begun, processor = time.perf_counter(), time.process_time()
    advice = penstock.advise(workload, resources=osts)
    return {
        "workload": name,
        "osts": osts,
        "jobs": advice.found.run.jobs,
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - processor,
        "delayed": advice.found.run.delayed,
        "headline": advice.found.headline,
    }
