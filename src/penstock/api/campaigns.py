"""`penstock.campaign`: a grid of workloads, seeds and policies, and summaries of its rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from penstock.api.results import Row, Tables, require_pandas
from penstock.campaign.campaign_files import from_document, read
from penstock.campaign.cells import Campaign
from penstock.campaign.rows import OBJECTIVES, by_policy, default_by, failures, parameters_of, placements, summarise
from penstock.campaign.workers import run
from penstock.model import InputError
from penstock.model.files import replacing
from penstock.planning.placement.choice import ChosenPlacement
from penstock.planning.placement.heuristics import heuristic_from_name

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class SummaryResult(Tables):
    """Means and deviations of the rows of a campaign; one table, ``summary``."""

    name: str
    """Of the campaign."""
    by: tuple[str, ...]
    """What the rows are grouped by."""
    measures: tuple[str, ...]
    """What is summarised: each has columns ending in ``_mean``, ``_std``, ``_se`` and ``_count``."""
    rows: tuple[Row, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The summary as ``penstock campaign --summary-by … --json`` prints it."""
        return {"by": list(self.by), "measures": list(self.measures), "rows": [dict(row) for row in self.rows]}

    def tables(self) -> dict[str, list[Row]]:
        """One row for each combination of what it is grouped by."""
        return {"summary": list(self.rows)}

    def to_csv(self) -> str:
        """The table as comma-separated values with a line of headings; a field is empty where a value is not known."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to the file `path` as comma-separated values. The file appears complete or not at all."""
        with replacing(Path(path)) as temporary:
            temporary.write_text(self.to_csv(), encoding="utf-8")

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw each measure with its standard errors into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.plot import write_summary

        write_summary(Path(path), self.rows, self.by, self.measures, self.name)


@dataclass(frozen=True)
class CampaignResult(Tables):
    """All rows of a campaign.

    Tables: ``rows`` (every row, each parameter as a column such as ``parameters.pressure``), ``policies`` (one row per
    policy) and ``failures``.
    """

    _shown: ClassVar[str] = "policies"

    campaign: Campaign = field(repr=False)
    folder: Path
    table: pa.Table = field(repr=False)
    """The rows as a `pyarrow.Table`; docs/campaigns.md explains the columns."""

    @property
    def results(self) -> Path:
        """The Parquet file with all rows."""
        return self.folder / "results.parquet"

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows that failed, with the error and the command that reproduces it."""
        return failures(self.table)

    @property
    def placements(self) -> list[tuple[ChosenPlacement, int]]:
        """Where the I/O resources of the applications come from, each with its number of rows."""
        counts = placements(self.table)
        asked = any(cell.placing for cell in self.campaign.cells)
        found = {name: None if name == "file" else heuristic_from_name(name) for name in counts}
        return [
            (ChosenPlacement((), found[name], default=bool(found[name]) and not asked), rows)
            for name, rows in counts.items()
        ]

    def by_policy(self) -> list[dict[str, Any]]:
        """Rows, failures and the means of the objectives, for each policy."""
        return by_policy(self.table)

    def summary(self, by: str | Sequence[str] | None = None, measures: str | Sequence[str] = OBJECTIVES) -> SummaryResult:
        """Mean, standard deviation, standard error and count for each combination of some parameters.

        Args:
            by: parameters of the campaign, ``policy``, ``information``, ``seed``, ``window``, ``kind``, ``placement`` or
                ``applications``, as a list or as a text with commas. By default the parameters that have more than one
                value, and the policy.
            measures: columns of the rows, likewise. By default min-yield, efficiency and utilization.

        Raises:
            InputError: for an unknown name.
        """
        measured = _names(measures)
        keys = _names(by) if by is not None else default_by(self.table)
        return SummaryResult(self.campaign.name, tuple(keys), tuple(measured), tuple(summarise(self.table, keys, measured)))

    def to_dict(self) -> dict[str, Any]:
        """The campaign as ``penstock campaign --json`` prints it."""
        return {
            "campaign": self.campaign.name,
            "cells": len(self.campaign.cells),
            "rows": len(self.table),
            "results": str(self.results),
            "policies": self.by_policy(),
            "placements": [{**placed.to_dict(), "rows": rows} for placed, rows in self.placements],
            "failures": self.failures,
        }

    def tables(self) -> dict[str, list[Row]]:
        """The tables by name: all rows, one row per policy, and the rows that failed."""
        rows: list[Row] = [
            {**row, **{f"parameters.{name}": value for name, value in parameters.items()}}
            for row, parameters in zip(self.table.to_pylist(), parameters_of(self.table), strict=True)
        ]
        return {"rows": rows, "policies": list(self.by_policy()), "failures": list(self.failures)}

    def to_pandas(self, table: str | None = None) -> DataFrame:
        """A table as a data frame; lists in the rows are arrays. `table` is its name, by default that of all rows."""
        if table not in (None, "rows"):
            return super().to_pandas(table)
        require_pandas()
        frame = self.table.to_pandas()
        parameters = parameters_of(self.table)
        for name in dict.fromkeys(name for one in parameters for name in one):
            frame[f"parameters.{name}"] = [one.get(name) for one in parameters]
        return frame


def campaign(
    described: Campaign | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    dask: str | None = None,
    workers: int | None = None,
    allocation: str | None = None,
    placement: str | None = None,
    retry: bool = False,
    progress: bool | None = None,
) -> CampaignResult:
    """Run a campaign, or what is left of it, and collect its rows.

    Args:
        described: the campaign file; a mapping with the keys of such a file, whose ``policies`` may be functions and
            `Policy` objects, also of a notebook; or a `penstock.campaign.Campaign`.
        out: the folder for the rows. Rows that it holds are not computed again.
        dask: the scheduler of a Dask cluster, tcp://HOST:PORT, or Slurm jobs: ``slurm:jobs=8``.
        workers: how many processes of this machine; by default one per core.
        allocation: on I/O resources, how many for each application, in place of what a file or mapping says.
        placement: likewise, which ones.
        retry: whether cells that have failed are computed again.
        progress: whether a bar is shown on standard error; by default on a terminal only.

    Returns:
        The rows, with summaries.

    Raises:
        InputError: for a wrong description and for a folder that holds something else.
        PenstockError: for a cluster that cannot be reached or runs another version.

    Example:
        >>> import penstock, tempfile
        >>> described = {"campaign": "two", "workload": "demo", "seeds": [1], "policies": ["fcfs", "fair-share"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = penstock.campaign(described, folder, workers=1)
        >>> [row["policy"] for row in result.by_policy()]
        ['fcfs', 'fair-share']
    """
    found = described_campaign(described, allocation, placement)
    table = run(found, out, workers=workers, dask=dask, retry=retry, progress=progress)
    return CampaignResult(found, Path(out), table)


def described_campaign(
    described: Campaign | Mapping[str, Any] | str | os.PathLike[str],
    allocation: str | None = None,
    placement: str | None = None,
) -> Campaign:
    """The campaign that is described, checked.

    Args:
        described: a campaign, the name of its file, or a mapping with the keys of such a file.
        allocation: on I/O resources, how many for each application, in place of what the file or mapping says.
        placement: likewise, which ones.

    Returns:
        The campaign; a `Campaign` as it is.

    Raises:
        InputError: for a wrong description, and for a `Campaign` beside an allocation or a placement.
    """
    if isinstance(described, Campaign):
        if allocation is not None or placement is not None:
            raise InputError(
                "allocation" if allocation else "placement", "the campaign is made already; expected it in its cells"
            )
        return described
    if isinstance(described, Mapping):
        asked = {"allocation": allocation, "placement": placement}
        return from_document({**described, **{key: value for key, value in asked.items() if value is not None}})
    return read(described, allocation=allocation, placement=placement)


def _names(given: str | Sequence[str]) -> list[str]:
    """The names of a list, or of a text with commas."""
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)
