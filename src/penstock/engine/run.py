"""Running a workload under a policy: to its end, or step by step from one end of an application to the next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

import numpy as np

from penstock.engine.berths import berths_in_use, compiled_withdraw, leave_heap, place_now, widened
from penstock.engine.buffer_result import carried_beside
from penstock.engine.faults import fault
from penstock.engine.information import TRUE, Beliefs, Search, checked_information, new_beliefs, tells_apart
from penstock.engine.kernel import KernelParts, compiled_advance
from penstock.engine.machine import (
    Buffering,
    Use,
    buffered_layout,
    buffering_of,
    exceeds,
    in_units,
    later_layout,
    layout_of,
    most_at_once,
    placement_of,
)
from penstock.engine.planned import Targets, fetch_from_origin
from penstock.engine.result import BufferResult, Result, RunMeasures, accounts
from penstock.engine.setup import chains_of, dedicated_on, enter_heap, new_state, wait_for_start
from penstock.engine.state import (
    ACTIVE,
    COMING,
    ENDED,
    ENDS,
    EVENTS,
    HELD,
    INDEX,
    NOW,
    ROWS,
    SEGMENT_BEGIN,
    SEGMENT_RATE,
    SEGMENTS,
    TRANSFER,
    UNIT,
    WORKING,
    Records,
)
from penstock.engine.terms import LIMIT, NEVER, NOTHING_LEFT, ONE_ENDED, STOPPED, TRACE_FULL, TURNS_MADE, Terms, record_of
from penstock.engine.tier import Tier, all_fetched, new_tier
from penstock.engine.trace import Fill, Trace, as_fill, as_trace, joined, joined_fill, new_fill, new_segments
from penstock.model import InputError, Workload
from penstock.model.application import READ, WRITE
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import interruptible
from penstock.policies.policy import STATIC, Need, Policy
from penstock.policies.registry import find

_TRACE_ROWS: Final = 65_536
_DONE_SO_FAR: Final = {Need.PROGRESS, Need.TRANSFER, Need.REMAINING, Need.ITERATION}
_FIRST_TURNS: Final = 20_000
"""Turns of the first call of the kernel."""
KEPT_FROM: Final = 20
"""Least number of applications for which an order is kept; sorting fewer at every event is as fast and compiles faster."""
_STRETCH_SECONDS: Final = 0.1
"""About how long one call of the kernel may take; after it an interruption is noticed and progress reported."""


class Run:
    """A run of a workload under a policy that can be advanced step by step.

    A batch scheduler advances the run to the next end of an application, decides, starts other applications and advances
    again. `simulate` is the short form for a run from start to end.

    Args:
        workload: what runs.
        policy: a policy or the name of one, with its parameter if any ("periodic-greedy-yield:delta=60").
        placement: the I/O resources that each application uses (002); by default those of the workload. False for one link.
        buffer: the burst buffer between applications and I/O resources (004); by default the platform's. False for none.
        repeat: begin chains anew at their ends.
        to_the_end: ignore the end of the window.
        horizon: how long a repeating run is measured, in seconds; sets the default δ of periodic policies.
        trace: record rates (`Result.trace`), and with a buffer its contents.
        check: check the invariants after every event (`penstock.engine.faults`).
        held: positions of applications that start only when `start` is called.
        stoppable: whether `stop` may end applications; such a run is somewhat slower and must not have a buffer.
        counts: for each application the most I/O resources that it may use. `held` must then list all applications, and
            `start` says which resources an application uses. Applications need no curves (`penstock.engine.machine.Use`).
        plan: amounts to move by dates, in place of the policy's rates; the run needs a buffer and one link.
        information: what the policy is told of what lies ahead: "true", "predicted" from the application's own past, "class"
            for the means of its class, or "none" (`penstock.engine.information`).
        lent: under a plan, bytes that may be read before they are in the buffer, to allow for the plan's rounding.
        progress: called about ten times a second with the date reached.

    Raises:
        InputError: for options that have no meaning together, or positions that do not exist.

    Example:
        >>> from penstock import Application, Platform, Run, Workload
        >>> chain = [("work", 10.0), ("io", 5.0)]
        >>> members = tuple(Application.of(name, chain) for name in "abc")
        >>> run = Run(Workload(Platform(1.0), members), "fcfs", held={2})
        >>> run.advance(), run.now  # a is served first, from 10 s to 15 s
        ((0,), 15.0)
        >>> run.start(2)
        >>> run.finish().makespan  # c works from 15 s to 25 s and transfers to 30 s
        30.0
    """

    def __init__(
        self,
        workload: Workload,
        policy: Policy | str,
        *,
        placement: Sequence[Sequence[int]] | Literal[False] | None = None,
        buffer: Buffering | Literal[False] | None = None,
        repeat: bool = False,
        to_the_end: bool = False,
        horizon: float | None = None,
        trace: bool = False,
        check: bool = False,
        held: Iterable[int] = (),
        counts: Sequence[int] | None = None,
        stoppable: bool = False,
        plan: Targets | None = None,
        lent: float = 0.0,
        information: str = TRUE,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.workload = workload
        self.policy = find(policy) if isinstance(policy, str) else policy
        waiting = frozenset(held)
        if not waiting <= set(range(len(workload.applications))):
            raise InputError("held", f"{sorted(waiting)} are not all positions of applications in the workload")
        if counts is not None and (placement is not None or len(waiting) < len(workload.applications)):
            raise InputError("counts", "all applications are placed when they start; expected no placement, and all held")
        placement = () if counts is not None else placement_of(workload, placement)
        self._buffering = buffering_of(workload, buffer, waiting)
        self._refuse(waiting, placement, repeat)
        self._misled = tells_apart(checked_information(information, self.policy), self.policy)
        if self._misled and self._buffering is not None:
            reason = "beside a buffer has no meaning: its data are those of no operation"
            raise InputError("information", f"{information} {reason}; expected true")
        if plan is not None and (placement is not None or self._buffering is None):
            raise InputError("plan", "it is one for buffers before a link; expected a buffer and no placement")
        self.layout = layout_of(workload, placement) if counts is None else later_layout(workload, counts)
        if self._buffering is not None:
            self.layout = buffered_layout(self.layout)
        # Looked at once: a batch scheduler stops a run of 24,000 applications 48,000 times.
        self._has_rounds = any(application.rounds is not None for application in workload.applications)
        self._several_stores = bool((self.layout.counts > 1).any())
        speeds = self._buffering.speeds(self.layout) if self._buffering else (self.layout.write_cap, self.layout.read_cap)
        self.chains = chains_of(workload, self.layout, *speeds)
        if repeat and (self.chains.cycle == 0.0).any():
            place = f"applications[{int(np.argmin(self.chains.cycle))}]"
            raise InputError(place, "it neither works nor transfers; expected a chain that takes some time")
        windowed = workload.window is not None and not to_the_end
        self._limit = workload.window[1] if workload.window and windowed else math.inf
        self._plan, self._lent = plan, lent
        if stoppable and self._buffering is not None:
            raise InputError("stoppable", "what a stopped application has in the buffer has no meaning; expected no buffer")
        self._stoppable = stoppable
        plain = plan is None and not stoppable and not self._misled
        self._ordered = plain and self._keeps_order(waiting)
        self._in_virtual_time = plain and self._fits_virtual_time(placement)
        self._state = new_state(
            workload,
            self.layout,
            self.chains,
            self.policy.plan(in_units(workload, self.layout)) if self.policy.planner else self.policy.plan(workload),
            waiting,
            speeds,
            window_end=math.inf if repeat else self._limit,
            parameter=self.policy.value,
            directions=2 if self._buffering else 1,
        )
        self._beliefs: Beliefs | None = None
        self._search: Search | None = None
        if self._misled:
            self._beliefs, self._search = new_beliefs(information, workload, self.layout, self.chains, self.policy)
        self._alone = dedicated_on(workload, self.layout, self.chains, windowed=windowed and not repeat)
        self._measured = RunMeasures(workload, self.layout, self._alone, self.policy.name, windowed and not repeat)
        self._berths, self._berthed = self.layout.later or 0, 0
        self._repeats = repeat
        self._horizon = horizon
        self._check = check
        self._progress = progress
        self._segments: list[Trace] = []
        # A decision closes at most one segment for each place, a date at most one more.
        # Under a plan the trace of the buffers has the rates.
        rows = max(_TRACE_ROWS, 4 * self._state.floats.shape[1] + 4)
        self._trace = new_segments(rows if trace and plan is None else 0)
        self._turns = _FIRST_TURNS
        self._seconds = 0.0
        self._tier, self._fill, self._fills = self._buffers(trace)

    def _buffers(self, trace: bool) -> tuple[Tier | None, Records | None, list[Fill]]:
        """The tier of buffers, and room for its trace."""
        if self._buffering is None:
            return None, None, []
        buffer = self.workload.platform.buffer
        inflow = buffer.bandwidth if buffer is not None and buffer.bandwidth is not None else math.inf
        capacity = self._buffering.capacity(self.workload)
        if self._plan is None:
            wait_for_start(self._state)
        tier = new_tier(self._state, capacity, self._buffering.threshold, inflow)
        if self._plan is not None:
            fetch_from_origin(self._state, tier, self.workload.window[0] if self.workload.window else 0.0)
        return tier, new_fill(max(_TRACE_ROWS, 2 * len(self.workload.applications)) if trace else 0), []

    def _refuse(self, waiting: frozenset[int], placement: Sequence[Sequence[int]] | None, repeat: bool) -> None:
        """Refuse combinations that have no meaning."""
        place = f"policy {self.policy.name}"
        if self.policy.family != STATIC:
            return
        if waiting:
            raise InputError(place, "applications start later; its fixed order needs all at the start")
        if repeat:
            raise InputError(place, "chains repeat without end; expected a policy without an order of them all")
        if placement is not None:
            raise InputError(place, "its order is one of a link, not of I/O resources; expected a policy without one")
        if self._buffering is not None:
            raise InputError(place, "its order knows no buffer; expected a sharing or an exclusive policy")

    @property
    def _plain(self) -> bool:
        """Whether there are no rounds, no limits by direction and no buffer; degradation is not looked at."""
        return not (self._has_rounds or self.layout.has_direction_limits or self._buffering)

    def _fits_virtual_time(self, placement: Sequence[Sequence[int]] | None) -> bool:
        """Whether everyone has the same fraction of its cap, so that virtual time applies."""
        return self.policy.proportional and not self.policy.periodic and placement is None and self._plain

    def _keeps_order(self, waiting: frozenset[int]) -> bool:
        """Whether the policy's order can be kept from event to event.

        It needs plain transfers, one for each application, since a transfer on one store would change the key on
        others; and one common release where the policy divides by age.
        """
        order = self.policy.order
        if order is None or not self._plain or self._several_stores or self.workload.platform.degradation is not None:
            return False
        if len(self.workload.applications) < KEPT_FROM:
            return False
        releases = {application.release for application in self.workload.applications}
        return order.grain == 0.0 or (len(releases) == 1 and not waiting)

    @property
    def now(self) -> float:
        """The date that the run has reached, in seconds."""
        return float(self._state.clock[NOW])

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Run on to the next end of an application.

        Args:
            until: a date in seconds at which to stop if no application ends before.

        Returns:
            The positions of the applications that ended, ascending; () if the date or the end of the window came first.

        Raises:
            InputError: if the date is in the past.
            PolicyFault: if the policy fails or gives rates that the engine refuses.
        """
        if until < self.now:
            raise InputError("until", f"{until} s is past; expected {self.now} s or later")
        ends = self._state.counts[ENDS]
        self.go(until, ONE_ENDED)
        if self._repeats:
            return ()
        return tuple(sorted(self._state.own["ended"][ends : self._state.counts[ENDS]].tolist()))

    def finish(self) -> Result:
        """Run on to the end of the window, or of the last application, and measure.

        Raises:
            PolicyFault: if the policy fails or gives rates that the engine refuses.
        """
        self.go(math.inf, NEVER)
        return self.result()

    def start(self, index: int, resources: Sequence[int] | None = None) -> None:
        """Start the held application at position `index` now; this date becomes its release.

        Args:
            index: its position in the workload.
            resources: the I/O resources it uses, numbered from 0, in a run with `counts`.

        Raises:
            InputError: if the application at this position is not held, or cannot use these resources.
        """
        own = self._state.own
        if not 0 <= index < len(own) or own["status"][index] != HELD:
            raise InputError(f"applications[{index}]", "is not held; only a held application can be started")
        if (resources is None) != (self.layout.later is None):
            raise InputError("resources", f"{resources}: expected them where, and only where, the run has counts")
        if resources is not None:
            application, platform = self.workload.applications[index], self.workload.platform
            place_now(
                self._state,
                self.layout,
                self._tier,
                index,
                resources,
                lambda count: Use.of(application, platform, count).behind(self._buffering),
            )
            self._find_berth()
        own["status"][index] = WORKING if self._tier is None else COMING
        own["release"][index] = own["work_begin"][index] = self.now
        own["history"][index] = own["done"][index] = 0.0
        enter_heap(self._state, self.now + (own["work_length"][index] if self._tier is None else 0.0), index)

    def stop(self, index: int) -> None:
        """End the application at position `index` now, with what it has done; in a run that is `stoppable`.

        Args:
            index: its position in the workload.

        Raises:
            InputError: if it has not started or has ended, or the run is not stoppable.
        """
        state = self._state
        own = state.own
        if not self._stoppable or not 0 <= index < len(own) or own["status"][index] not in (WORKING, ACTIVE):
            raise InputError(f"applications[{index}]", "does not run, or its run is not stoppable; it cannot be stopped")
        books = {name: float(values[0]) for name, values in self.accounts(np.array([index])).items()}
        if own["status"][index] == ACTIVE:
            if len(self._trace):
                self._flush()  # there is room for its segments then
            compiled_withdraw()(state, record_of(self._terms(self.now, NEVER)), self._trace, index)
        else:
            leave_heap(state, index)
        own["done"][index], own["worked"][index] = books["progress"], books["worked"]
        own["moved"][index] = books["transferred"] / own["bytes"][index]
        own["io_seconds"][index], own["transfer_seconds"][index] = books["io_seconds"], books["transferring"]
        own["status"][index], own["end"][index] = ENDED, self.now
        own["ended"][state.counts[ENDS]] = index
        state.counts[ENDS] += 1

    def _find_berth(self) -> None:
        """Make room on the stores for one more application; count the places in use only when there may be too few."""
        if self._berthed >= self._berths:
            self._berthed = berths_in_use(self._state, self._tier)
            if 2 * self._berthed >= self._berths:
                self._berths = 2 * max(self._berths, self._berthed)
                self._state = widened(self._state, self.layout, self._berths, 2 if self._buffering else 1)
        self._berthed += 1

    def result(self) -> Result:
        """The measures at the date that the run has reached."""
        trace = self._full_trace() if len(self._trace) else None
        return self._measured.result(self._state, self._seconds, trace, self._buffer_result())

    def _buffer_result(self) -> BufferResult | None:
        if self._tier is None or self._buffering is None or self._fill is None:
            return None
        self._flush_fill()
        strands, size = self._tier.strands, len(self.workload.applications)

        def by_application(name: str, under_way: Floats | float = 0.0) -> Floats:
            amounts = (strands[name] + under_way) * strands["unit"]
            return np.bincount(strands["index"], amounts, minlength=size).astype(np.float64)

        capacity = self._tier.spaces["capacity"].copy()
        room, at_once = self._shares_at_once(capacity)
        return BufferResult(
            shares=capacity if self._buffering.shares is not None else None,
            pool=float(capacity[0]) if self._buffering.shares is None else None,
            threshold=self._buffering.threshold,
            direct_written=by_application("direct_written"),
            drained=by_application("drained"),
            direct_read=by_application("direct_read"),
            prefetched=by_application("prefetched", all_fetched(self._state, self._tier)),
            peaks=self._tier.spaces["peak"].copy(),
            carried=carried_beside(self._state, self._tier, self.layout),
            fill=joined_fill([*self._fills, self._present_fill()]) if len(self._fill) else None,
            room=room,
            at_once=at_once,
        )

    def _shares_at_once(self, shares: Floats) -> tuple[float | None, float | None]:
        """The size of the buffer, if known, and what the shares of living applications added up to at most.

        Raises InputError if invariants are checked and shares did not fit: how long an application lives, and so which
        shares count at one time, is known only after the run.
        """
        assert self._buffering is not None
        if self._buffering.shares is None:
            return None, None
        own, buffer = self._state.own, self.workload.platform.buffer
        starts = np.where((own["status"] == HELD) | (own["release"] > self.now), np.nan, own["release"])
        most = most_at_once(starts, own["end"], shares)
        room = buffer.size if buffer is not None else None
        if self._check and room is not None and exceeds(most.total, room):
            raise most.refused(shares, room)
        return room, most.total

    def _present_fill(self) -> Fill:
        """What is in the buffer now, a row for each application that has had anything there."""
        assert self._tier is not None
        strands, size = self._tier.strands, len(self.workload.applications)
        seen = np.unique(np.concatenate([fill.application for fill in self._fills]))
        contents = [
            np.bincount(strands["index"], amounts * strands["unit"], minlength=size)[seen]
            for amounts in (strands["outgoing"], strands["incoming"] + all_fetched(self._state, self._tier))
        ]
        rates = [strands[name][self._state.own["first_use"][seen]] for name in ("seen_write", "seen_read")]
        return Fill(seen, np.full(len(seen), self.now), *contents, *rates)

    def accounts(self, some: Ints | None = None) -> dict[str, Floats]:
        """What each application has done so far, by position: progress and work in seconds, bytes, seconds in I/O.

        Args:
            some: the positions of those that are asked about, in place of all.
        """
        return accounts(self._state, self.now, some)

    def seconds_alone(self, index: int) -> float:
        """Seconds that the application at position `index` takes alone, with the I/O resources that it uses."""
        own = self._state.own
        return float(self.workload.applications[index].lead + own["cycle"][index])

    def has_ended(self, index: int) -> bool:
        """Whether the application at position `index` has ended."""
        return bool(self._state.own["status"][index] == ENDED)

    @property
    def computing_seconds(self) -> float:
        """Seconds of computing time spent in the engine."""
        return self._seconds

    @property
    def events(self) -> int:
        """The events so far, as `Result.events` counts them."""
        return int(self._state.counts[EVENTS])

    def go(self, until: float, stop: int) -> None:
        """Run on until the date `until`, the end of the window, or the event `stop` (ONE_ENDED, ALL_TRANSFERRED)."""
        parts = self._parts()
        function = compiled_advance(parts)
        outcome = TURNS_MADE
        while outcome in (TURNS_MADE, TRACE_FULL):
            terms = record_of(self._terms(until, stop))
            begun = time.perf_counter()
            with interruptible():
                outcome = function(self._state, terms, self._trace, *parts)
            taken = time.perf_counter() - begun
            self._seconds += taken
            if self._search is not None and self._search.failure is not None:
                raise self._search.failure
            if outcome == TRACE_FULL:
                self._flush()
                self._flush_fill()
            elif outcome == TURNS_MADE:
                self._adjust_turns(taken)
        if outcome not in (LIMIT, STOPPED, NOTHING_LEFT):
            raise fault(outcome, self._state, self.workload, self.policy, on_resources=self.layout.placement is not None)

    def _parts(self) -> KernelParts:
        """The parts of the kernel for this run, and what each is given."""
        if self._in_virtual_time:
            return KernelParts(virtual_time=1)
        if self._ordered:
            return KernelParts(stores=1, key=self.policy.compiled_key())
        restraints = None if self._plain and self.workload.platform.degradation is None else 1
        policy = self.policy.compiled() if self._plan is None else None
        if self._tier is None:
            return KernelParts(stores=1, policy=policy, restraints=restraints, beliefs=self._beliefs)
        return KernelParts(policy=policy, restraints=1, tier=self._tier, plan=self._plan, fill=self._fill)

    def _adjust_turns(self, seconds: float) -> None:
        """Report progress, and set the turns of the next call so that it takes about `_STRETCH_SECONDS`."""
        if seconds < _STRETCH_SECONDS / 2.0:
            self._turns *= 2
        elif seconds > 2.0 * _STRETCH_SECONDS:
            self._turns = max(1, self._turns // 2)
        if self._progress is not None:
            self._progress(self.now)

    def _terms(self, until: float, stop: int) -> Terms:
        order = self.policy.order if self._ordered else None
        return Terms(
            limit=min(self._limit, until),
            delta=self._delta if self.policy.periodic else 0.0,
            origin=self.workload.begin,
            grain=order.grain if order else 0.0,
            common_release=self.workload.applications[0].release,
            lent=self._lent,
            serves=order.serves if order else 0,
            stop=stop,
            turns=self._turns,
            check=self._check,
            has_rounds=self._has_rounds,
            degrading=self.workload.platform.degradation is not None,
            by_direction=self.layout.has_direction_limits or self._tier is not None,
            several_stores=self._tier is None and self._several_stores,
            repeats=self._repeats,
            shows=not self.policy.built_in or bool(_DONE_SO_FAR & set(self.policy.needs)),
        )

    @property
    def _delta(self) -> float:
        """Seconds between periodic decisions; by default there are as many decisions as I/O events (000 eq. 5)."""
        if self.policy.delta is not None:
            return self.policy.delta
        if self._horizon is None:
            return self._alone.default_delta
        within = float(np.dot(self.chains.operations, np.maximum(1.0, self._horizon / self.chains.cycle)))
        return self._horizon / (2.0 * within) if within > 0.0 else 0.0

    def _directions(self, places: Ints) -> Ints:
        """READ or WRITE of the transfers in these places."""
        state = self._state
        if self._tier is not None:
            writes = state.integers[TRANSFER, places] >= len(self._tier.strands)
        else:
            writes = state.kinds[state.own["cursor"][state.integers[INDEX, places]] - 1] != READ
        return np.where(writes, WRITE, READ)

    def _flush(self) -> None:
        self._segments.append(as_trace(self._trace, int(self._state.counts[SEGMENTS])))
        self._state.counts[SEGMENTS] = 0

    def _flush_fill(self) -> None:
        if self._tier is not None and self._fill is not None:
            self._fills.append(as_fill(self._fill, int(self._state.counts[ROWS])))
            self._state.counts[ROWS] = 0

    def _full_trace(self) -> Trace:
        """All segments so far, those still open closed at the present date, ordered by begin."""
        self._flush()
        state = self._state
        stores = state.stores[: self.layout.stores]
        ranges = zip(stores["middle"] - stores["down"], stores["middle"] + stores["up"], strict=True)
        places = np.concatenate([np.arange(begin, end) for begin, end in ranges])
        places = places[state.floats[SEGMENT_BEGIN, places] < self.now]
        still_open = Trace(
            state.integers[INDEX, places],
            state.floats[SEGMENT_BEGIN, places],
            np.full(len(places), self.now),
            state.floats[SEGMENT_RATE, places] * state.floats[UNIT, places],
            state.transfers["store"][state.integers[TRANSFER, places]],
            self._directions(places),
        )
        return joined([*self._segments, still_open])


def prepare(policy: Policy, applications: int) -> None:
    """Compile, or load from the cache, what plain runs of so many applications under the policy need.

    Worker processes call it once, so that no run has to wait for the compiler.
    """
    if policy.proportional and not policy.periodic:
        compiled_advance(KernelParts(virtual_time=1))
        return
    kept = policy.order is not None and applications >= KEPT_FROM
    if kept:
        compiled_advance(KernelParts(stores=1, key=policy.compiled_key()))
    if policy.order is None or not kept or policy.order.grain > 0.0:
        compiled_advance(KernelParts(stores=1, policy=policy.compiled()))


def simulate(workload: Workload, policy: Policy | str, **options: Any) -> Result:
    """Run a workload under a policy to the end of its window, or of its applications.

    Args:
        workload: what runs.
        policy: a policy or its name; `penstock policies` lists the names.
        options: those of `Run`, by name.

    Returns:
        Yields, efficiency, makespan and the account of every application.

    Raises:
        InputError: for a policy or an option that is unknown or does not fit the workload.
        PolicyFault: if the policy fails or gives rates that the engine refuses.

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> from penstock.engine import simulate
        >>> chain = [("work", 10.0), ("io", 5.0)]
        >>> workload = Workload(Platform(1.0), (Application.of("a", chain), Application.of("b", chain)))
        >>> [application.end for application in simulate(workload, "fcfs").applications]
        [15.0, 20.0]
        >>> [application.end for application in simulate(workload, "fair-share").applications]
        [20.0, 20.0]
    """
    return Run(workload, policy, **options).finish()
