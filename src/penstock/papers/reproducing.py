"""What reproductions share: a folder of campaigns, figures and one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from penstock.campaign import Campaign, run
from penstock.model import InputError
from penstock.model.files import replacing
from penstock.papers.claims import Verdict
from penstock.papers.results import Results
from penstock.report.figures import encoded
from penstock.report.findings import Picture, write_page


@dataclass
class Reproduction:
    """A reproduction on its way: ``SCALE/NAME/`` in the folder `out` has each campaign, beside the figures and the page."""

    out: Path
    scale: str
    dask: str | None = None
    progress: bool | None = None
    pictures: list[Picture] = field(default_factory=list)
    _results: dict[str, Results] = field(default_factory=dict)
    _failed: int = 0

    def __post_init__(self) -> None:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(str(self.out), f"cannot be made: {error.strerror}; expected a folder for the results") from None

    def results(self, campaign: Campaign) -> Results:
        """The rows of the campaign, run once; an interrupted one goes on where it was."""
        if campaign.name not in self._results:
            folder = self.out / self.scale / campaign.name
            table = run(campaign, folder, dask=self.dask, progress=self.progress)
            found = Results.of(table)
            self._failed += table.num_rows - len(found)
            self._results[campaign.name] = found
        return self._results[campaign.name]

    def save(self, item: str, figure: Figure, drawn_by: Callable[..., Figure]) -> None:
        """Write the figure as PNG and SVG; its caption is what the function that drew it says of itself."""
        vector = encoded(figure, "svg")
        self.write(f"{item}.png", encoded(figure, "png"))
        self.write(f"{item}.svg", vector)
        self.pictures.append(Picture(item, " ".join((drawn_by.__doc__ or "").split()), vector))

    def write(self, name: str, content: bytes) -> None:
        """Write a file into the folder, whole or not at all."""
        with replacing(self.out / name) as temporary:
            temporary.write_bytes(content)

    def finish(self, title: str, verdicts: Sequence[Verdict]) -> None:
        """Write the page."""
        failures = f" {self._failed} runs failed and are left out; results.parquet has their errors." if self._failed else ""
        write_page(self.out / "index.html", title, f"Scale: {self.scale}.{failures}", self.pictures, verdicts)


def chosen(items: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The items in the order of the known ones, all if none is named."""
    for item in items:
        if item not in known:
            raise InputError(f"item {item}", f"unknown; expected one of {', '.join(known)}")
    return tuple(item for item in known if item in items) or tuple(known)
