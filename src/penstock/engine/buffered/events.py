"""What happens at a date: phases begin and end, spaces fill and empty, data have been fetched or drained.

Modes make sure that dates go on. A space is `full` from the date at which it was to the next event of an application in it,
or periodic decision; meanwhile no more goes in than falls free, so it cannot fill again. Output is drained at most once a
write, prefetched data are used up at most once a read. So there are at most a few events a phase.

Draining waits for the threshold: when the output in the space reaches its `level`, those in it who are not writing drain
until no output is left in it; who has ended drains in any case. With the level at 0 everybody drains at all times.

Each function is called in one place: compiled code is merged into its caller, and again into that one's.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.buffered.room import NO_ROOM, see_room
from penstock.engine.buffered.state import NOTHING, READERS, READING, WRITERS, WRITING, Buffers, Record, busy
from penstock.engine.chain import account, end_work, next_phase, pop, push
from penstock.engine.loop import COMPLETE
from penstock.engine.state import ENDED, EVENTS, HEAP, HELD, NOW, STALE, WORKING, State
from penstock.model.phases import READ
from penstock.policies.compiled import part
from penstock.policies.order import TIME_GRAIN


@part
def apply_events(state: State, buffers: Buffers) -> None:
    """Apply all that happens now; those whose phase has ended begin the next."""
    ended = 0
    for place in range(buffers.sizes[WRITERS]):
        if _has_written(buffers, buffers.writers[place]):
            buffers.demander[ended] = buffers.writers[place]
            ended += 1
    for place in range(buffers.sizes[READERS]):
        if _has_read(buffers, buffers.readers[place]):
            buffers.demander[ended] = buffers.readers[place]
            ended += 1
    while ended > 0 or (state.counts[HEAP] > 0 and state.heap_time[0] <= state.clock[NOW]):
        if ended > 0:
            ended -= 1
            index = buffers.demander[ended]
            _end_operation(state, buffers, index)
        elif state.status[state.heap_index[0]] == HELD:
            index = pop(state.heap_time, state.heap_index, state.counts[HEAP])
            state.counts[HEAP] -= 1
        else:
            index = end_work(state)
        _go_on(state, buffers, index)
    for place in range(buffers.sizes[WRITERS] + buffers.sizes[READERS]):
        _see_space(buffers, buffers.applications[busy(buffers, place)].space)


@part
def _has_written(buffers: Buffers, index: int) -> bool:
    """Whether its write is complete; who is not in a write may have drained."""
    own = buffers.applications[index]
    complete = own.doing == WRITING and own.left <= COMPLETE * buffers.amounts[buffers.cursor[index] - 1]
    if (complete or own.doing != WRITING) and own.outgoing <= COMPLETE * own.write_volume:
        _no_outgoing(buffers, index)
        if not complete:
            buffers.counts[EVENTS] += 1
            stir(buffers, index)
    return bool(complete)


@part
def _no_outgoing(buffers: Buffers, index: int) -> None:
    """Nothing that it wrote is in the buffer; with all output of the space gone, draining waits for the threshold again."""
    own = buffers.applications[index]
    space = buffers.spaces[own.space]
    own.drained += own.outgoing
    space.content -= own.outgoing
    space.output -= own.outgoing
    own.outgoing = 0.0
    if space.level > 0.0:
        left = False
        for place in range(len(buffers.applications)):
            other = buffers.applications[place]
            left = left or (other.space == own.space and other.outgoing > 0.0)
        if not left:
            space.draining = 0


@part
def _has_read(buffers: Buffers, index: int) -> bool:
    """Whether its read is complete; prefetched data may be used up, and all data of a read fetched."""
    own = buffers.applications[index]
    under_way = buffers.cursor[index] - 1 if own.doing == READING else -1
    if own.drawing != 0 and own.incoming <= COMPLETE * buffers.amounts[under_way]:
        _no_incoming(buffers, own)
        buffers.counts[EVENTS] += 1
        stir(buffers, index)
        if own.ahead != under_way:
            own.left = 0.0  # all of it had been fetched
    if own.ahead < buffers.first[index + 1] and own.to_fetch <= COMPLETE * buffers.amounts[own.ahead]:
        if own.ahead == under_way and own.drawing == 0:
            own.left = 0.0  # all of it has been read
        else:
            buffers.counts[EVENTS] += 1
            _fetch_next(buffers, index, own.ahead + 1)
            stir(buffers, index)
    return bool(own.doing == READING and own.left <= COMPLETE * buffers.amounts[under_way])


@part
def _end_operation(state: State, buffers: Buffers, index: int) -> None:
    """The write or read is complete."""
    own = buffers.applications[index]
    phase = state.cursor[index] - 1
    volume = state.amounts[phase]
    speed = own.write_speed if own.doing == WRITING else own.read_speed
    account(state, index, volume, volume / speed, 0.0, 0.0)
    own.doing = NOTHING
    own.inflow = 0.0
    own.drawing = 0
    if own.ahead == phase:
        own.direct_read += own.to_fetch
        _no_incoming(buffers, own)
        _fetch_next(buffers, index, phase + 1)
    stir(buffers, index)


@part
def _go_on(state: State, buffers: Buffers, index: int) -> None:
    """Begin what the application does next: its lead and its prefetching when it is released, else its next phase."""
    if state.status[index] == HELD:
        state.status[index] = WORKING
        end = state.clock[NOW] + state.work_length[index]
        push(state.heap_time, state.heap_index, state.counts[HEAP], end, index)
        state.counts[HEAP] += 1
        _fetch_next(buffers, index, state.first[index])
        _join_readers(buffers, index)
        return
    own = buffers.applications[index]
    volume = next_phase(state, index, state.clock[NOW])
    if volume > 0.0:
        own.left = volume
        if state.kinds[state.cursor[index] - 1] == READ:
            _begin_read(buffers, index, volume)
        else:
            own.doing = WRITING
            own.write_posted = _to_the_grain(state.clock[NOW])
            own.write_volume = own.outgoing + volume
            if own.outgoing == 0.0:
                own.write_rate = 0.0  # it is another operation that had the link
            _join_writers(buffers, index)
        stir(buffers, index)
    elif state.status[index] == ENDED:
        _no_incoming(buffers, own)  # but for what roundings left
        if own.outgoing > 0.0 and own.writer_place < 0:
            _join_writers(buffers, index)
            stir(buffers, index)


@part
def stir(buffers: Buffers, index: int) -> None:
    """Something happened to the application: there may be room for it again, and the policy is asked."""
    see_room(buffers.spaces[buffers.applications[index].space])
    buffers.counts[STALE] = 1
    _join_readers(buffers, index)


@part
def _begin_read(buffers: Buffers, index: int, volume: float) -> None:
    own = buffers.applications[index]
    own.doing = READING
    if own.ahead == buffers.cursor[index] - 1 and own.to_fetch == volume:
        own.read_posted = _to_the_grain(buffers.clock[NOW])  # nothing of it was prefetched
    if own.incoming <= COMPLETE * volume:
        _no_incoming(buffers, own)
    else:
        own.drawing = 1


@part
def _to_the_grain(seconds: float) -> float:
    return float(np.rint(seconds * TIME_GRAIN) / TIME_GRAIN)


@part
def _no_incoming(buffers: Buffers, own: Record) -> None:
    """Nothing prefetched for it is in the buffer."""
    buffers.spaces[own.space].content -= own.incoming
    own.incoming = 0.0
    own.drawing = 0


@part
def _fetch_next(buffers: Buffers, index: int, phase: int) -> None:
    """Fetch the next read of the chain from this phase on; it is another operation that had the link."""
    own = buffers.applications[index]
    last = buffers.first[index + 1]
    while phase < last and (buffers.kinds[phase] != READ or buffers.amounts[phase] == 0.0):
        phase += 1
    own.ahead = phase
    own.to_fetch = buffers.amounts[phase] if phase < last else 0.0
    own.read_posted = _to_the_grain(buffers.clock[NOW])
    own.read_rate = 0.0


@part
def _see_space(buffers: Buffers, index: int) -> None:
    """The space may just have been filled; with its output at the level, all who have some in it drain."""
    space = buffers.spaces[index]
    if space.full == 0 and space.content >= space.capacity * (1.0 - NO_ROOM):
        space.full = 1
        buffers.counts[EVENTS] += 1
        buffers.counts[STALE] = 1
    if space.draining == 0 and space.output >= space.level * (1.0 - NO_ROOM):
        space.draining = 1
        buffers.counts[EVENTS] += 1
        for other in range(len(buffers.applications)):
            own = buffers.applications[other]
            if own.space == index and own.outgoing > 0.0:
                _join_writers(buffers, other)
                stir(buffers, other)


@part
def _join_writers(buffers: Buffers, index: int) -> None:
    own = buffers.applications[index]
    if own.writer_place < 0:
        own.writer_place = buffers.sizes[WRITERS]
        buffers.writers[own.writer_place] = index
        buffers.sizes[WRITERS] += 1


@part
def _join_readers(buffers: Buffers, index: int) -> None:
    """List it with the readers if it is in a read, or could prefetch; the next decision sees whether it can."""
    own = buffers.applications[index]
    ahead = own.ahead < buffers.first[index + 1] and buffers.spaces[own.space].capacity > 0.0
    if own.reader_place < 0 and (ahead or own.doing == READING):
        own.reader_place = buffers.sizes[READERS]
        buffers.readers[own.reader_place] = index
        buffers.sizes[READERS] += 1
        buffers.counts[STALE] = 1
