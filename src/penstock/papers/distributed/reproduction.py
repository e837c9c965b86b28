"""Run what paper 002 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from penstock.model import InputError
from penstock.papers import trials
from penstock.papers.claims import Verdict
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
from penstock.papers.reproducing import Reproduction, chosen

ITEMS: Final = ("figure1", "figure2", *(f"figure{number}" for number in range(5, 14)), "oracle", "claims")
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

    @cache
    def small() -> list[dict[str, float]]:
        return list(trials.run(small_sets(SCALES[scale]), out / scale, progress).values())

    shown, path = kinds[0], str(profiles or "")
    alone: dict[str, tuple[Callable[..., Figure], Callable[[], tuple[Any, ...]]]] = {
        "figure1": (figures.figure_1, lambda: (pool(shown, path), LABELS[shown])),
        "figure2": (figures.figure_2, lambda: (pool(TARGETS, ""), LABELS[TARGETS])),
        "figure11": (figures.figure_11, lambda: (classes_of(shown, path), LABELS[shown])),
        "figure13": (figures.figure_13, lambda: (sets(TARGETS),)),
        "oracle": (figures.oracle, lambda: (small(),)),
    }
    for item in wanted:
        if item in alone:
            draw, of = alone[item]
            reproduction.save(item, draw(*of()), draw)
        elif item in figures.OF_SETS:
            for curves in kinds:
                name = item if curves == shown else f"{item}-built-in"
                reproduction.save(name, figures.OF_SETS[item](sets(curves)), figures.OF_SETS[item])
    verdicts: list[Verdict] = []
    if "claims" in wanted:
        both = [sets(curves) for curves in kinds]
        judges = (claims.s1, claims.s2, claims.s3, claims.s4, claims.s5, claims.s6)
        verdicts = [judge(both) for judge in judges]
        verdicts += [claims.s7(both, sets(TARGETS)), claims.interval(both), claims.oracle(small())]
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
