"""The state of a run as records and tables, which Python and the compiled kernel share without copies.

Applications are numbered by their position in the workload. An application is working, active (an I/O operation posted and
not complete) or has ended. It has a *strand* on every store it uses: one on a link, one on each of its I/O resources. What
a strand moves is a *transfer*. The transfers under way on a store occupy adjacent places in the tables of
`penstock.policies.view`: reads from the middle of the store's range upwards, writes downwards where directions are told
apart. So a policy can be shown both or either. Working applications wait in a binary heap by the end of their work.

Amounts are in units: bytes on a link, resource-seconds on I/O resources. Dates and durations are in seconds.

Records hold several fields each, because the kernel took 25 s to compile with one array per field, a hundred in all.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import JIT
from penstock.policies import view

Records: TypeAlias = "np.recarray[Any, Any]"
Record: TypeAlias = Any
"""One entry of `Records`."""

WORKING: Final = 0
ACTIVE: Final = 1
ENDED: Final = 2
HELD: Final = 3
"""Not started yet: `Run.start` starts it."""
COMING: Final = 4
"""Not started yet: it starts at the date `work_begin`. Only with buffers, where it may prefetch from then on."""

# Positions in `State.clock`; the first ones are `penstock.policies.view.MOMENT`, as policies see it.
NOW: Final = view.ROW["now"]
BANDWIDTH: Final = view.ROW["bandwidth"]
COMPLETED: Final = view.ROW["completed"]
"""I/O operations completed."""
TICKS: Final = len(view.MOMENT)
"""Periodic decisions so far."""
FAULT_VALUE: Final = TICKS + 1
VIRTUAL: Final = TICKS + 2
"""Virtual time: see `penstock.engine.virtual_time`."""
CAPS: Final = TICKS + 3
"""Sum of the caps of the active applications, in virtual time."""
SHARE: Final = TICKS + 4
"""Fraction of its cap that every active application has, in virtual time."""
INFLOW: Final = TICKS + 5
"""B_BB, what can go into the buffers, in bytes/s."""
WAIT: Final = TICKS + 6
"""Seconds to the next date of the buffers."""
CLOCKS: Final = TICKS + 7

# Positions in `State.counts`.
SLOTS: Final = 0
"""Transfers under way."""
HEAP: Final = 1
"""Applications at work."""
EVENTS: Final = 2
"""I/O operations posted, I/O operations completed, periodic decisions; with buffers, their events too."""
DECISIONS: Final = 3
"""How often the policy was asked."""
ENDS: Final = 4
"""Applications that have ended; where chains repeat, ends of chains."""
SEGMENTS: Final = 5
"""Rows of the trace in use."""
TOUCHED: Final = 6
"""Stores that wait for new rates."""
FAULT_SLOT: Final = 7
WITHOUT_TRANSFER: Final = 8
"""Applications that do I/O and have not completed an operation."""
OVER: Final = 9
"""Applications whose operation is complete and whose next phase has not begun."""
STORES: Final = 10
STRANDS: Final = 11
STALE: Final = 12
"""With buffers: 1 while the rates do not answer the latest events."""
ROWS: Final = 13
"""With buffers: rows of their trace in use."""
DATES: Final = 14
"""With buffers: dates so far."""
NEXT: Final = 15
"""With buffers: what happens at the next date, and in which space."""
WHICH: Final = 16
CHANGED: Final = 17
"""With buffers: strands to which something happened."""
FETCHED: Final = 18
"""With buffers: prefetches that are complete."""
READERS: Final = 19
"""With buffers: strands in a read."""
COUNTS: Final = 20

_OWN: Final = np.dtype(
    [
        # What every event touches comes first: a record is six lines of the processor's cache.
        ("cursor", np.int64),  # the phase that comes next
        ("last", np.int64),
        ("upcoming", np.float64),  # the amount of that phase
        ("done", np.float64),  # progress by finished phases and before the run, in seconds of the dedicated run
        ("work_begin", np.float64),
        ("work_length", np.float64),
        ("worked", np.float64),  # work finished in this run
        ("since_operation", np.float64),  # work of the iteration under way, the lead left out
        ("in_iterations", np.float64),  # seconds of finished iterations: work and dedicated I/O
        ("iterations", np.int64),
        ("operations", np.int64),  # operations finished
        ("moved", np.float64),  # units of finished operations, of one strand
        ("io_seconds", np.float64),  # from posting to completion, of finished operations
        ("io_alone", np.float64),  # what it would have been alone
        ("transfer_seconds", np.float64),  # the part of it in which the application moved data
        ("began", np.float64),  # when the operation under way was posted
        ("status", np.int64),
        ("write_cap", np.float64),  # the most a strand can use of its store, in units/s
        ("read_cap", np.float64),
        ("alone", np.float64),  # in virtual time: seconds that the operation under way takes alone
        ("release", np.float64),
        ("nodes", np.float64),
        ("whole", np.float64),  # progress at its end
        ("rank", np.float64),  # place in the order that the policy has planned
        ("weight", np.float64),
        ("user", np.int64),  # its number, and that of the group
        ("group", np.int64),
        ("first", np.int64),  # its chain: phases first … last − 1
        ("laps", np.int64),  # how often the chain has been repeated
        ("pending", np.int64),  # strands of the operation under way that are not over
        ("first_use", np.int64),  # its strands: first_use … first_use + uses − 1
        ("uses", np.int64),
        ("past_iterations", np.int64),  # iterations that ended before the chain, and their seconds
        ("past_seconds", np.float64),
        ("write_speed", np.float64),  # how fast a strand writes and reads where nothing holds it up
        ("read_speed", np.float64),
        ("rounds", np.float64),  # rounds of an operation; 0 for one that can be interrupted anywhere
        ("history", np.float64),  # progress before the run
        ("cycle", np.float64),  # seconds of the chain alone
        ("end", np.float64),  # NaN until it has ended
        ("bytes", np.float64),  # bytes of a unit, over all strands
        ("linked_seconds", np.float64),  # with buffers: seconds in which a store had a rate for it, as policies see it
        # Of an operation on several strands: units moved up to `counted`, the sum of rates, seconds with a rate.
        ("part_moved", np.float64),
        ("part_rate", np.float64),
        ("counted", np.float64),
        ("part_served", np.float64),
        # What has come of the operation under way when the kernel came back.
        ("now_progress", np.float64),
        ("now_moved", np.float64),
        ("now_served", np.float64),
        ("over", np.int64),  # entry of the list of applications whose operation is over
        ("ended", np.int64),  # entry of the list of applications that have ended, in that order
    ]
)
_STORE: Final = np.dtype(
    [
        ("middle", np.int64),  # its places: middle − down … middle + up − 1
        ("down", np.int64),
        ("up", np.int64),
        ("row", np.int64),  # where its part of the lists of movers and of those in order begins
        ("moving", np.int64),  # transfers with a rate
        ("waiting", np.int64),  # transfers in the order that is kept
        ("aside", np.int64),  # the last ones of its reads, about which the policy is not asked
        ("stale", np.int64),  # 1 where something has happened since rates were decided
        ("finisher", np.int64),  # the transfer that is complete first
        ("since", np.float64),  # the date that its transfers are up to
        ("wait", np.float64),  # seconds from then to the first completion
        ("finish", np.float64),  # the date of it
        ("round_end", np.float64),  # when the first round ends that a decision waits for
        ("busy", np.float64),  # seconds with a transfer at some rate, up to `since`
        ("now_busy", np.float64),  # the same when the kernel came back
        ("widest", np.float64),  # the largest cap of the applications that use it
        ("total", np.float64),  # what it carries, in units/s: in all, of writes, of reads
        ("write", np.float64),
        ("read", np.float64),
        ("touched", np.int64),  # entry of the list of stores that wait for new rates
        ("node", np.float64),  # entry of the tree of next dates; the root is entry 1
    ]
)
_TRANSFER: Final = np.dtype(
    [
        ("place", np.int64),  # where it is in the tables, −1 if it is not
        ("store", np.int64),
        # Entries of lists that begin with the `row` of each store.
        ("mover", np.int64),  # the transfers with a rate
        ("mover_key", np.float64),
        ("waiting", np.int64),  # those that wait in an order that is kept, as a binary heap
        ("waiting_key", np.float64),
        ("chosen", np.int64),  # room for a decision
        ("stack", np.int64),
    ]
)
_ENTRY: Final = np.dtype([("time", np.float64), ("index", np.int64)])

OWN_FLOATS: Final = ("done", "began", "segment_begin", "segment_rate", "held", "unit", "aside", "fetches")
"""Rows of the engine behind those of the view: progress when it was posted; when that was, not rounded; the segment of the
trace under way; 1 while a transfer goes on to the end of its round though the policy would pause it; bytes of a unit; 1
for a prefetch that the policy is not asked about; 1 for a prefetch.
"""
OWN_INTEGERS: Final = ("index", "transfer")
"""The application, and the number of the transfer."""
_FIRST: Final = view.GIVEN + 1
DONE, BEGAN, SEGMENT_BEGIN, SEGMENT_RATE, HOLDING, UNIT, ASIDE, FETCHES = range(_FIRST, _FIRST + len(OWN_FLOATS))
INDEX, TRANSFER = range(len(view.INTEGERS), len(view.INTEGERS) + len(OWN_INTEGERS))
FLOAT_ROWS: Final = view.GIVEN + 1 + len(OWN_FLOATS)
INTEGER_ROWS: Final = len(view.INTEGERS) + len(OWN_INTEGERS)


class State(NamedTuple):
    """All of a run; seconds and units.

    It has few arrays, because every function of the kernel takes all of them, and they took most of its compilation.
    """

    own: Records
    """One per application."""
    stores: Records
    """One per store, and behind them room for the tree."""
    transfers: Records
    """One for each strand, or with buffers for its reads and behind those for its writes."""
    queue: Records
    """Ends of the work phases under way, as a binary heap."""
    finishes: Records
    """Virtual dates of completion, as a binary heap. Only in virtual time."""
    kinds: NDArray[np.uint8]
    amounts: Floats
    """The phases of all applications."""
    turns: Ints
    """Place of each phase's operation in the planned order of all operations; empty without such a plan."""
    degradation: Floats
    """Part of what a store carries that is left for 1, 2, … transfers together."""
    floats: Any
    integers: Any
    """The tables; the places behind those of the stores are room for what a question leaves out."""
    clock: Floats
    counts: Ints


ENTRIES_TYPE: Final[Any] = numba.from_dtype(_ENTRY)[::1]
_TYPES: Final[dict[str, Any]] = {
    "own": numba.from_dtype(_OWN)[::1],
    "stores": numba.from_dtype(_STORE)[::1],
    "transfers": numba.from_dtype(_TRANSFER)[::1],
    "queue": ENTRIES_TYPE,
    "finishes": ENTRIES_TYPE,
    "kinds": types.uint8[::1],
    "floats": types.float64[:, ::1],
    "integers": types.int64[:, ::1],
    "turns": types.int64[::1],
    "counts": types.int64[::1],
}
STATE_TYPE: Final[Any] = types.NamedTuple([_TYPES.get(name, types.float64[::1]) for name in State._fields], State)


def new_records(size: int, kind: np.dtype[Any]) -> Records:
    """Make `size` records of this `kind`, with zeros.

    Their fields are attributes in compiled code. In Python they are only where it stands in for compiled code, because
    access to columns of such arrays is several times slower.
    """
    records: Records = np.zeros(size, kind)  # type: ignore[assignment]
    return records if JIT else records.view(np.recarray)


def new_own(size: int) -> Records:
    """Make the records of `size` applications."""
    return new_records(size, _OWN)


def new_stores(size: int) -> Records:
    """Make the records of `size` stores."""
    return new_records(size, _STORE)


def new_transfers(size: int) -> Records:
    """Make the records of `size` transfers."""
    return new_records(size, _TRANSFER)


def new_entries(size: int) -> Records:
    """Make room for a heap of `size` entries."""
    return new_records(size, _ENTRY)
