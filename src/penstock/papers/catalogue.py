"""The five papers and what is beyond them, as data; `reproduce` runs one of them, or all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.model import InputError
from penstock.model.errors import expected
from penstock.model.files import replacing
from penstock.numeric.arrays import Floats
from penstock.papers import beyond
from penstock.papers.buffers import claims as of_buffers
from penstock.papers.buffers import experiments as buffers
from penstock.papers.buffers import figures as buffer_figures
from penstock.papers.calciom import claims as of_calciom
from penstock.papers.calciom import experiments as calciom
from penstock.papers.calciom import figures as calciom_figures
from penstock.papers.calciom import live
from penstock.papers.dash import claims as of_dash
from penstock.papers.dash import experiments as dash
from penstock.papers.dash import figures as dash_figures
from penstock.papers.dash import mapping as dash_mapping
from penstock.papers.dash import validation
from penstock.papers.distributed import claims as of_distributed
from penstock.papers.distributed import experiments as distributed
from penstock.papers.distributed import figures as distributed_figures
from penstock.papers.reproducing import (
    CLAIMS,
    TABLE,
    Claim,
    Drawing,
    Paper,
    Reproduction,
    from_campaign,
    from_policies,
    from_scale,
    from_trials,
)
from penstock.papers.revisiting import claims as of_revisiting
from penstock.papers.revisiting import experiments as revisiting
from penstock.papers.revisiting import figures as revisiting_figures
from penstock.papers.verdicts import Verdict, table
from penstock.testbed import bed as beds
from penstock.testbed.live_runs import LiveChains, LiveDelta
from penstock.theory.interference import concurrency, running_jobs
from penstock.workloads.swf import SwfJobs

ALL: Final = "all"
"""Stands for the five papers."""
PROFILES: Final = Path("ionode-profiles") / "derived-mn4-189-profiles.csv"
TRACES: Final = "swf"
"""The folder of job traces in a folder of data."""


def each(figures: Mapping[str, tuple[str, Callable[..., Any]]]) -> dict[str, list[Drawing]]:
    """Items that are one of the `figures` each, from one source each: the source and what draws it, by item."""
    return {item: [Drawing(item, draw, (source,))] for item, (source, draw) in figures.items()}


def examples(figures: Mapping[str, Callable[[], Any]]) -> dict[str, list[Drawing]]:
    """Items that are one of the `figures` each, of an example: what draws it, by item."""
    return {item: [Drawing(item, draw)] for item, draw in figures.items()}


def in_order(figures: Mapping[str, list[Drawing]]) -> dict[str, list[Drawing]]:
    """The `figures` in the order of the thesis: by chapter, I to V, and number."""

    def place(item: str) -> tuple[int, int]:
        chapter, number = item.removeprefix("figure").split(".")
        return ("I", "II", "III", "IV", "V").index(chapter), int(number)

    return dict(sorted(figures.items(), key=lambda pair: place(pair[0])))


REVISITING: Final = Paper(
    "revisiting",
    "Revisiting I/O bandwidth-sharing strategies for HPC applications",
    revisiting.SCALES,
    {
        "pressure": from_campaign(revisiting.pressure),
        "other-parameters": from_campaign(revisiting.other_parameters),
        "apex": from_campaign(revisiting.apex),
        "starts": from_campaign(revisiting.starts),
        "sizes": from_scale("sizes"),
        "ratios": lambda run: revisiting.competitive_ratios(run.get("sizes")),
    },
    {
        "table2": [Drawing("table2", revisiting_figures.figure_table_2, ("ratios", "sizes"))],
        **examples(revisiting_figures.EXAMPLES),
        **each(revisiting_figures.FIGURES),
    },
    (
        *(Claim(judge, ("pressure",)) for judge in of_revisiting.ON_PRESSURE),
        Claim(of_revisiting.r7, ("other-parameters",)),
        Claim(of_revisiting.r8, ("apex",)),
        Claim(of_revisiting.r9, ("apex", "starts")),
        *(Claim(judge, ("apex",)) for judge in of_revisiting.ON_APEX),
        Claim(of_revisiting.r12, ("ratios", "sizes"), ("table2", CLAIMS)),
        Claim(of_revisiting.r13, ("apex",)),
        Claim(of_revisiting.r14, ("apex", "pressure")),
    ),
    comparing=[item for item in revisiting_figures.FIGURES if item != "figure5"],
)


def _validated(run: Reproduction) -> LiveChains:
    return validation.validated(beds.find(run.live) if run.live is not None else None, run.say, run.policies)


DASH: Final = Paper(
    "dash",
    "Dash: data-aware scheduling at higher scale",
    dash.SCALES,
    {
        "general": from_campaign(dash.general),
        "laws": from_campaign(dash.laws),
        "machine-learning": from_campaign(dash.machine_learning),
        "jacobi": from_campaign(dash.jacobi),
        "packs": lambda run: run.rows(dash.packs(run.size, run.policies)),
        "io-nodes": from_trials(dash.several_io_nodes),
        "mapping": from_trials(dash.mapping, dash_mapping.MappedBatches),
        "theorems": from_scale("theorems"),
        "validation": _validated,
        "live": lambda run: run.get("validation") if run.live is not None else None,
    },
    in_order(
        {
            **each(dash_figures.CHAIN_FIGURES),
            "figureIII.7": [
                Drawing("figureIII.7", validation.figure_iii_7, ("validation",)),
                Drawing("tableIII.D.1", validation.table_iii_d_1, ("validation",)),
            ],
            **each(dash_figures.BATCH_FIGURES),
            **each({item: ("mapping", draw) for item, draw in dash_mapping.FIGURES.items()}),
            **examples({**dash_figures.EXAMPLES, **dash_mapping.EXAMPLES}),
        }
    ),
    (
        *(Claim(judge, ("theorems",)) for judge in of_dash.THEOREMS[:4]),
        Claim(of_dash.d5, ("general",)),
        Claim(of_dash.d6, ("general", "laws")),
        Claim(of_dash.d7, ("machine-learning",)),
        Claim(of_dash.d8, ("jacobi",)),
        Claim(of_dash.d9, ("packs",)),
        Claim(of_dash.d10, ("io-nodes",)),
        Claim(dash_mapping.d11, ("mapping",)),
        *(Claim(judge, ("theorems",)) for judge in (of_dash.d12, *of_dash.THEOREMS[4:])),
        Claim(validation.d15, ("live",), ("figureIII.7", CLAIMS)),
    ),
    comparing=[
        *dash_figures.CHAIN_FIGURES,
        "figureIII.7",
        *(item for item in dash_figures.BATCH_FIGURES if item != "figureIII.13"),
    ],
)


def profiles_in(data: Path | None) -> Path | None:
    """The file of measured profiles in a folder of `data`; None without a folder."""
    if data is None:
        return None
    path = data / PROFILES
    if not path.is_file():
        raise InputError(str(data), f"has no {PROFILES}; expected the folder of the measured profiles")
    return path


def _sets(curves: str) -> Callable[[Reproduction], distributed.Sets | None]:
    """A source: the sets of applications with curves of one kind; None for measured ones without data."""

    def found(run: Reproduction) -> distributed.Sets | None:
        if curves == distributed.MEASURED and profiles_in(run.data) is None:
            return None
        return _run_sets(run, curves, distributed.LABELS[curves])

    return found


def _run_sets(run: Reproduction, curves: str, label: str, size: int = distributed.APPLICATIONS) -> distributed.Sets:
    """The sets of `size` applications with curves of one kind, also with the user's policies."""
    sets = distributed.sets_of(curves, run.size, profiles_in(run.data), size)
    shared = distributed.shared(sets, run.policies)
    return distributed.Sets.joined(label, run.rows(sets), run.rows(shared), size)


def _kinds(run: Reproduction) -> list[distributed.Sets]:
    found = [run.get(curves) for curves in (distributed.MEASURED, distributed.BUILT_IN)]
    return [sets for sets in found if sets is not None]


def _by_size(run: Reproduction) -> list[distributed.Sets]:
    """The sets of each kind of curves of I/O nodes, with 40 applications, then with fewer."""
    found = _kinds(run)
    for curves in (distributed.MEASURED, distributed.BUILT_IN):
        for size in distributed.FEWER if curves == distributed.BUILT_IN or run.data else ():
            found.append(_run_sets(run, curves, f"{distributed.LABELS[curves]}, K = {size}", size))
    return found


def _shown(run: Reproduction) -> tuple[str, str]:
    """The kind of curves that comes first, and the file of measured ones."""
    profiles = profiles_in(run.data)
    return (distributed.MEASURED, str(profiles)) if profiles else (distributed.BUILT_IN, "")


def _beside(draw: Callable[..., Any], item: str) -> list[Drawing]:
    """A figure of the first kind of curves and, if that is the measured one, another of the built-in ones."""
    return [Drawing(item, draw, ("first",)), Drawing(f"{item}-built-in", draw, ("second",))]


DISTRIBUTED: Final = Paper(
    "distributed",
    "Scheduling distributed I/O resources in HPC systems",
    distributed.SCALES,
    {
        **{curves: _sets(curves) for curves in distributed.LABELS},
        "kinds": _kinds,
        "by-size": _by_size,
        "first": lambda run: run.get("kinds")[0],
        "second": lambda run: [*run.get("kinds"), None][1],
        "small": from_trials(distributed.small_sets, lambda rows: list(rows.values())),
        "pool": lambda run: distributed.pool(*_shown(run)),
        "label": lambda run: distributed.LABELS[_shown(run)[0]],
        "target-pool": lambda _: distributed.pool(distributed.TARGETS, ""),
        "target-label": lambda _: distributed.LABELS[distributed.TARGETS],
        "classes": lambda run: distributed.classes_of(*_shown(run)),
    },
    {
        "figure1": [Drawing("figure1", distributed_figures.figure_1, ("pool", "label"))],
        "figure2": [Drawing("figure2", distributed_figures.figure_2, ("target-pool", "target-label"))],
        **{item: _beside(draw, item) for item, draw in distributed_figures.OF_SETS.items()},
        "sizes": [Drawing("sizes", distributed_figures.by_size, ("by-size",))],
        "figure11": [Drawing("figure11", distributed_figures.figure_11, ("classes", "label"))],
        "figure12": _beside(distributed_figures.figure_12, "figure12"),
        "figure13": [Drawing("figure13", distributed_figures.figure_13, (distributed.TARGETS,))],
        "oracle": [Drawing("oracle", distributed_figures.oracle, ("small",))],
    },
    (
        *(Claim(judge, ("by-size",)) for judge in (of_distributed.s1, of_distributed.s2)),
        Claim(of_distributed.s3, ("kinds",)),
        Claim(of_distributed.s4, ("by-size",)),
        *(Claim(judge, ("kinds",)) for judge in (of_distributed.s5, of_distributed.s6)),
        Claim(of_distributed.s7, ("kinds", distributed.TARGETS)),
        Claim(of_distributed.interval, ("kinds",)),
        Claim(of_distributed.oracle, ("small",)),
    ),
    comparing=("figure5", "figure8", "figure9", "figure10", "sizes", "figure13"),
)


def traces_in(data: Path | None) -> list[Path]:
    """The job traces in a folder of `data`, by name; none without a folder."""
    if data is None:
        return []
    found = sorted(path for path in (data / TRACES).glob("*.swf*") if path.name.endswith((".swf", ".swf.gz")))
    if not found:
        raise InputError(str(data), f"has no {TRACES}/*.swf; expected the folder of job traces")
    return found


def _jobs(run: Reproduction) -> dict[str, SwfJobs]:
    """The jobs of each trace by its name."""
    return {path.name.partition(".")[0]: running_jobs(str(path)) for path in traces_in(run.data)}


def _traces(run: Reproduction) -> dict[str, Floats]:
    return {name: concurrency(jobs) for name, jobs in run.get("jobs").items()}


def _sizes(run: Reproduction) -> dict[str, tuple[Floats, Floats]]:
    """The nodes and the seconds of the jobs of each trace."""
    return {name: (jobs.sizes.astype(np.float64), jobs.seconds) for name, jobs in run.get("jobs").items()}


def _live(run: Reproduction) -> dict[str, LiveDelta] | None:
    return live.measured(beds.find(run.live), run.size, run.say, run.policies) if run.live is not None else None


def _needs(item: str) -> tuple[str, ...]:
    """What a figure of 003 takes."""
    graphs = ("graphs",) if item in calciom_figures.WITH_GRAPHS else ()
    return ("scale", *graphs, *(("policies",) if item in calciom_figures.WITH_POLICIES else ()))


CALCIOM: Final = Paper(
    "calciom",
    "CALCioM: mitigating I/O interference in HPC systems through cross-application coordination",
    calciom.SCALES,
    {
        "scale": from_scale(),
        "graphs": lambda run: calciom.graphs(run.size, run.rows, run.policies),
        "pairs": from_trials(calciom.pairs),
        "crowds": from_trials(calciom.crowd_trials),
        "policies": from_policies,
        "jobs": _jobs,
        "sizes": _sizes,
        "traces": _traces,
        "some-traces": lambda run: run.get("traces") or None,
        "live": _live,
    },
    {
        "figure1": [Drawing("figure1", calciom_figures.figure_1, ("some-traces", "sizes"))],
        **{item: [Drawing(item, draw, _needs(item))] for item, draw in calciom_figures.FIGURES.items()},
        "live": [Drawing("live", live.live_figure, ("live",))],
    },
    (
        *(Claim(judge, ("scale", "graphs")) for judge in of_calciom.ON_GRAPHS[:3]),
        Claim(of_calciom.c4, ("scale", "graphs", "pairs")),
        *(Claim(judge, ("scale", "graphs")) for judge in of_calciom.ON_GRAPHS[3:]),
        Claim(of_calciom.c6, ("traces",)),
        Claim(live.c7),
        Claim(of_calciom.many, ("crowds",)),
        Claim(live.as_simulated, ("live",), ("live", CLAIMS)),
    ),
    {
        "figure1": "there are no job traces; expected --data DIR with swf/*.swf",
        "live": "there is no test bed; expected --live DIR, after penstock testbed up DIR",
    },
    (*calciom_figures.WITH_POLICIES, "live"),
)


def _buffer_rows(run: Reproduction) -> buffers.BufferRows:
    """The sets of applications, also with the user's policies."""
    sets = buffers.sets(run.size)
    shared = buffers.shared(sets, run.policies)
    return buffers.BufferRows(run.rows(sets), run.rows(shared))


BUFFERS: Final = Paper(
    "buffers",
    "Sizing and partitioning strategies for burst-buffers",
    buffers.SCALES,
    {"sets": _buffer_rows, "theorems": from_scale("theorems")},
    {
        "table2": [
            Drawing("table2", buffer_figures.figure_table_2, ("sets",)),
            Drawing("table2", buffer_figures.tables, ("sets",)),
        ],
        **{item: [Drawing(item, draw)] for item, draw in buffer_figures.EXAMPLES.items()},
        "figure8": [
            Drawing("figure8", buffer_figures.figure_8, ("sets",)),
            Drawing("figure8-capped", buffer_figures.figure_8, ("sets",), {"capped": True}),
        ],
    },
    (
        *(Claim(judge, ("sets",)) for judge in of_buffers.ON_SETS),
        *(Claim(judge, ("theorems",)) for judge in of_buffers.THEOREMS),
    ),
    comparing=("figure8",),
)
BEYOND: Final = Paper(
    "beyond",
    "Beyond the papers: how far from the best possible, and better policies",
    beyond.SCALES,
    {"runs": from_campaign(beyond.campaign), "values": lambda run: beyond.by_setting(run.get("runs"))},
    {
        "numbers": [Drawing("numbers", beyond.table, ("values",))],
        **{item: [Drawing(item, draw, ("values",))] for item, draw in beyond.FIGURES.items()},
    },
    [Claim(judge, ("values",)) for judge in (beyond.p1, beyond.p2, beyond.p3, beyond.p4)],
    comparing=("numbers", *beyond.FIGURES),
)

PAPERS: Final = {paper.name: paper for paper in (REVISITING, DASH, DISTRIBUTED, CALCIOM, BUFFERS, BEYOND)}


def reproduce(
    paper: str, out: Path | str, items: Sequence[str] = (), scale: str = "quick", **options: Any
) -> dict[str, list[Verdict]]:
    """Reproduce a paper, or all five.

    Args:
        paper: A name of `PAPERS`, or "all" for the five papers.
        out: The folder of the results; with "all", each paper has a folder of its name there, beside one table of claims.
        items: Items of the paper; all if empty. There must be none with "all".
        scale: smoke, quick or paper.
        options: The further fields of `penstock.papers.reproducing.Reproduction`: policies, dask, progress, data, live, say.

    Returns:
        The verdicts on the claims that the items ask for, by paper.

    Raises:
        InputError: A name is unknown, or data are missing.

    """
    if paper != ALL:
        return {paper: Reproduction(find_paper(paper), Path(out), scale, **options).run(items)}
    if items:
        raise InputError(f"item {items[0]}", "is an item of one paper; expected none with all")
    names = [name for name in PAPERS if name != BEYOND.name]
    found = {name: Reproduction(PAPERS[name], Path(out) / name, scale, **options).run() for name in names}
    with replacing(Path(out) / TABLE) as temporary:
        claims = ((f"{name}, {scale}", verdict.to_dict()) for name in names for verdict in found[name])
        temporary.write_text(table(claims), encoding="utf-8")
    return found


def find_paper(name: str) -> Paper:
    """The paper of that name; raises InputError with the known names if there is none."""
    if name not in PAPERS:
        raise InputError(f"paper {name}", f"unknown; {expected(name, [*PAPERS, ALL])}")
    return PAPERS[name]
