"""The best order of priority of a few operations on the link, by branch and bound.

Every operation can use the whole link. An order of priority is a list of all operations, those of one application in the
order of its chain; at each instant the link serves the posted operation that comes first in the list. An operation put
behind others in the list takes all that these leave free from its posting to its completion, and then that span is one busy
block: what a list has done so far is a few blocks and a date for each application.

At each node of the search every application goes on alone in what the blocks leave free. None can do better than that, which
bounds the node. Two neighbours in the list whose spans do not overlap can change places without any effect: of two such
lists one is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel, kernel
from penstock.numeric.tolerances import ORDER_SAME_DATE


class PriorityChains(NamedTuple):
    """Chains of operations to put in order, in seconds; each chain ends with an entry of length 0, its end."""

    first: Ints
    """Operations of application i: first[i] … first[i + 1] − 2; its end: first[i + 1] − 1."""
    gap: Floats
    """Work between what is before, the start or an operation, and this."""
    length: Floats
    """What it takes of the link."""
    offset: Floats
    """Dedicated seconds from the start to here."""
    start: Floats
    due: Floats
    """When each chain should have ended, where lateness counts."""
    nodes: Floats
    """Of each application, where what it has gained counts."""


class Lists(NamedTuple):
    """The list of each length on the way to the present one, a row each."""

    appended: Ints
    """The application whose operation was appended to it; −1 if none was yet."""
    blocks: Ints
    """How many busy blocks there are."""
    begin: Floats
    end: Floats
    """Of the blocks in the order of time, which do not overlap."""
    cursor: Ints
    """What comes next in each chain."""
    date: Floats
    """When what comes before in each chain is done; infinite if the date at which all stops comes first."""
    gained: Floats
    """What is done in each chain at the date at which all stops, where `date` is infinite."""
    span: Floats
    """Posting and completion of the operation appended last."""


@inlined_kernel
def _completion(lists: Lists, row: int, posted: float, length: float, rounding: float) -> float:
    """When an operation posted then has had `length` seconds outside the busy blocks."""
    now = posted
    for k in range(lists.blocks[row]):
        if lists.end[row, k] > now:
            free = lists.begin[row, k] - now
            if free > 0.0:
                # Without the allowance a rounding error would send the last bit of an operation behind the block.
                if length <= free + rounding:
                    return min(now + length, float(lists.begin[row, k]))
                length -= free
            now = lists.end[row, k]
    return now + length


@inlined_kernel
def _free(lists: Lists, row: int, begin: float, end: float) -> float:
    """Seconds outside the busy blocks between two dates."""
    free = end - begin
    for k in range(lists.blocks[row]):
        free -= max(0.0, min(lists.end[row, k], end) - max(lists.begin[row, k], begin))
    return free


@inlined_kernel
def _alone(chains: PriorityChains, lists: Lists, row: int, i: int, stop: float, rounding: float) -> tuple[float, float]:
    """When application i ends if it goes on alone in what is free, and what it has done at the date `stop`."""
    when = lists.date[row, i]
    if when == np.inf:
        return when, lists.gained[row, i]
    k = lists.cursor[row, i]
    while True:
        posted = when + chains.gap[k]
        if posted >= stop or k == chains.first[i + 1] - 1:
            return posted, chains.offset[k] - max(0.0, posted - stop)
        when = _completion(lists, row, posted, chains.length[k], rounding)
        if when > stop:
            return np.inf, chains.offset[k] + _free(lists, row, posted, stop)
        k += 1


@inlined_kernel
def _gained(chains: PriorityChains, lists: Lists, row: int, stop: float, rounding: float) -> float:
    """The most node-seconds gained at the date `stop`, whatever is appended to the list."""
    gained = 0.0
    for i in range(len(chains.start)):
        gained += chains.nodes[i] * _alone(chains, lists, row, i, stop, rounding)[1]
    return gained


@inlined_kernel
def _lateness(chains: PriorityChains, lists: Lists, row: int, rounding: float) -> float:
    """The least lateness, whatever is appended to the list.

    Besides each application alone, all that is left of the first few must fit between their first posting and the last of
    their due dates: what prunes where the applications are alike.
    """
    lateness, load, earliest, latest = -np.inf, 0.0, np.inf, -np.inf
    for i in range(len(chains.start)):
        k, end = lists.cursor[row, i], chains.first[i + 1] - 1
        lateness = max(lateness, _alone(chains, lists, row, i, np.inf, rounding)[0] - chains.due[i])
        if k < end:
            earliest = min(earliest, lists.date[row, i] + chains.gap[k])
            latest = max(latest, chains.due[i] - chains.gap[end])
            while k < end:
                load += chains.length[k]
                k += 1
            lateness = max(lateness, _completion(lists, row, earliest, load, rounding) - latest)
    return lateness


@inlined_kernel
def _block(lists: Lists, row: int, begin: float, end: float) -> None:
    """The blocks of the next row: those of this one and the span, merged where they touch."""
    size, merged = 0, False
    for k in range(lists.blocks[row]):
        block_begin, block_end = lists.begin[row, k], lists.end[row, k]
        if block_end < begin:
            pass
        elif block_begin <= end:
            begin, end = min(begin, block_begin), max(end, block_end)
            continue
        elif not merged:
            lists.begin[row + 1, size], lists.end[row + 1, size] = begin, end
            size += 1
            merged = True
        lists.begin[row + 1, size], lists.end[row + 1, size] = block_begin, block_end
        size += 1
    if not merged:
        lists.begin[row + 1, size], lists.end[row + 1, size] = begin, end
        size += 1
    lists.blocks[row + 1] = size


@inlined_kernel
def _append(chains: PriorityChains, lists: Lists, row: int, i: int, posted: float, completion: float, stop: float) -> None:
    """Append the next operation of application i to the list of this row: the list of the next row."""
    k = lists.cursor[row, i]
    for other in range(len(chains.start)):
        lists.cursor[row + 1, other] = lists.cursor[row, other]
        lists.date[row + 1, other] = lists.date[row, other]
        lists.gained[row + 1, other] = lists.gained[row, other]
    lists.cursor[row + 1, i] = k + 1
    lists.date[row + 1, i] = completion
    if completion > stop:
        lists.date[row + 1, i] = np.inf
        lists.gained[row + 1, i] = chains.offset[k] + _free(lists, row, posted, stop)
        completion = stop
    lists.span[row + 1, 0], lists.span[row + 1, 1] = posted, completion
    lists.appended[row + 1] = -1
    _block(lists, row, posted, completion)


@inlined_kernel
def _append_next(chains: PriorityChains, lists: Lists, row: int, stop: float, rounding: float) -> bool:
    """Append the next operation of the next application not yet tried in this row; False if all were.

    An operation posted after `stop` changes nothing. One that neither delays the one before it nor waits for it was tried
    before that one if its application comes first.
    """
    before = lists.appended[row - 1] if row > 0 else -1
    for i in range(lists.appended[row] + 1, len(chains.start)):
        lists.appended[row] = i
        k = lists.cursor[row, i]
        posted = lists.date[row, i] + chains.gap[k]
        if k == chains.first[i + 1] - 1 or posted >= stop:
            continue
        completion = _completion(lists, row, posted, chains.length[k], rounding)
        if i < before and (posted >= lists.span[row, 1] or completion <= lists.span[row, 0]):
            continue
        _append(chains, lists, row, i, posted, completion, stop)
        return True
    return False


@inlined_kernel
def _waiting(chains: PriorityChains, lists: Lists, row: int, stop: float) -> int:
    """How many applications have an operation to be appended."""
    count = 0
    for i in range(len(chains.start)):
        k = lists.cursor[row, i]
        if k < chains.first[i + 1] - 1 and lists.date[row, i] + chains.gap[k] < stop:
            count += 1
    return count


def _lowest_cost(chains: PriorityChains, lists: Lists, stop: float, rounding: float, best: float, enough: float) -> float:
    """As `lowest_cost`, in given room."""
    lists.appended[0] = -1
    lists.blocks[0] = 0
    lists.cursor[0] = chains.first[:-1]
    lists.date[0] = chains.start
    row = 0
    while row >= 0 and best > enough:
        new = lists.appended[row] < 0
        if new:
            cost = (
                _lateness(chains, lists, row, rounding) if stop == np.inf else -_gained(chains, lists, row, stop, rounding)
            )
            if cost < best and _waiting(chains, lists, row, stop) <= 1:
                best = cost
        if (new and cost >= best) or not _append_next(chains, lists, row, stop, rounding):
            row -= 1
        else:
            row += 1
    return best


@cache
def compiled_lowest_cost() -> Callable[..., Any]:
    """`_lowest_cost`, compiled."""
    number, column, integers = types.float64, types.float64[::1], types.int64[::1]
    table = types.float64[:, ::1]
    chains = types.NamedTuple([integers, *[column] * 6], PriorityChains)
    lists = types.NamedTuple([integers, integers, table, table, types.int64[:, ::1], table, table, table], Lists)
    return kernel(_lowest_cost, number(chains, lists, *[number] * 4), "the search for the best order")


def lowest_cost(chains: PriorityChains, stop: float, below: float, enough: float) -> float:
    """The lowest cost of an order of priority of the `chains`, or `below` if none is lower.

    Any cost that is at most `enough` will do. If `stop` is infinite, the cost is the largest lateness, the end of a chain
    minus its due date. Otherwise all stops at that date, and the cost is minus the node-seconds gained. Time: the number of
    orders, at worst.
    """
    applications, rows = len(chains.start), len(chains.gap) - len(chains.start) + 1
    room = Lists(
        appended=np.zeros(rows, np.int64),
        blocks=np.zeros(rows, np.int64),
        begin=np.zeros((rows, rows)),
        end=np.zeros((rows, rows)),
        cursor=np.zeros((rows, applications), np.int64),
        date=np.zeros((rows, applications)),
        gained=np.zeros((rows, applications)),
        span=np.zeros((rows, 2)),
    )
    rounding = ORDER_SAME_DATE * max(1.0, float(np.abs(chains.start).max() + chains.length.sum() + chains.gap.sum()))
    return float(compiled_lowest_cost()(chains, room, stop, rounding, below, enough))
