"""The runner of all papers: it gets data once, draws the figures asked for, has the claims judged and writes one page.

A paper is data (`Paper`): its scales, where its data come from (campaigns, experiments, files), its items with the
figures to draw, and its claims. `Reproduction` runs one. `Results` answers questions about the rows of a campaign.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from penstock.campaign import Campaign, run
from penstock.campaign.cells import with_policies
from penstock.model import InputError
from penstock.model.errors import expected
from penstock.model.files import replacing
from penstock.numeric.arrays import Floats
from penstock.papers import trials
from penstock.papers.drawing import mark_blank
from penstock.papers.verdicts import Estimate, Verdict, table
from penstock.report.figures import Picture, encoded, write_page

CLAIMS: Final = "claims"
"""The item that stands for all claims of a paper."""
TABLE: Final = "claims.md"
"""The claims in one table."""
STATE: Final = "page.json"
"""What the page shows, so that a later run can add to it."""
T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """The rows of a campaign without errors; `parameters` holds the parsed parameters of each, `own` a user's policies."""

    table: pa.Table
    parameters: tuple[dict[str, Any], ...]
    own: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pa.Table, own: Sequence[str] = ()) -> Results:
        """The rows of a campaign's `table` that have no error; `own` are the names of policies that a user added."""
        table = table.filter(table.column("error").is_null())
        parsed: dict[str, dict[str, Any]] = {}
        texts = table.column("parameters").to_pylist()
        return cls(table, tuple(parsed.setdefault(text, json.loads(text)) for text in texts), tuple(own))

    def compared(self, policies: Sequence[str]) -> tuple[str, ...]:
        """The `policies` of a figure, with those that the user added."""
        return (*policies, *(name for name in self.own if name not in policies))

    def where(self, policy: str | None = None, **parameters: Any) -> Results:
        """The rows with these `parameters`, of a `policy` or of all (None), in the order of seed and window."""
        keep = np.array(
            [all(row.get(key) == value for key, value in parameters.items()) for row in self.parameters], dtype=bool
        )
        if policy is not None:
            keep &= np.array(self.table.column("policy").to_pylist(), dtype=object) == policy
        return self.chosen(keep)

    def chosen(self, keep: np.ndarray) -> Results:
        """The rows for which the mask `keep` is true, in the order of seed and window."""
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
        parameters = tuple(self.parameters[row] for row in chosen)
        return Results(self.table.take(pa.array(chosen, pa.int64())), parameters, self.own)

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

    def estimate(self, values: Floats | str) -> Estimate:
        """The mean over seeds, with its standard error, of the mean over the rows of a seed.

        The windows of a schedule, and the same schedule on several machines, are not independent of each other. `values` has
        one for each row, or is the name of a column; what is not a number is left out.
        """
        numbers = self.column(values) if isinstance(values, str) else values
        keep = ~np.isnan(numbers)
        seeds, numbers = self.integers("seed")[keep], numbers[keep]
        return Estimate.of([float(numbers[seeds == seed].mean()) for seed in np.unique(seeds)])

    def lists(self, name: str) -> Iterator[Floats]:
        """The column `name` of lists, one array per row."""
        for values in self.table.column(name):
            yield np.array(values.as_py())


@dataclass(frozen=True)
class Drawing:
    """A figure to draw, or a text to write.

    Attributes:
        name: The name of its files.
        draw: The function that draws it; the first paragraph of its docstring is the caption. A function that returns a
            text writes NAME.md instead.
        needs: The data it takes, as named in `Paper.sources`. Without one of them (None) there is no figure.
        options: Further arguments by name.

    """

    name: str
    draw: Callable[..., Figure | str]
    needs: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A claim to judge.

    Attributes:
        judge: Judges it.
        needs: The data it takes, as named in `Paper.sources`. Without one of them (None) the claim is left out.
        items: The items that ask for it.

    """

    judge: Callable[..., Verdict]
    needs: tuple[str, ...] = ()
    items: tuple[str, ...] = (CLAIMS,)


@dataclass(frozen=True)
class Paper:
    """A paper as data.

    Attributes:
        name: As the command names it.
        title: The title of its page.
        scales: How much is run, by the name of the scale.
        sources: Data by name, and how a `Reproduction` gets them. None means that there are none.
        figures: The figures of each item, in the order of the paper.
        claims: What is judged.
        missing: For an item that may lack its data: what to give.
        comparing: The items in which policies are compared, so that a user's can be added.

    """

    name: str
    title: str
    scales: Mapping[str, Any]
    sources: Mapping[str, Callable[[Reproduction], Any]]
    figures: Mapping[str, Sequence[Drawing]]
    claims: Sequence[Claim]
    missing: Mapping[str, str] = field(default_factory=dict)
    comparing: Sequence[str] = ()

    @property
    def items(self) -> tuple[str, ...]:
        """What can be asked for: the figures, and the claims."""
        return (*self.figures, CLAIMS)

    def chosen(self, items: Sequence[str]) -> tuple[str, ...]:
        """The `items` in the order of the paper, all if none is named; raises `InputError` for one that is not known."""
        for item in items:
            if item not in self.items:
                raise InputError(f"item {item}", f"unknown; {expected(item, self.items)}")
        return tuple(item for item in self.items if item in items) or self.items


def from_campaign(make: Callable[[Any], Campaign]) -> Callable[[Reproduction], Results]:
    """A source: the results of the campaign that `make` makes for a scale."""
    return lambda reproduction: reproduction.results(make(reproduction.size))


def from_trials(
    make: Callable[[Any], trials.Experiment[Any]], form: Callable[[Any], T] = lambda rows: rows
) -> Callable[[Reproduction], T]:
    """A source: the rows by trial of the experiment that `make` makes for a scale, in the given `form`."""
    return lambda reproduction: form(reproduction.rows(make(reproduction.size)))


def from_policies(reproduction: Reproduction) -> tuple[str, ...]:
    """A source: the user's policies in a `reproduction`."""
    return tuple(reproduction.policies)


def from_scale(field_name: str | None = None) -> Callable[[Reproduction], Any]:
    """A source: the scale itself, or its field `field_name`."""
    return lambda reproduction: reproduction.size if field_name is None else getattr(reproduction.size, field_name)


@dataclass
class Reproduction:
    """A reproduction of a `paper` in the folder `out`: data in ``SCALE/``, the figures, and the page.

    Attributes:
        paper: What is reproduced.
        out: The folder of the results. Each campaign goes to ``SCALE/NAME/``, each experiment to ``SCALE/NAME.jsonl``.
            What is there is not computed again.
        scale: smoke, quick or paper.
        policies: Policies that are added where policies are compared, by name or as ``./file.py:function``.
        dask: Where campaigns and experiments run: the address of a Dask scheduler, or slurm; None runs them on local cores.
        progress: Whether to show progress; None shows it on a terminal.
        data: The folder of measured data.
        live: The directory of a test bed on which live applications are run, too.
        say: Is told what comes next on the test bed.

    """

    paper: Paper
    out: Path
    scale: str
    policies: Sequence[str] = ()
    dask: str | None = None
    progress: bool | None = None
    data: Path | None = None
    live: Path | None = None
    say: Callable[[str], None] = lambda _: None
    _found: dict[str, Any] = field(default_factory=dict)
    _failed: int = 0

    @property
    def size(self) -> Any:
        """The scale as the paper defines it."""
        return self.paper.scales[self.scale]

    def run(self, items: Sequence[str] = ()) -> list[Verdict]:
        """Draw the figures of the `items`, judge the claims they ask for, and add both to the page.

        Returns:
            The verdicts; none if no item asks for them.

        Raises:
            InputError: An item is unknown, or lacks the data it needs; there are policies, but no item compares any; a file
                cannot be written.

        """
        wanted = self.paper.chosen(items)
        if self.policies and not set(wanted) & set(self.paper.comparing):
            compared = ", ".join(self.paper.comparing) or "none"
            raise InputError(f"--policy {self.policies[0]}", f"no item compares policies; expected one of {compared}")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(str(self.out), f"cannot be made: {error.strerror}; expected a folder for the results") from None
        pictures = [picture for item in wanted for picture in self._draw(item, asked=item in items)]
        verdicts = [
            claim.judge(*arguments)
            for claim in self.paper.claims
            if set(claim.items) & set(wanted) and (arguments := self._arguments(claim.needs)) is not None
        ]
        self._write_page(pictures, verdicts)
        return verdicts

    def get(self, name: str) -> Any:
        """The data of that name, got once; None if there are none."""
        if name not in self._found:
            self._found[name] = self.paper.sources[name](self)
        return self._found[name]

    def results(self, campaign: Campaign) -> Results:
        """The rows of the `campaign`, with the user's policies, that have no error. An interrupted one goes on."""
        own = [name for name in self.policies if name not in campaign.policies]
        parts = [campaign, *([with_policies(campaign, own)] if own else [])]
        folder = self.out / self.scale
        table = pa.concat_tables([run(part, folder / part.name, dask=self.dask, progress=self.progress) for part in parts])
        found = Results.of(table, self.policies)
        self._failed += table.num_rows - len(found)
        return found

    def rows(self, experiment: trials.Experiment[T]) -> dict[T, dict[str, Any]]:
        """The row of each trial of the `experiment`. An interrupted one goes on."""
        return trials.run(experiment, self.out / self.scale, self.progress, self.dask)

    def write(self, name: str, content: bytes) -> None:
        """Write the `content` into the file `name` of the folder, complete or not at all; InputError if that fails."""
        with replacing(self.out / name) as temporary:
            temporary.write_bytes(content)

    def _arguments(self, needs: Sequence[str]) -> list[Any] | None:
        found = [self.get(name) for name in needs]
        return None if any(one is None for one in found) else found

    def _draw(self, item: str, *, asked: bool) -> Iterator[Picture]:
        drawn = False
        for drawing in self.paper.figures.get(item, ()):
            arguments = self._arguments(drawing.needs)
            if arguments is None:
                continue
            drawn = True
            made = drawing.draw(*arguments, **drawing.options)
            if isinstance(made, str):
                self.write(f"{drawing.name}.md", made.encode())
            else:
                yield self._save(drawing, made)
        if asked and not drawn and item != CLAIMS:
            raise InputError(f"item {item}", self.paper.missing[item])

    def _save(self, drawing: Drawing, figure: Figure) -> Picture:
        mark_blank(figure, f"no data at scale {self.scale}")
        vector = encoded(figure, "svg")
        caption = " ".join((drawing.draw.__doc__ or "").partition("\n\n")[0].split())
        self.write(f"{drawing.name}.png", encoded(figure, "png"))
        self.write(f"{drawing.name}.svg", vector)
        return Picture(drawing.name, caption, vector)

    def _write_page(self, pictures: Sequence[Picture], verdicts: Sequence[Verdict]) -> None:
        """Write the page: what an earlier run in this folder left, with what this one made in its place."""
        shown = self._earlier()
        shown["figures"] |= {picture.name: {"caption": picture.caption, "scale": self.scale} for picture in pictures}
        shown["claims"] |= {verdict.id: verdict.to_dict() | {"scale": self.scale} for verdict in verdicts}
        self.write(STATE, json.dumps(shown, indent=1, ensure_ascii=False).encode())
        order = [drawing.name for drawings in self.paper.figures.values() for drawing in drawings]
        names = sorted(shown["figures"], key=lambda name: order.index(name) if name in order else len(order))
        everything = [
            Picture(name, self._with_scale(shown["figures"][name]), (self.out / f"{name}.svg").read_bytes())
            for name in names
            if (self.out / f"{name}.svg").exists()
        ]
        failures = f" {self._failed} runs failed and are left out; results.parquet has their errors." if self._failed else ""
        claims = list(shown["claims"].values())
        if claims:
            self.write(TABLE, table((f"{self.paper.name}, {claim['scale']}", claim) for claim in claims).encode())
        write_page(self.out / "index.html", self.paper.title, f"Scale: {self.scale}.{failures}", everything, claims)

    def _with_scale(self, figure: Mapping[str, str]) -> str:
        other = f" Scale: {figure['scale']}." if figure["scale"] != self.scale else ""
        return figure["caption"] + other

    def _earlier(self) -> dict[str, dict[str, Any]]:
        path = self.out / STATE
        try:
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            return {"figures": dict(found.get("figures", {})), "claims": dict(found.get("claims", {}))}
        except (OSError, ValueError, AttributeError) as error:
            message = f"cannot be read: {error}; expected what an earlier run wrote, or no such file"
            raise InputError(str(path), message) from None
