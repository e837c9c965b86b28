"""Run what paper 000 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Results, Verdict, chosen
from penstock.papers.revisiting import experiments
from penstock.papers.revisiting.claims import apex_claims, r12, synthetic_claims
from penstock.papers.revisiting.experiments import CAMPAIGNS, SCALES, RatioEntry, competitive_ratios
from penstock.papers.revisiting.figures import FIGURES, figure_table_2

ITEMS: Final = ("table2", *FIGURES, CLAIMS)
TITLE: Final = "Revisiting I/O bandwidth-sharing strategies for HPC applications"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce items of the paper.

    Args:
        out: The folder of the results. Each campaign goes to ``SCALE/NAME/``, figures are PNG and SVG files, and
            ``index.html`` shows all. An interrupted campaign goes on where it was.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: The address of a Dask scheduler, or slurm; None runs on the local cores.
        progress: Whether to show progress; None shows it on a terminal.

    Returns:
        The verdicts on the claims if they are asked for; with `table2` also the verdict on R12.

    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)
    sizes = experiments.SIZES[scale]

    def results(name: str) -> Results:
        return reproduction.results(CAMPAIGNS[name](SCALES[scale]))

    @cache
    def ratios() -> dict[RatioEntry, list[float]]:
        return competitive_ratios(sizes)

    def judge() -> list[Verdict]:
        verdicts: list[Verdict] = []
        if CLAIMS in wanted:
            verdicts = synthetic_claims(results("pressure"), results("other-parameters")) + apex_claims(results("apex"))
        return [*verdicts, r12(ratios(), sizes)]

    def arguments(campaign: str) -> tuple[Results]:
        return (results(campaign),)

    drawings = {"table2": [Drawing("table2", figure_table_2, lambda: (ratios(), sizes))]}
    drawings |= {item: [Drawing(item, draw, partial(arguments, campaign))] for item, (campaign, draw) in FIGURES.items()}
    return reproduction.run(TITLE, wanted, drawings, judge, judged=("table2", CLAIMS))
