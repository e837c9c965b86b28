"""What is known before a run: its state at the start, and what each application would do alone.

Alone on the platform, every transfer goes at its cap (000 §3.2.2 and §6.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.machine import Layout, layout_of, seconds_of_phases
from penstock.engine.state import (
    BANDWIDTH,
    CLOCKS,
    COMING,
    COUNTS,
    FLOAT_ROWS,
    HEAP,
    HELD,
    INTEGER_ROWS,
    NOW,
    STORES,
    STRANDS,
    WITHOUT_TRANSFER,
    WORKING,
    Records,
    State,
    new_entries,
    new_own,
    new_stores,
    new_transfers,
)
from penstock.model import Workload
from penstock.model.application import WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.policies.order import ServiceOrder
from penstock.policies.view import ROW


@dataclass(frozen=True, eq=False)
class Chains:
    """The phases of all applications, one after the other, in seconds and units, and how long each takes alone."""

    kinds: NDArray[np.uint8]
    amounts: Floats
    lengths: list[int]
    seconds: Floats

    @property
    def first(self) -> NDArray[np.int64]:
        """Where the chain of each application begins; and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def cycle(self) -> Floats:
        """Seconds of each chain alone."""
        seconds: Floats = np.add.reduceat(self.seconds, self.first[:-1])
        return seconds

    @property
    def operations(self) -> NDArray[np.int64]:
        """Operations of each chain that ask for bandwidth."""
        asks = (self.kinds != WORK) & (self.amounts > 0.0)
        counts: NDArray[np.int64] = np.add.reduceat(asks, self.first[:-1], dtype=np.int64)
        return counts


def chains_of(workload: Workload, layout: Layout, write_speed: Floats, read_speed: Floats) -> Chains:
    """The chains of the `workload` in units of the `layout`, at its `write_speed` and `read_speed` in units/s."""
    applications = workload.applications
    lengths = [len(application.phases) for application in applications]
    kinds = np.concatenate([application.phases.kinds for application in applications])
    amounts = layout.amounts(workload)
    return Chains(kinds, amounts, lengths, seconds_of_phases(kinds, amounts, lengths, write_speed, read_speed))


def new_state(
    workload: Workload,
    layout: Layout,
    chains: Chains,
    plan: ServiceOrder,
    held: frozenset[int],
    speeds: tuple[Floats, Floats],
    *,
    window_end: float,
    parameter: float,
    directions: int,
) -> State:
    """Make the state at the start of a run.

    Args:
        workload: the applications and their platform.
        layout: the stores, and what each application can use of them.
        chains: the phases of all applications.
        plan: the order that the policy has planned, if it plans one.
        held: positions of the applications that wait until `Run.start`.
        speeds: units/s at which each application writes, and reads, where nothing holds it up.
        window_end: T_end in seconds, as policies see it.
        parameter: the parameter of the policy.
        directions: transfers that each strand can have at one time, 1 or 2.
    """
    size = len(workload.applications)
    strands = int(layout.counts.sum())
    transfers = directions * strands
    sides = sides_of(layout, directions)
    degradation = workload.platform.degradation
    own = _own(workload, layout, chains, plan, held, speeds)
    most = transfers if layout.later is None else layout.stores * layout.later * directions
    transferring = new_transfers(max(transfers, most))
    transferring["place"] = -1
    room = columns(sides, most // directions, len(transferring))
    state = State(
        own=own,
        stores=_stores(layout, directions, sides, workload.begin, transferring),
        transfers=transferring,
        queue=new_entries(size),
        finishes=new_entries(size),
        kinds=chains.kinds,
        amounts=chains.amounts,
        turns=plan.turns if plan.turns is not None else np.zeros(0, np.int64),
        degradation=np.ones(transfers) if degradation is None else degradation.upto(transfers),
        floats=np.zeros((FLOAT_ROWS, room)),
        integers=np.zeros((INTEGER_ROWS, room), np.int64),
        clock=np.zeros(CLOCKS),
        counts=np.zeros(COUNTS, np.int64),
    )
    state.clock[NOW] = workload.begin
    state.clock[ROW["window_end"]] = window_end
    state.clock[ROW["parameter"]] = parameter
    state.clock[BANDWIDTH] = layout.limits[0]
    state.counts[STORES] = layout.stores
    state.counts[STRANDS] = strands
    state.counts[WITHOUT_TRANSFER] = np.count_nonzero(chains.operations)
    fill_heap(state)
    return state


def sides_of(layout: Layout, directions: int) -> int:
    """2 where the tables of a `layout` tell reads and writes apart, else 1; a strand has 1 or 2 `directions`."""
    return 2 if directions == 2 or layout.has_direction_limits else 1


def columns(sides: int, places: int, transfers: int) -> int:
    """Columns of the tables for so many `places` on each of the `sides`, and room to ask about all `transfers` on two."""
    # Rows of a power of 2 would all fall into the same lines of the processor's cache.
    return (sides * places + (transfers if sides == 2 else 0) + 15) // 8 * 8


def _own(
    workload: Workload,
    layout: Layout,
    chains: Chains,
    plan: ServiceOrder,
    held: frozenset[int],
    speeds: tuple[Floats, Floats],
) -> Records:
    applications = workload.applications
    size = len(applications)
    own = new_own(size)
    begin = workload.begin

    def of(values: Any) -> Floats:
        return np.fromiter(values, np.float64, size)

    release = of(a.release for a in applications)
    start = np.maximum(release, begin)
    elapsed = start - release
    given = [a.progress for a in applications]
    own["release"] = release
    own["status"] = WORKING
    own["status"][list(held)] = HELD
    own["history"] = own["done"] = [e if g is None else g for e, g in zip(elapsed.tolist(), given, strict=True)]
    own["work_begin"] = start
    own["work_length"] = of(a.lead for a in applications)
    pasts = [a.past or (0, 0.0) for a in applications]
    own["past_iterations"] = [count for count, _ in pasts]
    own["past_seconds"] = [count * seconds for count, seconds in pasts]
    own["nodes"] = of(a.nodes for a in applications)
    own["rounds"] = of(a.rounds or 0 for a in applications)
    own["weight"] = of(1.0 if a.weight is None else a.weight for a in applications)
    own["user"] = _numbers([a.user for a in applications])
    own["group"] = _numbers([a.group for a in applications])
    own["first"] = own["cursor"] = chains.first[:-1]
    own["last"] = chains.first[1:]
    own["upcoming"] = chains.amounts[chains.first[:-1]]
    own["cycle"] = chains.cycle
    own["whole"] = own["done"] + own["work_length"] + own["cycle"]
    own["uses"] = layout.counts
    own["first_use"] = np.cumsum(layout.counts) - layout.counts
    own["bytes"] = layout.bytes
    own["write_cap"], own["read_cap"] = layout.write_cap, layout.read_cap
    own["write_speed"], own["read_speed"] = speeds
    own["rank"] = 0.0 if plan.rank is None else plan.rank
    own["end"] = np.nan
    return own


def _numbers(names: list[str | None]) -> Ints:
    """A number for each name; those without a name have numbers of their own."""
    number: dict[object, int] = {}
    return np.array([number.setdefault(place if name is None else name, len(number)) for place, name in enumerate(names)])


def _stores(layout: Layout, directions: int, sides: int, begin: float, transfers: Records) -> Records:
    """The stores; the store of each transfer is written down there."""
    leaves = 1 << max(0, (layout.stores - 1).bit_length())
    records = new_stores(2 * leaves)
    records["node"] = np.inf
    stores = records[: layout.stores]
    caps = np.maximum(layout.write_cap, layout.read_cap)
    if layout.later is not None:
        strands = np.full(layout.stores, layout.later)
        stores["widest"] = caps.max()
    else:
        if layout.placement is None:
            uses = np.zeros(len(layout.counts), np.int64)
        else:
            uses = np.array([resource for used in layout.placement for resource in used], np.int64)
        transfers["store"] = np.tile(uses, directions)
        strands = np.bincount(uses, minlength=layout.stores)
        np.maximum.at(stores["widest"], uses, np.repeat(caps, layout.counts))
    divide_places(stores, strands, directions, sides)
    stores["since"] = begin
    stores["finish"] = stores["round_end"] = np.inf
    stores["total"], stores["write"], stores["read"] = layout.limits
    return records


def divide_places(stores: NDArray[Any], strands: Ints, directions: int, sides: int) -> None:
    """Give each of the `stores` its places and its entries of lists, for so many `strands`, `directions` and `sides`."""
    before = np.cumsum(strands) - strands
    stores["row"] = directions * before
    stores["middle"] = before if sides == 1 else 2 * before + strands


def wait_for_start(state: State) -> None:
    """Make the start of every application an event of `state`: with buffers it may prefetch from then on."""
    own = state.own
    own["status"][own["status"] == WORKING] = COMING
    fill_heap(state)


def enter_heap(state: State, date: float, index: int) -> None:
    """Put the event of application `index` at this `date` into the heap of `state`."""
    dates, indexes, hole = state.queue["time"], state.queue["index"], int(state.counts[HEAP])
    while hole > 0 and dates[(hole - 1) >> 1] > date:
        above = (hole - 1) >> 1
        dates[hole], indexes[hole] = dates[above], indexes[above]
        hole = above
    dates[hole], indexes[hole] = date, index
    state.counts[HEAP] += 1


def fill_heap(state: State) -> None:
    """Put the ends of all work phases under way, and the starts to come, into the heap of `state`. A sorted list is one."""
    own = state.own
    started = np.flatnonzero((own["status"] == WORKING) | (own["status"] == COMING))
    length = np.where(own["status"] == COMING, 0.0, own["work_length"])
    ends = (own["work_begin"] + length)[started]
    order = np.argsort(ends, kind="stable")
    state.queue["time"][: len(started)] = ends[order]
    state.queue["index"][: len(started)] = started[order]
    state.counts[HEAP] = len(started)


@dataclass(frozen=True)
class Dedicated:
    """What all applications would do in dedicated mode, each alone on the platform, between the dates `begin` and `end`.

    Args:
        begin: T_begin in seconds.
        end: T_end, or without a window the latest end of an application in dedicated mode.
        volume: V, bytes that all would move.
        operations: Σ N_op, operations that all would begin.
        bandwidth: B in bytes/s. On I/O resources, volume and bandwidth are resource-seconds over all of them.
    """

    begin: float
    end: float
    volume: float
    operations: int
    bandwidth: float

    @property
    def pressure(self) -> float:
        """The I/O pressure W = V / (B · (T_end − T_begin)) (000 eq. 11)."""
        elapsed = self.end - self.begin
        return self.volume / (self.bandwidth * elapsed) if elapsed > 0.0 else 0.0

    @property
    def default_delta(self) -> float:
        """δ = (T_end − T_begin) / E with E = Σ 2·N_op (000 eq. 5): as many periodic decisions as events; 0 for no I/O."""
        return (self.end - self.begin) / (2 * self.operations) if self.operations else 0.0


def dedicated(workload: Workload) -> Dedicated:
    """Find what every application of the `workload` would do alone on one link. Time linear in the number of phases.

    Example:
        In a window of 20 s, one application computes for 4 s, writes 4 bytes at 2 bytes/s, and again.

        >>> from penstock import Application, Platform, Workload
        >>> chain = [("work", 4.0), ("io", 4.0)] * 2
        >>> found = dedicated(Workload(Platform(2.0), (Application.of("a", chain),), (0.0, 20.0)))
        >>> found.volume, found.operations, found.pressure
        (8.0, 2, 0.2)
    """
    layout = layout_of(workload, None)
    return dedicated_on(workload, layout, chains_of(workload, layout, layout.write_cap, layout.read_cap))


def dedicated_on(workload: Workload, layout: Layout, chains: Chains, *, windowed: bool = True) -> Dedicated:
    """Find what the applications of the `workload` would do alone on the stores of the `layout`.

    Args:
        workload: the applications and the window.
        layout: the stores that each of them uses.
        chains: their phases, and the seconds that each phase takes alone.
        windowed: whether the window ends what counts; else the latest end of an application does.
    """
    starts = np.array([workload.start(application) + application.lead for application in workload.applications])
    first, lengths = chains.first, np.array(chains.lengths)
    # Sums inside each chain: over all chains together they would lose bits.
    ends = np.concatenate(
        [start + np.cumsum(chains.seconds[a:b]) for start, a, b in zip(starts, first[:-1], first[1:], strict=True)]
    )
    end = workload.window[1] if workload.window and windowed else float(ends[first[1:] - 1].max())
    begins = ends - chains.seconds
    asks = (chains.kinds != WORK) & (chains.amounts > 0.0)
    under_way = np.clip(end - begins[asks], 0.0, chains.seconds[asks])
    per_second = chains.amounts[asks] / chains.seconds[asks] * np.repeat(layout.counts, lengths)[asks]
    return Dedicated(
        workload.begin,
        end,
        float((under_way * per_second).sum()),
        int(np.count_nonzero(begins[asks] < end)),
        layout.limits[0] * layout.stores,
    )
