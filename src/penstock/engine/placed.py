"""Running applications that are placed on I/O resources, and what that costs them (002 §III.C).

Applications repeat their chains, and the measures are taken on the interval [0, T] from the begin: T is the horizon, or the
end of the slowest first I/O operation where that is later. An operation under way counts with its elapsed time and what it
has moved. The paper's own interval ends with the first application; it is of use only if all have completed an operation.
Some policies may keep an application waiting for ever: a run goes on no longer than `PATIENCE` says.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from penstock.engine import slots
from penstock.engine.loop import LIMIT, STARVED
from penstock.engine.resource_loop import (
    ALL_TRANSFERRED,
    NEVER,
    ONE_ENDED,
    WITHOUT_TRANSFER,
    Conditions,
    Resources,
    compiled_advance,
    new_resources,
)
from penstock.engine.state import EVENTS, FAULT_SLOT, FAULT_VALUE, NOW, State, new_state
from penstock.model import InputError, Phases, Platform, PolicyFault, Workload
from penstock.model.phases import WORK
from penstock.policies.guard import failure
from penstock.policies.naming import find
from penstock.policies.plan import Plan
from penstock.policies.policy import STATIC, Policy
from penstock.policies.view import Floats, Ints

Placement: TypeAlias = tuple[tuple[int, ...], ...]
"""For each application the resources it uses, numbered from 0."""

HORIZON: Final = 5000.0
"""Seconds that are measured at least (002 §V.C)."""
STEADY: Final = "steady"
FIRST_END: Final = "first-end"
INTERVALS: Final = (STEADY, FIRST_END)
MOST_RESOURCES: Final = 100_000
MOST_OPERATIONS: Final = 1e9
PATIENCE: Final = 10.0
"""Everyone's first operation is waited for this many times as long as the longest chain can take where all share equally."""


@dataclass(frozen=True)
class PlacedApplication:
    """One application over the interval; times in seconds."""

    name: str
    resources: tuple[int, ...]
    transferred: float
    """Bytes moved."""
    io_seconds: float
    """Seconds in I/O operations."""
    operations: int
    """Operations completed."""
    allocation_slowdown: float | None
    """ρ_io = b(n_perf) / b(n): what it pays for not having its best number of resources; None if it has not come to I/O."""
    congestion_slowdown: float | None
    """ρ_con: what it pays for sharing them; infinite if it has only waited, None if it has not come to I/O."""

    @property
    def slowdown(self) -> float | None:
        """ρ: time of its I/O over what it would take alone with its best number of resources (002 eq. 4)."""
        if self.allocation_slowdown is None or self.congestion_slowdown is None:
            return None
        return self.allocation_slowdown + self.congestion_slowdown

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {
            "name": self.name,
            "resources": list(self.resources),
            "transferred": self.transferred,
            "io_seconds": self.io_seconds,
            "operations": self.operations,
            "slowdown": _finite(self.slowdown),
            "allocation_slowdown": self.allocation_slowdown,
            "congestion_slowdown": _finite(self.congestion_slowdown),
        }


@dataclass(frozen=True)
class PlacedResult:
    """The outcome of a placement over an interval of `duration` seconds."""

    policy: str
    duration: float
    valid: bool
    """Whether every application that does I/O completed an operation in the interval; the steady interval makes sure, unless
    the policy keeps somebody waiting for ever.
    """
    applications: tuple[PlacedApplication, ...]
    occupancy: tuple[float, ...]
    """O_i of every resource: the part of the time that it is moving data."""
    idle_time: float
    """Machine-IdleTime: the part of the machine's node-seconds spent in I/O."""
    events: int
    """Operations posted, operations completed, periodic decisions."""
    seconds: float
    """Time spent in the engine."""

    @property
    def slowdowns(self) -> Floats:
        """ρ of the applications that have come to I/O, in the order of the workload."""
        return np.array([a.slowdown for a in self.applications if a.slowdown is not None])

    @property
    def mean_slowdown(self) -> float:
        """Mean-I/O-SlowDown (002 eq. 4); 1 if nobody does I/O."""
        return float(self.slowdowns.mean()) if len(self.slowdowns) else 1.0

    @property
    def max_slowdown(self) -> float:
        """Max-I/O-SlowDown; 1 if nobody does I/O."""
        return float(self.slowdowns.max(initial=1.0))

    @property
    def mean_allocation_slowdown(self) -> float:
        """The mean of ρ_io; 1 if nobody does I/O."""
        parts = [a.allocation_slowdown for a in self.applications if a.allocation_slowdown is not None]
        return float(np.mean(parts)) if parts else 1.0

    @property
    def mean_congestion_slowdown(self) -> float:
        """The mean of ρ_con; 0 if nobody does I/O."""
        parts = [a.congestion_slowdown for a in self.applications if a.congestion_slowdown is not None]
        return float(np.mean(parts)) if parts else 0.0

    @property
    def spread(self) -> float:
        """I/O-spread: the largest occupancy minus the smallest (002 eq. 5)."""
        return max(self.occupancy) - min(self.occupancy)

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "policy": self.policy,
            "duration": self.duration,
            "valid": self.valid,
            "mean_slowdown": _finite(self.mean_slowdown),
            "max_slowdown": _finite(self.max_slowdown),
            "mean_allocation_slowdown": self.mean_allocation_slowdown,
            "mean_congestion_slowdown": _finite(self.mean_congestion_slowdown),
            "spread": self.spread,
            "idle_time": self.idle_time,
            "occupancy": list(self.occupancy),
            "events": self.events,
            "seconds": self.seconds,
            "applications": [application.to_dict() for application in self.applications],
        }


def _finite(number: float | None) -> float | None:
    """The number as JSON has it: None if it is infinite."""
    return number if number is not None and math.isfinite(number) else None


def simulate_placement(
    workload: Workload,
    placement: Sequence[Sequence[int]],
    policy: Policy | str = "best-effort",
    *,
    horizon: float = HORIZON,
    interval: str = STEADY,
) -> PlacedResult:
    """Run the applications on the resources they are placed on; each resource is shared by the policy.

    Equal sharing of a resource's time, the paper's, is best-effort. The run begins with the workload's window, or without
    one with the earliest release.
    """
    chosen = usable_policy(policy)
    require_measurable(horizon, interval)
    size = resources_of(workload)
    mapping = _checked(workload, placement, size)
    counts = np.array([len(used) for used in mapping])
    curves = curves_of(workload)
    state = _state(workload, chosen, counts, curves)
    cycle = _seconds_of_chains(state)
    operations = np.add.reduceat((state.kinds != WORK) & (state.amounts > 0.0), state.first[:-1], dtype=np.int64)
    longest = float((state.work_begin - workload.begin + state.work_length + cycle).max())
    _refuse_endless(np.diff(state.first), cycle, max(horizon, longest) if interval == STEADY else 0.0)
    resources = new_resources(mapping, size, workload.begin, cycle, int(np.count_nonzero(operations)))
    run = _Run(workload, chosen, state, resources, _delta(chosen, operations, cycle, horizon))
    if interval == FIRST_END:
        run.go(math.inf, ONE_ENDED)
    else:
        run.go(workload.begin + horizon, NEVER)
        sharing = int(np.diff(resources.row).max())
        run.go(workload.begin + PATIENCE * sharing * longest, ALL_TRANSFERRED)
    return _measured(run, mapping, counts, curves)


def usable_policy(policy: Policy | str) -> Policy:
    """The policy, if it can share a resource."""
    chosen = find(policy) if isinstance(policy, str) else policy
    if chosen.family == STATIC:
        raise InputError(
            f"policy {chosen.name}", "chains repeat without end; expected a policy without an order of them all"
        )
    return chosen


def require_measurable(horizon: float, interval: str) -> None:
    """Refuse what cannot be measured."""
    if interval not in INTERVALS:
        raise InputError("interval", f"{interval!r} is unknown; expected {' or '.join(INTERVALS)}")
    if not 0.0 < horizon < math.inf:
        raise InputError("horizon", f"{horizon} s are no horizon; expected a finite number of seconds above 0")


def resources_of(workload: Workload) -> int:
    """N, the number of I/O resources of the platform."""
    workload.require_plain_link("I/O resources")
    if workload.platform.resources is None:
        raise InputError("platform", "the key 'resources' is missing; expected the number of I/O resources")
    if workload.platform.resources > MOST_RESOURCES:
        count = workload.platform.resources
        raise InputError("platform.resources", f"{count:,} I/O resources are too many; expected at most {MOST_RESOURCES:,}")
    return workload.platform.resources


def curves_of(workload: Workload) -> Floats:
    """b_j(n) in bytes/s: row j has the bandwidth of application j with 1, …, N resources."""
    rows = []
    for index, application in enumerate(workload.applications):
        if application.curve is None:
            expected = 'expected {"1": bytes/s, "2": bytes/s, …} by number of I/O resources'
            raise InputError(f"applications[{index}]", f"the key 'curve' is missing; {expected}")
        rows.append(application.curve.upto(resources_of(workload)))
    return np.array(rows)


def in_resource_seconds(workload: Workload, counts: Sequence[int]) -> Workload:
    """The workload as one resource sees it: I/O in resource-seconds where application j uses counts[j] of the resources,
    and a link of one resource-second a second.
    """
    curves = curves_of(workload)
    return Workload(
        Platform(1.0),
        tuple(
            replace(
                application,
                phases=_scaled(application.phases, float(curves[index, count - 1])),
                bandwidth=None,
                nominal=None if (a := application.nominal) is None else (a[0], a[1] / float(curves[index, count - 1])),
            )
            for index, (application, count) in enumerate(zip(workload.applications, counts, strict=True))
        ),
        workload.window,
    )


def _scaled(phases: Phases, bandwidth: float) -> Phases:
    return Phases(phases.kinds, np.where(phases.kinds == WORK, phases.amounts, phases.amounts / bandwidth))


def _state(workload: Workload, policy: Policy, counts: Ints, curves: Floats) -> State:
    """The state of `in_resource_seconds` at the begin, without its copies of all applications, which take longer than the
    rest of what comes before a run.
    """
    plan = policy.plan(in_resource_seconds(workload, counts.tolist())) if policy.planner is not None else Plan()
    state = new_state(workload, frozenset(), plan, int(counts.sum()))
    transfers = state.kinds != WORK
    state.amounts[transfers] /= np.repeat(_at(curves, counts), np.diff(state.first))[transfers]
    state.cap[:] = 1.0
    state.whole[:] = state.done + state.work_length + _seconds_of_chains(state)
    return state


def _at(curves: Floats, counts: Ints) -> Floats:
    """b_j(n_j) in bytes/s."""
    at: Floats = curves[np.arange(len(counts)), counts - 1]
    return at


def _seconds_of_chains(state: State) -> Floats:
    """How long each chain takes alone on its resources."""
    seconds: Floats = np.add.reduceat(state.amounts, state.first[:-1])
    return seconds


def _checked(workload: Workload, placement: Sequence[Sequence[int]], size: int) -> Placement:
    if len(placement) != len(workload.applications):
        expected = f"expected one for each of {len(workload.applications)} applications"
        raise InputError("placement", f"{len(placement)} lists of resources; {expected}")
    for index, used in enumerate(placement):
        place = f"placement[{index}]"
        if len(used) == 0:
            raise InputError(place, "no I/O resource; expected at least 1")
        numbers = all(isinstance(resource, int | np.integer) and 0 <= resource < size for resource in used)
        if not numbers or len(set(used)) != len(used):
            raise InputError(place, f"{list(used)} are not different I/O resources; expected numbers from 0 to {size - 1}")
    return tuple(tuple(int(resource) for resource in used) for used in placement)


def _refuse_endless(lengths: Ints, cycle: Floats, seconds: float) -> None:
    """One clear line for chains that would be repeated without end, or almost, in so many seconds."""
    for index in np.flatnonzero((cycle == 0.0) | (lengths * seconds > MOST_OPERATIONS * cycle)).tolist():
        place = f"applications[{index}]"
        if cycle[index] == 0.0:
            raise InputError(place, "it neither works nor transfers; expected a chain that takes some time")
        raise InputError(
            place,
            f"its chain of {cycle[index]:g} s is too short to be repeated for {seconds:g} s; expected a longer one",
        )


def _delta(policy: Policy, operations: Ints, cycle: Floats, horizon: float) -> float:
    """δ of periodic decisions, by default as many as there are I/O events within the horizon (000 eq. 5)."""
    if not policy.periodic:
        return 0.0
    within = float(np.dot(operations, np.maximum(1.0, horizon / cycle)))
    return policy.delta or (horizon / (2.0 * within) if within > 0.0 else 0.0)


@dataclass
class _Run:
    """The compiled loop on its way."""

    workload: Workload
    policy: Policy
    state: State
    resources: Resources
    delta: float
    seconds: float = 0.0

    @property
    def now(self) -> float:
        return float(self.state.clock[NOW])

    def go(self, limit: float, stop: int) -> None:
        conditions = Conditions(self.policy.value, limit, self.delta, self.workload.begin, stop)
        function, policy = compiled_advance(), self.policy.compiled()
        begun = time.perf_counter()
        outcome = function(self.state, self.resources, conditions, policy)
        self.seconds += time.perf_counter() - begun
        if outcome != LIMIT:
            raise PolicyFault(f"policy {self.policy.name}: at {self.now} s {self._explain(outcome)}")

    def _explain(self, outcome: int) -> str:
        if outcome == STARVED:
            return "it gives no bandwidth to anyone and nothing else will happen; expected a rate above 0"
        value = float(self.state.clock[FAULT_VALUE])
        if outcome == slots.RATES_ABOVE_BANDWIDTH:
            return f"its rates on an I/O resource add up to {value}; expected at most 1"
        slot = int(self.state.counts[FAULT_SLOT])
        who = f"application {self.workload.applications[int(self.state.slot_index[slot])].name!r}"
        if outcome == slots.RATE_NOT_A_NUMBER:
            return self._failure(slot) or f"it gave {who} no rate or one that is not a number; expected 0 to 1"
        return f"it gave {who} the rate {value}; expected 0 to 1"

    def _failure(self, slot: int) -> str | None:
        """The exception that the policy raises for the resource of the slot, if it does."""
        resource = int(np.searchsorted(self.resources.row, slot, side="right")) - 1
        begin = int(self.resources.row[resource])
        end = begin + int(self.resources.active[resource])
        return failure(self.policy.rates, slots.view_of(self.state, begin, end, 1.0, math.inf, self.policy.value))


def _measured(run: _Run, placement: Placement, counts: Ints, curves: Floats) -> PlacedResult:
    """The measures at the present date of the run."""
    workload, state, resources = run.workload, run.state, run.resources
    duration = run.now - workload.begin
    pending = resources.pending > 0
    io_seconds = state.io_seconds + np.where(pending, run.now - resources.began, 0.0)
    alone = state.moved + np.where(pending, resources.moved / counts, 0.0)
    """Seconds that what was moved takes with nobody else on the resources."""
    bandwidth = _at(curves, counts)
    allocation = curves.max(axis=1) / bandwidth
    applications = []
    for index, application in enumerate(workload.applications):
        begun = io_seconds[index] > 0.0
        congestion = math.inf
        if alone[index] > 0.0:  # what is below 0 is rounding: nobody is faster than alone
            congestion = max(0.0, float(allocation[index] * (io_seconds[index] / alone[index] - 1.0)))
        applications.append(
            PlacedApplication(
                name=application.name,
                resources=placement[index],
                transferred=float(alone[index] * bandwidth[index]),
                io_seconds=float(io_seconds[index]),
                operations=int(state.operations[index]),
                allocation_slowdown=float(allocation[index]) if begun else None,
                congestion_slowdown=congestion if begun else None,
            )
        )
    machine = workload.platform.nodes or int(sum(application.nodes for application in workload.applications))
    return PlacedResult(
        policy=run.policy.name,
        duration=duration,
        valid=int(resources.counts[WITHOUT_TRANSFER]) == 0,
        applications=tuple(applications),
        occupancy=tuple(float(busy) / duration for busy in resources.busy),
        idle_time=float(np.dot(io_seconds, state.nodes)) / (duration * machine),
        events=int(state.counts[EVENTS]),
        seconds=run.seconds,
    )
