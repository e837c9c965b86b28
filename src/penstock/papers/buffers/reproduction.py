"""Run what paper 004 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from penstock.model import InputError
from penstock.papers import trials
from penstock.papers.buffers import figures
from penstock.papers.buffers.claims import b1, b2, b3, b4, b5, b6
from penstock.papers.buffers.experiments import APEX, PRINTED, SCALES, BufferRows, sets
from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Verdict, chosen

TITLE: Final = "Sizing and partitioning strategies for burst-buffers"
EXAMPLES: Final[dict[str, Callable[[], Figure]]] = {
    "figure4": figures.figure_4,
    "figure5": figures.figure_5,
    "figure6": figures.figure_6,
    "figure7": figures.figure_7,
}
ITEMS: Final = ("table2", *EXAMPLES, "figure8", CLAIMS)


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce items of the paper.

    Args:
        out: The folder of the results. Sets of applications go to ``SCALE/sets.jsonl``; an interrupted run goes on where it
            was. ``table2.md`` has Table 2 with printed and with APEX walltimes, and with capped speeds.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: Must be None, as sets of applications run on the local cores.
        progress: Whether to show progress; None shows it on a terminal.

    Returns:
        The verdicts on the claims if they are asked for.

    """
    wanted = chosen(items, ITEMS)
    if dask is not None:
        raise InputError("dask", "sets of applications run on the local cores; expected no --dask with buffers")
    reproduction = Reproduction(out, scale, None, progress)

    @cache
    def rows() -> BufferRows:
        return BufferRows(trials.run(sets(SCALES[scale]), out / scale, progress))

    def judge() -> list[Verdict]:
        instances = SCALES[scale].theorems
        return [b1(rows()), b2(rows()), b3(rows()), b4(instances), b5(instances), b6(instances)]

    drawings = {item: [Drawing(item, draw)] for item, draw in EXAMPLES.items()}
    drawings["table2"] = [Drawing("table2", figures.figure_table_2, lambda: (rows(),))]
    drawings["figure8"] = [
        Drawing("figure8", figures.figure_8, lambda: (rows(),)),
        Drawing("figure8-capped", figures.figure_8, lambda: (rows(),), {"capped": True}),
    ]
    if "table2" in wanted:
        reproduction.write("table2.md", _tables(rows()).encode())
    return reproduction.run(TITLE, wanted, drawings, judge)


def _tables(rows: BufferRows) -> str:
    """All forms of Table 2."""
    parts = (
        ("Printed walltimes", figures.table_2(rows, PRINTED)),
        ("Printed walltimes, speeds capped at B", figures.table_2(rows, PRINTED, capped=True)),
        ("APEX walltimes", figures.table_2(rows, APEX)),
    )
    return "\n".join(f"## {title}\n\n{table}" for title, table in parts)
