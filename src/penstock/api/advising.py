"""`penstock.advise`: the operator's questions about a machine, answered from its job list."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from penstock.advise.backtest import TRUST
from penstock.advise.findings import AdviceSettings, Findings, find_out
from penstock.api.accounts import import_slurm, import_swf
from penstock.api.importing import ImportResult
from penstock.api.logs import REACHED, import_darshan
from penstock.api.logs import SUFFIXES as LOGS
from penstock.api.operating import on_machine
from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables
from penstock.model import Application, InputError, Workload
from penstock.model.files import SUFFIXES as WORKLOADS
from penstock.model.files import read
from penstock.planning.operation import DEFAULT_ALLOCATION
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy, listed

TRACES: Final = (".swf", ".swf.gz")
"""How the names of traces in the Standard Workload Format end."""
_MARK: Final = '"penstock"'
_LOOKED_AT: Final = 65536
"""Characters at the begin of a file in which a workload says what it is."""


@dataclass(frozen=True)
class AdviceResult(Tables):
    """What is advised about a machine.

    Tables: ``answers`` (one row for each question: verdict, gain in node-hours and its interval), ``backtest``, ``users``,
    ``applications``, ``over_time``, and the numbers behind the answers: ``policies``, ``heuristics``, ``for_whom``,
    ``buffers``, ``pairs`` and ``costs``, as far as they were computed.
    """

    _brief: ClassVar[tuple[str, ...]] = ("question", "answer", "gain", "low", "high")

    opened: Opened = field(repr=False)
    found: Findings = field(repr=False)
    policies: tuple[Policy, ...] = field(repr=False)

    @property
    def workload(self) -> Workload:
        """The jobs and the machine."""
        return self.opened.workload

    @property
    def recommends(self) -> bool:
        """Whether a change is recommended."""
        return bool(self.found.changes)

    def to_dict(self) -> dict[str, Any]:
        """The advice as ``penstock advise --json`` prints it."""
        return self.found.to_dict()

    def tables(self) -> dict[str, list[Row]]:
        """The answers, and the numbers behind them."""
        answers: list[Row] = []
        for one in self.found.answers:
            low, high = (None, None) if one.gain is None or one.gain.interval is None else one.gain.interval
            gain = None if one.gain is None else one.gain.mean
            row = {"question": one.question, "verdict": one.verdict, "answer": one.short}
            answers.append({**row, "gain": gain, "low": low, "high": high, "sentence": one.sentence})
        seen = self.found.seen
        tables: dict[str, list[Row]] = {
            "answers": answers,
            "backtest": list(self.found.backtest.rows()),
            "users": list(seen.users()),
            "applications": list(seen.applications()),
            "over_time": list(seen.over_time()),
        }
        for one in self.found.answers:
            tables |= {name: list(rows) for name, rows in one.tables.items()}
        return tables

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page of ``--html`` to the file `path`; it works offline."""
        from penstock.advise.page import write_advice

        write_advice(Path(path), self.found)


def advise(
    workload: WorkloadLike,
    *,
    policy: PolicyLike = "fair-share",
    scheduler: str | None = None,
    policies: PolicyLike | Sequence[PolicyLike] | None = None,
    allocation: str | int = DEFAULT_ALLOCATION,
    placement: str = "least-loaded",
    nodes: int | None = None,
    resources: int | None = None,
    trust: float = TRUST,
    seed: int = 0,
    watch: Watch = nobody,
) -> AdviceResult:
    """Answer the questions of an operator: which sharing policy, which I/O resources, which buffer, which jobs apart.

    First recorded starts are replayed, and predicted run times are compared with recorded ones. Where they are far apart,
    nothing is recommended.

    Args:
        workload: a workload, the name of its file, or a folder: workload files, Darshan logs, the output of ``sacct`` or a
            trace in the Standard Workload Format, with logs that belong to its jobs. A log or an accounting file can be
            given by itself too.
        policy: what shares the bandwidth today, as for `simulate`.
        scheduler: what starts the jobs, as for `penstock.machine`; by default ``recorded`` if all jobs have a recorded
            start, else ``easy``.
        policies: what is tried in place of the policy of today, as for `compare` (a few that are good).
        allocation: how many I/O resources a job gets today, as for `machine`.
        placement: which ones, as for `machine`.
        nodes: nodes of the machine; those of the platform by default.
        resources: I/O nodes or OSTs; those of the platform by default.
        trust: recommend nothing where predicted and recorded run times are further apart than this factor.
        seed: for what is random.
        watch: makes a watcher that is told how far it is.

    Returns:
        The answers in node-hours, with the numbers behind them; `AdviceResult.write_html` makes the page.

    Raises:
        InputError: for what cannot be read, and for a workload that cannot be operated.

    Example:
        Nobody else uses the link, so that nothing is to be gained.

        >>> import penstock
        >>> chain = [("work", 3000.0), ("write", 600.0)]
        >>> jobs = (penstock.Application.of("a", chain, recorded=(0.0, 3600.0)),)
        >>> advice = penstock.advise(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=1), jobs))
        >>> advice.recommends, advice.found.backtest.status
        (False, 'near')
    """
    chosen = as_policy(policy)
    tried = None if policies is None else [as_policy(one) for one in listed(policies)]
    settings = AdviceSettings(chosen, scheduler, allocation, placement, tried, trust, seed)
    source, notes = _opened(workload)
    with source.located():
        source = replace(source, workload=on_machine(source.workload, nodes, resources))
        guessed = any(REACHED in note for note in notes)
        found = find_out(source.workload, settings, watch, source.title, notes, guessed=guessed)
    return AdviceResult(source, found, (chosen, *settings.tried))


# --- what is read --------------------------------------------------------------------------------------------------------


def _opened(given: WorkloadLike) -> tuple[Opened, tuple[str, ...]]:
    """The workload of a file or a folder, and what was counted while it was read."""
    if isinstance(given, Workload) or os.fspath(given) == "-":
        return opened(given), ()
    path = Path(given)
    if path.is_dir():
        return _folder(path)
    kind = _kind(path) if path.exists() else _workload
    if kind is _workload:
        return opened(given), ()
    return _imported(_IMPORTERS[kind](str(path)), str(path))


def _workload(path: Path) -> bool:
    """Whether the file is a workload: Parquet, or a text that says so."""
    if path.name.endswith(".parquet"):
        return True
    if path.suffix not in WORKLOADS:
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LOOKED_AT)
    return _MARK in text or "penstock:" in text or path.suffix != ".json"


def _log(path: Path) -> bool:
    return path.name.endswith(LOGS)


def _trace(path: Path) -> bool:
    return path.name.endswith(TRACES)


def _accounting(_: Path) -> bool:
    return True


Kind = Callable[[Path], bool]
_KINDS: Final[tuple[Kind, ...]] = (_log, _trace, _workload, _accounting)
_IMPORTERS: Final[dict[Kind, Callable[..., ImportResult]]] = {
    _log: import_darshan,
    _trace: import_swf,
    _accounting: import_slurm,
}


def _kind(path: Path) -> Kind:
    """What a file is, by its name and its first lines."""
    return next(kind for kind in _KINDS if kind(path))


def _folder(folder: Path) -> tuple[Opened, tuple[str, ...]]:
    """The workload of all files of a folder."""
    found: dict[Kind, list[Path]] = {kind: [] for kind in _KINDS}
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            if not name.startswith("."):
                found[_kind(Path(place) / name)].append(Path(place) / name)
    lists = [path for kind in (_trace, _accounting) for path in found[kind]]
    if len(lists) > 1:
        some = ", ".join(path.name for path in lists[:3])
        raise InputError(
            str(folder), f"holds {len(lists)} job lists ({some}); expected one accounting file or trace at most"
        )
    if not lists and not found[_log]:
        return _merged(folder, found[_workload])
    options: dict[str, Any] = {}
    if found[_workload]:
        if len(found[_workload]) > 1 or (lists and _trace(lists[0])):
            raise InputError(str(folder), "holds workload files beside logs; expected one at most, whose platform is taken")
        options["platform"] = str(found[_workload][0])
    if not lists:
        return _imported(import_darshan(str(folder), **options), str(folder))
    logs = [str(path) for path in found[_log]] or None
    importer = import_swf if _trace(lists[0]) else import_slurm
    return _imported(importer(str(lists[0]), darshan=logs, **options), str(folder))


def _imported(made: ImportResult, path: str) -> tuple[Opened, tuple[str, ...]]:
    """The workload of an import, and what it counted."""
    return Opened(made.workload, path), tuple(line.strip() for line in made.summary())


def _merged(folder: Path, paths: Sequence[Path]) -> tuple[Opened, tuple[str, ...]]:
    """One workload of several workload files of one machine; those that cannot be read are counted."""
    if not paths:
        raise InputError(str(folder), "holds no files; expected workload files, Darshan logs or accounting")
    made, failures = [], []
    for path in paths:
        try:
            made.append((path, read(path)))
        except InputError as error:
            failures.append(f"left out: {error}")
    if not made:
        raise InputError(str(folder), f"none of its {len(paths):,} files can be read; {failures[0]}")
    first, workload = made[0]
    other = next((path for path, one in made if one.platform != workload.platform), None)
    if other is not None:
        raise InputError(str(other), f"has another platform than {first.name}; expected files of one machine")
    if any(one.window is not None for _, one in made):
        raise InputError(str(folder), "a workload has a window; expected jobs that run to their ends")
    members = tuple(_apart([one for _, each in made for one in each.applications]))
    counted = f"{len(made):,} workload files, {len(members):,} jobs"
    return Opened(Workload(workload.platform, members), str(folder)), (counted, *failures)


def _apart(members: Sequence[Application]) -> Iterator[Application]:
    """The applications with names that differ: the second a becomes a-2."""
    used = {one.name for one in members}
    seen: set[str] = set()
    for one in members:
        name, number = one.name, 2
        while name in seen:
            name, number = f"{one.name}-{number}", number + 1
            if name in used:
                name = one.name
        seen.add(name)
        yield one if name == one.name else replace(one, name=name)
