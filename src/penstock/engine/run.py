"""Running a workload under a policy, to the end or from one end of an application to the next."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.engine import loop
from penstock.engine.dedicated import dedicated
from penstock.engine.faults import fault
from penstock.engine.loop import Terms, Trace, new_trace
from penstock.engine.result import Result, accounts, measure
from penstock.engine.state import ENDED, FAULT_SLOT, HELD, NOW, SEGMENTS, SLOTS, WORKING, fill_heap, new_state
from penstock.engine.virtual_time import compiled_advance_together
from penstock.model import InputError, Workload
from penstock.policies.naming import find
from penstock.policies.policy import STATIC, Policy
from penstock.policies.view import Floats

_TRACE_ROWS = 65_536


class Run:
    """A workload on its way under a policy.

    `trace` records the rates, `check` the invariants after every event. The `held` applications do not start by themselves
    but when `start` says so: a batch scheduler advances to the next end of an application, decides, and goes on. ::

        run = Run(workload, "greedy-yield", held={2})
        run.advance()          # to the first end of an application
        run.start(2)           # the application at position 2 starts now
        result = run.finish()
    """

    def __init__(
        self,
        workload: Workload,
        policy: Policy | str,
        *,
        trace: bool = False,
        check: bool = False,
        held: Iterable[int] = (),
    ) -> None:
        self.workload = workload
        self.policy = find(policy) if isinstance(policy, str) else policy
        waiting = frozenset(held)
        if not waiting <= set(range(len(workload.applications))):
            raise InputError("held", f"{sorted(waiting)} are not all positions of applications in the workload")
        if waiting and self.policy.family == STATIC:
            raise InputError(
                f"policy {self.policy.name}", "applications start later; expected all at the begin, for its order"
            )
        self._state = new_state(workload, waiting, self.policy.plan(workload))
        self._alone = dedicated(workload)
        self._check = check
        self._segments: list[Trace] = []
        # A decision closes at most one segment for each active application, a date at most one more.
        self._trace = new_trace(max(_TRACE_ROWS, 4 * len(workload.applications) + 4) if trace else 0)
        self._seconds = 0.0

    @property
    def now(self) -> float:
        """The date the run has come to, in seconds."""
        return float(self._state.clock[NOW])

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of an application, at most to the date `until`; returns the positions of the ended."""
        if until < self.now:
            raise InputError("until", f"{until} s is past; expected {self.now} s or later")
        before = self._state.status == ENDED
        self._go(until, stop_at_end=True)
        return tuple(int(index) for index in np.flatnonzero((self._state.status == ENDED) & ~before))

    def finish(self) -> Result:
        """Go on to the end of the window, or of the last application, and measure."""
        self._go(math.inf, stop_at_end=False)
        return self.result()

    def start(self, index: int) -> None:
        """Start a held application now: its release and the begin of its phases."""
        state = self._state
        if not 0 <= index < len(state.status) or state.status[index] != HELD:
            raise InputError(f"applications[{index}]", "is not held; only a held application can be started")
        state.status[index] = WORKING
        state.release[index] = state.work_begin[index] = self.now
        state.history[index] = state.done[index] = 0.0
        fill_heap(state)

    def result(self) -> Result:
        """The measures at the present date."""
        trace = self._whole_trace() if len(self._trace.application) else None
        return measure(self.workload, self._state, self._alone, self.policy.name, self._seconds, trace)

    def accounts(self) -> dict[str, Floats]:
        """What each application has done so far, by position: progress and work in seconds, bytes, seconds in I/O."""
        return accounts(self._state, self.now)

    def _go(self, until: float, *, stop_at_end: bool) -> None:
        policy: tuple[Any, ...] = ()
        if self.policy.proportional and not self.policy.periodic:
            function = compiled_advance_together()
        else:
            function, policy = loop.compiled_advance(), (self.policy.compiled(),)
        terms = self._terms(until, stop_at_end)
        while True:
            begun = time.perf_counter()
            outcome = function(self._state, terms, self._trace, *policy)
            self._seconds += time.perf_counter() - begun
            if outcome != loop.TRACE_FULL:
                break
            self._flush()
        if outcome not in (loop.LIMIT, loop.APPLICATION_ENDED, loop.NOTHING_LEFT):
            application = self.workload.applications[int(self._state.slot_index[self._state.counts[FAULT_SLOT]])]
            raise fault(outcome, self._state, terms, self.policy, f"application {application.name!r}")

    def _terms(self, until: float, stop_at_end: bool) -> Terms:
        window_end = self.workload.window[1] if self.workload.window else math.inf
        delta = 0.0
        if self.policy.periodic:
            delta = self.policy.delta or self._alone.default_delta
        return Terms(
            bandwidth=self.workload.platform.bandwidth,
            window_end=window_end,
            parameter=self.policy.value,
            limit=min(window_end, until),
            delta=delta,
            origin=self.workload.begin,
            stop_at_end=stop_at_end,
            check=self._check,
            grained=any(application.rounds is not None for application in self.workload.applications),
            degrading=self.workload.platform.degradation is not None,
        )

    def _flush(self) -> None:
        rows = int(self._state.counts[SEGMENTS])
        self._segments.append(self._trace.rows(slice(rows)))
        self._state.counts[SEGMENTS] = 0

    def _whole_trace(self) -> Trace:
        """All segments so far, those still open closed at the present date, ordered by begin."""
        self._flush()
        state = self._state
        active = np.flatnonzero(state.slot_segment_begin[: state.counts[SLOTS]] < self.now)
        still_open = Trace(
            state.slot_index[active],
            state.slot_segment_begin[active],
            np.full(len(active), self.now),
            state.slot_segment_rate[active],
        )
        parts = [*self._segments, still_open]
        trace = Trace(
            np.concatenate([part.application for part in parts]),
            np.concatenate([part.begin for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.rate for part in parts]),
        )
        return trace.rows(np.lexsort((trace.application, trace.begin)))


def simulate(workload: Workload, policy: Policy | str, *, trace: bool = False, check: bool = False) -> Result:
    """Run the workload under the policy, given by name or as an object, to the end of its window or of its applications."""
    return Run(workload, policy, trace=trace, check=check).finish()
