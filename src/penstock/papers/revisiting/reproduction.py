"""Run what paper 000 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.papers.claims import Verdict
from penstock.papers.reproducing import Reproduction, Results, chosen
from penstock.papers.revisiting import table2
from penstock.papers.revisiting.apex_claims import apex_claims
from penstock.papers.revisiting.campaigns import CAMPAIGNS, SCALES
from penstock.papers.revisiting.figures import FIGURES
from penstock.papers.revisiting.synthetic_claims import synthetic_claims

ITEMS: Final = ("table2", *FIGURES, "claims")
TITLE: Final = "Revisiting I/O bandwidth-sharing strategies for HPC applications"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    The folder gets each campaign in ``SCALE/NAME/``, which goes on where it was if interrupted, the figures as PNG and SVG,
    and ``index.html`` with all of it.
    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)

    def results(name: str) -> Results:
        return reproduction.results(CAMPAIGNS[name](SCALES[scale]))

    verdicts: list[Verdict] = []
    if "claims" in wanted:
        verdicts = synthetic_claims(results("pressure"), results("other-parameters")) + apex_claims(results("apex"))
    if "claims" in wanted or "table2" in wanted:
        sizes = table2.SIZES[scale]
        ratios = table2.measure(sizes)
        verdicts.append(table2.claim(ratios, sizes))
        if "table2" in wanted:
            reproduction.save("table2", table2.draw(ratios, sizes), table2.draw)
    for item in wanted:
        if item in FIGURES:
            campaign, draw = FIGURES[item]
            reproduction.save(item, draw(results(campaign)), draw)
    reproduction.finish(TITLE, verdicts)
    return verdicts
