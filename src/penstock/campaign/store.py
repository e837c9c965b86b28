"""The folder of a campaign: nothing in it is ever half-written or written twice.

::

    campaign.json     what the campaign is and which program computes it; compared when the campaign goes on
    parts/KEY.parquet the rows of one task, written under a temporary name and renamed: if it is there, it is whole
    policies/NAME.py  the text of a policy that was defined in a notebook or a script
    results.parquet   all rows in the campaign's order, once all parts are there; gone while a part is computed again

The fingerprint of the program is kept there too, because all rows of a campaign must come from the same program.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock import __version__
from penstock.campaign.cells import Campaign, Task
from penstock.campaign.rows import to_part, with_all_columns
from penstock.model import InputError, PenstockError
from penstock.model.files import replacing

SOURCES: Final = (
    "numeric/*",
    "model/*",
    "workloads/*",
    "policies/*",
    "engine/*",
    "theory/*",
    "planning/placement/*",
    "campaign/cells",
    "campaign/own_policies",
    "campaign/rows",
    "campaign/sources",
    "campaign/workers",
)
"""The modules of the package that decide what a row says."""

Identity = Mapping[str, str]
"""Versions by name: of penstock, of its sources (a digest), of numpy and of numba."""


class OtherVersion(PenstockError):
    """A worker that runs another program than the campaign."""


@cache
def identity(*more: str) -> dict[str, str]:
    """The identity of this process; `more` modules count where they decide what a row says.

    Returns versions by name. `more` are patterns of paths in the package, without ``.py``.
    """
    import numba
    import numpy as np

    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in (*SOURCES, *more):
        for path in sorted(package.glob(f"{pattern}.py")):
            digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {
        "penstock": __version__,
        "sources": digest.hexdigest()[:12],
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def differences(theirs: Identity, ours: Identity) -> tuple[str, str] | None:
    """What differs between two identities, `theirs` and `ours`, as a text of each; None if nothing does."""
    names = [name for name in ours if theirs.get(name) != ours[name]]
    if not names:
        return None
    return _text(theirs, names), _text(ours, names)


def require(theirs: Identity, ours: Identity, who: str) -> None:
    """Refuse a worker `who` whose identity, `theirs`, is another than that of the campaign, `ours`."""
    different = differences(theirs, ours)
    if different is not None:
        raise OtherVersion(f"{who} has {different[0]}, the campaign {different[1]}; expected the same on all workers")


def _text(versions: Identity, names: list[str]) -> str:
    return ", ".join(f"{name} {versions.get(name, 'unknown')}" for name in names)


class Store:
    """The parts and the results of one `campaign` in its `folder`; `opened` gives one that no other process uses."""

    def __init__(self, folder: Path, campaign: Campaign) -> None:
        self.folder = folder
        self.campaign = campaign
        self.parts = folder / "parts"
        self.results = folder / "results.parquet"
        self._wholes: dict[str, Task] = {}

    def pending(self) -> list[Task]:
        """The tasks that have no part yet."""
        done = set(self.parts.iterdir())
        return [task for task in self.campaign.tasks if self._part(task) not in done]

    def failed(self) -> list[Task]:
        """Tasks of the cells that have failed, to try them again; their rows stay until `put` has others."""
        tasks = []
        for whole in self.campaign.tasks:
            if not self._part(whole).exists():
                continue
            rows = _read(self._part(whole))
            keys = set(rows["key"].filter(pc.is_valid(rows["error"])).to_pylist())
            if keys:
                task = Task(tuple(cell for cell in whole.cells if cell.key in keys))
                self._wholes[task.key] = whole
                tasks.append(task)
        return tasks

    def put(self, task: Task, part: bytes) -> None:
        """Keep the rows of a finished `task`, its Parquet file `part`, in place of those that its cells had."""
        whole = self._wholes.get(task.key, task)
        if whole.cells != task.cells:
            part = _merged(whole, task, part, _read(self._part(whole)))
        with _said(self.results):
            self.results.unlink(missing_ok=True)
        _write(self._part(whole), part)

    def collect(self) -> pa.Table:
        """All rows in the campaign's order, from the parts, or from the results if they are there."""
        if self.results.exists():
            return _read(self.results)
        table = pa.concat_tables([_read(self._part(task)) for task in self.campaign.tasks]).combine_chunks()
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        _write(self.results, sink.getvalue())
        return table

    def claim(self) -> None:
        """Make the folder this campaign's, or find that it is; InputError if it holds anything else."""
        manifest = self.folder / "campaign.json"
        if not manifest.exists():
            self._require_empty()
            document = {**self.campaign.definition(), "identity": dict(identity())}
            _write(manifest, (json.dumps(document, indent=1) + "\n").encode())
        self._require_same(_manifest(manifest))
        with _said(self.parts):
            self.parts.mkdir(exist_ok=True)
            self._write_policies()
            for folder in (self.folder, self.parts):
                for leftover in folder.glob(".*.parquet"):  # of a process that was killed while it wrote
                    leftover.unlink(missing_ok=True)

    def _write_policies(self) -> None:
        """The texts of the policies of a notebook, for the commands of the rows."""
        for own in self.campaign.own_policies:
            file = self.folder / own.file
            file.parent.mkdir(exist_ok=True)
            _write(file, own.text.encode())

    def _part(self, task: Task) -> Path:
        return self.parts / f"{task.key}.parquet"

    def _require_empty(self) -> None:
        if any(not path.name.startswith(".campaign.json.") for path in self.folder.iterdir()):
            raise InputError(str(self.folder), "holds other files and no campaign; expected a new or an empty folder")

    def _require_same(self, manifest: dict[str, Any]) -> None:
        ours = self.campaign.definition()
        where, expected = str(self.folder), "expected a new or an empty folder"
        theirs = f"{manifest.get('campaign')!r} of {manifest.get('cells')} cells"
        known = manifest.get("policy_files", {})
        if any(manifest.get(key) != ours[key] for key in ("campaign", "cells")) or set(known) != set(ours["policy_files"]):
            raise InputError(where, f"holds another campaign, {theirs}; {expected}")
        # A text is in the digest too, so what has changed is looked for first.
        changed = [name for name, stamp in ours["policy_files"].items() if known[name] != stamp]
        if changed:
            raise InputError(where, f"the files of its policies {', '.join(changed)} have changed; {expected}")
        if manifest.get("digest") != ours["digest"]:
            raise InputError(where, f"holds another campaign, {theirs}; {expected}")
        program: Identity = manifest.get("identity", {})
        different = differences(program, identity())
        if different is not None:
            raise InputError(where, f"its rows were computed by {different[0]}, this is {different[1]}; {expected}")


@contextmanager
def opened(folder: str | os.PathLike[str], campaign: Campaign) -> Iterator[Store]:
    """The campaign's folder, made if need be and locked until the block ends, however the process ends.

    Args:
        folder: The folder; new, empty, or of the same campaign.
        campaign: The campaign.

    Raises:
        InputError: Another process uses the folder, it holds something else, or another version has computed its rows.
    """
    path = Path(folder)
    with _said(path):
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another process is running a campaign here; expected another folder, or to wait for it"
            raise InputError(str(path), message) from None
        store = Store(path, campaign)
        store.claim()
        yield store
    finally:
        os.close(handle)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise InputError(str(path), "cannot be read; expected the description of a campaign, or a new folder")
    return document


def _read(path: Path) -> pa.Table:
    try:
        return with_all_columns(pq.read_table(path, partitioning=None))
    except (OSError, pa.ArrowException):
        raise InputError(str(path), "cannot be read; remove it to compute its cells again") from None


def _merged(whole: Task, task: Task, part: bytes, before: pa.Table) -> bytes:
    """The rows of the whole task: those of the part, and those from before of the cells that the task has not."""
    again = {cell.key for cell in task.cells}
    rows = [row for row in before.to_pylist() if row["key"] not in again]
    rows += pq.read_table(pa.BufferReader(part)).to_pylist()
    place = {cell.key: index for index, cell in enumerate(whole.cells)}
    rows.sort(key=lambda row: (-1 if row["window"] is None else row["window"], place[row["key"]]))
    return to_part(rows)


def _write(path: Path, content: Any) -> None:
    """Write a file that survives a crash: complete on disk before it has its name."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """What the system refuses, in one line."""
    try:
        yield
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}; expected a folder to write to") from None
