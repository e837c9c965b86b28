"""Run what paper 001 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from penstock.papers import trials
from penstock.papers.dash import experiments
from penstock.papers.dash.claims import THEOREMS, d5, d6, d7, d8, d9, d10, d11, d12
from penstock.papers.dash.experiments import CAMPAIGNS
from penstock.papers.dash.figures import BATCH_FIGURES, CHAIN_FIGURES, Rows, figure_v_3
from penstock.papers.reproducing import CLAIMS, Drawing, Reproduction, Results, Verdict, chosen

ITEMS: Final = (*CHAIN_FIGURES, *BATCH_FIGURES, "figureV.3", CLAIMS)
TITLE: Final = "Dash: data-aware scheduling at higher scale"
EXPERIMENTS: Final = {
    "packs": experiments.packs,
    "io-nodes": experiments.several_io_nodes,
    "mapping": experiments.mapping,
}


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce items of the paper.

    Args:
        out: The folder of the results. Campaigns of chapter II go to ``SCALE/NAME/``; batches of chapters III and IV go to
            ``SCALE/NAME.jsonl``. An interrupted run goes on where it was.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: Where the campaigns run: the address of a Dask scheduler, or slurm; None runs them on the local cores. Batches
            always run there.
        progress: Whether to show progress; None shows it on a terminal.

    Returns:
        The verdicts on the claims if they are asked for.

    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)

    def results(name: str) -> Results:
        return reproduction.results(CAMPAIGNS[name](scale))

    @cache
    def rows(name: str) -> Rows:
        experiment = EXPERIMENTS[name](experiments.SCALES[scale])
        return trials.run(experiment, out / scale, progress)

    def judge() -> list[Verdict]:
        instances = experiments.THEOREM_INSTANCES[scale]
        verdicts = [theorem(instances) for theorem in THEOREMS]
        verdicts += [d5(results("general")), d6(results("general")), d7(results("machine-learning")), d8(results("jacobi"))]
        return [*verdicts, d9(rows("packs")), d10(rows("io-nodes")), d11(rows("mapping")), d12(instances)]

    def of_chains(campaign: str) -> tuple[Results]:
        return (results(campaign),)

    def of_batches(experiment: str) -> tuple[Rows]:
        return (rows(experiment),)

    drawings = {item: [Drawing(item, draw, partial(of_chains, name))] for item, (name, draw) in CHAIN_FIGURES.items()}
    drawings |= {item: [Drawing(item, draw, partial(of_batches, name))] for item, (name, draw) in BATCH_FIGURES.items()}
    drawings["figureV.3"] = [Drawing("figureV.3", figure_v_3)]
    return reproduction.run(TITLE, wanted, drawings, judge)
