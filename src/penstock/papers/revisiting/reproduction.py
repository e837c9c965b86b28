"""Run what paper 000 ran, draw its figures, judge its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from penstock.campaign import run
from penstock.model import InputError
from penstock.model.files import replacing
from penstock.papers.claims import Verdict
from penstock.papers.drawing import encoded
from penstock.papers.results import Results
from penstock.papers.revisiting.apex_claims import apex_claims
from penstock.papers.revisiting.campaigns import CAMPAIGNS, SCALES
from penstock.papers.revisiting.figures import FIGURES
from penstock.papers.revisiting.synthetic_claims import synthetic_claims
from penstock.report.findings import Picture, write_page

ITEMS: Final = (*FIGURES, "claims")
TITLE: Final = "Revisiting I/O bandwidth-sharing strategies for HPC applications"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce the items (all if none is named) into the folder `out`; returns the verdicts on the claims if asked for.

    The folder gets each campaign in ``SCALE/NAME/``, which goes on where it was if interrupted, the figures as PNG and SVG,
    and ``index.html`` with all of it.
    """
    chosen = _checked(items)

    failed = 0

    @cache
    def results(name: str) -> Results:
        nonlocal failed
        table = run(CAMPAIGNS[name](SCALES[scale]), out / scale / name, dask=dask, progress=progress)
        found = Results.of(table)
        failed += table.num_rows - len(found)
        return found

    verdicts: list[Verdict] = []
    if "claims" in chosen:
        verdicts = synthetic_claims(results("pressure"), results("other-parameters")) + apex_claims(results("apex"))
    pictures = [_draw(out, item, results) for item in chosen if item != "claims"]
    subtitle = f"Scale: {scale}." + (
        f" {failed} runs failed and are left out; results.parquet has their errors." if failed else ""
    )
    write_page(out / "index.html", TITLE, subtitle, pictures, verdicts)
    return verdicts


def _checked(items: Sequence[str]) -> tuple[str, ...]:
    """The items in the order of the paper, all if none is named."""
    for item in items:
        if item not in ITEMS:
            raise InputError(f"item {item}", f"unknown; expected one of {', '.join(ITEMS)}")
    return tuple(item for item in ITEMS if item in items) or ITEMS


def _draw(out: Path, item: str, results: Callable[[str], Results]) -> Picture:
    """Draw the figure into its files."""
    campaign, draw = FIGURES[item]
    figure = draw(results(campaign))
    vector = encoded(figure, "svg")
    for suffix, content in ((".png", encoded(figure, "png")), (".svg", vector)):
        with replacing(out / f"{item}{suffix}") as temporary:
            temporary.write_bytes(content)
    return Picture(item, (draw.__doc__ or "").strip(), vector)
