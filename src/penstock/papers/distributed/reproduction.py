"""Run what paper 002 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from penstock.model import InputError
from penstock.papers import trials
from penstock.papers.distributed import claims, figures
from penstock.papers.distributed.experiments import (
    BUILT_IN,
    LABELS,
    MEASURED,
    SCALES,
    TARGETS,
    Sets,
    classes_of,
    pool,
    sets_of,
    small_sets,
)
from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Verdict, chosen

ITEMS: Final = ("figure1", "figure2", *(f"figure{number}" for number in range(5, 14)), "oracle", CLAIMS)
TITLE: Final = "Scheduling distributed I/O resources in HPC systems"
PROFILES: Final = Path("ionode-profiles") / "derived-mn4-189-profiles.csv"


def reproduce(
    out: Path,
    items: Sequence[str],
    scale: str,
    *,
    dask: str | None = None,
    progress: bool | None = None,
    data: Path | None = None,
) -> list[Verdict]:
    """Reproduce items of the paper.

    Args:
        out: The folder of the results. Sets of applications go to ``SCALE/CURVES.jsonl``. An interrupted run goes on where
            it was.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: Must be None, as sets of applications run on the local cores.
        progress: Whether to show progress; None shows it on a terminal.
        data: The folder of the measured profiles. Without it, figures and claims are those of the built-in curves alone.

    Returns:
        The verdicts on the claims if they are asked for.

    """
    wanted = chosen(items, ITEMS)
    if dask is not None:
        raise InputError("dask", "sets of applications run on the local cores; expected no --dask with distributed")
    profiles = profiles_in(data)
    reproduction = Reproduction(out, scale, None, progress)
    kinds = (MEASURED, BUILT_IN) if profiles else (BUILT_IN,)

    @cache
    def sets(curves: str) -> Sets:
        rows = trials.run(sets_of(curves, SCALES[scale], profiles), out / scale, progress)
        return Sets(LABELS[curves], tuple(rows.values()))

    @cache
    def small() -> list[dict[str, float]]:
        return list(trials.run(small_sets(SCALES[scale]), out / scale, progress).values())

    def judge() -> list[Verdict]:
        both = [sets(curves) for curves in kinds]
        judges = (claims.s1, claims.s2, claims.s3, claims.s4, claims.s5, claims.s6)
        verdicts = [claim(both) for claim in judges]
        return [*verdicts, claims.s7(both, sets(TARGETS)), claims.interval(both), claims.oracle(small())]

    def of_sets(curves: str) -> tuple[Sets]:
        return (sets(curves),)

    shown, path = kinds[0], str(profiles or "")
    drawings = {
        "figure1": [Drawing("figure1", figures.figure_1, lambda: (pool(shown, path), LABELS[shown]))],
        "figure2": [Drawing("figure2", figures.figure_2, lambda: (pool(TARGETS, ""), LABELS[TARGETS]))],
        "figure11": [Drawing("figure11", figures.figure_11, lambda: (classes_of(shown, path), LABELS[shown]))],
        "figure13": [Drawing("figure13", figures.figure_13, partial(of_sets, TARGETS))],
        "oracle": [Drawing("oracle", figures.oracle, lambda: (small(),))],
    }
    for item, draw in figures.OF_SETS.items():
        names = {curves: item if curves == shown else f"{item}-built-in" for curves in kinds}
        drawings[item] = [Drawing(name, draw, partial(of_sets, curves)) for curves, name in names.items()]
    return reproduction.run(TITLE, wanted, drawings, judge)


def profiles_in(data: Path | None) -> Path | None:
    """The file of measured profiles in a folder of data; None without a folder."""
    if data is None:
        return None
    path = data / PROFILES
    if not path.is_file():
        raise InputError(str(data), f"has no {PROFILES}; expected the folder of the measured profiles")
    return path
