"""The runner of all papers: it runs campaigns once, draws the figures asked for, has the claims judged and writes one page.

A paper is data: items by name, for each item the figures to draw and what they are drawn from, and a function that judges
its claims. `Results` answers questions about the rows of a campaign.

A claim is a few checks. Each states the figure it looks at and its tolerance. A claim holds if all its checks do; one that
does not hold is reported as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from penstock.campaign import Campaign, run
from penstock.model import InputError
from penstock.model.errors import expected
from penstock.model.files import replacing
from penstock.numeric.arrays import Floats
from penstock.report.figures import Picture, encoded, write_page


@dataclass(frozen=True)
class ClaimCheck:
    """One condition of a claim: what is expected, with its tolerance; what was measured; and whether it holds."""

    expected: str
    measured: str
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON has it."""
        return {"expected": self.expected, "measured": self.measured, "holds": self.holds}


@dataclass(frozen=True)
class Verdict:
    """A claim, by its id, its place in the paper and what it says, with its checks."""

    id: str
    place: str
    says: str
    checks: tuple[ClaimCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether all checks hold."""
        return all(check.holds for check in self.checks)

    @property
    def word(self) -> str:
        """The outcome in a word."""
        if self.holds:
            return "holds"
        return "holds in part" if any(check.holds for check in self.checks) else "does not hold"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return {
            "id": self.id,
            "place": self.place,
            "says": self.says,
            "verdict": self.word,
            "checks": [check.to_dict() for check in self.checks],
        }


def listed(names: Sequence[str], values: Sequence[float], form: str = ".4f") -> str:
    """Named figures in one line: "fcfs 0.3700, set-10 0.6700".

    `names` and `values` belong together; `form` is the format of a value.
    """
    return ", ".join(f"{name} {value:{form}}" for name, value in zip(names, values, strict=True))


CLAIMS: Final = "claims"
"""The item that stands for all claims of a paper."""


@dataclass(frozen=True)
class Results:
    """The rows of a campaign without errors; `parameters` holds the parsed parameters of each."""

    table: pa.Table
    parameters: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, table: pa.Table) -> Results:
        """The rows of a campaign's `table` that have no error."""
        table = table.filter(table.column("error").is_null())
        parsed: dict[str, dict[str, Any]] = {}
        texts = table.column("parameters").to_pylist()
        return cls(table, tuple(parsed.setdefault(text, json.loads(text)) for text in texts))

    def where(self, policy: str | None = None, **parameters: Any) -> Results:
        """The rows with these `parameters`, of a `policy` or of all (None), in the order of seed and window."""
        keep = np.array(
            [all(row.get(key) == value for key, value in parameters.items()) for row in self.parameters], dtype=bool
        )
        if policy is not None:
            keep &= np.array(self.table.column("policy").to_pylist(), dtype=object) == policy
        rows = np.flatnonzero(keep)
        order = np.lexsort((self.integers("window")[rows], self.integers("seed")[rows]))
        return self._rows(rows[order].tolist())

    def beside(self, other: Results) -> tuple[Results, Results]:
        """The rows of both for the workloads that are in both, in the same order.

        `other` are rows of the same campaign. Rows with errors are missing.
        """
        mine, others = self._workloads(), other._workloads()
        common = [workload for workload in mine if workload in others]
        return self._rows([mine[workload] for workload in common]), other._rows([others[workload] for workload in common])

    def _workloads(self) -> dict[tuple[str, int, int], int]:
        columns = (self.table.column(name).to_pylist() for name in ("parameters", "seed", "window"))
        return {workload: row for row, workload in enumerate(zip(*columns, strict=True))}

    def _rows(self, chosen: Sequence[int]) -> Results:
        return Results(self.table.take(pa.array(chosen, pa.int64())), tuple(self.parameters[row] for row in chosen))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> Floats:
        """The column `name` as numbers."""
        return np.asarray(self.table.column(name).to_numpy(), dtype=np.float64)

    def integers(self, name: str) -> np.ndarray:
        """The column `name` as whole numbers."""
        return np.asarray(self.table.column(name).to_numpy())

    def mean(self, name: str) -> float:
        """The mean of the column `name`; not a number without rows."""
        return float(self.column(name).mean()) if len(self) else float("nan")

    def lists(self, name: str) -> Iterator[Floats]:
        """The column `name` of lists, one array per row."""
        for values in self.table.column(name):
            yield np.array(values.as_py())


@dataclass(frozen=True)
class Drawing:
    """A figure to draw.

    Attributes:
        name: The name of its files.
        draw: The function that draws it; its docstring is the caption.
        arguments: Computes what it is drawn from, when that is needed.
        options: Further arguments by name.

    """

    name: str
    draw: Callable[..., Figure]
    arguments: Callable[[], tuple[Any, ...]] = tuple
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Reproduction:
    """A reproduction in the folder `out`: each campaign in ``SCALE/NAME/``, the figures, and the page."""

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

    def run(
        self,
        title: str,
        wanted: Sequence[str],
        drawings: Mapping[str, Sequence[Drawing]],
        judge: Callable[[], list[Verdict]],
        *,
        judged: Sequence[str] = (CLAIMS,),
    ) -> list[Verdict]:
        """Draw the figures of the wanted items, judge the claims if an item asks for it, and write the page.

        Args:
            title: The title of the page.
            wanted: Names of items; "claims" stands for the claims.
            drawings: The figures of each item. An item without figures makes none.
            judge: Judges the claims of the paper.
            judged: The items that ask for verdicts.

        Returns:
            The verdicts; none if no item asks for them.

        """
        for item in wanted:
            for drawing in drawings.get(item, ()):
                self.save(drawing.name, drawing.draw(*drawing.arguments(), **drawing.options), drawing.draw)
        verdicts = judge() if set(judged) & set(wanted) else []
        self.finish(title, verdicts)
        return verdicts

    def results(self, campaign: Campaign) -> Results:
        """The rows of the `campaign` that have no error. It is run once; an interrupted one goes on where it was."""
        if campaign.name not in self._results:
            folder = self.out / self.scale / campaign.name
            table = run(campaign, folder, dask=self.dask, progress=self.progress)
            found = Results.of(table)
            self._failed += table.num_rows - len(found)
            self._results[campaign.name] = found
        return self._results[campaign.name]

    def save(self, item: str, figure: Figure, drawn_by: Callable[..., Figure]) -> None:
        """Write a figure as PNG and SVG, and keep it for the page.

        Args:
            item: The name of the files.
            figure: The figure.
            drawn_by: The function that drew it. The first paragraph of its docstring is the caption.

        Raises:
            InputError: A file cannot be written.

        """
        vector = encoded(figure, "svg")
        caption = (drawn_by.__doc__ or "").partition("\n\n")[0]
        self.write(f"{item}.png", encoded(figure, "png"))
        self.write(f"{item}.svg", vector)
        self.pictures.append(Picture(item, " ".join(caption.split()), vector))

    def write(self, name: str, content: bytes) -> None:
        """Write the `content` into the file `name` of the folder, complete or not at all; InputError if that fails."""
        with replacing(self.out / name) as temporary:
            temporary.write_bytes(content)

    def finish(self, title: str, verdicts: Sequence[Verdict]) -> None:
        """Write the page with this `title`: the figures so far and the `verdicts`."""
        failures = f" {self._failed} runs failed and are left out; results.parquet has their errors." if self._failed else ""
        write_page(self.out / "index.html", title, f"Scale: {self.scale}.{failures}", self.pictures, verdicts)


def chosen(items: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The `items` in the order of the `known` ones, all if none is named.

    Raises `InputError` for an item that is not known.
    """
    for item in items:
        if item not in known:
            raise InputError(f"item {item}", f"unknown; {expected(item, known)}")
    return tuple(item for item in known if item in items) or tuple(known)
