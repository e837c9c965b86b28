"""`penstock.simulate` and `penstock.bounds`: a workload under one policy, and upper bounds for any schedule of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables, flat
from penstock.engine import Result, Run
from penstock.engine.information import TRUE
from penstock.engine.machine import Placement
from penstock.model import InputError, Workload
from penstock.model.errors import expected
from penstock.planning.node_hours import owner_rows
from penstock.planning.placement.choice import ChosenPlacement, choose_placement
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy
from penstock.theory.bounds import Bounds, compile_bounds
from penstock.theory.bounds import bounds as bounds_of
from penstock.theory.link_demand import PIECES

PlacementLike: TypeAlias = str | Sequence[Sequence[int]] | Literal[False] | None
"""A placement: the name of one, the I/O resources of each application, False for one link, None for the default."""


class ListedPlacement(ChosenPlacement):
    """The I/O resources of each application, as the caller lists them."""

    @property
    def text(self) -> str:
        """Where the placement comes from, for a reader."""
        return "as given"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**super().to_dict(), "source": "given"}


RUN_OPTIONS: Final = ("policy", "allocation", "placement", "watch", *list(signature(Run).parameters)[3:])
"""The arguments by name that `simulate` takes: its own, and those of `penstock.Run`."""


@dataclass(frozen=True, kw_only=True)
class SimulationResult(Result, Tables):
    """A `Result` of `penstock.simulate`, with the workload and its placement.

    Tables: ``applications`` (one row per application), ``run`` (one row with the measures of the run), and ``users`` and
    ``groups`` where the workload names them.
    """

    _brief: ClassVar[tuple[str, ...]] = (
        "name",
        "end",
        "yield",
        "stretch",
        "progress",
        "transferred",
        "waiting",
        "transferring",
        "slowdown",
    )

    opened: Opened = field(repr=False)
    placed: ChosenPlacement | None = field(repr=False)
    """Where the I/O resources of the applications come from; None on one link."""
    policy_object: Policy = field(repr=False)
    information: str = TRUE
    """What the policy was told of what lies ahead."""

    @property
    def workload(self) -> Workload:
        """What was run."""
        return self.opened.workload

    def to_dict(self) -> dict[str, Any]:
        """The result as ``penstock simulate --json`` prints it."""
        return {**super().to_dict(), **self.told, **placement_document(self.placed), **self._owners()}

    @property
    def told(self) -> dict[str, str]:
        """What the policy was told of what lies ahead, as ``--json`` prints it; nothing where that is the truth."""
        return {} if self.information == TRUE else {"information": self.information}

    def _owners(self) -> dict[str, list[Row]]:
        """The users, and the groups, if the workload names any."""
        owners = {f"{which}s": self.by_owner(which) for which in ("user", "group")}
        return {key: rows for key, rows in owners.items() if rows}

    def by_owner(self, which: str) -> list[Row]:
        """What the run was for each user, or for each group.

        Args:
            which: "user" or "group".

        Returns:
            A row for each, in the order of the workload: its lowest yield, and its node-hours of work, of I/O as it would be
            alone on the machine, and lost to I/O. Nothing where the workload names none.
        """
        return list(owner_rows(self.workload, self, which))

    def tables(self) -> dict[str, list[Row]]:
        """The applications, and the run as a whole."""
        document = Result.to_dict(self)
        applications = document.pop("applications")
        for name in ("window", "ended_early", "occupancy", "store_utilization"):
            document.pop(name)
        document.get("buffer", {}).pop("shares", None)
        return {"applications": [flat(one) for one in applications], "run": [flat(document)], **self._owners()}

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report of ``--html`` to the file `path`; it works offline. The run must have ``trace=True``."""
        write_report(path, self.opened, [self])


@dataclass(frozen=True, kw_only=True)
class BoundsResult(Bounds, Tables):
    """Upper bounds on the min-yield and the efficiency of any schedule; one table, ``bounds``."""

    opened: Opened = field(repr=False)
    placed: ChosenPlacement | None = field(default=None, repr=False)

    @property
    def workload(self) -> Workload:
        """What is bounded."""
        return self.opened.workload

    def to_dict(self) -> dict[str, Any]:
        """The bounds as ``penstock bound --json`` prints them."""
        return {**self.values(), **placement_document(self.placed)}

    def values(self) -> dict[str, float]:
        """The bounds, and the seconds it took to find them."""
        return {one.name: getattr(self, one.name) for one in fields(Bounds)}

    def tables(self) -> dict[str, list[Row]]:
        """One row."""
        return {"bounds": [self.values()]}


def simulate(
    workload: WorkloadLike,
    policy: PolicyLike = "fair-share",
    *,
    allocation: str | None = None,
    placement: PlacementLike = None,
    watch: Watch = nobody,
    **options: Any,
) -> SimulationResult:
    """Run a workload under one policy, to the end of its window or of its applications.

    Args:
        workload: a workload, or the name of its file.
        policy: its name, as ``penstock policies`` lists it; a function of (view, rates); or a `Policy`.
        allocation: on I/O resources (002), how many of them each application gets: a name as for ``penstock place``. By
            default the workload's own placement, else that of tcpu and greedy-clairvoyant.
        placement: which ones: a name; the resources of each application, numbered from 0; or False for one link of the
            platform's bandwidth.
        watch: makes a watcher that is told how far the run is.
        **options: those of `penstock.Run`. ``trace=True`` records the rates, ``check=True`` checks the invariants after
            every event, ``information="predicted"`` runs the policy on learned values in place of the true ones.

    Returns:
        A `Result` that is also a table: yields, slowdowns, stretches, times in seconds and volumes in bytes.

    Raises:
        InputError: for what cannot be run so.
        PolicyFault: for a policy that breaks its contract.

    Example:
        >>> import penstock
        >>> applications = [penstock.Application.of("a", [("work", 8.0), ("io", 2.0)])]
        >>> workload = penstock.Workload(penstock.Platform(bandwidth=1.0), tuple(applications))
        >>> penstock.simulate(workload, "fcfs").makespan
        10.0
    """
    source = opened(workload)
    with source.located():
        chosen = as_policy(policy)
        where = found_placement(source.workload, allocation, placement)
        with watch(1) as watcher:
            return watched_run(source, chosen, where, watcher, options)


def bounds(
    workload: WorkloadLike,
    pieces: int = PIECES,
    placement: PlacementLike = None,
    *,
    allocation: str | None = None,
    watch: Watch = nobody,
) -> BoundsResult:
    """Upper bounds on the min-yield and the efficiency of any schedule of a workload (000 §3.3).

    Args:
        workload: a workload, or the name of its file.
        pieces: an operation of an application that cannot fill the link is cut into so many: more take longer, and the
            bounds are a little lower.
        placement: on I/O resources the bounds are those of a placement, which is found as `simulate` does.
        allocation: likewise.
        watch: makes a watcher that is told that the bounds are under way.

    Returns:
        The bounds, and the seconds it took to find them, compilation left out.

    Raises:
        InputError: for what cannot be run so.

    Example:
        >>> import penstock
        >>> applications = [penstock.Application.of(name, [("work", 6.0), ("io", 4.0)]) for name in "ab"]
        >>> workload = penstock.Workload(penstock.Platform(bandwidth=1.0), tuple(applications))
        >>> round(penstock.bounds(workload).min_yield, 3)  # both post at 6 s; one ends at 14 s instead of 10 s
        0.714
    """
    source = opened(workload)
    with source.located():
        return found_bounds(source, found_placement(source.workload, allocation, placement), pieces, watch)


def found_placement(
    workload: Workload, allocation: str | None, placement: PlacementLike
) -> ChosenPlacement | Literal[False] | None:
    """The I/O resources that the applications use.

    Args:
        workload: what runs.
        allocation: how many resources each application gets, by name; None for the default.
        placement: which ones, as `simulate` takes it.

    Returns:
        The placement; None on one link, and False where `placement` asks for one link in place of the resources.

    Raises:
        InputError: for an unknown name, and for an allocation beside a listed placement.
    """
    if placement is None or isinstance(placement, str):
        return choose_placement(workload, allocation, placement)
    if allocation is not None:
        raise InputError("allocation", f"{allocation!r} beside a placement that is given; expected one of the two")
    return ListedPlacement(tuple(map(tuple, placement))) if placement is not False else False


def resources_of(where: ChosenPlacement | Literal[False] | None) -> Placement | Literal[False]:
    """The placement `where`, of `found_placement`, as the engine takes it: resources for each application, or False."""
    return where.resources if where else False


def watched_run(
    source: Opened, policy: Policy, where: ChosenPlacement | Literal[False] | None, watcher: Any, options: dict[str, Any]
) -> SimulationResult:
    """Run a workload, and tell a watcher how far the run is about ten times a second.

    Args:
        source: the workload.
        policy: what shares the bandwidth.
        where: its placement, of `found_placement`.
        watcher: is told the start, the part done and the end.
        options: those of `penstock.Run`, by name.

    Returns:
        The result, with workload, placement and policy.

    Raises:
        InputError: for options that do not fit the workload.
        PolicyFault: for a policy that breaks its contract.
    """
    for name in options:
        if name not in RUN_OPTIONS:
            raise InputError(name, f"is no argument; {expected(name, RUN_OPTIONS)}")
    watcher.begin(policy.name)
    given: dict[str, Any] = {"progress": lambda _: watcher.at(part_done(run)), **options}
    run: Run = Run(source.workload, policy, placement=resources_of(where), **given)
    result = run.finish()
    watcher.end()
    own = {one.name: getattr(result, one.name) for one in fields(Result)}
    told = given.get("information", TRUE)
    return SimulationResult(**own, opened=source, placed=where or None, policy_object=policy, information=told)


def found_bounds(
    source: Opened, where: ChosenPlacement | Literal[False] | None, pieces: int = PIECES, watch: Watch = nobody
) -> BoundsResult:
    """Upper bounds of a workload on its placement.

    Args:
        source: the workload.
        where: its placement, of `found_placement`.
        pieces: as for `bounds`.
        watch: makes a watcher that is told that the bounds are under way.

    Returns:
        The bounds, and the seconds it took to find them, compilation left out.
    """
    with watch(0) as watcher:
        watcher.begin("bound")
        compile_bounds()
        found = bounds_of(source.workload, pieces, resources_of(where))
        watcher.end()
    return BoundsResult(**asdict(found), opened=source, placed=where or None)


def part_done(run: Run) -> float:
    """The part of a `run` that is done, from 0 to 1: of its window, or without one of what its applications do."""
    workload = run.workload
    if workload.window is not None:
        begin, end = workload.window
        return (run.now - begin) / (end - begin)
    everything = sum(workload.history(application) + application.lead for application in workload.applications)
    everything += float(run.chains.cycle.sum())
    return float(run.accounts()["progress"].sum()) / everything if everything > 0.0 else 0.0


def placement_document(where: ChosenPlacement | None) -> dict[str, Any]:
    """Where the placement `where` comes from, as ``--json`` prints it: nothing on one link."""
    return {"placement": where.to_dict()} if where else {}


def write_report(
    path: str | os.PathLike[str], source: Opened, results: Sequence[Result], known: Bounds | None = None
) -> None:
    """Write the HTML report of runs of a workload.

    Args:
        path: the file.
        source: the workload.
        results: its runs, each with a trace.
        known: upper bounds for any schedule, if they are to be shown.

    Raises:
        InputError: if the file cannot be written.
        ValueError: for a run without a trace.
    """
    from penstock.report import write_report as write

    write(Path(path), source.workload, results, source.title, known)
