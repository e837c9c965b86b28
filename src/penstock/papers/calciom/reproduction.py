"""Run what paper 003 ran, simulated and where it must be live, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.papers.calciom import claims
from penstock.papers.calciom.crowds import many
from penstock.papers.calciom.figures import FIGURES, figure_1
from penstock.papers.calciom.scenarios import SCALES
from penstock.papers.calciom.six_calls import c7
from penstock.papers.calciom.test_bed import as_simulated, live_figure, measured
from penstock.papers.claims import Verdict
from penstock.papers.reproducing import Reproduction, chosen
from penstock.testbed import bed as beds
from penstock.theory.interference import concurrency, running_jobs

ITEMS: Final = ("figure1", *FIGURES, "live", "claims")
TITLE: Final = "CALCioM: mitigating I/O interference in HPC systems through cross-application coordination"
TRACES: Final = "swf"
"""The folder of job traces in a folder of data."""


def reproduce(
    out: Path,
    items: Sequence[str],
    scale: str,
    *,
    dask: str | None = None,
    progress: bool | None = None,
    data: Path | None = None,
    live: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Verdict]:
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    Job traces are ``swf/*.swf`` in the folder `data`, also compressed; without it there is no Figure 1. `live` is the
    directory of a test bed, on which live applications are run too; `say` is told what comes next there.
    """
    wanted = chosen(items, ITEMS)
    if dask is not None:
        raise InputError("dask", "pairs of applications take no time; expected no --dask with calciom")
    paths = traces_in(data)
    if "figure1" in items and not paths:
        raise InputError("item figure1", "there are no job traces; expected --data DIR with swf/*.swf")
    if "live" in items and live is None:
        raise InputError("item live", "there is no test bed; expected --live DIR, after penstock testbed up DIR")
    bed = beds.find(live) if live is not None else None
    reproduction = Reproduction(out, scale, None, progress)

    @cache
    def traces() -> dict[str, Floats]:
        return {path.name.partition(".")[0]: concurrency(running_jobs(str(path))) for path in paths}

    for item in wanted:
        if item in FIGURES:
            reproduction.save(item, FIGURES[item](SCALES[scale]), FIGURES[item])
        elif item == "figure1" and paths:
            reproduction.save(item, figure_1(traces()), figure_1)
    verdicts: list[Verdict] = []
    if bed is not None and "live" in wanted:
        found = measured(bed, SCALES[scale], say)
        reproduction.save("live", live_figure(found), live_figure)
        verdicts.append(as_simulated(found))
    if "claims" in wanted:
        judges = (claims.c1, claims.c2, claims.c3, claims.c4, claims.c5)
        verdicts = [*verdicts, *(judge(SCALES[scale]) for judge in judges), claims.c6(traces()), c7(), many(SCALES[scale])]
    reproduction.finish(TITLE, verdicts)
    return verdicts


def traces_in(data: Path | None) -> list[Path]:
    """The job traces in a folder of data, by name; none without a folder."""
    if data is None:
        return []
    found = sorted(path for path in (data / TRACES).glob("*.swf*") if path.name.endswith((".swf", ".swf.gz")))
    if not found:
        raise InputError(str(data), f"has no {TRACES}/*.swf; expected the folder of job traces")
    return found
