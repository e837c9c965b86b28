"""Run what paper 001 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from penstock.papers import trials
from penstock.papers.claims import Verdict
from penstock.papers.dash import batch_figures, chain_figures, experiments, theory_claims
from penstock.papers.dash.batch_claims import d9, d10, d11
from penstock.papers.dash.batch_figures import Rows
from penstock.papers.dash.chain_claims import d5, d6, d7, d8
from penstock.papers.dash.experiments import CAMPAIGNS
from penstock.papers.reproducing import Reproduction, Results, chosen

ITEMS: Final = (*chain_figures.FIGURES, *batch_figures.FIGURES, "figureV.3", "claims")
TITLE: Final = "Dash: data-aware scheduling at higher scale"
EXPERIMENTS: Final = {
    "packs": experiments.packs,
    "io-nodes": experiments.several_io_nodes,
    "mapping": experiments.mapping,
}


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    Campaigns of chapter II go to ``SCALE/NAME/``, batches of chapters III and IV, which always run on the local cores, to
    ``SCALE/NAME.jsonl``; both go on where they were if interrupted.
    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)

    def results(name: str) -> Results:
        return reproduction.results(CAMPAIGNS[name](scale))

    @cache
    def rows(name: str) -> Rows:
        experiment = EXPERIMENTS[name](experiments.SCALES[scale])
        return trials.run(experiment, out / scale, progress)

    for item in wanted:
        if item in chain_figures.FIGURES:
            campaign, draw = chain_figures.FIGURES[item]
            reproduction.save(item, draw(results(campaign)), draw)
        elif item in batch_figures.FIGURES:
            experiment, draw_batch = batch_figures.FIGURES[item]
            reproduction.save(item, draw_batch(rows(experiment)), draw_batch)
        elif item == "figureV.3":
            reproduction.save(item, theory_claims.figure_v_3(), theory_claims.figure_v_3)
    verdicts: list[Verdict] = []
    if "claims" in wanted:
        instances = theory_claims.INSTANCES[scale]
        verdicts = [judge(instances) for judge in theory_claims.THEOREMS]
        verdicts += [d5(results("general")), d6(results("general")), d7(results("machine-learning")), d8(results("jacobi"))]
        verdicts += [d9(rows("packs")), d10(rows("io-nodes")), d11(rows("mapping")), theory_claims.d12(instances)]
    reproduction.finish(TITLE, verdicts)
    return verdicts
