"""Run what paper 003 ran, simulated and where it must be live, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.papers.calciom import claims
from penstock.papers.calciom.experiments import SCALES
from penstock.papers.calciom.figures import FIGURES, figure_1
from penstock.papers.calciom.live import as_simulated, c7, live_figure, measured
from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Verdict, chosen
from penstock.testbed import bed as beds
from penstock.testbed.live_pairs import LiveDelta
from penstock.theory.interference import concurrency, running_jobs

ITEMS: Final = ("figure1", *FIGURES, "live", CLAIMS)
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
    """Reproduce items of the paper.

    Args:
        out: The folder of the results.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: Must be None, as pairs of applications take no time.
        progress: Whether to show progress; None shows it on a terminal.
        data: A folder with job traces ``swf/*.swf``, also compressed. Without it there is no Figure 1.
        live: The directory of a test bed on which live applications are run, too.
        say: Is told what comes next on the test bed.

    Returns:
        The verdicts on the claims if they are asked for, after the one on the live runs if there are some.

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

    @cache
    def found() -> dict[str, LiveDelta]:
        assert bed is not None
        return measured(bed, SCALES[scale], say)

    def judge() -> list[Verdict]:
        verdicts = [as_simulated(found())] if bed is not None and "live" in wanted else []
        if CLAIMS in wanted:
            judges = (claims.c1, claims.c2, claims.c3, claims.c4, claims.c5)
            verdicts += [claim(SCALES[scale]) for claim in judges]
            verdicts += [claims.c6(traces()), c7(), claims.many(SCALES[scale])]
        return verdicts

    drawings = {item: [Drawing(item, draw, lambda: (SCALES[scale],))] for item, draw in FIGURES.items()}
    if paths:
        drawings["figure1"] = [Drawing("figure1", figure_1, lambda: (traces(),))]
    if bed is not None:
        drawings["live"] = [Drawing("live", live_figure, lambda: (found(),))]
    return reproduction.run(TITLE, wanted, drawings, judge, judged=("live", CLAIMS))


def traces_in(data: Path | None) -> list[Path]:
    """The job traces in a folder of data, by name; none without a folder."""
    if data is None:
        return []
    found = sorted(path for path in (data / TRACES).glob("*.swf*") if path.name.endswith((".swf", ".swf.gz")))
    if not found:
        raise InputError(str(data), f"has no {TRACES}/*.swf; expected the folder of job traces")
    return found
