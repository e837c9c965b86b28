"""Run our policies beside those of paper 000, draw the fronts of minimum yield against efficiency, and judge P1 to P4."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.papers.beyond.claims import claims
from penstock.papers.beyond.experiments import SCALES, by_setting, campaign, table
from penstock.papers.beyond.figures import FIGURES
from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Verdict, chosen

ITEMS: Final = ("numbers", *FIGURES, CLAIMS)
TITLE: Final = "Beyond the papers: how far from the best possible, and better policies"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce items: our policies beside those of paper 000.

    Args:
        out: The folder of the results. ``numbers.md`` has the means of all policies on all settings.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: The address of a Dask scheduler, or slurm; None runs on the local cores.
        progress: Whether to show progress; None shows it on a terminal.

    Returns:
        The verdicts on the claims if they are asked for.

    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)
    values = by_setting(reproduction.results(campaign(SCALES[scale])))
    if "numbers" in wanted:
        reproduction.write("numbers.md", table(values).encode())
    drawings = {item: [Drawing(item, draw, lambda: (values,))] for item, draw in FIGURES.items()}
    return reproduction.run(TITLE, wanted, drawings, lambda: claims(values))
