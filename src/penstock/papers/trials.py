"""Experiments that are not campaigns: lists of trials.

Each trial is computed once and kept as a line of JSON. An interrupted experiment goes on where it was.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from penstock.campaign.cells import policy_file_digest
from penstock.campaign.store import identity
from penstock.campaign.workers import bar
from penstock.model import InputError
from penstock.policies import find

SOURCES: Final = ("numeric/**/*", "engine/**/*", "planning/**/*", "buffers/**/*", "papers/*/*experiments", "workloads/**/*")
"""The modules that decide what a row says, beside those of campaigns."""

T = TypeVar("T")
"""A frozen dataclass of all that a trial depends on."""


@dataclass(frozen=True)
class Experiment(Generic[T]):
    """A named list of trials, and what computes the row of one."""

    name: str
    trials: tuple[T, ...]
    measure: Callable[[T], dict[str, Any]]


@dataclass(frozen=True)
class WithPolicy(Generic[T]):
    """A `trial` of a paper under a user's `policy`; `digest` is that of the policy's file, or "".

    With the digest, rows of another version of a file are never taken for its own.
    """

    trial: T
    policy: str
    digest: str = ""


def run(
    experiment: Experiment[T], folder: Path, progress: bool | None = None, dask: str | None = None
) -> dict[T, dict[str, Any]]:
    """Compute the trials that a folder does not hold yet, on all cores or on a cluster.

    Args:
        experiment: The trials, and what computes the row of one.
        folder: Where the rows are kept, in ``NAME.jsonl``.
        progress: Whether to show progress; None shows it on a terminal.
        dask: The address of a Dask scheduler, or slurm; None computes on the local cores.

    Returns:
        The row of each trial.

    Raises:
        InputError: The file cannot be read or written, or another version of the program computed it.
    """
    path = folder / f"{experiment.name}.jsonl"
    known = _read(path)
    missing = [trial for trial in experiment.trials if key_of(trial) not in known]
    total = len(experiment.trials)
    begun = total - len(missing)
    with bar(experiment.name, begun, total, progress) as report:
        for done, (trial, row) in enumerate(_computed(missing, experiment.measure, dask), begun + 1):
            known[key_of(trial)] = row
            _append(path, {"key": key_of(trial), "identity": identity(*SOURCES), "row": row})
            report(done)
    return {trial: known[key_of(trial)] for trial in experiment.trials}


def added(policies: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """The user's `policies` that a paper does not have already (`known`), each with the digest of its file, or "".

    Raises InputError for a policy that cannot be found.

    Example:
        >>> added(["fcfs", "fifo"], known=["fifo"])
        [('fcfs', '')]
    """
    found = [name for name in policies if name not in known]
    for name in found:
        find(name)
    return [(name, policy_file_digest(name) or "") for name in found]


def key_of(trial: Any) -> str:
    """A text that is the same for the same `trial`, and differs for all others."""
    return json.dumps(asdict(trial), sort_keys=True)


def _append(path: Path, entry: dict[str, Any]) -> None:
    """Add a line to the file, after ending one that an interruption has cut short."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")
            file.write(json.dumps(entry).encode() + b"\n")
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}; the trials so far are kept") from None


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """What the file holds; a line that was cut short by an interruption is computed again."""
    known: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text().splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"cannot be read: {error}; expected rows of an experiment, or no such file") from None
    for line in lines:
        try:
            entry = json.loads(line)
            key, theirs, row = entry["key"], entry["identity"], entry["row"]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
        if theirs != identity(*SOURCES):
            raise InputError(str(path), "was computed by another version; expected an empty folder")
        known[key] = row
    return known


def _computed(
    trials: Sequence[T], measure: Callable[[T], dict[str, Any]], dask: str | None
) -> Iterator[tuple[T, dict[str, Any]]]:
    if not trials:
        return
    if dask is not None:
        from penstock.campaign.cluster import cluster_pool

        with cluster_pool(dask) as workers:
            yield from workers.mapped(measure, trials)
        return
    pool = ProcessPoolExecutor(min(len(trials), os.cpu_count() or 1), initializer=_let_interrupts, initargs=(True,))
    try:
        _let_interrupts(False)  # one that comes while the pool starts would leave processes that nobody ends
        try:
            futures = {pool.submit(measure, trial): trial for trial in trials}
        finally:
            _let_interrupts(True)
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _let_interrupts(through: bool) -> None:
    """Let Ctrl-C `through` to this thread, or make it wait until it is let through."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK if through else signal.SIG_BLOCK, {signal.SIGINT})
