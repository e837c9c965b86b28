"""Run our policies beside the paper's, draw the fronts, and judge what we say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.papers.beyond.campaigns import SCALES, campaign
from penstock.papers.beyond.claims import claims
from penstock.papers.beyond.figures import FIGURES
from penstock.papers.beyond.means import by_setting, table
from penstock.papers.claims import Verdict
from penstock.papers.reproducing import Reproduction, chosen

ITEMS: Final = ("numbers", *FIGURES, "claims")
TITLE: Final = "Beyond the papers: how far from the best possible, and better policies"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    ``numbers.md`` has the means of all policies on all settings.
    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)
    values = by_setting(reproduction.results(campaign(SCALES[scale])))
    if "numbers" in wanted:
        reproduction.write("numbers.md", table(values).encode())
    for item in wanted:
        if item in FIGURES:
            reproduction.save(item, FIGURES[item](values), FIGURES[item])
    verdicts = claims(values) if "claims" in wanted else []
    reproduction.finish(TITLE, verdicts)
    return verdicts
