"""`penstock.buffer`: how large a burst buffer, and who gets which part of it (004)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from penstock.api.paths import Opened, Watch, Watcher, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables, flat
from penstock.buffers.advice import (
    LARGEST,
    POLICIES,
    THRESHOLDS,
    Advice,
    BufferStrategy,
    BufferTrial,
    advise,
    parts_for,
    strategies,
    stretch_by_size,
)
from penstock.buffers.lower_bounds import DATES
from penstock.buffers.plan import DYNAMIC, STATIC, directives
from penstock.model import InputError, Workload, parse_units
from penstock.numeric.tolerances import PLAN_ROUNDING
from penstock.planning.node_hours import Hours, recommendation
from penstock.planning.operation import at_full_speed
from penstock.policies.policy import STATIC as STATIC_ORDERS
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, expand, find, listed, written_policies
from penstock.report.format_units import duration, volume

POINTS: Final = 13
"""Sizes in the drawing of stretch against size."""


@dataclass(frozen=True)
class SizingResult(Tables):
    """What is known of a workload's buffer.

    Tables: ``plans`` (one row per mode), ``shares`` (what each application gets of a static buffer) and ``found`` (what a
    search found).
    """

    _brief: ClassVar[tuple[str, ...]] = ("mode", "status", "size", "load", "events", "verified_holds", "verified_stretch")

    opened: Opened = field(repr=False)
    advice: Advice = field(repr=False)
    policies: tuple[Policy, ...] = field(repr=False)
    """What shared the file system in a search; none without one."""

    @property
    def workload(self) -> Workload:
        """What the buffer is for."""
        return self.opened.workload

    @property
    def feasible(self) -> bool:
        """Whether there is a buffer with which nobody is slowed down."""
        return self.advice.feasible

    def to_dict(self) -> dict[str, Any]:
        """The advice as ``penstock buffer --json`` prints it."""
        return {**self.advice.to_dict(), "recommendation": self.recommendation}

    @property
    def recommendation(self) -> str | None:
        """One sentence: which buffer, what it loses beside none, why, and what that assumes; None if nothing was found."""
        best, none = self.advice.best, self.advice.none
        if best is None or none is None:
            return None
        how = f"a buffer of {volume(best.size)} ({best.label})"
        kept = f"{volume(float(best.through.sum()))} go by way of the buffer"
        reason = f"{kept}, and the largest stretch by {best.by} is {best.stretch:.4f} and not {none.stretch:.4f}"
        lost, without = Hours(best.lost_node_hours), Hours(none.lost_node_hours)
        dates = "applications are released when the file says" + (" and held to lower speeds" if best.slowed > 1.0 else "")
        return recommendation(how, lost, "no buffer with fair sharing", without, reason, dates)

    def plan_document(self) -> dict[str, Any]:
        """The plans as ``--plan`` writes them, with the rates at every event."""
        return {"plans": {plan.mode: plan.to_dict() for plan in self.advice.plans.values()}}

    def to_directives(self, style: str = "dw") -> str:
        """The shares as ``--directives`` writes them: lines for batch scripts, in the style ``dw`` or ``bb``."""
        shares = self.advice.shares()
        if shares is None:
            raise InputError("directives", "there is no static buffer to divide; expected one that is feasible or reached")
        return directives(self.workload, shares, style)

    def stretch_curves(self) -> dict[str, list[BufferTrial]]:
        """The stretch under fair sharing by size of the buffer, for each mode (004 Figure 8)."""
        plans = self.advice.plans
        sizes = [plan.size for plan in plans.values() if plan.size is not None]
        if not sizes:
            return {}
        capped = next(iter(plans.values())).demand.capped
        parts = parts_for(self.workload, plans, capped=capped)
        tried = np.linspace(0.0, LARGEST * max(sizes), POINTS).tolist()
        return stretch_by_size(self.workload, list(plans), tried, parts, capped=capped)

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the filling and the stretch by size into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.plot import write_filling

        write_filling(Path(path), self.advice.plans, self.stretch_curves(), self.opened.title)

    def tables(self) -> dict[str, list[Row]]:
        """The plans, the shares of the applications, and what a search found."""
        document = self.advice.to_dict()
        plans: list[Row] = []
        for mode, plan in document["plans"].items():
            row = {name: value for name, value in plan.items() if name not in ("applications", "warnings")}
            plans.append({**flat(row), **flat({"verified": document["verified"].get(mode, {})})})
        shares: list[Row] = []
        static = self.advice.plans.get(STATIC)
        if static is not None and document["shares"] is not None:
            for index, (application, share) in enumerate(zip(self.workload.applications, document["shares"], strict=True)):
                end = float(static.demand.least_end[index])
                about = {"name": application.name, "nodes": application.nodes, "release": application.release}
                through = document["through"][index]["bytes"] if document["through"] else None
                shares.append({**about, "end": end, "share": share, "through": through})
        return {"plans": plans, "shares": shares, "found": [flat(one) for one in document["found"]]}

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        advice = self.advice
        plans = list(advice.plans.values())
        yield from dict.fromkeys(warning for plan in plans for warning in plan.warnings)
        yield from dict.fromkeys(plan.obstacle.message for plan in plans if plan.obstacle)
        backlog = advice.backlog()
        if backlog is not None and backlog.size > PLAN_ROUNDING * plans[0].demand.unit:
            when = f"from {duration(backlog.begin)} to {duration(backlog.end)}"
            most = f"{volume(backlog.size)}, {when}"
            yield f"the most that piles up when all write at full speed is {most}: the size of a dynamic buffer"
        if advice.asked_size is not None and advice.bound is not None:
            least, size = f"{advice.bound:.4f}", volume(advice.asked_size)
            yield f"no strategy has a stretch below {least} with {size}; what the search found is an upper bound"
        yield from self._strained()
        if advice.asked_stretch is not None and advice.bound is not None:
            best = f"found {volume(advice.found[0].size)}" if advice.found else "found none that reaches it"
            least, stretch = volume(advice.bound), f"{advice.asked_stretch:g}"
            yield f"a stretch of {stretch} takes at least {least}; the search {best}, an upper bound"
        for mode, (at, more) in advice.fair.items():
            now, then = (
                f"{at.stretch:.4f} with {volume(at.size)}",
                f"{more.stretch:.4f} with {volume(more.size - at.size)} more",
            )
            yield f"{mode}, fair sharing: largest stretch by {at.by} {now}, {then}"

    def _strained(self) -> Iterator[str]:
        """Where shares had to be made smaller to fit, and where more nodes are in use than there are."""
        trials = [*self.advice.found, *(run for pair in self.advice.fair.values() for run in pair)]
        smaller = [one for one in trials if one.fitted < 1.0]
        if smaller:
            worst = min(smaller, key=lambda one: one.fitted)
            yield (
                f"under {worst.label} the shares of applications alive at one time would add up to more than the buffer, as "
                f"late applications meet those that follow; they are {worst.fitted:.3f} of the plan's, so that they fit"
            )
        crowded = [one for one in trials if one.crowded]
        if crowded:
            most = max(crowded, key=lambda one: one.replay.most_nodes)
            yield (
                f"under {most.label} up to {most.replay.most_nodes:,} nodes are in use at one time where the machine has "
                f"{most.replay.machine_nodes:,}: late applications meet those that follow, which do not wait for their nodes"
            )


def buffer(
    workload: WorkloadLike,
    *,
    static: bool = False,
    dynamic: bool = False,
    size: float | str | None = None,
    stretch: float | None = None,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    threshold: float | Sequence[float] | None = None,
    capped: bool = False,
    by: str = DATES,
    scheduler: str | None = None,
    watch: Watch = nobody,
) -> SizingResult:
    """Find the smallest burst buffer with which nobody is slowed down (004 §6), or search for one that is good enough.

    Args:
        workload: a workload, or the name of its file. Reads are fetched ahead, writes drained later; io phases count as
            writes.
        static: only a buffer divided into shares, one for each application while it runs.
        dynamic: only a buffer that is one pool. By default both.
        size: search for the smallest stretch with a buffer of this size, in bytes or such as ``"40 TB"``.
        stretch: search for the smallest size with this largest stretch, 1 or more.
        policy: what shares the file system in a search: policies as for `simulate`, or names of families (by default a few
            that are good).
        threshold: in a search, drain once this part of a share or pool is full, 0 to 1 (0 and 0.5).
        capped: whether an application's speed is at most that of the file system.
        by: how stretches count: by ``dates`` (004), or by ``durations`` from release to end.
        scheduler: what starts the jobs of a stream, as for `penstock.machine`, so that there are nodes for all; by default
            each starts at its release.
        watch: makes a watcher that is told which strategy of the search is under way.

    Returns:
        Plans, shares, what the search found, and lower bounds; volumes in bytes.

    Raises:
        InputError: for what does not go together, and for a workload that no buffer is for.

    Example:
        10 s of work, then 40 bytes at 5 bytes/s on a file system of 2 bytes/s: in the 8 s of the write 16 bytes leave.

        >>> import penstock
        >>> writer = penstock.Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> found = penstock.buffer(penstock.Workload(penstock.Platform(bandwidth=2.0), (writer,)))
        >>> round(found.advice.plans["dynamic"].size, 6)
        24.0
    """
    searching = size is not None or stretch is not None
    for name, value in (("policy", policy), ("threshold", threshold)):
        if value and not searching:
            raise InputError(name, "is for a search; expected a size or a stretch too")
    if static and dynamic:
        raise InputError("static", "the buffer is to be dynamic too; expected one of the two, or none for both")
    modes = [STATIC] if static else [DYNAMIC] if dynamic else [STATIC, DYNAMIC]
    bytes_ = None if size is None else parse_units.volume(_number(size), "size")
    chosen = written_policies(_without_static_orders(listed(policy or POLICIES)))
    # A built-in policy keeps the name that was asked for, which may be another name in the papers.
    sharing = [name if found.built_in else found for name, found in chosen.items()]
    thresholds = [threshold] if isinstance(threshold, int | float) else threshold or THRESHOLDS
    source = opened(workload)
    with source.located(), watch(0) as watcher:
        if scheduler is not None:
            source = Opened(at_full_speed(source.workload, scheduler), source.path)
        advice = advise(
            source.workload,
            modes,
            size=bytes_,
            stretch=stretch,
            tried=strategies(modes, sharing, thresholds),
            capped=capped,
            by=by,
            shown=_telling(watcher),
        )
    return SizingResult(source, advice, tuple(chosen.values()) if searching else ())


def _telling(watcher: Watcher) -> Callable[[Iterable[BufferStrategy]], Iterator[BufferStrategy]]:
    """Goes over the strategies and tells the watcher which one is under way."""

    def one_by_one(tried: Iterable[BufferStrategy]) -> Iterator[BufferStrategy]:
        for strategy in tried:
            watcher.begin(strategy.label)
            yield strategy
            watcher.end()

    return one_by_one


def _without_static_orders(asked: Sequence[PolicyLike]) -> list[PolicyLike]:
    """The policies, with a family's members in its place but for static orders, which know no buffer."""
    found: list[PolicyLike] = []
    for one in asked:
        members = expand([one]) if isinstance(one, str) else [one]
        found += [name for name in members if name == one or find(str(name)).family != STATIC_ORDERS]
    return found


def _number(given: float | str) -> str | float:
    """A bare number as such, so that an error quotes it as one."""
    try:
        return float(given)
    except ValueError:
        return given
