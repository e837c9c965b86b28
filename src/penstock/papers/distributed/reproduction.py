"""Run what paper 002 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from penstock.model import InputError
from penstock.papers import trials
from penstock.papers.claims import Verdict
from penstock.papers.distributed import claims, figures
from penstock.papers.distributed.experiments import (
    BUILT_IN,
    LABELS,
    MEASURED,
    SCALES,
    STATISTIC,
    TARGETS,
    classes_of,
    pool,
    sets_of,
)
from penstock.papers.distributed.rows import Sets
from penstock.papers.reproducing import Reproduction, chosen

ITEMS: Final = ("figure1", "figure2", *list(figures.OF_SETS)[:-1], "figure11", "figure12", "figure13", "claims")
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
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    The measured profiles are in the folder `data`; without it, figures and claims are those of the built-in curves alone.
    Sets of applications run on the local cores and go to ``SCALE/CURVES.jsonl``; an interrupted run goes on where it was.
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

    for item in wanted:
        shown = kinds[0]
        if item == "figure1":
            curves = pool(shown, str(profiles or ""), STATISTIC)
            reproduction.save(item, figures.figure_1(curves, LABELS[shown]), figures.figure_1)
        elif item == "figure2":
            curves = pool(TARGETS, "", STATISTIC)
            reproduction.save(item, figures.figure_2(curves, LABELS[TARGETS]), figures.figure_2)
        elif item == "figure11":
            classes = classes_of(shown, str(profiles or ""), STATISTIC)
            reproduction.save(item, figures.figure_11(classes, LABELS[shown]), figures.figure_11)
        elif item == "figure13":
            reproduction.save(item, figures.figure_13(sets(TARGETS)), figures.figure_13)
        elif item in figures.OF_SETS:
            for curves_kind in kinds:
                name = item if curves_kind == shown else f"{item}-built-in"
                reproduction.save(name, figures.OF_SETS[item](sets(curves_kind)), figures.OF_SETS[item])
    verdicts: list[Verdict] = []
    if "claims" in wanted:
        both = [sets(curves) for curves in kinds]
        judges = (claims.s1, claims.s2, claims.s3, claims.s4, claims.s5, claims.s6)
        verdicts = [judge(both) for judge in judges]
        verdicts += [claims.s7(both, sets(TARGETS)), claims.interval(both)]
    reproduction.finish(TITLE, verdicts)
    return verdicts


def profiles_in(data: Path | None) -> Path | None:
    """The file of measured profiles in a folder of data; None without a folder."""
    if data is None:
        return None
    path = data / PROFILES
    if not path.is_file():
        raise InputError(str(data), f"has no {PROFILES}; expected the folder of the measured profiles")
    return path
