"""Who has how much of the I/O system: what the policy is asked, and about whom.

An application is write-active if it is in a write or drains, read-active if it is in a read with data still to fetch or may
prefetch (004 §7); one that is both has two entries in the view. Where the two directions together could use more than B, the
policy divides B between all of them; if one direction then has more than its own limit, that limit is divided in it, and
what is left of B in the other. Under best-effort that is max-min fairness with all three limits. Else each direction is
divided by itself.

A prefetch that the buffer has no room for (`penstock.engine.buffered.room`) keeps what it can use, and the policy is asked
again about all others and the rest of the bandwidth; once, so that a decision has an end.
"""

from __future__ import annotations

from typing import Final

from penstock.engine.buffered.room import NO_ROOM
from penstock.engine.buffered.state import NOTHING, READERS, READING, WRITERS, WRITING, Buffers, Limits, Record
from penstock.engine.state import ENDED, NOW, SLOTS, WORKING, State
from penstock.policies.compiled import part

# What the policy is asked about, one after the other.
TOGETHER: Final = 0
WRITES_FIRST: Final = 1
THEN_READS: Final = 2
READS_FIRST: Final = 3
THEN_WRITES: Final = 4
SETTLED: Final = 5


@part
def begin_decision(buffers: Buffers) -> None:
    """Keep the rates of before, see who asks, and take from the lists who has nothing to move."""
    frees = False
    for place in range(buffers.sizes[WRITERS] - 1, -1, -1):
        own = buffers.applications[buffers.writers[place]]
        own.write_before = own.write_rate
        own.write_rate = 0.0
        drains = buffers.spaces[own.space].draining != 0 or buffers.status[buffers.writers[place]] == ENDED
        if own.doing != WRITING and not (drains and own.outgoing > 0.0):
            _leave_writers(buffers, place)
        else:
            frees = frees or own.doing != WRITING
    for place in range(buffers.sizes[READERS]):
        frees = frees or buffers.applications[buffers.readers[place]].drawing != 0
    for place in range(buffers.sizes[READERS] - 1, -1, -1):
        own = buffers.applications[buffers.readers[place]]
        own.read_before = own.read_rate if own.asks != 0 else 0.0  # who is held back does not hold the link
        own.read_rate = 0.0
        own.asks = 1 if _asks(buffers, buffers.readers[place], frees) else 0
        if own.asks == 0 and own.doing != READING and not _may_ask(buffers, buffers.readers[place]):
            _leave_readers(buffers, place)


@part
def _asks(buffers: Buffers, index: int, frees: bool) -> bool:
    """Whether it has data to fetch: a prefetch only where there is, or falls free, room for it."""
    own = buffers.applications[index]
    if own.ahead == buffers.first[index + 1]:
        return False
    if own.doing == READING or buffers.spaces[own.space].full == 0:
        return True
    if len(buffers.spaces) == 1:
        return frees
    return bool(own.doing == NOTHING and own.writer_place >= 0)


@part
def _may_ask(buffers: Buffers, index: int) -> bool:
    """Whether it may ask though nothing happens to it: others make room in a pool."""
    own = buffers.applications[index]
    return bool(len(buffers.spaces) == 1 and own.ahead < buffers.first[index + 1] and buffers.spaces[0].capacity > 0.0)


@part
def _leave_writers(buffers: Buffers, place: int) -> None:
    """Take who is there from the list; the last takes the place."""
    last = buffers.sizes[WRITERS] - 1
    buffers.sizes[WRITERS] = last
    buffers.applications[buffers.writers[last]].writer_place = place
    buffers.applications[buffers.writers[place]].writer_place = -1
    buffers.writers[place] = buffers.writers[last]


@part
def _leave_readers(buffers: Buffers, place: int) -> None:
    """The same for the readers."""
    last = buffers.sizes[READERS] - 1
    buffers.sizes[READERS] = last
    buffers.applications[buffers.readers[last]].reader_place = place
    buffers.applications[buffers.readers[place]].reader_place = -1
    buffers.readers[place] = buffers.readers[last]


@part
def _sums(buffers: Buffers) -> tuple[float, float, float, int]:
    """Rates of all writes, of the reads that the policy is asked about and of the others; how many those asked about are."""
    written, read, held, asking = 0.0, 0.0, 0.0, 0
    for place in range(buffers.sizes[WRITERS]):
        written += buffers.applications[buffers.writers[place]].write_rate
    for place in range(buffers.sizes[READERS]):
        own = buffers.applications[buffers.readers[place]]
        if own.asks != 0:
            read += own.read_rate
            asking += 1
        else:
            held += own.read_rate
    return written, read, held, asking


@part
def first_question(buffers: Buffers, limits: Limits) -> tuple[int, float]:
    """Both directions together if both are there and B may be too little for both; and the bandwidth to divide."""
    _, _, held, asking = _sums(buffers)
    if asking > 0 and buffers.sizes[WRITERS] > 0 and limits.write + limits.read > limits.total:
        return TOGETHER, limits.total - held
    return WRITES_FIRST, min(limits.write, limits.total - held)


@part
def next_question(buffers: Buffers, limits: Limits, question: int) -> tuple[int, float]:
    """What to ask after the answer to this question, and the bandwidth to divide."""
    written, read, held, _ = _sums(buffers)
    total = limits.total - held
    write_limit, read_limit = min(limits.write, total), limits.read - held
    if question == TOGETHER and written > write_limit * (1.0 + NO_ROOM):
        return WRITES_FIRST, write_limit
    if question == TOGETHER and read > read_limit * (1.0 + NO_ROOM):
        return READS_FIRST, read_limit
    if question == WRITES_FIRST:
        return THEN_READS, min(read_limit, total - written)
    if question == READS_FIRST:
        return THEN_WRITES, min(write_limit, total - read)
    return SETTLED, 0.0


@part
def show(state: State, buffers: Buffers, question: int, budget: float) -> int:
    """Write those the question is about into the slots; returns how many."""
    state.counts[SLOTS] = 0
    if question != THEN_READS and question != READS_FIRST:
        for place in range(buffers.sizes[WRITERS]):
            _show_writer(state, buffers.applications[buffers.writers[place]])
            _show_application(state, buffers, buffers.writers[place], budget)
    if question != THEN_WRITES and question != WRITES_FIRST:
        for place in range(buffers.sizes[READERS]):
            own = buffers.applications[buffers.readers[place]]
            if own.asks != 0:
                _show_reader(state, own)
                _show_application(state, buffers, buffers.readers[place], budget)
    return int(state.counts[SLOTS])


@part
def _show_writer(state: State, own: Record) -> None:
    """What is still to write, and what is in the buffer, is still to be moved."""
    slot = state.counts[SLOTS]
    state.slot_index[slot] = 1
    state.slot_remaining[slot] = own.outgoing + (own.left if own.doing == WRITING else 0.0)
    state.slot_volume[slot] = own.write_volume
    state.slot_cap[slot] = own.write_cap
    state.slot_posted[slot] = own.write_posted
    state.slot_before[slot] = own.write_before


@part
def _show_reader(state: State, own: Record) -> None:
    """What is still to fetch of the read that is fetched, be it under way or ahead."""
    slot = state.counts[SLOTS]
    state.slot_index[slot] = 0
    state.slot_remaining[slot] = own.to_fetch
    state.slot_volume[slot] = state.amounts[own.ahead]
    state.slot_cap[slot] = own.read_cap
    state.slot_posted[slot] = own.read_posted
    state.slot_before[slot] = own.read_before


@part
def _show_application(state: State, buffers: Buffers, index: int, budget: float) -> None:
    """What is the application's own, whatever it moves; ties go to the lower index, and its reads before its writes."""
    slot = state.counts[SLOTS]
    state.slot_index[slot] += 2 * index
    state.slot_cap[slot] = min(state.slot_cap[slot], budget)
    state.slot_progress[slot] = progress(state, buffers, index)
    state.slot_release[slot] = state.release[index]
    state.slot_nodes[slot] = state.nodes[index]
    iterations = state.iterations[index]
    state.slot_mean_iteration[slot] = state.in_iterations[index] / iterations if iterations > 0 else 0.0
    state.slot_transfer[slot] = state.transfer_seconds[index]
    state.slot_whole[slot] = state.whole[index]
    state.slot_rank[slot] = state.rank[index]
    state.slot_turn[slot] = -1
    state.counts[SLOTS] = slot + 1


@part
def progress(state: State, buffers: Buffers, index: int) -> float:
    """Seconds of its run at its own speeds that the application has done."""
    own = buffers.applications[index]
    done = state.done[index]
    if state.status[index] == WORKING:
        done += min(max(0.0, state.clock[NOW] - state.work_begin[index]), state.work_length[index])
    elif own.doing != NOTHING:
        speed = own.write_speed if own.doing == WRITING else own.read_speed
        done += (state.amounts[state.cursor[index] - 1] - own.left) / speed
    return float(done)


@part
def take(state: State, buffers: Buffers, nothing: bool) -> None:
    """Give the policy's rates to those that were shown, or none."""
    for slot in range(state.counts[SLOTS]):
        own = buffers.applications[state.slot_index[slot] // 2]
        rate = 0.0 if nothing else state.slot_rate[slot]
        if state.slot_index[slot] % 2 == 0:
            own.read_rate = rate
        else:
            own.write_rate = rate
