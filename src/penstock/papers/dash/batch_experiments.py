"""What is run for 001 §III.D.2 and chapter IV: batches of jobs, mapped by packs or lists.

An experiment is a list of trials; each is computed once and kept as a line of JSON, so that an interrupted one goes on where
it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from penstock.campaign.identity import identity
from penstock.campaign.progress import bar
from penstock.campaign.sources import source
from penstock.model import InputError
from penstock.planning.batch import schedule
from penstock.planning.schedule import MEASURES
from penstock.planning.strategy import ALPHA, Strategy

PLANNING: Final = "planning/*"
POINTS: Final = 50
"""Dates at which utilization over time is kept."""


@dataclass(frozen=True)
class Trial:
    """A batch, by its kind, parameters and seed, under a strategy and an I/O policy on so many I/O nodes."""

    kind: str
    parameters: tuple[tuple[str, Any], ...]
    seed: int
    strategy: Strategy
    policy: str = "fifo"
    io_nodes: int = 1
    wanted: float = 0.0
    """The I/O load that the batch was to have, where that is not its parameter."""

    @property
    def key(self) -> str:
        """The same for the same trial."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Experiment:
    """A named list of trials."""

    name: str
    trials: tuple[Trial, ...]


FIRST_FIT: Final = Strategy("first-fit")
ONE: Final = Strategy("pack")
LOAD: Final = Strategy("pack", ALPHA)
MAPPINGS: Final[Mapping[str, Strategy]] = {
    "list": Strategy("list", backfill=True),
    "pack max": Strategy("pack", order="max", backfill=True),
    "pack random": Strategy("pack", order="random", backfill=True),
    "pack char": Strategy("pack", order="char", backfill=True),
}
"""The four heuristics of 001 §IV.A, with backfilling (§IV.A.4)."""
FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "MB": ("mira", "binormal"),
    "MN": ("mira", "normal"),
    "BU": ("uniform", "binormal"),
    "NU": ("uniform", "normal"),
}


@dataclass(frozen=True)
class Scale:
    """Values of α_gen and batches of each; I/O loads of chapter IV and batches of each; what to change of its batches."""

    loads: tuple[float, ...]
    batches: int
    mapping_loads: tuple[float, ...]
    mapping_batches: int
    smaller: Mapping[str, Any]


SCALES: Final[Mapping[str, Scale]] = {
    "smoke": Scale((1.0, 4.0), 2, (0.3, 0.7), 1, {"fewest": 40, "most": 60, "longest": 100, "shortest": 50}),
    "quick": Scale((0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0), 4, (0.2, 0.4, 0.6, 0.8), 4, {}),
    "paper": Scale(tuple(k / 4 for k in range(2, 41)), 10, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 10, {}),
}


def packs(scale: Scale) -> Experiment:
    """Figures III.8 to III.12: one I/O node."""
    trials = [
        Trial("packs", (("load", load),), seed, strategy, policy)
        for load in scale.loads
        for seed in range(scale.batches)
        for strategy, policy in ((FIRST_FIT, "fifo"), (ONE, "fifo"), (LOAD, "fifo"), (ONE, "longest-remaining"))
    ]
    return Experiment("packs", tuple(trials))


def several_io_nodes(scale: Scale) -> Experiment:
    """Figure III.13: the same on 1, 3 and 5 I/O nodes."""
    trials = [
        Trial("packs", (("load", load),), seed, strategy, io_nodes=count)
        for load in scale.loads
        for seed in range(scale.batches)
        for strategy in (FIRST_FIT, ONE)
        for count in (1, 3, 5)
    ]
    return Experiment("io-nodes", tuple(trials))


def parameter(kind: str, load: float) -> float:
    """The parameter `load` of the generator for which the I/O load α is about the wanted one.

    That of Mira batches is f, the part of the time that is I/O on average, which makes α near f / (1 − f).
    """
    return load / (1.0 + load) if kind == "mira" else load


def mapping(scale: Scale) -> Experiment:
    """Figures IV.3 to IV.10: list scheduling and three kinds of packs on four families of batches."""
    trials = [
        Trial(
            kind,
            (("load", parameter(kind, load)), ("profile", profile), *scale.smaller.items()),
            seed,
            strategy,
            wanted=load,
        )
        for kind, profile in FAMILIES.values()
        for load in scale.mapping_loads
        for seed in range(scale.mapping_batches)
        for strategy in MAPPINGS.values()
    ]
    return Experiment("mapping", tuple(trials))


def run(experiment: Experiment, folder: Path, progress: bool | None = None) -> dict[Trial, dict[str, Any]]:
    """Compute the trials that the folder does not hold yet, on all cores; returns what was measured of each."""
    path = folder / f"{experiment.name}.jsonl"
    known = _read(path)
    missing = [trial for trial in experiment.trials if trial.key not in known]
    total = len(experiment.trials)
    begun = total - len(missing)
    with bar(experiment.name, begun, total, progress) as report:
        for done, (trial, row) in enumerate(_computed(missing), begun + 1):
            known[trial.key] = row
            _append(path, {"key": trial.key, "identity": identity(PLANNING), "row": row})
            report(done)
    return {trial: known[trial.key] for trial in experiment.trials}


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
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if entry["identity"] != identity(PLANNING):
            raise InputError(str(path), "was computed by another version; expected an empty folder")
        known[entry["key"]] = entry["row"]
    return known


def _computed(trials: Sequence[Trial]) -> Any:
    if not trials:
        return
    with ProcessPoolExecutor(min(len(trials), os.cpu_count() or 1)) as pool:
        futures = {pool.submit(measure, trial): trial for trial in trials}
        for future in as_completed(futures):
            yield futures[future], future.result()


def measure(trial: Trial) -> dict[str, Any]:
    """Make the batch, schedule and run it."""
    kind = source(trial.kind)
    (workload,) = kind.make(kind.parse(dict(trial.parameters)), trial.seed)
    done = schedule(workload, trial.strategy, io_nodes=trial.io_nodes, policy=trial.policy)
    return {
        **{name: getattr(done, name) for name in MEASURES},
        "jobs": len(workload.applications),
        "capacity": done.capacity,
        "over_time": done.over_time(POINTS).to_dict(),
    }
